// Nodes that fail at random ([failures]), and jobs that begin again from their last checkpoint.
#include <algorithm>

#include "sim/base/random.hpp"
#include "sim/job/rules.hpp"

namespace ringside::sim {
namespace {

/// A job that fails more often than it gets from checkpoint to checkpoint never ends: it is not restarted for
/// ever.
constexpr int kMaxRestarts = 1'000;

void node_state(Simulator& sim, int node, std::string_view state) {
  Event e;
  e.text = {sim.trace.intern(state), kNone, 0, 0};
  sim.emit(Source::node(node), EventType::NodeState, e);
}

/// A step's working phases; the collective between them is short beside them.
std::int64_t step_duration(const TrainingSpec& training) {
  return training.forward_ns + training.loss_ns + training.backward_ns + training.optimizer_ns;
}

}  // namespace

void draw_failure(Simulator& sim, int r) {
  const std::int64_t rate = sim.scenario->failures.per_million_node_days;
  if (rate == 0 || r % sim.scenario->cluster.gpus_per_node != 0) return;
  constexpr __int128 kNsPerMillionDays = static_cast<__int128>(86'400) * 1'000'000'000 * 1'000'000;
  const std::int64_t duration = step_duration(sim.scenario->training);
  const __int128 scaled = (static_cast<__int128>(duration) * rate << 40) / kNsPerMillionDays;
  const auto threshold = static_cast<std::uint64_t>(std::min<__int128>(scaled, (__int128{1} << 40) - 1))
                         << 24;
  const std::uint64_t attempt =
      static_cast<std::uint64_t>(sim.restarts) << 32 | static_cast<std::uint32_t>(sim.rank(r).step);
  const DrawKey key{sim.scenario->seed, static_cast<std::uint64_t>(sim.node_of(r)), attempt, Purpose::Fault};
  if (draw_u64(key, 0) >= threshold) return;
  const __int128 part = static_cast<__int128>(draw_u64(key, 1) >> 32) * duration >> 32;
  sim.push(sim.now + static_cast<std::int64_t>(part), ItemKind::NodeFails, -1, sim.node_of(r));
}

void on_node_fails(Simulator& sim, int node) {
  const int per_node = sim.scenario->cluster.gpus_per_node;
  const int first = node * per_node, end = std::min(sim.world(), first + per_node);
  const bool any_left = std::any_of(sim.ranks.begin() + first, sim.ranks.begin() + end,
                                    [](const Rank& rank) { return rank.life != Life::Exited; });
  if (!any_left) return;
  node_state(sim, node, "down");
  log_launcher(sim, "srun: error: Node failure on " + Scenario::node_name(node));
  if (sim.scenario->failures.after == AfterFailure::Restart && sim.restarts < kMaxRestarts)
    sim.failed_node = node;
  for (int r = first; r < end; ++r) end_process(sim, r, EndReason::Killed, 9, true);
}

void remember_checkpoint(Simulator& sim, int r) {
  const std::int64_t every = sim.scenario->training.checkpoint_steps;
  const Rank& rank = sim.rank(r);
  if (r != 0 || every == 0 || rank.step % every != 0) return;
  sim.saved_step = rank.step;
  sim.saved_network = sim.network;
  sim.saved_updates = rank.updates;
}

void restart_if_over(Simulator& sim) {
  if (sim.failed_node < 0) return;
  const auto exited = [](const Rank& rank) { return rank.life == Life::Exited; };
  if (!std::all_of(sim.ranks.begin(), sim.ranks.end(), exited)) return;
  sim.push(sim.now + sim.scenario->training.restart_ns, ItemKind::Restart);
}

/// All ranks are started anew with what the checkpoint holds.
void on_restart(Simulator& sim) {
  ++sim.restarts;
  node_state(sim, sim.failed_node, "up");
  sim.failed_node = -1;
  sim.any_error = sim.any_timeout = false;
  sim.broken_from = 0;
  sim.fingerprints_passed = 0;
  std::fill(sim.agents.begin(), sim.agents.end(), Agent{});
  sim.network = sim.saved_network;
  if (sim.network.enabled())
    for (int r = 1; r < sim.world(); ++r) sim.network.weights(r) = sim.network.weights(0);
  sim.comm = sim.trace.intern("world." + std::to_string(sim.restarts));
  sim.connect();
  for (int r = 0; r < sim.world(); ++r) {
    const std::uint32_t epoch = sim.rank(r).epoch + 1;
    sim.rank(r) = Rank{};
    sim.rank(r).epoch = epoch;
    sim.rank(r).step = sim.saved_step;
    sim.rank(r).updates = sim.saved_updates;
    sim.push(sim.now, ItemKind::Start, r);
  }
}

}  // namespace ringside::sim
