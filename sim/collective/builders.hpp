// Inside of make_schedule: one function per algorithm. Each fills chunks, transfers, steps and reduce_steps
// of a schedule whose other fields are set; transfers may come in any order within a step, make_schedule
// sorts them.
#pragma once

#include "sim/collective/schedule.hpp"

namespace ringside::sim {

void build_ring(const ScheduleRequest& request, Schedule& schedule);
void build_naive(const ScheduleRequest& request, Schedule& schedule);

/// The chunk table that the request asks for, with `slots` chunks per channel and loop.
ChunkTable cut_chunks(const ScheduleRequest& request, int slots);

}  // namespace ringside::sim
