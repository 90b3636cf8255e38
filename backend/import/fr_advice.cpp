// What PyTorch's own analyser would say about the same dumps, and what to do next.
#include <algorithm>

#include "backend/import/fr_reasoner.hpp"

namespace ringside::backend::fr {

/// torchfrtrace compares all with the first rank of a call, and lists the ranks that have no entry for it.
void Reasoner::torchfrtrace_on_mismatch(const FrMismatch& mismatch) {
  const auto first =
      std::min_element(mismatch.sides.begin(), mismatch.sides.end(),
                       [](const auto& a, const auto& b) { return a.second.front() < b.second.front(); });
  std::vector<int> named;
  for (const auto& side : mismatch.sides)
    if (&side != &*first) named.insert(named.end(), side.second.begin(), side.second.end());
  std::sort(named.begin(), named.end());
  const std::string error = mismatch.sides.front().first.substr(0, mismatch.sides.front().first.find(' ')) !=
                                    mismatch.sides[1].first.substr(0, mismatch.sides[1].first.find(' '))
                                ? "COLLECTIVE_TYPE_MISMATCH"
                            : mismatch.kind == DiagnosisKind::DtypeMismatch ? "COLLECTIVE_DTYPE_MISMATCH"
                                                                            : "SIZE_OR_SYNTAX_MISMATCH";
  const bool right = !mismatch.odd.empty() && named == mismatch.odd;
  std::string text = "Collective sequence number: " + std::to_string(mismatch.seq) +
                     " has errors; Culprit rank " + list(named) + "; Error type: " + error;
  if (!right)
    text +=
        mismatch.odd.empty()
            ? ". It takes the first rank as innocent; with no majority nothing supports that"
            : ". It takes the first rank as innocent, which here is the odd one, and so blames the others";
  out_.tools_would_say.push_back(
      {"torchfrtrace", std::move(text), right ? ToolVerdict::Right : ToolVerdict::Misleading});
}

void Reasoner::torchfrtrace() {
  if (decided_by_ != nullptr) return torchfrtrace_on_mismatch(*decided_by_);
  // It stops at the first call that not all members have an entry for; a rank that finished it counts as
  // missing as well when its dump holds only active calls.
  const FrOp* first = nullptr;
  std::vector<int> named;
  for (const auto& op : graph_.ops) {
    if (op.p2p || (first != nullptr && first->waiters.front() <= op.waiters.front())) continue;
    std::vector<int> joined;
    for (std::size_t i = 0; i < indices_.size(); ++i)
      if (indices_[i].find(op.group, op.seq) != nullptr) joined.push_back(recorder_.dumps[i].rank);
    std::vector<int> members = recorder_.groups[op.group].ranks;
    std::sort(members.begin(), members.end());
    std::vector<int> absent = without(members, joined);
    if (absent.empty()) continue;
    first = &op;
    named = std::move(absent);
  }
  if (first == nullptr) {
    if (!graph_.ops.empty())
      out_.tools_would_say.push_back(
          {"torchfrtrace",
           "names nobody: it compares collectives call by call, and where all have an "
           "entry only their states differ",
           ToolVerdict::Silent});
    return;
  }
  const bool right = named == out_.culprits;
  std::string text = "Not all ranks joining collective, sequence number: " + std::to_string(first->seq) +
                     ", missing ranks: {" + list(named) + "}";
  if (!right)
    text += out_.kind == DiagnosisKind::CollectiveOrder
                ? ". Calls in another order look like missing ranks to it"
                : ". It looks at one call of one group and does not follow who waits for whom";
  out_.tools_would_say.push_back(
      {"torchfrtrace", std::move(text), right ? ToolVerdict::Right : ToolVerdict::Misleading});
}

void Reasoner::steps() {
  auto& steps = out_.next_steps;
  const std::string who = out_.culprits.empty() ? "the ranks named above" : ranks_word(out_.culprits);
  switch (out_.kind) {
    case DiagnosisKind::HangRankMissing:
      steps.push_back("Read the host stack of " + who + ": py-spy dump --native --pid <pid>");
      if (!out_.alternatives.empty() && out_.alternatives.front().kind == DiagnosisKind::GpuHw) {
        steps.push_back("On the node of " + who + ": dmesg | grep -i xid");
        steps.push_back("On the same node: nvidia-smi -q -d ECC,ROW_REMAPPER,PERFORMANCE");
      }
      break;
    case DiagnosisKind::RankCrash:
      steps.push_back("Read the log of " + who +
                      " above its first line about a connection or NCCL, and the exit code");
      steps.push_back("On its node: dmesg | grep -i -e xid -e oom");
      break;
    case DiagnosisKind::ShapeMismatch:
    case DiagnosisKind::DtypeMismatch:
    case DiagnosisKind::CollectiveOrder:
    case DiagnosisKind::SequenceMismatch:
      steps.push_back(
          "Run a few training steps with TORCH_DISTRIBUTED_DEBUG=DETAIL: the mismatch is then an error with "
          "both sides");
      steps.push_back("Find what " + who +
                      " does otherwise before that call: a condition on rank, data or parameters");
      break;
    case DiagnosisKind::None:
      return;
    default:
      steps.push_back(
          "Collect the dumps of all ranks: TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1");
      steps.push_back(
          "Read the kernel log of every node (Xid, AER, port errors) and the logs of the ranks without a "
          "dump");
  }
}

void Reasoner::finish() {
  std::sort(out_.culprits.begin(), out_.culprits.end());
  std::vector<int> waiting;
  for (const auto& node : graph_.nodes)
    if (node.stand == FrStand::Waits || node.stand == FrStand::AllJoined) waiting.push_back(node.rank);
  if (decided_by_ != nullptr)
    for (const auto& side : decided_by_->sides)
      waiting.insert(waiting.end(), side.second.begin(), side.second.end());
  std::sort(waiting.begin(), waiting.end());
  waiting.erase(std::unique(waiting.begin(), waiting.end()), waiting.end());
  if (!out_.culprits.empty()) out_.victims = without(waiting, out_.culprits);
  torchfrtrace();
  steps();
}

}  // namespace ringside::backend::fr
