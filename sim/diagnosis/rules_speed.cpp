// Slow, but not dead. Blame a rank only if it is the slowest of all in most steps.
#include <algorithm>

#include "sim/diagnosis/rules.hpp"

namespace ringside::sim {
namespace {

// Above this ratio to the median nothing ordinary explains the difference (jitter is a few per cent).
constexpr std::int64_t kStragglerPercent = 130;
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
    const std::int64_t middle = world == 2 ? std::min(now[0], now[1]) : median(now);
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

}  // namespace ringside::sim
