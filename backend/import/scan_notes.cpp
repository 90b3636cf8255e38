// What programs say about themselves in lines that no library prints: who they are, which step they are in,
// how long it took, how much host memory is used. Read by hand or only in the first lines of an author, since
// chatter is most of a log.
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "backend/import/scan.hpp"
#include "backend/import/scan_state.hpp"

namespace ringside::backend {
namespace {

constexpr std::int64_t kIdentityLinesOfFile = 4'000;
constexpr std::int64_t kIdentityLinesOfAuthor = 40;
constexpr std::size_t kMaxAuthors = 20'000;
constexpr std::size_t kMaxStepTimes = 20'000;  // of all steps and authors together; the oldest steps go first
constexpr std::size_t kStepsReported = 256;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_alpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// The number behind `word` (which must not be part of a longer word), skipping " :=#|[" and an opening
/// quote; -1 if none.
double number_behind(std::string_view text, std::string_view word, std::size_t& end) {
  std::size_t at = 0;
  while ((at = text.find(word, at)) != std::string_view::npos) {
    const bool starts_word = at == 0 || !is_alpha(text[at - 1]);
    at += word.size();
    if (!starts_word) continue;
    std::size_t from = at;
    while (from < text.size() && from - at < 6 &&
           std::string_view(" :=#|'\"").find(text[from]) != std::string_view::npos)
      ++from;
    if (from >= text.size() || !is_digit(text[from])) continue;
    double value = -1;
    const auto [stop, error] = std::from_chars(text.data() + from, text.data() + text.size(), value);
    if (error != std::errc{}) continue;
    end = static_cast<std::size_t>(stop - text.data());
    return value;
  }
  return -1;
}

/// Milliseconds of "301.4 ms", "0.892 s", "0.892 sec" at the start of `text` (behind the number); 0 if no
/// unit.
double unit_ms(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const auto unit = [&text](std::string_view word) {
    return text.substr(0, word.size()) == word &&
           (text.size() == word.size() || !is_alpha(text[word.size()]));
  };
  if (unit("ms")) return 1;
  if (unit("us")) return 0.001;
  if (unit("s") || unit("sec") || unit("secs") || unit("seconds")) return 1000;
  return 0;
}

}  // namespace

std::int64_t step_of(std::string_view text) {
  static constexpr std::array<std::string_view, 8> kWords = {"step", "Step",       "iteration", "Iteration",
                                                             "iter", "micro-step", "update",    "it"};
  std::size_t end = 0;
  for (const std::string_view word : kWords) {
    const double value = number_behind(text, word, end);
    if (value >= 0 && value < 1e12) return static_cast<std::int64_t>(value);
  }
  return -1;
}

namespace {

/// The only number of the line that has a unit of time; -1 if there are none or several.
double only_duration_ms(std::string_view text) {
  double found = -1;
  std::size_t at = 0;
  while (at < text.size()) {
    if (!is_digit(text[at]) ||
        (at > 0 && (is_alpha(text[at - 1]) || is_digit(text[at - 1]) || text[at - 1] == '.'))) {
      ++at;
      continue;
    }
    double value = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (error != std::errc{}) return -1;
    at = static_cast<std::size_t>(stop - text.data());
    const double unit = unit_ms(text.substr(at));
    if (unit <= 0) continue;
    if (found >= 0) return -1;
    found = value * unit;
  }
  return found;
}

/// Milliseconds that a step took, from "0.892 sec/step", "12.40 s/iter", "11313.6 ms per step", "total 431.1
/// ms"; -1 if none.
double step_ms(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, double>, 12> kForms = {{{" sec/step", 1000},
                                                                                  {" s/step", 1000},
                                                                                  {" s/iter", 1000},
                                                                                  {" s/it", 1000},
                                                                                  {"s/it", 1000},
                                                                                  {" ms/step", 1},
                                                                                  {" ms/iter", 1},
                                                                                  {" ms/it", 1},
                                                                                  {" ms per step", 1},
                                                                                  {" sec/iter", 1000},
                                                                                  {"sec/step", 1000},
                                                                                  {" s per step", 1000}}};
  for (const auto& [form, factor] : kForms) {
    const std::size_t at = text.find(form);
    if (at == std::string_view::npos || at == 0) continue;
    std::size_t start = at;
    while (start > 0 && (is_digit(text[start - 1]) || text[start - 1] == '.')) --start;
    double value = -1;
    if (start < at && std::from_chars(text.data() + start, text.data() + at, value).ec == std::errc{})
      return value * factor;
  }
  static constexpr std::array<std::string_view, 5> kWords = {"total", "step_time", "step time", "iter_time",
                                                             "elapsed"};
  for (const std::string_view word : kWords) {
    std::size_t end = 0;
    const double value = number_behind(text, word, end);
    if (value >= 0)
      if (const double unit = unit_ms(text.substr(end)); unit > 0) return value * unit;
  }
  return only_duration_ms(text);
}

double labelled_ms(std::string_view text, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    std::size_t end = 0;
    const double value = number_behind(text, word, end);
    if (value < 0) continue;
    const double unit = unit_ms(text.substr(end));
    return value * (unit > 0 ? unit : 1);
  }
  return -1;
}

int device_in(std::string_view text) {
  const std::size_t at = text.find("cuda:");
  if (at == std::string_view::npos || at + 5 >= text.size() || !is_digit(text[at + 5])) return -1;
  int device = -1;
  std::from_chars(text.data() + at + 5, text.data() + text.size(), device);
  return device;
}

re2::StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

void LogScanner::notice(const Author& author, std::string_view text, const Fact& base) {
  if (text.empty()) return;
  Author who = author;
  if (who.rank < 0 && who.task < 0 && who.local_rank < 0 && who.pid < 0) {
    const int device = text.find("step") != std::string_view::npos ? device_in(text) : -1;
    who.device = device;
  }
  AuthorKey key;
  if (who.rank >= 0)
    key = {0, who.rank, {}};
  else if (who.task >= 0)
    key = {1, who.task, {}};
  else if (who.local_rank >= 0)
    key = {2, who.local_rank, who.host.empty() ? file_name_ : who.host};
  else if (who.pid >= 0)
    key = {3, static_cast<int>(who.pid), who.host};
  else if (who.device >= 0)
    key = {4, who.device, file_name_};
  else
    key = {5, static_cast<int>(base.file), who.host};
  auto found = authors_.find(key);
  if (found == authors_.end()) {
    if (authors_.size() >= kMaxAuthors) return;
    found = authors_.try_emplace(key).first;
    found->second.first = base;
    found->second.first.who = who;
  }
  Summary& summary = found->second;
  ++summary.lines;
  Fact& last = summary.last;
  last.who = who;
  last.file = base.file;
  last.line = base.line;
  if (base.t_ns >= 0) {
    last.t_ns = base.t_ns;
    last.dated = base.dated;
  }
  last.text.assign(text.substr(0, 200));
  if (file_lines_ <= kIdentityLinesOfFile || summary.lines <= kIdentityLinesOfAuthor)
    identities(text, base, summary.lines <= 3);
  if (std::get<0>(key) != 5 && std::get<0>(key) != 3) numbers(who, text, base);
}

void LogScanner::numbers(const Author& author, std::string_view text, const Fact& base) {
  AuthorKey key = author.rank >= 0   ? AuthorKey{0, author.rank, {}}
                  : author.task >= 0 ? AuthorKey{1, author.task, {}}
                  : author.local_rank >= 0
                      ? AuthorKey{2, author.local_rank, author.host.empty() ? file_name_ : author.host}
                      : AuthorKey{4, author.device, file_name_};
  const std::int64_t step = step_of(text);
  if (step < 0) return;
  const auto found = authors_.find(key);
  if (found != authors_.end()) found->second.step = step;
  const double compute = labelled_ms(text, {"compute", "fwd+bwd", "forward+backward", "computing"});
  const double wait = labelled_ms(text, {"wait", "comm", "all-reduce", "allreduce", "all_reduce"});
  const double total = compute >= 0 && wait >= 0 ? compute : step_ms(text);
  if (total < 0) return;
  Step& times = steps_[step];
  times.file = base.file;
  times.times[key] = {total, compute >= 0 ? wait : -1};
  times.who[key] = author;
  times.lines[key] = {base.line, std::string(text.substr(0, 160))};
  ++step_times_;
  while (step_times_ > kMaxStepTimes && steps_.size() > 1) {
    step_times_ -= std::min(step_times_, steps_.begin()->second.times.size());
    steps_.erase(steps_.begin());
  }
}

void LogScanner::identities(std::string_view text, const Fact& base, bool introduces) {
  static const re2::RE2 kWorld(
      R"((?i)(?:world[ _]size['"]?[ :=]+|\bworld[ :=]+|\brank \d+ (?:/ )?size |\brank \d+ of |\brank \d+ ?/ ?|starting with |member: \d+/|\bnranks[ =]+|"WORLD_SIZE": ?"?)(\d{1,7})\b)");
  static const re2::RE2 kRanks(R"((?i)\b(\d{1,7}) (?:ranks|processes|GPUs)\b)");
  static const re2::RE2 kSpan(R"((?i)\branks (\d+)-(\d+)\b)");
  static const re2::RE2 kRank(R"((?i)\b(?:global_rank|global rank|rank|task|worker)[ _:=#]*(\d{1,7})\b)");
  static const re2::RE2 kPid(R"((?i)\bpid[ :=]+(\d+))");
  static const re2::RE2 kHost(R"((?i)(?:\b(?:hostname|host|node)[ :=]+|\bon |\()([a-z][\w.-]*[\w]))");
  static const re2::RE2 kLeadingHost(
      R"(^(?:(?:\[rank \d+\]|\[r\d+\]|rank \d+:?) ([a-z][\w.-]*\d[\w.-]*)|\[([a-z][\w.-]*\d[\w.-]*)\]) )");
  static const re2::RE2 kLocal(R"((?i)\blocal[ _-]?rank[ :=]+(\d+)|\blocal (\d+)\b)");
  static const re2::RE2 kDevice(R"((?i)\b(?:cuda|gpu|device)[ :=]+(\d+)\b)");
  static const re2::RE2 kBus(
      R"((?i)\b(?:PCI|bus(?: ?id)?)[ :=]+([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}(?:\.\d)?))");
  static const re2::RE2 kAddress(R"(\((\d+\.\d+\.\d+\.\d+)\))");
  if (text.find_first_of("0123456789") == std::string_view::npos) return;
  const bool talks =
      (introduces && base.who.rank >= 0) || text.find("ank") != std::string_view::npos ||
      text.find("ANK") != std::string_view::npos || text.find("orld") != std::string_view::npos ||
      text.find("ORLD") != std::string_view::npos || text.find("pid") != std::string_view::npos ||
      text.find("ost") != std::string_view::npos || text.find("task") != std::string_view::npos ||
      text.find("worker") != std::string_view::npos || text.find("rocess") != std::string_view::npos ||
      text.find("MEMBER") != std::string_view::npos;
  if (!talks) return;
  std::string number;
  re2::StringPiece rest = piece(text);
  if (text.find("WORLD INFO DICT") !=
      std::string_view::npos) {  // DeepSpeed: {'gpu-e01': [0, 1, 2, 3], …}, ranks in this order
    static const re2::RE2 kHostSlots(R"('([\w.-]+)': \[([\d, ]*)\])");
    std::string name, slots;
    int next = 0;
    while (re2::RE2::FindAndConsume(&rest, kHostSlots, &name, &slots)) {
      Fact node = base;
      node.kind = FactKind::Identity;
      node.layer = Layer::Job;
      node.who = {};
      node.who.host = name;
      for (std::size_t slot = 0; slot < read_rank_list(slots).size(); ++slot) node.named.push_back(next++);
      add(std::move(node));
    }
    out_.world_size = std::max<std::int64_t>(out_.world_size, next);
    return;
  }
  while (re2::RE2::FindAndConsume(&rest, kWorld, &number))
    out_.world_size = std::max<std::int64_t>(out_.world_size, std::strtoll(number.c_str(), nullptr, 10));
  if (re2::RE2::PartialMatch(piece(text), kRanks, &number) && text.find("GPUs") == std::string_view::npos)
    out_.world_size = std::max<std::int64_t>(out_.world_size, std::strtoll(number.c_str(), nullptr, 10));
  Fact fact = base;
  fact.kind = FactKind::Identity;
  fact.layer = Layer::Job;
  std::string first, second;
  if (re2::RE2::PartialMatch(piece(text), kSpan, &first, &second))
    fact.named = read_rank_list(first + "-" + second);
  if (fact.who.rank < 0 && fact.named.empty() && re2::RE2::PartialMatch(piece(text), kRank, &number))
    fact.who.rank = static_cast<int>(std::strtol(number.c_str(), nullptr, 10));
  const bool about_a_rank = fact.who.rank >= 0 || !fact.named.empty() || fact.who.task >= 0;
  std::int64_t pid = -1;
  if (re2::RE2::PartialMatch(piece(text), kPid, &pid)) fact.who.pid = pid;
  std::string host;
  rest = piece(text);
  const auto plausible = [](const std::string& word) {  // a guess until who-is-who agrees
    return word == "localhost" ||
           (word.find_first_of("0123456789") != std::string::npos && word.find("cuda") == std::string::npos);
  };
  while (fact.name.empty() && re2::RE2::FindAndConsume(&rest, kHost, &host))
    if (plausible(host)) fact.name = host;
  if (fact.name.empty() && re2::RE2::PartialMatch(piece(text), kLeadingHost, &host, &second)) {
    if (host.empty()) host = second;
    if (plausible(host)) fact.name = host;
  }
  if (!about_a_rank) {  // "server args: …, host infer-21": a host of the job, nothing more
    static const re2::RE2 kStatedHost(R"((?i)\bhost(?:name)?[ :=]+([a-z][\w.-]*\d[\w.-]*))");
    if (!re2::RE2::PartialMatch(piece(text), kStatedHost, &host)) return;
    fact.who.host = host;
    fact.name.clear();
    add(std::move(fact));
    return;
  }
  int local = -1;
  std::string other;
  if (re2::RE2::PartialMatch(piece(text), kLocal, &number, &other)) {
    const std::string& digits = number.empty() ? other : number;
    std::from_chars(digits.data(), digits.data() + digits.size(), local);
    fact.who.local_rank = local;
  }
  if (re2::RE2::PartialMatch(piece(text), kDevice, &number))
    fact.who.device = static_cast<int>(std::strtol(number.c_str(), nullptr, 10));
  if (re2::RE2::PartialMatch(piece(text), kBus, &number)) fact.bus = normal_bus(number);
  if (re2::RE2::PartialMatch(piece(text), kAddress, &number)) fact.peer = number;
  if (fact.who.pid >= 0 || !fact.name.empty() || !fact.who.host.empty() || local >= 0 || !fact.bus.empty() ||
      !fact.peer.empty())
    add(std::move(fact));
}

void LogScanner::finish() {
  for (auto& [key, calls] : calls_)
    for (Fact& call : calls) add(std::move(call));
  calls_.clear();
  for (auto& [key, summary] : authors_) {
    Fact progress = std::move(summary.last);
    progress.kind = FactKind::Progress;
    progress.layer = Layer::Job;
    progress.role = Role::Context;
    progress.step = summary.step;
    progress.value = summary.lines;
    progress.limit = summary.first.line;
    add(std::move(progress));
  }
  std::size_t skip = steps_.size() > kStepsReported ? steps_.size() - kStepsReported : 0;
  for (auto& [step, times] : steps_) {
    if (skip > 0) {
      --skip;
      continue;
    }
    if (times.times.size() < 2) continue;
    for (auto& [key, time] : times.times) {
      Fact fact;
      fact.kind = FactKind::StepTime;
      fact.layer = Layer::Job;
      fact.who = times.who[key];
      fact.file = times.file;
      fact.line = times.lines[key].first;
      fact.text = times.lines[key].second;
      fact.step = step;
      fact.x = time.first;
      fact.y = time.second;
      add(std::move(fact));
    }
  }
  steps_.clear();
}

}  // namespace ringside::backend
