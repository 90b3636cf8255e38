// The constructs of logs that span lines: torchrun's failure table, Python tracebacks, blocks of mpirun and
// Hydra, Horovod's list of stalled operations.
#include <re2/re2.h>

#include <array>
#include <charconv>

#include "backend/import/scan.hpp"
#include "backend/import/scan_state.hpp"
#include "backend/import/timestamps.hpp"

namespace ringside::backend {
namespace {

bool starts(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::int64_t first_number(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && (text[at] < '0' || text[at] > '9')) ++at;
  const bool negative = at > 0 && text[at - 1] == '-';
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
  if (error != std::errc{}) return -1;
  return negative ? -value : value;
}

std::string_view behind(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  return at == std::string_view::npos ? std::string_view{} : text.substr(at + key.size());
}

}  // namespace

void LogScanner::close_entry(Stream& stream) {
  if (stream.entry_open && (stream.entry.who.rank >= 0 || stream.entry.who.pid >= 0)) {
    // With @record the table holds the last line of each traceback, and here it has a rank.
    std::vector<Fact> recorded;
    if (!stream.entry.name.empty()) table_.match(stream.entry.name, scratch_, recorded);
    for (Fact& fact : recorded) {
      if (fact.role == Role::Context || fact.role == Role::Consequence) continue;
      const Author author = stream.entry.who;
      if (fact.who.rank < 0) fact.who.rank = author.rank;
      fact.who.pid = author.pid;
      fact.who.host = author.host;
      fact.file = stream.entry.file;
      fact.line = stream.entry.line;
      fact.t_ns = stream.entry.t_ns;
      fact.dated = stream.entry.dated;
      fact.text = stream.entry.name;
      add(std::move(fact));
    }
    add(Fact(stream.entry));
  }
  stream.entry_open = false;
  stream.in_traceback_text = false;
}

/// torchrun's table is read as a whole: the tracebacks in it repeat what the ranks printed and must not count
/// twice.
bool LogScanner::in_table(Stream& stream, std::string_view text, const Fact& base) {
  const std::string_view body = trimmed(text);
  if (!stream.table) {
    if (body != "Failures:" && !starts(body, "Root Cause (first observed failure)")) return false;
    stream.table = true;
    stream.root = starts(body, "Root Cause");
    return true;
  }
  if (starts(body, "Root Cause (first observed failure)")) {
    close_entry(stream);
    stream.root = true;
    return true;
  }
  if (starts(body, "=====")) {
    close_entry(stream);
    stream.table = false;
    stream.root = false;
    return true;
  }
  if (starts(body, "-----")) {
    close_entry(stream);
    return true;
  }
  if (body.size() > 3 && body.front() == '[' && body.back() == ':' &&
      body.find_first_not_of("0123456789", 1) == body.size() - 2) {
    close_entry(stream);
    stream.entry = base;
    stream.entry.who = {};
    stream.entry.kind = stream.root ? FactKind::ElasticRoot : FactKind::ElasticEntry;
    stream.entry.layer = Layer::Elastic;
    stream.entry.role = Role::Root;
    stream.entry.name.clear();
    stream.entry_open = true;
    return true;
  }
  if (!stream.entry_open) {
    if (body == "<NO_OTHER_FAILURES>" || body.empty()) return true;
    stream.table = false;  // something else was written in between
    return false;
  }
  Fact& entry = stream.entry;
  const std::string_view value = trimmed(behind(body, ":"));
  if (stream.in_traceback_text && starts(text, "  ")) {
    if (!body.empty()) entry.name = std::string(body.substr(0, 240));
  } else if (starts(body, "time ")) {
    const Stamp stamp = read_date_clock(value);
    entry.t_ns = stamp.t_ns;
    entry.dated = stamp.dated;
  } else if (starts(body, "host ")) {
    entry.who.host = std::string(value.substr(0, 120));
  } else if (starts(body, "rank ")) {
    entry.who.rank = static_cast<int>(first_number(value));
    if (const std::string_view local = behind(value, "local_rank:"); !local.empty())
      entry.who.local_rank = static_cast<int>(first_number(local));
    entry.line = base.line;
    entry.text = base.text;
  } else if (starts(body, "exitcode ")) {
    entry.code = static_cast<int>(first_number(value.substr(0, value.find('('))));
    if (const std::string_view pid = behind(value, "pid:"); !pid.empty()) entry.who.pid = first_number(pid);
    entry.text += " | " + std::string(body.substr(0, 60));
  } else if (starts(body, "traceback ")) {
    entry.name = starts(value, "To enable traceback") ? std::string() : std::string(value.substr(0, 240));
    stream.in_traceback_text = true;
  } else if (!starts(body, "error_file") && !starts(text, " ")) {
    close_entry(stream);
    stream.table = false;
    return false;
  }
  return true;
}

void LogScanner::follow_traceback(Stream& stream, std::string_view text) {
  if (starts(text, "-- Process ") &&
      text.find(" terminated with the following error") != std::string_view::npos)
    stream.spawned = static_cast<int>(first_number(text));
  if (starts(text, "Traceback (most recent call last)") || starts(text, "EXCEPTION")) {
    stream.traceback = true;
    stream.frame = false;
    stream.call.clear();
    stream.traceback_lines = 0;
    return;
  }
  if (!stream.traceback) return;
  if (++stream.traceback_lines > 400) stream.traceback = false;
  stream.frame = starts(text, "  ");
  static constexpr std::string_view kDistributed = "distributed_c10d.py\", line ";
  const std::size_t frame = text.find(kDistributed);
  if (frame == std::string_view::npos) return;
  const std::size_t in = text.find(", in ", frame);
  if (in != std::string_view::npos) stream.call = std::string(trimmed(text.substr(in + 5)).substr(0, 60));
}

/// mpirun's and Hydra's blocks give the rank in one line and the code in another: the later line completes
/// the earlier Fact.
bool LogScanner::merge_blocks(Stream& stream, Fact& fact) {
  const bool goes_on = fact.kind == FactKind::MpiError && fact.name != "call" &&
                       stream.open_kind == FactKind::MpiError && stream.open_block >= 0;
  const bool opens = fact.name != "code" && !goes_on;
  if (opens) {
    stream.open_block = static_cast<std::int64_t>(out_.facts.size());
    stream.open_kind = fact.kind;
    return false;
  }
  if (stream.open_block < 0 || stream.open_kind != fact.kind ||
      static_cast<std::size_t>(stream.open_block) >= out_.facts.size())
    return fact.name == "code";
  Fact& open = out_.facts[static_cast<std::size_t>(stream.open_block)];
  if (fact.name == "code") {
    if (open.code == 0) open.code = fact.code;
  } else {
    if (!fact.op.empty() && open.op.empty()) open.op = fact.op;
    if (fact.who.rank >= 0) open.who.rank = fact.who.rank;
    if (fact.name.rfind("MPI_ERR", 0) == 0) open.name = fact.name;
  }
  return true;
}

/// All "tensor [missing ranks: …]" of a line, old and new form.
void LogScanner::horovod_all(std::string_view text, const Fact& base) {
  static const re2::RE2 kStalled(R"(([^\s\[\],]+) \[(ready|missing)(?: ranks)?: ([\d, ]+)\])");
  re2::StringPiece rest(text.data(), text.size());
  re2::StringPiece tensor, how, ranks;
  for (int found = 0; found < 512 && re2::RE2::FindAndConsume(&rest, kStalled, &tensor, &how, &ranks);
       ++found) {
    Fact fact = base;
    fact.op = std::string(tensor.data(), std::min<std::size_t>(tensor.size(), 200));
    fact.name = std::string(how.data(), how.size());
    fact.named = read_rank_list(std::string_view(ranks.data(), ranks.size()));
    add(std::move(fact));
  }
}

}  // namespace ringside::backend
