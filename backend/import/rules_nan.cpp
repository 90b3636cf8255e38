// Rules on NaN and infinity: found before communication they name their source, in reduced values they name
// nobody.
#include <algorithm>
#include <map>

#include "backend/import/rules.hpp"

namespace ringside::backend::rules {
namespace {

using sim::Confidence;
using sim::DiagnosisKind;

/// The same author printed finite losses again: a batch that gave NaN, a loss scale that settled, an
/// evaluation without samples.
bool recovered(const Case& c, const Fact& fact) {
  constexpr std::int64_t kTimes = 3;
  return std::any_of(c.of(FactKind::LossFinite).begin(), c.of(FactKind::LossFinite).end(),
                     [&](const Fact* later) {
                       return later->file == fact.file &&
                              (later->who.rank == fact.who.rank || fact.kind == FactKind::Overflow) &&
                              later->line > fact.line && later->value >= kTimes;
                     });
}

}  // namespace

/// NaN found in local values, before they were mixed with those of other ranks: the rank that found it made
/// it.
std::optional<Finding> nan_before_communication(const Case& c) {
  const auto& facts = c.of(FactKind::NanLocal);
  if (facts.empty()) return std::nullopt;
  std::map<int, const Fact*> ranks;
  for (const Fact* fact : facts)
    if (const int rank = attribute(c, *fact); rank >= 0) ranks.try_emplace(rank, fact);
  Finding finding;
  finding.rule = "nan_before_communication";
  finding.kind = DiagnosisKind::Nan;
  finding.evidence = facts;
  finding.why =
      "The check looks at local values before any communication, so no other rank can have brought the NaN "
      "in; ranks that lose the connection to it are victims.";
  if (ranks.empty() || (ranks.size() > 1 && static_cast<std::int64_t>(ranks.size()) * 2 > c.world())) {
    finding.confidence = Confidence::Unknown;
    finding.what =
        "NaN or infinity was found in local values" + std::string(ranks.empty() ? "" : " on many ranks");
    if (!ranks.empty())
      finding.why =
          "Most ranks report it in the same step, so it was already in the weights or came through an "
          "earlier reduction.";
    for (const auto& [rank, fact] : ranks)
      finding.alternatives.push_back({DiagnosisKind::Nan, {rank}, "reports it like the others"});
    return finding;
  }
  const Fact* first = ranks.begin()->second;
  for (const auto& [rank, fact] : ranks)
    if (c.before(*fact, *first)) first = fact;
  for (const auto& [rank, fact] : ranks)
    if (fact == first || !c.before(*first, *fact)) finding.culprits.push_back(rank);
  if (ranks.size() > 1 && finding.culprits.size() == ranks.size()) {
    finding.culprits.clear();
    for (const auto& [rank, fact] : ranks) finding.culprits.push_back(rank);
  }
  finding.nodes = c.hosts_of(finding.culprits);
  if (finding.nodes.empty() && !first->who.host.empty()) finding.nodes = {first->who.host};
  const bool named = c.torch_rank(*first) >= 0 || c.of(FactKind::ElasticRoot).size() == 1;
  finding.confidence = named ? Confidence::Certain : Confidence::Likely;
  finding.what = "NaN or infinity appeared in the local values of " + name_ranks(finding.culprits);
  return finding;
}

/// Loss lines of single ranks: in the first bad step only the source has a NaN, one step later everybody has.
std::optional<Finding> nan_in_loss(const Case& c) {
  std::vector<const Fact*> losses = c.of(FactKind::LossValue);
  std::erase_if(losses, [&](const Fact* fact) { return recovered(c, *fact); });
  std::map<int, const Fact*> first_of;
  for (const Fact* fact : losses) {
    const int rank = c.rank(*fact);
    if (rank < 0) continue;
    const Fact*& first = first_of[rank];
    const bool earlier = first == nullptr || (fact->step >= 0 && first->step >= 0 ? fact->step < first->step
                                                                                  : c.before(*fact, *first));
    if (earlier) first = fact;
  }
  std::set<int>
      reporting;  // ranks that print steps of their own: silence about NaN means something for these only
  for (const Fact* fact : c.of(FactKind::Progress))
    if (const int rank = c.rank(*fact); rank >= 0 && fact->step >= 0) reporting.insert(rank);
  Finding finding;
  finding.rule = "nan_in_loss";
  finding.kind = DiagnosisKind::Nan;
  if (!first_of.empty() && reporting.size() >= 2) {
    std::int64_t step = INT64_MAX;
    for (const auto& [rank, fact] : first_of) step = std::min(step, fact->step < 0 ? INT64_MAX : fact->step);
    for (const auto& [rank, fact] : first_of)
      if (fact->step == step || step == INT64_MAX) {
        finding.culprits.push_back(rank);
        finding.evidence.push_back(fact);
      }
    if (finding.culprits.size() * 2 < reporting.size() ||
        (finding.culprits.size() == 1 && reporting.size() == 2)) {
      finding.nodes = c.hosts_of(finding.culprits);
      finding.confidence = Confidence::Certain;
      finding.what = "the loss of " + name_ranks(finding.culprits) + " became NaN or infinite" +
                     (step == INT64_MAX ? "" : " in step " + std::to_string(step));
      finding.why =
          "In that step the other ranks still had a finite loss; NaN in reduced values (gradient norm, later "
          "losses, \"OVERFLOW! Rank 0\") reaches everybody and names nobody.";
      return finding;
    }
  }
  finding.culprits.clear();
  std::vector<const Fact*> seen = losses;
  for (const FactKind kind : {FactKind::ScaleExhausted, FactKind::Overflow, FactKind::NanSeen})
    seen.insert(seen.end(), c.of(kind).begin(), c.of(kind).end());
  std::erase_if(seen, [&](const Fact* fact) { return recovered(c, *fact); });
  if (seen.empty()) return std::nullopt;
  const auto count = [&](FactKind kind) {
    return std::count_if(seen.begin(), seen.end(), [kind](const Fact* fact) { return fact->kind == kind; });
  };
  if (losses.empty() && count(FactKind::ScaleExhausted) == 0 && count(FactKind::Overflow) < 4 &&
      count(FactKind::NanSeen) == 0)
    return std::nullopt;  // a few skipped steps are how a dynamic loss scale works
  finding.evidence = seen;
  finding.confidence = Confidence::Unknown;
  finding.what = c.has(FactKind::ScaleExhausted)
                     ? "the loss scale ran down to its minimum: every step overflowed"
                     : "NaN or infinity appeared in reduced values";
  finding.why =
      "Values that went through an all-reduce are the same on all ranks, and the rank that prints them is "
      "only the one that prints: the log does not say where it began.";
  return finding;
}

}  // namespace ringside::backend::rules
