// The data plane over CUDA and NCCL: one GPU a rank.
//
// The gradient comes from the host, is copied to the device, reduced there between the GPUs, and copied back:
// the collective is the real thing, the copies around it are ours. MPI stays beside it for the bootstrap (the
// NCCL id, the scenario, the fingerprints of the guard).
#pragma once

#include <chrono>
#include <memory>

#include "backend/live/data_plane.hpp"
#include "backend/live/gpu_calls.hpp"

namespace ringside::backend {

struct GpuPlaneOptions {
  int device = 0;
  std::chrono::milliseconds init_limit{45'000};  // a peer that does not come until then is an error; less
                                                 // than the supervisor waits for the start
};

/// Takes the device, creates the communicator with all ranks of `host`. Errors: no such device, no memory,
/// NCCL's own (with its last message), a peer that did not come. All ranks must call it.
sim::Result<std::unique_ptr<DataPlane>> make_gpu_plane(std::unique_ptr<DataPlane> host,
                                                       std::unique_ptr<GpuCalls> calls,
                                                       const GpuPlaneOptions& options);

enum class DeviceWish : std::uint8_t { Auto, Gpu, Cpu };

/// `auto` takes the GPUs if every rank has one of its own (NCCL refuses two ranks on one GPU), else the CPU
/// plane; `gpu` is an error where that fails, on every rank alike, and says why and what to do. With `cpu` no
/// CUDA call is made. `calls` may be nullptr (a build without CUDA). `local_rank` picks the GPU.
/// `why_not_gpu`, if given, gets the reason where `auto` took the CPU. All ranks must call it, with the same
/// wish.
sim::Result<std::unique_ptr<DataPlane>> choose_plane(DeviceWish wish, std::unique_ptr<DataPlane> host,
                                                     std::unique_ptr<GpuCalls> calls, int local_rank,
                                                     std::string* why_not_gpu = nullptr);

}  // namespace ringside::backend
