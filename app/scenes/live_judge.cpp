#include "app/scenes/live_judge.hpp"

#include <algorithm>
#include <cstdlib>

#include "app/session/live_desk.hpp"
#include "sim/diagnosis/from_trace.hpp"

namespace ringside::app {
namespace {

/// A job on several hosts is diagnosed on three times; a longer one would take seconds and gigabytes for it.
constexpr std::size_t kMostEvents = 500'000;
/// Offsets are taken anew when they have moved by this part of their error.
constexpr std::int64_t kMovedPart = 4;

bool moved(const RankClock& now, const RankClock& before) {
  return std::abs(now.offset_ns - before.offset_ns) > before.error_ns / kMovedPart ||
         now.error_ns < before.error_ns - before.error_ns / kMovedPart || now.error_ns > 2 * before.error_ns;
}

}  // namespace

void LiveJudge::take_clocks(const sim::Trace& trace) {
  clocks_.update(trace);
  if (clocks_.offsets().empty()) return rank_clocks_.clear();
  std::vector<RankClock> now(static_cast<std::size_t>(std::max(0, trace.header.world_size)));
  for (std::size_t r = 0; r < now.size(); ++r)
    if (const auto offset = clocks_.offset_of(static_cast<int>(r)))
      now[r] = {offset->offset_ns, offset->error_ns};
  const bool same = now.size() == rank_clocks_.size() &&
                    std::equal(now.begin(), now.end(), rank_clocks_.begin(),
                               [](const RankClock& a, const RankClock& b) { return !moved(a, b); });
  if (!same) rank_clocks_ = std::move(now);
}

const LiveView& LiveJudge::at(const SceneContext& ctx) {
  running_ = ctx.live != nullptr && ctx.live->trace() == &ctx.trace;
  if (generation_ != ctx.generation) {
    generation_ = ctx.generation;
    events_ = 0;
    clocks_ = {};
    rank_clocks_.clear();
    answer_.reset();
    asked_ = {};
    asked_for_ = answered_ = wanted_ = {};
    next_ = {};
    view_ = {};
  } else if (events_ == ctx.trace.size() && view_.t_frame == ctx.frame.t && !pending()) {
    return view_;
  }
  events_ = ctx.trace.size();
  take_clocks(ctx.trace);
  std::vector<std::int64_t> offsets;
  for (const RankClock& clock : rank_clocks_) offsets.push_back(clock.offset_ns);
  index_.update(ctx.trace, ctx.generation, offsets);
  view_ = make_live_view(ctx.trace, index_, ctx.frame, running_, rank_clocks_);
  if (!rank_clocks_.empty()) judge_by_clocks(ctx);
  return view_;
}

void LiveJudge::judge_by_clocks(const SceneContext& ctx) {
  constexpr int kRestPerCost = 3;
  if (asked_.valid() && asked_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
    answer_ = asked_.get();
    answered_ = asked_for_;
    next_ = Clock::now() + kRestPerCost * (Clock::now() - asked_at_);
  }
  wanted_ = answered_;
  if (!view_.trouble) {
    answer_.reset();
    return;
  }
  if (ctx.trace.size() > kMostEvents) {
    view_.verdict = judge(view_, ctx.trace, running_);
    view_.verdict->confidence = sim::Confidence::Unknown;
    return;
  }
  wanted_ = {events_, ctx.frame.t};
  const bool at_end = ctx.frame.t >= ctx.trace.end_time();
  const std::optional<std::int64_t> until = at_end ? std::nullopt : std::optional(view_.t);
  if (ctx.now == 0) {
    answer_ = backend::diagnose_with_clocks(ctx.trace, clocks_.offsets(), until);
    answered_ = wanted_;
  } else if (!asked_.valid() && wanted_ != answered_ && Clock::now() >= next_) {
    asked_for_ = wanted_;
    asked_at_ = Clock::now();
    asked_ = std::async(std::launch::async, [trace = ctx.trace, offsets = clocks_.offsets(), until] {
      return backend::diagnose_with_clocks(trace, offsets, until);
    });
  }
  view_.verdict = answer_;
}

}  // namespace ringside::app
