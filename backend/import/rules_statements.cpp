// Rules on what other tools say about ranks: PyTorch's recorder analysis, monitored_barrier, NCCL's RAS.
#include <algorithm>
#include <set>

#include "backend/import/rules.hpp"

namespace ringside::backend::rules {
namespace {

using sim::Confidence;
using sim::DiagnosisKind;

}  // namespace

/// The text of PyTorch's recorder analysis (torchfrtrace). It takes the first rank as innocent, and "state"
/// names nobody.
std::optional<Finding> recorder_statements(const Case& c) {
  if (const auto& missing = c.of(FactKind::FrMissing); !missing.empty()) {
    const Fact& first = *missing.front();
    Finding finding;
    finding.rule = "recorder_statements";
    finding.kind = DiagnosisKind::HangRankMissing;
    finding.evidence = missing;
    const bool from_dumps = !first.name.empty();  // our own reader, which has already looked at all dumps
    const bool few =
        from_dumps || c.world() == 0 || static_cast<std::int64_t>(first.named.size()) * 2 < c.world();
    if (few) finding.culprits = first.named;
    finding.nodes = c.hosts_of(finding.culprits);
    finding.confidence = few ? Confidence::Certain : Confidence::Unknown;
    finding.what = name_ranks(first.named) + " did not join collective" +
                   (first.seq >= 0 ? " #" + std::to_string(first.seq) : "");
    finding.why = "All other members have the call scheduled; a missing rank that is alive never made it.";
    return finding;
  }
  if (const auto& mismatches = c.of(FactKind::FrMismatch); !mismatches.empty()) {
    std::set<int> named;
    for (const Fact* fact : mismatches) named.insert(fact->named.begin(), fact->named.end());
    Finding finding;
    finding.rule = "recorder_statements";
    finding.evidence = mismatches;
    const std::string& type = mismatches.front()->name;
    if (type == "shape" || type == "dtype" || type == "order" ||
        type == "sequence") {  // our own reader: a majority vote already
      const Fact& fact = *mismatches.front();
      finding.kind = type == "shape"   ? DiagnosisKind::ShapeMismatch
                     : type == "dtype" ? DiagnosisKind::DtypeMismatch
                     : type == "order" ? DiagnosisKind::CollectiveOrder
                                       : DiagnosisKind::SequenceMismatch;
      finding.culprits = fact.named;
      finding.nodes = c.hosts_of(fact.named);
      finding.confidence = fact.named.empty() ? Confidence::Unknown : Confidence::Certain;
      finding.what = fact.text;
      finding.why = "The Flight Recorder dumps show both sides of the call; the minority differs.";
      return finding;
    }
    finding.kind = type.find("TYPE") != std::string::npos && type.find("DTYPE") == std::string::npos
                       ? DiagnosisKind::CollectiveOrder
                   : type.find("DTYPE") != std::string::npos ? DiagnosisKind::DtypeMismatch
                                                             : DiagnosisKind::ShapeMismatch;
    const auto count = static_cast<std::int64_t>(named.size());
    if (c.world() >= 3 && count * 2 < c.world())
      finding.culprits.assign(named.begin(), named.end());
    else if (c.world() >= 3 && count == c.world() - 1)  // the tool took the odd rank for its reference
      for (int rank = 0; rank < c.world(); ++rank)
        if (named.count(rank) == 0) finding.culprits.push_back(rank);
    finding.nodes = c.hosts_of(finding.culprits);
    finding.confidence = finding.culprits.empty() ? Confidence::Unknown : Confidence::Likely;
    finding.what =
        (finding.culprits.empty() ? std::string("ranks differ") : name_ranks(finding.culprits) + " differs") +
        " in one collective (" + type + ")";
    finding.why =
        "The tool assumes that the first rank is right; the minority counts, not its word \"culprit\".";
    if (finding.culprits.empty())
      for (const int rank : named)
        finding.alternatives.push_back(
            {finding.kind, {rank}, "named by a tool that takes the first rank as reference"});
    return finding;
  }
  if (const auto& states = c.of(FactKind::FrState); !states.empty()) {
    Finding finding;
    finding.rule = "recorder_statements";
    finding.kind = DiagnosisKind::SequenceMismatch;
    finding.evidence = states;
    finding.confidence = Confidence::Unknown;
    finding.what = "dumps differ in the state of one collective only";
    finding.why =
        "A different state alone names nobody: the dumps may have been taken at different moments, and the "
        "tool takes its first rank as the reference.";
    for (const Fact* fact : states) {
      for (const int rank : fact->named) finding.victims.insert(rank);
      if (!fact->named.empty())
        finding.alternatives.push_back(
            {finding.kind, fact->named, "the tool's \"culprit\" differs in state only"});
    }
    return finding;
  }
  return std::nullopt;
}

/// monitored_barrier on rank 0 lists the ranks that did not come; the others only report that rank 0 failed.
std::optional<Finding> missing_in_barrier(const Case& c) {
  Finding finding;
  finding.rule = "missing_in_barrier";
  finding.kind = DiagnosisKind::HangRankMissing;
  std::set<int> missing;
  for (const Fact* fact : c.of(FactKind::BarrierMissing)) {
    finding.evidence.push_back(fact);
    missing.insert(fact->named.begin(), fact->named.end());
  }
  if (missing.empty()) {
    const Fact* processed = nullptr;
    int reporter = -1;
    for (const Fact* fact : c.of(FactKind::BarrierVictim)) {
      if (fact->name == "processed") processed = fact;
      if (fact->name == "timed out") reporter = fact->who.group_rank;
      if (fact->name == "processed" || fact->name == "timed out") finding.evidence.push_back(fact);
    }
    if (processed == nullptr || c.world() <= 0 || c.world() > 65'536) return std::nullopt;
    for (int rank = 0; rank < c.world(); ++rank)
      if (rank != reporter &&
          std::find(processed->named.begin(), processed->named.end(), rank) == processed->named.end())
        missing.insert(rank);
  }
  const bool few = c.world() == 0 || static_cast<std::int64_t>(missing.size()) < c.world();
  if (!few || missing.empty()) return std::nullopt;
  finding.culprits.assign(missing.begin(), missing.end());
  finding.nodes = c.hosts_of(finding.culprits);
  finding.confidence = c.of(FactKind::BarrierMissing).empty() ? Confidence::Likely : Confidence::Certain;
  finding.what = name_ranks(finding.culprits) + " did not reach the barrier";
  finding.why =
      "Rank 0 collects everybody and names who is missing; ranks that reached it only lose rank 0 "
      "afterwards.";
  return finding;
}

/// What NCCL's RAS says about ranks with another operation count, without data, or dead.
std::optional<Finding> ras_statements(const Case& c) {
  Finding finding;
  finding.rule = "ras_statements";
  std::set<int> ranks;
  std::set<std::string> hosts;
  const auto take = [&](FactKind kind) {
    for (const Fact* fact : c.of(kind)) {
      finding.evidence.push_back(fact);
      ranks.insert(fact->named.begin(), fact->named.end());
      if (!fact->who.host.empty())
        hosts.insert(c.who.host_of_address(fact->who.host).empty() ? fact->who.host
                                                                   : c.who.host_of_address(fact->who.host));
    }
  };
  take(FactKind::RasDead);
  if (!finding.evidence.empty()) {
    finding.kind = DiagnosisKind::RankCrash;
    finding.what = (ranks.empty() ? std::string("a process") : name_ranks({ranks.begin(), ranks.end()})) +
                   " is dead: unreachable through NCCL's RAS network";
    finding.why = "Its RAS thread does not answer any more, so the process has ended or its node is gone.";
    if (finding.evidence.front()->name == "heartbeat") {
      finding.what = (ranks.empty() ? std::string("a process") : name_ranks({ranks.begin(), ranks.end()})) +
                     " stopped sending heartbeats to the coordination service";
      finding.why = "The others are ended by the service because of it; its own log must tell how it died.";
    }
  } else {
    take(FactKind::RasMissing);
    if (!finding.evidence.empty()) {
      finding.kind = DiagnosisKind::RankCrash;
      finding.what = name_ranks({ranks.begin(), ranks.end()}) + " gives no data to NCCL's RAS network";
      finding.why = "All other members of the communicator answer.";
    } else {
      // Details are printed for the outliers, which may be the ranks AHEAD: only a lower count makes a
      // suspect.
      for (const Fact* fact : c.of(FactKind::RasOutlier)) {
        finding.evidence.push_back(fact);
        if (fact->value >= 0 && fact->limit >= 0 && fact->value < fact->limit)
          ranks.insert(fact->named.begin(), fact->named.end());
      }
      if (finding.evidence.empty()) return std::nullopt;
      finding.kind = DiagnosisKind::HangRankMissing;
      finding.what = ranks.empty() ? std::string("ranks have different operation counts")
                                   : name_ranks({ranks.begin(), ranks.end()}) +
                                         " has launched fewer operations than the others";
      finding.why =
          "The ranks with the lower count are behind; RAS prints the smaller group, which may be ahead.";
    }
  }
  finding.culprits.assign(ranks.begin(), ranks.end());
  finding.nodes = c.hosts_of(finding.culprits);
  if (finding.nodes.empty()) finding.nodes.assign(hosts.begin(), hosts.end());
  finding.confidence = ranks.empty() && hosts.empty() ? Confidence::Unknown : Confidence::Likely;
  return finding;
}

}  // namespace ringside::backend::rules
