#include "backend/import/scan.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>

#include "backend/import/codes.hpp"
#include "backend/import/fingerprint.hpp"
#include "backend/import/hints.hpp"
#include "backend/import/json_line.hpp"
#include "backend/import/scan_state.hpp"
#include "backend/import/timestamps.hpp"

namespace ringside::backend {
namespace {

constexpr std::size_t kMaxStreams = 4096;
constexpr std::size_t kMaxAuthors = 20'000;
constexpr std::size_t kMaxCallsKept = 48;
constexpr int kMaxSegments = 2000;  // pieces of one line between carriage returns

/// The most Facts of one kind that are kept; the first ones, since causes come before their echo.
std::size_t cap_of(FactKind kind) {
  switch (kind) {
    case FactKind::NcclReturn:
    case FactKind::DumpNotice:
    case FactKind::Aer:
    case FactKind::RankNote:
      return 2'000;
    case FactKind::WatchdogTimeout:
    case FactKind::WatchdogStatus:
    case FactKind::ElasticEntry:
    case FactKind::Identity:
    case FactKind::NcclInit:
      return 40'000;
    default:
      return 10'000;
  }
}

/// Without ANSI colour sequences and NUL bytes. Returns `text` itself when there are none.
std::string_view without_colours(std::string_view text, std::string& buffer) {
  if (std::memchr(text.data(), 0x1b, text.size()) == nullptr) return text;
  buffer.clear();
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != 0x1b) {
      buffer += text[at];
      continue;
    }
    if (at + 1 < text.size() && text[at + 1] == '[') {
      at += 2;
      while (at < text.size() && (text[at] < '@' || text[at] > '~')) ++at;
    }
  }
  return buffer;
}

/// Text behind a progress bar: "  3%|2 | 21/684 [01:52<58:31,  5.31s/it][rank2]:[E1214 …". npos if there is
/// none.
std::size_t behind_progress_bar(std::string_view text) {
  const std::size_t bar = text.find("%|");
  if (bar == std::string_view::npos || bar > 60) return std::string_view::npos;
  std::size_t at = bar;
  while ((at = text.find(']', at)) != std::string_view::npos) {
    if (at + 1 < text.size() && text[at + 1] != ' ' && text[at + 1] != ']') return at + 1;
    ++at;
  }
  return std::string_view::npos;
}

}  // namespace

LogScanner::LogScanner(Facts& out) : out_(out), table_(MessageTable::get()), counts_(256, 0) {}

LogScanner::~LogScanner() = default;

void LogScanner::begin_file(std::string_view name) {
  file_name_ = std::string(name);
  file_ = out_.add_file(file_name_);
  streams_.clear();
  file_lines_ = 0;
}

