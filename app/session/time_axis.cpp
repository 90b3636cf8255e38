#include "app/session/time_axis.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace ringside::app {
namespace {

using sim::Event;
using sim::EventType;

constexpr double kCutShare = 0.06;  // of the axis, each
constexpr double kTooLong = 0.3;    // of the axis: from here on a wait is cut
constexpr double kMostCut = 0.5;    // of the axis, all together
constexpr std::int64_t kLeastWait = 1'000'000;
constexpr std::int64_t kSurelyWait = 10'000'000'000;

struct Gap {
  std::int64_t from = 0, to = 0;
  std::int64_t length() const { return to - from; }
};

/// Chunks that are on their way and arrive, where ring steps are seen: while one flies, nobody only waits. A
/// chunk that never arrives is no work.
class Flights {
 public:
  explicit Flights(const sim::Trace& trace) {
    using Key = std::array<std::int64_t, 6>;
    std::map<Key, std::int64_t> open;
    for (const std::uint32_t index : trace.order()) {
      const Event& e = trace.events()[index];
      if (e.type != EventType::RingStepBegin && e.type != EventType::RingStepEnd) continue;
      known_ = true;
      const bool begins = e.type == EventType::RingStepBegin;
      const std::int64_t src = begins ? e.src_id : e.ring.peer, dst = begins ? e.ring.peer : e.src_id;
      const Key key{e.ring.coll, e.ring.channel * 65'536 + e.ring.loop, e.ring.step, e.ring.chunk, src, dst};
      if (begins) {
        open[key] = e.t;
      } else if (const auto found = open.find(key); found != open.end()) {
        if (e.t - found->second >= kLeastWait) long_ones_.push_back({found->second, e.t});
        open.erase(found);
      }
    }
  }
  bool known() const { return known_; }
  bool any_between(std::int64_t since, std::int64_t until) const {
    return std::any_of(long_ones_.begin(), long_ones_.end(),
                       [&](const Gap& flight) { return flight.from <= since && flight.to >= until; });
  }

 private:
  bool known_ = false;
  std::vector<Gap> long_ones_;  // shorter ones cannot fill a gap that counts
};

/// Who lives, and what it does: a gap in which all that live are at work is no wait. A collective that moves
/// is work too, but none that says nothing for ten seconds.
class Activity {
 public:
  void apply(const Event& e) {
    State& s = states_[e.source()];
    switch (e.type) {
      case EventType::PhaseBegin:
        set(s, e.phase.phase == sim::Phase::AllReduce ? Does::Waits : Does::Computes);
        break;
      case EventType::PhaseEnd:
      case EventType::CollectiveFinished:
        set(s, Does::Waits);
        break;
      case EventType::CollectiveStarted:
        set(s, Does::Moves);
        break;
      case EventType::Exit:
      case EventType::Left:
        set(s, Does::Nothing);
        break;
      default:
        break;
    }
  }
  /// `since` … `until`: nothing was said in between.
  bool is_wait(std::int64_t since, std::int64_t until) const {
    if (until - since < kLeastWait) return false;
    const int living = waits_ + computes_ + moves_;
    if (living == 0) return true;
    if (flights_.known()) return computes_ < living && !flights_.any_between(since, until);
    return computes_ + (until - since < kSurelyWait ? moves_ : 0) < living;
  }
  explicit Activity(const sim::Trace& trace) : flights_(trace) {}

 private:
  enum class Does : std::uint8_t { Nothing, Waits, Computes, Moves };
  struct State {
    Does does = Does::Nothing;
  };
  int& count(Does does) {
    return does == Does::Waits      ? waits_
           : does == Does::Computes ? computes_
           : does == Does::Moves    ? moves_
                                    : nothing_;
  }
  void set(State& s, Does does) {
    --count(s.does);
    ++count(does);
    s.does = does;
  }
  Flights flights_;
  std::map<sim::Source, State> states_;
  int nothing_ = 0, waits_ = 0, computes_ = 0, moves_ = 0;
};

bool is_quiet(EventType type) {
  return type == EventType::Heartbeat || type == EventType::DeviceSample;
}

std::vector<Gap> waits_of(const sim::Trace& trace) {
  std::vector<Gap> out;
  // Most traces have no silence that takes a third of them: no need to look closer.
  std::int64_t longest = 0, before = 0;
  for (const std::uint32_t index : trace.order()) {
    const Event& e = trace.events()[index];
    if (is_quiet(e.type)) continue;
    longest = std::max(longest, e.t - before);
    before = std::max(before, e.t);
  }
  if (static_cast<double>(longest) <= kTooLong * static_cast<double>(trace.end_time())) return out;
  Activity activity(trace);
  std::int64_t last = 0;
  for (const std::uint32_t index : trace.order()) {
    const Event& e = trace.events()[index];
    if (is_quiet(e.type)) continue;
    if (activity.is_wait(last, e.t)) out.push_back({last, e.t});
    last = std::max(last, e.t);
    activity.apply(e);
  }
  return out;
}

}  // namespace

TimeAxis::TimeAxis(const sim::Trace& trace)
    : length_(static_cast<double>(trace.end_time())), end_(trace.end_time()) {
  std::vector<Gap> gaps = waits_of(trace);
  std::stable_sort(gaps.begin(), gaps.end(),
                   [](const Gap& a, const Gap& b) { return a.length() > b.length(); });
  // With the k longest cut to a share s of the axis each, the axis is (rest) / (1 - k s) long.
  double rest = length_, axis = length_;
  std::size_t count = 0;
  while (count < gaps.size() && kCutShare * static_cast<double>(count + 1) <= kMostCut) {
    const auto longest = static_cast<double>(gaps[count].length());
    if (longest <= kTooLong * axis || rest - longest <= 0) break;
    rest -= longest;
    ++count;
    axis = rest / (1 - kCutShare * static_cast<double>(count));
  }
  if (count == 0) return;
  gaps.resize(count);
  std::stable_sort(gaps.begin(), gaps.end(), [](const Gap& a, const Gap& b) { return a.from < b.from; });
  length_ = axis;
  double saved = 0;
  for (const Gap& gap : gaps) {
    Cut cut{gap.from, gap.to, static_cast<double>(gap.from) - saved, kCutShare * axis};
    saved += static_cast<double>(gap.length()) - cut.width;
    cuts_.push_back(cut);
  }
}

double TimeAxis::place(std::int64_t t) const {
  double saved = 0;
  for (const Cut& cut : cuts_) {
    if (t <= cut.from) break;
    const auto whole = static_cast<double>(cut.to - cut.from);
    if (t < cut.to) return cut.at + cut.width * static_cast<double>(t - cut.from) / whole;
    saved += whole - cut.width;
  }
  return static_cast<double>(t) - saved;
}

std::int64_t TimeAxis::time(double place) const {
  double saved = 0;
  for (const Cut& cut : cuts_) {
    if (place <= cut.at) break;
    const auto whole = static_cast<double>(cut.to - cut.from);
    if (place < cut.at + cut.width)
      return cut.from + static_cast<std::int64_t>(std::llround((place - cut.at) / cut.width * whole));
    saved += whole - cut.width;
  }
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::llround(place + saved)), 0, end_);
}

}  // namespace ringside::app
