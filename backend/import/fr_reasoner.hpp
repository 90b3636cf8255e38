// How the Flight Recorder dumps of all ranks are judged, in the parts that fr_diagnosis.cpp (who it was) and
// fr_advice.cpp (what tools would say, what to do) share. The idea stands in fr_diagnosis.hpp.
#pragma once

#include <string>
#include <vector>

#include "backend/import/fr_diagnosis.hpp"

namespace ringside::backend::fr {

using sim::Confidence;
using sim::Diagnosis;
using sim::DiagnosisKind;
using sim::ToolVerdict;

inline constexpr std::size_t kShownRanks = 16;

/// "1, 2, 3 … (40)": at most kShownRanks.
std::string list(const std::vector<int>& ranks);
/// "rank 3", "ranks 1, 2".
std::string ranks_word(const std::vector<int>& ranks);
/// Both sorted.
std::vector<int> without(const std::vector<int>& ranks, const std::vector<int>& taken);

class Reasoner {
 public:
  explicit Reasoner(const FlightRecorder& recorder)
      : recorder_(recorder), graph_(wait_graph(recorder)), mismatches_(find_mismatches(recorder)) {
    indices_.reserve(recorder.dumps.size());
    for (const auto& dump : recorder.dumps) indices_.emplace_back(dump);
  }

  Diagnosis run();

 private:
  // Words

  std::string group_name(std::uint32_t id) const {
    const FrGroup& group = recorder_.groups[id];
    return group.desc.empty() || group.desc == "undefined" ? "group " + group.name
                                                           : group.desc + " (group " + group.name + ")";
  }
  std::string call_text(const FrOp& op) const {
    return std::string(recorder_.text(op.op)) + (op.p2p ? ", p2p call " : ", call ") +
           std::to_string(op.seq) + " of " + group_name(op.group);
  }
  const FrOp* op_of(const FrNode& node) const {
    return node.op < 0 ? nullptr : &graph_.ops[static_cast<std::size_t>(node.op)];
  }
  void evidence(int rank, std::string text) {
    const FrDump* dump = recorder_.dump_of(rank);
    sim::Evidence line;
    line.file = dump != nullptr ? dump->file : "";
    line.text = std::move(text);
    out_.evidence.push_back(std::move(line));
  }
  std::string site_of(const FrEntry* call) const {
    return call == nullptr || call->site == 0 ? "" : ", called in " + std::string(recorder_.text(call->site));
  }
  void nothing(std::string what) {
    out_.kind = DiagnosisKind::Unknown;
    out_.confidence = Confidence::Unknown;
    out_.first_cause.what = std::move(what);
  }
  void blame(DiagnosisKind kind, std::vector<int> culprits, Confidence confidence, std::string what) {
    out_.kind = kind;
    out_.confidence = confidence;
    out_.culprits = std::move(culprits);
    if (out_.culprits.size() == 1) out_.first_cause.rank = out_.culprits.front();
    out_.first_cause.what = std::move(what);
  }
  void alternative(DiagnosisKind kind, std::vector<int> culprits, std::string why_not) {
    out_.alternatives.push_back({kind, std::move(culprits), std::move(why_not)});
  }

  bool by_mismatch(bool unfinished);
  bool by_roots();
  bool by_extra_call();
  bool by_cycle();
  bool by_joined();
  void by_counters();
  void roots_evidence(const std::vector<int>& roots);
  void blame_no_dump(const std::vector<int>& roots);
  void blame_present(const std::vector<int>& roots);
  void torchfrtrace();
  void torchfrtrace_on_mismatch(const FrMismatch& mismatch);
  void steps();
  void finish();

  const FlightRecorder& recorder_;
  WaitGraph graph_;
  std::vector<FrMismatch> mismatches_;
  std::vector<FrCallIndex> indices_;  // by dump
  std::vector<int> with_dump_;
  std::vector<int> no_dump_;
  const FrMismatch* decided_by_ = nullptr;
  Diagnosis out_;
};

}  // namespace ringside::backend::fr
