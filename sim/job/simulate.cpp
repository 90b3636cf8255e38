#include "sim/job/simulate.hpp"

#include <algorithm>
#include <array>

#include "sim/job/groups.hpp"
#include "sim/job/rules.hpp"
#include "sim/job/simulator.hpp"

namespace ringside::sim {
namespace {

constexpr std::array<std::string_view, 6> kOutcomeWords{"error",        "timeout", "hang",
                                                        "wrong-result", "nan",     "completed"};

/// 2 · count minus the chunk that a rank does not send in each phase; the largest over ranks.
std::int64_t ring_bytes(const CollectiveInfo& info) {
  const int n = info.world_size;
  if (n < 2) return 0;
  const ChunkTable table = info.chunking == Chunking::Even
                               ? even_chunks(info.count, n, info.channels)
                               : nccl_chunks(info.count, info.dtype, n, info.channels);
  std::vector<std::int64_t> by_slot(static_cast<std::size_t>(n), 0);
  for (const Chunk& chunk : table.chunks) by_slot[chunk.slot] += chunk.count;
  std::int64_t least = INT64_MAX;
  for (std::size_t slot = 0; slot < by_slot.size(); ++slot)
    least = std::min(least, by_slot[slot] + by_slot[(slot + 1) % by_slot.size()]);
  return (2 * info.count - least) * size_of(info.dtype);
}

void count_bytes(Simulator& sim, CollectiveOutcome& outcome) {
  const CollectiveInfo& info = sim.trace.collective(outcome.coll);
  outcome.transfers = info.transfers;
  if (info.algorithm == Algorithm::Ring && info.collective == Collective::AllReduce) {
    outcome.bytes_sent_per_rank = ring_bytes(info);
    return;
  }
  const auto program = program_for(sim, info.collective, info.dtype, info.count);
  for (int r = 0; r < sim.world(); ++r)
    outcome.bytes_sent_per_rank =
        std::max(outcome.bytes_sent_per_rank, bytes_sent(program->schedule, info.dtype, r));
}

}  // namespace

std::string_view to_word(Outcome outcome) {
  return kOutcomeWords.at(static_cast<std::size_t>(outcome));
}

Simulation Simulator::finish() && {
  Simulation result;
  for (CollectiveOutcome& one : outcomes) count_bytes(*this, one);
  judge(*this);
  if (!results.empty()) outcomes[result_coll].result = std::move(results);
  result.time_ns = last_thing;
  result.outcome = outcome;
  result.collectives = std::move(outcomes);
  result.trace = std::move(trace);
  return result;
}

Simulation simulate(const Scenario& scenario, const std::vector<Command>& commands) {
  if (scenario.world_size() > kMaxListedRanks) return simulate_groups(scenario, commands);
  Simulator sim(std::make_shared<const Scenario>(scenario), commands);
  while (sim.step()) {
  }
  return std::move(sim).finish();
}

std::optional<Simulation> simulate_watched(const Scenario& scenario, const std::vector<Command>& commands,
                                           const SimulationWatch& watch) {
  if (scenario.world_size() > kMaxListedRanks) return simulate_groups_watched(scenario, commands, watch);
  Simulator sim(std::make_shared<const Scenario>(scenario), commands);
  constexpr int kBetween = 4'096;
  for (int count = 0; sim.step(); ++count) {
    if (count % kBetween != 0) continue;
    if (!watch({sim.rank(0).step, scenario.training.steps, sim.now,
                static_cast<std::int64_t>(sim.trace.size())}))
      return std::nullopt;
  }
  return std::move(sim).finish();
}

}  // namespace ringside::sim
