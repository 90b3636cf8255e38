// Reads a trace (a recording, a live stream, `--trace`) line by line: the mirror of sim/trace's writer. A bad
// line ends the reading with its number; everything before it stays.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/json_line.hpp"
#include "sim/base/result.hpp"
#include "sim/trace/trace.hpp"

namespace ringside::backend {

/// What one trace may use. Beyond it reading ends with an error; what was read stays.
struct TraceLimits {
  std::size_t max_header = std::size_t{80} << 20;  // it holds the scenario
  std::size_t max_line = std::size_t{16} << 20;
  std::size_t max_events = 50'000'000;
  std::size_t max_memory = std::size_t{6} << 30;  // of events, samples and texts together
};

class TraceReader {
 public:
  /// `name` is for messages.
  explicit TraceReader(std::string name, TraceLimits limits = {});

  /// Takes bytes in pieces of any size. False once there is a problem.
  bool feed(std::string_view bytes);
  /// One whole line without its line feed.
  bool line(std::string_view text);
  /// No more bytes will come: a last line without a line feed is a truncated one, unless it reads well.
  bool finish();

  sim::Trace& trace() { return trace_; }
  bool has_header() const { return has_header_; }
  const std::optional<sim::Error>& problem() const { return problem_; }
  std::int64_t lines() const { return lines_; }

 private:
  friend class EventFields;
  bool fail(std::string what, std::string text = {}, std::string legal = {});
  bool too_much(std::size_t more);
  bool read_header(std::string_view text);
  bool read_event(std::string_view text);

  std::string name_;
  TraceLimits limits_;
  sim::Trace trace_;
  std::optional<sim::Error> problem_;
  std::string rest_;  // the beginning of a line whose end has not come yet
  std::vector<JsonField> fields_, inner_fields_;
  std::vector<JsonValue> elements_;
  std::vector<bool> collective_known_;  // its collective_enqueued has been read
  std::size_t memory_ = 0;
  std::int64_t lines_ = 0;
  bool has_header_ = false;
};

/// A trace that was read as far as it goes.
struct ReadTrace {
  sim::Trace trace;
  std::optional<sim::Error> problem;  // why it ends where it ends, if not at its end
  std::int64_t lines = 0;
};

/// A trace file, plain or packed (gzip, zstd). An Error only if not even the header could be read.
sim::Result<ReadTrace> read_trace_file(const std::string& path, const TraceLimits& limits = {});

}  // namespace ringside::backend
