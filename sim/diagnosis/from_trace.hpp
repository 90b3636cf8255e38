// Diagnosis of a Trace: a pure function from what a job showed to what happened, who did it, who only waited,
// and what to do.
//
// Rules are tried from the strongest evidence to the weakest (hardware and kernel text, ends of ranks and
// their own errors, calls that differ, ranks that are absent, numbers, speed), and the first that fires gives
// the verdict. A rule names a rank only where the trace decides; where ranks stand against each other in
// equal number it says unknown and lists the candidates. Commands (injected faults) are never read.
#pragma once

#include "sim/diagnosis/diagnosis.hpp"
#include "sim/trace/trace.hpp"

namespace ringside::sim {

/// Deterministic. A clean job gives kind none. Works on unfinished (live) traces too: it judges what is there
/// so far.
Diagnosis diagnose(const Trace& trace);

}  // namespace ringside::sim
