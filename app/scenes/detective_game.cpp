#include "app/scenes/detective_game.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include "sim/base/check.hpp"

namespace ringside::app {
namespace {

/// So few ranks are an exception, not the rule.
constexpr std::size_t kFewRanks = 8;

std::optional<int> small_number(std::string_view text, int end) {
  int value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size() || value < 0 || value >= end)
    return std::nullopt;
  return value;
}

std::optional<sim::Tool> tool_from(std::string_view word) {
  for (int i = 0; i < sim::kToolCount; ++i)
    if (sim::to_word(static_cast<sim::Tool>(i)) == word) return static_cast<sim::Tool>(i);
  return std::nullopt;
}

/// Cuts the next part off `text`, up to `separator`.
std::string_view next_part(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

bool same_but_ranks(const sim::Finding& a, const sim::Finding& b) {
  return a.kind == b.kind && a.node == b.node && a.seq == b.seq && a.count == b.count && a.text == b.text;
}

}  // namespace

DetectiveGame::DetectiveGame(sim::DetectiveCase made)
    : seed_(made.seed),
      progress_ns_(made.called_ns - sim::kAlarmNs),
      watchdog_ns_(made.job.stack.watchdog_ns),
      launcher_(sim::to_word(made.job.stack.launcher)),
      engine_(std::move(made)) {
  marks_.assign(static_cast<std::size_t>(engine_.nodes()), NodeMark::None);
  see();
  logs_before_ = logs_.size();
}

void DetectiveGame::see() {
  logs_before_ = logs_.size();
  dashboard_ = engine_.dashboard();
  logs_ = engine_.logs();
  watchdog_struck_ = std::any_of(logs_.begin(), logs_.end(), [](const sim::LogRow& row) {
    return row.text.find("Watchdog caught collective operation timeout") != std::string::npos;
  });
  std::map<std::pair<int, int>, int> seen;
  int most = 0;
  for (const sim::NodeTile& tile : dashboard_)
    if (const int n = ++seen[{tile.utilisation_percent, tile.power_w}]; n > most) {
      most = n;
      usual_ = tile;
    }
}

double DetectiveGame::gpu_hours_lost() const {
  return engine_.world_size() * static_cast<double>(stopped_for_ns()) / 3600e9;
}

std::int64_t DetectiveGame::watchdog_left_ns() const {
  return progress_ns_ + watchdog_ns_ - engine_.now();
}

DetectiveHint DetectiveGame::hint() const {
  if (watchdog_struck_) return DetectiveHint::Late;
  if (engine_.reports().empty()) return DetectiveHint::Begin;
  if (rank_ >= 0 || count(NodeMark::Suspect) > 0) return DetectiveHint::Decide;
  return something_stands_out() ? DetectiveHint::Follow : DetectiveHint::Deeper;
}

bool DetectiveGame::something_stands_out() const {
  if (!logs_.empty()) return true;
  const auto differs = [&](const sim::NodeTile& tile) {
    return tile.utilisation_percent != usual_.utilisation_percent || tile.power_w != usual_.power_w;
  };
  if (std::any_of(dashboard_.begin(), dashboard_.end(), differs)) return true;
  for (const sim::ToolReport& report : engine_.reports())
    for (const NotebookLine& line : notebook_lines(report))
      if (line.odd) return true;
  return false;
}

void DetectiveGame::look(sim::Tool tool) {
  RINGSIDE_CHECK(why_not(tool).empty());
  engine_.use(tool, tool == sim::Tool::Stacks ? node_ : -1);
  see();
}

std::string_view DetectiveGame::why_not(sim::Tool) const {
  return closed() ? "detective.tool.closed" : "";
}

bool DetectiveGame::used(sim::Tool tool) const {
  const auto& reports = engine_.reports();
  return std::any_of(reports.begin(), reports.end(), [&](const auto& r) {
    return r.tool == tool && (tool != sim::Tool::Stacks || r.node == node_);
  });
}

void DetectiveGame::choose_node(int node) {
  RINGSIDE_CHECK(node >= 0 && node < engine_.nodes());
  node_ = node;
  if (rank_ >= 0 && node_of(rank_) != node) rank_ = -1;
}

void DetectiveGame::choose_rank(int rank) {
  RINGSIDE_CHECK(rank >= -1 && rank < engine_.world_size());
  rank_ = rank;
  if (rank >= 0) node_ = node_of(rank);
  node_out_.reset();
}

void DetectiveGame::mark(int node, NodeMark mark) {
  NodeMark& now = marks_.at(static_cast<std::size_t>(node));
  const NodeMark after = now == mark ? NodeMark::None : mark;
  if (after == now) return;
  history_.resize(done_);
  history_.push_back({node, now, after});
  ++done_;
  now = after;
}

int DetectiveGame::count(NodeMark mark) const {
  return static_cast<int>(std::count(marks_.begin(), marks_.end(), mark));
}

bool DetectiveGame::undo(bool redo) {
  if (!can_undo(redo)) return false;
  const Marking& marking = redo ? history_[done_++] : history_[--done_];
  marks_[static_cast<std::size_t>(marking.node)] = redo ? marking.after : marking.before;
  node_ = marking.node;
  if (rank_ >= 0 && node_of(rank_) != node_) rank_ = -1;
  return true;
}

std::string_view DetectiveGame::missing() const {
  if (!kind) return "detective.name.no_kind";
  if (rank_ < 0) return "detective.name.no_rank";
  return "";
}

void DetectiveGame::close() {
  RINGSIDE_CHECK(missing().empty() && !closed());
  accusation_ = {*kind, rank_, node_out()};
  score_ = engine_.close(accusation_);
}

// --- as a text
// ---------------------------------------------------------------------------------------------------------

std::string DetectiveGame::to_text() const {
  std::string out = "seed:" + std::to_string(seed_), looks;
  for (const sim::ToolReport& report : engine_.reports()) {
    looks += (looks.empty() ? "" : "+") + std::string(sim::to_word(report.tool));
    if (report.node >= 0) looks += "/" + std::to_string(report.node);
  }
  if (!looks.empty()) out += ",do:" + looks;
  for (std::size_t node = 0; node < marks_.size(); ++node)
    if (marks_[node] != NodeMark::None)
      out += ",mark:" + std::to_string(node) + (marks_[node] == NodeMark::Suspect ? "/suspect" : "/cleared");
  out += ",node:" + std::to_string(node_);
  if (rank_ >= 0) out += ",rank:" + std::to_string(rank_);
  if (kind) out += ",kind:" + std::string(sim::to_word(*kind));
  if (node_out_) out += ",out:" + std::to_string(*node_out_);
  if (closed()) out += ",closed";
  return out;
}

bool DetectiveGame::replay(std::string_view text) {
  while (!text.empty()) {
    std::string_view part = next_part(text, ',');
    const std::string_view key = next_part(part, ':');
    if (!replay_part(key, part)) return false;
  }
  return true;
}

bool DetectiveGame::replay_part(std::string_view key, std::string_view value) {
  if (key == "seed") return value == std::to_string(seed_);
  if (key == "closed") {
    if (!value.empty() || closed() || !missing().empty()) return false;
    close();
    return true;
  }
  if (closed()) return false;
  if (key == "do") {
    constexpr int kMostLooks = 60;  // an hour of dumps: nobody plays on for so long
    for (int i = 0; !value.empty(); ++i) {
      std::string_view one = next_part(value, '+');
      const auto tool = tool_from(next_part(one, '/'));
      const auto node = small_number(one, engine_.nodes());
      if (!tool || i >= kMostLooks || (*tool == sim::Tool::Stacks) != node.has_value()) return false;
      if (node) choose_node(*node);
      look(*tool);
    }
    return true;
  }
  if (key == "mark") {
    const auto node = small_number(next_part(value, '/'), engine_.nodes());
    if (!node || (value != "suspect" && value != "cleared")) return false;
    mark(*node, value == "suspect" ? NodeMark::Suspect : NodeMark::Cleared);
    return true;
  }
  if (key == "kind") {
    const auto chosen = sim::diagnosis_kind_from(value);
    const auto& kinds = sim::detective_kinds();
    if (!chosen || std::find(kinds.begin(), kinds.end(), *chosen) == kinds.end()) return false;
    kind = chosen;
    return true;
  }
  const auto number = small_number(value, key == "rank" ? engine_.world_size() : engine_.nodes());
  if (!number) return false;
  if (key == "node")
    choose_node(*number);
  else if (key == "rank")
    choose_rank(*number);
  else if (key == "out")
    choose_node_out(*number);
  else
    return false;
  return true;
}

std::optional<std::uint64_t> detective_seed(std::string_view text) {
  if (!text.starts_with("seed:")) return std::nullopt;
  text.remove_prefix(5);
  const auto seed = small_number(next_part(text, ','), static_cast<int>(kMostDetectiveSeed) + 1);
  if (!seed) return std::nullopt;
  return static_cast<std::uint64_t>(*seed);
}

// --- the notebook
// ------------------------------------------------------------------------------------------------------

std::vector<NotebookLine> notebook_lines(const sim::ToolReport& report) {
  std::vector<NotebookLine> lines;
  for (const sim::Finding& finding : report.findings) {
    const auto same = std::find_if(lines.begin(), lines.end(), [&](const NotebookLine& line) {
      return !finding.ranks.empty() && same_but_ranks(line.finding, finding);
    });
    if (same == lines.end()) {
      lines.push_back({finding});
    } else {
      auto& ranks = same->finding.ranks;
      ranks.insert(ranks.end(), finding.ranks.begin(), finding.ranks.end());
    }
  }
  std::size_t most = 0;
  for (const NotebookLine& line : lines) most = std::max(most, line.finding.ranks.size());
  for (NotebookLine& line : lines) {
    const std::size_t ranks = line.finding.ranks.size();
    line.odd = line.finding.kind == sim::FindingKind::KernelLine ||
               line.finding.kind == sim::FindingKind::NanIn ||
               (ranks > 0 && ranks <= kFewRanks && ranks < most);
  }
  return lines;
}

std::string rank_ranges(const std::vector<int>& ranks, std::size_t most, int& left) {
  std::string out;
  std::size_t ranges = 0, i = 0;
  for (; i < ranks.size() && ranges < most; ++ranges) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    out += (out.empty() ? "R" : ", R") + std::to_string(ranks[i]);
    if (end - i == 2) out += ", R" + std::to_string(ranks[end - 1]);
    if (end - i > 2) out += "-R" + std::to_string(ranks[end - 1]);
    i = end;
  }
  left = static_cast<int>(ranks.size() - i);
  return out;
}

}  // namespace ringside::app
