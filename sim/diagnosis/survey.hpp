// Everything that a diagnosis asks of a Trace, collected in one pass: who called what when, who ended how,
// what hardware and kernel said. Commands (injected faults) are skipped on purpose: a diagnosis may only know
// what a real job would show.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/trace/trace.hpp"

namespace ringside::sim {

/// One collective as one rank called it.
struct Call {
  std::uint32_t coll = 0;
  std::uint32_t event = 0;  // index of collective_enqueued
  std::int64_t seq = 0;
  std::int64_t enqueued = 0, started = -1, finished = -1;  // -1 = never
  std::int64_t count = 0;
  std::uint32_t shape = kNone;
  std::int32_t step = 0;  // the rank's own training step when it called
  Collective collective = Collective::AllReduce;
  ReduceOp op = ReduceOp::Sum;
  DType dtype = DType::Float32;

  /// Whether a library that sees everything would call the two the same.
  bool same_call(const Call& other) const {
    return collective == other.collective && op == other.op && dtype == other.dtype && count == other.count &&
           shape == other.shape;
  }
};

struct EndOfRank {
  std::int64_t t = 0;
  std::uint32_t event = 0;
  bool by_signal = false;
  std::int32_t code = 0;  // exit code or signal
};

struct WeightsAt {
  std::int64_t step = 0;
  std::uint64_t digest = 0;
  std::uint32_t event = 0;
};

struct LossAt {
  std::int32_t step = 0;
  double loss = 0;
  std::uint32_t event = 0;
};

struct RankSurvey {
  std::string host;
  std::vector<Call> calls;  // in the order of the rank's program
  std::optional<EndOfRank> end;
  std::vector<std::uint32_t> errors;       // event indices
  std::vector<std::uint32_t> logs;         // event indices of its own log lines
  std::optional<std::uint32_t> first_nan;  // event index of its first nan_found
  std::optional<std::uint32_t> timeout;    // its first watchdog_expired
  std::optional<std::uint32_t> xid;        // its first device sample with an Xid
  std::vector<WeightsAt> weights;
  std::vector<LossAt> losses;
  std::vector<std::int64_t> compute_ns;  // per training step: forward + loss + backward, from step 1
  std::int64_t last_heartbeat_t = -1;
  std::int64_t last_event_t = -1;
  std::uint32_t last_event = kNone;
  std::uint32_t last_own_event = kNone;  // the last thing it did itself: no exit, no heartbeat
  Phase phase = Phase::Init;
  bool in_phase = false;
  std::int64_t phase_since = 0;
  std::int32_t step = 0;

  bool ended_well() const { return end && !end->by_signal && end->code == 0; }
  /// The call that it made and that never finished, if any.
  const Call* pending() const;
};

struct NicSurvey {
  int node = 0;
  int rank = -1;  // the rank that told of its host's port; -1 = the node itself did
  std::string port;
  std::int64_t down_t = -1, up_t = -1;  // first down; the up after it
  std::uint32_t event = 0;
};

struct Survey {
  std::vector<RankSurvey> ranks;
  std::vector<std::uint32_t> node_down;     // event indices of node_state "down"
  std::vector<std::uint32_t> node_up;       // … and "up": the job was started again
  std::vector<std::uint32_t> kernel_lines;  // event indices of log lines whose stream is "kernel"
  std::vector<NicSurvey> nics;
  std::int64_t end_t = 0;     // what is later was not looked at
  std::int64_t patience = 0;  // a wait shorter than that is no failure
  int gpus_per_node = 1;

  int world() const { return static_cast<int>(ranks.size()); }
  int node_of(int rank) const { return rank / gpus_per_node; }
  const std::string& host_of(int rank) const { return ranks[static_cast<std::size_t>(rank)].host; }
};

/// Everything up to `until`.
Survey survey(const Trace& trace, std::int64_t until = INT64_MAX);

}  // namespace ringside::sim
