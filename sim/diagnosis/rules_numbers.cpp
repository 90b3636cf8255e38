// Numbers that are wrong: NaN, infinity, weights that differ.
#include <algorithm>
#include <map>

#include "sim/diagnosis/rules.hpp"

namespace ringside::sim {
namespace {

bool is_nan_double(double x) {
  return x != x;
}

/// When a rank's AllReduce of a training step was finished: NaN found before that is the rank's own.
std::int64_t reduced_at(const RankSurvey& rank, std::int32_t step) {
  for (const Call& call : rank.calls)
    if (call.step == step && call.finished >= 0) return call.finished;
  return INT64_MAX;
}

struct Poison {
  std::int32_t step = INT32_MAX;
  std::vector<int> ranks;  // whose own numbers were bad in that step, before any communication
  std::vector<std::uint32_t> events;
};

void add_poison(Poison& poison, std::int32_t step, int rank, std::uint32_t event) {
  if (step > poison.step) return;
  if (step < poison.step) poison = Poison{step, {}, {}};
  if (std::find(poison.ranks.begin(), poison.ranks.end(), rank) != poison.ranks.end()) return;
  poison.ranks.push_back(rank);
  poison.events.push_back(event);
}

/// NaN in a rank's own numbers: nan_found before its AllReduce, an input tensor with NaN, or a NaN loss.
Poison find_poison(const Case& c) {
  Poison poison;
  for (int r = 0; r < c.survey.world(); ++r) {
    const RankSurvey& rank = c.survey.ranks[static_cast<std::size_t>(r)];
    if (rank.first_nan) {
      const Event& e = c.trace.events()[*rank.first_nan];
      if (e.t < reduced_at(rank, e.nan.step)) add_poison(poison, e.nan.step, r, *rank.first_nan);
    }
    for (const LossAt& loss : rank.losses)
      if (is_nan_double(loss.loss)) {
        add_poison(poison, loss.step, r, loss.event);
        break;
      }
  }
  // An input with NaN belongs to the training step that its rank is in.
  std::vector<std::int32_t> step(static_cast<std::size_t>(c.survey.world()), 1);
  for (const std::uint32_t i : c.trace.order()) {
    const Event& e = c.trace.events()[i];
    if (!c.seen(e)) break;
    if (e.rank() < 0 || e.rank() >= c.survey.world()) continue;
    std::int32_t& now = step[static_cast<std::size_t>(e.rank())];
    if (e.type == EventType::PhaseBegin) now = std::max(now, e.phase.step);
    if (e.type != EventType::TensorValues || e.tensor.sample == kNone) continue;
    if (c.trace.string(e.tensor.name) == "result" || c.trace.sample(e.tensor.sample).nan_count == 0) continue;
    add_poison(poison, now, e.rank(), i);
  }
  return poison;
}

/// The first transfer whose result holds an infinity (or a NaN made of one) although what went in was finite.
Verdict overflow_in_the_sum(const Case& c) {
  for (std::uint32_t i = 0; i < c.trace.size(); ++i) {
    const Event& e = c.trace.events()[i];
    if (e.type != EventType::RingStepEnd || e.ring.sample == kNone || !c.seen(e)) continue;
    const Sample& sample = c.trace.sample(e.ring.sample);
    if (sample.inf_count == 0 && sample.nan_count == 0) continue;
    Diagnosis d;
    d.kind = DiagnosisKind::Nan;
    d.first_cause.rank = e.src_id;
    d.first_cause.node = c.survey.host_of(e.src_id);
    d.first_cause.t_ns = e.t;
    d.first_cause.seq = c.trace.collective(e.ring.coll).seq;
    d.first_cause.what = "The sum leaves the range of " + std::string(to_word(sample.dtype)) +
                         " in ring step " + std::to_string(e.ring.step) + " on " + rank_name(e.src_id) +
                         ": every input was finite, so no rank is guilty.";
    d.evidence.push_back(cite(c, i,
                              std::to_string(sample.inf_count) + " infinite and " +
                                  std::to_string(sample.nan_count) + " NaN in chunk " +
                                  std::to_string(e.ring.chunk)));
    return d;
  }
  return std::nullopt;
}

/// Infinity in a rank's own input: it overflowed before any communication.
Verdict infinite_input(const Case& c) {
  std::vector<int> ranks;
  std::uint32_t first = kNone;
  for (std::uint32_t i = 0; i < c.trace.size(); ++i) {
    const Event& e = c.trace.events()[i];
    if (e.type != EventType::TensorValues || e.tensor.sample == kNone || e.rank() < 0 ||
        e.rank() >= c.survey.world() || !c.seen(e))
      continue;
    if (c.trace.string(e.tensor.name) == "result" || c.trace.sample(e.tensor.sample).inf_count == 0) continue;
    if (std::find(ranks.begin(), ranks.end(), e.rank()) == ranks.end()) ranks.push_back(e.rank());
    if (first == kNone) first = i;
  }
  if (ranks.empty()) return std::nullopt;
  Diagnosis d = blame_rank(c, DiagnosisKind::Nan, ranks.front(), first,
                           rank_list(ranks) + " brought an infinity into the AllReduce.");
  std::sort(ranks.begin(), ranks.end());
  d.culprits = ranks;
  return d;
}

}  // namespace

Verdict rule_nan(const Case& c) {
  const Poison poison = find_poison(c);
  if (poison.ranks.empty()) {
    if (Verdict input = infinite_input(c)) return input;
    return overflow_in_the_sum(c);
  }
  const int world = c.survey.world();
  if (static_cast<int>(poison.ranks.size()) == world && world > 1)
    return undecided(
        c, DiagnosisKind::Nan, poison.ranks, poison.events.front(), "All ranks have NaN in the same step.",
        "every rank was poisoned before anything could tell them apart: the weights or the data of all");
  Diagnosis d = blame_rank(c, DiagnosisKind::Nan, poison.ranks.front(), poison.events.front(),
                           rank_list(poison.ranks) + " had NaN in its own numbers first, in step " +
                               std::to_string(poison.step) + ".");
  d.culprits = poison.ranks;
  std::sort(d.culprits.begin(), d.culprits.end());
  d.culprit_nodes.clear();
  for (const int rank : d.culprits)
    if (std::find(d.culprit_nodes.begin(), d.culprit_nodes.end(), c.survey.host_of(rank)) ==
        d.culprit_nodes.end())
      d.culprit_nodes.push_back(c.survey.host_of(rank));
  for (std::size_t i = 1; i < poison.events.size(); ++i) d.evidence.push_back(cite(c, poison.events[i]));
  return d;
}

Verdict rule_weights_differ(const Case& c) {
  const bool any_call = std::any_of(c.survey.ranks.begin(), c.survey.ranks.end(),
                                    [](const RankSurvey& rank) { return !rank.calls.empty(); });
  if (!any_call) return std::nullopt;  // everybody trains alone: weights may differ
  std::map<std::int64_t, std::map<std::uint64_t, std::vector<int>>> by_step;
  for (int r = 0; r < c.survey.world(); ++r)
    for (const WeightsAt& weights : c.survey.ranks[static_cast<std::size_t>(r)].weights)
      by_step[weights.step][weights.digest].push_back(r);
  for (const auto& [step, groups] : by_step) {
    if (groups.size() < 2) continue;
    const auto most = std::max_element(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
      return a.second.size() < b.second.size();
    });
    std::vector<int> odd;
    for (const auto& [digest, ranks] : groups)
      if (digest != most->first) odd.insert(odd.end(), ranks.begin(), ranks.end());
    std::sort(odd.begin(), odd.end());
    const auto event_of = [&, wanted = step](int rank) {
      for (const WeightsAt& weights : c.survey.ranks[static_cast<std::size_t>(rank)].weights)
        if (weights.step == wanted) return weights.event;
      return std::uint32_t{0};
    };
    const std::string what = "The weights of " + rank_list(odd) + " differ from the others' after step " +
                             std::to_string(step) + ", and nothing reported it.";
    if (odd.size() >= most->second.size()) {
      std::vector<int> all = odd;
      all.insert(all.end(), most->second.begin(), most->second.end());
      std::sort(all.begin(), all.end());
      return undecided(c, DiagnosisKind::SilentCorruption, all, event_of(odd.front()), what,
                       "as many ranks hold other weights, so they do not decide whose are right");
    }
    Diagnosis d = blame_rank(c, DiagnosisKind::SilentCorruption, odd.front(), event_of(odd.front()), what);
    d.culprits = odd;
    d.first_cause.step = step;
    return d;
  }
  return std::nullopt;
}

}  // namespace ringside::sim
