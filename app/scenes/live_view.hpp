// A running job as the live scene shows it at a time: who is there and since when it is silent, what every
// rank did in the last seconds, who waits for whom, how long the last collectives took. A function of the
// trace, its StepIndex and a Frame; no connection, no places, no ImGui.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/scenes/step_index.hpp"
#include "sim/diagnosis/diagnosis.hpp"
#include "sim/trace/frame.hpp"

namespace ringside::app {

/// A phase inside the window of time, clipped to it.
struct LivePiece {
  sim::Phase phase = sim::Phase::Forward;
  std::int32_t step = 0;  // training step
  std::int64_t from = 0, to = 0;
};

enum class LiveState : std::uint8_t { Absent, Running, Waiting, Silent, TimedOut, Stopped, Dead, Done };

struct LiveLane {
  int rank = 0;
  std::string host, device;
  std::int64_t pid = 0;
  LiveState state = LiveState::Absent;
  bool poisoned = false, by_signal = false, failed = false;
  int exit_code = 0;
  std::int32_t step = 0;
  std::int64_t seq = 0;           // last it called; 0 = none yet
  std::int64_t clock_error_ns = 0;  // its times are known to ± this, against the other hosts'
  std::int64_t heard_ns = -1;     // since its last event; -1 = never heard
  std::int64_t waiting_from = -1; // in a call that takes far longer than usual, since it called; -1 = no
  std::int64_t ended = -1;        // its process is gone since
  std::vector<LivePiece> work;
};

/// How long one collective took: last finish minus last call.
struct LiveCall {
  std::int64_t seq = 0, ns = 0;
  bool finished = false;
};

/// How far the clock of a rank's host is ahead of the reference's, and how well that is known.
struct RankClock {
  std::int64_t offset_ns = 0, error_ns = 0;
};

struct LiveView {
  std::int64_t t = 0, from = 0;  // the window of time, by the reference host's clock
  std::int64_t t_frame = -1;     // the frame's own time
  bool one_time = false;         // hosts' clocks are corrected for
  std::int64_t clock_error_ns = 0;  // the largest error of that
  std::vector<LiveLane> lanes;   // by rank
  bool one_host = true;
  int present = 0, silent = 0, waiting = 0, ended = 0, failed = 0;
  std::int32_t step = 0;
  std::optional<double> loss;
  std::vector<LiveCall> calls;       // the last ones, oldest first
  std::int64_t call_median_ns = 0;   // of the finished ones; 0 = none
  std::int64_t step_median_ns = 0;   // of the last training steps; 0 = none
  std::int64_t bytes = 0;            // of the last finished collective
  double busbw = 0;                  // bytes a second, of the median; 0 = not known
  bool ring_steps = false;           // of the last collective are visible
  bool called = false;               // there is any collective
  std::int64_t missing_events = 0;   // gaps up to t
  /// The wait that is far too long: its collective, who waits, and for whom as far as calls tell.
  std::int64_t stuck_seq = 0, stuck_ns = 0;
  std::vector<int> stuck, absent;
  /// Something is wrong that ends or has ended the job, or spoils its numbers.
  bool trouble = false;
  std::optional<sim::Diagnosis> verdict;  // only in trouble
};

/// What the scene shows at the frame's time. `grows`: the trace's end is not the job's. `clocks`: of the ranks of a job
/// on several hosts, for which `index` has to be made with the same offsets; then the diagnosis is left to the caller.
LiveView make_live_view(const sim::Trace& trace, const StepIndex& index, const sim::Frame& frame, bool grows,
                        std::span<const RankClock> clocks = {});

/// The diagnosis at the view's time. At the edge of a running job somebody is always inside a call, which is no hang:
/// only where a rank is silent, gone or far too late the end of the trace is judged as an end.
sim::Diagnosis judge(const LiveView& view, const sim::Trace& trace, bool grows);

/// Median times of a job; 0 = there is none.
struct JobTimes {
  std::int64_t step_ns = 0, call_ns = 0;
};
/// Over a whole trace, for comparing a simulation with a measurement.
JobTimes job_times(const sim::Trace& trace);

}  // namespace ringside::app
