#include "sim/trace/difference.hpp"

#include <cstring>
#include <map>
#include <string>
#include <tuple>

namespace ringside::sim {
namespace {

bool same_bytes(Event a, Event b) {
  a.n = b.n = 0;
  return std::memcmp(&a, &b, sizeof a) == 0;
}

bool same_sample(const Trace& first, std::uint32_t a, const Trace& second, std::uint32_t b) {
  if ((a == kNone) != (b == kNone)) return false;
  return a == kNone || first.sample(a) == second.sample(b);
}

bool same_collective(const Trace& first, std::uint32_t a, const Trace& second, std::uint32_t b) {
  const CollectiveInfo &x = first.collective(a), &y = second.collective(b);
  return x.seq == y.seq && x.step == y.step && first.string(x.comm) == second.string(y.comm);
}

std::string json_of(const Trace& trace, Event event) {
  event.n = 0;
  std::string text;
  append_event_json(text, trace, event);
  return text;
}

/// Walks the order of a trace without its commands, and knows where in its step each rank is.
class Walk {
 public:
  Walk(const Trace& trace, std::int64_t from) : trace_(trace) {
    skip_commands();
    while (!done() && now().t < from) next();
  }
  bool done() const { return at_ >= trace_.order().size(); }
  std::uint32_t index() const { return trace_.order()[at_]; }
  const Event& now() const { return trace_.events()[index()]; }
  void next() {
    const Event& event = now();
    if (event.type == EventType::PhaseBegin) phase_[event.source()] = {event.phase.step, event.phase.phase};
    ++at_;
    skip_commands();
  }
  /// Step and phase of a source, the event that stands here included.
  std::pair<std::int64_t, Phase> place() const {
    const Event& event = now();
    if (event.type == EventType::PhaseBegin || event.type == EventType::PhaseEnd)
      return {event.phase.step, event.phase.phase};
    const auto found = phase_.find(event.source());
    return found == phase_.end() ? std::pair<std::int64_t, Phase>{0, Phase::Init} : found->second;
  }

 private:
  void skip_commands() {
    while (!done() && now().type == EventType::Command) ++at_;
  }
  const Trace& trace_;
  std::size_t at_ = 0;
  std::map<Source, std::pair<std::int64_t, Phase>> phase_;
};

}  // namespace

bool same_event(const Trace& first, const Event& a, const Trace& second, const Event& b) {
  if (a.t != b.t || a.type != b.type || a.source() != b.source()) return false;
  switch (a.type) {  // most events by far: compared without writing them out
    case EventType::PhaseBegin:
    case EventType::PhaseEnd:
      if (same_bytes(a, b)) return true;
      break;
    case EventType::RingStepBegin:
    case EventType::RingStepWait:
    case EventType::RingStepArrive:
    case EventType::RingStepEnd:
      if (!same_bytes(a, b)) break;
      return same_collective(first, a.ring.coll, second, b.ring.coll) &&
             same_sample(first, a.ring.sample, second, b.ring.sample);
    case EventType::CollectiveStarted:
    case EventType::CollectiveFinished:
      if (!same_bytes(a, b)) break;
      return same_collective(first, a.collective.coll, second, b.collective.coll);
    default:
      break;
  }
  return json_of(first, a) == json_of(second, b);
}

std::optional<Difference> first_difference(const Trace& first, const Trace& second, std::int64_t from) {
  Walk a(first, from), b(second, from);
  while (!a.done() && !b.done() && same_event(first, a.now(), second, b.now())) {
    a.next();
    b.next();
  }
  if (a.done() && b.done()) return std::nullopt;
  Difference out;
  out.in_second = a.done() || (!b.done() && b.now().t < a.now().t);
  const Walk &here = out.in_second ? b : a, &there = out.in_second ? a : b;
  out.t = here.now().t;
  out.event = here.index();
  out.other_event = there.done() ? kNone : there.index();
  out.source = here.now().source();
  std::tie(out.step, out.phase) = here.place();
  return out;
}

}  // namespace ringside::sim
