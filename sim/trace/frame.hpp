// A Frame: what is true at one time t, made from the Trace alone. Every view is drawn from a `const Frame&`
// and never asks where it came from.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "sim/trace/trace.hpp"

namespace ringside::sim {

/// What a rank does. Working phases come from phase events; the rest from what it waits for, from silence,
/// and from its end.
enum class RankStatus : std::uint8_t {
  Idle,
  Working,
  Waiting,
  Silent,
  Stalled,
  TimedOut,
  Terminated,
  Aborted,
  Dead,
  Exited,
};
std::string_view to_word(RankStatus status);

// The ladder of silence and waiting (NCCL RAS: 1 s, 5 s, 20 s, 60 s).
inline constexpr std::int64_t kSilentAfterNs = 1'000'000'000;
inline constexpr std::int64_t kStalledAfterNs = 20'000'000'000;
inline constexpr std::int64_t kDeadAfterNs = 60'000'000'000;

/// A collective that a rank has called and that is not over on it, with the tensor event that it brings.
struct CallFrame {
  std::uint32_t coll = kNone, tensor_event = kNone;
};

struct RankFrame {
  RankStatus status = RankStatus::Idle;
  Phase phase = Phase::Init;
  bool in_phase = false;
  bool poisoned = false;  // NaN known in its numbers
  bool by_signal = false;
  bool watchdog_expired = false;  // whatever came after it
  bool needs_chunk = false;  // inside a collective, and what it has to receive next is not there
  std::int32_t step = 0;     // training step, 0 before the first
  std::int64_t phase_since = 0;
  std::int64_t waiting_since = -1;  // in a collective that has not started moving here; -1 = not waiting
  std::int64_t last_heard = -1;     // time of its last event of any kind
  std::int32_t exit_code = 0;
  std::uint32_t in_collective = kNone;  // enqueued and not finished: the first of `calls`
  std::vector<CallFrame> calls;         // in the order in which it runs them: one, unless buckets queue up
  std::uint32_t last_finished = kNone;
  std::uint32_t tensor_event = kNone;  // last "input" or "prepared" tensor event
  std::uint32_t result_event = kNone;  // "result" tensor event of the collective on stage
  bool heartbeats = false;             // it has sent one, so silence means something
  std::uint32_t hello = kNone;
  std::uint32_t last_error = kNone;  // event index
  std::uint32_t last_log = kNone;    // event index
  std::uint64_t weights_digest = 0;
  std::int64_t weights_step = -1;
  double loss = 0, grad_norm = 0;
  std::uint8_t has = 0;  // kHasLoss | kHasGradNorm
  /// The "input" or "prepared" tensor event that it brings, or brought last, into this collective.
  std::uint32_t tensor_of(std::uint32_t coll) const {
    for (const CallFrame& call : calls)
      if (call.coll == coll) return call.tensor_event;
    return tensor_event;
  }
};

/// One chunk of one rank in the collective that is on stage.
enum class CellState : std::uint8_t {
  Own,       // its own numbers, untouched
  PassedOn,  // sent away: the working value is gone from here
  Arriving,  // a chunk flies towards it
  Adding,    // arrived, being reduced
  Partial,   // holds a partial sum
  Complete,  // holds all contributions
};

struct Cell {
  std::uint64_t contributions = 0;  // bit r = rank r is inside; worlds above 64: see contribution_count
  std::uint16_t contribution_count = 1;
  CellState state = CellState::Own;
  std::uint8_t poisoned = 0;      // 1 = a NaN inside
  std::uint32_t working = kNone;  // sample: what is in transit buffers
  std::uint32_t tensor =
      kNone;  // sample: what a debugger on that rank would see in its tensor; kNone = its input
};

/// A chunk on its way (or arrived and being reduced).
struct Flight {
  std::uint32_t begin_event = kNone;
  std::uint32_t end_event = kNone;                 // kNone = the trace does not know yet (live)
  std::int64_t start = 0, arrive = -1, done = -1;  // -1 = not known yet
  std::int32_t src = 0, dst = 0;
  std::uint32_t chunk = 0, step = 0;
  std::uint16_t channel = 0;
  std::uint32_t sample = kNone;     // what travels
  std::uint32_t own = kNone;        // the receiver's working sample before (reduce only)
  std::uint64_t contributions = 0;  // what travels contains
  bool reduces = false;
};

/// The collective on stage: the latest one whose data any rank has begun to move at t. While none moves on
/// stage, the latest that any rank has called.
struct CollectiveFrame {
  std::uint32_t coll = kNone;
  std::uint32_t cells_per_rank = 0;      // 0 = ring steps not visible, or more than kMaxCellRanks ranks
  std::vector<Cell> cells;               // rank-major
  std::vector<Flight> flights;           // begun, not done, ordered by (start, begin_event)
  std::vector<std::uint32_t> rank_step;  // per rank: latest ring step it finished
  std::uint32_t transfers_done = 0, transfers_total = 0;
  std::uint32_t ring_step = 0;  // the ring step of the latest begun transfer; 0 = none yet
  const Cell& cell(int rank, std::uint32_t chunk) const {
    return cells[static_cast<std::size_t>(rank) * cells_per_rank + chunk];
  }
};
inline constexpr int kMaxCellRanks = 64;

struct StatusCounts {
  std::array<std::int32_t, 10> by_status{};
  std::int32_t poisoned = 0;
};

struct Frame {
  std::int64_t t = 0;
  std::size_t applied = 0;  // events applied, in Trace::order()
  std::vector<RankFrame> ranks;
  std::vector<std::uint8_t> node_down;  // per node: 1 = NodeState said so
  CollectiveFrame collective;
  std::int64_t missing_events = 0;  // sum of the gaps in n so far
  std::int32_t step = 0;            // largest training step begun
  std::int64_t last_beat = -1;      // time of the newest heartbeat of any rank
  StatusCounts counts() const;
};

/// Gives Frames of a Trace forwards and backwards: nearest keyframe, then events in order (t, src, n).
class FrameSource {
 public:
  explicit FrameSource(const Trace& trace);
  /// The frame at t, all events <= t applied. Valid until the next call.
  const Frame& frame_at(std::int64_t t);
  /// Call after events were appended to the trace; a late event (t below the last applied) drops later
  /// keyframes.
  void trace_grew();

 private:
  /// Begin, arrive and end of one transfer, matched by what identifies it, in whatever order they came.
  struct Match {
    std::uint32_t begin = kNone, arrive = kNone, end = kNone;
  };
  using TransferKey = std::array<std::uint32_t, 6>;  // coll, channel and loop, step, chunk, src, dst

  void index_new_events();
  Frame start() const;
  std::size_t applied_at(std::int64_t t) const;  // how many events of the order are <= t
  void advance(Frame& frame, std::size_t until, bool keep_keyframes);
  void apply(Frame& frame, std::uint32_t event_index) const;
  void finish(Frame& frame) const;  // what depends on t and not on an event: silence, long waits

  const Trace& trace_;
  std::map<TransferKey, Match> open_;     // transfers of which something is still missing
  std::vector<std::uint32_t> arrive_of_;  // event index of a ring_step_begin -> its ring_step_arrive
  std::vector<std::uint32_t> end_of_;     // event index of a ring_step_begin -> its ring_step_end
  std::size_t indexed_ = 0;               // events that the tables above know
  std::vector<Frame> keyframes_;          // sorted by applied
  std::size_t spacing_ = 4096;            // events between keyframes
  Frame current_;                         // applied, without finish()
  Frame shown_;
};

}  // namespace ringside::sim
