#include "app/scenes/live_view.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "sim/diagnosis/from_trace.hpp"
#include "sim/tensor/dtype.hpp"

namespace ringside::app {
namespace {

using sim::RankStatus;

constexpr std::size_t kShownCalls = 48;
constexpr std::int64_t kMs = 1'000'000, kSecond = 1'000'000'000;

std::int64_t median(std::vector<std::int64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// `ended`: its process is known to be gone. A frame calls a rank stalled that waits for long, though it
/// speaks, and dead that was silent for a minute, though nobody saw its end: here silence is silence.
LiveState state_of(const sim::RankFrame& rank, std::int64_t heard_ns, std::int64_t error_ns, bool ended) {
  const bool silent = rank.heartbeats && heard_ns >= 0 && heard_ns - error_ns >= sim::kSilentAfterNs;
  if (!ended && silent && rank.status != RankStatus::TimedOut && rank.status != RankStatus::Aborted)
    return LiveState::Silent;
  switch (rank.status) {
    case RankStatus::TimedOut:
      return LiveState::TimedOut;
    case RankStatus::Terminated:
    case RankStatus::Aborted:
      return LiveState::Stopped;
    case RankStatus::Dead:
      return LiveState::Dead;
    case RankStatus::Exited:
      return LiveState::Done;
    default:
      return rank.last_heard < 0 ? LiveState::Absent : LiveState::Running;
  }
}

bool has_ended(LiveState state) {
  return state == LiveState::Dead || state == LiveState::Stopped || state == LiveState::Done;
}

/// The latest event of any rank, on one time; the frame's own time without clocks.
std::int64_t last_heard(const sim::Frame& frame, std::span<const RankClock> clocks) {
  if (clocks.empty()) return frame.t;
  std::int64_t last = 0;
  for (std::size_t r = 0; r < std::min(frame.ranks.size(), clocks.size()); ++r)
    if (frame.ranks[r].last_heard >= 0) last = std::max(last, frame.ranks[r].last_heard - clocks[r].offset_ns);
  return last;
}

/// The calls of a rank that it had made by t.
std::size_t calls_until(const StepIndex::RankTimes& rank, std::int64_t t) {
  const auto end = std::upper_bound(rank.calls.begin(), rank.calls.end(), t,
                                    [](std::int64_t time, const CallSpan& call) { return time < call.called; });
  return static_cast<std::size_t>(end - rank.calls.begin());
}

struct CallTimes {
  std::int64_t called = -1, finished = -1;
  int over = 0, callers = 0;
};

/// The last collectives, by their number in the trace (the order of first calls).
std::map<std::uint32_t, CallTimes> last_calls(const StepIndex& index, std::int64_t t, std::size_t most) {
  std::map<std::uint32_t, CallTimes> out;
  for (const StepIndex::RankTimes& rank : index.ranks()) {
    const std::size_t end = calls_until(rank, t);
    for (std::size_t i = end > most ? end - most : 0; i < end; ++i) {
      const CallSpan& call = rank.calls[i];
      CallTimes& times = out[call.coll];
      times.called = std::max(times.called, call.called);
      ++times.callers;
      if (call.finished < 0 || call.finished > t) continue;
      times.finished = std::max(times.finished, call.finished);
      ++times.over;
    }
  }
  while (out.size() > most) out.erase(out.begin());
  return out;
}

void find_calls(LiveView& view, const sim::Trace& trace, const StepIndex& index) {
  const int world = static_cast<int>(index.ranks().size());
  std::vector<std::int64_t> took;
  for (const auto& [coll, times] : last_calls(index, view.t, kShownCalls)) {
    const sim::CollectiveInfo& info = trace.collective(coll);
    const int members = info.world_size > 0 ? info.world_size : world;
    LiveCall call{info.seq, 0, times.over >= std::min(members, world)};
    call.ns = std::max<std::int64_t>(0, (call.finished ? times.finished : view.t) - times.called);
    view.calls.push_back(call);
    view.called = true;
    view.ring_steps = info.transfers > 0;
    if (!call.finished) continue;
    took.push_back(call.ns);
    view.bytes = info.count * sim::size_of(info.dtype);
  }
  view.call_median_ns = median(std::move(took));
  if (view.call_median_ns > 0 && view.bytes > 0 && world > 1)
    view.busbw = static_cast<double>(view.bytes) * 2 * (world - 1) / world /
                 (static_cast<double>(view.call_median_ns) / 1e9);
}

std::int64_t step_median(const StepIndex& index, std::int64_t t) {
  std::vector<std::int64_t> took;
  const auto& steps = index.steps();
  for (std::size_t i = steps.size(); i-- > 0 && took.size() < kShownCalls;) {
    const bool over = i + 1 < steps.size() ? steps[i + 1].from <= t : false;
    if (over && steps[i].to <= t) took.push_back(steps[i].to - steps[i].from);
  }
  return median(std::move(took));
}

void fill_lane(LiveLane& lane, const sim::Trace& trace, const StepIndex::RankTimes& times,
               const sim::RankFrame& rank, std::int64_t t, std::int64_t ahead_ns) {
  if (times.ended >= 0 && times.ended <= t) lane.ended = times.ended;
  if (rank.last_heard >= 0) lane.heard_ns = std::max<std::int64_t>(0, t + ahead_ns - rank.last_heard);
  lane.state = state_of(rank, lane.heard_ns, lane.clock_error_ns, lane.ended >= 0);
  lane.poisoned = rank.poisoned;
  lane.by_signal = rank.by_signal;
  lane.exit_code = rank.exit_code;
  lane.step = rank.step;
  if (rank.hello != sim::kNone) {
    const sim::Hello& hello = trace.hello(rank.hello);
    lane.host = hello.host;
    lane.device = hello.device;
    lane.pid = hello.pid;
  }
  lane.failed = has_ended(lane.state) && lane.state != LiveState::Done;
  const std::size_t calls = calls_until(times, t);
  if (calls > 0) lane.seq = trace.collective(times.calls[calls - 1].coll).seq;
}

/// Since when it is in a call that is not over; -1 = in none.
std::int64_t in_call_since(const StepIndex::RankTimes& rank, std::int64_t t, std::uint32_t& coll) {
  const std::size_t end = calls_until(rank, t);
  if (end == 0) return -1;
  const CallSpan& call = rank.calls[end - 1];
  if (call.finished >= 0 && call.finished <= t) return -1;
  coll = call.coll;
  return call.called;
}

void find_waits(LiveView& view, const sim::Trace& trace, const StepIndex& index) {
  // Drawn as a wait a little earlier than it counts as trouble, unless there is a reason for it.
  const std::int64_t shown_from = std::max<std::int64_t>(250 * kMs, 4 * view.call_median_ns);
  const bool has_a_reason = view.silent > 0 || view.failed > 0;
  const std::int64_t far_too_long = has_a_reason ? shown_from : sim::long_wait_ns(view.call_median_ns);
  std::uint32_t stuck_in = sim::kNone;
  for (LiveLane& lane : view.lanes) {
    if (lane.state != LiveState::Running && lane.state != LiveState::Silent) continue;
    std::uint32_t coll = sim::kNone;
    const std::int64_t since =
        in_call_since(index.ranks()[static_cast<std::size_t>(lane.rank)], view.t, coll);
    const std::int64_t surely = view.t - since - view.clock_error_ns;  // it waits for so long, however clocks are
    if (since < 0 || surely < shown_from) continue;
    if (lane.state == LiveState::Silent) continue;  // what it does is not visible
    lane.state = LiveState::Waiting;
    lane.waiting_from = since;
    ++view.waiting;
    if (surely < far_too_long) continue;
    view.stuck.push_back(lane.rank);
    view.stuck_ns = std::max(view.stuck_ns, view.t - since);
    if (stuck_in == sim::kNone || coll < stuck_in) stuck_in = coll;
  }
  if (stuck_in == sim::kNone) return;
  view.stuck_seq = trace.collective(stuck_in).seq;
  view.absent = index.missing(stuck_in, view.t, view.lanes.size());
}

/// The window: some training steps, and all of a wait; in steps, so that it does not shake.
std::int64_t span_of(const LiveView& view) {
  std::int64_t longest = 0;
  for (const LiveLane& lane : view.lanes) {
    if (lane.waiting_from >= 0) longest = std::max(longest, view.t - lane.waiting_from);
    if (lane.state == LiveState::Silent) longest = std::max(longest, lane.heard_ns);
    if (lane.ended >= 0) longest = std::max(longest, std::min(view.t - lane.ended, 6 * kSecond));
  }
  const std::int64_t wanted = std::max({5 * view.step_median_ns, longest * 8 / 5, kSecond});
  constexpr std::array<std::int64_t, 9> kSpans{1, 2, 3, 5, 10, 20, 30, 60, 120};
  for (const std::int64_t span : kSpans)
    if (span * kSecond >= wanted) return span * kSecond;
  return kSpans.back() * kSecond;
}

void cut_pieces(LiveLane& lane, const StepIndex::RankTimes& times, std::int64_t from, std::int64_t t) {
  auto at = std::lower_bound(times.phases.begin(), times.phases.end(), from,
                             [](const PhaseSpan& span, std::int64_t time) { return span.from < time; });
  if (at != times.phases.begin()) --at;  // one that had begun before
  for (; at != times.phases.end() && at->from <= t; ++at) {
    std::int64_t to = at->to >= 0 ? at->to : std::max(at->from, t - std::max<std::int64_t>(0, lane.heard_ns));
    if (at->to < 0 && lane.waiting_from < 0 && lane.state == LiveState::Running) to = t;
    if (lane.waiting_from >= 0) to = std::min(to, lane.waiting_from);
    to = std::min(to, t);
    if (to <= from || to <= at->from) continue;
    lane.work.push_back({at->phase, at->step, std::max(at->from, from), to});
  }
}

bool in_trouble(const LiveView& view) {
  bool some_run = false, some_done = false;
  for (const LiveLane& lane : view.lanes) {
    if (lane.failed || lane.poisoned || lane.state == LiveState::Silent || lane.state == LiveState::TimedOut)
      return true;
    some_run = some_run || lane.state == LiveState::Running || lane.state == LiveState::Waiting;
    some_done = some_done || lane.state == LiveState::Done;
  }
  return !view.stuck.empty() || (some_done && some_run && view.waiting > 0);
}

}  // namespace

sim::Diagnosis judge(const LiveView& view, const sim::Trace& trace, bool grows) {
  const bool stands = view.silent > 0 || !view.stuck.empty() || view.failed > 0 || view.ended > 0;
  const bool at_end = view.t_frame >= trace.end_time();
  if (!at_end) return sim::diagnose_at(trace, view.t_frame);
  return !grows || stands ? sim::diagnose(trace) : sim::diagnose_at(trace, view.t_frame - 1);
}

LiveView make_live_view(const sim::Trace& trace, const StepIndex& index, const sim::Frame& frame, bool grows,
                        std::span<const RankClock> clocks) {
  LiveView view;
  view.t_frame = frame.t;
  view.t = frame.t >= trace.end_time() ? last_heard(frame, clocks) : frame.t;
  view.one_time = !clocks.empty();
  view.step = frame.step;
  view.missing_events = frame.missing_events;
  const std::size_t world = std::min(frame.ranks.size(), index.ranks().size());
  view.lanes.resize(world);
  for (std::size_t r = 0; r < world; ++r) {
    LiveLane& lane = view.lanes[r];
    lane.rank = static_cast<int>(r);
    const RankClock clock = r < clocks.size() ? clocks[r] : RankClock{};
    lane.clock_error_ns = clock.error_ns;
    view.clock_error_ns = std::max(view.clock_error_ns, clock.error_ns);
    fill_lane(lane, trace, index.ranks()[r], frame.ranks[r], view.t, clock.offset_ns);
    view.one_host = view.one_host && (lane.host.empty() || lane.host == view.lanes.front().host);
    view.present += lane.state != LiveState::Absent && !has_ended(lane.state) ? 1 : 0;
    view.silent += lane.state == LiveState::Silent ? 1 : 0;
    view.ended += has_ended(lane.state) ? 1 : 0;
    view.failed += lane.failed ? 1 : 0;
    if (!view.loss && (frame.ranks[r].has & sim::kHasLoss) != 0) view.loss = frame.ranks[r].loss;
  }
  find_calls(view, trace, index);
  view.step_median_ns = step_median(index, view.t);
  find_waits(view, trace, index);
  view.from = view.t - span_of(view);
  for (LiveLane& lane : view.lanes)
    cut_pieces(lane, index.ranks()[static_cast<std::size_t>(lane.rank)], view.from, view.t);
  view.trouble = in_trouble(view);
  if (view.trouble && clocks.empty()) view.verdict = judge(view, trace, grows);
  return view;
}

JobTimes job_times(const sim::Trace& trace) {
  StepIndex index;
  index.update(trace, 1);
  JobTimes times;
  std::vector<std::int64_t> calls, steps;
  for (const auto& [coll, call] : last_calls(index, trace.end_time(), SIZE_MAX))
    if (call.over == call.callers && call.over > 0) calls.push_back(call.finished - call.called);
  for (const StepSpan& step : index.steps()) steps.push_back(step.to - step.from);
  times.call_ns = median(std::move(calls));
  times.step_ns = median(std::move(steps));
  return times;
}

}  // namespace ringside::app
