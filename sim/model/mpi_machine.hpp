// A machine as `ringside-cli measure` found it, as a preset file: what messages, reductions and copies cost
// by size, and how far predictions from these were off on the machine itself.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/result.hpp"
#include "sim/model/mpi_costs.hpp"
#include "sim/model/mpi_model.hpp"
#include "sim/model/time_model.hpp"
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

/// What is measured by size, by all ranks at once and with their waiting for each other (mpi_costs.hpp): a
/// step is timed as a whole on bytes that go round, as in an AllReduce. to_word gives "reduce_step" ….
enum class MpiPart : std::uint8_t {
  ReduceStep,         // as live ranks make a ring step that reduces, with our own function
  CopyStep,           // as live ranks make a ring step that does not: what came is copied to its place
  TreeStep,           // of a binomial tree, up and down, with our own function
  LibraryReduceStep,  // MPI_Sendrecv and MPI_Reduce_local
  LibraryPassStep,    // MPI_Sendrecv to where it belongs
  Copy,               // one buffer to another, each rank while it has a core
  Buffer,             // a buffer is allocated, touched and freed, as the library does in every call; likewise
};
inline constexpr std::size_t kMpiParts = 7;
std::string_view to_word(MpiPart part);

struct MeasuredMachine {
  std::string name;        // of the host
  std::string library;     // "Open MPI v4.1.4"
  std::int32_t ranks = 2;  // that ran at once when it was measured
  std::int32_t cores = 0;  // of the host; fewer than ranks: they took turns
  std::array<CostCurve, kMpiParts> parts;
  /// Median absolute error of the predictions, by way and band of sizes, where AllReduces were checked.
  std::array<BandErrors, kMpiWays> errors;
  /// How much the machine's own speed changed while it was measured: half of the distance between the
  /// quartiles of an AllReduce's time, against its median. A prediction for another minute cannot be better.
  std::optional<double> unsteady_percent;

  /// How many turns it takes until so many ranks have worked, each on a core of its own meanwhile.
  double turns(double working) const { return cores > 0 ? std::max(1.0, working / cores) : 1; }
  const CostCurve& part(MpiPart which) const { return parts[static_cast<std::size_t>(which)]; }
  CostCurve& part(MpiPart which) { return parts[static_cast<std::size_t>(which)]; }
};

/// Time of an AllReduce in µs, by the way's own algorithm.
double predict_us(const MeasuredMachine& measured, MpiWay way, std::int64_t ranks, std::int64_t bytes);
/// The error that was seen for that way and size.
std::optional<double> expected_error(const MeasuredMachine& measured, MpiWay way, std::int64_t bytes);

/// The file's text; what it gives is read back to the same values (five significant digits).
std::string write_measured_machine(const MeasuredMachine& measured);
/// Reads format 2 (curves) and format 1 (three constants, one error for all sizes). Errors have a place, what
/// is legal, and the hint to measure anew.
Result<MeasuredMachine> parse_measured_machine(std::string_view text, std::string_view file_name);

/// The scenario on that machine: links between all ranks and the reduction as they are for a ring's chunk of
/// the scenario's tensor. The copy of a chunk that came to where it belongs counts as part of its way. Meant
/// for one node; what the scenario said about links and reductions is replaced.
void put_on_machine(Scenario& scenario, const MeasuredMachine& measured);

}  // namespace ringside::sim
