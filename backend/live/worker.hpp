// The worker: the process of a live rank that trains. A data-parallel loop on real numbers, real faults done
// to itself, a real watchdog.
#pragma once

#include <string>

#include "backend/live/gpu_plane.hpp"
#include "backend/live/telemetry.hpp"

namespace ringside::backend {

/// Both: each collective twice on the same data, first stepped, then fused, and the results compared.
enum class CollectiveMode : std::uint8_t { Stepped, Fused, Both };

struct WorkerOptions {
  std::string scenario_path;  // read by rank 0, sent to everybody
  DeviceWish device = DeviceWish::Auto;
  CollectiveMode mode = CollectiveMode::Stepped;
  bool guard = false;  // compare fingerprints before each collective
  std::int64_t origin_unix_ns = 0;
  std::string dump_folder = ".";  // where the watchdog writes nccl_trace_rank_<R>
  std::int64_t step_ns = 0;       // least time of a training step: a class can follow it with its eyes
  // For measurements (tests/bench/telemetry_bench.sh).
  bool tell_in_turn = false;  // tells nothing in every other training step, beginning with the second
  std::string times_path;     // rank 0 writes a line "step nanoseconds" for each collective
};

/// Runs to its end and returns the exit code. Does not return when a fault or the watchdog ends it.
int run_worker(SharedRank& shared, const WorkerOptions& options, int* argc, char*** argv);

}  // namespace ringside::backend
