// Fuzz entries of the core's readers: scenario files, faults of a command line, traces.
#include "backend/trace_file.hpp"
#include "backend/trace_reader.hpp"
#include "fuzz_entry.hpp"
#include "sim/diagnosis/from_trace.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/trace/frame.hpp"

namespace ringside::fuzz {

/// What parses is written back as text that parses to the same text; what does not has a place and a reason.
void scenario(std::string_view input) {
  const auto parsed = sim::parse_scenario(input, "fuzz.toml");
  if (!parsed) {
    require(!parsed.error().what.empty(), "an error without a reason");
    require(parsed.error().line > 0 && parsed.error().column > 0, "an error without a place");
    for (const char c : parsed.error().message())
      require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F, "a control character in a message");
    return;
  }
  const std::string text = sim::to_toml(*parsed);
  const auto again = sim::parse_scenario(text, "again.toml");
  require(static_cast<bool>(again), "a written scenario does not parse");
  require(sim::to_toml(*again) == text, "a written scenario reads as another");
}

void fault(std::string_view input) {
  const auto parsed = sim::parse_fault(input);
  if (!parsed) return;
  const auto again = sim::parse_fault(sim::fault_text(*parsed));
  require(static_cast<bool>(again), "a written fault does not parse");
  require(*again == *parsed, "a written fault reads as another");
}

/// What was read can be written, read again, shown and judged.
void trace(std::string_view input) {
  backend::TraceLimits limits;
  limits.max_events = 2'000;
  limits.max_memory = std::size_t{32} << 20;
  backend::TraceReader reader("fuzz.jsonl", limits);
  reader.feed(input);
  reader.finish();
  if (!reader.has_header() || reader.trace().header.world_size > 4'096) return;
  std::string bytes;
  const auto written = backend::write_trace(reader.trace(), [&](std::string_view piece) {
    bytes += piece;
    return sim::ok();
  });
  require(static_cast<bool>(written), "a trace in memory cannot be written");
  backend::TraceReader again("again.jsonl", limits);
  again.feed(bytes);
  again.finish();
  require(!again.problem(), "a written trace does not read");
  require(again.trace().size() == reader.trace().size(), "a written trace reads as another");
  sim::FrameSource frames(reader.trace());
  for (const std::int64_t t : {std::int64_t{0}, reader.trace().end_time() / 2, reader.trace().end_time()})
    (void)frames.frame_at(t);
  (void)sim::diagnose(reader.trace());
}

}  // namespace ringside::fuzz
