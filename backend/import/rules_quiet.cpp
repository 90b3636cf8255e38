// Rules for logs in which the guilty rank says nothing: Gloo waits, closed connections, tables without text;
// and for logs in which nothing failed.
#include <algorithm>
#include <map>

#include "backend/import/codes.hpp"
#include "backend/import/rules.hpp"
#include "backend/import/vote.hpp"

namespace ringside::backend::rules {
namespace {

using sim::Confidence;
using sim::DiagnosisKind;

/// Kinds that a finished job may still print while it shuts down.
constexpr FactKind kFailureKinds[] = {
    FactKind::WatchdogTimeout,  FactKind::WatchdogError,  FactKind::NcclErrorText, FactKind::DesyncLagging,
    FactKind::WrapperMismatch,  FactKind::BarrierMissing, FactKind::GlooTimeout,   FactKind::GlooSize,
    FactKind::StoreUnreachable, FactKind::DdpUnused,      FactKind::NodeFailed,    FactKind::SchedOom,
    FactKind::CudaOom,          FactKind::CudaError,      FactKind::GpuEcc,        FactKind::KernelOom,
    FactKind::IbCompletion,     FactKind::IbAsyncFatal,   FactKind::NanLocal,      FactKind::ScaleExhausted,
    FactKind::PythonException,  FactKind::MpiSignal,      FactKind::MpiExit,       FactKind::MpiAbort,
    FactKind::MpiError,         FactKind::BadTermination, FactKind::CrashSignal,   FactKind::HorovodStall,
    FactKind::HorovodMismatch,  FactKind::SharedMemory,   FactKind::DuplicateGpu,  FactKind::NvlsFailed,
    FactKind::IbSizeMismatch,   FactKind::PortInUse,      FactKind::NoInterface,   FactKind::FrMissing,
    FactKind::FrMismatch,       FactKind::FrState,        FactKind::RasDead,       FactKind::RasMissing,
    FactKind::RasOutlier,       FactKind::DdpShape,       FactKind::DdpReadyTwice, FactKind::NcclOutOfMemory,
    FactKind::BadSetup};
/// Kinds that are noise behind a finished job, and symptoms otherwise.
constexpr FactKind kNoiseKinds[] = {
    FactKind::HeartbeatStuck, FactKind::StoreLost,   FactKind::PeerClosed,      FactKind::DumpNotice,
    FactKind::ElasticEntry,   FactKind::ElasticRoot, FactKind::ElasticFailed,   FactKind::TaskEnded,
    FactKind::ProcessEnd,     FactKind::CommAborted, FactKind::RemoteErrorFrom, FactKind::WatchdogStatus};

bool any_failure(const Case& c) {
  // Text about errors, or errors that were caught: the run went on to its end.
  const auto got_over = [&](const Fact& fact) {
    const bool own = fact.kind == FactKind::CudaOom || fact.kind == FactKind::CudaError ||
                     fact.kind == FactKind::PythonException;
    return own && c.has(FactKind::JobDone) && went_on(c, fact);
  };
  for (const FactKind kind : kFailureKinds)
    for (const Fact* fact : c.of(kind))
      if (fact->role != Role::Consequence && fact->role != Role::Context && !got_over(*fact)) return true;
  return false;
}

/// A connection of the program's own (a download, a metrics server) that was lost while the work went on to
/// its end.
bool was_got_over(const Case& c, const Fact& fact) {
  if (fact.kind != FactKind::PeerClosed || fact.layer != Layer::Python) return false;
  if (fact.role == Role::Context) return true;
  for (const FactKind kind : {FactKind::JobDone, FactKind::CleanExit})
    for (const Fact* end : c.of(kind))
      if (end->file == fact.file && end->line > fact.line) return true;
  return false;
}

std::vector<const Fact*> victims_lines(const Case& c) {
  std::vector<const Fact*> lines;
  for (const FactKind kind : {FactKind::PeerClosed, FactKind::NcclErrorText, FactKind::WatchdogError,
                              FactKind::RemoteErrorFrom, FactKind::BarrierVictim, FactKind::StoreLost})
    for (const Fact* fact : c.of(kind))
      if (fact->role == Role::Victim) lines.push_back(fact);
  return lines;
}

/// Ranks in torchrun's tables (first attempt).
constexpr int kMostRanks = 65'536;

std::set<int> table_ranks(const Case& c) {
  std::set<int> ranks;
  for (const FactKind kind : {FactKind::ElasticEntry, FactKind::ElasticRoot})
    for (const Fact* fact : c.of(kind))
      if (const int rank = c.rank(*fact); rank >= 0) ranks.insert(rank);
  return ranks;
}

/// A note that only few ranks have: the end of their data, or a skipped step.
std::vector<int> ranks_with_rare_note(const Case& c, bool skips, std::vector<const Fact*>& evidence) {
  std::map<int, const Fact*> ranks;
  for (const Fact* fact : c.of(FactKind::EndOfData)) {
    if ((fact->name == "skip") != skips) continue;
    if (const int rank = c.rank(*fact); rank >= 0) ranks[rank] = fact;
  }
  const auto seen = c.who.seen().size();
  if (ranks.empty() || ranks.size() * 2 >= std::max<std::size_t>(seen, 2)) return {};
  std::vector<int> result;
  for (const auto& [rank, fact] : ranks) {
    result.push_back(rank);
    evidence.push_back(fact);
  }
  return result;
}

std::string base_call(const std::string& call) {
  return call.substr(0, call.find_first_of("( "));
}

}  // namespace

bool all_reports_follow(const Case& c, const Fact& stop) {
  const auto follow = [&](FactKind kind) {
    return std::all_of(c.of(kind).begin(), c.of(kind).end(), [&](const Fact* fact) {
      return fact->role == Role::Consequence || fact->role == Role::Context || c.before(stop, *fact);
    });
  };
  return std::all_of(std::begin(kFailureKinds), std::end(kFailureKinds), follow) &&
         std::all_of(std::begin(kNoiseKinds), std::end(kNoiseKinds), follow);
}

/// What comes after a run that ended well is the noise of taking it down: stuck heartbeats, a store that went
/// first.
std::optional<Finding> noise_after_success(const Case& c) {
  const auto& done = c.of(FactKind::JobDone);
  const std::set<int> left = c.ranks_with({FactKind::CleanExit});
  const bool all_left = c.world() > 0 && static_cast<std::int64_t>(left.size()) >= c.world() && c.world() > 1;
  const bool success =
      !c.of(FactKind::ElasticSuccess).empty() ||
      std::any_of(done.begin(), done.end(), [](const Fact* f) { return f->name == "scheduler"; });
  if (done.empty() && !all_left && !success) return std::nullopt;
  if (any_failure(c)) return std::nullopt;
  // A process that was killed or raised something is no noise, wherever it stands.
  for (const FactKind kind : {FactKind::ElasticEntry, FactKind::ElasticRoot, FactKind::ElasticFailed})
    for (const Fact* fact : c.of(kind))
      if (fact->code != -6 && fact->code != -15 && fact->code != 0) return std::nullopt;
  for (const Fact* fact : c.of(FactKind::TaskEnded))
    if (fact->name.rfind("Terminated", 0) != 0 && fact->name.rfind("Aborted", 0) != 0) return std::nullopt;
  std::vector<const Fact*> noise;
  for (const FactKind kind : kNoiseKinds)
    for (const Fact* fact : c.of(kind)) noise.push_back(fact);
  if (noise.empty()) return std::nullopt;
  // Noise counts as such only behind the end of the work.
  const Fact* end = done.empty() ? (all_left ? c.of(FactKind::CleanExit).front() : nullptr) : done.front();
  if (end != nullptr && !success)
    for (const Fact* fact : noise)
      if (c.before(*fact, *end)) return std::nullopt;
  Finding finding;
  finding.rule = "noise_after_success";
  finding.kind = DiagnosisKind::WatchdogFalseAlarm;
  finding.confidence = Confidence::Certain;
  if (end != nullptr) finding.evidence.push_back(end);
  for (const Fact* fact : done)
    if (fact != end) finding.evidence.push_back(fact);
  finding.evidence.insert(
      finding.evidence.end(), noise.begin(),
      noise.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(noise.size(), 12)));
  for (const Fact* fact : noise)
    if (const int rank = c.torch_rank(*fact); rank >= 0) finding.victims.insert(rank);
  finding.what = "the work was finished before anything was reported";
  finding.why =
      "The run printed its end first; watchdogs, stores and communicators that complain afterwards do so "
      "while they are taken down. The result is complete.";
  return finding;
}

