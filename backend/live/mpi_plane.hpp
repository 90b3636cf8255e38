// The data plane over MPI on CPUs.
#pragma once

#include <memory>

#include "backend/live/data_plane.hpp"

namespace ringside::backend {

/// Calls MPI_Init_thread (FUNNELED: only the calling thread uses MPI). Errors come back as values
/// (MPI_ERRORS_RETURN).
sim::Result<std::unique_ptr<DataPlane>> make_mpi_plane(int* argc, char*** argv);

/// Whether this host has fewer cores than ranks of the job. All ranks call it, after MPI_Init.
bool host_is_crowded();

}  // namespace ringside::backend