void LogScanner::line(const Line& line) {
  ++out_.lines;
  ++file_lines_;
  out_.bytes += static_cast<std::int64_t>(line.text.size()) + 1;
  std::string_view text = without_colours(line.text, clean_);
  while (!text.empty() && (text.back() == '\r' || text.back() == '\n')) text.remove_suffix(1);
  if (!text.empty() && text.front() == '{' && unwrap_json(text, unwrapped_)) {
    for (std::string_view rest = unwrapped_; !rest.empty();) {
      const std::size_t end = rest.find('\n');
      part(rest.substr(0, end), line);
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    return;
  }
  if (std::memchr(text.data(), '\r', text.size()) == nullptr) {
    part(text, line);
    return;
  }
  for (int segment = 0; segment < kMaxSegments && !text.empty(); ++segment) {  // progress bars redraw with \r
    const std::size_t end = text.find('\r');
    if (end != 0) part(text.substr(0, end), line);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
}

namespace {
std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9E3779B97F4A7C15ULL + (hash << 6) + (hash >> 2);
  return hash * 0xBF58476D1CE4E5B9ULL;
}
std::uint64_t mixed(std::uint64_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return mixed(hash, text.size());
}
}  // namespace

LogScanner::Stream& LogScanner::stream_of(const Peeled& peeled) {
  std::uint64_t key = mixed(1, static_cast<std::uint64_t>(peeled.rank + 1));
  key = mixed(key, static_cast<std::uint64_t>(peeled.task + 1));
  if (peeled.rank < 0) key = mixed(key, static_cast<std::uint64_t>(peeled.local_rank + 1));
  if (!peeled.host.empty() && !peeled.nccl) key = mixed(key, peeled.host);
  if (!peeled.source_name.empty()) key = mixed(key, peeled.source_name);
  const auto found = streams_.find(key);
  if (found != streams_.end()) return found->second;
  if (streams_.size() >= kMaxStreams) streams_.clear();
  return streams_[key];
}

std::uint32_t LogScanner::file_of(const Peeled& peeled) {
  if (peeled.source_name.empty()) return file_;
  const auto known = grep_files_.find(peeled.source_name);
  if (known != grep_files_.end()) return known->second;
  const std::uint32_t file = out_.add_file(std::string(peeled.source_name));
  grep_files_.emplace(std::string(peeled.source_name), file);
  return file;
}

Fact LogScanner::make_base(const Peeled& peeled, int rank, std::string_view text, const Line& line) {
  Fact base;
  base.who = {rank,       peeled.local_rank, peeled.group_rank,       peeled.task,
              peeled.pid, peeled.device,     std::string(peeled.host)};
  base.file = file_of(peeled);
  base.line = line.number;
  base.t_ns = peeled.t_ns;
  base.dated = peeled.dated;
  base.zone_s = peeled.zone_s;
  base.pg = peeled.pg;
  base.pg_name = peeled.pg_name;
  base.text = std::string(text.substr(0, kMaxFactText));
  return base;
}

namespace {
/// Several ranks may write into one line: "[rank 0] iteration 3 …[rank 2] iteration 3 …".
std::size_t next_author(std::string_view text) {
  std::size_t at = 1;
  while ((at = text.find("[rank", at)) != std::string_view::npos) {
    std::size_t digit = at + 5;
    if (digit < text.size() && text[digit] == ' ') ++digit;
    const std::size_t start = digit;
    while (digit < text.size() && text[digit] >= '0' && text[digit] <= '9') ++digit;
    const bool closed = digit > start && digit < text.size() && text[digit] == ']';
    if (closed && text[at - 1] != ' ' && text[at - 1] != ':') return at;
    at = digit;
  }
  return std::string_view::npos;
}
}  // namespace

namespace {
/// The beginnings of the kernel's lines that the message table knows.
bool is_kernel_text(std::string_view text) {
  static constexpr std::array<std::string_view, 13> kBegins = {
      "NVRM",        "Out of memory", "Memory cgroup", "oom-kill", "pcieport",        "nvidia ",
      "mlx5_core",   "INFO: task",    "mce:",          "EDAC",     "nvidia-nvswitch", "amdgpu",
      "Kernel panic"};
  return std::any_of(kBegins.begin(), kBegins.end(),
                     [&](std::string_view begin) { return text.starts_with(begin); });
}
}  // namespace

void LogScanner::part(std::string_view text, const Line& line) {
  for (int pieces = 0; pieces < 64; ++pieces) {
    const std::size_t cut = text.size() > 8 && text.find("[rank", 1) != std::string_view::npos
                                ? next_author(text)
                                : std::string_view::npos;
    if (cut == std::string_view::npos) break;
    one_author(text.substr(0, cut), line);
    text.remove_prefix(cut);
  }
  one_author(text, line);
}

void LogScanner::one_author(std::string_view text, const Line& line) {
  const std::size_t behind_bar = behind_progress_bar(text);
  if (behind_bar != std::string_view::npos) text.remove_prefix(behind_bar);
  const Peeled peeled = peel(text);
  Stream& stream = stream_of(peeled);
  const std::string_view rest = peeled.text;
  std::string_view after = rest;
  // A program may speak as "task N" or "worker N"; both mean the rank unless the launcher says otherwise.
  const int rank = peeled.rank >= 0 ? peeled.rank : leading_rank(rest, after);
  matched_.clear();
  const std::uint64_t hints = table_.match(rest, scratch_, matched_);
  // A rank does not speak for the kernel: it may quote it, as data or as documentation.
  if (peeled.rank >= 0 && !is_kernel_text(rest))
    std::erase_if(matched_, [](const Fact& fact) { return fact.layer == Layer::Kernel; });
  if (line.cut) drop_half_messages(rest);
  if (stream.traceback && matched_.empty()) name_odd_exception(stream, rest);
  if (stream.table || (hints & (bit(Hint::Failures) | bit(Hint::RootCause))) != 0)
    if (in_table(stream, rest, make_base(peeled, rank, text, line))) return;
  if (rank < 0 && stream.error_rank >= 0 && stream.error_line + 1 == line.number &&
      rest.starts_with("Traceback (most recent call last)"))
    stream.spawned = stream.error_rank;
  stream.error_rank = -1;
  if (rank >= 0 && peeled.rank < 0 && (hints & kErrorHints) != 0) {
    stream.error_rank = rank;
    stream.error_line = line.number;
  }
  if (stream.traceback || (hints & kBlockHints) != 0) follow_traceback(stream, rest);
  if (!matched_.empty() || stream.author_lines > 0 || peeled.severity != 0)
    take_matches(stream, peeled, rest, make_base(peeled, rank, text, line));
  if (matched_.empty() && stream.pid_lines > 0) --stream.pid_lines;
  if (stream.loss_watched && matched_.empty() && text.find("oss") != std::string_view::npos)
    watch_loss(stream, rest, make_base(peeled, rank, text, line));
  notice(peeled, rank, rest, text, line, hints);
}

/// Counts the finite losses that an author prints after a NaN or a skipped step: training that went on with
/// numbers has not died of it.
void LogScanner::watch_loss(Stream& stream, std::string_view text, const Fact& base) {
  static const re2::RE2 kFinite(R"((?i)loss['"]?[ =:|]+\(?-?\d+\.\d+)");
  constexpr std::int64_t kEnough = 1000;  // nobody needs more, and the rest of the log is read faster
  if (!re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), kFinite)) return;
  stream.finite = base;
  if (++stream.finite_losses >= kEnough) stream.loss_watched = false;
}

