#include "sim/detective/detective.hpp"

#include <algorithm>
#include <array>

#include "sim/base/check.hpp"
#include "sim/detective/look.hpp"
#include "sim/diagnosis/from_trace.hpp"

namespace ringside::sim {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000, kMinute = 60 * kSecond;

struct ToolRow {
  std::string_view word;
  std::int64_t cost_ns;
};
// In the order of the enum. A look at a metric takes seconds, a search through 64 kernel logs half a minute,
// attaching a debugger to eight processes minutes.
constexpr std::array<ToolRow, kToolCount> kTools{{{"nan_check", 10 * kSecond},
                                                  {"kernel_log", 30 * kSecond},
                                                  {"ping", 1 * kMinute},
                                                  {"counters", 1 * kMinute},
                                                  {"dump", 3 * kMinute},
                                                  {"stacks", 2 * kMinute}}};

int utilisation(const RankLook& look) {
  if (look.exited || look.silent) return 0;
  return look.open_count >= 0 ? 100 : 97;
}
int power(const RankLook& look) {
  if (look.exited || look.silent) return 70;
  return look.open_count >= 0 ? 118 : 640;
}

double gpu_hours(int gpus, std::int64_t ns) {
  return static_cast<double>(gpus) * static_cast<double>(ns) / (3600.0 * 1e9);
}

std::optional<std::int64_t> first_watchdog(const Trace& trace) {
  for (const std::uint32_t i : trace.order())
    if (trace.events()[i].type == EventType::WatchdogExpired) return trace.events()[i].t;
  return std::nullopt;
}

}  // namespace

std::int64_t cost_ns(Tool tool) {
  return kTools.at(static_cast<std::size_t>(tool)).cost_ns;
}

std::string_view to_word(Tool tool) {
  return kTools.at(static_cast<std::size_t>(tool)).word;
}

Detective::Detective(DetectiveCase game) : game_(std::move(game)), now_(game_.called_ns) {}

std::vector<NodeTile> Detective::dashboard() const {
  const std::vector<RankLook> looks = look_at(game_.run->trace, now_);
  std::vector<NodeTile> tiles(static_cast<std::size_t>(nodes()));
  for (std::size_t r = 0; r < looks.size(); ++r) {
    NodeTile& tile = tiles[r / static_cast<std::size_t>(gpus_per_node())];
    tile.utilisation_percent += utilisation(looks[r]);
    tile.power_w += power(looks[r]);
  }
  for (NodeTile& tile : tiles) {
    tile.utilisation_percent /= gpus_per_node();
    tile.power_w /= gpus_per_node();
  }
  return tiles;
}

std::vector<LogRow> Detective::logs() const {
  const Trace& trace = game_.run->trace;
  std::vector<LogRow> rows;
  for (const std::uint32_t i : trace.order()) {
    const Event& e = trace.events()[i];
    if (e.t > now_) break;
    const bool shown = e.src_kind == Source::Kind::Rank || e.src_kind == Source::Kind::Launcher;
    if (e.type == EventType::LogLine && shown) rows.push_back({e.t, e.rank(), trace.string(e.text.text)});
  }
  return rows;
}

const ToolReport& Detective::use(Tool tool, int node) {
  RINGSIDE_CHECK(!closed());
  RINGSIDE_CHECK(tool != Tool::Stacks || (node >= 0 && node < nodes()));
  now_ += cost_ns(tool);
  tools_ns_ += cost_ns(tool);
  reports_.push_back({tool, tool == Tool::Stacks ? node : -1, now_, ask(game_.run->trace, tool, node, now_)});
  return reports_.back();
}

Score Detective::close(const Accusation& accusation) {
  RINGSIDE_CHECK(!closed());
  const Trace& trace = game_.run->trace;
  const Fault& fault = game_.job.faults.front();
  story_ = {fault, game_.struck_ns, game_.called_ns, now_, first_watchdog(trace), diagnose(trace)};
  Score score;
  score.kind_right = accusation.kind == story_.diagnosis.kind;
  score.rank_right = accusation.rank == fault.rank;
  score.node_right = accusation.node == fault.rank / gpus_per_node();
  score.minutes = static_cast<int>((tools_ns_ + kMinute - 1) / kMinute);
  int points = (score.kind_right ? kKindPoints : 0) + (score.rank_right ? kRankPoints : 0) +
               (score.node_right ? kNodePoints : 0);
  points -= score.minutes_cost();
  if (!score.node_right && accusation.node >= 0) points -= kInnocentCost;
  score.points = std::max(0, points);
  score.gpu_hours = gpu_hours(world_size(), now_ - game_.struck_ns);
  score.least_gpu_hours = gpu_hours(world_size(), game_.called_ns - game_.struck_ns);
  score_ = score;
  return score;
}

const Story& Detective::story() const {
  RINGSIDE_CHECK(closed());
  return story_;
}

const Simulation& Detective::replay() const {
  RINGSIDE_CHECK(closed());
  return *game_.run;
}

const Scenario& Detective::replay_job() const {
  RINGSIDE_CHECK(closed());
  return game_.job;
}

}  // namespace ringside::sim
