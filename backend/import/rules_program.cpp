// Rules on a rank's own failure: GPU memory, DDP, exceptions; and who it was that failed.
#include <algorithm>
#include <map>

#include "backend/import/codes.hpp"
#include "backend/import/rules.hpp"

namespace ringside::backend::rules {
namespace {

using sim::Confidence;
using sim::DiagnosisKind;

/// Facts that show their author waiting or losing somebody: whatever the author raises afterwards is a
/// consequence.
constexpr FactKind kVictimKinds[] = {
    FactKind::WatchdogTimeout, FactKind::GlooTimeout, FactKind::PeerClosed,      FactKind::NcclErrorText,
    FactKind::BarrierVictim,   FactKind::StoreLost,   FactKind::RemoteErrorFrom, FactKind::StoreUnreachable};

bool was_victim_before(const Case& c, int rank, const Fact& fact) {
  for (const FactKind kind : kVictimKinds)
    for (const Fact* victim : c.of(kind))
      if (victim->role == Role::Victim && c.torch_rank(*victim) == rank && c.before(*victim, fact))
        return true;
  return false;
}

/// The exit code that a failure like this leaves behind: the signal's, -6 of a C++ exception, 1 of Python.
int expected_exit(const Fact& fact) {
  if (fact.kind == FactKind::CrashSignal) {
    if (fact.name == "Segmentation fault") return -11;
    if (fact.name == "Bus error") return -7;
    if (fact.name == "Illegal instruction") return -4;
    if (fact.name == "Floating point exception") return -8;
    return -6;
  }
  // The ROCm runtime aborts the process itself.
  const bool aborts = fact.text.find("what():") != std::string::npos ||
                      fact.name.find("by GPU node-") != std::string::npos ||
                      fact.name.find("HSA_STATUS_ERROR") != std::string::npos;
  return aborts ? -6 : 1;
}

/// The only rank in torchrun's tables, or the one whose recorded traceback holds the exception, or the only
/// one that ended with the exit code of such a failure.
int rank_from_table(const Case& c, const Fact& fact) {
  const auto entries = launcher_entries(c);
  std::set<int> ranks;
  std::set<int> fitting;
  for (const Fact* entry : entries) {
    if (!entry->name.empty() && !fact.name.empty() && entry->name.rfind(fact.name, 0) == 0 &&
        entry->name.size() > fact.name.size() &&
        fact.text.find(entry->name.substr(0, 60)) != std::string::npos)
      return c.rank(*entry);
    ranks.insert(c.rank(*entry));
    if (entry->code == expected_exit(fact)) fitting.insert(c.rank(*entry));
  }
  // Victims of a lost connection may leave with 1 as well, so it counts only where all others were aborted.
  if (fitting.size() == 1) return *fitting.begin();
  return ranks.size() == 1 ? *ranks.begin() : -1;
}

/// A C++ exception ends in SIGABRT, a Python one in exit code 1: the only task that ended otherwise than the
/// rest.
int rank_from_tasks(const Case& c) {
  if (!c.who.task_is_rank()) return -1;
  std::map<bool, std::vector<int>> by_abort;
  for (const Fact* fact : c.of(FactKind::TaskEnded)) {
    if (fact->name.rfind("Terminated", 0) == 0) continue;
    const bool aborted = fact->name.rfind("Aborted", 0) == 0;
    for (const int task : fact->named) by_abort[aborted].push_back(task);
  }
  if (by_abort[true].size() == 1 && !by_abort[false].empty()) return by_abort[true].front();
  return -1;
}

/// The only rank that lacks the last step that all the others printed.
int rank_from_steps(const Case& c) {
  std::map<std::int64_t, std::set<int>> steps;
  std::set<int> all;
  for (const Fact* fact : c.of(FactKind::Progress)) {
    const int rank = c.rank(*fact);
    if (rank < 0 || fact->step < 0) continue;
    all.insert(rank);
    steps[fact->step].insert(rank);
  }
  if (all.size() < 3 || steps.size() < 2) return -1;
  const auto& behind = steps.begin()->second;
  return behind.size() == 1 && steps.rbegin()->second.size() == all.size() - 1 ? *behind.begin() : -1;
}

/// Where every host (or pod) runs one rank, the host of a line says whose it is.
int rank_from_host(const Case& c, const Fact& fact) {
  const std::string host = c.host(fact);
  if (host.empty()) return -1;
  std::map<std::string, std::vector<int>> there;
  for (const int rank : c.who.seen()) there[c.who.host_of_rank(rank)].push_back(rank);
  const bool one_each =
      std::all_of(there.begin(), there.end(), [](const auto& entry) { return entry.second.size() == 1; });
  const auto found = there.find(host);
  return one_each && there.size() >= 2 && found != there.end() ? found->second.front() : -1;
}

bool is_root_exception(const Fact& fact) {
  if (fact.role != Role::Root) return false;
  // Raised inside a collective it says that its author waited; elsewhere (a download, a file system) it is a
  // cause.
  if (fact.name.ends_with("TimeoutError") && !fact.op.empty()) return false;
  static constexpr std::string_view kNotOwn[] = {
      "DistBackendError",   "DistNetworkError",      "DistStoreError",         "ChildFailedError",
      "RayTaskError",       "RendezvousClosedError", "ProcessRaisedException", "ProcessExitedException",
      "WorkerCrashedError", "EngineDeadError",       "BrokenExecutor"};
  for (const std::string_view name : kNotOwn)
    if (fact.name.find(name) != std::string::npos) return false;
  return true;
}

/// A launcher or a scheduler reports the end of a process, or somebody waited for one.
bool somebody_ended(const Case& c) {
  static constexpr FactKind kEnds[] = {
      FactKind::ElasticEntry,    FactKind::ElasticRoot,   FactKind::ElasticFailed, FactKind::ElasticSigterm,
      FactKind::TaskEnded,       FactKind::MpiSignal,     FactKind::MpiExit,       FactKind::MpiAbort,
      FactKind::BadTermination,  FactKind::StepCancelled, FactKind::PeerClosed,    FactKind::NcclErrorText,
      FactKind::WatchdogTimeout, FactKind::GlooTimeout,   FactKind::WatchdogError};
  return std::any_of(std::begin(kEnds), std::end(kEnds), [&](FactKind kind) { return c.has(kind); });
}

}  // namespace

std::vector<const Fact*> launcher_entries(const Case& c) {
  std::vector<const Fact*> entries = c.of(FactKind::ElasticRoot);
  entries.insert(entries.end(), c.of(FactKind::ElasticEntry).begin(), c.of(FactKind::ElasticEntry).end());
  return entries;
}

Finding crash_of(const Case& c, const std::vector<int>& ranks, const char* rule) {
  Finding finding;
  finding.rule = rule;
  finding.kind = DiagnosisKind::RankCrash;
  finding.culprits = ranks;
  finding.nodes = c.hosts_of(ranks);
  return finding;
}

bool steps_go_on(const Case& c, const Fact& fact, int rank) {
  // Lines alone do not tell: what a process had buffered is written after its traceback.
  constexpr std::int64_t kLaterNs = 1'000'000'000;
  if (c.restarted() || fact.t_ns < 0) return false;
  return std::any_of(c.of(FactKind::Progress).begin(), c.of(FactKind::Progress).end(), [&](const Fact* last) {
    return (rank < 0 || c.rank(*last) == rank) && last->file == fact.file && last->dated == fact.dated &&
           last->completed > fact.line && last->enqueued > fact.t_ns + kLaterNs;
  });
}

bool went_on(const Case& c, const Fact& fact) {
  const int rank = c.torch_rank(fact);
  if (rank < 0 || c.restarted()) return false;
  const auto& timeouts = c.of(FactKind::WatchdogTimeout);
  for (const Fact* mine : timeouts) {
    if (c.torch_rank(*mine) != rank || mine->seq < 0 || !c.before(fact, *mine)) continue;
    // An asynchronous call that was made before the error ends for everybody; one that others wait in as well
    // misses somebody else.
    const auto together = std::count_if(timeouts.begin(), timeouts.end(), [&](const Fact* other) {
      return other->seq == mine->seq && other->op == mine->op && other->pg == mine->pg;
    });
    if (together >= 2) return true;
  }
  for (const Fact* done : c.of(FactKind::JobDone)) {
    if (done->name != "training" || !c.before(fact, *done)) continue;
    if (c.torch_rank(*done) == rank) return true;
    if (c.torch_rank(*done) < 0 && done->file == fact.file && !somebody_ended(c)) return true;
  }
  return steps_go_on(c, fact, rank);
}

std::string rank_on_host(const Case& c, int rank) {
  const std::string host = c.who.host_of_rank(rank);
  return "rank " + std::to_string(rank) + (host.empty() ? "" : " (" + host + ")");
}

int attribute(const Case& c, const Fact& fact) {
  if (const int rank = c.torch_rank(fact); rank >= 0) return rank;
  if (const int rank = rank_from_table(c, fact); rank >= 0) return rank;
  if (const int rank = rank_from_tasks(c); rank >= 0) return rank;
  if (const int rank = rank_from_host(c, fact); rank >= 0) return rank;
  std::set<int> missing;  // who did not come to the barrier because it had raised
  for (const Fact* barrier : c.of(FactKind::BarrierMissing))
    missing.insert(barrier->named.begin(), barrier->named.end());
  if (missing.size() == 1) return *missing.begin();
  return rank_from_steps(c);
}

bool left_with_zero(const Case& c, const std::vector<int>& ranks) {
  const auto entries = launcher_entries(c);
  if (entries.empty() || !c.of(FactKind::ElasticSigterm).empty()) return false;
  std::set<std::string> hosts;
  std::set<int> failed;
  for (const Fact* entry : entries) {
    hosts.insert(entry->who.host);
    failed.insert(c.rank(*entry));
  }
  return std::all_of(ranks.begin(), ranks.end(), [&](int rank) {
    return failed.count(rank) == 0 && hosts.count(c.who.host_of_rank(rank)) != 0;
  });
}

std::set<int> victim_ranks(const Case& c) {
  std::set<int> ranks;
  for (const FactKind kind : kVictimKinds)
    for (const Fact* fact : c.of(kind))
      if (fact->role == Role::Victim)
        if (const int rank = c.torch_rank(*fact); rank >= 0) ranks.insert(rank);
  for (const FactKind kind : {FactKind::WatchdogError, FactKind::HeartbeatStuck, FactKind::CommAborted,
                              FactKind::Overflow, FactKind::ElasticEntry, FactKind::ElasticRoot,
                              FactKind::MpiError, FactKind::MpiSignal, FactKind::IbCompletion})
    for (const Fact* fact : c.of(kind))
      if (const int rank = c.torch_rank(*fact); rank >= 0) ranks.insert(rank);
  for (const Fact* fact : c.of(FactKind::ElasticSigterm))
    if (const int rank = c.who.rank_of_pid(c.host(*fact), fact->who.pid); rank >= 0) ranks.insert(rank);
  return ranks;
}

namespace {
/// Another rank had raised something of its own clearly before, by the stamps of both lines.
bool came_after_an_exception(const Case& c, const Fact& fact) {
  constexpr std::int64_t kClearlyNs = std::int64_t{5} * 1'000'000'000;
  const int rank = c.torch_rank(fact);
  const auto& raised = c.of(FactKind::PythonException);
  return rank >= 0 && fact.t_ns >= 0 && std::any_of(raised.begin(), raised.end(), [&](const Fact* first) {
           const int other = c.torch_rank(*first);
           return other >= 0 && other != rank && is_root_exception(*first) && first->t_ns >= 0 &&
                  first->dated == fact.dated && first->t_ns + kClearlyNs < fact.t_ns &&
                  c.before(*first, fact) && !was_victim_before(c, other, *first) && !went_on(c, *first);
         });
}
}  // namespace

std::optional<Finding> gpu_memory(const Case& c) {
  std::vector<const Fact*> facts = c.of(FactKind::CudaOom);
  facts.insert(facts.end(), c.of(FactKind::NcclOutOfMemory).begin(), c.of(FactKind::NcclOutOfMemory).end());
  std::erase_if(facts,
                [&](const Fact* fact) { return went_on(c, *fact) || came_after_an_exception(c, *fact); });
  if (facts.empty()) return std::nullopt;
  Finding finding;
  finding.rule = "gpu_memory";
  finding.kind = DiagnosisKind::GpuOom;
  finding.evidence = facts;
  std::set<int> ranks;
  bool named = false;
  for (const Fact* fact : facts)
    if (const int rank = c.torch_rank(*fact); rank >= 0) {
      ranks.insert(rank);
      named = true;
    }
  if (ranks.empty())
    if (const int rank = attribute(c, *facts.front()); rank >= 0) ranks.insert(rank);
  const bool most = static_cast<std::int64_t>(ranks.size()) * 2 > std::max<std::int64_t>(c.world(), 2);
  if (!most) finding.culprits.assign(ranks.begin(), ranks.end());
  finding.nodes = c.hosts_of(finding.culprits);
  finding.confidence = finding.culprits.empty() ? Confidence::Unknown
                       : named                  ? Confidence::Certain
                                                : Confidence::Likely;
  finding.what = "GPU memory ran out on " + (ranks.empty() ? std::string("a rank that the lines do not name")
                                                           : name_ranks({ranks.begin(), ranks.end()}));
  finding.why = most
                    ? "Nearly all ranks run out of memory, so the job does not fit; no single rank is guilty."
                    : "It is the first failure; closed connections, ports in use and a second try that fails "
                      "come after it.";
  return finding;
}

std::optional<Finding> ddp_parameters(const Case& c) {
  if (const auto& unused = c.of(FactKind::DdpUnused); !unused.empty()) {
    std::set<int> ranks;
    for (const Fact* fact : unused)
      if (const int rank = fact->who.rank >= 0 ? fact->who.rank : attribute(c, *fact); rank >= 0)
        ranks.insert(rank);
    Finding finding;
    finding.rule = "ddp_parameters";
    finding.kind = DiagnosisKind::DdpUnusedParams;
    finding.evidence = unused;
    const bool all = ranks.size() > 1 && static_cast<std::int64_t>(ranks.size()) >= c.world();
    if (!all) finding.culprits.assign(ranks.begin(), ranks.end());
    finding.nodes = c.hosts_of(finding.culprits);
    finding.confidence = ranks.empty() ? Confidence::Unknown : Confidence::Certain;
    finding.what = "parameters got no gradient on " + (ranks.empty() ? std::string("a rank")
                                                       : all         ? std::string("every rank")
                                                                     : name_ranks(finding.culprits));
    finding.why =
        "The message names the rank whose forward pass did not use them; the other ranks only lose their "
        "connection.";
    return finding;
  }
  if (const auto& twice = c.of(FactKind::DdpReadyTwice); !twice.empty()) {
    std::set<int> ranks;
    for (const Fact* fact : twice)
      if (const int rank = c.rank(*fact); rank >= 0) ranks.insert(rank);
    Finding finding = crash_of(c, ranks.size() == 1 ? std::vector<int>{*ranks.begin()} : std::vector<int>{},
                               "ddp_parameters");
    finding.evidence = twice;
    finding.confidence = ranks.size() == 1 ? Confidence::Certain : Confidence::Likely;
    finding.what = "DDP: a parameter became ready twice";
    finding.why =
        "The model uses a parameter in two places or runs its forward twice: an error of the program.";
    return finding;
  }
  if (const auto& order = c.of(FactKind::FsdpOrder); !order.empty()) {
    std::set<int> ranks;
    for (const Fact* fact : order)
      if (fact->who.rank >= 0) ranks.insert(fact->who.rank);
    Finding finding;
    finding.rule = "ddp_parameters";
    finding.kind = DiagnosisKind::CollectiveOrder;
    finding.evidence = order;
    if (static_cast<std::int64_t>(ranks.size()) * 2 < c.world())
      finding.culprits.assign(ranks.begin(), ranks.end());
    finding.nodes = c.hosts_of(finding.culprits);
    finding.confidence = finding.culprits.empty() ? Confidence::Unknown : Confidence::Likely;
    finding.what = "FSDP gathers parameters in another order than in its first iteration on " +
                   name_ranks({ranks.begin(), ranks.end()});
    finding.why = "Collectives are matched by their order; FSDP itself notices that it differs on this rank.";
    return finding;
  }
  const auto& shapes = c.of(FactKind::DdpShape);
  if (!shapes.empty()) {
    // Every rank compares itself with rank 0: one reporter differs; if nearly all report, it is rank 0 that
    // differs.
    std::set<int> ranks;
    for (const Fact* fact : shapes)
      if (const int rank = c.torch_rank(*fact); rank >= 0) ranks.insert(rank);
    Finding finding;
    finding.rule = "ddp_parameters";
    finding.kind = DiagnosisKind::ShapeMismatch;
    finding.evidence = shapes;
    const auto count = static_cast<std::int64_t>(ranks.size());
    if (count > 0 && c.world() >= 3 && count * 2 < c.world())
      finding.culprits.assign(ranks.begin(), ranks.end());
    else if (c.world() >= 3 && count == c.world() - 1 && ranks.count(0) == 0)
      finding.culprits = {0};
    finding.nodes = c.hosts_of(finding.culprits);
    finding.confidence = finding.culprits.empty() ? Confidence::Unknown : Confidence::Likely;
    finding.what = "DDP found that the model differs between ranks";
    finding.why = "Each rank compares its parameters with those of rank 0; the minority is the odd one.";
    if (finding.culprits.empty())
      for (const int rank : ranks)
        finding.alternatives.push_back(
            {DiagnosisKind::ShapeMismatch, {rank}, "differs from rank 0, or rank 0 from it"});
    return finding;
  }
  return std::nullopt;
}

/// The first exception that a rank raised on its own account.
std::optional<Finding> primary_exception(const Case& c) {
  std::map<int, const Fact*> raised;
  std::vector<const Fact*> anonymous;
  const auto consider = [&](const Fact* fact) {
    const int rank = c.torch_rank(*fact);
    if (rank < 0) {
      anonymous.push_back(fact);
      return;
    }
    if (was_victim_before(c, rank, *fact) || went_on(c, *fact)) return;
    const Fact*& first = raised[rank];
    if (first == nullptr || c.before(*fact, *first)) first = fact;
  };
  for (const Fact* fact : c.of(FactKind::PythonException))
    if (is_root_exception(*fact)) consider(fact);
  for (const Fact* fact : c.of(FactKind::CudaError)) consider(fact);
  for (const Fact* fact : c.of(FactKind::CrashSignal))
    if (fact->name != "Aborted" && fact->layer == Layer::Python) consider(fact);
  for (const Fact* fact : c.of(FactKind::Xid))
    if (xid_meaning(fact->code).of == XidClass::Program && !c.has(FactKind::CudaError)) consider(fact);
  if (raised.empty() && anonymous.empty()) return std::nullopt;

  if (raised.empty()) {
    const Fact& fact = *anonymous.front();
    const int rank = attribute(c, fact);
    Finding finding =
        crash_of(c, rank >= 0 ? std::vector<int>{rank} : std::vector<int>{}, "primary_exception");
    finding.evidence = {&fact};
    finding.confidence = rank >= 0 ? Confidence::Likely : Confidence::Unknown;
    finding.what = (rank >= 0 ? rank_on_host(c, rank) : std::string("a rank that the lines do not name")) +
                   " raised " + fact.name;
    finding.why =
        "It is the only exception that is not about somebody else" +
        std::string(
            rank >= 0 ? "; who raised it follows from the launcher's record or from the step lines that stop."
                      : ", but no line tells which rank raised it.");
    return finding;
  }
  std::vector<int> ranks;
  std::set<std::string> names;
  for (const auto& [rank, fact] : raised) {
    ranks.push_back(rank);
    names.insert(fact->name);
  }
  const auto count = static_cast<std::int64_t>(ranks.size());
  const std::int64_t others = std::max(c.world(), static_cast<std::int64_t>(c.who.seen().size()));
  Finding finding;
  if (count >= 2 && count * 2 > others && names.size() == 1) {
    // Everybody fails alike: the program or its set-up, not a rank.
    finding = crash_of(c, {}, "primary_exception");
    const bool at_start = c.of(FactKind::StepTime).empty() && !c.has(FactKind::WatchdogTimeout);
    finding.kind = at_start && names.begin()->find("Error") != std::string::npos && count == others
                       ? DiagnosisKind::ConfigError
                       : DiagnosisKind::RankCrash;
    finding.confidence = Confidence::Likely;
    for (const auto& [rank, fact] : raised) finding.evidence.push_back(fact);
    finding.what = name_ranks(ranks) + " all raised " + *names.begin();
    finding.why = "Nearly every rank fails in the same way, so no single rank is guilty.";
    finding.nodes.clear();
    return finding;
  }
  const Fact* first = raised.begin()->second;
  for (const auto& [rank, fact] : raised)
    if (c.before(*fact, *first)) first = fact;
  std::vector<int> earliest;
  for (const auto& [rank, fact] : raised)
    if (fact == first || (fact->name == first->name && count > 1) ||
        (!c.before(*first, *fact) && !c.before(*fact, *first)))
      earliest.push_back(rank);
  finding = crash_of(c, earliest, "primary_exception");
  for (const int rank : earliest) finding.evidence.push_back(raised[rank]);
  finding.confidence = earliest.size() == 1 && count <= 2 ? Confidence::Certain : Confidence::Likely;
  finding.what = name_ranks(earliest) + " raised " + first->name;
  finding.why =
      "It is the first failure of a rank on its own account; exceptions about closed connections and "
      "timeouts follow from it.";
  return finding;
}

}  // namespace ringside::backend::rules
