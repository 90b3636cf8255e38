// What ended a job and each of its collectives. This is the simulator's own knowledge of what should have
// been; a diagnosis never sees it.
#include <algorithm>
#include <cstring>

#include "sim/collective/executor.hpp"
#include "sim/job/rules.hpp"
#include "sim/tensor/reduce.hpp"

namespace ringside::sim {
namespace {

/// The sum before a division that the rank does itself afterwards.
ReduceOp op_before_finish(DType dtype, ReduceOp op) {
  return has_finish(dtype, op) ? ReduceOp::Sum : op;
}

bool finite_numbers_differ(const Tensor& a, const Tensor& b) {
  for (std::int64_t i = 0; i < a.count(); ++i) {
    const Scalar x = a.at(i), y = b.at(i);
    const bool finite = !is_nan(x) && !is_inf(x) && !is_nan(y) && !is_inf(y);
    if (finite && !(x == y)) return true;
  }
  return false;
}

/// The numbers that every rank should have: from what they would have brought without any fault.
bool results_are_wrong(Simulator& sim, std::uint32_t coll) {
  const CollectiveInfo& info = sim.trace.collective(coll);
  const auto& brought = sim.brought[coll];
  if (std::any_of(brought.begin(), brought.end(), [](const auto& tensor) { return tensor == nullptr; }))
    return true;
  const auto program = program_for(sim, info.collective, info.dtype, info.count);
  const Numbers right = execute_numbers(program->schedule, op_before_finish(info.dtype, info.op), brought);
  const auto& raw = sim.raw_results[coll];
  for (std::size_t r = 0; r < raw.size(); ++r)
    if (raw[r] != nullptr && finite_numbers_differ(*raw[r], *right.result[r])) return true;
  return false;
}

bool results_differ(const Simulator& sim) {
  if (sim.scenario->collective.collective != Collective::AllReduce) return false;
  for (const auto& result : sim.results)
    if (result != nullptr && sim.results.front() != nullptr && result->data != sim.results.front()->data)
      return true;
  return false;
}

bool weights_differ(const Simulator& sim) {
  if (!sim.with_numbers || !calls_collectives(sim)) return false;
  if (!shows_weights(sim)) return results_differ(sim);

  const auto digest = [&](int r) {
    return sim.network.enabled() ? sim.network.digest(r) : sim.rank(r).updates;
  };
  for (int r = 1; r < sim.world(); ++r)
    if (digest(r) != digest(0)) return true;
  return false;
}

bool any_collective(const Simulator& sim, Outcome outcome) {
  return std::any_of(sim.outcomes.begin(), sim.outcomes.end(),
                     [&](const CollectiveOutcome& one) { return one.outcome == outcome; });
}

/// A collective that never was over has the outcome of what ended the job.
Outcome why_unfinished(const Simulator& sim) {
  if (sim.any_error) return Outcome::Error;
  return sim.any_timeout ? Outcome::Timeout : Outcome::Hang;
}

/// What ended the run of the job that the collective belongs to: an earlier run was ended by a node.
Outcome why_unfinished(const Simulator& sim, std::uint32_t coll) {
  return sim.trace.collective(coll).comm == sim.comm ? why_unfinished(sim) : Outcome::Error;
}

Outcome outcome_of_job(const Simulator& sim) {
  if (sim.any_error) return Outcome::Error;
  if (sim.any_timeout) return Outcome::Timeout;
  const auto exited = [](const Rank& rank) { return rank.life == Life::Exited; };
  if (!std::all_of(sim.ranks.begin(), sim.ranks.end(), exited)) return Outcome::Hang;
  if (any_collective(sim, Outcome::WrongResult) || weights_differ(sim)) return Outcome::WrongResult;
  const auto lost = [](const Rank& rank) { return rank.has_loss && !(rank.loss - rank.loss == 0.0); };
  if (any_collective(sim, Outcome::Nan) || std::any_of(sim.ranks.begin(), sim.ranks.end(), lost))
    return Outcome::Nan;
  return Outcome::Completed;
}

}  // namespace

void judge_collective(Simulator& sim, std::uint32_t coll) {
  CollectiveOutcome& one = sim.outcomes[coll];
  const std::uint8_t suspect = sim.suspect[coll];
  if (suspect & kCallsDiffer) {
    one.outcome = Outcome::WrongResult;
  } else if (suspect != 0 && sim.with_numbers && results_are_wrong(sim, coll)) {
    one.outcome = Outcome::WrongResult;
  } else if (suspect & kNotFinite) {
    one.outcome = Outcome::Nan;
  }
  sim.brought.erase(coll);
  sim.raw_results.erase(coll);
}

void judge(Simulator& sim) {
  for (std::uint32_t coll = 0; coll < sim.outcomes.size(); ++coll)
    if (sim.finished_ranks[coll] < sim.world()) sim.outcomes[coll].outcome = why_unfinished(sim, coll);
  sim.outcome = outcome_of_job(sim);
}

}  // namespace ringside::sim
