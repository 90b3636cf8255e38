#include "backend/import/prefix.hpp"

#include <array>
#include <cctype>
#include <charconv>

#include "backend/import/timestamps.hpp"

namespace ringside::backend {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_alpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_name_char(char c) {
  return is_alpha(c) || is_digit(c) || c == '-' || c == '_' || c == '.';
}

/// Reads a non-negative number at `at` (moved behind it); -1 if there is none or it has more than 9 digits.
std::int64_t number(std::string_view text, std::size_t& at, std::size_t max_digits = 9) {
  const std::size_t start = at;
  std::int64_t value = 0;
  while (at < text.size() && is_digit(text[at]) && at - start < max_digits)
    value = value * 10 + (text[at++] - '0');
  if (at == start || (at < text.size() && is_digit(text[at]))) {
    at = start;
    return -1;
  }
  return value;
}

bool starts(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool equals_ignoring_case(std::string_view a, std::string_view lower) {
  if (a.size() != lower.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (static_cast<char>(std::tolower(static_cast<unsigned char>(a[i]))) != lower[i]) return false;
  return true;
}

/// The peeler's cursor: each step tries one kind of prefix at the front of `rest` and takes it off.
struct Cursor {
  std::string_view rest;
  Peeled& out;

  void take(std::size_t count) {
    rest.remove_prefix(count);
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  }
  void take_exactly(std::size_t count) { rest.remove_prefix(count); }
  void stamp(const Stamp& stamp) {
    // The innermost stamp is the author's own; an outer one is the collector's. Dated beats undated.
    if (out.t_ns < 0 || stamp.dated || !out.dated) {
      out.t_ns = stamp.t_ns;
      out.dated = stamp.dated;
      out.zone_s = stamp.zone_s;
    }
  }
};

/// "worker-2.log:" as grep prints it.
bool peel_file_name(Cursor& c) {
  static constexpr std::array<std::string_view, 5> kEndings = {".log:", ".txt:", ".out:", ".err:", ".log-"};
  const std::size_t colon = c.rest.find(':');
  if (colon == std::string_view::npos || colon > 120 || colon < 5) return false;
  const std::string_view name = c.rest.substr(0, colon + 1);
  if (name.find(' ') != std::string_view::npos) return false;
  for (const std::string_view ending : kEndings) {
    if (name.size() > ending.size() && name.substr(name.size() - ending.size()) == ending) {
      c.out.source_name = name.substr(0, name.size() - 1);
      std::size_t at = colon + 1;  // grep -n adds "123:"
      const std::int64_t line = number(c.rest, at);
      if (line >= 0 && at < c.rest.size() && c.rest[at] == ':')
        c.take(at + 1);
      else
        c.take(colon + 1);
      return true;
    }
  }
  return false;
}

bool peel_bare_time(Cursor& c) {
  Stamp stamp = read_date_clock(c.rest);
  if (stamp.length == 0) stamp = read_clock(c.rest);
  if (stamp.length == 0 || stamp.length >= c.rest.size()) return false;
  std::size_t at = stamp.length;
  const char end = c.rest[at];
  if (end != ' ' && end != '\t' && end != ':' && end != '|') return false;
  c.stamp(stamp);
  if (end == ':') ++at;
  std::size_t bar = at;
  while (bar < c.rest.size() && (c.rest[bar] == ' ' || c.rest[bar] == '\t')) ++bar;
  if (bar < c.rest.size() && c.rest[bar] == '|') at = bar + 1;
  c.take_exactly(at);  // one blank belongs to the prefix, more are the line's own indentation
  if (!c.rest.empty() && (c.rest.front() == ' ' || c.rest.front() == '\t')) c.take_exactly(1);
  return true;
}

/// "Nov 17 23:42:09 gpu-v03 kernel: " and journald's "2025-11-17T23:42:09+0000 gpu-v03 kernel: " (time
/// already taken).
bool peel_syslog(Cursor& c) {
  const Stamp stamp = read_month_name(c.rest);
  if (stamp.length == 0 || stamp.length + 1 >= c.rest.size() || c.rest[stamp.length] != ' ') return false;
  std::size_t at = stamp.length + 1;
  const std::size_t host_start = at;
  while (at < c.rest.size() && is_name_char(c.rest[at])) ++at;
  const std::string_view host = c.rest.substr(host_start, at - host_start);
  if (host.empty() || at >= c.rest.size() || c.rest[at] != ' ') return false;
  c.stamp(stamp);
  c.out.host = host;
  c.out.host_is_sure = true;
  c.take(at);
  if (starts(c.rest, "kernel: ")) {
    c.out.kernel = true;
    c.take(8);
  }
  return true;
}

bool peel_host_kernel(Cursor& c) {  // behind an ISO time
  std::size_t at = 0;
  while (at < c.rest.size() && is_name_char(c.rest[at])) ++at;
  if (at == 0 || !starts(c.rest.substr(at), " kernel: ")) return false;
  c.out.host = c.rest.substr(0, at);
  c.out.host_is_sure = true;
  c.out.kernel = true;
  c.take(at + 9);
  return true;
}

/// Everything that starts with '['.
bool peel_bracket(Cursor& c) {
  const std::size_t close = c.rest.find(']');
  if (close == std::string_view::npos || close > 160) return false;
  const std::string_view inside = c.rest.substr(1, close - 1);
  std::size_t at = 0;
  // Open MPI --tag-output "[1,12]<stdout>:", Open MPI 5 "[prterun-host-1@1,12]<stderr>:"
  const std::string_view behind = c.rest.substr(close + 1);
  if (starts(behind, "<std")) {
    const std::size_t end = behind.find(":");
    // SageMaker's "[1,mpirank:5,algo-2]<stdout>:"
    if (const std::size_t tag = inside.find(",mpirank:"); tag != std::string_view::npos && end < 12) {
      at = tag + 9;
      const std::int64_t rank = number(inside, at);
      if (rank >= 0 && at < inside.size() && inside[at] == ',') {
        c.out.rank = static_cast<int>(rank);
        c.out.host = inside.substr(at + 1);
        c.out.host_is_sure = true;
        c.take_exactly(close + 1 + end + 1);
        return true;
      }
    }
    const std::size_t comma = inside.rfind(',');
    if (comma != std::string_view::npos && end != std::string_view::npos && end < 12) {
      at = comma + 1;
      const std::int64_t rank = number(inside, at);
      if (rank >= 0) {
        c.out.rank = static_cast<int>(rank);
        c.take_exactly(close + 1 + end + 1);
        if (starts(c.rest, " ["))
          c.take_exactly(1);  // another prefix follows; other blanks belong to the text
        return true;
      }
    }
    return false;
  }
  // "[rank3]:" global; "[default0]:", "[worker0]:" role and LOCAL rank; "[0]:" local rank (Composer, older
  // torchrun)
  if (behind.size() > 1 && starts(behind, ":")) {  // "[1]:" alone is an entry of torchrun's failure table
    std::size_t letters = 0;
    while (letters < inside.size() &&
           (is_alpha(inside[letters]) || inside[letters] == '_' || inside[letters] == '-'))
      ++letters;
    at = letters;
    const std::int64_t value = number(inside, at);
    if (value >= 0 && at == inside.size()) {
      if (inside.substr(0, letters) == "rank")
        c.out.rank = static_cast<int>(value);
      else
        c.out.local_rank = static_cast<int>(value);
      // Python keeps its indentation behind "[rank3]:": take one blank only.
      c.take_exactly(close + 2);
      if (!c.rest.empty() && c.rest.front() == ' ') c.take_exactly(1);
      return true;
    }
  }
  // "[pod/trainer-3/pytorch] " of kubectl logs --prefix
  if (starts(inside, "pod/") && starts(behind, " ")) {
    const std::string_view pod = inside.substr(4, inside.find('/', 4) - 4);
    if (!pod.empty()) {
      c.out.host = pod;
      c.take_exactly(close + 2);
      return true;
    }
  }
  // c10 and glog
  char severity = 0;
  const Stamp c10 = read_c10(inside, severity);
  if (c10.length != 0 || (inside.size() > 3 && inside[1] == ' ' &&
                          (inside[0] == 'E' || inside[0] == 'W' || inside[0] == 'I' || inside[0] == 'F') &&
                          inside.find(".cpp:") != std::string_view::npos)) {
    if (c10.length != 0) c.stamp(c10);
    c.out.severity = c10.length != 0 ? severity : inside[0];
    const std::string_view source = inside.substr(c10.length != 0 ? c10.length : 1);
    c.out.source = source.empty() ? source : source.substr(1);
    c.take(close + 1);
    return true;
  }
  // "[2025-10-08 03:04:52] ", "[2024-04-04 23:19:02,111] "
  Stamp stamp = read_date_clock(inside);
  if (stamp.length == inside.size() && stamp.length != 0) {
    c.stamp(stamp);
    c.take(close + 1);
    return true;
  }
  if ((stamp = read_clock(inside)).length == inside.size() && stamp.length != 0) {
    c.stamp(stamp);
    c.take(close + 1);
    return true;
  }
  // dmesg: "[171167.381446]", "[  +0.000006]", "[Mon Nov 17 23:12:09 2025]", "[Feb20 21:58]"
  stamp = read_month_name(inside);
  if (stamp.length == inside.size() && stamp.length != 0) {
    c.stamp(stamp);
    c.out.kernel = true;
    c.take(close + 1);
    return true;
  }
  if (inside.find_first_not_of(" +.0123456789") == std::string_view::npos &&
      inside.find('.') != std::string_view::npos) {
    c.out.kernel = true;
    c.take(close + 1);
    return true;
  }
  // "[node01:21184] " Open MPI
  const std::size_t colon = inside.find(':');
  if (colon != std::string_view::npos && colon > 0 && is_alpha(inside[0])) {
    at = colon + 1;
    const std::int64_t pid = number(inside, at);
    bool host_like = true;
    for (const char ch : inside.substr(0, colon)) host_like = host_like && is_name_char(ch);
    if (pid > 0 && at == inside.size() && host_like) {
      c.out.host = inside.substr(0, colon);
      c.out.host_is_sure = true;
      c.out.pid = pid;
      c.take(close + 1);
      return true;
    }
  }
  return false;
}

/// "(RayWorkerWrapper pid=4009, ip=192.0.2.1) ", "(EngineCore_0 pid=825256) "
bool peel_ray(Cursor& c) {
  const std::size_t close = c.rest.find(')');
  if (close == std::string_view::npos || close > 120) return false;
  const std::string_view inside = c.rest.substr(1, close - 1);
  const std::size_t pid_at = inside.find("pid=");
  if (pid_at == std::string_view::npos) return false;
  std::size_t at = pid_at + 4;
  c.out.pid = number(inside, at);
  if (const std::size_t rank_at = inside.find("rank="); rank_at != std::string_view::npos) {
    at = rank_at + 5;
    c.out.rank = static_cast<int>(number(inside, at));
  }
  // vLLM leaves out the dimensions of size one: with a tensor rank alone, it is the worker's rank.
  if (constexpr std::string_view kWorker = "Worker_TP"; starts(inside, kWorker)) {
    at = kWorker.size();
    if (const std::int64_t rank = number(inside, at); rank >= 0 && at < inside.size() && inside[at] == ' ')
      c.out.rank = static_cast<int>(rank);
  }
  if (const std::size_t ip_at = inside.find("ip="); ip_at != std::string_view::npos) {
    std::size_t end = ip_at + 3;
    while (end < inside.size() && inside[end] != ',' && inside[end] != ' ') ++end;
    c.out.address = inside.substr(ip_at + 3, end - ip_at - 3);
  }
  c.take(close + 1);
  return true;
}

/// "11: " srun --label; "0 :" a program or launcher that puts the rank in front.
bool peel_number(Cursor& c) {
  std::size_t at = 0;
  while (at < c.rest.size() && c.rest[at] == ' ') ++at;
  const std::int64_t value = number(c.rest, at, 7);
  if (value < 0 || at >= c.rest.size()) return false;
  if (c.rest[at] == ':' && (at + 1 == c.rest.size() || c.rest[at + 1] == ' ')) {
    c.out.task = static_cast<int>(value);
    c.take_exactly(at + 1);
    if (!c.rest.empty()) c.take_exactly(1);
    return true;
  }
  if (c.rest[at] == ' ' && at + 1 < c.rest.size() && c.rest[at + 1] == ':') {
    c.out.task = static_cast<int>(value);
    c.take_exactly(at + 2);
    return true;
  }
  return false;
}

/// "host:pid:tid [dev] " of NCCL. `dev` may be -1. INFO and CALL lines have it directly behind, WARN lines
/// file:line first.
bool peel_nccl(Cursor& c) {
  std::size_t at = 0;
  while (at < c.rest.size() && is_name_char(c.rest[at])) ++at;
  if (at == 0 || at >= c.rest.size() || c.rest[at] != ':') return false;
  const std::string_view host = c.rest.substr(0, at);
  ++at;
  const std::int64_t pid = number(c.rest, at, 10);
  if (pid < 0 || at >= c.rest.size() || c.rest[at] != ':') return false;
  ++at;
  if (number(c.rest, at, 10) < 0 || at >= c.rest.size() || c.rest[at] != ' ') return false;
  ++at;
  int device = -1;
  if (at < c.rest.size() && c.rest[at] == '[') {
    const std::size_t close = c.rest.find(']', at);
    if (close != std::string_view::npos && close - at < 8) {
      std::size_t digit = at + 1;
      const std::int64_t value = number(c.rest, digit);
      if (value >= 0) device = static_cast<int>(value);
      at = close + 1;
    }
  }
  c.out.host = host;
  c.out.host_is_sure = true;
  c.out.pid = pid;
  c.out.device = device;
  c.out.nccl = true;
  c.take(at);
  return true;
}

/// "E0612 01:14:57.061000 3908386 torch/distributed/elastic/…:914] " and "E20261130 10:45:05.335404 20774
/// X.cpp:137] "
bool peel_glog(Cursor& c) {
  char severity = 0;
  const Stamp stamp = read_c10(c.rest, severity);
  if (stamp.length == 0 || stamp.length >= c.rest.size() || c.rest[stamp.length] != ' ') return false;
  std::size_t at = stamp.length;
  while (at < c.rest.size() && c.rest[at] == ' ') ++at;
  const std::int64_t pid = number(c.rest, at, 10);
  if (pid < 0) return false;
  const std::size_t close = c.rest.find("] ", at);
  if (close == std::string_view::npos || close - at > 140) return false;
  c.stamp(stamp);
  c.out.severity = severity;
  c.out.pid = pid;
  c.out.source = c.rest.substr(at + 1, close - at - 1);
  c.take(close + 2);
  return true;
}

/// "i.pretrain/0 " (NeMo-Run: task = node), "web-0 | " (compose)
bool peel_word(Cursor& c) {
  std::size_t at = 0;
  while (at < c.rest.size() && (is_name_char(c.rest[at]) || c.rest[at] == '/')) ++at;
  if (at == 0 || at >= c.rest.size() || at > 64) return false;
  const std::string_view word = c.rest.substr(0, at);
  const std::size_t slash = word.find('/');
  if (c.rest[at] == ' ' && slash != std::string_view::npos && word.find('.') != std::string_view::npos &&
      slash + 1 < word.size()) {
    std::size_t digit = slash + 1;
    const std::int64_t task = number(word, digit);
    if (task >= 0 && digit == word.size() && word.find('.') < slash) {
      c.take_exactly(at + 1);
      return true;
    }
  }
  if (slash != std::string_view::npos) return false;
  std::size_t bar = at;
  while (bar < c.rest.size() && c.rest[bar] == ' ') ++bar;
  if (bar > at && starts(c.rest.substr(bar), "| ") &&
      word.find_first_of("0123456789") != std::string_view::npos && is_alpha(word[0])) {
    c.out.host = word;
    c.take(bar + 2);
    return true;
  }
  if (c.rest[at] != ':' || at + 1 >= c.rest.size() || c.rest[at + 1] != ' ' || !is_alpha(word[0]))
    return false;
  if (word.find_first_of("0123456789") == std::string_view::npos && word != "localhost") return false;
  if (starts(word, "nvidia-nvswitch")) return false;  // a device of the kernel log
  static constexpr std::array<std::string_view, 22> kNotHosts = {
      "rank",    "step",  "epoch", "iter",   "iteration", "cuda",      "gpu",   "device",
      "dev",     "batch", "task",  "worker", "shard",     "layer",     "stage", "proc",
      "process", "phase", "level", "loss",   "case",      "local_rank"};
  std::size_t letters = 0;
  while (letters < word.size() && (is_alpha(word[letters]) || word[letters] == '_')) ++letters;
  std::size_t digit = letters;
  if (number(word, digit) >= 0 && digit == word.size())
    for (const std::string_view no : kNotHosts)
      if (equals_ignoring_case(word.substr(0, letters), no)) return false;
  c.out.host = word;
  c.take_exactly(at + 2);
  return true;
}

/// "[PG ID 2 PG GUID 3(tp:0) Rank 3] ", "[PG 0 (default_pg) Rank 20] ", "[PG 3 Rank 0] ", "[Rank 3] ", "[Rank
/// 0]: "
bool peel_group(Cursor& c) {
  if (!starts(c.rest, "[PG ") && !starts(c.rest, "[Rank ")) return false;
  const std::size_t close = c.rest.find(']');
  if (close == std::string_view::npos || close > 200) return false;
  std::string_view inside = c.rest.substr(1, close - 1);
  const std::size_t rank_at = inside.rfind("Rank ");
  if (rank_at == std::string_view::npos) return false;
  std::size_t at = rank_at + 5;
  const std::int64_t rank = number(inside, at);
  if (rank < 0) return false;
  c.out.group_rank = static_cast<int>(rank);
  if (rank_at > 3) {
    std::string_view group = inside.substr(3, rank_at - 4);
    if (const std::size_t guid = group.find("GUID "); guid != std::string_view::npos)
      group.remove_prefix(guid + 5);
    if (const std::size_t open = group.find('('); open != std::string_view::npos) {
      const std::size_t end = group.rfind(')');
      c.out.pg_name = group.substr(open + 1, (end == std::string_view::npos ? group.size() : end) - open - 1);
      group = group.substr(0, open);
    }
    while (!group.empty() && group.back() == ' ') group.remove_suffix(1);
    c.out.pg = group;
  }
  // The text keeps "[Rank R] …": patterns of old versions look for it.
  if (starts(c.rest, "[PG ")) c.take(close + 1);
  return starts(c.rest, "[PG ") ? true : rank_at > 3;
}

}  // namespace

Peeled peel(std::string_view line) {
  Peeled out;
  Cursor c{line, out};
  for (int depth = 0; depth < 8 && !c.rest.empty(); ++depth) {
    const char first = c.rest.front();
    bool taken = false;
    if (first == '[') {
      taken = peel_bracket(c);
      if (!taken) {
        peel_group(c);
        break;
      }
    } else if (first == '(') {
      taken = peel_ray(c);
    } else if (is_digit(first) || first == ' ') {
      taken = peel_bare_time(c) || peel_number(c);
      if (!taken && is_digit(first)) taken = peel_nccl(c);
    } else if (is_alpha(first)) {
      taken = peel_nccl(c) || peel_glog(c) || peel_syslog(c) || peel_file_name(c) || peel_word(c);
      if (!taken && out.dated && peel_host_kernel(c)) taken = true;
    } else if (first == '.' && starts(c.rest, ".. ")) {
      break;
    }
    if (!taken || out.nccl) break;
  }
  out.text = c.rest;
  out.stream = line.substr(0, line.size() - c.rest.size());
  return out;
}

int leading_rank(std::string_view text, std::string_view& after) {
  static constexpr std::array<std::string_view, 5> kWords = {"global_rank", "rank", "worker", "task",
                                                             "process"};
  std::string_view rest = text;
  bool bracket = false;
  // Loguru: "ERROR    | trainer:step:66 - rank=1 …" (behind the time)
  if (!rest.empty() && rest.front() >= 'A' && rest.front() <= 'Z') {
    const std::size_t bar = rest.substr(0, 12).find(" | ");
    const std::size_t dash = bar == std::string_view::npos ? bar : rest.substr(0, 120).find(" - ", bar);
    if (dash != std::string_view::npos) rest.remove_prefix(dash + 3);
  }
  for (int tags = 0; tags < 3; ++tags) {
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == '-')) rest.remove_prefix(1);
    bracket = !rest.empty() && rest.front() == '[';
    std::string_view word = bracket ? rest.substr(1) : rest;
    std::size_t letters = 0;
    while (letters < word.size() && (is_alpha(word[letters]) || word[letters] == '_')) ++letters;
    const std::string_view name = word.substr(0, letters);
    std::size_t at = letters;
    bool known = bracket && (name == "r" || name == "R");
    for (const std::string_view candidate : kWords) known = known || equals_ignoring_case(name, candidate);
    if (known) {
      while (at < word.size() && (word[at] == ' ' || word[at] == '=' || word[at] == '#' || word[at] == ':'))
        ++at;
      const std::size_t digits_at = at;
      const std::int64_t rank = number(word, at, 7);
      if (rank >= 0 && digits_at - letters <= 2) {
        const bool is_pid = word.substr(at, 9) == " of rank ";  // "process 27715 of rank 1"
        const bool ends = at >= word.size() || word[at] == ':' || word[at] == ' ' || word[at] == ']' ||
                          word[at] == ',' || word[at] == '/' || word[at] == '|' || word[at] == ')';
        if (ends && !is_pid) {
          after = word.substr(at);
          return static_cast<int>(rank);
        }
      }
    }
    // one tag may stand in front: "[batching] rank 2: …", "stream: rank 5 …", "| rank 3"
    if (bracket) {
      const std::size_t close = rest.find(']');
      if (close == std::string_view::npos || close > 40) return -1;
      rest.remove_prefix(close + 1);
    } else if (letters > 0 && letters < word.size() && letters < 24 && word[letters] == ':' &&
               letters + 1 < word.size() && word[letters + 1] == ' ') {
      rest.remove_prefix(letters + 2);
    } else if (!rest.empty() && rest.front() == '|') {
      rest.remove_prefix(1);
    } else {
      return -1;
    }
  }
  return -1;
}

}  // namespace ringside::backend
