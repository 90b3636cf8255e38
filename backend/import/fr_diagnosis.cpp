#include "backend/import/fr_diagnosis.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "backend/import/fr_reasoner.hpp"
#include "sim/base/text.hpp"

namespace ringside::backend {
namespace fr {

std::string list(const std::vector<int>& ranks) {
  std::string out;
  for (std::size_t i = 0; i < ranks.size() && i < kShownRanks; ++i)
    out += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
  if (ranks.size() > kShownRanks) out += " … (" + std::to_string(ranks.size()) + ")";
  return out;
}
std::string ranks_word(const std::vector<int>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + list(ranks);
}

std::vector<int> without(const std::vector<int>& ranks, const std::vector<int>& taken) {
  std::vector<int> out;
  std::set_difference(ranks.begin(), ranks.end(), taken.begin(), taken.end(), std::back_inserter(out));
  return out;
}

Diagnosis Reasoner::run() {
  const std::vector<int> expected = recorder_.expected_ranks();
  out_.world_size = static_cast<std::int64_t>(expected.size());
  out_.waits_for = graph_.edges();
  for (const auto& dump : recorder_.dumps) with_dump_.push_back(dump.rank);
  no_dump_ = without(expected, with_dump_);
  if (recorder_.dumps.empty()) {
    nothing("No dump could be read.");
  } else if (!by_mismatch(true) && !by_roots() && !by_cycle() && !by_joined() && !by_mismatch(false)) {
    by_counters();
  }
  finish();
  return std::move(out_);
}

/// Unfinished: ranks wait in a call that they have all joined, and it differs. Otherwise one that has passed:
/// it cannot be what hangs, unless the same ranks are also behind (a skipped call shows twice).
bool Reasoner::by_mismatch(bool unfinished) {
  const FrMismatch* mismatch = nullptr;
  for (const auto& candidate : mismatches_) {
    // A shape that differs with equal counts moves the same bytes and stops nobody. A shifted sequence pairs
    // calls that may all finish, and hangs at its end, in the same group.
    const bool waits_there = std::any_of(graph_.ops.begin(), graph_.ops.end(), [&](const FrOp& op) {
      return op.group == candidate.group && !op.p2p;
    });
    const bool shifted = candidate.kind == DiagnosisKind::SequenceMismatch && waits_there;
    const bool explains =
        shifted || (candidate.unfinished && (candidate.counts_differ || graph_.roots.empty()));
    if (unfinished ? explains : !candidate.unfinished) {
      mismatch = &candidate;
      break;
    }
  }
  if (mismatch == nullptr) return false;
  decided_by_ = mismatch;
  const std::string where = "call " + std::to_string(mismatch->seq) + " of " + group_name(mismatch->group);
  std::string what = mismatch->odd.empty()
                         ? "Ranks differ in " + where + ", and no side has a majority"
                         : "In " + where + ", " + ranks_word(mismatch->odd) +
                               (mismatch->odd.size() == 1 ? " differs" : " differ") + " from the others";
  if (!mismatch->how.empty())
    what += ": " + std::string(mismatch->odd.size() == 1 ? "it " : "they ") + mismatch->how;
  const bool certain = !mismatch->odd.empty() && mismatch->unfinished;
  blame(mismatch->kind, mismatch->odd,
        mismatch->odd.empty() ? Confidence::Unknown
        : certain             ? Confidence::Certain
                              : Confidence::Likely,
        what + ".");
  out_.first_cause.seq = mismatch->seq;
  for (const auto& [call, ranks] : mismatch->sides)
    evidence(ranks.front(), ranks_word(ranks) + " made " + call + " as " + where);
  if (mismatch->odd.empty())
    for (const int rank : mismatch->candidates) {
      if (out_.alternatives.size() >= kShownRanks) break;
      alternative(mismatch->kind, {rank},
                  "possible: with as many ranks on each side, the dumps cannot tell which one is wrong");
    }
  if ((mismatch->kind == DiagnosisKind::ShapeMismatch || mismatch->how == kLaterInLoop) &&
      !mismatch->odd.empty())
    alternative(
        DiagnosisKind::SequenceMismatch, mismatch->odd,
        "possible if the call was made once more or left out there; the calls that follow do not show it");
  if (!mismatch->unfinished) {
    alternative(DiagnosisKind::None, {},
                "the call has finished on all ranks; it may be meant so, check the numbers");
  }
  return true;
}

void Reasoner::roots_evidence(const std::vector<int>& roots) {
  std::size_t shown = 0;
  for (const int rank : roots) {
    if (++shown > kShownRanks) break;
    const FrNode& node = *graph_.node(rank);
    if (node.stand == FrStand::NoDump) {
      evidence(rank, "rank " + std::to_string(rank) + " is waited for and has no dump");
    } else if (node.stand == FrStand::Stuck) {
      const FrOp& op = *op_of(node);
      evidence(rank, "rank " + std::to_string(rank) + " is still in " + call_text(op) + ", which " +
                         ranks_word(op.ahead) + (op.ahead.size() == 1 ? " has" : " have") + " finished" +
                         site_of(node.call));
    } else {
      evidence(rank,
               "rank " + std::to_string(rank) + " has no unfinished call: every call that it made is done");
    }
  }
  // The calls in which they are missed, those with most waiters first.
  std::vector<const FrOp*> ops;
  for (const auto& op : graph_.ops) {
    const bool names = std::any_of(op.missing.begin(), op.missing.end(), [&](int rank) {
      return std::binary_search(roots.begin(), roots.end(), rank);
    });
    if (names) ops.push_back(&op);
  }
  std::stable_sort(ops.begin(), ops.end(),
                   [](const FrOp* a, const FrOp* b) { return a->waiters.size() > b->waiters.size(); });
  for (std::size_t i = 0; i < ops.size() && i < 8; ++i) {
    const FrOp& op = *ops[i];
    evidence(op.waiters.front(),
             ranks_word(op.waiters) + (op.waiters.size() == 1 ? " waits in " : " wait in ") + call_text(op) +
                 " for " + ranks_word(op.missing) + site_of(graph_.node(op.waiters.front())->call));
  }
}

/// One rank waits in a call that none of the others (three or more in the group) has made, and they have
/// nothing to do: then they are not all late, but one is ahead.
bool Reasoner::by_extra_call() {
  for (const auto& op : graph_.ops) {
    if (op.p2p || op.waiters.size() != 1 || op.missing.size() < 2 || op.missing != graph_.roots) continue;
    const bool idle = std::all_of(op.missing.begin(), op.missing.end(),
                                  [&](int rank) { return graph_.node(rank)->stand == FrStand::Idle; });
    if (!idle || !op.unseen.empty()) continue;
    blame(DiagnosisKind::SequenceMismatch, op.waiters, Confidence::Likely,
          "Only rank " + std::to_string(op.waiters.front()) + " made " + call_text(op) +
              "; all the others have finished what they called: it made one call more.");
    out_.first_cause.seq = op.seq;
    evidence(op.waiters.front(), "rank " + list(op.waiters) + " waits alone in " + call_text(op) +
                                     site_of(graph_.node(op.waiters.front())->call));
    roots_evidence(graph_.roots);
    alternative(DiagnosisKind::HangRankMissing, op.missing,
                "possible only if all of them stopped at once before the same call, for example in one slow "
                "file system");
    return true;
  }
  return false;
}

void Reasoner::blame_no_dump(const std::vector<int>& roots) {
  // A handful without a dump are dead; when most of the job was not collected, nothing follows from a missing
  // file.
  const bool few = no_dump_.size() <= std::max<std::size_t>(8, recorder_.dumps.size() / 4);
  roots_evidence(roots);
  if (!few || roots.size() > recorder_.dumps.size()) {
    nothing("The others wait for ranks without a dump, but dumps of " + std::to_string(no_dump_.size()) +
            " of " + std::to_string(out_.world_size) +
            " ranks are missing, so it cannot be told which of them failed.");
    alternative(DiagnosisKind::RankCrash, roots,
                "possible: they are waited for and their dumps are not here");
    return;
  }
  blame(DiagnosisKind::RankCrash, roots, Confidence::Likely,
        "The others wait for " + ranks_word(roots) + (roots.size() == 1 ? ", which" : ", which all") +
            " left no dump: a dead process writes none, a frozen one still does.");
  alternative(DiagnosisKind::HangRankMissing, roots,
              "possible if the whole process was stopped (SIGSTOP), or its dump was not copied");
}

void Reasoner::blame_present(const std::vector<int>& roots) {
  std::vector<int> stuck;
  std::vector<int> idle;
  std::vector<int> dead;
  for (const int rank : roots) {
    const FrStand stand = graph_.node(rank)->stand;
    (stand == FrStand::Stuck ? stuck : stand == FrStand::Idle ? idle : dead).push_back(rank);
  }
  std::string what;
  if (!idle.empty())
    what += "The job waits for " + ranks_word(idle) + ", " + (idle.size() == 1 ? "which has" : "which have") +
            " no call running: the host side stands still (Python frozen, data loader, an exception).";
  if (!stuck.empty())
    what += std::string(what.empty() ? "" : " ") + "The GPU or stream of " + ranks_word(stuck) +
            " does not move: the other members have finished the call that " +
            (stuck.size() == 1 ? "it is" : "they are") + " still in.";
  if (!dead.empty())
    what += " " + std::string("R") + ranks_word(dead).substr(1) + (dead.size() == 1 ? " has" : " have") +
            " no dump.";
  // Half of a group of two, or more, missing: the counters name those behind, and no more than that.
  bool minority = true;
  for (const auto& op : graph_.ops)
    if (!op.p2p && !op.missing.empty() &&
        std::includes(roots.begin(), roots.end(), op.missing.begin(), op.missing.end()))
      minority = minority && op.missing.size() < recorder_.groups[op.group].ranks.size() - op.missing.size();
  const bool certain = dead.empty() && minority;
  blame(DiagnosisKind::HangRankMissing, roots, certain ? Confidence::Certain : Confidence::Likely,
        std::move(what));
  roots_evidence(roots);
  if (!stuck.empty())
    alternative(DiagnosisKind::GpuHw, stuck,
                "possible: a dump does not show why a GPU stops; an Xid in the kernel log would");
  if (!idle.empty())
    alternative(DiagnosisKind::SequenceMismatch, idle,
                "possible if the program left out a call there; the host stack tells");
}

bool Reasoner::by_roots() {
  if (graph_.roots.empty()) return false;
  if (by_extra_call()) return true;
  const bool all_dead = std::all_of(graph_.roots.begin(), graph_.roots.end(),
                                    [&](int rank) { return graph_.node(rank)->stand == FrStand::NoDump; });
  std::vector<int> roots = graph_.roots;
  if (all_dead) {
    blame_no_dump(roots);
  } else {
    // Without most dumps, those that are there decide alone.
    if (no_dump_.size() > std::max<std::size_t>(8, recorder_.dumps.size() / 4))
      roots = without(roots, no_dump_);
    blame_present(roots);
  }
  return true;
}

bool Reasoner::by_cycle() {
  if (graph_.cycles.empty()) return false;
  const std::vector<int>& circle = graph_.cycles.front();
  std::vector<std::pair<const FrOp*, std::vector<int>>> sides;
  for (const int rank : circle) {
    const FrOp* op = op_of(*graph_.node(rank));
    const auto same =
        std::find_if(sides.begin(), sides.end(), [&](const auto& side) { return side.first == op; });
    if (same == sides.end()) {
      sides.emplace_back(op, std::vector<int>{rank});
    } else {
      same->second.push_back(rank);
    }
  }
  std::stable_sort(sides.begin(), sides.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  std::vector<int> odd;
  if (sides.front().second.size() * 2 > circle.size()) odd = without(circle, sides.front().second);
  blame(
      DiagnosisKind::CollectiveOrder, odd, odd.empty() ? Confidence::Unknown : Confidence::Likely,
      "R" + ranks_word(circle).substr(1) +
          " wait for each other in a circle: they make the same calls in different orders" +
          (odd.empty() ? "."
                       : ", and " + ranks_word(odd) + (odd.size() == 1 ? " is" : " are") + " the minority."));
  for (std::size_t i = 0; i < sides.size() && i < kShownRanks; ++i)
    evidence(sides[i].second.front(),
             ranks_word(sides[i].second) + (sides[i].second.size() == 1 ? " waits in " : " wait in ") +
                 call_text(*sides[i].first) + " for " + ranks_word(sides[i].first->missing) +
                 site_of(graph_.node(sides[i].second.front())->call));
  if (odd.empty())
    for (std::size_t i = 0; i < circle.size() && i < kShownRanks; ++i)
      alternative(DiagnosisKind::CollectiveOrder, {circle[i]}, "possible: the circle has no majority");
  return true;
}

/// Nobody is missing, and the call does not end. With timing on, a rank on which it has not even started is
/// the one whose stream is blocked.
bool Reasoner::by_joined() {
  if (graph_.all_joined.empty()) return false;
  for (const auto& op : graph_.ops) {
    if (op.p2p || !op.missing.empty() || !op.ahead.empty() || op.waiters.size() < 3) continue;
    std::vector<int> waiting;
    for (const int rank : op.waiters)
      if (graph_.node(rank)->call->state != FrState::Started) waiting.push_back(rank);
    if (waiting.empty() || waiting.size() * 2 >= op.waiters.size()) continue;
    blame(DiagnosisKind::HangRankMissing, waiting, Confidence::Likely,
          "All ranks have called " + call_text(op) + ", but on " + ranks_word(waiting) +
              " it has not started: the stream is blocked there.");
    out_.first_cause.seq = op.seq;
    evidence(waiting.front(), ranks_word(waiting) + ": scheduled; the other members: started");
    return true;
  }
  nothing(
      "All members have joined the calls that do not end, and the calls agree: nobody is missing. That is a "
      "network, a GPU, or dumps "
      "taken while the job was moving.");
  for (const auto& op : graph_.ops) {
    if (op.missing.empty() && op.ahead.empty() && out_.evidence.size() < 8)
      evidence(op.waiters.front(), ranks_word(op.waiters) +
                                       (op.waiters.size() == 1 ? " is in " : " are in ") + call_text(op) +
                                       "; every member has joined it");
  }
  return true;
}

/// Nothing waits for anybody: a difference in the counters of one group is all that is left.
void Reasoner::by_counters() {
  for (std::uint32_t group = 0; group < recorder_.groups.size(); ++group) {
    std::int64_t most = -1;
    std::vector<int> behind;
    std::vector<int> members;
    for (const int pass : {0, 1}) {
      for (std::size_t i = 0; i < indices_.size(); ++i) {
        const auto& ranks = recorder_.groups[group].ranks;
        if (std::find(ranks.begin(), ranks.end(), recorder_.dumps[i].rank) == ranks.end()) continue;
        const std::int64_t enqueued = indices_[i].enqueued(group);
        if (pass == 0) most = std::max(most, enqueued);
        if (pass == 1) members.push_back(recorder_.dumps[i].rank);
        if (pass == 1 && enqueued >= 0 && enqueued < most) behind.push_back(recorder_.dumps[i].rank);
      }
    }
    if (behind.empty() || behind.size() * 2 >= members.size()) continue;
    blame(DiagnosisKind::HangRankMissing, behind, Confidence::Likely,
          "R" + ranks_word(behind).substr(1) + " made fewer calls than the others in " + group_name(group) +
              ".");
    out_.first_cause.seq = most;
    evidence(behind.front(),
             ranks_word(behind) + ": fewer than " + std::to_string(most) + " calls in " + group_name(group));
    return;
  }
  std::vector<int> stuck;
  for (const auto& node : graph_.nodes)
    if (node.stand == FrStand::Stuck) stuck.push_back(node.rank);
  if (!stuck.empty()) {
    nothing(
        "Some ranks have finished a call that others are still in, and nobody waits for those: a state alone "
        "names nobody, the dumps may "
        "have been taken at different moments.");
    roots_evidence(stuck);
    alternative(DiagnosisKind::HangRankMissing, stuck,
                "possible if a later dump shows them in the same call");
    return;
  }
  if (!no_dump_.empty()) {
    nothing("The dumps that are here show nothing unfinished; those of " + ranks_word(no_dump_) +
            " are missing.");
    alternative(DiagnosisKind::RankCrash, no_dump_, "possible: no dump of it is here");
    return;
  }
  blame(DiagnosisKind::None, {}, Confidence::Likely,
        "Nothing is unfinished and all counters agree: at the time of the dumps no rank waited for another.");
  evidence(with_dump_.front(), ranks_word(with_dump_) + ": every call that was made is done");
}

}  // namespace fr

sim::Diagnosis diagnose(const FlightRecorder& recorder) {
  return fr::Reasoner(recorder).run();
}

}  // namespace ringside::backend
