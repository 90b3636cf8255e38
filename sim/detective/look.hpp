// What a rank looks like from outside at one moment, read off the trace.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/detective/detective.hpp"

namespace ringside::sim {

struct RankLook {
  bool exited = false;
  bool silent = false;                      // the process is there and gives no sign of life
  std::int64_t launched = 0, finished = 0;  // calls
  std::int64_t open_count = -1;             // elements of its oldest open call; -1 = none is open
  std::int32_t step = 0;
  Phase phase = Phase::Init;
  std::int32_t nan_step = 0;  // the step in which its gradient had NaN; 0 = never
};

/// All ranks at time t.
std::vector<RankLook> look_at(const Trace& trace, std::int64_t t);
/// The answer of a tool at time t.
std::vector<Finding> ask(const Trace& trace, Tool tool, int node, std::int64_t t);

}  // namespace ringside::sim
