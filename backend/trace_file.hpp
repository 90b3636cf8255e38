// A trace as bytes: written to a file, hashed. The bytes are those of sim/trace's one writer.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "sim/base/result.hpp"
#include "sim/trace/trace.hpp"

namespace ringside::backend {

/// Takes a piece of output; an Error ends the writing.
using ByteSink = std::function<sim::Status(std::string_view)>;

/// All event lines, each with its line feed, in pieces of about a MiB; without the header line.
sim::Status write_event_lines(const sim::Trace& trace, const ByteSink& sink);

/// Header and events.
sim::Status write_trace(const sim::Trace& trace, const ByteSink& sink);

/// SHA-256 of the bytes after the header line, as 64 hex digits.
std::string trace_hash(const sim::Trace& trace);

/// Header and events into a file, which appears whole or not at all.
sim::Status write_trace_file(const sim::Trace& trace, const std::string& path);

}  // namespace ringside::backend