void LogScanner::report_finite_losses() {
  std::vector<Fact> found;
  for (auto& [key, stream] : streams_)
    if (stream.finite_losses > 0) {
      stream.finite.kind = FactKind::LossFinite;
      stream.finite.layer = Layer::Numeric;
      stream.finite.value = stream.finite_losses;
      stream.finite_losses = 0;
      found.push_back(std::move(stream.finite));
    }
  std::sort(found.begin(), found.end(), [](const Fact& a, const Fact& b) {
    return std::tie(a.line, a.who.rank, a.who.task) < std::tie(b.line, b.who.rank, b.who.task);
  });
  for (Fact& fact : found) add(std::move(fact));
}

/// The last line of a traceback names the exception, whatever its class is called: "zipfile.BadZipFile: …".
/// It follows an indented line directly; what others print in between does not look like this.
void LogScanner::name_odd_exception(const Stream& stream, std::string_view text) {
  static const re2::RE2 kClass(
      R"(^((?:[A-Za-z_]\w*\.)+[A-Z]\w*|StopIteration|StopAsyncIteration|KeyboardInterrupt|SystemExit)(?:: .*)?$)");
  if (!stream.frame || text.empty() || text.front() == ' ') return;
  std::string name;
  if (!re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), kClass, &name)) return;
  Fact fact;
  fact.kind = FactKind::PythonException;
  fact.layer = Layer::Python;
  fact.role = name == "KeyboardInterrupt" || name == "SystemExit" ? Role::Consequence : Role::Root;
  fact.name = std::move(name);
  matched_.push_back(std::move(fact));
}

/// The last line of a file that was cut off: numbers and names in it may be halves, and a RuntimeError may be
/// the beginning of a message that says something else.
void LogScanner::drop_half_messages(std::string_view text) {
  const auto half = [text](const Fact& fact) {
    if (fact.kind == FactKind::WatchdogTimeout)
      return text.find("milliseconds") == std::string_view::npos &&
             text.find("blocking wait") == std::string_view::npos;
    if (fact.kind == FactKind::PythonException)
      return fact.name.find("RuntimeError") != std::string::npos ||
             fact.name.find("distributed") != std::string::npos || text.size() <= fact.name.size() + 2;
    return false;
  };
  matched_.erase(std::remove_if(matched_.begin(), matched_.end(), half), matched_.end());
}

