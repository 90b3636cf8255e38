#include "backend/import/watchdog.hpp"

#include <algorithm>
#include <tuple>

#include "backend/import/timestamps.hpp"

namespace ringside::backend {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;

/// Who speaks, as far as prefixes tell: the global rank, or the group rank of a log without them.
using Speaker = std::tuple<int, int, std::uint32_t>;
Speaker speaker_of(const Case& c, const Fact& fact) {
  const int rank = c.rank(fact);
  return {rank, rank < 0 ? fact.who.group_rank : -1, 0};
}

/// The watchdog line itself has no group; the status line of the same rank and call has.
struct GroupOfCall {
  std::map<std::pair<Speaker, std::int64_t>, std::pair<std::string, std::string>> exact;
  std::map<Speaker, std::pair<std::string, std::string>> any;
};

GroupOfCall groups_by_call(const Case& c) {
  GroupOfCall result;
  for (const FactKind kind : {FactKind::WatchdogStatus, FactKind::WatchdogError, FactKind::WatchdogTimeout})
    for (const Fact* fact : c.of(kind)) {
      if (fact->pg.empty()) continue;
      const Speaker speaker = speaker_of(c, *fact);
      if (fact->seq >= 0) result.exact.try_emplace({speaker, fact->seq}, fact->pg, fact->pg_name);
      result.any.try_emplace(speaker, fact->pg, fact->pg_name);
    }
  return result;
}

void learn_size(WatchedGroup& group, const StuckCall& call) {
  if (call.numel_in <= 0 || call.numel_out <= 0) return;
  std::int64_t ratio = 0;
  if (call.op == "_ALLGATHER_BASE" || call.op == "ALLGATHER")
    ratio = call.numel_out % call.numel_in == 0 ? call.numel_out / call.numel_in : 0;
  if (call.op == "_REDUCE_SCATTER_BASE" || call.op == "REDUCE_SCATTER")
    ratio = call.numel_in % call.numel_out == 0 ? call.numel_in / call.numel_out : 0;
  if (ratio > 1) group.size = std::max(group.size, ratio);
}

bool is_whole_job(const Case& c, const WatchedGroup& group) {
  if (group.name == "default_pg") return true;
  if (group.size > 0 && c.world() > 0 && group.size < c.world()) return false;
  if (group.key.empty()) return true;
  if (!group.name.empty()) return false;
  // A number only: the whole job if ranks inside and outside agree and go beyond what a subgroup would have.
  bool same = true;
  for (const auto& [inside, outside] : group.global_of) same = same && inside == outside;
  return same && (group.global_of.empty() || group.key == "0" ||
                  static_cast<std::int64_t>(group.waiting.size()) * 2 >= c.world());
}

}  // namespace

int WatchedGroup::to_global(int group_rank) const {
  if (const auto found = global_of.find(group_rank); found != global_of.end()) return found->second;
  if (whole_job) return group_rank;
  if (global_of.size() < 2) return -1;
  const auto [g0, r0] = *global_of.begin();
  const auto [g1, r1] = *global_of.rbegin();
  if ((r1 - r0) % (g1 - g0) != 0) return -1;
  const int stride = (r1 - r0) / (g1 - g0);
  for (const auto& [g, r] : global_of)
    if (r != r0 + (g - g0) * stride) return -1;
  const int rank = r0 + (group_rank - g0) * stride;
  return rank >= 0 ? rank : -1;
}

