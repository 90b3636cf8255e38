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
    const Sample& sample = c.trace.sample(e.tensor.sample);
    if (c.trace.string(e.tensor.name) == "result" || sample.nan_count + sample.inf_count == 0) continue;
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

std::string what_it_is(const Case& c, std::uint32_t event) {
  const Event& e = c.trace.events()[event];
  const bool only_infinite =
      e.type == EventType::TensorValues && c.trace.sample(e.tensor.sample).nan_count == 0;
  return only_infinite ? "an infinity" : "NaN";
}

}  // namespace

bool result_was_bad_before(const Case& c, std::int64_t t) {
  return std::any_of(c.trace.events().begin(), c.trace.events().end(), [&](const Event& e) {
    if (e.type != EventType::TensorValues || e.tensor.sample == kNone || e.t >= t || !c.seen(e)) return false;
    const Sample& sample = c.trace.sample(e.tensor.sample);
    return sample.nan_count + sample.inf_count > 0 && c.trace.string(e.tensor.name) == "result";
  });
}

/// A NaN or infinity that was born inside a collective makes every rank's program do what on_nan says: raise,
/// skip. All of that follows; the first cause is the number.
Verdict rule_bad_number_first(const Case& c) {
  Verdict born = rule_number_changed(c);
  if (born && born->kind != DiagnosisKind::Nan) return std::nullopt;
  const Poison poison = find_poison(c);
  if (!born) {
    born = overflow_in_the_sum(c);
    if (!born) return std::nullopt;
    for (const std::uint32_t event : poison.events)
      if (c.trace.events()[event].t <= *born->first_cause.t_ns) return std::nullopt;
  }
  const std::int64_t t = *born->first_cause.t_ns;
  if (first_difference(c.survey) <= t) return std::nullopt;
  for (const RankSurvey& rank : c.survey.ranks) {
    const std::uint32_t error = own_error(c, rank);
    if (error != kNone && c.trace.events()[error].t <= t) return std::nullopt;
    if (rank.end && rank.end->t <= t) return std::nullopt;
    if (rank.timeout && c.trace.events()[*rank.timeout].t <= t) return std::nullopt;
  }
  return born;
}

Verdict rule_nan(const Case& c) {
  const Poison poison = find_poison(c);
  const int world = c.survey.world();
  const bool all = static_cast<int>(poison.ranks.size()) == world && world > 1;
  if (poison.ranks.empty() || all) {  // all at once: look for the sum before it that they have it from
    Verdict sum = overflow_in_the_sum(c);
    const bool before = sum && (!all || sum->first_cause.t_ns < c.trace.events()[poison.events.front()].t);
    if (before || !all) return sum;
  }
  if (all)
    return undecided(
        c, DiagnosisKind::Nan, poison.ranks, poison.events.front(),
        "All ranks have NaN or infinity in the same step.",
        "every rank was poisoned before anything could tell them apart: the weights or the data of all");
  Diagnosis d = blame_rank(c, DiagnosisKind::Nan, poison.ranks.front(), poison.events.front(),
                           rank_list(poison.ranks) + " had " + what_it_is(c, poison.events.front()) +
                               " in its own numbers first, in step " + std::to_string(poison.step) + ".");
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

namespace {

bool shows_ring_steps(const Case& c) {
  return std::any_of(c.trace.events().begin(), c.trace.events().end(),
                     [&](const Event& e) { return e.type == EventType::RingStepEnd && c.seen(e); });
}

}  // namespace

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
    // A number that changes while the result is passed on is wrong on all ranks after that place. Ring steps
    // would have shown it (rule_number_changed); without them only a single odd rank is named.
    const bool seen = shows_ring_steps(c);
    if (!seen && odd.size() > 1)
      return undecided(c, DiagnosisKind::SilentCorruption, odd, event_of(odd.front()), what,
                       "without ring steps the trace does not show where their numbers went apart");
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
    if (!seen) {
      d.confidence = Confidence::Likely;
      d.alternatives.push_back({DiagnosisKind::SilentCorruption,
                                {},
                                "a number that changed while the result was passed on would leave only its "
                                "owner right; the trace has no ring steps to show it"});
    }
    return d;
  }
  return std::nullopt;
}

