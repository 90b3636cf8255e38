// The supervisor of a live rank: the process that mpirun starts. It forks the worker, turns its records into
// lines for the hub, passes orders on to it, and says how it ended: also when it was killed and could not say
// so itself.
#pragma once

#include <string>

#include "backend/live/detail_sampler.hpp"
#include "backend/live/hub_connection.hpp"
#include "backend/live/telemetry.hpp"

namespace ringside::backend {

struct SupervisorOptions {
  bool has_hub = false;
  HubAddress hub;
  std::int64_t origin_unix_ns = 0;
  std::int64_t silent_limit_ns = 0;  // a worker that is stopped for longer is killed; 0 = never
  std::string log_folder;            // for rank_<R>.log; empty = none
  std::int64_t ring_steps_per_second = DetailSampler::kPerSecond;  // that the job tells; 0 = all
};

/// Serves until the worker `pid` has ended and everything it said is sent (or two seconds have passed).
/// Returns the exit code for mpirun: the worker's own, or 128 + signal.
int supervise(SharedRank& shared, int pid, const SupervisorOptions& options);

}  // namespace ringside::backend
