// The live scene's view of a running job or its recording, and its diagnosis: one judgement for every scene.
// On several hosts all times are the reference host's, as far as events that hosts share tell how far their
// clocks are apart (backend/live/host_clocks.hpp), and nothing is said that this is not known well enough
// for.
#pragma once

#include <chrono>
#include <cstdint>
#include <future>
#include <optional>
#include <utility>
#include <vector>

#include "app/scenes/live_view.hpp"
#include "app/scenes/scene.hpp"
#include "backend/live/host_clocks.hpp"

namespace ringside::app {

class LiveJudge {
 public:
  /// What there is to show at the frame's time of a trace of a live job. The diagnosis of a job on several
  /// hosts is worked out on another thread, unless the context has no clock (--render); until then the one
  /// before stays.
  const LiveView& at(const SceneContext& ctx);
  const LiveView& view() const { return view_; }
  /// The context's trace is the one that grows.
  bool running() const { return running_; }
  /// A diagnosis is being worked out: ask again.
  bool pending() const { return asked_.valid() || wanted_ != answered_; }

 private:
  using Clock = std::chrono::steady_clock;
  using Moment = std::pair<std::size_t, std::int64_t>;  // events there are, and the frame's time
  void take_clocks(const sim::Trace& trace);
  void judge_by_clocks(const SceneContext& ctx);

  bool running_ = false;
  std::uint64_t generation_ = ~std::uint64_t{0};
  std::size_t events_ = 0;
  StepIndex index_;
  backend::TraceClocks clocks_;
  std::vector<RankClock> rank_clocks_;  // by rank; empty: one clock, or nothing is known
  LiveView view_;
  std::future<sim::Diagnosis> asked_;
  std::optional<sim::Diagnosis> answer_;
  Moment asked_for_, answered_, wanted_;
  Clock::time_point asked_at_{}, next_{};
};

}  // namespace ringside::app
