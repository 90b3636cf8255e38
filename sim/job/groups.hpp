// Jobs of more ranks than one can list: nodes act, and the trace says per step what the slowest did.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/job/simulate.hpp"

namespace ringside::sim {

/// Above this many ranks a trace has detail "groups".
inline constexpr int kMaxListedRanks = 4'096;

/// Each node draws one duration a step for all its GPUs, a collective takes its time after the last node
/// came, and a node that fails stops all. Random failures ([failures]) restart the job from its last
/// checkpoint, or end it. Faults of a rank are faults of its node here; those that change numbers need
/// numbers and do nothing.
Simulation simulate_groups(const Scenario& scenario, const std::vector<Command>& commands);
/// The same; `watch` is asked before each training step. Nothing if it said no.
std::optional<Simulation> simulate_groups_watched(const Scenario& scenario,
                                                  const std::vector<Command>& commands,
                                                  const SimulationWatch& watch);

}  // namespace ringside::sim
