// Text that is the same on every machine: numbers by std::to_chars, JSON strings, and text from outside made
// harmless.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ringside::sim {

void append_int(std::string& out, std::int64_t value);
void append_uint(std::string& out, std::uint64_t value);
/// Shortest text that reads back to the same double; NaN and infinities as the bare words NaN, Infinity,
/// -Infinity.
void append_double(std::string& out, double value);
void append_float(std::string& out, float value);
/// 16 lower-case hex digits.
void append_hex64(std::string& out, std::uint64_t value);

/// A JSON string with quotes. Control characters, DEL, and the Unicode bidirectional and line-separator
/// controls are escaped as \uXXXX; invalid UTF-8 becomes U+FFFD, so the output is always valid JSON.
void append_json_string(std::string& out, std::string_view text);

/// Text from outside (a log line, a host name) for a terminal or the screen: control and bidirectional
/// characters become visible escapes such as \x1b or \u202e, invalid UTF-8 becomes U+FFFD.
std::string escape_for_display(std::string_view text);

/// True if the name may stand in a command that we print: [A-Za-z0-9._-]+, not starting with '-'.
bool is_safe_host_name(std::string_view name);

/// "1,234,567"
std::string with_commas(std::int64_t value);
/// A duration with a unit, at most 4 significant digits: "0 ns", "950 ns", "34.2 μs", "1.5 ms", "12 s", "10
/// min".
std::string format_duration(std::int64_t ns);
/// "512 B", "1.5 KiB", "64 MiB".
std::string format_bytes(std::int64_t bytes);

}  // namespace ringside::sim
