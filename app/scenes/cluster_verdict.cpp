#include "app/scenes/cluster_verdict.hpp"

#include <algorithm>
#include <chrono>

#include "sim/diagnosis/from_trace.hpp"

namespace ringside::app {
namespace {

/// Below this many events a diagnosis costs less than a frame.
constexpr std::size_t kAtOnceEvents = 100'000;
constexpr std::size_t kRemembered = 64;
/// Kinds that no single event shows: they are looked for at these many moments of the trace.
constexpr std::int64_t kMoments = 16;

bool is_ready(const std::future<sim::Diagnosis>& f) {
  return f.valid() && f.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

/// When the longest wait of a rank became one that counts as a failure; -1 = nobody waits so long.
std::int64_t stalled_since(const sim::Frame& frame) {
  std::int64_t oldest = INT64_MAX;
  for (const sim::RankFrame& rank : frame.ranks)
    if (rank.waiting_since >= 0) oldest = std::min(oldest, rank.waiting_since);
  return oldest <= frame.t - sim::kStalledAfterNs ? oldest + sim::kStalledAfterNs : -1;
}

}  // namespace

Verdicts::~Verdicts() = default;  // a future of std::async waits for its thread

void Verdicts::forget(std::uint64_t generation) {
  generation_ = generation;
  known_.clear();
  if (running_.valid()) old_.push_back(std::move(running_));
  running_ = {};
  running_t_ = -1;
}

void Verdicts::collect() {
  std::erase_if(old_, is_ready);
  if (!is_ready(running_)) return;
  if (known_.size() >= kRemembered) {
    // The farthest from the end goes first: the whole diagnosis and what is near it are asked for most.
    known_.erase(known_.begin());
  }
  known_[running_t_] = running_.get();
  running_t_ = -1;
}

void Verdicts::finish() {
  if (running_.valid()) running_.wait();
  collect();
}

const sim::Diagnosis* Verdicts::whole() const {
  const auto found = known_.find(end_);
  return found == known_.end() ? nullptr : &found->second;
}

const sim::Diagnosis* Verdicts::ask(const SceneContext& ctx, std::int64_t t, bool& pending) {
  if (const auto found = known_.find(t); found != known_.end()) return &found->second;
  const bool small = ctx.trace.size() <= kAtOnceEvents;
  if (small || ctx.now == 0 || ctx.shared == nullptr) {
    if (known_.size() >= kRemembered) known_.erase(known_.begin());
    return &(known_[t] = sim::diagnose_at(ctx.trace, t));
  }
  pending = true;
  if (running_.valid()) return nullptr;
  running_t_ = t;
  running_ =
      std::async(std::launch::async, [keep = ctx.shared, t] { return sim::diagnose_at(keep->trace, t); });
  return nullptr;
}

/// The latest time <= the playhead at which the diagnosis may have changed; -1 = nothing was wrong by then.
std::int64_t Verdicts::moment(const SceneContext& ctx, const ClusterStory& story, bool& pending) {
  const std::int64_t t = ctx.frame.t;
  if (t >= ctx.end_time) return ctx.end_time;
  const bool live = ctx.trace.header.source == "live";  // there LiveJudge says when a wait is too long
  std::int64_t moment = std::max(story.last_trouble(t), live ? -1 : stalled_since(ctx.frame));
  if (moment >= 0) return moment;
  // What shows in no single event (slow ranks and links, calls that differ, weights) is known from its
  // evidence.
  const sim::Diagnosis* whole = ask(ctx, ctx.end_time, pending);
  if (whole == nullptr || whole->kind == sim::DiagnosisKind::None) return -1;
  for (const sim::Evidence& e : whole->evidence)
    if (e.t_ns && *e.t_ns <= t) moment = std::max(moment, *e.t_ns);
  const bool slow =
      whole->kind == sim::DiagnosisKind::Straggler || whole->kind == sim::DiagnosisKind::LinkSlow;
  const std::int64_t part = std::max<std::int64_t>(1, ctx.end_time / kMoments);
  if (slow && t >= part) moment = std::max(moment, t / part * part);
  return moment;
}

Verdicts::Answer Verdicts::at(const SceneContext& ctx, const ClusterStory& story) {
  if (ctx.generation != generation_ || ctx.trace.size() != size_) forget(ctx.generation);
  size_ = ctx.trace.size();
  end_ = ctx.end_time;
  collect();
  Answer answer;
  if (ctx.trace.header.source == "live") {
    const LiveView& live = live_.at(ctx);
    if (live.trouble) return {live.verdict ? &*live.verdict : nullptr, live_.pending()};
  }
  const std::int64_t when = moment(ctx, story, answer.pending);
  if (when < 0) return answer;
  answer.diagnosis = ask(ctx, when, answer.pending);
  if (answer.diagnosis != nullptr) answer.pending = false;
  return answer;
}

}  // namespace ringside::app
