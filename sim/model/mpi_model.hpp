// Open MPI's choice of an AllReduce algorithm (coll/tuned, fixed decision of 6.1, commutative operations),
// the older rule and MPICH's, and what each algorithm costs in α (latency of a message), β (time a byte
// travels), γ (time to reduce one).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ringside::sim {

/// Open MPI's numbers (coll_tuned_allreduce_algorithm).
enum class MpiAlgorithm : std::uint8_t {
  BasicLinear = 1,
  NonOverlapping = 2,  // reduce, then broadcast, both binomial
  RecursiveDoubling = 3,
  Ring = 4,
  SegmentedRing = 5,
  Rabenseifner = 6,
  AllgatherReduce = 7,
};
inline constexpr int kMpiAlgorithmCount = 7;
/// "basic_linear", "nonoverlapping", "recursive_doubling", "ring", "segmented_ring", "rabenseifner",
/// "allgather_reduce"
std::string_view to_word(MpiAlgorithm algorithm);

/// A machine in three constants, as textbooks have it. mpi_costs.hpp has what a byte costs by size.
struct MpiMachine {
  double alpha_us = 1;                   // one small message
  double bytes_per_us = 10'000;          // 1/β: 10,000 is 10 GB/s
  double reduce_per_us = 10'000;         // 1/γ
  std::int64_t segment_bytes = 1 << 20;  // of the segmented ring
};

/// Modern Open MPI, commutative operation. `bytes`: the whole buffer of one rank. Ranks >= 2.
MpiAlgorithm open_mpi_choice(std::int64_t ranks, std::int64_t bytes);
/// Before that (and SimGrid's "ompi" selector): recursive doubling below 10,000 bytes, ring up to 1 MiB a
/// rank, else the segmented ring; reduce and broadcast for other operations.
MpiAlgorithm open_mpi_old_choice(std::int64_t ranks, std::int64_t bytes, bool commutative);
/// MPICH: recursive doubling up to 2,048 bytes, or fewer elements than the power of two below the ranks, or a
/// user's operation; else Rabenseifner.
MpiAlgorithm mpich_choice(std::int64_t ranks, std::int64_t bytes, std::int64_t count, bool user_operation);

/// Time of an AllReduce in µs (mpi_costs.hpp has the steps). Recursive doubling and Rabenseifner on ranks
/// that are no power of two fold the surplus into the power below first. 0 for one rank.
double mpi_allreduce_us(MpiAlgorithm algorithm, const MpiMachine& machine, std::int64_t ranks,
                        std::int64_t bytes);

struct MpiRow {
  MpiAlgorithm algorithm = MpiAlgorithm::Ring;
  double time_us = 0;
};
/// All algorithms in Open MPI's order; where they cross is the duel's plot.
std::vector<MpiRow> mpi_rows(const MpiMachine& machine, std::int64_t ranks, std::int64_t bytes);

}  // namespace ringside::sim
