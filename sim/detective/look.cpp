#include "sim/detective/look.hpp"

#include <algorithm>
#include <deque>
#include <map>

namespace ringside::sim {
namespace {

/// Missing in the newest round of heartbeats: the process does not answer.
constexpr std::int64_t kSilentNs = 1'000'000'000;

struct Watched {
  RankLook look;
  std::deque<std::int64_t> open;  // element counts of open calls
  std::int64_t last_seen = 0;
};

void apply(Watched& rank, const Event& e) {
  rank.last_seen = e.t;
  switch (e.type) {
    case EventType::PhaseBegin:
      rank.look.step = e.phase.step;
      rank.look.phase = e.phase.phase;
      break;
    case EventType::CollectiveEnqueued:
      ++rank.look.launched;
      rank.open.push_back(e.collective.count);
      break;
    case EventType::CollectiveFinished:
      ++rank.look.finished;
      if (!rank.open.empty()) rank.open.pop_front();
      break;
    case EventType::NanFound:
      if (rank.look.nan_step == 0) rank.look.nan_step = e.nan.step;
      break;
    case EventType::Exit:
    case EventType::Left:
      rank.look.exited = true;
      break;
    default:
      break;
  }
}

/// Ranks grouped by what they have in common, in the order of the keys.
template <class Key>
using Groups = std::map<Key, std::vector<int>>;

void add(std::vector<Finding>& out, FindingKind kind, std::vector<int> ranks, std::int64_t seq = 0,
         std::int64_t count = 0, std::string text = {}) {
  if (ranks.empty()) return;
  Finding finding;
  finding.kind = kind;
  finding.ranks = std::move(ranks);
  finding.seq = seq;
  finding.count = count;
  finding.text = std::move(text);
  out.push_back(std::move(finding));
}

std::vector<Finding> nan_check(const std::vector<RankLook>& looks) {
  Groups<std::int32_t> by_step;
  for (std::size_t r = 0; r < looks.size(); ++r)
    if (looks[r].nan_step > 0) by_step[looks[r].nan_step].push_back(static_cast<int>(r));
  std::vector<Finding> out;
  for (auto& [step, ranks] : by_step) add(out, FindingKind::NanIn, std::move(ranks), step);
  if (out.empty()) out.push_back({FindingKind::AllFinite, {}, -1, 0, 0, {}});
  return out;
}

std::vector<Finding> kernel_log(const Trace& trace, std::int64_t t) {
  std::vector<Finding> out;
  for (const std::uint32_t i : trace.order()) {
    const Event& e = trace.events()[i];
    if (e.t > t) break;
    if (e.type != EventType::LogLine || e.src_kind != Source::Kind::Node) continue;
    out.push_back({FindingKind::KernelLine, {}, e.src_id, 0, 0, trace.string(e.text.text)});
  }
  if (out.empty()) out.push_back({FindingKind::NoLine, {}, -1, 0, 0, {}});
  return out;
}

std::vector<Finding> ping(const std::vector<RankLook>& looks) {
  std::vector<int> answers, gone, silent;
  for (std::size_t r = 0; r < looks.size(); ++r)
    (looks[r].exited ? gone : looks[r].silent ? silent : answers).push_back(static_cast<int>(r));
  std::vector<Finding> out;
  add(out, FindingKind::NoProcess, std::move(gone));
  add(out, FindingKind::NoAnswer, std::move(silent));
  add(out, FindingKind::Answers, std::move(answers));
  return out;
}

/// RAS asks the processes that are left.
std::vector<Finding> counters(const std::vector<RankLook>& looks) {
  Groups<std::int64_t> by_count;
  std::vector<int> missing;
  for (std::size_t r = 0; r < looks.size(); ++r) {
    if (looks[r].exited || looks[r].silent) {
      missing.push_back(static_cast<int>(r));
    } else {
      by_count[looks[r].launched].push_back(static_cast<int>(r));
    }
  }
  std::vector<Finding> out;
  for (auto& [count, ranks] : by_count) add(out, FindingKind::Launched, std::move(ranks), count);
  add(out, FindingKind::NoAnswer, std::move(missing));
  return out;
}

/// A thread of its own writes the dump, also in a process whose program is stuck; a stopped or ended process
/// writes none.
std::vector<Finding> dump(const std::vector<RankLook>& looks) {
  Groups<std::pair<std::int64_t, std::int64_t>> open;
  Groups<std::int64_t> idle;
  std::vector<int> none;
  for (std::size_t r = 0; r < looks.size(); ++r) {
    const RankLook& look = looks[r];
    const int rank = static_cast<int>(r);
    if (look.exited || look.silent) {
      none.push_back(rank);
    } else if (look.open_count >= 0) {
      open[{look.finished + 1, look.open_count}].push_back(rank);
    } else {
      idle[look.finished].push_back(rank);
    }
  }
  std::vector<Finding> out;
  for (auto& [key, ranks] : open) add(out, FindingKind::OpenCall, std::move(ranks), key.first, key.second);
  for (auto& [seq, ranks] : idle) add(out, FindingKind::NoOpenCall, std::move(ranks), seq);
  add(out, FindingKind::NoAnswer, std::move(none));
  return out;
}

std::vector<Finding> stacks(const std::vector<RankLook>& looks, int first, int end) {
  std::vector<Finding> out;
  for (int r = first; r < std::min(end, static_cast<int>(looks.size())); ++r) {
    const RankLook& look = looks[static_cast<std::size_t>(r)];
    if (look.exited) {
      add(out, FindingKind::NoStack, {r}, 0, 0, "no such process");
    } else if (look.open_count >= 0 && !look.silent) {
      add(out, FindingKind::InCall, {r}, look.finished + 1, look.open_count, "all_reduce");
    } else {
      add(out, look.silent ? FindingKind::NoStack : FindingKind::InPhase, {r}, look.step, 0,
          std::string(to_word(look.phase)));
    }
  }
  return out;
}

}  // namespace

std::vector<RankLook> look_at(const Trace& trace, std::int64_t t) {
  std::vector<Watched> ranks(static_cast<std::size_t>(std::max(0, trace.header.world_size)));
  std::int64_t newest_beat = 0;
  for (const std::uint32_t i : trace.order()) {
    const Event& e = trace.events()[i];
    if (e.t > t) break;
    if (e.rank() < 0 || e.rank() >= static_cast<int>(ranks.size())) continue;
    apply(ranks[static_cast<std::size_t>(e.rank())], e);
    if (e.type == EventType::Heartbeat) newest_beat = e.t;
  }
  std::vector<RankLook> looks;
  for (Watched& rank : ranks) {
    if (!rank.open.empty()) rank.look.open_count = rank.open.front();
    rank.look.silent = !rank.look.exited && rank.last_seen < newest_beat - kSilentNs;
    looks.push_back(rank.look);
  }
  return looks;
}

std::vector<Finding> ask(const Trace& trace, Tool tool, int node, std::int64_t t) {
  if (tool == Tool::KernelLog) return kernel_log(trace, t);
  const std::vector<RankLook> looks = look_at(trace, t);
  const int per_node = trace.header.gpus_per_node;
  switch (tool) {
    case Tool::NanCheck:
      return nan_check(looks);
    case Tool::Ping:
      return ping(looks);
    case Tool::Counters:
      return counters(looks);
    case Tool::Dump:
      return dump(looks);
    default:
      return stacks(looks, node * per_node, (node + 1) * per_node);
  }
}

}  // namespace ringside::sim
