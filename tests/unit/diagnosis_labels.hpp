// Who can be right to be named for a fault: shared by the labelled cases and the property test.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "job_helpers.hpp"
#include "sim/diagnosis/from_trace.hpp"

namespace ringside::sim::test {

/// The ranks that a fault strikes; for a link its two ends.
inline std::set<int> struck(const Fault& fault, const Scenario& job) {
  if (fault.rank >= 0 && fault.kind != FaultKind::IbFlap) return {fault.rank};
  if (fault.from >= 0) return {fault.from, fault.to};
  const int node = fault.node >= 0 ? fault.node : fault.rank / job.cluster.gpus_per_node;
  std::set<int> ranks;
  for (int r = 0; r < job.cluster.gpus_per_node; ++r) ranks.insert(node * job.cluster.gpus_per_node + r);
  return ranks;
}

inline std::vector<int> candidates_of(const Diagnosis& d) {
  std::vector<int> out;
  for (const Alternative& one : d.alternatives)
    out.insert(out.end(), one.culprits.begin(), one.culprits.end());
  std::sort(out.begin(), out.end());
  return out;
}

inline std::string describe(const Diagnosis& d) {
  std::string out = std::string(to_word(d.kind)) + " (" + std::string(to_word(d.confidence)) + ") culprits";
  for (const int r : d.culprits) out += ' ' + std::to_string(r);
  out += " candidates";
  for (const int r : candidates_of(d)) out += ' ' + std::to_string(r);
  return out + ": " + d.first_cause.what;
}

/// No rank is named that no fault struck, no victim is a culprit, and an unknown names nobody.
inline void expect_nobody_innocent_accused(const Diagnosis& d, const std::set<int>& guilty,
                                           int gpus_per_node) {
  for (const int r : d.culprits)
    EXPECT_TRUE(guilty.contains(r)) << "R" << r << " is innocent: " << describe(d);
  for (const std::string& host : d.culprit_nodes) {
    const bool any = std::any_of(guilty.begin(), guilty.end(),
                                 [&](int r) { return Scenario::node_name(r / gpus_per_node) == host; });
    EXPECT_TRUE(any) << host << " is innocent: " << describe(d);
  }
  for (const int victim : d.victims)
    EXPECT_FALSE(std::binary_search(d.culprits.begin(), d.culprits.end(), victim)) << describe(d);
  if (d.confidence == Confidence::Unknown) {
    EXPECT_TRUE(d.culprits.empty()) << describe(d);
  }
  if (d.kind == DiagnosisKind::None) {
    EXPECT_TRUE(d.culprits.empty() && d.culprit_nodes.empty());
  }
}

}  // namespace ringside::sim::test
