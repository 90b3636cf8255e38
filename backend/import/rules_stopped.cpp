// Rules on jobs that were stopped from outside: time limit, preemption, a person. No rank is guilty of that.
#include <algorithm>

#include "backend/import/rules.hpp"

namespace ringside::backend::rules {
namespace {

using sim::Confidence;
using sim::DiagnosisKind;

/// SIGTERM stops whatever the scheduler, a pod's end or another node's failure wants to stop; SIGINT is a
/// person's Ctrl-C.
bool tells_who_stopped(const Fact& stop) {
  return stop.name != "signal to the launcher" || stop.op == "2" || stop.op.ends_with("SIGINT");
}

Finding stopped(const std::vector<const Fact*>& stops, const Fact& first) {
  Finding finding;
  finding.evidence = {&first};
  for (const Fact* stop : stops)
    if (stop != &first) finding.evidence.push_back(stop);
  const bool told =
      std::any_of(stops.begin(), stops.end(), [](const Fact* f) { return tells_who_stopped(*f); });
  if (!told) {
    finding.kind = DiagnosisKind::Unknown;
    finding.confidence = Confidence::Unknown;
    finding.what = "the launcher was told to stop (signal " + first.op + ")";
    finding.why =
        "Somebody outside of these processes sent it: a scheduler, a person, or a launcher on another node "
        "after a "
        "failure there. The lines do not say who.";
    return finding;
  }
  const bool wall = first.name == "time limit";
  finding.kind = wall ? DiagnosisKind::ConfigError : DiagnosisKind::None;
  finding.confidence = Confidence::Likely;
  const bool by_person = !wall && (first.layer == Layer::Mpi || first.name == "cancelled" ||
                                   first.name == "interrupt" || first.name == "signal to the launcher");
  finding.what = wall        ? "the scheduler stopped the job at its time limit"
                 : by_person ? "the job was stopped from outside (" + first.name + ")"
                             : "the scheduler stopped the job (" + first.name + ")";
  finding.why = "No line before it shows a failure; errors that follow come from being stopped.";
  return finding;
}

}  // namespace

/// The stop stands before everything else that is reported: what follows are the ends of processes.
std::optional<Finding> stopped_first(const Case& c) {
  const auto& stops = c.of(FactKind::TimeLimit);
  for (const Fact* stop : stops) {
    if (!all_reports_follow(c, *stop)) continue;
    Finding finding = stopped(stops, *stop);
    finding.rule = "stopped_first";
    return finding;
  }
  return std::nullopt;
}

/// Wall time or preemption ended the job, and nothing that outranks it failed.
std::optional<Finding> time_limit(const Case& c) {
  const auto& stops = c.of(FactKind::TimeLimit);
  if (stops.empty()) return std::nullopt;
  Finding finding = stopped(stops, *stops.front());
  finding.rule = "time_limit";
  return finding;
}

}  // namespace ringside::backend::rules
