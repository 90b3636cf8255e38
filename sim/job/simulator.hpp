// The rank-level simulator: a whole job as a queue of things that happen at integer nanoseconds.
//
// A regular type: a copy goes on from the same state, which is what a branch is. Its state is open; what
// happens is said by small free functions, `on_x(Simulator&, …)`, one per kind of item, listed in one switch
// (simulator.cpp) and grouped by file: rank_rules (training step), call_rules (collectives), fault_rules
// (what breaks), end_rules (who notices, watchdog, abort, launcher).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "sim/job/mover.hpp"
#include "sim/job/network.hpp"
#include "sim/job/simulate.hpp"
#include "sim/job/timed_plane.hpp"

namespace ringside::sim {

enum class ItemKind : std::uint8_t {
  Command,        // a fault given for a time; before everything else at that time
  Start,          // a rank begins
  NextStep,       // a rank goes on with its next training step
  PhaseEnd,       // a working phase is over
  BucketReady,    // with overlap: backward has finished bucket a
  CallDue,        // without numbers: the rank's collective is over
  Strike,         // fault a hits the rank
  Recover,        // what fault a broke works again
  WatchdogPoll,   // the rank's watchdog looks at its oldest open call
  LadderTick,     // a round of heartbeats while somebody waits long
  PeerClosed,     // the rank's connection to rank a was closed
  RetryExceeded,  // the rank's NIC gave up sending to rank a
  GoDown,         // the rank's process ends; a: see EndReason
  LauncherSees,   // the launcher notices that rank a ended
  Signal,         // the launcher sends the rank signal a
};

struct Item {
  std::int64_t t = 0;
  std::uint64_t order = 0;  // commands first, then insertion
  ItemKind kind = ItemKind::Start;
  std::int32_t rank = -1;
  std::uint32_t epoch = 0;  // of the rank; an item of an older epoch is void
  std::int64_t a = 0;
  bool operator>(const Item& o) const { return t != o.t ? t > o.t : order > o.order; }
};

enum class Life : std::uint8_t { Running, Frozen, Ending, Exited };

/// Why a process ends: decides its exit status and what it says.
enum class EndReason : std::uint8_t {
  Finished,
  Killed,
  Exception,
  Watchdog,
  RemoteError,
  SizeError,
  Terminated,
  GpuError,
  EarlyExit
};

/// A collective that a rank has called and that is not finished on it.
struct OpenCall {
  std::uint32_t seq = 0;
  std::uint32_t coll = 0;
  std::int32_t step = 0, bucket = 0;
  std::int64_t enqueued_at = 0;
  std::int64_t count = 0;
  DType dtype = DType::Float32;
  ReduceOp op = ReduceOp::Sum;
  Collective collective = Collective::AllReduce;
  std::uint32_t shape = 0;             // Trace::shapes
  std::shared_ptr<const Tensor> data;  // what it brings; null without numbers
  bool entered = false, moving = false;
  bool discard = false;  // the result is not used
};

struct Rank {
  Life life = Life::Running;
  std::int32_t step = 0;
  Phase phase = Phase::Init;
  bool in_phase = false;
  std::int64_t phase_since = 0;
  std::uint32_t epoch = 0;
  std::uint32_t enqueued = 0, completed = 0;
  std::deque<OpenCall> open;
  std::int32_t next_bucket = 0;
  bool waits_for_calls = false;        // in phase all_reduce, nothing to do but wait
  std::shared_ptr<const Tensor> grad;  // of this step; after its collectives the result
  bool input_shown = false;            // the trace has its "input" of this step
  double loss = 0;
  bool has_loss = false;
  bool skip_finish = false;
  std::int64_t step_began = -1;
  std::uint64_t updates = 0;  // digest of all updates so far: equal on all ranks of a healthy job
  bool weights_bad = false;   // a NaN or infinity went into the weights
  bool bad_now = false;       // non-finite gradient in this step
  std::int64_t busy_until = 0;
  // what faults did to it
  std::int64_t speed_ppm = 1'000'000, extra_ns = 0;
  std::int32_t slow_from = 0;
  bool skip_update = false;
  bool repeated = false;  // extra_step: this step is being done once more
  std::int64_t end_pending_since = -1;
  EndReason end_reason = EndReason::Finished;
  std::int32_t exit_code = 0;
  bool by_signal = false;
  std::int64_t exited_at = -1;
  std::int64_t watchdog_at = -1;  // next time its watchdog has to look; -1 = nothing to watch
};

/// One entry of the trace's command list: a fault of the scenario or by hand.
struct ArmedFault {
  Fault fault;
  bool struck = false;
};

class Simulator {
 public:
  explicit Simulator(std::shared_ptr<const Scenario> job, const std::vector<Command>& commands = {});

  /// Handles the earliest item; false when nothing is left to happen.
  bool step();
  std::int64_t next_time() const;  // INT64_MAX when nothing is left
  /// A fault by hand, from now on. t must not be in the past.
  void inject(const Command& command);
  /// Outcomes, after step() gave false.
  Simulation finish() &&;

  // Services for the rules.
  void push(std::int64_t t, ItemKind kind, std::int32_t rank = -1, std::int64_t a = 0);
  void emit(Source source, EventType type, Event event = {});
  int world() const { return static_cast<int>(ranks.size()); }
  Rank& rank(int r) { return ranks[static_cast<std::size_t>(r)]; }
  const Rank& rank(int r) const { return ranks[static_cast<std::size_t>(r)]; }
  bool numbers() const { return with_numbers; }

  // State.
  std::shared_ptr<const Scenario> scenario;
  std::int64_t now = 0;
  std::vector<Rank> ranks;
  std::vector<ArmedFault> faults;
  std::vector<std::vector<std::uint32_t>>
      faults_of;              // per rank: armed faults that strike at a step and phase
  bool with_numbers = false;  // real tensors move
  bool with_ring_steps = false;
  Mover mover;
  TimedPlane timed;
  std::vector<std::shared_ptr<const Tensor>> inputs;
  std::map<std::tuple<Collective, DType, std::int64_t>, std::shared_ptr<const Program>> programs;
  Network network;
  Trace trace;
  std::uint32_t comm = 0;
  std::vector<CollectiveOutcome> outcomes;             // by coll
  std::uint32_t result_coll = 0;                       // the collective that `results` is of
  std::vector<std::shared_ptr<const Tensor>> results;  // per rank, of the latest collective
  std::vector<std::int32_t> finished_ranks;            // by coll
  std::int64_t ladder_from = -1;  // the oldest open call when the present ladder began; -1 = no ladder runs
  std::int32_t ladder_rung = 0;
  bool any_error = false, any_timeout = false;
  Outcome outcome = Outcome::Completed;
  std::int64_t last_thing = 0;  // time of the last thing that happened to the job

 private:
  std::vector<Item> queue_;
  std::uint64_t next_id_ = 1, next_command_ = 1;
};

}  // namespace ringside::sim
