// A trace as Chrome trace-event JSON, which ui.perfetto.dev and chrome://tracing open: one process a node,
// one track a rank, slices for phases, collectives, waits and receives, an arrow for every transfer.
#pragma once

#include <string>

#include "backend/trace_file.hpp"
#include "sim/base/result.hpp"
#include "sim/trace/trace.hpp"

namespace ringside::backend {

/// The whole document in pieces of about a MiB. Times are microseconds with three decimals, so that every
/// nanosecond is kept.
sim::Status write_perfetto(const sim::Trace& trace, const ByteSink& sink);

}  // namespace ringside::backend
