// Rules on watchdog lines: the decision table of a stuck process group.
#include <algorithm>

#include "backend/import/rules.hpp"
#include "backend/import/vote.hpp"
#include "backend/import/watchdog.hpp"

namespace ringside::backend::rules {
namespace {

using sim::Confidence;
using sim::DiagnosisKind;

std::string group_words(const WatchedGroup& group) {
  if (group.whole_job) return "";
  return " of process group " + (group.name.empty() ? group.key : group.name + " (" + group.key + ")");
}

void show(Finding& finding, const WatchedGroup& group) {
  for (const Fact* fact : group.desync) finding.evidence.push_back(fact);
  for (const auto& [rank, call] : group.waiting) finding.evidence.push_back(call.fact);
  for (const auto& [rank, call] : group.waiting) finding.victims.insert(rank);
}

/// The desync report names the ranks that are behind, as group ranks. All reports must agree.
std::optional<Finding> from_desync(const Case& c, const WatchedGroup& group) {
  if (group.desync.empty()) return std::nullopt;
  std::set<int> lagging;
  std::int64_t seq = -1;
  for (const Fact* fact : group.desync) {
    for (const int inside : fact->named) {
      const int rank = group.to_global(inside);
      if (rank < 0) return std::nullopt;
      lagging.insert(rank);
    }
    if (fact->seq >= 0) seq = fact->seq;
  }
  const auto size = static_cast<std::int64_t>(
      std::max<std::size_t>(group.waiting.size() + lagging.size(),
                            static_cast<std::size_t>(std::max<std::int64_t>(group.size, 0))));
  Finding finding;
  finding.rule = "watchdog_groups";
  finding.kind = DiagnosisKind::HangRankMissing;
  show(finding, group);
  if (static_cast<std::int64_t>(lagging.size()) * 2 >= size) {
    // Most are "behind": then the few ahead made a call too many. The report blames the wrong side.
    finding.kind = DiagnosisKind::SequenceMismatch;
    finding.confidence = Confidence::Unknown;
    for (const auto& [rank, call] : group.waiting)
      if (lagging.count(rank) == 0) finding.culprits.push_back(rank);
    if (!finding.culprits.empty() && finding.culprits.size() * 2 < static_cast<std::size_t>(size))
      finding.confidence = Confidence::Likely;
    else
      finding.culprits.clear();
    finding.what =
        "the desync report calls most ranks lagging; " + name_ranks(finding.culprits) + " is ahead of them";
    finding.why = "A report that blames the majority means an extra call on the minority.";
    finding.nodes = c.hosts_of(finding.culprits);
    return finding;
  }
  finding.culprits.assign(lagging.begin(), lagging.end());
  finding.nodes = c.hosts_of(finding.culprits);
  for (const int rank : finding.culprits) finding.victims.erase(rank);
  finding.confidence = Confidence::Certain;
  finding.what = name_ranks(finding.culprits) + " did not join collective" +
                 (seq >= 0 ? " #" + std::to_string(seq) : "") + group_words(group);
  finding.why = "The desync report of " + std::to_string(group.desync.size()) +
                " line(s) names it, and all that wait stop at the same call; the numbers in brackets are "
                "ranks of the group.";
  return finding;
}

std::optional<Finding> from_sequence(const Case& c, const WatchedGroup& group) {
  std::map<int, std::string> said;
  std::int64_t lowest = INT64_MAX;
  for (const auto& [rank, call] : group.waiting) {
    if (call.seq < 0) return std::nullopt;
    said[rank] = std::to_string(call.seq);
    lowest = std::min(lowest, call.seq);
  }
  bool differ = false;
  for (const auto& [rank, call] : group.waiting) differ = differ || call.seq != lowest;
  if (!differ) return std::nullopt;
  Finding finding;
  finding.rule = "watchdog_groups";
  finding.kind = DiagnosisKind::SequenceMismatch;
  show(finding, group);
  const Vote result = vote(said);
  const bool all_here = group.size == 0 || static_cast<std::int64_t>(group.waiting.size()) >= group.size;
  if (result.decided && result.minority.size() < result.majority.size()) {
    finding.culprits = result.minority;
    const std::int64_t odd = group.waiting.at(result.minority.front()).seq;
    const std::int64_t usual = group.waiting.at(result.majority.front()).seq;
    const bool behind = odd < usual;
    finding.confidence =
        (behind || all_here) && result.majority.size() >= 2 ? Confidence::Certain : Confidence::Likely;
    finding.what = name_ranks(finding.culprits) + " waits in call #" + std::to_string(odd) +
                   group_words(group) + " while " + std::to_string(result.majority.size()) +
                   " ranks wait in #" + std::to_string(usual);
    finding.why = behind ? "Ranks of one group make the same calls in the same order; the one with the lower "
                           "number has made fewer calls."
                         : "Most ranks agree on the lower number, so the rank ahead has made a call that the "
                           "others do not make.";
  } else {
    finding.confidence = Confidence::Unknown;
    finding.what = "ranks wait in different calls" + group_words(group);
    finding.why = "Neither side has a majority: one has made a call too few or the other one too many.";
    for (const auto& [rank, call] : group.waiting)
      if (call.seq == lowest)
        finding.alternatives.push_back(
            {finding.kind, {rank}, "has the lowest number, but as many are ahead as behind"});
  }
  for (const int rank : finding.culprits) finding.victims.erase(rank);
  finding.nodes = c.hosts_of(finding.culprits);
  return finding;
}

/// Same number, but another operation or another size.
std::optional<Finding> from_content(const Case& c, const WatchedGroup& group) {
  if (group.waiting.size() < 2) return std::nullopt;
  const auto compare = [&](DiagnosisKind kind, const auto& text) -> std::optional<Finding> {
    std::map<int, std::string> said;
    std::set<std::string> different;
    for (const auto& [rank, call] : group.waiting) different.insert(said[rank] = text(call));
    if (different.size() < 2) return std::nullopt;
    Finding finding;
    finding.rule = "watchdog_groups";
    finding.kind = kind;
    show(finding, group);
    const Vote result = vote(said);
    const StuckCall& first = group.waiting.begin()->second;
    if (result.decided) {
      finding.culprits = result.minority;
      finding.confidence = Confidence::Certain;
      finding.what = name_ranks(finding.culprits) + " runs " + said[result.minority.front()] +
                     " where the others run " + said[result.majority.front()] +
                     (first.seq >= 0 ? ", both as call #" + std::to_string(first.seq) : "") +
                     group_words(group);
      finding.why =
          "All wait at the same number, so the calls should be equal; the minority is the odd one. A timeout "
          "on all ranks is no network fault here.";
    } else {
      finding.confidence = Confidence::Unknown;
      finding.what = "ranks run different calls under the same number" + group_words(group);
      finding.why = "There is no majority that would tell which side is wrong.";
      for (const auto& [rank, what] : said)
        finding.alternatives.push_back({kind, {rank}, "runs " + what + "; no majority"});
    }
    for (const int rank : finding.culprits) finding.victims.erase(rank);
    finding.nodes = c.hosts_of(finding.culprits);
    return finding;
  };
  if (auto finding = compare(DiagnosisKind::CollectiveOrder, [](const StuckCall& call) { return call.op; }))
    return finding;
  const std::string& op = group.waiting.begin()->second.op;
  if (op.rfind("ALLTOALL", 0) == 0 || op == "SEND" || op == "RECV" || op == "COALESCED")
    return std::nullopt;  // may differ by right
  return compare(DiagnosisKind::ShapeMismatch, [&op](const StuckCall& call) {
    const std::int64_t numel = op == "SCATTER" ? call.numel_out : call.numel_in;
    if (numel < 0) return call.op;
    return call.op + " of " + std::to_string(numel) + " elements";
  });
}

/// What a rank that does not wait with the others was doing, by its own words.
DiagnosisKind kind_of_absence(const Case& c, const std::vector<int>& ranks, std::string& words) {
  bool ended = false;
  bool left = false;
  bool skipped = false;
  for (const int rank : ranks) {
    if (const Fact* note = c.note(FactKind::EndOfData, rank)) (note->name == "skip" ? skipped : ended) = true;
    if (c.note(FactKind::CleanExit, rank) != nullptr) left = true;
  }
  left = left || (!ended && left_with_zero(c, ranks));
  words = left      ? " and had left"
          : ended   ? " because its data had ended"
          : skipped ? " after skipping work"
                    : "";
  if (left) return DiagnosisKind::RankExitEarly;
  if (ended) return DiagnosisKind::UnevenData;
  if (skipped) return DiagnosisKind::SequenceMismatch;
  return DiagnosisKind::HangRankMissing;
}

/// SIGABRT that the launcher, the shell or the process itself reports of this rank, with no reason beside it.
const Fact* abort_of(const Case& c, int rank) {
  constexpr int kAbort = 6;
  for (const FactKind kind : {FactKind::MpiSignal, FactKind::BadTermination, FactKind::CrashSignal,
                              FactKind::ProcessEnd, FactKind::ElasticEntry, FactKind::ElasticRoot})
    for (const Fact* fact : c.of(kind))
      if ((fact->code == kAbort || fact->code == -kAbort || fact->name == "Aborted") && c.rank(*fact) == rank)
        return fact;
  return nullptr;
}

/// A rank that aborted while the others began to wait was there and ended itself, which is neither silence
/// nor its own guilt: a library aborts its process over what it receives as well.
std::optional<Finding> from_abort(const Case& c, const WatchedGroup& group, const std::vector<int>& absent,
                                  const std::string& what) {
  Finding finding;
  for (const int rank : absent) {
    const Fact* fact = abort_of(c, rank);
    if (fact == nullptr) return std::nullopt;
    finding.evidence.push_back(fact);
  }
  finding.rule = "aborted";
  finding.kind = DiagnosisKind::Unknown;
  show(finding, group);
  finding.confidence = Confidence::Unknown;
  finding.what = name_ranks(absent) + " aborted, and the others waited for it in " + what;
  finding.why =
      "SIGABRT is what a failed check, a C++ exception or a communication library sends to its own process, "
      "and "
      "the text that says why is missing: it may have failed by itself, or over a message that another rank "
      "sent.";
  for (const int rank : absent) {
    const std::vector<int> one = {rank};
    finding.alternatives.push_back(
        {DiagnosisKind::RankCrash, one, "if it failed by itself: its last output tells"});
  }
  finding.alternatives.push_back(
      {DiagnosisKind::ShapeMismatch, {}, "if it aborted over a message of the wrong size: then its sender"});
  return finding;
}

std::optional<Finding> from_silence(const Case& c, const WatchedGroup& group,
                                    const std::set<int>& waiting_elsewhere) {
  std::vector<int> members = group.members();
  if (members.empty() && group.whole_job)
    for (const int rank : c.who.seen())
      members.push_back(rank);  // as good as it gets: everybody the log knows
  std::int64_t seq = -1;
  for (const auto& [rank, call] : group.waiting) seq = std::max(seq, call.seq);
  // Who reports a message of the wrong size was in the call: it received it.
  const std::set<int> reporting =
      c.ranks_with({FactKind::MpiError, FactKind::GlooSize, FactKind::NcclTruncated});
  std::vector<int> silent;
  std::vector<int> behind;  // answered a dump signal and said that they have not made the call
  for (const int rank : members) {
    if (group.waiting.count(rank) != 0) continue;
    if (const auto status = group.enqueued.find(rank); status != group.enqueued.end()) {
      if (seq >= 0 && status->second < seq) behind.push_back(rank);
      continue;
    }
    if (waiting_elsewhere.count(rank) == 0 && reporting.count(rank) == 0) silent.push_back(rank);
  }
  Finding finding;
  finding.rule = "watchdog_groups";
  show(finding, group);
  const StuckCall& call = group.waiting.begin()->second;
  const std::string what = call.op + (seq >= 0 ? " #" + std::to_string(seq) : "") + group_words(group);
  std::vector<int> absent = behind.empty() ? silent : behind;
  if (absent.empty()) return std::nullopt;
  if (behind.empty())
    if (auto aborted = from_abort(c, group, absent, what)) return aborted;
  std::vector<int> left;
  for (const int rank : absent)
    if (c.note(FactKind::CleanExit, rank) != nullptr) left.push_back(rank);
  if (absent.size() > group.waiting.size()) {
    if (left.size() == absent.size() || (left.size() > group.waiting.size() && c.has(FactKind::JobDone))) {
      // Everybody else had finished: the few that wait made a call that nobody else makes.
      finding.kind = DiagnosisKind::CollectiveOrder;
      for (const auto& [rank, one] : group.waiting) finding.culprits.push_back(rank);
      finding.nodes = c.hosts_of(finding.culprits);
      finding.confidence = Confidence::Likely;
      finding.victims.clear();
      for (const int rank : absent) finding.victims.insert(rank);
      finding.what =
          name_ranks(finding.culprits) + " called " + what + " when all others had finished and left";
      finding.why =
          "A collective inside code that only one rank runs waits for ever; the ranks that left in good "
          "order are not guilty.";
      return finding;
    }
    finding.kind = DiagnosisKind::HangRankMissing;
    finding.confidence = Confidence::Unknown;
    finding.what = std::to_string(group.waiting.size()) + " rank(s) timed out in " + what;
    finding.why =
        "Too few ranks report to tell who is missing: the others may wait too, or their output is not here.";
    for (const int rank : std::vector<int>(
             absent.begin(),
             absent.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(absent.size(), 8))))
      finding.alternatives.push_back(
          {DiagnosisKind::HangRankMissing,
           {rank},
           "prints no timeout, like " + std::to_string(absent.size() - 1) + " others"});
    return finding;
  }
  std::string words;
  finding.kind = kind_of_absence(c, absent, words);
  finding.culprits = absent;
  finding.nodes = c.hosts_of(absent);
  const bool all_seen =
      std::all_of(absent.begin(), absent.end(), [&c](int rank) { return c.who.seen().count(rank) != 0; });
  const bool heard = !behind.empty();
  // One rank missing among many that agree is a statement; half of them missing is not.
  const bool clear =
      absent.size() * 3 <= group.waiting.size() + 1 || (absent.size() == 1 && group.waiting.size() >= 2);
  finding.confidence = heard || (all_seen && clear) ? Confidence::Certain
                       : clear || all_seen          ? Confidence::Likely
                                                    : Confidence::Unknown;
  if (finding.confidence == Confidence::Unknown) {
    for (const int rank : absent)
      finding.alternatives.push_back({finding.kind, {rank}, "prints nothing, but neither do others"});
    finding.culprits.clear();
    finding.nodes.clear();
  }
  for (const int rank : absent)
    if (const Fact* last = c.last_words(rank)) finding.evidence.push_back(last);
  for (const int rank : absent)
    for (const auto& [waiter, one] : group.waiting)
      if (finding.waits_for.size() < 4096) finding.waits_for.emplace_back(waiter, rank);
  finding.what = name_ranks(absent) + " never joined " + what + words;
  finding.why = std::to_string(group.waiting.size()) + " ranks time out in the same call" +
                (heard ? ", and this rank itself says that it has not made it."
                       : "; this one prints no timeout. Who reports a timeout has waited, and is a victim.");
  return finding;
}

std::optional<Finding> from_heartbeats(const Case& c) {
  const auto& stuck = c.of(FactKind::HeartbeatStuck);
  if (stuck.empty()) return std::nullopt;
  std::map<int, std::int64_t> outstanding;
  std::set<int> ranks;
  for (const Fact* fact : stuck) {
    const int rank = c.torch_rank(*fact);
    if (rank < 0) continue;
    ranks.insert(rank);
    if (fact->enqueued >= 0) outstanding[rank] = fact->enqueued;
  }
  Finding finding;
  finding.rule = "watchdog_groups";
  finding.kind = DiagnosisKind::HangRankMissing;
  finding.evidence = stuck;
  finding.victims = ranks;
  finding.confidence = Confidence::Unknown;
  finding.what = "watchdog threads made no progress on " + name_ranks({ranks.begin(), ranks.end()});
  finding.why =
      "A CUDA or NCCL call hangs inside the watchdog itself; that happens to victims and to the guilty "
      "alike.";
  if (outstanding.size() >= 3) {  // whoever has fewer outstanding works has enqueued less
    std::map<int, std::string> said;
    for (const auto& [rank, count] : outstanding) said[rank] = std::to_string(count);
    const Vote result = vote(said);
    if (result.decided && result.minority.size() == 1 &&
        outstanding[result.minority.front()] < outstanding[result.majority.front()]) {
      finding.culprits = result.minority;
      finding.nodes = c.hosts_of(finding.culprits);
      finding.victims.erase(result.minority.front());
      finding.confidence = Confidence::Likely;
      finding.what = name_ranks(finding.culprits) + " has fewer outstanding collectives than all others";
      finding.why =
          "workMetaList_.size() counts what a rank has enqueued and not seen finished; a smaller number "
          "means that it enqueued less.";
    }
  }
  if (finding.culprits.empty() && c.world() > 0 && static_cast<std::int64_t>(ranks.size()) * 2 < c.world())
    for (const int rank : ranks)
      finding.alternatives.push_back(
          {finding.kind, {rank}, "its watchdog was stuck, which also happens to ranks that wait"});
  return finding;
}

}  // namespace

