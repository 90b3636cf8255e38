// "What if the watchdog were another one?": the same job, simulated again with each, on another thread.
#pragma once

#include <array>
#include <cstdint>
#include <future>
#include <vector>

#include "app/scenes/cluster_story.hpp"
#include "app/scenes/scene.hpp"

namespace ringside::app {

inline constexpr std::array<std::int64_t, 3> kWatchdogs = {20'000'000'000, 600'000'000'000,
                                                           1'800'000'000'000};

struct WatchdogResult {
  std::int64_t watchdog_ns = 0;
  sim::Outcome outcome = sim::Outcome::Completed;
  std::int64_t end_ns = 0;       // of the job
  std::int64_t stopped_ns = -1;  // when it stopped; -1 = it did not
  Cost cost;
  bool false_alarm = false;  // it ended a job that another watchdog would have let go on
};

class WhatIf {
 public:
  /// Starts when first asked; asks for another frame while it works. Empty while nothing is known yet.
  const std::vector<WatchdogResult>& results(const SceneContext& ctx);
  bool working() const { return running_.valid(); }

 private:
  std::uint64_t generation_ = ~std::uint64_t{0};
  std::vector<WatchdogResult> results_;
  std::future<std::vector<WatchdogResult>> running_;
  std::vector<std::future<std::vector<WatchdogResult>>> old_;
};

/// When the job stopped, by a diagnosis that knows more than the events of the stop (a rank that hangs).
std::int64_t stopped_at(const sim::Diagnosis* verdict);

/// The job, with its faults given by hand, under each of the watchdogs.
std::vector<WatchdogResult> try_watchdogs(const sim::Scenario& scenario,
                                          const std::vector<sim::Command>& commands);

}  // namespace ringside::app
