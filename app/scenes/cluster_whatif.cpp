#include "app/scenes/cluster_whatif.hpp"

#include <algorithm>
#include <chrono>

#include "sim/diagnosis/from_trace.hpp"

namespace ringside::app {

std::int64_t stopped_at(const sim::Diagnosis* verdict) {
  if (verdict == nullptr) return -1;
  switch (verdict->kind) {
    case sim::DiagnosisKind::None:
    case sim::DiagnosisKind::Nan:
    case sim::DiagnosisKind::Straggler:
    case sim::DiagnosisKind::LinkSlow:
    case sim::DiagnosisKind::SilentCorruption:
      return -1;  // the job goes on
    default:
      return verdict->first_cause.t_ns.value_or(-1);
  }
}

std::vector<WatchdogResult> try_watchdogs(const sim::Scenario& scenario,
                                          const std::vector<sim::Command>& commands) {
  std::vector<WatchdogResult> results;
  for (const std::int64_t watchdog : kWatchdogs) {
    sim::Scenario changed = scenario;
    changed.stack.watchdog_ns = watchdog;
    const sim::Simulation job = sim::simulate(changed, commands);
    WatchdogResult result;
    result.watchdog_ns = watchdog;
    result.outcome = job.outcome;
    result.end_ns = job.trace.end_time();
    if (job.outcome != sim::Outcome::Completed) {
      const sim::Diagnosis verdict = sim::diagnose(job.trace);
      ClusterStory story;
      story.update(job.trace, 0, changed.training.checkpoint_steps);
      const std::int64_t stop = stopped_at(&verdict);
      result.cost = story.cost_at(result.end_ns, stop);
      if (!story.episodes().empty()) result.stopped_ns = story.episodes().back().failed;
      if (stop >= 0 && (result.stopped_ns < 0 || stop < result.stopped_ns)) result.stopped_ns = stop;
    }
    results.push_back(result);
  }
  const bool any_completes = std::any_of(results.begin(), results.end(), [](const WatchdogResult& r) {
    return r.outcome == sim::Outcome::Completed;
  });
  for (WatchdogResult& r : results) r.false_alarm = any_completes && r.outcome == sim::Outcome::Timeout;
  return results;
}

const std::vector<WatchdogResult>& WhatIf::results(const SceneContext& ctx) {
  const auto ready = [](const auto& f) {
    return f.valid() && f.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  std::erase_if(old_, ready);
  if (ctx.generation != generation_) {
    generation_ = ctx.generation;
    results_.clear();
    if (running_.valid()) old_.push_back(std::move(running_));
    running_ = {};
  }
  if (ready(running_)) results_ = running_.get();
  if (!results_.empty() || running_.valid() || ctx.scenario == nullptr) return results_;
  const std::vector<sim::Command> commands(ctx.commands.begin(), ctx.commands.end());
  if (ctx.now == 0) {
    results_ = try_watchdogs(*ctx.scenario, commands);
  } else {
    running_ = std::async(std::launch::async,
                          [scenario = *ctx.scenario, commands] { return try_watchdogs(scenario, commands); });
  }
  return results_;
}

}  // namespace ringside::app