namespace {

/// What a rank brought into its collectives.
struct Brought {
  std::int32_t step = 0;
  std::uint32_t event = kNone;
  std::uint64_t digest = 0;
  double largest = 0;  // magnitude
};
using BroughtBy = std::vector<std::vector<Brought>>;  // per rank

BroughtBy brought_by(const Case& c) {
  BroughtBy out(static_cast<std::size_t>(c.survey.world()));
  std::vector<std::int32_t> step(out.size(), 1);
  for (const std::uint32_t i : c.trace.order()) {
    const Event& e = c.trace.events()[i];
    if (!c.seen(e)) break;
    if (e.rank() < 0 || e.rank() >= c.survey.world()) continue;
    const auto r = static_cast<std::size_t>(e.rank());
    if (e.type == EventType::PhaseBegin) step[r] = std::max(step[r], e.phase.step);
    if (e.type != EventType::TensorValues || e.tensor.sample == kNone) continue;
    if (c.trace.string(e.tensor.name) != "input") continue;
    const Sample& sample = c.trace.sample(e.tensor.sample);
    out[r].push_back({step[r], i, sample.digest, magnitude(sample)});
  }
  return out;
}

constexpr std::size_t kLeastInputs = 3;  // fewer are no habit

/// The one input that differs where every other input of every rank is always the same; nullptr if there is
/// none or more than one.
const Brought* only_change(const BroughtBy& brought, int& who) {
  const Brought* found = nullptr;
  for (std::size_t r = 0; r < brought.size(); ++r) {
    const auto& mine = brought[r];
    if (mine.size() < kLeastInputs) return nullptr;
    const std::uint64_t usual = mine[0].digest == mine[1].digest ? mine[0].digest : mine[2].digest;
    for (const Brought& one : mine) {
      if (one.digest == usual) continue;
      if (found != nullptr) return nullptr;
      found = &one;
      who = static_cast<int>(r);
    }
  }
  return found;
}

/// An input a thousand times larger than anything else that anybody ever brought.
const Brought* outlier(const BroughtBy& brought, int& who) {
  constexpr double kTimes = 1000;
  const Brought* largest = nullptr;
  double second = 0;
  for (std::size_t r = 0; r < brought.size(); ++r) {
    if (brought[r].size() < kLeastInputs) return nullptr;
    for (const Brought& one : brought[r]) {
      if (largest == nullptr || one.largest > largest->largest) {
        if (largest != nullptr) second = std::max(second, largest->largest);
        largest = &one;
        who = static_cast<int>(r);
      } else {
        second = std::max(second, one.largest);
      }
    }
  }
  return largest != nullptr && second > 0 && largest->largest >= kTimes * second ? largest : nullptr;
}

}  // namespace

/// Numbers that changed before an AllReduce are in everybody's sum: nothing proves who brought them. An input
/// that stands out makes its rank a candidate, never a culprit.
Verdict rule_input_stands_out(const Case& c) {
  const BroughtBy brought = brought_by(c);
  if (brought.size() < 2) return std::nullopt;
  int who = -1;
  const Brought* one = only_change(brought, who);
  const bool changed = one != nullptr;
  if (!changed) one = outlier(brought, who);
  if (one == nullptr) return std::nullopt;
  const std::string what = rank_name(who) + "'s input of step " + std::to_string(one->step) +
                           (changed ? " differs from its inputs of all other steps, and nobody else's does"
                                    : " is a thousand times larger than anything else that was brought") +
                           ": a flipped bit, or other data.";
  Diagnosis d = undecided(c, DiagnosisKind::SilentCorruption, {who}, one->event, what,
                          "everybody has the same sum afterwards: its input stands out, which is no proof");
  d.first_cause.step = one->step;
  return d;
}

}  // namespace ringside::sim
