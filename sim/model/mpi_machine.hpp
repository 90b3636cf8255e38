// A machine as `ringside-cli measure` found it, as a preset file: what a message costs, what a byte costs,
// what a reduction costs, and how far predictions from these three were off on the machine itself.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/result.hpp"
#include "sim/model/mpi_model.hpp"
#include "sim/scenario/scenario.hpp"

namespace ringside::sim {

/// The three ways in which live ranks and Open MPI make an AllReduce.
enum class MpiWay : std::uint8_t {
  Stepped,  // the project's ring, one MPI_Isend and MPI_Irecv a step (ringside-cli live)
  Fused,    // MPI_Iallreduce in place (ringside-cli live --fused)
  Library,  // MPI_Allreduce, the algorithm by Open MPI's own decision
};
inline constexpr std::size_t kMpiWays = 3;
/// "stepped", "fused", "library"
std::string_view to_word(MpiWay way);
/// Fused: Open MPI's non-blocking collectives take reduce and broadcast over binomial trees for whatever is
/// in place (coll/libnbc, 1.8 to 5.0).
MpiAlgorithm algorithm_of(MpiWay way, std::int64_t ranks, std::int64_t bytes);

struct MeasuredMachine {
  std::string name;                       // of the host
  std::string library;                    // "Open MPI v4.1.4"
  std::int32_t ranks = 2;                 // that ran at once when it was measured
  std::int32_t cores = 0;                 // of the host; fewer than ranks: they took turns
  MpiMachine machine;                     // reductions as live ranks make them (our own function)
  double library_reduce_per_us = 10'000;  // as Open MPI makes them for its own operations
  std::array<std::optional<double>, kMpiWays>
      error_percent;  // median absolute error of the predictions, by way
};

/// The constants that hold for a way.
MpiMachine machine_for(const MeasuredMachine& measured, MpiWay way);
/// Time of an AllReduce in µs, by the way's own algorithm.
double predict_us(const MeasuredMachine& measured, MpiWay way, std::int64_t ranks, std::int64_t bytes);

/// The file's text; what it gives is read back to the same values (five significant digits).
std::string write_measured_machine(const MeasuredMachine& measured);
/// Errors have a place, what is legal, and the hint to measure anew.
Result<MeasuredMachine> parse_measured_machine(std::string_view text, std::string_view file_name);

/// The scenario on that machine: links between all ranks by α and β, the reduction of a ring's chunk by γ.
/// Meant for one node; what the scenario said about links and reductions is replaced.
void put_on_machine(Scenario& scenario, const MpiMachine& machine);

}  // namespace ringside::sim
