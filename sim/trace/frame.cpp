// How a Frame is made: keyframes every few thousand events, and one small rule per event type
// (frame_rules.cpp).
#include "sim/trace/frame.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace ringside::sim {
namespace {

/// Keyframes of one trace may take this much memory; big worlds get fewer of them.
constexpr std::size_t kKeyframeBudget = std::size_t{192} << 20;

std::size_t size_of_frame(const Frame& frame) {
  return sizeof(Frame) + frame.ranks.size() * sizeof(RankFrame) + frame.node_down.size() +
         frame.collective.cells.size() * sizeof(Cell) +
         frame.collective.rank_step.size() * sizeof(std::uint32_t);
}

}  // namespace

FrameSource::FrameSource(const Trace& trace) : trace_(trace) {
  current_ = start();
  const std::size_t cells = trace.header.world_size <= kMaxCellRanks
                                ? static_cast<std::size_t>(std::max(0, trace.header.world_size)) *
                                      static_cast<std::size_t>(std::max(0, trace.header.world_size)) *
                                      sizeof(Cell)
                                : 0;
  const std::size_t keyframes = std::max<std::size_t>(1, kKeyframeBudget / (size_of_frame(current_) + cells));
  spacing_ = std::max<std::size_t>(4096, trace.size() / keyframes);
  trace_grew();
  advance(current_, trace.size(), true);
}

Frame FrameSource::start() const {
  Frame frame;
  const std::int32_t world = std::max(0, trace_.header.world_size);
  const std::int32_t per_node = std::max(1, trace_.header.gpus_per_node);
  if (trace_.header.detail != Detail::Groups) frame.ranks.resize(static_cast<std::size_t>(world));
  frame.node_down.resize(static_cast<std::size_t>((world + per_node - 1) / per_node));
  return frame;
}

void FrameSource::trace_grew() {
  const std::size_t before = indexed_;
  index_new_events();
  std::int64_t earliest = INT64_MAX;
  for (std::size_t i = before; i < indexed_; ++i) earliest = std::min(earliest, trace_.events()[i].t);
  // A keyframe that has applied an event at or after a new one may have applied events out of order.
  const auto spoiled = [&](const Frame& frame) { return frame.applied > 0 && frame.t >= earliest; };
  while (!keyframes_.empty() && spoiled(keyframes_.back())) keyframes_.pop_back();
  if (spoiled(current_)) current_ = keyframes_.empty() ? start() : keyframes_.back();
}

void FrameSource::index_new_events() {
  arrive_of_.resize(trace_.size(), kNone);
  end_of_.resize(trace_.size(), kNone);
  for (; indexed_ < trace_.size(); ++indexed_) {
    const Event& e = trace_.events()[indexed_];
    const bool begin = e.type == EventType::RingStepBegin;
    if (!begin && e.type != EventType::RingStepArrive && e.type != EventType::RingStepEnd) continue;
    const auto self = static_cast<std::uint32_t>(e.src_id);
    const auto peer = static_cast<std::uint32_t>(e.ring.peer);
    const TransferKey key{e.ring.coll,         static_cast<std::uint32_t>(e.ring.channel) << 16 | e.ring.loop,
                          e.ring.step,         e.ring.chunk,
                          begin ? self : peer, begin ? peer : self};
    Match& match = open_[key];
    const auto index = static_cast<std::uint32_t>(indexed_);
    if (begin) match.begin = index;
    if (e.type == EventType::RingStepArrive) match.arrive = index;
    if (e.type == EventType::RingStepEnd) match.end = index;
    if (match.begin == kNone) continue;
    arrive_of_[match.begin] = match.arrive;
    end_of_[match.begin] = match.end;
    if (match.end != kNone) open_.erase(key);
  }
}

std::size_t FrameSource::applied_at(std::int64_t t) const {
  const auto& order = trace_.order();
  const auto end =
      std::upper_bound(order.begin(), order.end(), t,
                       [this](std::int64_t time, std::uint32_t i) { return time < trace_.events()[i].t; });
  return static_cast<std::size_t>(end - order.begin());
}

void FrameSource::advance(Frame& frame, std::size_t until, bool keep_keyframes) {
  const auto& order = trace_.order();
  while (frame.applied < until) {
    const std::uint32_t index = order[frame.applied];
    frame.t = trace_.events()[index].t;
    apply(frame, index);
    ++frame.applied;
    const bool newest = keyframes_.empty() || frame.applied > keyframes_.back().applied;
    if (keep_keyframes && newest && frame.applied % spacing_ == 0) keyframes_.push_back(frame);
  }
}

const Frame& FrameSource::frame_at(std::int64_t t) {
  if (indexed_ < trace_.size()) trace_grew();
  const std::size_t wanted = applied_at(t);
  const auto after = std::upper_bound(keyframes_.begin(), keyframes_.end(), wanted,
                                      [](std::size_t n, const Frame& frame) { return n < frame.applied; });
  const std::size_t reachable = after == keyframes_.begin() ? 0 : std::prev(after)->applied;
  if (current_.applied > wanted || current_.applied < reachable)
    current_ = after == keyframes_.begin() ? start() : *std::prev(after);
  advance(current_, wanted, true);
  shown_ = current_;
  shown_.t = t;
  finish(shown_);
  return shown_;
}

StatusCounts Frame::counts() const {
  StatusCounts counts;
  for (const RankFrame& rank : ranks) {
    ++counts.by_status[static_cast<std::size_t>(rank.status)];
    counts.poisoned += rank.poisoned ? 1 : 0;
  }
  return counts;
}

}  // namespace ringside::sim
