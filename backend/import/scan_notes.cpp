// What programs say about themselves in lines that no library prints: who they are, which step they are in,
// how long it took, how much host memory is used. Read by hand or only in the first lines of an author, since
// chatter is most of a log.
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "backend/import/hints.hpp"
#include "backend/import/scan.hpp"
#include "backend/import/scan_state.hpp"

namespace ringside::backend {
namespace {

constexpr std::int64_t kIdentityLinesOfFile = 1'500;
constexpr std::int64_t kIdentityLinesOfAuthor = 24;
constexpr std::int64_t kLinesWithAllSteps = 200'000;
constexpr std::size_t kMaxAuthors = 20'000;
constexpr std::size_t kMaxStepTimes = 20'000;  // of all steps and authors together; the oldest steps go first
constexpr std::size_t kStepsReported = 256;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_alpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// std::string_view::find compares byte by byte after each first letter; memmem does not.
std::size_t find(std::string_view text, std::string_view word, std::size_t from = 0) {
  if (from >= text.size()) return std::string_view::npos;
  const void* at = memmem(text.data() + from, text.size() - from, word.data(), word.size());
  return at == nullptr ? std::string_view::npos
                       : static_cast<std::size_t>(static_cast<const char*>(at) - text.data());
}

/// The number behind `word` (which must not be part of a longer word), skipping " :=#|[" and an opening
/// quote; -1 if none.
double number_behind(std::string_view text, std::string_view word, std::size_t& end) {
  std::size_t at = 0;
  while ((at = find(text, word, at)) != std::string_view::npos) {
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

std::int64_t step_of(std::string_view text, std::uint64_t hints) {
  static constexpr std::array<std::pair<std::string_view, Hint>, 8> kWords = {
      {{"step", Hint::Step},
       {"Step", Hint::StepCapital},
       {"iteration", Hint::Iteration},
       {"Iteration", Hint::IterationCapital},
       {"iter", Hint::Iter},
       {"micro-step", Hint::Step},
       {"update", Hint::Update},
       {"it", Hint::It}}};
  std::size_t end = 0;
  for (const auto& [word, hint] : kWords) {
    if ((hints & bit(hint)) == 0) continue;
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
double step_ms(std::string_view text, std::uint64_t hints) {
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
  const bool per =
      (hints & (bit(Hint::PerStep) | bit(Hint::PerIter) | bit(Hint::PerIt) | bit(Hint::PerStepWords))) != 0;
  for (const auto& [form, factor] : kForms) {
    if (!per) break;
    const std::size_t at = find(text, form);
    if (at == std::string_view::npos || at == 0) continue;
    std::size_t start = at;
    while (start > 0 && (is_digit(text[start - 1]) || text[start - 1] == '.')) --start;
    double value = -1;
    if (start < at && std::from_chars(text.data() + start, text.data() + at, value).ec == std::errc{})
      return value * factor;
  }
  static constexpr std::array<std::string_view, 5> kWords = {"total", "step_time", "step time", "iter_time",
                                                             "elapsed"};
  const bool labelled = (hints & bits(Hint::Total, Hint::IterTime)) != 0;
  for (const std::string_view word : kWords) {
    if (!labelled) break;
    std::size_t end = 0;
    const double value = number_behind(text, word, end);
    if (value >= 0)
      if (const double unit = unit_ms(text.substr(end)); unit > 0) return value * unit;
  }
  const bool unit = (hints & bits(Hint::Ms, Hint::Sec)) != 0 ||
                    text.substr(text.size() - std::min<std::size_t>(2, text.size())) == " s";
  return unit ? only_duration_ms(text) : -1;
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

void LogScanner::notice(const Peeled& peeled, int rank, std::string_view text, std::string_view whole,
                        const Line& line, std::uint64_t hints) {
  if (text.empty()) return;
  const bool own = rank >= 0 || peeled.task >= 0 || peeled.local_rank >= 0 || peeled.pid >= 0;
  const int device =
      own || (hints & bit(Hint::Cuda)) == 0 || (hints & bit(Hint::Step)) == 0 ? -1 : device_in(text);
  const std::uint32_t file = file_of(peeled);
  // Kind of number, number, and what makes it unique: a rank stands for itself, the others for their host or
  // file.
  int kind = 5;
  int number = static_cast<int>(file);
  std::string_view scope = peeled.host;
  if (rank >= 0)
    kind = 0, number = rank, scope = {};
  else if (peeled.task >= 0)
    kind = 1, number = peeled.task, scope = {};
  else if (peeled.local_rank >= 0)
    kind = 2, number = peeled.local_rank,
    scope = peeled.host.empty() ? std::string_view(file_name_) : peeled.host;
  else if (peeled.pid >= 0)
    kind = 3, number = static_cast<int>(peeled.pid);
  else if (device >= 0)
    kind = 4, number = device, scope = file_name_;
  std::uint64_t hash = static_cast<std::uint64_t>(kind) << 40 ^ static_cast<std::uint64_t>(number);
  for (const char c : scope) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  auto found = authors_.find(hash);
  if (found == authors_.end()) {
    if (authors_.size() >= kMaxAuthors) return;
    found = authors_.try_emplace(hash).first;
    found->second.key = {kind, number, std::string(scope)};
    found->second.first_line = line.number;
  }
  Summary& summary = found->second;
  Author& who = summary.who;
  who.rank = rank;
  who.local_rank = peeled.local_rank;
  who.group_rank = peeled.group_rank;
  who.task = peeled.task;
  who.pid = peeled.pid;
  who.device = own ? peeled.device : device;
  if (who.host != peeled.host) who.host = peeled.host;
  ++summary.lines;
  summary.file = file;
  summary.last_line = line.number;
  if (peeled.t_ns >= 0) {
    summary.t_ns = peeled.t_ns;
    summary.dated = peeled.dated;
  }
  summary.last_text.assign(text.substr(0, 200));
  const bool introduces = summary.lines <= 3 && rank >= 0;
  if ((introduces || (hints & kWhoHints) != 0) &&
      (file_lines_ <= kIdentityLinesOfFile || summary.lines <= kIdentityLinesOfAuthor))
    identities(text, make_base(peeled, rank, whole, line));
  if (kind != 5 && kind != 3 && (hints & kStepHints) != 0) numbers(summary, text, line.number, hints);
}

void LogScanner::numbers(Summary& summary, std::string_view text, std::int64_t line, std::uint64_t hints) {
  const std::int64_t step = step_of(text, hints);
  if (step < 0) return;
  if (step > summary.step) {
    summary.step_line = line;
    summary.step_t_ns = summary.t_ns;
  }
  summary.step = step;
  if ((hints & kTimeHints) == 0) return;
  // In long logs a sixteenth of the steps is enough; all ranks keep the same ones.
  if (out_.lines > kLinesWithAllSteps && step % 16 != 0) return;
  const auto any = [hints](auto... wanted) { return (hints & (bit(wanted) | ...)) != 0; };
  double compute = -1;
  double wait = -1;
  if (any(Hint::Compute, Hint::FwdBwd))
    compute = labelled_ms(text, {"compute", "fwd+bwd", "forward+backward", "computing"});
  if (any(Hint::Wait, Hint::Comm, Hint::Reduce))
    wait = labelled_ms(text, {"wait", "comm", "all-reduce", "allreduce", "all_reduce"});
  const double total = compute >= 0 && wait >= 0 ? compute : step_ms(text, hints);
  if (total < 0) return;
  Step& times = steps_[step];
  times.file = summary.file;
  times.times[summary.key] = {total, compute >= 0 ? wait : -1};
  times.who[summary.key] = summary.who;
  times.lines[summary.key] = {line, std::string(text.substr(0, 160))};
  ++step_times_;
  while (step_times_ > kMaxStepTimes && steps_.size() > 1) {
    step_times_ -= std::min(step_times_, steps_.begin()->second.times.size());
    steps_.erase(steps_.begin());
  }
}

void LogScanner::identities(std::string_view text, const Fact& base) {
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
           (word.find_first_of("0123456789") != std::string::npos && word.find("cuda") == std::string::npos &&
            word != "c10d");  // "[c10d]" is a tag of PyTorch
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
      !fact.peer.empty()) {
    add(std::move(fact));
  } else if (base.who.local_rank >= 0 && base.who.rank < 0 && fact.who.rank >= 0 &&
             told_locals_.size() < kMaxAuthors &&
             told_locals_.emplace(base.file, base.who.local_rank, fact.who.rank).second) {
    add(std::move(fact));  // "[default3]: … rank=7": once is enough
  }
}

void LogScanner::finish() {
  for (auto& [key, calls] : calls_)
    for (Fact& call : calls) add(std::move(call));
  calls_.clear();
  std::vector<const Summary*> authors;
  for (const auto& [hash, summary] : authors_) authors.push_back(&summary);
  std::sort(authors.begin(), authors.end(),
            [](const Summary* a, const Summary* b) { return a->key < b->key; });
  for (const Summary* summary : authors) {
    Fact progress;
    progress.kind = FactKind::Progress;
    progress.layer = Layer::Job;
    progress.who = summary->who;
    progress.file = summary->file;
    progress.line = summary->last_line;
    progress.t_ns = summary->t_ns;
    progress.dated = summary->dated;
    progress.text = summary->last_text;
    progress.step = summary->step;
    progress.completed = summary->step_line;
    progress.enqueued = summary->step_t_ns;
    progress.value = summary->lines;
    progress.limit = summary->first_line;
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
