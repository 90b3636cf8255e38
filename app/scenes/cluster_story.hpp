// What the cluster scene needs to know of a whole trace, found in one pass: log lines, the times at which
// something went wrong, checkpoints, and the failures with what they cost. A trace that grows is read on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/trace/trace.hpp"

namespace ringside::app {

/// One stop of the whole job: from what stopped it to the restart (or to the end of the trace).
struct Episode {
  std::int64_t failed = 0;
  std::int64_t saved = 0;       // when the last checkpoint before it was complete; 0 = none, all is lost
  std::int32_t saved_step = 0;  // its training step; 0 = none
  std::int32_t step = 0;        // the training step that was running
  std::int64_t over = -1;       // when the job ran again; -1 = it never did
  std::int64_t reported = 0;    // the first event that tells of it: later than `failed` where nobody died
};

/// GPU time that a failure takes, in ns of one GPU (divide by 3.6e12 for GPU-hours).
struct Cost {
  double waiting = 0;  // from the stop on, every GPU of the job
  double redo = 0;     // the steps since the last checkpoint, to be computed again
  double total() const { return waiting + redo; }
};
inline constexpr double kGpuHourNs = 3.6e12;

/// One job phase that the simulator itself reports (jobs whose ranks are not listed).
struct JobPhase {
  std::int64_t from = 0, to = -1;
  sim::Phase phase = sim::Phase::Init;
};

/// The latest collective that anybody has called.
struct LatestCall {
  std::uint32_t coll = sim::kNone;
  std::int64_t first = 0, last = 0;  // first and last call of a rank so far
  int ranks = 0, finished = 0;
};

class ClusterStory {
 public:
  /// Reads what is new in the trace; starts over with another generation. `checkpoint_steps` (0 = not known)
  /// tells where checkpoints are that take no time and therefore leave no phase.
  void update(const sim::Trace& trace, std::uint64_t generation, std::int64_t checkpoint_steps);

  /// Indices of all log lines in the order of time.
  std::span<const std::uint32_t> logs() const { return logs_; }
  /// How many of them had been printed by t.
  std::size_t logs_until(std::int64_t t) const;
  /// The last time <= t at which something went wrong (an end, an error, a timeout, NaN, a port, an Xid); -1
  /// = never.
  std::int64_t last_trouble(std::int64_t t) const;
  /// The events of which last_trouble() speaks, in the order of time.
  std::span<const std::uint32_t> trouble_events() const { return trouble_events_; }
  /// Faults that were injected (events of type command): for comparing with the diagnosis afterwards only.
  std::span<const std::uint32_t> injected() const { return injected_; }
  /// GPU samples of a rank (power, utilisation), in the order of time.
  std::span<const std::uint32_t> samples(int rank) const;
  /// The trace's latest call of a collective, if it had begun by t; LatestCall{} otherwise. (An earlier one
  /// is over.)
  LatestCall last_call(std::int64_t t) const;
  /// All stops of the job.
  std::span<const Episode> episodes() const { return episodes_; }
  /// The stop that is going on at t; nullptr while the job runs.
  const Episode* episode_at(std::int64_t t) const;
  /// What all stops have cost by t; with `stopped_at` >= 0, a stop that no event shows is counted from there
  /// (a rank that hangs).
  Cost cost_at(std::int64_t t, std::int64_t stopped_at = -1) const;
  /// A stop that begins at t: which checkpoint it falls back to.
  Episode stop_at(std::int64_t t) const;
  /// Phase of the whole job at t, for jobs whose ranks are not listed; nullptr between phases.
  const JobPhase* job_phase_at(std::int64_t t) const;
  /// First watchdog expiry at or after t; -1 = none.
  std::int64_t next_timeout(std::int64_t t) const;
  /// Step that runs at t.
  std::int32_t step_at(std::int64_t t) const;
  int world() const { return world_; }

 private:
  struct Saved {
    std::int64_t t = 0;
    std::int32_t step = 0;
  };
  void read(const sim::Event& event, std::uint32_t index);
  void trouble(std::int64_t t, std::uint32_t event);
  void failure(const sim::Event& event);
  void restarted(std::int64_t t);
  void find_the_wait();

  const sim::Trace* trace_ = nullptr;
  std::uint64_t generation_ = ~std::uint64_t{0};
  std::size_t seen_ = 0;
  std::int64_t checkpoint_steps_ = 0, end_ = 0;
  int world_ = 0;
  bool back_ = false;  // a restart was read, its first step was not yet
  std::vector<std::uint32_t> logs_;
  std::vector<std::int64_t> log_times_, trouble_, timeouts_;
  std::vector<std::uint32_t> trouble_events_, injected_;
  std::vector<std::vector<std::uint32_t>> samples_;  // per rank
  LatestCall call_;
  std::vector<std::int64_t> calls_, finishes_;  // times of the latest call's calls and ends
  std::vector<Saved> saved_;
  std::vector<Saved> steps_;  // when a training step was begun by its first rank
  std::vector<Episode> episodes_;
  std::vector<JobPhase> phases_;
};

}  // namespace ringside::app
