// What must hold of every simulated trace, whatever broke in the job: nothing before its cause, every
// contribution summed exactly once. Tests run it on every trace they make.
#pragma once

#include <optional>
#include <string>

#include "sim/trace/trace.hpp"

namespace ringside::sim {

/// The first rule that the trace breaks, in words, or nothing. Contributions are checked for collectives
/// whose ring steps are in the trace and that all ranks called alike (worlds of up to 64 ranks).
std::optional<std::string> broken_invariant(const Trace& trace);

}  // namespace ringside::sim
