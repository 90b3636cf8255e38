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

#include "sim/job/log_text.hpp"
#include "sim/job/mover.hpp"
#include "sim/job/network.hpp"
#include "sim/job/simulate.hpp"
#include "sim/job/timed_plane.hpp"

namespace ringside::sim {

enum class ItemKind : std::uint8_t {
  Command,        // fault a is given; before everything else at that time
  Start,          // a rank begins
  NextStep,       // a rank goes on with its next training step
  PhaseEnd,       // a working phase is over
  BucketReady,    // with overlap: backward has finished bucket a
  CallDue,        // without numbers: the rank's collective is over
  Strike,         // fault a, which waited for a place in a step, strikes
  Recover,        // what fault a broke works again
  WatchdogPoll,   // the rank's watchdog looks at its oldest open call
  HeartbeatPoll,  // the rank's heartbeat monitor looks at its watchdog
  LadderTick,     // a round of heartbeats while somebody waits long
  PeerGone,       // the rank's connection to rank a was closed
  RetryExceeded,  // the rank's NIC gave up sending to rank a
  GoDown,         // the rank's process ends, as it decided before
  LauncherSees,   // the launcher notices how the rank ended
  Signal,         // the launcher sends the rank signal a
  NodeFails,      // node a is gone, at random
  Restart,        // the job begins again from its last checkpoint
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

/// Frozen: stopped as a whole (SIGSTOP, a deadlock). Stuck: its GPU is gone and its threads hang in the
/// driver. Ending: it has decided to end and only cleans up.
inline constexpr std::uint8_t kChanged = 1, kCallsDiffer = 2, kNotFinite = 4;  // Simulator::suspect

enum class Life : std::uint8_t { Running, Frozen, Stuck, Ending, Exited };

/// Why a process ends. The first row can be what ended a job; the second only follows from something else.
enum class EndReason : std::uint8_t {
  Finished,
  EarlyExit,
  Killed,
  Exception,
  SizeError,
  GpuError,
  Watchdog,
  RemoteError,
  Terminated,
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
  bool waits_for_calls = false;              // in phase all_reduce, nothing to do but wait
  std::shared_ptr<const Tensor> grad;        // of this step; after its collectives the result
  std::shared_ptr<const Tensor> clean_grad;  // of this step, before faults
  bool input_shown = false;                  // the trace has its "input" of this step
  double loss = 0;
  bool has_loss = false;
  std::int64_t step_began = -1;
  std::uint64_t updates = 0;  // digest of all updates so far: equal on all ranks of a healthy job
  bool weights_bad = false;   // a NaN or infinity went into the weights
  bool bad_now = false;       // non-finite gradient in this step
  std::int64_t busy_until = 0;
  // what faults did to it
  std::int64_t speed_ppm = 1'000'000, extra_ns = 0;
  bool discard = false;         // this step's collectives are called, their results not used
  bool skip_update = false;     // no optimizer in this step
  bool grad_changed = false;    // the gradient is not what the scenario gives
  ReduceOp op = ReduceOp::Avg;  // of this step's calls
  bool oom = false;             // killed by the kernel for memory
  std::int32_t repeated = 0;    // extra_step: the step that it has already done once more
  // how it ends
  EndReason end_reason = EndReason::Finished;
  std::int32_t exit_code = 0;
  bool by_signal = false;
  std::int64_t exited_at = -1;
  std::vector<std::string> last_words;     // what it prints just before it ends
  std::int64_t watchdog_at = -1;           // when its watchdog looks next; -1 = nothing to watch
  std::vector<std::int32_t> gone_peers;    // connections that are closed
  std::vector<std::int32_t> silent_peers;  // dead behind an RDMA connection: only a send finds out
};

/// A fault of the scenario or by hand. Those with a place in a step wait for their rank to come there.
struct ArmedFault {
  Fault fault;
  bool announced = false;  // its command stands in the trace
};

/// torchrun on one node, or the one mpirun or srun (node 0).
struct Agent {
  bool failing = false;
  bool reported = false;
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
  void connect();

  // Services for the rules.
  void push(std::int64_t t, ItemKind kind, std::int32_t rank = -1, std::int64_t a = 0);
  void emit(Source source, EventType type, Event event = {});
  int world() const { return static_cast<int>(ranks.size()); }
  Rank& rank(int r) { return ranks[static_cast<std::size_t>(r)]; }
  const Rank& rank(int r) const { return ranks[static_cast<std::size_t>(r)]; }
  int node_of(int r) const { return r / scenario->cluster.gpus_per_node; }
  bool queue_is_empty() const { return queue_.empty() && !mover.next_time(); }

  // State.
  std::shared_ptr<const Scenario> scenario;
  std::int64_t now = 0;
  std::vector<Rank> ranks;
  std::vector<ArmedFault> faults;
  std::vector<std::vector<std::uint32_t>> faults_of;  // per rank: those with a place in its steps
  std::vector<Agent> agents;                          // per node
  std::map<std::uint32_t, std::map<int, Fingerprint>> fingerprints;  // debug detail: by seq, ranks that came
  std::uint32_t fingerprints_passed = 0;                             // all calls up to this one agreed
  std::vector<std::vector<std::int32_t>> neighbours;                 // per rank: whom it has connections to
  // Without numbers: what holds collectives up.
  int links_down = 0;
  std::int64_t held_since = 0;
  std::vector<std::pair<std::int32_t, std::int64_t>> held;  // rank, time that was left
  std::uint32_t broken_from = 0;  // calls from this seq on have lost a member; 0 = none
  bool with_numbers = false;      // real tensors move
  bool with_ring_steps = false;
  Mover mover;
  std::vector<std::uint32_t> sample_ids;  // the mover's samples in the trace's pool
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
  bool ladder_set = false;                             // a LadderTick is queued
  std::int32_t ladder_rung = 0;  // rounds of heartbeats since the oldest open call began to wait
  bool any_error = false, any_timeout = false;
  std::vector<std::uint8_t> suspect;                           // by coll: why its numbers are looked at
  using Tensors = std::vector<std::shared_ptr<const Tensor>>;  // per rank
  std::map<std::uint32_t, Tensors> brought;      // by coll, until it is over: inputs without faults
  std::map<std::uint32_t, Tensors> raw_results;  // of suspect collectives
  Outcome outcome = Outcome::Completed;
  // Random failures ([failures]).
  std::int32_t failed_node = -1;  // the job ends because of this node, and begins again
  int restarts = 0;
  std::int32_t saved_step = 0;  // of the last checkpoint, with what it holds
  Network saved_network;
  std::uint64_t saved_updates = 0;
  std::int64_t last_thing = 0;  // time of the last thing that happened to the job

 private:
  std::vector<Item> queue_;
  std::uint64_t next_id_ = 1, next_command_ = 1;
};

}  // namespace ringside::sim
