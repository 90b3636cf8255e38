// Slow, but not dead. Blame a rank only if it is the slowest of all in most steps, a link only against its
// own kind.
#include <algorithm>
#include <map>
#include <tuple>

#include "sim/diagnosis/rules.hpp"

namespace ringside::sim {
namespace {

std::int64_t median(std::vector<std::int64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// On a real machine a transfer also waits for its process to be scheduled: below this, and of fewer
// transfers, nothing is said.
constexpr std::int64_t kScheduleNs = 1'000'000;
constexpr std::size_t kLeastTransfers = 8;
constexpr std::uint32_t kLeastBytes = 64 * 1024;

/// A late receiver makes some transfers of a good link look long; the shortest one is the link's own.
std::int64_t fastest(const std::vector<std::int64_t>& values) {
  return *std::min_element(values.begin(), values.end());
}

// Above these ratios to the median nothing ordinary explains the difference (jitter is a few per cent).
constexpr std::int64_t kStragglerPercent = 130;
constexpr std::int64_t kLinkPercent = 300;
// A machine shared with others may hold a process up for some tens of milliseconds.
constexpr std::int64_t kNoiseNs = 100'000'000;

}  // namespace

Verdict rule_straggler(const Case& c) {
  const int world = c.survey.world();
  if (world < 2) return std::nullopt;
  std::size_t steps = SIZE_MAX;
  for (const RankSurvey& rank : c.survey.ranks) steps = std::min(steps, rank.compute_ns.size());
  if (steps != SIZE_MAX && steps > 0 && c.survey.patience > 0) --steps;  // the last one may still be going on
  if (steps == SIZE_MAX || steps == 0) return std::nullopt;
  std::vector<std::int64_t> slow_steps(static_cast<std::size_t>(world)), extra(slow_steps.size());
  std::vector<std::int64_t> now(slow_steps.size());
  std::int64_t counted = 0;
  for (std::size_t s = 0; s < steps; ++s) {
    for (std::size_t r = 0; r < now.size(); ++r) now[r] = c.survey.ranks[r].compute_ns[s];
    const std::int64_t middle = median(now);
    if (middle <= 0) continue;
    ++counted;
    const auto slowest = std::max_element(now.begin(), now.end());
    if (*slowest * 100 < middle * kStragglerPercent) continue;
    const auto who = static_cast<std::size_t>(slowest - now.begin());
    ++slow_steps[who];
    extra[who] += *slowest - middle;
  }
  const auto worst = std::max_element(slow_steps.begin(), slow_steps.end());
  if (counted == 0 || *worst == 0) return std::nullopt;
  // Slow in most steps, or, alone among all, by so much that no scheduler explains it. Else the slowest one
  // changes: load, not a rank.
  const bool alone =
      std::count_if(slow_steps.begin(), slow_steps.end(), [](std::int64_t n) { return n > 0; }) == 1;
  const std::int64_t cost = extra[static_cast<std::size_t>(worst - slow_steps.begin())];
  const bool measured = c.trace.header.clock != "virtual";
  const bool mostly = *worst * 2 >= counted && (!measured || cost >= kNoiseNs / 10);
  if (!mostly && !(alone && cost >= kNoiseNs)) return std::nullopt;
  const int rank = static_cast<int>(worst - slow_steps.begin());
  const RankSurvey& who = c.survey.ranks[static_cast<std::size_t>(rank)];
  Diagnosis d = blame_rank(c, DiagnosisKind::Straggler, rank, who.last_event,
                           rank_name(rank) + " was the slowest in " + std::to_string(*worst) + " of " +
                               std::to_string(counted) + " steps; the others waited for it in each.");
  d.first_cause.t_ns.reset();
  if (world == 2)
    return undecided(c, DiagnosisKind::Straggler, {0, 1}, who.last_event, d.first_cause.what,
                     "with two ranks there is no median to compare with");
  if (*worst * 2 < counted) d.confidence = Confidence::Likely;
  return d;
}

Verdict rule_link_slow(const Case& c) {
  const bool measured = c.trace.header.clock != "virtual";
  // ns per transfer of each directed link, apart for links within a node and between nodes, at equal bytes.
  std::map<std::tuple<int, int, std::uint32_t>, std::vector<std::int64_t>> took;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, int>, std::uint32_t> begun;
  for (std::uint32_t i = 0; i < c.trace.size(); ++i) {
    const Event& e = c.trace.events()[i];
    if (!c.seen(e)) continue;
    if (e.type == EventType::RingStepBegin) begun[{e.ring.coll, e.ring.step, e.ring.chunk, e.src_id}] = i;
    if (e.type != EventType::RingStepEnd) continue;
    const auto found = begun.find({e.ring.coll, e.ring.step, e.ring.chunk, e.ring.peer});
    if (found == begun.end()) continue;
    took[{e.ring.peer, e.src_id, e.aux32}].push_back(e.t - c.trace.events()[found->second].t);
    begun.erase(found);
  }
  std::map<std::pair<bool, std::uint32_t>, std::vector<std::int64_t>> by_class;
  const auto within = [&](int a, int b) { return c.survey.node_of(a) == c.survey.node_of(b); };
  for (const auto& [link, times] : took) {
    const auto [from, to, bytes] = link;
    by_class[{within(from, to), bytes}].push_back(fastest(times));
  }
  for (const auto& [link, times] : took) {
    const auto [from, to, bytes] = link;
    const auto& others = by_class[{within(from, to), bytes}];
    const std::int64_t usual = median(others), here = fastest(times);
    if (others.size() < 3 || usual <= 0 || here * 100 < usual * kLinkPercent) continue;
    const bool too_little =
        bytes < kLeastBytes || times.size() < kLeastTransfers || here - usual < kScheduleNs;
    if (measured && too_little) continue;
    // In the middle of a collective a receiver that has not come yet makes up to world - 1 sends look long.
    if (c.survey.patience > 0 && times.size() < c.survey.ranks.size()) continue;
    const std::uint32_t event = c.survey.ranks[static_cast<std::size_t>(to)].last_event;
    Diagnosis d =
        undecided(c, DiagnosisKind::LinkSlow, {from, to}, event,
                  "The link " + rank_name(from) + " to " + rank_name(to) + " takes " +
                      std::to_string(here / std::max<std::int64_t>(1, usual)) + " times as long as its like.",
                  "a slow link has two ends; the trace shows the link, not which end");
    d.confidence = Confidence::Likely;
    return d;
  }
  return std::nullopt;
}

}  // namespace ringside::sim
