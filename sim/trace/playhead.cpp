#include "sim/trace/playhead.hpp"

#include <algorithm>
#include <set>

namespace ringside::sim {
namespace {

/// Times at which something of the unit is complete, between two times, both exclusive; sorted.
bool is_boundary(const Event& e, StepUnit unit) {
  switch (unit) {
    case StepUnit::Event:
      return true;
    case StepUnit::Transfer:
      return e.type == EventType::RingStepEnd;
    case StepUnit::RingStep:
      return false;  // needs the whole ring step: see ring_step_ends
    case StepUnit::Phase:
      return e.type == EventType::PhaseBegin || e.type == EventType::PhaseEnd ||
             e.type == EventType::CollectiveFinished;
    case StepUnit::TrainingStep:
      return e.type == EventType::PhaseBegin && e.phase.phase == Phase::Forward;
  }
  return false;
}

/// The end of every ring step of every collective, and of every "divide" phase: where the ring scene's arrow
/// keys stop.
std::set<std::int64_t> ring_step_ends(const Trace& trace) {
  std::set<std::int64_t> ends;
  for (const Event& e : trace.events())
    if (e.type == EventType::PhaseEnd && e.phase.phase == Phase::Divide) ends.insert(e.t);
  for (const auto& [key, t] : ring_step_times(trace)) ends.insert(t);
  return ends;
}

}  // namespace

bool Playhead::advance(std::int64_t wall_ns, std::int64_t end_time) {
  if (mode != PlayMode::Playing) return false;
  const std::int64_t before = t;
  t += static_cast<std::int64_t>(static_cast<double>(wall_ns) * speed);
  if (t >= end_time) {
    t = loop ? 0 : end_time;
    if (!loop) mode = PlayMode::Paused;
  }
  return t != before;
}

std::int64_t next_time(const Trace& trace, StepUnit unit, std::int64_t t) {
  if (unit == StepUnit::RingStep) {
    const auto ends = ring_step_ends(trace);
    const auto found = ends.upper_bound(t);
    return found == ends.end() ? trace.end_time() : *found;
  }
  const auto& order = trace.order();
  auto at = std::upper_bound(order.begin(), order.end(), t,
                             [&](std::int64_t time, std::uint32_t i) { return time < trace.events()[i].t; });
  for (; at != order.end(); ++at)
    if (is_boundary(trace.events()[*at], unit)) return trace.events()[*at].t;
  return trace.end_time();
}

std::int64_t previous_time(const Trace& trace, StepUnit unit, std::int64_t t) {
  if (unit == StepUnit::RingStep) {
    const auto ends = ring_step_ends(trace);
    const auto found = ends.lower_bound(t);
    return found == ends.begin() ? 0 : *std::prev(found);
  }
  const auto& order = trace.order();
  auto at = std::lower_bound(order.begin(), order.end(), t,
                             [&](std::uint32_t i, std::int64_t time) { return trace.events()[i].t < time; });
  while (at != order.begin()) {
    --at;
    if (is_boundary(trace.events()[*at], unit)) return trace.events()[*at].t;
  }
  return 0;
}

std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> ring_step_times(const Trace& trace) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> out;
  for (const Event& e : trace.events()) {
    if (e.type != EventType::RingStepEnd) continue;
    std::int64_t& t = out[{e.ring.coll, e.ring.step}];
    t = std::max(t, e.t);
  }
  return out;
}

std::int64_t ring_step_end(const Trace& trace, std::uint32_t coll, std::uint32_t ring_step) {
  std::int64_t end = -1;
  for (const Event& e : trace.events())
    if (e.type == EventType::RingStepEnd && e.ring.coll == coll && e.ring.step == ring_step)
      end = std::max(end, e.t);
  return end;
}

}  // namespace ringside::sim
