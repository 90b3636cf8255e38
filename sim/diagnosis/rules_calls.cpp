// Ranks that call collectives differently. Calls pair by order within the communicator, so the k-th calls of
// all ranks are laid side by side; the first k at which they differ is where it went wrong, and the minority
// is the suspect. Equal halves (always so with two ranks) do not decide.
#include <algorithm>
#include <map>

#include "sim/diagnosis/rules.hpp"

namespace ringside::sim {
namespace {

struct Group {
  std::vector<int> ranks;
  const Call* call = nullptr;
};

/// The ranks' k-th calls, grouped by what they call (and in which training step).
std::vector<Group> groups_at(const Survey& survey, std::size_t k) {
  std::vector<Group> groups;
  for (int r = 0; r < survey.world(); ++r) {
    const auto& calls = survey.ranks[static_cast<std::size_t>(r)].calls;
    if (calls.size() <= k) continue;
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
      return group.call->same_call(calls[k]) && group.call->step == calls[k].step;
    });
    if (found == groups.end()) {
      groups.push_back({{r}, &calls[k]});
    } else {
      found->ranks.push_back(r);
    }
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.ranks.size() > b.ranks.size(); });
  return groups;
}

bool same_at(const std::vector<Call>& a, std::size_t i, const std::vector<Call>& b, std::size_t j) {
  return i < a.size() && j < b.size() && a[i].same_call(b[j]);
}

DiagnosisKind kind_of_parameters(const Call& mine, const Call& theirs) {
  if (mine.collective != theirs.collective) return DiagnosisKind::CollectiveOrder;
  if (mine.dtype != theirs.dtype) return DiagnosisKind::DtypeMismatch;
  if (mine.count != theirs.count || mine.shape != theirs.shape) return DiagnosisKind::ShapeMismatch;
  return DiagnosisKind::OpMismatch;
}

/// What the odd rank does differently from a rank of the majority, from call k on.
DiagnosisKind kind_of_difference(const std::vector<Call>& odd, const std::vector<Call>& most, std::size_t k) {
  const Call &mine = odd[k], &theirs = most[k];
  if (mine.step != theirs.step) return DiagnosisKind::SequenceMismatch;
  // In step again right after: one call was other, none was missing or too many.
  const bool last = k + 1 >= odd.size() || k + 1 >= most.size();
  const bool in_step_again =
      last || (odd[k + 1].same_call(most[k + 1]) && odd[k + 1].step == most[k + 1].step);
  if (in_step_again) return kind_of_parameters(mine, theirs);
  const bool swapped = same_at(odd, k, most, k + 1) && same_at(odd, k + 1, most, k);
  if (swapped || mine.collective != theirs.collective) return DiagnosisKind::CollectiveOrder;
  const bool one_missing =
      same_at(odd, k, most, k + 1) && (k + 1 >= odd.size() || same_at(odd, k + 1, most, k + 2));
  const bool one_more = same_at(odd, k + 1, most, k) && same_at(odd, k + 2, most, k + 1);
  if (one_missing || one_more) return DiagnosisKind::SequenceMismatch;
  return kind_of_parameters(mine, theirs);
}

