// Rules on a rank's own failure: NaN, GPU memory, DDP, exceptions, signals, exit codes.
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

std::vector<const Fact*> launcher_entries(const Case& c) {
  std::vector<const Fact*> entries = c.of(FactKind::ElasticRoot);
  entries.insert(entries.end(), c.of(FactKind::ElasticEntry).begin(), c.of(FactKind::ElasticEntry).end());
  return entries;
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
  return fact.text.find("what():") != std::string::npos ? -6 : 1;
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
  if (fitting.size() == 1 && expected_exit(fact) != 1) return *fitting.begin();
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

Finding crash_of(const Case& c, const std::vector<int>& ranks, const char* rule) {
  Finding finding;
  finding.rule = rule;
  finding.kind = DiagnosisKind::RankCrash;
  finding.culprits = ranks;
  finding.nodes = c.hosts_of(ranks);
  return finding;
}

bool is_root_exception(const Fact& fact) {
  if (fact.role != Role::Root) return false;
  static constexpr std::string_view kNotOwn[] = {
      "DistBackendError",   "DistNetworkError",      "DistStoreError",         "ChildFailedError",
      "RayTaskError",       "RendezvousClosedError", "ProcessRaisedException", "ProcessExitedException",
      "WorkerCrashedError", "EngineDeadError",       "BrokenExecutor"};
  for (const std::string_view name : kNotOwn)
    if (fact.name.find(name) != std::string::npos) return false;
  return true;
}

}  // namespace

std::string rank_on_host(const Case& c, int rank) {
  const std::string host = c.who.host_of_rank(rank);
  return "rank " + std::to_string(rank) + (host.empty() ? "" : " (" + host + ")");
}

