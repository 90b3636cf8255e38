#include "backend/import/reason.hpp"

#include <algorithm>

#include "backend/import/rules.hpp"

namespace ringside::backend {
namespace {

constexpr std::size_t kEvidenceShown = 24;
constexpr std::size_t kAlternativesShown = 12;

/// In this order. Hardware and scheduler first, then a rank's own failures, then statements about others,
/// then silence.
constexpr rules::Rule kRules[] = {
    rules::noise_after_success,
    rules::gpu_hardware,
    rules::node_failure,
    rules::ib_port,
    rules::host_memory,
    rules::stopped_first,
    rules::nan_before_communication,
    rules::gpu_memory,
    rules::configuration,
    rules::ib_settings,
    rules::wrapper_mismatch,
    rules::ddp_parameters,
    rules::primary_exception,
    rules::fatal_signal,
    rules::coll_lines,
    rules::horovod,
    rules::missing_in_barrier,
    rules::recorder_statements,
    rules::ras_statements,
    rules::ib_completion,
    rules::watchdog_groups,
    rules::nan_in_loss,
    rules::gloo_size,
    rules::gloo_waits,
    rules::mpi_error,
    rules::rendezvous,
    rules::lost_connections,
    rules::plain_exit,
    rules::pcie_reports,
    rules::time_limit,
    rules::straggler,
    rules::nothing_failed,
    rules::victims_only,
};

sim::Evidence to_evidence(const Case& c, const Fact& fact) {
  sim::Evidence evidence;
  if (fact.t_ns >= 0) evidence.t_ns = fact.t_ns;
  evidence.file = fact.file < c.facts.files.size() ? c.facts.files[fact.file] : std::string();
  evidence.line = fact.line;
  evidence.text = fact.text;
  return evidence;
}

/// Ranks that nobody accuses but who carry a victim's line, or who waited while a culprit is known.
std::vector<int> victims_of(const Case& c, const Finding& finding) {
  std::set<int> ranks = rules::victim_ranks(c);
  ranks.insert(finding.victims.begin(), finding.victims.end());
  for (const int rank : finding.culprits) ranks.erase(rank);
  return {ranks.begin(), ranks.end()};
}

}  // namespace

Reasoning reason(const Case& c) {
  Reasoning result;
  sim::Diagnosis& d = result.diagnosis;
  std::optional<Finding> verdict;
  std::vector<Finding> others;
  for (const rules::Rule rule : kRules) {
    std::optional<Finding> finding = rule(c);
    if (!finding) continue;
    if (!verdict)
      verdict = std::move(finding);
    else
      others.push_back(std::move(*finding));
  }
  d.world_size = c.world();
  if (!verdict) {
    d.kind = sim::DiagnosisKind::Unknown;
    d.confidence = sim::Confidence::Unknown;
    d.first_cause.what = "nothing here says what happened";
    result.explanation = "No known message was found.";
    d.next_steps = next_steps(c, d);
    return result;
  }
  d.kind = verdict->kind;
  d.confidence = verdict->confidence;
  // Who is silent in a log that was cut off may only have had no time to speak.
  static constexpr std::string_view kFromSilence[] = {"watchdog_groups", "gloo_waits", "lost_connections",
                                                      "horovod", "straggler"};
  if (c.facts.cut_ends > 0 && d.confidence == sim::Confidence::Certain &&
      std::find(std::begin(kFromSilence), std::end(kFromSilence), std::string_view(verdict->rule)) !=
          std::end(kFromSilence))
    d.confidence = sim::Confidence::Likely;
  if (verdict->confidence != sim::Confidence::Unknown) {  // who cannot be named is never accused
    d.culprits = verdict->culprits;
    std::sort(d.culprits.begin(), d.culprits.end());
    d.culprit_nodes = verdict->nodes;
  } else if (!verdict->culprits.empty()) {
    d.alternatives.push_back({verdict->kind, verdict->culprits, "a candidate that the lines do not prove"});
  }
  if (d.culprits.size() == 1) d.first_cause.rank = d.culprits.front();
  if (d.culprit_nodes.size() == 1) d.first_cause.node = d.culprit_nodes.front();
  d.first_cause.what = verdict->what;
  if (!verdict->evidence.empty()) {
    const Fact& first = *verdict->evidence.front();
    if (first.seq >= 0) d.first_cause.seq = first.seq;
    if (first.step >= 0) d.first_cause.step = first.step;
    if (first.t_ns >= 0) d.first_cause.t_ns = first.t_ns;
  }
  for (const Fact* fact : verdict->evidence) {
    if (d.evidence.size() >= kEvidenceShown) break;
    d.evidence.push_back(to_evidence(c, *fact));
  }
  d.victims = victims_of(c, *verdict);
  d.waits_for = verdict->waits_for;
  d.alternatives.insert(d.alternatives.end(), verdict->alternatives.begin(), verdict->alternatives.end());
  for (const Finding& other : others) {
    if (other.kind == sim::DiagnosisKind::None || std::string_view(other.rule) == "victims_only") continue;
    std::string why_not = other.what + ": weaker evidence than the verdict, and explained by it";
    d.alternatives.push_back({other.kind, other.culprits, std::move(why_not)});
  }
  if (d.alternatives.size() > kAlternativesShown) d.alternatives.resize(kAlternativesShown);
  result.rule = verdict->rule;
  result.explanation = verdict->why;
  d.tools_would_say = tools_would_say(c, d);
  d.next_steps = next_steps(c, d);
  return result;
}

}  // namespace ringside::backend
