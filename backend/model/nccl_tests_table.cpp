#include "backend/model/nccl_tests_table.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace ringside::backend {
namespace {

constexpr std::size_t kMaxRows = 100'000;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 50;
constexpr double kMaxTimeUs = 1e13;
constexpr std::int32_t kMaxCount = 1 << 20;

template <class T>
std::optional<T> number(std::string_view word) {
  T value{};
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (problem != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::string_view trim(std::string_view text) {
  const auto space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view line, std::string_view separators) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while (at < line.size()) {
    const std::size_t begin = line.find_first_not_of(separators, at);
    if (begin == std::string_view::npos) break;
    at = std::min(line.find_first_of(separators, begin), line.size());
    words.push_back(line.substr(begin, at - begin));
  }
  return words;
}

/// What mpirun and friends put before a line: "[1,0]<stdout>:", "worker-0: " is left to the row finder.
std::string_view without_prefix(std::string_view line) {
  line = trim(line);
  if (const std::size_t at = line.find("<stdout>:"); at != std::string_view::npos && at < 40)
    line = trim(line.substr(at + 9));
  return line;
}

/// "key=12" or "key = 12" anywhere in the line.
std::optional<std::int32_t> labelled(std::string_view line, std::string_view key) {
  for (std::size_t at = line.find(key); at != std::string_view::npos; at = line.find(key, at + 1)) {
    if (at > 0 && (std::isalnum(static_cast<unsigned char>(line[at - 1])) != 0 || line[at - 1] == '_'))
      continue;
    const std::string_view rest = trim(line.substr(at + key.size()));
    if (rest.empty() || rest[0] != '=') continue;
    const std::string_view value = trim(rest.substr(1));
    const auto found = number<std::int32_t>(value.substr(0, value.find_first_not_of("0123456789")));
    if (found && *found >= 1 && *found <= kMaxCount) return found;
  }
  return std::nullopt;
}

struct RawRow {
  std::int64_t bytes = 0;
  double time = 0;
  double algbw = 0;
};

class Reader {
 public:
  void line(std::string_view text) {
    const std::string_view line = without_prefix(text);
    if (line.empty()) return;
    if (header(line)) return;
    if (line.find(',') != std::string_view::npos && csv_row(line)) return;
    plain_row(line);
  }

  MeasuredTable finish() {
    const double scale = times_are_milliseconds() ? 1000 : 1;
    std::map<std::int64_t, std::vector<double>> by_size;
    for (const RawRow& row : rows_) by_size[row.bytes].push_back(row.time * scale);
    for (auto& [bytes, times] : by_size) {
      std::sort(times.begin(), times.end());
      table_.rows.push_back({bytes, times[times.size() / 2]});
    }
    const auto hosts = static_cast<std::int32_t>(hosts_.size());
    const auto ranks = static_cast<std::int32_t>(ranks_.size());
    if (table_.nodes == 0 && hosts > 0) table_.nodes = hosts;
    if (table_.gpus_per_node == 0 && hosts > 0 && ranks >= hosts) table_.gpus_per_node = ranks / hosts;
    return std::move(table_);
  }

  bool full() const { return rows_.size() > kMaxRows; }
  bool empty() const { return rows_.empty(); }

 private:
  bool header(std::string_view line) {
    for (const std::string_view word :
         {"all_reduce", "reduce_scatter", "all_gather", "broadcast", "alltoall"}) {
      if (line.find(std::string(word) + "_perf") == std::string_view::npos) continue;
      table_.collective = *sim::collective_from(word == "alltoall" ? "all_to_all" : word);
    }
    if (line.find("(us)") != std::string_view::npos) says_us_ = true;
    const std::size_t rank_at = line.find("Rank ");
    const bool comment = line[0] == '#';
    if (rank_at != std::string_view::npos && (comment || rank_at < 16))
      return rank_line(line.substr(rank_at));
    if (!comment) return false;
    if (const auto nodes = labelled(line, "nodes")) table_.nodes = *nodes;
    if (const auto gpus = labelled(line, "gpus_per_node")) table_.gpus_per_node = *gpus;
    if (const std::size_t at = line.find("verdict="); at != std::string_view::npos)
      table_.verdict = std::string(trim(line.substr(at + 8, line.find('|', at) - at - 8)));
    return true;
  }

  /// "Rank  0 Group  0 Pid 12 on host device 0 [0x07] NVIDIA H100": the nodes are the distinct hosts.
  bool rank_line(std::string_view line) {
    const auto words = split(line, " \t");
    const auto on = std::find(words.begin(), words.end(), "on");
    if (words.size() < 2 || on == words.end() || on + 1 == words.end()) return true;
    if (ranks_.size() > static_cast<std::size_t>(kMaxCount)) return true;
    ranks_.insert(std::string(words[1]));
    hosts_.insert(std::string(*(on + 1)));
    return true;
  }

  bool csv_row(std::string_view line) {
    const auto words = split(line, ", \t");
    const auto bytes = words.size() < 2 ? std::nullopt : number<std::int64_t>(words[0]);
    const auto time = words.size() < 2 ? std::nullopt : number<double>(words[1]);
    if (!bytes || !time) return false;
    says_us_ = true;
    add(*bytes, *time, 0);
    return true;
  }

  /// size count type [redop] [root] then time algbw busbw [#wrong], once or twice.
  void plain_row(std::string_view line) {
    const auto words = split(line, " \t|");
    // A launcher may have put a name before the row: the row begins where two integers and a type follow each
    // other.
    for (std::size_t i = 0; i + 5 < words.size() && i < 3; ++i) {
      const auto bytes = number<std::int64_t>(words[i]);
      const auto count = number<std::int64_t>(words[i + 1]);
      if (!bytes || !count || std::isalpha(static_cast<unsigned char>(words[i + 2][0])) == 0) continue;
      std::size_t at = i + 3;
      while (at < words.size() && std::isalpha(static_cast<unsigned char>(words[at][0])) != 0 &&
             words[at] != "N/A")
        ++at;
      const std::size_t left = words.size() - at;
      // One result is 3 or 4 words, two are 6 or 8; one more is the root.
      if (left == 5 || left == 9 || (left == 7 && number<std::int64_t>(words[at]))) ++at;
      if (at + 2 >= words.size()) return;
      const auto time = number<double>(words[at]), algbw = number<double>(words[at + 1]);
      if (time && algbw) add(*bytes, *time, *algbw);
      return;
    }
  }

  void add(std::int64_t bytes, double time, double algbw) {
    if (bytes < 1 || bytes > kMaxBytes || !(time > 0) || time > kMaxTimeUs) return;
    rows_.push_back({bytes, time, algbw});
  }

  /// Output of the NCCL 2.4 era gives milliseconds without saying so; the bandwidth beside it tells.
  bool times_are_milliseconds() const {
    if (says_us_) return false;
    int ms = 0, us = 0;
    for (const RawRow& row : rows_) {
      if (row.algbw < 0.1) continue;
      const double microseconds = static_cast<double>(row.bytes) / (1000 * row.algbw);
      (microseconds < 30 * row.time ? us : ms) += 1;
    }
    return ms > us;
  }

  MeasuredTable table_;
  std::vector<RawRow> rows_;
  std::set<std::string> hosts_, ranks_;
  bool says_us_ = false;
};

/// nccl-tests' -J: somewhere an array of objects with "size" and "out_of_place" {"time"}.
void collect_json(const nlohmann::json& node, int depth, MeasuredTable& table,
                  std::map<std::int64_t, std::vector<double>>& by_size) {
  if (depth > 12 || by_size.size() > kMaxRows) return;
  if (node.is_array()) {
    for (const auto& item : node) collect_json(item, depth + 1, table, by_size);
    return;
  }
  if (!node.is_object()) return;
  const auto size = node.find("size"), place = node.find("out_of_place");
  if (size != node.end() && place != node.end() && size->is_number_integer() && place->is_object()) {
    const auto time = place->find("time");
    const std::int64_t bytes = size->get<std::int64_t>();
    if (time != place->end() && time->is_number() && bytes >= 1 && bytes <= kMaxBytes &&
        time->get<double>() > 0)
      by_size[bytes].push_back(time->get<double>());
    return;
  }
  for (const auto& [key, value] : node.items()) {
    if (value.is_number_integer()) {
      const std::int64_t count = value.get<std::int64_t>();
      if (count < 1 || count > kMaxCount) continue;
      if (key == "nodes") table.nodes = static_cast<std::int32_t>(count);
      if (key == "gpus_per_node") table.gpus_per_node = static_cast<std::int32_t>(count);
    }
    collect_json(value, depth + 1, table, by_size);
  }
}

sim::Error no_rows(std::string_view file_name) {
  sim::Error error;
  error.what = "no nccl-tests rows found";
  error.file = file_name;
  error.legal = "the output of all_reduce_perf, its JSON, or CSV with size_bytes,time_us";
  return error;
}

sim::Result<MeasuredTable> read_json(std::string_view text, std::string_view file_name) {
  const auto root = nlohmann::json::parse(text, nullptr, false);
  if (root.is_discarded()) return no_rows(file_name);
  MeasuredTable table;
  std::map<std::int64_t, std::vector<double>> by_size;
  collect_json(root, 0, table, by_size);
  for (auto& [bytes, times] : by_size) {
    std::sort(times.begin(), times.end());
    table.rows.push_back({bytes, times[times.size() / 2]});
  }
  if (table.rows.empty()) return no_rows(file_name);
  return table;
}

/// JSON nested deeper than any table would exhaust the stack of a recursive parser.
bool nests_too_deep(std::string_view text) {
  int depth = 0;
  for (const char c : text) {
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > 64) return true;
  }
  return false;
}

}  // namespace

sim::Result<MeasuredTable> read_nccl_tests(std::string_view text, std::string_view file_name) {
  const std::string_view begin = trim(text.substr(0, 4096));
  if (!begin.empty() && begin[0] == '{' && !nests_too_deep(text)) return read_json(text, file_name);
  Reader reader;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    reader.line(text.substr(0, end).substr(0, 4096));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!reader.full()) continue;
    sim::Error error;
    error.what = "more rows than any nccl-tests table";
    error.file = file_name;
    error.legal = "at most 100,000 rows";
    return error;
  }
  if (reader.empty()) return no_rows(file_name);
  return reader.finish();
}

}  // namespace ringside::backend
