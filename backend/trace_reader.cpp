#include "backend/trace_reader.hpp"

#include <algorithm>
#include <array>

#include "backend/event_fields.hpp"
#include "backend/import/byte_source.hpp"
#include "sim/base/text.hpp"
#include "sim/scenario/scenario.hpp"

namespace ringside::backend {
namespace {

constexpr int kVersion = 1;
// Times may lie a little before the origin (clocks of other hosts) but never near the ends of 64 bits.
constexpr std::int64_t kEarliest = -1'000'000'000'000'000'000, kLatest = 4'000'000'000'000'000'000;

std::optional<sim::Detail> detail_from(std::string_view word) {
  for (const auto detail : {sim::Detail::Chunks, sim::Detail::Ranks, sim::Detail::Groups}) {
    if (sim::to_word(detail) == word) return detail;
  }
  return std::nullopt;
}

/// "r3", "n17", "hub", "launcher", "sim".
std::optional<sim::Source> source_from(std::string_view text) {
  using Kind = sim::Source::Kind;
  if (text == "sim") return sim::Source{Kind::Sim, 0};
  if (text == "hub") return sim::Source{Kind::Hub, 0};
  if (text == "launcher") return sim::Source{Kind::Launcher, 0};
  if (text.size() < 2 || text.size() > 8 || (text[0] != 'r' && text[0] != 'n')) return std::nullopt;
  std::int32_t id = 0;
  for (const char c : text.substr(1)) {
    if (c < '0' || c > '9') return std::nullopt;
    id = id * 10 + (c - '0');
  }
  return sim::Source{text[0] == 'r' ? Kind::Rank : Kind::Node, id};
}

}  // namespace

TraceReader::TraceReader(std::string name, TraceLimits limits)
    : name_(sim::escape_for_display(name)), limits_(limits) {}

bool TraceReader::fail(std::string what, std::string text, std::string legal) {
  if (problem_) return false;
  sim::Error error;
  error.what = std::move(what);
  error.file = name_;
  error.line = static_cast<int>(std::min<std::int64_t>(lines_, INT32_MAX));
  error.text = std::move(text);
  error.legal = std::move(legal);
  if (has_header_) error.hint = "What stands before this line was read";
  problem_ = std::move(error);
  return false;
}

bool TraceReader::too_much(std::size_t more) {
  memory_ += more;
  if (memory_ <= limits_.max_memory) return false;
  fail("the trace is too big", {},
       "up to " + sim::format_bytes(static_cast<std::int64_t>(limits_.max_memory)) + " in memory");
  return true;
}

bool TraceReader::feed(std::string_view bytes) {
  while (!problem_) {
    const std::size_t end = bytes.find('\n');
    const std::size_t limit = has_header_ ? limits_.max_line : limits_.max_header;
    if (rest_.size() + std::min(end, bytes.size()) > limit) {
      ++lines_;
      return fail("the line is too long", {}, "up to " + sim::format_bytes(static_cast<std::int64_t>(limit)));
    }
    if (end == std::string_view::npos) {
      rest_ += bytes;
      return true;
    }
    if (rest_.empty()) {
      line(bytes.substr(0, end));
    } else {
      rest_ += bytes.substr(0, end);
      const std::string whole = std::move(rest_);
      rest_.clear();
      line(whole);
    }
    bytes.remove_prefix(end + 1);
  }
  return false;
}

bool TraceReader::finish() {
  if (!problem_ && !rest_.empty()) {
    const std::string last = std::move(rest_);
    rest_.clear();
    if (!line(last)) problem_->what = "the file ends in the middle of a line: " + problem_->what;
  }
  if (!problem_ && !has_header_) {
    lines_ = 1;
    fail("the file is empty", {}, "a Ringside trace, whose first line is its header");
  }
  return !problem_;
}

bool TraceReader::line(std::string_view text) {
  if (problem_) return false;
  ++lines_;
  if (const auto problem = parse_json_object(text, fields_)) {
    if (!has_header_)
      return fail("not a Ringside trace", {}, "a first line that begins {\"magic\":\"ringside-trace\"");
    fail(std::string("not JSON: ") + problem->what, sim::escape_for_display(text.substr(problem->at, 32)));
    problem_->column = static_cast<int>(std::min<std::size_t>(problem->at + 1, INT32_MAX));
    return false;
  }
  return has_header_ ? read_event(text) : read_header(text);
}

bool TraceReader::read_header(std::string_view text) {
  EventFields fields(*this);
  const bool magic = fields.has("magic") && fields.string("magic") == "ringside-trace";
  if (!magic) {
    problem_.reset();
    return fail("not a Ringside trace", {}, "a first line that begins {\"magic\":\"ringside-trace\"");
  }
  sim::TraceHeader& header = trace_.header;
  header.version = static_cast<int>(fields.integer("version", 1, INT32_MAX));
  if (fields.good() && header.version > kVersion)
    return fail("the trace has version " + std::to_string(header.version) + ": it is from a newer Ringside",
                {}, "version 1");
  header.source = fields.string("source");
  header.world_size = static_cast<std::int32_t>(fields.integer("world_size", 0, sim::kMaxRanksTimeOnly));
  header.gpus_per_node =
      static_cast<std::int32_t>(fields.integer("gpus_per_node", 0, sim::kMaxRanksTimeOnly));
  header.clock = fields.string("clock");
  header.origin_unix_ns = fields.integer<std::int64_t>("origin_unix_ns");
  header.title = fields.string("title");
  header.seed = fields.unsigned_integer("seed");
  header.detail = fields.word<sim::Detail>("detail", detail_from);
  header.scenario_toml = fields.optional_string("scenario");
  if (problem_ || too_much(text.size())) return false;
  has_header_ = true;
  return true;
}

bool TraceReader::read_event(std::string_view text) {
  EventFields fields(*this);
  sim::Event event;
  event.t = fields.integer("t", kEarliest, kLatest);
  const auto source = fields.word<sim::Source>("src", source_from);
  event.set_source(source);
  event.n = fields.integer<std::uint32_t>("n");
  event.type = fields.word<sim::EventType>("type", sim::event_type_from);
  if (problem_) return false;
  const std::int64_t ranks = trace_.header.world_size > 0 ? trace_.header.world_size : sim::kMaxRanksTimeOnly;
  if (source.id >= (source.kind == sim::Source::Kind::Rank ? ranks : sim::kMaxRanksTimeOnly)) {
    fields.bad("src", "is no rank or node of this job");
    return false;
  }
  read_payload(fields, event);
  if (problem_ || too_much(sizeof(sim::Event) + text.size() / 4)) return false;
  if (trace_.size() >= limits_.max_events)
    return fail("the trace has too many events", {},
                "up to " + sim::with_commas(static_cast<std::int64_t>(limits_.max_events)));
  trace_.append(event);
  return true;
}

sim::Result<ReadTrace> read_trace_file(const std::string& path, const TraceLimits& limits) {
  auto source = open_bytes(path, path, InputLimits{});
  if (!source) return source.error();
  TraceReader reader(path, limits);
  std::vector<char> piece(std::size_t{1} << 20);
  bool more = true;
  while (more) {
    const std::size_t got = (*source)->read(piece.data(), piece.size());
    more = got > 0 && reader.feed({piece.data(), got});
  }
  reader.finish();
  std::optional<sim::Error> problem = reader.problem();
  if ((*source)->problem()) problem = (*source)->problem();  // a broken archive explains the broken line
  if (!reader.has_header()) return *problem;
  return ReadTrace{std::move(reader.trace()), std::move(problem), reader.lines()};
}

}  // namespace ringside::backend
