// Inside of finish_times: rings, evaluated step by step over arrays of world_size or of one node's GPUs.
#pragma once

#include "sim/collective/builders.hpp"
#include "sim/collective/executor.hpp"

namespace ringside::sim {

/// True for the collectives on the ring that ring_walk can evaluate: all but all_to_all and chains on several
/// channels.
bool has_ring_walk(const ScheduleRequest& request);
/// The finish times of execute_times. Needs has_ring_walk(request) and no shared links.
std::vector<std::int64_t> ring_walk(const ScheduleRequest& request, const Topology& topology,
                                    std::span<const std::int64_t> arrival, std::int64_t reduce_ns);

}  // namespace ringside::sim
