// Inside of finish_times: algorithms in which all ranks do the same at the same time, evaluated for one of
// them.
#pragma once

#include <optional>

#include "sim/collective/builders.hpp"
#include "sim/collective/executor.hpp"

namespace ringside::sim {

struct OneRankTimes {
  std::int64_t finish = 0;   // of every rank
  bool equal_chunks = true;  // else: evaluated as if every chunk were as long as the longest of its loop
};

/// For recursive doubling and Rabenseifner on powers of two, and hierarchical with rings, when all ranks come
/// at `arrival`, all nodes are alike and no link is special or shared. Nothing for everything else.
std::optional<OneRankTimes> one_rank_times(const ScheduleRequest& request, const Topology& topology,
                                           std::int64_t arrival, std::int64_t reduce_ns);

}  // namespace ringside::sim
