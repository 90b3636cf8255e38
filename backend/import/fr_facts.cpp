// The verdict of Flight Recorder dumps as a Fact.
#include <algorithm>

#include "backend/import/fr_diagnosis.hpp"

namespace ringside::backend {
namespace {

using sim::Diagnosis;
using sim::DiagnosisKind;

/// The name of an operation as the watchdog prints it.
std::string op_type(std::string_view op) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"all_reduce", "ALLREDUCE"},
      {"all_gather", "ALLGATHER"},
      {"_all_gather_base", "_ALLGATHER_BASE"},
      {"all_to_all", "ALLTOALL"},
      {"alltoall_base", "ALLTOALL_BASE"}};
  for (const auto& [name, type] : kNames)
    if (name == op) return std::string(type);
  std::string out(op);
  for (char& c : out)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return out;
}

CallPrint print_of(const FlightRecorder& recorder, const FrMismatch& mismatch, std::size_t side) {
  CallPrint out;
  const FrDump* dump = recorder.dump_of(mismatch.sides[side].second.front());
  const FrEntry* entry = FrCallIndex(*dump).find(mismatch.group, mismatch.seq);
  if (entry == nullptr) return out;
  out.seq = entry->seq;
  out.op = op_type(recorder.text(entry->op));
  out.shape = recorder.text(entry->input_sizes);
  out.dtype = recorder.text(entry->input_dtypes);
  return out;
}

}  // namespace

void append_facts(const FlightRecorder& recorder, Facts& facts) {
  const Diagnosis verdict = diagnose(recorder);
  facts.world_size = std::max(facts.world_size, verdict.world_size);
  if (verdict.kind == DiagnosisKind::None || recorder.dumps.empty()) return;
  Fact fact;
  fact.layer = Layer::FlightRecorder;
  fact.role = Role::Names;
  fact.file = facts.add_file(verdict.evidence.empty() || verdict.evidence.front().file.empty()
                                 ? recorder.dumps.front().file
                                 : verdict.evidence.front().file);
  fact.text = verdict.first_cause.what.substr(0, kMaxFactText);
  fact.named = verdict.culprits;
  const auto mismatches = find_mismatches(recorder);
  const auto decided = std::find_if(mismatches.begin(), mismatches.end(), [&](const FrMismatch& mismatch) {
    return mismatch.kind == verdict.kind && mismatch.seq == verdict.first_cause.seq;
  });
  const WaitGraph graph = wait_graph(recorder);
  if (decided != mismatches.end()) {
    fact.kind = FactKind::FrMismatch;
    fact.name = decided->kind == DiagnosisKind::ShapeMismatch     ? "shape"
                : decided->kind == DiagnosisKind::DtypeMismatch   ? "dtype"
                : decided->kind == DiagnosisKind::CollectiveOrder ? "order"
                                                                  : "sequence";
    fact.mine = print_of(recorder, *decided, 0);
    fact.theirs = print_of(recorder, *decided, 1);
    fact.pg = recorder.groups[decided->group].name;
    fact.pg_name = recorder.groups[decided->group].desc;
    fact.seq = decided->seq;
    fact.op = fact.mine.op;
  } else if (!verdict.culprits.empty()) {
    const bool missing =
        verdict.kind == DiagnosisKind::HangRankMissing || verdict.kind == DiagnosisKind::RankCrash;
    fact.kind = missing ? FactKind::FrMissing : FactKind::FrMismatch;
    const FrNode* node = graph.node(verdict.culprits.front());
    if (missing && node != nullptr)
      fact.name = node->stand == FrStand::NoDump ? "no dump"
                  : node->stand == FrStand::Idle ? "idle"
                                                 : "stuck";
    else if (!missing)
      fact.name = verdict.kind == DiagnosisKind::CollectiveOrder ? "order" : "sequence";
    // The call in which most ranks miss them.
    const FrOp* most = nullptr;
    for (const auto& op : graph.ops) {
      const bool names = std::binary_search(op.missing.begin(), op.missing.end(), verdict.culprits.front());
      if (names && (most == nullptr || op.waiters.size() > most->waiters.size())) most = &op;
    }
    if (most != nullptr) {
      fact.pg = recorder.groups[most->group].name;
      fact.pg_name = recorder.groups[most->group].desc;
      fact.seq = most->seq;
      fact.op = op_type(recorder.text(most->op));
    }
  } else {
    fact.kind = FactKind::FrState;
  }
  facts.facts.push_back(std::move(fact));
}

}  // namespace ringside::backend