int attribute(const Case& c, const Fact& fact) {
  if (const int rank = c.torch_rank(fact); rank >= 0) return rank;
  if (const int rank = rank_from_table(c, fact); rank >= 0) return rank;
  if (const int rank = rank_from_tasks(c); rank >= 0) return rank;
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

/// NaN found in local values, before they were mixed with those of other ranks: the rank that found it made
/// it.
std::optional<Finding> nan_before_communication(const Case& c) {
  const auto& facts = c.of(FactKind::NanLocal);
  if (facts.empty()) return std::nullopt;
  std::map<int, const Fact*> ranks;
  for (const Fact* fact : facts)
    if (const int rank = attribute(c, *fact); rank >= 0) ranks.try_emplace(rank, fact);
  Finding finding;
  finding.rule = "nan_before_communication";
  finding.kind = DiagnosisKind::Nan;
  finding.evidence = facts;
  finding.why =
      "The check looks at local values before any communication, so no other rank can have brought the NaN "
      "in; ranks that lose the connection to it are victims.";
  if (ranks.empty() || (ranks.size() > 1 && static_cast<std::int64_t>(ranks.size()) * 2 > c.world())) {
    finding.confidence = Confidence::Unknown;
    finding.what =
        "NaN or infinity was found in local values" + std::string(ranks.empty() ? "" : " on many ranks");
    if (!ranks.empty())
      finding.why =
          "Most ranks report it in the same step, so it was already in the weights or came through an "
          "earlier reduction.";
    for (const auto& [rank, fact] : ranks)
      finding.alternatives.push_back({DiagnosisKind::Nan, {rank}, "reports it like the others"});
    return finding;
  }
  const Fact* first = ranks.begin()->second;
  for (const auto& [rank, fact] : ranks)
    if (c.before(*fact, *first)) first = fact;
  for (const auto& [rank, fact] : ranks)
    if (fact == first || !c.before(*first, *fact)) finding.culprits.push_back(rank);
  if (ranks.size() > 1 && finding.culprits.size() == ranks.size()) {
    finding.culprits.clear();
    for (const auto& [rank, fact] : ranks) finding.culprits.push_back(rank);
  }
  finding.nodes = c.hosts_of(finding.culprits);
  if (finding.nodes.empty() && !first->who.host.empty()) finding.nodes = {first->who.host};
  const bool named = c.torch_rank(*first) >= 0 || c.of(FactKind::ElasticRoot).size() == 1;
  finding.confidence = named ? Confidence::Certain : Confidence::Likely;
  finding.what = "NaN or infinity appeared in the local values of " + name_ranks(finding.culprits);
  return finding;
}

/// Loss lines of single ranks: in the first bad step only the source has a NaN, one step later everybody has.
std::optional<Finding> nan_in_loss(const Case& c) {
  std::vector<const Fact*> losses = c.of(FactKind::LossValue);
  std::map<int, const Fact*> first_of;
  for (const Fact* fact : losses) {
    const int rank = c.rank(*fact);
    if (rank < 0) continue;
    const Fact*& first = first_of[rank];
    const bool earlier = first == nullptr || (fact->step >= 0 && first->step >= 0 ? fact->step < first->step
                                                                                  : c.before(*fact, *first));
    if (earlier) first = fact;
  }
  std::set<int>
      reporting;  // ranks that print steps of their own: silence about NaN means something for these only
  for (const Fact* fact : c.of(FactKind::Progress))
    if (const int rank = c.rank(*fact); rank >= 0 && fact->step >= 0) reporting.insert(rank);
  Finding finding;
  finding.rule = "nan_in_loss";
  finding.kind = DiagnosisKind::Nan;
  if (!first_of.empty() && reporting.size() >= 2) {
    std::int64_t step = INT64_MAX;
    for (const auto& [rank, fact] : first_of) step = std::min(step, fact->step < 0 ? INT64_MAX : fact->step);
    for (const auto& [rank, fact] : first_of)
      if (fact->step == step || step == INT64_MAX) {
        finding.culprits.push_back(rank);
        finding.evidence.push_back(fact);
      }
    if (finding.culprits.size() * 2 < reporting.size() ||
        (finding.culprits.size() == 1 && reporting.size() == 2)) {
      finding.nodes = c.hosts_of(finding.culprits);
      finding.confidence = Confidence::Certain;
      finding.what = "the loss of " + name_ranks(finding.culprits) + " became NaN or infinite" +
                     (step == INT64_MAX ? "" : " in step " + std::to_string(step));
      finding.why =
          "In that step the other ranks still had a finite loss; NaN in reduced values (gradient norm, later "
          "losses, \"OVERFLOW! Rank 0\") reaches everybody and names nobody.";
      return finding;
    }
  }
  finding.culprits.clear();
  std::vector<const Fact*> seen = losses;
  for (const FactKind kind : {FactKind::ScaleExhausted, FactKind::Overflow, FactKind::NanSeen})
    seen.insert(seen.end(), c.of(kind).begin(), c.of(kind).end());
  if (seen.empty()) return std::nullopt;
  if (losses.empty() && !c.has(FactKind::ScaleExhausted) && c.of(FactKind::Overflow).size() < 4 &&
      c.of(FactKind::NanSeen).empty())
    return std::nullopt;  // a few skipped steps are how a dynamic loss scale works
  finding.evidence = seen;
  finding.confidence = Confidence::Unknown;
  finding.what = c.has(FactKind::ScaleExhausted)
                     ? "the loss scale ran down to its minimum: every step overflowed"
                     : "NaN or infinity appeared in reduced values";
  finding.why =
      "Values that went through an all-reduce are the same on all ranks, and the rank that prints them is "
      "only the one that prints: the log does not say where it began.";
  return finding;
}

std::optional<Finding> gpu_memory(const Case& c) {
  std::vector<const Fact*> facts = c.of(FactKind::CudaOom);
  facts.insert(facts.end(), c.of(FactKind::NcclOutOfMemory).begin(), c.of(FactKind::NcclOutOfMemory).end());
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
    if (was_victim_before(c, rank, *fact)) return;
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

/// Signals that nobody inside the job sends: SIGKILL, SIGSEGV, SIGBUS, SIGILL. A -9 outranks the -6 it causes
/// elsewhere.
std::optional<Finding> fatal_signal(const Case& c) {
  std::map<int, const Fact*> ranks;
  std::vector<const Fact*> nameless;
  std::set<std::int64_t> stopped;  // by the agent itself
  for (const Fact* fact : c.of(FactKind::ElasticSigterm)) stopped.insert(fact->who.pid);
  const auto fatal = [](int signal) {
    return signal == 9 || signal == 11 || signal == 7 || signal == 4 || signal == 8;
  };
  const auto add = [&](const Fact* fact, int rank) {
    if (rank >= 0)
      ranks.try_emplace(rank, fact);
    else
      nameless.push_back(fact);
  };
  for (const FactKind kind : {FactKind::ElasticRoot, FactKind::ElasticEntry, FactKind::ElasticFailed})
    for (const Fact* fact : c.of(kind))
      if (fatal(signal_of_exit(fact->code)) && stopped.count(fact->who.pid) == 0) add(fact, c.rank(*fact));
  for (const Fact* fact : c.of(FactKind::MpiSignal))
    if (fatal(fact->code)) add(fact, c.rank(*fact));
  for (const Fact* fact : c.of(FactKind::BadTermination))
    if (fatal(fact->code) || fatal(signal_of_exit(fact->code))) add(fact, c.rank(*fact));
  for (const Fact* fact : c.of(FactKind::TaskEnded)) {
    // What Slurm kills after it has cancelled the step is a consequence.
    const bool cleaned_up =
        std::any_of(c.of(FactKind::StepCancelled).begin(), c.of(FactKind::StepCancelled).end(),
                    [&](const Fact* cancel) { return c.before(*cancel, *fact); });
    if (cleaned_up && fact->name.rfind("Killed", 0) == 0) continue;
    static constexpr std::string_view kEnds[] = {"Segmentation fault", "Killed", "Bus error",
                                                 "Illegal instruction", "Floating point exception"};
    for (const std::string_view end : kEnds)
      if (fact->name.rfind(end, 0) == 0)
        for (const int task : fact->named) add(fact, c.who.task_is_rank() ? task : -1);
  }
  for (const Fact* fact : c.of(FactKind::CrashSignal))
    if (fact->name != "Aborted" && fact->code != 6) {
      const int rank = c.rank(*fact);
      if (rank >= 0 || ranks.empty()) add(fact, rank);
    }
  for (const Fact* fact : c.of(FactKind::ProcessEnd))
    if (fact->role == Role::Root)
      if (const int rank = c.rank(*fact); rank >= 0) add(fact, rank);
  if (ranks.empty() && nameless.empty()) return std::nullopt;
  Finding finding;
  std::vector<int> names;
  for (const auto& [rank, fact] : ranks) names.push_back(rank);
  const bool most = names.size() > 1 && static_cast<std::int64_t>(names.size()) * 2 > c.world();
  finding = crash_of(c, most ? std::vector<int>{} : names, "fatal_signal");
  for (const auto& [rank, fact] : ranks) finding.evidence.push_back(fact);
  finding.evidence.insert(finding.evidence.end(), nameless.begin(), nameless.end());
  if (finding.nodes.empty() && ranks.empty())
    if (const std::string host = c.host(*nameless.front()); !host.empty()) finding.nodes = {host};
  finding.confidence = names.empty() || most ? Confidence::Unknown
                       : names.size() > 2 && static_cast<std::int64_t>(names.size()) * 4 > c.world()
                           ? Confidence::Likely
                           : Confidence::Certain;
  const Fact& first = *finding.evidence.front();
  int signal = signal_of_exit(first.code);
  if (signal == 0) signal = first.code;
  const CodeMeaning& meaning = signal_meaning(signal);
  finding.what = (names.empty() ? std::string("a process") : name_ranks(names)) + " ended by " +
                 (meaning.code != 0 ? std::string(meaning.name) + ": " + meaning.meaning_en : first.name);
  finding.why = most ? "Most ranks were killed together, from outside."
                     : "Nothing inside the job sends this signal; aborts (-6), exit code 1 and SIGTERM (-15) "
                       "on other ranks are its echo, whatever \"Root Cause\" says.";
  return finding;
}

/// Exit codes and aborts without any text about the reason.
std::optional<Finding> plain_exit(const Case& c) {
  for (const Fact* fact : c.of(FactKind::MpiAbort)) {
    const int rank = c.rank(*fact);
    Finding finding = crash_of(c, rank >= 0 ? std::vector<int>{rank} : std::vector<int>{}, "plain_exit");
    finding.evidence = {fact};
    finding.confidence = rank >= 0 ? Confidence::Certain : Confidence::Unknown;
    finding.what = name_ranks(finding.culprits) + " called MPI_Abort" +
                   (fact->code != 0 ? " with code " + std::to_string(fact->code) : "");
    finding.why = "The program ended the job on purpose; no signal and no other rank is involved.";
    return finding;
  }
  const auto nonzero = [&](FactKind kind) -> const Fact* {
    for (const Fact* fact : c.of(kind))
      if (fact->role == Role::Root && c.rank(*fact) >= 0 && fact->code != 0 &&
          (kind == FactKind::MpiExit || (fact->code != 2 && fact->code != 15)))
        return fact;
    return nullptr;
  };
  for (const FactKind kind : {FactKind::MpiExit, FactKind::MpiSignal, FactKind::BadTermination}) {
    const Fact* fact = nonzero(kind);
    if (fact == nullptr) continue;
    // mpirun names the first that it noticed; with victims about, that may be one of them.
    const bool victims = c.has(FactKind::PeerClosed) || c.has(FactKind::WatchdogTimeout) ||
                         c.has(FactKind::NcclErrorText) || c.has(FactKind::MpiError);
    if (victims) continue;
    Finding finding = crash_of(c, {c.rank(*fact)}, "plain_exit");
    finding.evidence = {fact};
    finding.confidence = kind == FactKind::MpiExit ? Confidence::Certain : Confidence::Likely;
    finding.what = rank_on_host(c, c.rank(*fact)) + " left with " +
                   (kind == FactKind::MpiSignal ? "signal " : "exit code ") + std::to_string(fact->code);
    finding.why = "It is the only process that the launcher reports, and no line shows another failure.";
    if (kind == FactKind::MpiExit) finding.nodes = c.hosts_of(finding.culprits);
    return finding;
  }
  // torchrun: one entry with exit code 1, everybody else stopped by the agent, and no text at all.
  const auto entries = launcher_entries(c);
  if (entries.size() == 1 && entries.front()->code == 1 &&
      victim_ranks(c).count(c.rank(*entries.front())) != 0 && !c.has(FactKind::PeerClosed) &&
      !c.has(FactKind::NcclErrorText) && !c.has(FactKind::WatchdogTimeout) && !c.has(FactKind::GlooTimeout)) {
    Finding finding = crash_of(c, {c.rank(*entries.front())}, "plain_exit");
    finding.evidence = {entries.front()};
    finding.confidence = Confidence::Likely;
    finding.what = rank_on_host(c, c.rank(*entries.front())) + " left with exit code 1";
    finding.why =
        "It is the only failure in torchrun's table; the agent stopped the others. Its own output is not "
        "here.";
    return finding;
  }
  return std::nullopt;
}

}  // namespace ringside::backend::rules