std::string what_differs(const Case& c, DiagnosisKind kind, const std::vector<int>& odd, const Call& mine,
                         const Call& theirs) {
  const std::string who = rank_list(odd) + (odd.size() == 1 ? " has " : " have ");
  switch (kind) {
    case DiagnosisKind::ShapeMismatch:
      if (mine.shape != kNone && theirs.shape != kNone && mine.shape != theirs.shape)
        return who + c.trace.shape(mine.shape).text() + ", the others " + c.trace.shape(theirs.shape).text() +
               ".";
      return who + std::to_string(mine.count) + " elements, the others " + std::to_string(theirs.count) + ".";
    case DiagnosisKind::DtypeMismatch:
      return who + std::string(to_word(mine.dtype)) + ", the others " + std::string(to_word(theirs.dtype)) +
             ".";
    case DiagnosisKind::OpMismatch:
      return who + "op " + std::string(to_word(mine.op)) + ", the others " + std::string(to_word(theirs.op)) +
             ".";
    case DiagnosisKind::CollectiveOrder:
      return rank_list(odd) + " called seq " + std::to_string(mine.seq) +
             " in another order than the others.";
    default:
      break;
  }
  if (mine.step > theirs.step)
    return rank_list(odd) + " skipped a call: its seq " + std::to_string(mine.seq) + " belongs to step " +
           std::to_string(mine.step) + ", the others are in step " + std::to_string(theirs.step) + ".";
  if (mine.step < theirs.step)
    return rank_list(odd) + " made one call more: its seq " + std::to_string(mine.seq) +
           " still belongs to step " + std::to_string(mine.step) + ", the others are in step " +
           std::to_string(theirs.step) + ".";
  return rank_list(odd) + " is off by one call from seq " + std::to_string(mine.seq) + " on.";
}

}  // namespace

std::int64_t first_difference(const Survey& survey) {
  std::size_t longest = 0;
  for (const RankSurvey& rank : survey.ranks) longest = std::max(longest, rank.calls.size());
  for (std::size_t k = 0; k < longest; ++k) {
    const std::vector<Group> groups = groups_at(survey, k);
    if (groups.size() < 2) continue;
    std::int64_t t = INT64_MAX;
    for (std::size_t g = 1; g < groups.size(); ++g)
      for (const int r : groups[g].ranks)
        t = std::min(t, survey.ranks[static_cast<std::size_t>(r)].calls[k].enqueued);
    return t;
  }
  return INT64_MAX;
}

Verdict rule_calls_differ(const Case& c) {
  std::size_t longest = 0;
  for (const RankSurvey& rank : c.survey.ranks) longest = std::max(longest, rank.calls.size());
  for (std::size_t k = 0; k < longest; ++k) {
    const std::vector<Group> groups = groups_at(c.survey, k);
    if (groups.size() < 2) continue;
    const Group& most = groups.front();
    std::vector<int> odd;
    for (std::size_t g = 1; g < groups.size(); ++g)
      odd.insert(odd.end(), groups[g].ranks.begin(), groups[g].ranks.end());
    std::sort(odd.begin(), odd.end());
    const auto& calls_of = [&](int rank) -> const std::vector<Call>& {
      return c.survey.ranks[static_cast<std::size_t>(rank)].calls;
    };
    const DiagnosisKind kind = kind_of_difference(calls_of(odd.front()), calls_of(most.ranks.front()), k);
    const std::string what = what_differs(c, kind, odd, calls_of(odd.front())[k], *most.call);
    if (odd.size() >= most.ranks.size()) {
      std::vector<int> candidates = odd;
      candidates.insert(candidates.end(), most.ranks.begin(), most.ranks.end());
      std::sort(candidates.begin(), candidates.end());
      Diagnosis d =
          undecided(c, kind, candidates, groups[1].call->event, what,
                    "as many ranks stand on the other side, so the calls do not decide who is wrong");
      d.evidence.push_back(cite(c, most.call->event));
      return d;
    }
    Diagnosis d = blame_rank(c, kind, odd.front(), calls_of(odd.front())[k].event, what);
    d.culprits = odd;
    d.culprit_nodes.clear();
    for (const int rank : odd) {
      const std::string& host = c.survey.host_of(rank);
      if (std::find(d.culprit_nodes.begin(), d.culprit_nodes.end(), host) == d.culprit_nodes.end())
        d.culprit_nodes.push_back(host);
    }
    d.first_cause.step = calls_of(odd.front())[k].step;
    d.evidence.push_back(cite(c, most.call->event));
    if (kind == DiagnosisKind::SequenceMismatch) trace_back_to_nan(c, d, calls_of(odd.front())[k].step);
    return d;
  }
  return std::nullopt;
}

}  // namespace ringside::sim
