// Structured loggers and container runtimes write one JSON object a line.
#pragma once

#include <string>
#include <string_view>

namespace ringside::backend {

/// The message of a line of JSON ("log", "msg", "message" or "text" of the outer object, then a traceback if
/// it has one) as lines of text, each with what the object says about time, host and rank in front as a
/// launcher would write it:
///   2025-06-12T10:20:00Z node1 | [rank3]: ValueError: bad
/// False, and `out` is undefined, if the line is no such object.
bool unwrap_json(std::string_view line, std::string& out);

}  // namespace ringside::backend
