#include "sim/model/mpi_model.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

#include "sim/model/mpi_costs.hpp"

namespace ringside::sim {
namespace {

constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();

struct Rule {
  std::int64_t below_bytes = kAny;
  std::int8_t algorithm = 6;
};
struct RankRow {
  std::int64_t below_ranks = kAny;
  std::array<Rule, 7> rules;
};

// ompi_coll_tuned_allreduce_intra_dec_fixed, commutative: the first rule whose bound exceeds the size.
constexpr std::array<RankRow, 11> kOpenMpi = {{
    {4, {{{8, 4}, {4096, 3}, {8192, 4}, {16384, 3}, {65536, 4}, {262144, 5}, {kAny, 6}}}},
    {8, {{{16, 4}, {8192, 3}, {kAny, 6}}}},
    {16, {{{8192, 3}, {kAny, 6}}}},
    {32, {{{64, 5}, {4096, 3}, {kAny, 6}}}},
    {64, {{{128, 5}, {kAny, 6}}}},
    {128, {{{262144, 3}, {kAny, 6}}}},
    {256, {{{131072, 2}, {262144, 3}, {kAny, 6}}}},
    {512, {{{4096, 2}, {kAny, 6}}}},
    {2048, {{{2048, 2}, {16384, 3}, {kAny, 6}}}},
    {4096, {{{2048, 2}, {4096, 5}, {16384, 3}, {kAny, 6}}}},
    {kAny, {{{2048, 2}, {16384, 5}, {32768, 3}, {kAny, 6}}}},
}};

}  // namespace

std::string_view to_word(MpiAlgorithm algorithm) {
  switch (algorithm) {
    case MpiAlgorithm::BasicLinear:
      return "basic_linear";
    case MpiAlgorithm::NonOverlapping:
      return "nonoverlapping";
    case MpiAlgorithm::RecursiveDoubling:
      return "recursive_doubling";
    case MpiAlgorithm::Ring:
      return "ring";
    case MpiAlgorithm::SegmentedRing:
      return "segmented_ring";
    case MpiAlgorithm::Rabenseifner:
      return "rabenseifner";
    case MpiAlgorithm::AllgatherReduce:
      return "allgather_reduce";
  }
  return "?";
}

MpiAlgorithm open_mpi_choice(std::int64_t ranks, std::int64_t bytes) {
  const auto row =
      std::find_if(kOpenMpi.begin(), kOpenMpi.end(), [&](const RankRow& r) { return ranks < r.below_ranks; });
  const auto rule = std::find_if(row->rules.begin(), row->rules.end(),
                                 [&](const Rule& r) { return bytes < r.below_bytes; });
  return static_cast<MpiAlgorithm>(rule->algorithm);
}

MpiAlgorithm open_mpi_old_choice(std::int64_t ranks, std::int64_t bytes, bool commutative) {
  constexpr std::int64_t kSmall = 10'000, kSegment = std::int64_t{1} << 20;
  if (bytes < kSmall) return MpiAlgorithm::RecursiveDoubling;
  if (!commutative) return MpiAlgorithm::NonOverlapping;
  return bytes / kSegment < ranks || bytes == ranks * kSegment ? MpiAlgorithm::Ring
                                                               : MpiAlgorithm::SegmentedRing;
}

MpiAlgorithm mpich_choice(std::int64_t ranks, std::int64_t bytes, std::int64_t count, bool user_operation) {
  std::int64_t power = 1;
  while (power <= ranks / 2) power *= 2;
  return bytes <= 2048 || count < power || user_operation ? MpiAlgorithm::RecursiveDoubling
                                                          : MpiAlgorithm::Rabenseifner;
}

double mpi_allreduce_us(MpiAlgorithm algorithm, const MpiMachine& machine, std::int64_t ranks,
                        std::int64_t bytes) {
  return mpi_allreduce_us(algorithm, costs_of(machine), ranks, bytes, machine.segment_bytes);
}

std::vector<MpiRow> mpi_rows(const MpiMachine& machine, std::int64_t ranks, std::int64_t bytes) {
  std::vector<MpiRow> rows;
  for (int id = 1; id <= kMpiAlgorithmCount; ++id) {
    const auto algorithm = static_cast<MpiAlgorithm>(id);
    rows.push_back({algorithm, mpi_allreduce_us(algorithm, machine, ranks, bytes)});
  }
  return rows;
}

}  // namespace ringside::sim