std::optional<Finding> watchdog_groups(const Case& c) {
  const std::vector<WatchedGroup> groups = watched_groups(c);
  std::optional<Finding> undecided;
  for (std::size_t at = 0; at < groups.size(); ++at) {
    const WatchedGroup& group = groups[at];
    if (auto finding = from_desync(c, group)) return finding;
    if (group.waiting.empty()) continue;
    std::optional<Finding> finding = from_sequence(c, group);
    if (!finding) finding = from_content(c, group);
    if (!finding) {
      std::set<int> elsewhere;  // who is missing here but waits in another group is held up there
      for (std::size_t other = 0; other < groups.size(); ++other)
        if (other != at)
          for (const auto& [rank, call] : groups[other].waiting) elsewhere.insert(rank);
      finding = from_silence(c, group, elsewhere);
    }
    if (finding && finding->confidence != Confidence::Unknown) return finding;
    if (finding && !undecided) undecided = finding;
  }
  if (undecided) return undecided;
  // A receiver of a wrong size says more than timeouts all around: gloo_size and mpi_error take it from
  // there.
  if (size_report(c) != nullptr) return std::nullopt;
  if (!groups.empty()) {
    Finding finding;
    finding.rule = "watchdog_groups";
    finding.kind = DiagnosisKind::Unknown;
    finding.confidence = Confidence::Unknown;
    for (const WatchedGroup& group : groups) show(finding, group);
    finding.what = "all ranks time out in the same call";
    finding.why =
        "Nobody is missing and the calls are equal: the network, a GPU that does not move, or a hang below "
        "PyTorch. Flight Recorder dumps or NCCL's RAS would tell.";
    finding.alternatives.push_back(
        {DiagnosisKind::IbError, {}, "no line about the network stands before the timeouts"});
    return finding;
  }
  if (!c.of(FactKind::WatchdogTimeout).empty()) {  // "Operation timed out" without any field
    Finding finding;
    finding.rule = "watchdog_groups";
    finding.kind = DiagnosisKind::HangRankMissing;
    finding.confidence = Confidence::Unknown;
    finding.evidence = c.of(FactKind::WatchdogTimeout);
    finding.what = "a collective timed out";
    finding.why = "The line has no rank, operation or number.";
    return finding;
  }
  return from_heartbeats(c);
}

}  // namespace ringside::backend::rules