void LogScanner::take_matches(Stream& stream, const Peeled& peeled, std::string_view text, const Fact& base) {
  const bool own_author = base.who.rank >= 0 || base.who.group_rank >= 0 || base.who.local_rank >= 0 ||
                          base.who.pid >= 0 || base.who.task >= 0;
  // A message of the C++ side may go on in lines without a prefix; what a program prints does not.
  const bool goes_on =
      peeled.severity != 0 || std::any_of(matched_.begin(), matched_.end(), [](const Fact& fact) {
        return fact.kind == FactKind::NcclErrorText || fact.kind == FactKind::WatchdogError;
      });
  if (goes_on && own_author) {
    stream.last_author = base.who;
    stream.last_pg = base.pg;
    stream.last_pg_name = base.pg_name;
    stream.author_lines = 24;
  } else if (!own_author && stream.author_lines > 0) {
    --stream.author_lines;
  }
  for (Fact& full : matched_) {
    // What the text itself names (for example "Rank 13, node gpu-p02") stays; the rest comes from the
    // prefixes.
    if (full.who.rank < 0) full.who.rank = base.who.rank;
    if (full.who.local_rank < 0) full.who.local_rank = base.who.local_rank;
    if (full.who.group_rank < 0) full.who.group_rank = base.who.group_rank;
    if (full.who.task < 0) full.who.task = base.who.task;
    if (full.who.pid < 0) full.who.pid = base.who.pid;
    if (full.who.device < 0) full.who.device = base.who.device;
    if (full.who.host.empty()) full.who.host = base.who.host;
    full.file = base.file;
    full.line = base.line;
    full.t_ns = base.t_ns;
    full.dated = base.dated;
    full.zone_s = base.zone_s;
    if (full.pg.empty()) full.pg = base.pg;
    full.pg_name = base.pg_name;
    full.text = base.text;
    emit(stream, text, std::move(full));
  }
}

void LogScanner::add(Fact&& fact) {
  std::size_t& count = counts_[static_cast<std::size_t>(fact.kind)];
  if (count >= cap_of(fact.kind)) return;
  ++count;
  out_.facts.push_back(std::move(fact));
}

namespace {
/// "CANCELLED AT 2025-03-07T14:09:31": the line's own stamp is in its text.
void stamp_of_cancel(std::string_view text, Fact& fact) {
  static constexpr std::string_view kAt = "CANCELLED AT ";
  const std::size_t at = text.find(kAt);
  if (at == std::string_view::npos) return;
  const Stamp stamp = read_date_clock(text.substr(at + kAt.size()));
  if (stamp.length == 0) return;
  fact.t_ns = stamp.t_ns;
  fact.dated = stamp.dated;
  fact.zone_s = stamp.zone_s;
}
}  // namespace