/// Per-step times of ranks: a straggler is the slowest in most steps, with the shortest wait.
std::optional<Finding> straggler(const Case& c) {
  std::map<std::int64_t, std::map<int, const Fact*>> steps;
  std::set<int> ranks;
  for (const Fact* fact : c.of(FactKind::StepTime))
    if (const int rank = c.rank(*fact); rank >= 0) {
      steps[fact->step].try_emplace(rank, fact);
      ranks.insert(rank);
    }
  if (ranks.size() < 2) return std::nullopt;
  std::map<int, int> slowest;
  int counted = 0;
  int uneven = 0;
  std::vector<const Fact*> evidence;
  constexpr double kClearlySlower = 1.10;  // ten per cent over the median of the step
  constexpr double kLeastMs = 1;
  for (const auto& [step, times] : steps) {
    if (times.size() * 2 < ranks.size() || times.size() < 2) continue;
    std::vector<double> sorted;
    for (const auto& [rank, fact] : times) sorted.push_back(fact->x);
    std::sort(sorted.begin(), sorted.end());
    const double median = sorted[(sorted.size() - 1) / 2];
    const auto worst = std::max_element(
        times.begin(), times.end(), [](const auto& a, const auto& b) { return a.second->x < b.second->x; });
    ++counted;
    // A median that is printed as 0.0 is less than its last digit says: then a whole millisecond counts.
    if (worst->second->x < (median > 0 ? median * kClearlySlower : kLeastMs)) continue;
    ++uneven;
    ++slowest[worst->first];
    evidence.push_back(worst->second);
  }
  if (counted < 3 || uneven * 3 < counted) return std::nullopt;
  const auto most = std::max_element(slowest.begin(), slowest.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  Finding finding;
  finding.rule = "straggler";
  finding.kind = DiagnosisKind::Straggler;
  finding.evidence = evidence;
  if (most->second * 3 >= counted * 2) {
    finding.culprits = {most->first};
    finding.nodes = c.hosts_of(finding.culprits);
    finding.confidence = Confidence::Certain;
    finding.what = rank_on_host(c, most->first) + " is the slowest in " + std::to_string(most->second) +
                   " of " + std::to_string(counted) + " steps";
    finding.why =
        "Everybody else waits for it in the collective, so their totals are equal and hide it; its own wait "
        "is the shortest.";
  } else {
    finding.confidence = Confidence::Unknown;
    finding.what = "step times differ, but the slowest rank changes from step to step";
    finding.why = "That is noise that all share (input, file system, CPU), not one slow rank.";
    for (const auto& [rank, count] : slowest)
      finding.alternatives.push_back(
          {DiagnosisKind::Straggler,
           {rank},
           "the slowest in " + std::to_string(count) + " of " + std::to_string(counted) + " steps only"});
  }
  return finding;
}

std::optional<Finding> nothing_failed(const Case& c) {
  if (any_failure(c)) return std::nullopt;
  for (const FactKind kind : kNoiseKinds)
    for (const Fact* fact : c.of(kind))
      if (!was_got_over(c, *fact)) return std::nullopt;
  Finding finding;
  finding.rule = "nothing_failed";
  finding.kind = DiagnosisKind::None;
  finding.confidence =
      c.has(FactKind::JobDone) || c.has(FactKind::CleanExit) ? Confidence::Certain : Confidence::Likely;
  finding.evidence = c.of(FactKind::JobDone);
  finding.what = "no line reports a failure";
  finding.why = "Nothing that PyTorch, NCCL, MPI, the kernel or a scheduler prints about failures was found.";
  return finding;
}

/// Gloo timeouts carry no rank. Who does not time out is the one that was waited for; who waits in another
/// call, or skipped a step, is out of order.
std::optional<Finding> gloo_waits(const Case& c) {
  std::vector<const Fact*> waits;
  for (const Fact* fact : c.of(FactKind::GlooTimeout))
    if (fact->role == Role::Victim) waits.push_back(fact);
  if (waits.empty()) return std::nullopt;
  Finding finding;
  finding.rule = "gloo_waits";
  finding.evidence = waits;
  std::set<int> waiting;
  std::map<int, std::string> said;
  std::map<std::string, std::size_t> calls;
  for (const Fact* fact : waits) {
    const int rank = c.rank(*fact);
    if (rank >= 0) waiting.insert(rank);
    if (!fact->op.empty()) ++calls[base_call(fact->op)];
    if (rank >= 0 && !fact->op.empty()) said[rank] = base_call(fact->op);
  }
  std::vector<const Fact*> notes;
  if (const std::vector<int> skipped = ranks_with_rare_note(c, true, notes); !skipped.empty()) {
    finding.kind = DiagnosisKind::SequenceMismatch;
    finding.culprits = skipped;
    finding.nodes = c.hosts_of(skipped);
    finding.evidence.insert(finding.evidence.begin(), notes.begin(), notes.end());
    finding.confidence = skipped.size() == 1 ? Confidence::Certain : Confidence::Likely;
    finding.what = name_ranks(skipped) + " skipped a call that the others made";
    finding.why =
        "Calls pair by order, not by step: after a skipped call everything is off by one, until at the end "
        "somebody waits for a call that never comes.";
    return finding;
  }
  const Vote by_call = vote(said);
  if (by_call.decided && by_call.minority.size() < by_call.majority.size()) {
    finding.kind = DiagnosisKind::CollectiveOrder;
    finding.culprits = by_call.minority;
    finding.nodes = c.hosts_of(finding.culprits);
    finding.confidence = Confidence::Likely;
    finding.what = name_ranks(finding.culprits) + " waits in " + said[by_call.minority.front()] +
                   " while the others wait in " + said[by_call.majority.front()];
    finding.why =
        "The tracebacks end in different collectives: the minority makes its calls in another order.";
    return finding;
  }
  // Without prefixes, the launcher's table tells who failed: everybody in it waited; who is not in it was
  // waited for.
  std::set<int> reported = waiting;
  const std::set<int> table = table_ranks(c);
  const bool nameless = waiting.empty();
  if (nameless || waiting.size() < waits.size()) reported.insert(table.begin(), table.end());
  std::vector<int> silent;
  bool unheard = false;  // a number between others has a rank, whose output is not here
  if (!nameless || !table.empty()) {
    std::set<int> members(c.who.seen().begin(), c.who.seen().end());
    for (int rank = 0; !reported.empty() && rank < std::min(*reported.rbegin(), kMostRanks); ++rank)
      unheard = members.insert(rank).second || unheard;
    for (const int rank : members)
      if (reported.count(rank) == 0) silent.push_back(rank);
  }
  if (calls.size() > 1 && silent.empty()) {
    finding.kind = DiagnosisKind::CollectiveOrder;
    finding.confidence = Confidence::Unknown;
    finding.what = "tracebacks end in different collectives";
    for (const auto& [call, count] : calls)
      finding.what +=
          std::string(call == calls.begin()->first ? ": " : ", ") + std::to_string(count) + " in " + call;
    finding.why =
        "One side makes its calls in another order or one too many; the tracebacks carry no rank, so the log "
        "does not say which.";
    return finding;
  }
  if (!silent.empty() && silent.size() < std::max(reported.size(), waits.size())) {
    finding.culprits = silent;
    finding.nodes = c.hosts_of(silent);
    finding.kind = DiagnosisKind::HangRankMissing;
    bool left = false;
    bool ended = false;
    for (const int rank : silent) {
      left = left || c.note(FactKind::CleanExit, rank) != nullptr;
      ended = ended || c.note(FactKind::EndOfData, rank) != nullptr;
      if (const Fact* last = c.last_words(rank)) finding.evidence.push_back(last);
    }
    if (left || left_with_zero(c, silent))
      finding.kind = DiagnosisKind::RankExitEarly;
    else if (ended)
      finding.kind = DiagnosisKind::UnevenData;
    finding.confidence = silent.size() == 1 && !unheard ? Confidence::Certain : Confidence::Likely;
    finding.what = name_ranks(silent) + " did not join the call in which the others timed out";
    finding.why =
        "Ranks that time out have waited. This rank has no timeout and no error of its own; its last words "
        "are in the evidence.";
    return finding;
  }
  finding.kind = DiagnosisKind::HangRankMissing;
  finding.confidence = Confidence::Unknown;
  finding.what = "calls timed out that wait for other ranks";
  finding.why = "The lines carry no rank, and nobody stands out as missing.";
  return finding;
}

/// Closed and reset connections point to the other end: a rank without any error of its own that others lost.
std::optional<Finding> lost_connections(const Case& c) {
  const std::vector<const Fact*> lines = victims_lines(c);
  if (lines.empty()) return std::nullopt;
  std::set<int> victims;
  std::size_t nameless = 0;
  for (const Fact* fact : lines) {
    const int rank = c.torch_rank(*fact);
    if (rank >= 0)
      victims.insert(rank);
    else
      ++nameless;
  }
  if (nameless > 0)  // tracebacks without a rank: the launcher's table says who failed
    for (const int rank : table_ranks(c)) victims.insert(rank);
  std::vector<int> silent;
  for (const int rank : c.who.seen())
    if (victims.count(rank) == 0) silent.push_back(rank);
  std::map<std::string, std::set<std::string>> lost;  // host at the other end -> hosts that lost it
  std::size_t unknown_peers = 0;
  for (const Fact* fact : lines) {
    if (fact->peer.empty()) continue;
    const std::string peer = c.who.host_of_address(fact->peer);
    if (peer.empty())
      ++unknown_peers;
    else if (peer != c.host(*fact))
      lost[peer].insert(c.host(*fact));
  }
  Finding finding;
  finding.rule = "lost_connections";
  finding.evidence = lines;
  if (!silent.empty() && silent.size() < victims.size() &&
      static_cast<std::int64_t>(victims.size() + silent.size()) * 2 > c.world()) {
    std::vector<int> left;
    for (const int rank : silent)
      if (c.note(FactKind::CleanExit, rank) != nullptr || c.note(FactKind::EndOfData, rank) != nullptr)
        left.push_back(rank);
    if (left.empty() && left_with_zero(c, silent)) left = silent;
    finding.culprits = left.empty() ? silent : left;
    // Who skipped a call is through one call before the others, and leaves them waiting.
    const bool skipped = std::any_of(left.begin(), left.end(), [&](int rank) {
      const Fact* note = c.note(FactKind::EndOfData, rank);
      return note != nullptr && note->name == "skip";
    });
    finding.kind = left.empty() ? DiagnosisKind::RankCrash
                   : skipped    ? DiagnosisKind::SequenceMismatch
                                : DiagnosisKind::RankExitEarly;
    finding.nodes = c.hosts_of(finding.culprits);
    for (const int rank : finding.culprits)
      if (const Fact* last = c.last_words(rank)) finding.evidence.insert(finding.evidence.begin(), last);
    finding.confidence = finding.culprits.size() == 1
                             ? (left.empty() ? Confidence::Likely : Confidence::Certain)
                             : Confidence::Likely;
    finding.what = name_ranks(finding.culprits) +
                   (left.empty() ? " ended without a word"
                    : skipped    ? " skipped a call that the others made, and left while they still needed it"
                                 : " left while others still needed it");
    finding.why = left.empty() ? "Its output stops without an error, and the others lose their connections "
                                 "in the next step: it was ended from outside or died in native code."
                               : "It ended in good order and has no error at all; the ranks with tracebacks "
                                 "lost the connection to it and are victims.";
    return finding;
  }
  // Tracebacks without any rank: one rank said that it leaves, and the others make up the number of those who
  // complain.
  const std::set<int> left = c.ranks_with({FactKind::CleanExit});
  if (victims.empty() && nameless > 0 && !left.empty() && left.size() < c.who.seen().size() &&
      left.size() <= nameless) {
    finding.culprits.assign(left.begin(), left.end());
    finding.kind = DiagnosisKind::RankExitEarly;
    finding.nodes = c.hosts_of(finding.culprits);
    for (const int rank : finding.culprits)
      finding.evidence.insert(finding.evidence.begin(), c.note(FactKind::CleanExit, rank));
    for (const int rank : c.who.seen())
      if (left.count(rank) == 0) finding.victims.insert(rank);
    const bool all_others = nameless >= c.who.seen().size() - left.size();
    const bool lost_it = std::any_of(finding.nodes.begin(), finding.nodes.end(),
                                     [&lost](const std::string& host) { return lost.count(host) != 0; });
    finding.confidence =
        left.size() == 1 && (all_others || lost_it) ? Confidence::Certain : Confidence::Likely;
    finding.what = name_ranks(finding.culprits) + " left while others still needed it";
    finding.why =
        "It said so and has no error; the others lost their connections afterwards, and those with "
        "tracebacks are victims.";
    return finding;
  }
  if (lost.size() == 1 && lost.begin()->second.size() >= 2 && unknown_peers == 0) {
    finding.kind = DiagnosisKind::NodeFailure;
    finding.nodes = {lost.begin()->first};
    finding.confidence = Confidence::Likely;
    finding.what =
        "several hosts lost their connections to " + lost.begin()->first + ", and to no other host";
    finding.why =
        "A closed connection points to its other end. Whether a process or the whole node went, its own log "
        "must tell.";
    return finding;
  }
  return std::nullopt;
}

/// Only consequences are left: say so, and accuse nobody.
std::optional<Finding> victims_only(const Case& c) {
  Finding finding;
  finding.rule = "victims_only";
  finding.kind = DiagnosisKind::Unknown;
  finding.confidence = Confidence::Unknown;
  finding.evidence = victims_lines(c);
  if (finding.evidence.empty()) {
    for (const FactKind kind :
         {FactKind::ElasticRoot, FactKind::ElasticEntry, FactKind::ElasticFailed, FactKind::TaskEnded,
          FactKind::StepCancelled, FactKind::ProcessEnd, FactKind::CommAborted, FactKind::CrashSignal,
          FactKind::MpiSignal, FactKind::MpiExit, FactKind::Xid, FactKind::NcclTruncated, FactKind::NcclWarn,
          FactKind::TaskBlocked, FactKind::DumpNotice})
      finding.evidence.insert(finding.evidence.end(), c.of(kind).begin(), c.of(kind).end());
    if (finding.evidence.empty()) return std::nullopt;
    finding.what = "processes ended, and the lines that say why are missing";
    finding.why =
        "SIGABRT follows a watchdog timeout or a C++ exception, and that text is not here: the rank in the "
        "table may only be the first whose watchdog gave up.";
    for (const FactKind kind : {FactKind::ElasticRoot, FactKind::ElasticEntry})
      for (const Fact* entry : c.of(kind))
        if (entry->code == -6 && c.rank(*entry) >= 0)
          finding.alternatives.push_back({DiagnosisKind::RankCrash,
                                          {c.rank(*entry)},
                                          "aborted (-6), which a victim of a timeout does as well"});
    for (const FactKind kind : {FactKind::MpiSignal, FactKind::MpiExit})
      for (const Fact* entry : c.of(kind))
        if (c.rank(*entry) >= 0)
          finding.alternatives.push_back(
              {DiagnosisKind::RankCrash,
               {c.rank(*entry)},
               "the launcher noticed it first, which says nothing about the cause"});
    return finding;
  }
  std::set<std::string> peers;
  for (const Fact* fact : finding.evidence)
    if (!fact->peer.empty()) {
      const std::string host = c.who.host_of_address(fact->peer);
      peers.insert(host.empty() ? fact->peer : host);
    }
  finding.what = "everything that is here was written by victims";
  finding.why = "They lost connections to " +
                (peers.empty() ? std::string("others") : name_hosts({peers.begin(), peers.end()})) +
                "; the cause is in the log of the other end, which is not here.";
  for (const std::string& peer : peers)
    finding.alternatives.push_back(
        {DiagnosisKind::NodeFailure, {}, peer + " was lost, but nothing here shows why"});
  return finding;
}

}  // namespace ringside::backend::rules