std::vector<int> WatchedGroup::members() const {
  std::vector<int> ranks;
  for (std::int64_t inside = 0; inside < size && inside < 65'536; ++inside) {
    const int rank = to_global(static_cast<int>(inside));
    if (rank < 0) return {};
    ranks.push_back(rank);
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

std::vector<WatchedGroup> watched_groups(const Case& c) {
  std::map<std::string, WatchedGroup> groups;
  const GroupOfCall lookup = groups_by_call(c);
  const auto group_of = [&](const Fact& fact) -> WatchedGroup& {
    std::string key = fact.pg;
    std::string name = fact.pg_name;
    if (key.empty()) {
      const Speaker speaker = speaker_of(c, fact);
      const auto exact = lookup.exact.find({speaker, fact.seq});
      if (exact != lookup.exact.end()) {
        std::tie(key, name) = exact->second;
      } else if (const auto any = lookup.any.find(speaker); any != lookup.any.end()) {
        std::tie(key, name) = any->second;
      }
    }
    WatchedGroup& group = groups[key];
    group.key = key;
    if (group.name.empty()) group.name = name;
    return group;
  };
  for (const Fact* fact : c.of(FactKind::WatchdogTimeout)) {
    if (fact->op.empty() && fact->seq < 0) continue;
    WatchedGroup& group = group_of(*fact);
    int rank = c.rank(*fact);
    if (rank >= 0 && fact->who.group_rank >= 0) group.global_of.try_emplace(fact->who.group_rank, rank);
    if (rank < 0) rank = fact->who.group_rank;
    if (rank < 0) continue;
    StuckCall call{fact, fact->seq, fact->op, fact->numel_in, fact->numel_out};
    const auto [found, fresh] = group.waiting.try_emplace(rank, call);
    if (!fresh && call.seq >= 0 && call.seq < found->second.seq) found->second = call;
    learn_size(group, call);
    if (fact->t_ns >= 0 && fact->value > 0) {
      const std::int64_t began = fact->t_ns - fact->value * kNsPerMs;
      if (group.started_ns < 0 || began < group.started_ns) group.started_ns = began;
    }
  }
  for (const FactKind kind : {FactKind::WatchdogStatus, FactKind::DumpNotice})
    for (const Fact* fact : c.of(kind)) {
      if (fact->enqueued < 0) continue;
      WatchedGroup& group = group_of(*fact);
      int rank = c.rank(*fact);
      if (rank >= 0 && fact->who.group_rank >= 0) group.global_of.try_emplace(fact->who.group_rank, rank);
      if (rank < 0) rank = fact->who.group_rank;
      if (rank >= 0) group.enqueued[rank] = std::max(group.enqueued[rank], fact->enqueued);
    }
  for (const FactKind kind : {FactKind::DesyncLagging, FactKind::DesyncNever})
    for (const Fact* fact : c.of(kind)) {
      WatchedGroup& group = group_of(*fact);
      group.desync.push_back(fact);
      if (const int rank = c.rank(*fact); rank >= 0 && fact->who.group_rank >= 0)
        group.global_of.try_emplace(fact->who.group_rank, rank);
    }
  for (const Fact* fact : c.of(FactKind::DesyncState)) {
    WatchedGroup& group = group_of(*fact);
    for (const int rank : fact->named) group.size = std::max<std::int64_t>(group.size, rank + 1);
  }
  std::vector<WatchedGroup> result;
  for (auto& [key, group] : groups) {
    if (group.waiting.empty() && group.desync.empty()) continue;
    group.whole_job = is_whole_job(c, group);
    if (group.whole_job) group.size = std::max(group.size, c.world());
    result.push_back(std::move(group));
  }
  // Groups of one kind have one size; a group has at least as many members as its highest rank inside says.
  std::map<std::string, std::int64_t> size_of_kind;
  for (WatchedGroup& group : result) {
    if (!group.global_of.empty())
      group.size = std::max<std::int64_t>(group.size, group.global_of.rbegin()->first + 1);
    if (!group.name.empty()) {
      std::int64_t& size = size_of_kind[group.name];
      size = std::max(size, group.size);
    }
  }
  for (WatchedGroup& group : result)
    if (!group.name.empty()) group.size = std::max(group.size, size_of_kind[group.name]);
  std::stable_sort(result.begin(), result.end(), [](const WatchedGroup& a, const WatchedGroup& b) {
    if ((a.started_ns < 0) != (b.started_ns < 0)) return a.started_ns >= 0;
    return a.started_ns < b.started_ns;
  });
  return result;
}

}  // namespace ringside::backend