void LogScanner::emit(Stream& stream, std::string_view text, Fact&& fact) {
  switch (fact.kind) {
    case FactKind::NcclColl: {
      const auto key = std::make_pair(fact.who.host + ":" + std::to_string(fact.who.pid), fact.pg);
      if (calls_.size() >= kMaxAuthors && calls_.find(key) == calls_.end()) return;
      std::deque<Fact>& last = calls_[key];
      last.push_back(std::move(fact));
      if (last.size() > kMaxCallsKept) last.pop_front();
      return;
    }
    case FactKind::IbCompletion:
      if (fact.code == 0) fact.code = 12;  // "transport retry count exceeded" of UCX
      break;
    case FactKind::WrapperMismatch:
      read_fingerprints(text, fact);
      break;
    case FactKind::LossValue:
    case FactKind::NanSeen:
      fact.step = step_of(text);
      [[fallthrough]];
    case FactKind::Overflow:
      stream.loss_watched = true;
      stream.finite_losses = 0;
      break;
    case FactKind::StepCancelled:
    case FactKind::TimeLimit:
      if (fact.t_ns < 0) stamp_of_cancel(text, fact);
      break;
    case FactKind::HorovodStall:
      horovod_all(text, fact);
      return;
    case FactKind::MpiExit:
    case FactKind::MpiSignal:
    case FactKind::MpiError:
    case FactKind::MpiAbort:
    case FactKind::BadTermination:
      if (merge_blocks(stream, fact)) return;
      break;
    case FactKind::NcclInit:
      if (fact.name != "address" && fact.name != "topology")
        out_.world_size = std::max(out_.world_size, fact.value);
      break;
    case FactKind::ElasticFailed:
      if (fact.code == 0)
        for (const int signal : {9, 11, 7, 4, 8, 6, 15})
          if (fact.name == signal_meaning(signal).name) fact.code = -signal;
      break;
    case FactKind::PeerClosed:
      // "Retrying (Retry(total=4, …)) after connection broken by …": a program that helps itself
      if (fact.layer == Layer::Python && text.find("etry") != std::string_view::npos)
        fact.role = Role::Context;
      break;
    case FactKind::GpuLost:
      if (fact.name == "address")
        stream.gpu_address = fact.bus;
      else if (fact.bus.empty() && fact.layer == Layer::Kernel)
        fact.bus = stream.gpu_address;
      break;
    case FactKind::DdpUnused:
      if (fact.who.rank < 0) fact.who.rank = fact.who.group_rank;
      break;
    case FactKind::SchedOom:
      if (fact.who.host.empty() && fact.layer == Layer::Job) fact.who.host = stream.pod;
      break;
    case FactKind::RankNote:
      if (fact.name == "described pod") {
        stream.pod = fact.who.host;
        return;
      }
      if (fact.name == "exit noise" && text.find("Exception ignored") != std::string_view::npos)
        stream.ignored = true;
      if (stream.traceback && fact.name != "exit noise") stream.traceback = false;
      break;
    case FactKind::PythonException:
      if (fact.name == "announcement") {  // "Unhandled exception <class …> in thread …, proc 146257."
        stream.pid_hint = fact.who.pid;
        stream.pid_lines = 200;
        return;
      }
      if (stream.ignored) {
        fact.role = Role::Consequence;
        stream.ignored = false;
      }
      break;
    default:
      break;
  }
  const bool speaks = fact.who.rank >= 0 || fact.who.group_rank >= 0 || fact.who.local_rank >= 0 ||
                      fact.who.pid >= 0 || fact.who.task >= 0;
  if (!speaks && stream.author_lines > 0 && fact.layer != Layer::Kernel && fact.layer != Layer::Slurm &&
      fact.layer != Layer::Mpi && fact.layer != Layer::Elastic && fact.layer != Layer::Job &&
      fact.layer != Layer::Gloo && fact.kind != FactKind::PythonException && !stream.traceback) {
    fact.who = stream.last_author;
    if (fact.pg.empty()) {
      fact.pg = stream.last_pg;
      fact.pg_name = stream.last_pg_name;
    }
  }
  if (!speaks && stream.pid_hint > 0 && stream.pid_lines > 0 &&
      (fact.layer == Layer::Python || fact.layer == Layer::Cuda || fact.layer == Layer::Numeric)) {
    fact.who.pid = stream.pid_hint;
    stream.pid_hint = -1;
  }
  if (!speaks && stream.spawned >= 0 && fact.role == Role::Root && fact.layer != Layer::Kernel &&
      fact.layer != Layer::Elastic) {
    fact.who.rank = stream.spawned;
    stream.spawned = -1;
  }
  // The call in which a Python exception was raised tells operations apart where no fingerprint is printed.
  if (stream.traceback && fact.op.empty() && !stream.call.empty() &&
      (fact.kind == FactKind::GlooTimeout || fact.kind == FactKind::PeerClosed ||
       fact.kind == FactKind::PythonException || fact.kind == FactKind::NcclErrorText ||
       fact.kind == FactKind::BarrierVictim)) {
    fact.op = stream.call;
  }
  if (stream.traceback && fact.role != Role::Context && text.find_first_not_of(' ') == 0) {
    stream.traceback = false;
    stream.call.clear();
  }
  if (fact.seq < 0 && stream.fr_seq >= 0 && fact.layer == Layer::FlightRecorder) fact.seq = stream.fr_seq;
  add(std::move(fact));
}

void LogScanner::end_file() {
  report_finite_losses();
  for (auto& [key, stream] : streams_)
    if (stream.entry_open) close_entry(stream);
  streams_.clear();
}

}  // namespace ringside::backend
