// What each event type does to a Frame: one small rule per type, listed in one switch. Rules only read the
// event, the pools and the frame before, so that a frame is a pure function of the events up to its time.
#include <algorithm>
#include <array>

#include "sim/trace/frame.hpp"

namespace ringside::sim {
namespace {

constexpr int kSigAbrt = 6, kSigTerm = 15;

RankFrame* rank_of(Frame& frame, const Event& e) {
  const bool known = e.src_kind == Source::Kind::Rank && e.src_id >= 0 &&
                     static_cast<std::size_t>(e.src_id) < frame.ranks.size();
  return known ? &frame.ranks[static_cast<std::size_t>(e.src_id)] : nullptr;
}

bool is_over(const RankFrame& rank) {
  return rank.status == RankStatus::Terminated || rank.status == RankStatus::Aborted ||
         rank.status == RankStatus::Dead || rank.status == RankStatus::Exited;
}

/// Sends away: after it the sender's working value is gone. Exchanges (recursive doubling) keep it.
bool sender_gives_away(Algorithm algorithm) {
  return algorithm != Algorithm::RecursiveDoubling;
}

void set_stage(CollectiveFrame& stage, const Trace& trace, std::uint32_t coll) {
  const CollectiveInfo& info = trace.collective(coll);
  stage = CollectiveFrame{};
  stage.coll = coll;
  stage.transfers_total = info.transfers;
  const auto world = static_cast<std::size_t>(std::max(0, info.world_size));
  stage.rank_step.assign(world, 0);
  if (info.world_size > kMaxCellRanks || info.chunks.chunks.empty()) return;
  stage.cells_per_rank = static_cast<std::uint32_t>(info.chunks.chunks.size());
  stage.cells.resize(world * stage.cells_per_rank);
  for (std::size_t r = 0; r < world; ++r)
    for (std::uint32_t c = 0; c < stage.cells_per_rank; ++c)
      stage.cells[r * stage.cells_per_rank + c].contributions = std::uint64_t{1} << r;
}

Cell* cell_of(CollectiveFrame& stage, std::int32_t rank, std::uint32_t chunk) {
  if (rank < 0 || chunk >= stage.cells_per_rank) return nullptr;
  const std::size_t at = static_cast<std::size_t>(rank) * stage.cells_per_rank + chunk;
  return at < stage.cells.size() ? &stage.cells[at] : nullptr;
}

bool has_nan(const Trace& trace, std::uint32_t sample) {
  return sample != kNone && trace.sample(sample).nan_count > 0;
}

void on_phase(RankFrame& rank, Frame& frame, const Event& e) {
  rank.in_phase = e.type == EventType::PhaseBegin;
  rank.phase = e.phase.phase;
  rank.phase_since = e.t;
  rank.step = e.phase.step;
  frame.step = std::max(frame.step, e.phase.step);
  if (rank.in_phase && !is_over(rank)) rank.status = RankStatus::Working;
  if (!rank.in_phase && rank.status == RankStatus::Working) rank.status = RankStatus::Idle;
  if (e.phase.has & kHasLoss) rank.loss = e.phase.loss;
  if (e.phase.has & kHasGradNorm) rank.grad_norm = e.phase.grad_norm;
  rank.has |= e.phase.has;
  if (((e.phase.has & kHasLoss) && e.phase.loss != e.phase.loss) ||
      ((e.phase.has & kHasGradNorm) && e.phase.grad_norm != e.phase.grad_norm))
    rank.poisoned = true;
}

/// A bucket that is only called does not push the one that moves off the stage.
bool is_moving(const CollectiveFrame& stage) {
  return stage.coll != kNone && stage.cells_per_rank > 0 && stage.transfers_done < stage.transfers_total;
}

void on_enqueued(RankFrame& rank, Frame& frame, const Trace& trace, const Event& e) {
  const std::uint32_t coll = e.collective.coll;
  constexpr std::size_t kMostCalls = 1'024;  // as many as there may be buckets; more is no job
  if (rank.calls.size() < kMostCalls) rank.calls.push_back({coll, rank.tensor_event});
  if (rank.calls.size() == 1) {
    rank.in_collective = coll;
    rank.result_event = kNone;
    rank.waiting_since = e.t;
    rank.status = RankStatus::Waiting;
  }
  const CollectiveFrame& stage = frame.collective;
  if (stage.coll == kNone || (coll > stage.coll && !is_moving(stage)))
    set_stage(frame.collective, trace, coll);
}

void on_started(RankFrame& rank, Frame& frame, const Trace& trace, const Event& e) {
  rank.waiting_since = -1;
  if (!is_over(rank)) rank.status = RankStatus::Working;
  if (frame.collective.coll == kNone || e.collective.coll > frame.collective.coll)
    set_stage(frame.collective, trace, e.collective.coll);
}

void on_finished(RankFrame& rank, const Event& e) {
  std::erase_if(rank.calls, [&](const CallFrame& call) { return call.coll == e.collective.coll; });
  rank.in_collective = rank.calls.empty() ? kNone : rank.calls.front().coll;
  rank.last_finished = e.collective.coll;
  rank.waiting_since = rank.calls.empty() ? -1 : e.t;
  rank.needs_chunk = false;
  if (is_over(rank)) return;
  rank.status = !rank.calls.empty() ? RankStatus::Waiting
                : rank.in_phase     ? RankStatus::Working
                                    : RankStatus::Idle;
}

void on_step_begin(RankFrame& rank, Frame& frame, const Trace& trace, const Event& e, std::uint32_t index,
                   std::uint32_t arrive, std::uint32_t end) {
  if (!rank.needs_chunk) {  // one that waits for a chunk goes on waiting while it sends another
    rank.waiting_since = -1;
    rank.status = RankStatus::Working;
  }
  CollectiveFrame& stage = frame.collective;
  if (stage.coll == kNone || e.ring.coll > stage.coll) set_stage(stage, trace, e.ring.coll);
  if (stage.coll != e.ring.coll) return;
  const CollectiveInfo& info = trace.collective(e.ring.coll);
  Flight flight;
  flight.begin_event = index;
  flight.end_event = end;
  flight.start = e.t;
  if (arrive != kNone) flight.arrive = trace.events()[arrive].t;
  if (end != kNone) {
    flight.done = trace.events()[end].t;
    if (flight.arrive < 0) flight.arrive = flight.done;
  }
  flight.src = e.src_id;
  flight.dst = e.ring.peer;
  flight.chunk = e.ring.chunk;
  flight.step = e.ring.step;
  flight.channel = e.ring.channel;
  flight.sample = e.ring.sample;
  flight.reduces = e.ring.step <= info.reduce_steps;
  stage.ring_step = std::max(stage.ring_step, e.ring.step);
  if (Cell* from = cell_of(stage, flight.src, flight.chunk)) {
    flight.contributions = from->contributions;
    if (flight.reduces && sender_gives_away(info.algorithm)) from->state = CellState::PassedOn;
  }
  if (Cell* to = cell_of(stage, flight.dst, flight.chunk)) {
    flight.own = to->working;
    to->state = CellState::Arriving;
  }
  stage.flights.push_back(flight);
}

void on_step_wait(RankFrame& rank, const Event& e) {
  rank.needs_chunk = true;
  rank.waiting_since = e.t;
  if (!is_over(rank)) rank.status = RankStatus::Waiting;
}

void on_step_arrive(RankFrame& rank, Frame& frame, const Event& e) {
  rank.waiting_since = -1;
  rank.needs_chunk = false;
  if (!is_over(rank)) rank.status = RankStatus::Working;
  if (frame.collective.coll != e.ring.coll) return;
  for (Flight& flight : frame.collective.flights)
    if (flight.dst == e.src_id && flight.chunk == e.ring.chunk && flight.step == e.ring.step)
      flight.arrive = e.t;
  if (Cell* cell = cell_of(frame.collective, e.src_id, e.ring.chunk)) cell->state = CellState::Adding;
}

void on_step_end(RankFrame& rank, Frame& frame, const Trace& trace, const Event& e) {
  rank.waiting_since = -1;
  rank.needs_chunk = false;
  if (!is_over(rank)) rank.status = RankStatus::Working;
  if (has_nan(trace, e.ring.sample)) rank.poisoned = true;
  CollectiveFrame& stage = frame.collective;
  if (stage.coll != e.ring.coll) return;
  const auto found = std::find_if(stage.flights.begin(), stage.flights.end(), [&](const Flight& flight) {
    return flight.dst == e.src_id && flight.src == e.ring.peer && flight.chunk == e.ring.chunk &&
           flight.step == e.ring.step;
  });
  if (found == stage.flights.end()) return;
  ++stage.transfers_done;
  if (static_cast<std::size_t>(e.src_id) < stage.rank_step.size()) {
    std::uint32_t& step = stage.rank_step[static_cast<std::size_t>(e.src_id)];
    step = std::max(step, e.ring.step);
  }
  if (Cell* cell = cell_of(stage, e.src_id, e.ring.chunk)) {
    cell->contributions = found->reduces ? cell->contributions | found->contributions : found->contributions;
    cell->contribution_count = static_cast<std::uint16_t>(__builtin_popcountll(cell->contributions));
    cell->working = e.ring.sample;
    cell->poisoned = has_nan(trace, e.ring.sample) ? 1 : 0;
    const bool complete = cell->contribution_count == trace.collective(stage.coll).world_size;
    cell->state = complete ? CellState::Complete : CellState::Partial;
    if (complete) cell->tensor = e.ring.sample;
  }
  stage.flights.erase(found);
}

void on_tensor(RankFrame& rank, const Trace& trace, const Event& e, std::uint32_t index) {
  const std::string& name = trace.string(e.tensor.name);
  if (name.starts_with("compare.")) return;  // a second way to the same result: not what the rank holds
  (name == "result" ? rank.result_event : rank.tensor_event) = index;
  if (name == "prepared" && !rank.calls.empty()) rank.calls.front().tensor_event = index;
  rank.poisoned = has_nan(trace, e.tensor.sample);
}

void on_exit(RankFrame& rank, const Event& e) {
  rank.exit_code = e.text.code;
  rank.by_signal = e.aux8 != 0;
  rank.waiting_since = -1;
  rank.in_phase = false;
  if (rank.by_signal && e.text.code == kSigTerm) {
    rank.status = RankStatus::Terminated;
  } else if (rank.by_signal && e.text.code == kSigAbrt) {
    rank.status = RankStatus::Aborted;
  } else {
    rank.status = !rank.by_signal && e.text.code == 0 ? RankStatus::Exited : RankStatus::Dead;
  }
}

void on_node_state(Frame& frame, const Trace& trace, const Event& e) {
  if (e.src_kind != Source::Kind::Node || e.src_id < 0) return;
  if (static_cast<std::size_t>(e.src_id) < frame.node_down.size())
    frame.node_down[static_cast<std::size_t>(e.src_id)] = trace.string(e.text.text) == "down" ? 1 : 0;
}

}  // namespace

void FrameSource::apply(Frame& frame, std::uint32_t index) const {
  const Event& e = trace_.events()[index];
  if (e.type == EventType::NodeState) return on_node_state(frame, trace_, e);
  RankFrame* rank = rank_of(frame, e);
  if (rank == nullptr) {  // groups: the simulator itself says where the job stands
    if (e.type == EventType::PhaseBegin) frame.step = e.phase.step;
    return;
  }
  frame.missing_events += trace_.lost_before(index);
  rank->last_heard = e.t;
  switch (e.type) {
    case EventType::Hello:
      if (is_over(*rank)) {  // a new process in its place: the job was restarted
        RankFrame fresh;
        fresh.last_heard = e.t;
        *rank = fresh;
      }
      rank->hello = e.hello.hello;
      break;
    case EventType::PhaseBegin:
    case EventType::PhaseEnd:
      on_phase(*rank, frame, e);
      break;
    case EventType::CollectiveEnqueued:
      on_enqueued(*rank, frame, trace_, e);
      break;
    case EventType::CollectiveStarted:
      on_started(*rank, frame, trace_, e);
      break;
    case EventType::CollectiveFinished:
      on_finished(*rank, e);
      break;
    case EventType::RingStepBegin:
      on_step_begin(*rank, frame, trace_, e, index, arrive_of_[index], end_of_[index]);
      break;
    case EventType::RingStepWait:
      on_step_wait(*rank, e);
      break;
    case EventType::RingStepArrive:
      on_step_arrive(*rank, frame, e);
      break;
    case EventType::RingStepEnd:
      on_step_end(*rank, frame, trace_, e);
      break;
    case EventType::TensorValues:
      on_tensor(*rank, trace_, e, index);
      break;
    case EventType::NanFound:
      rank->poisoned = true;
      break;
    case EventType::Weights:
      rank->weights_digest = e.weights.digest;
      rank->weights_step = e.weights.step;
      break;
    case EventType::Heartbeat:
      rank->heartbeats = true;
      frame.last_beat = e.t;
      break;
    case EventType::WatchdogExpired:
      rank->watchdog_expired = true;
      if (!is_over(*rank)) rank->status = RankStatus::TimedOut;
      break;
    case EventType::CommAbort:
      if (!is_over(*rank)) rank->status = RankStatus::Aborted;
      break;
    case EventType::Error:
      rank->last_error = index;
      break;
    case EventType::LogLine:
      rank->last_log = index;
      break;
    case EventType::Exit:
      on_exit(*rank, e);
      break;
    case EventType::Left:
      rank->waiting_since = -1;
      rank->status = RankStatus::Dead;
      break;
    default:
      break;
  }
}

void FrameSource::finish(Frame& frame) const {
  // A live rank sends heartbeats all the time. A simulated job writes a round of them only now and then while
  // somebody waits long: there a rank is silent that is missing in the newest round.
  const bool in_rounds = trace_.header.source == "simulator";
  const std::int64_t now = in_rounds ? frame.last_beat : frame.t;
  for (RankFrame& rank : frame.ranks) {
    if (is_over(rank) || rank.status == RankStatus::TimedOut) continue;
    if ((rank.heartbeats || in_rounds) && rank.last_heard >= 0) {
      const std::int64_t silence = now - rank.last_heard;
      if (silence >= kDeadAfterNs) {
        rank.status = RankStatus::Dead;
      } else if (silence >= kStalledAfterNs) {
        rank.status = RankStatus::Stalled;
      } else if (silence >= kSilentAfterNs) {
        rank.status = RankStatus::Silent;
      }
      if (silence >= kSilentAfterNs) continue;
    }
    const bool stuck = rank.status == RankStatus::Waiting && rank.waiting_since >= 0 &&
                       frame.t - rank.waiting_since >= kStalledAfterNs;
    if (stuck) rank.status = RankStatus::Stalled;
  }
}

}  // namespace ringside::sim
