#include "app/scenes/cluster_story.hpp"

#include <algorithm>

namespace ringside::app {
namespace {

using sim::Event;
using sim::EventType;

bool is_down(const sim::Trace& trace, const Event& e) {
  return trace.string(e.text.text) == "down";
}

/// An end that is not the planned one.
bool ended_badly(const Event& e) {
  return e.aux8 != 0 || e.text.code != 0;
}

template <class T, class Key>
auto last_until(const std::vector<T>& all, std::int64_t t, Key key) {
  return std::upper_bound(all.begin(), all.end(), t,
                          [&](std::int64_t time, const T& item) { return time < key(item); });
}

}  // namespace

void ClusterStory::update(const sim::Trace& trace, std::uint64_t generation, std::int64_t checkpoint_steps) {
  const bool other = generation != generation_ || trace_ != &trace || trace.size() < seen_;
  // A late event of a live job may lie before what was read: the short lists are made anew.
  const bool late = !other && seen_ < trace.size() && trace.events()[trace.order()[seen_]].t < end_;
  if (other || late) *this = ClusterStory{};
  trace_ = &trace;
  generation_ = generation;
  checkpoint_steps_ = checkpoint_steps;
  world_ = std::max(0, trace.header.world_size);
  const std::vector<std::uint32_t>& order = trace.order();
  for (; seen_ < order.size(); ++seen_) read(trace.events()[order[seen_]], order[seen_]);
  find_the_wait();
  end_ = trace.end_time();
}

/// Where nobody died, a stop is reported late, by the watchdog: it began when the last rank had come to the
/// call that never ends.
void ClusterStory::find_the_wait() {
  if (episodes_.empty() || call_.coll == sim::kNone || !finishes_.empty()) return;
  Episode& stop = episodes_.back();
  if (stop.over >= 0 || call_.last >= stop.failed) return;
  const std::int64_t reported = stop.reported;
  stop = stop_at(call_.last);
  stop.reported = reported;
}

void ClusterStory::read(const Event& e, std::uint32_t index) {
  switch (e.type) {
    case EventType::LogLine:
      logs_.push_back(index);
      log_times_.push_back(e.t);
      if (e.src_kind == sim::Source::Kind::Node) trouble(e.t, index);
      break;
    case EventType::Command:
      injected_.push_back(index);
      break;
    case EventType::PhaseBegin:
      // Ranks begin a step at different times: the first of them counts. After a restart steps come again.
      if (steps_.empty() || e.phase.step > steps_.back().step ||
          (back_ && e.phase.step != steps_.back().step)) {
        steps_.push_back({e.t, e.phase.step});
        back_ = false;
      }
      if (e.src_kind == sim::Source::Kind::Sim) phases_.push_back({e.t, -1, e.phase.phase});
      break;
    case EventType::PhaseEnd: {
      if (e.src_kind == sim::Source::Kind::Sim && !phases_.empty()) {
        phases_.back().to = e.t;
        if (e.phase.phase == sim::Phase::Restart) restarted(e.t);
      }
      const bool free_checkpoint = e.phase.phase == sim::Phase::Optimizer && checkpoint_steps_ > 0 &&
                                   e.phase.step % checkpoint_steps_ == 0;
      if (e.phase.phase != sim::Phase::Checkpoint && !free_checkpoint) break;
      if (saved_.empty() || saved_.back().step != e.phase.step) saved_.push_back({e.t, e.phase.step});
      saved_.back().t = e.t;
      break;
    }
    case EventType::Exit:
      if (!ended_badly(e)) break;
      trouble(e.t, index);
      failure(e);
      break;
    case EventType::Left:
    case EventType::Error:
      trouble(e.t, index);
      failure(e);
      break;
    case EventType::WatchdogExpired:
      timeouts_.push_back(e.t);
      trouble(e.t, index);
      failure(e);
      break;
    case EventType::NodeState:
      if (is_down(*trace_, e)) {
        trouble(e.t, index);
        failure(e);
      } else if (trace_->string(e.text.text) == "up") {
        trouble(e.t, index);
        restarted(e.t);
      }
      break;
    case EventType::NanFound:
    case EventType::NicState:
      trouble(e.t, index);
      break;
    case EventType::DeviceSample:
      if (e.device.xid != 0) trouble(e.t, index);
      if (e.rank() >= 0 && e.rank() < world_) {
        samples_.resize(static_cast<std::size_t>(world_));
        samples_[static_cast<std::size_t>(e.rank())].push_back(index);
      }
      break;
    case EventType::CollectiveEnqueued:
      if (call_.coll != e.collective.coll) {
        call_ = {.coll = e.collective.coll, .first = e.t};
        calls_.clear();
        finishes_.clear();
      }
      call_.last = e.t;
      calls_.push_back(e.t);
      break;
    case EventType::CollectiveFinished:
      if (call_.coll == e.collective.coll) finishes_.push_back(e.t);
      break;
    default:
      break;
  }
}

void ClusterStory::trouble(std::int64_t t, std::uint32_t event) {
  trouble_events_.push_back(event);
  if (trouble_.empty() || trouble_.back() != t) trouble_.push_back(t);
}

void ClusterStory::failure(const Event& e) {
  if (!episodes_.empty() && episodes_.back().over < 0) return;
  episodes_.push_back(stop_at(e.t));
}

void ClusterStory::restarted(std::int64_t t) {
  if (!episodes_.empty() && episodes_.back().over < 0) episodes_.back().over = t;
  back_ = true;
}

Episode ClusterStory::stop_at(std::int64_t t) const {
  Episode out;
  out.failed = out.reported = t;
  out.step = step_at(t);
  const auto saved = last_until(saved_, t, [](const Saved& s) { return s.t; });
  if (saved != saved_.begin()) {
    out.saved = std::prev(saved)->t;
    out.saved_step = std::prev(saved)->step;
  }
  for (const Episode& before : episodes_)  // work since the last restart only
    if (before.over >= 0 && before.over <= t) out.saved = std::max(out.saved, before.over);
  return out;
}

std::size_t ClusterStory::logs_until(std::int64_t t) const {
  return static_cast<std::size_t>(std::upper_bound(log_times_.begin(), log_times_.end(), t) -
                                  log_times_.begin());
}

std::int64_t ClusterStory::last_trouble(std::int64_t t) const {
  const auto after = std::upper_bound(trouble_.begin(), trouble_.end(), t);
  return after == trouble_.begin() ? -1 : *std::prev(after);
}

const Episode* ClusterStory::episode_at(std::int64_t t) const {
  for (const Episode& e : episodes_)
    if (e.failed <= t && (e.over < 0 || t < e.over)) return &e;
  return nullptr;
}

Cost ClusterStory::cost_at(std::int64_t t, std::int64_t stopped_at) const {
  Cost cost;
  const std::int64_t now = std::min(t, end_);
  const auto add = [&](const Episode& e, std::int64_t failed) {
    const std::int64_t until = e.over < 0 ? now : std::min(now, e.over);
    cost.waiting += static_cast<double>(std::max<std::int64_t>(0, until - failed)) * world_;
    cost.redo += static_cast<double>(failed - e.saved) * world_;
  };
  const Episode* open = episode_at(t);
  for (const Episode& e : episodes_) {
    if (e.failed > t) break;
    // What stopped it may have happened before anything was reported.
    const bool earlier = &e == open && stopped_at >= 0 && stopped_at < e.failed && stopped_at >= e.saved;
    add(e, earlier ? stopped_at : e.failed);
  }
  if (open == nullptr && stopped_at >= 0) add(stop_at(stopped_at), stopped_at);
  return cost;
}

const JobPhase* ClusterStory::job_phase_at(std::int64_t t) const {
  const auto after = last_until(phases_, t, [](const JobPhase& p) { return p.from; });
  if (after == phases_.begin()) return nullptr;
  const JobPhase& phase = *std::prev(after);
  return phase.to < 0 || t < phase.to ? &phase : nullptr;
}

std::span<const std::uint32_t> ClusterStory::samples(int rank) const {
  if (rank < 0 || static_cast<std::size_t>(rank) >= samples_.size()) return {};
  return samples_[static_cast<std::size_t>(rank)];
}

LatestCall ClusterStory::last_call(std::int64_t t) const {
  if (call_.coll == sim::kNone || call_.first > t) return {};
  const auto until = [t](const std::vector<std::int64_t>& times) {
    return static_cast<int>(std::upper_bound(times.begin(), times.end(), t) - times.begin());
  };
  LatestCall out = call_;
  out.ranks = until(calls_);
  out.finished = until(finishes_);
  out.last = out.ranks > 0 ? calls_[static_cast<std::size_t>(out.ranks - 1)] : out.first;
  return out;
}

std::int64_t ClusterStory::next_timeout(std::int64_t t) const {
  const auto found = std::lower_bound(timeouts_.begin(), timeouts_.end(), t);
  return found == timeouts_.end() ? -1 : *found;
}

std::int32_t ClusterStory::step_at(std::int64_t t) const {
  const auto after = last_until(steps_, t, [](const Saved& s) { return s.t; });
  return after == steps_.begin() ? 0 : std::prev(after)->step;
}

}  // namespace ringside::app
