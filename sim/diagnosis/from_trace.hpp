// Diagnosis of a Trace: a pure function from what a job showed to what happened, who did it, who only waited,
// and what to do.
//
// Rules are tried from the strongest evidence to the weakest (hardware and kernel text, ends of ranks and
// their own errors, calls that differ, ranks that are absent, numbers, speed), and the first that fires gives
// the verdict. A rule names a rank only where the trace decides; where ranks stand against each other in
// equal number it says unknown and lists the candidates. Commands (injected faults) are never read.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/diagnosis/diagnosis.hpp"
#include "sim/trace/frame.hpp"
#include "sim/trace/trace.hpp"

namespace ringside::sim {

/// From here on a wait counts as one that is far too long, where calls take `median_ns`.
constexpr std::int64_t long_wait_ns(std::int64_t median_ns) {
  return std::max<std::int64_t>(1'500'000'000, 10 * median_ns);
}

/// Deterministic. A clean job gives kind none. Works on unfinished (live) traces too: it judges what is there
/// so far.
Diagnosis diagnose(const Trace& trace);

/// The diagnosis that could be made at time t: only events up to t are looked at. Between two events of a
/// healthy step somebody always waits for somebody, so a wait counts as a failure only from `kStalledAfterNs`
/// on, or when the rank that is missing has ended. At the end of the trace it is diagnose().
Diagnosis diagnose_at(const Trace& trace, std::int64_t t);

}  // namespace ringside::sim
