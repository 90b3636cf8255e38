// Rules on memory of the host, on settings, and on processes that never met.
#include <algorithm>
#include <map>

#include "backend/import/codes.hpp"
#include "backend/import/natural_order.hpp"
#include "backend/import/rules.hpp"

namespace ringside::backend::rules {
namespace {

using sim::Confidence;
using sim::DiagnosisKind;

constexpr double kMemoryFull =
    0.88;  // share of the node's memory above which a SIGKILL is the OOM killer's, likely

/// Hosts that print these Facts, when that is a true subset of all hosts; otherwise nobody is special.
std::vector<std::string> special_hosts(const Case& c, const std::vector<const Fact*>& facts) {
  std::set<std::string> hosts;
  for (const Fact* fact : facts) {
    std::string host = c.host(*fact);
    if (host.empty()) host = c.who.host_of_rank(c.torch_rank(*fact));
    if (!host.empty()) hosts.insert(host);
  }
  if (hosts.empty() || hosts.size() >= c.who.hosts().size()) return {};
  std::vector<std::string> names(hosts.begin(), hosts.end());
  std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) { return natural_less(a, b); });
  return names;
}

std::optional<Finding> setting(const Case& c, FactKind kind, const char* what, const char* why,
                               DiagnosisKind result) {
  const auto& facts = c.of(kind);
  if (facts.empty()) return std::nullopt;
  Finding finding;
  finding.rule = "configuration";
  finding.kind = result;
  finding.evidence = facts;
  finding.nodes = special_hosts(c, facts);
  finding.confidence = Confidence::Certain;
  finding.what = what;
  if (!finding.nodes.empty()) finding.what += " on " + name_hosts(finding.nodes);
  finding.why = why;
  return finding;
}

/// An environment variable of NCCL that one host has and the others have not, or have with another value.
std::string odd_setting(const Case& c, std::string& odd_host) {
  std::map<std::string, std::map<std::string, std::string>> values;  // variable -> host -> value
  std::set<std::string> hosts(c.who.hosts().begin(), c.who.hosts().end());
  for (const Fact* fact : c.of(FactKind::NcclEnv))
    if (const std::string host = c.host(*fact); !host.empty()) values[fact->op][host] = fact->name;
  for (const auto& [variable, by_host] : values) {
    std::map<std::string, std::vector<std::string>> holders;
    for (const std::string& host : hosts) {
      const auto found = by_host.find(host);
      holders[found == by_host.end() ? std::string("(not set)") : found->second].push_back(host);
    }
    if (holders.size() != 2) continue;
    for (const auto& [value, names] : holders)
      if (names.size() == 1 && hosts.size() > 2) {
        odd_host = names.front();
        return variable + " is " + value + " on " + odd_host + " only";
      }
  }
  return {};
}

/// The OOM killer took a program that is none of the job's: the ranks of this host say their pids, and it has
/// no name of Python's or of its helpers'.
bool is_foreign_process(const Case& c, const Fact& fact) {
  if (fact.who.pid < 0 || fact.layer != Layer::Kernel || c.rank(fact) >= 0) return false;
  for (const std::string_view ours : {"python", "pt_", "torch", "ray"})
    if (std::string_view(fact.name).starts_with(ours)) return false;
  const std::string host = c.host(fact);
  return std::any_of(c.who.seen().begin(), c.who.seen().end(), [&](int rank) {
    const RankInfo* info = c.who.info(rank);
    return info != nullptr && info->pid >= 0 && (host.empty() || info->host.empty() || info->host == host);
  });
}

std::optional<Finding> killed_with_full_memory(const Case& c) {
  const Fact* fullest = nullptr;
  for (const Fact* note : c.of(FactKind::MemoryNote))
    if (note->y > 0 && note->x / note->y >= kMemoryFull &&
        (fullest == nullptr || note->x / note->y >= fullest->x / fullest->y))
      fullest = note;
  if (fullest == nullptr) return std::nullopt;
  for (const FactKind kind : {FactKind::ElasticEntry, FactKind::ElasticRoot, FactKind::ElasticFailed,
                              FactKind::MpiSignal, FactKind::BadTermination, FactKind::TaskEnded})
    for (const Fact* fact : c.of(kind)) {
      const bool killed =
          signal_of_exit(fact->code) == 9 ||
          (fact->code == 9 && (kind == FactKind::MpiSignal || kind == FactKind::BadTermination)) ||
          (kind == FactKind::TaskEnded && fact->name.rfind("Killed", 0) == 0);
      if (!killed) continue;
      Finding finding;
      finding.rule = "host_memory";
      finding.kind = DiagnosisKind::HostOom;
      if (kind == FactKind::TaskEnded && c.who.task_is_rank())
        finding.culprits = fact->named;
      else if (const int rank = c.rank(*fact); rank >= 0)
        finding.culprits = {rank};
      finding.nodes = c.hosts_of(finding.culprits);
      if (finding.nodes.empty() && !c.host(*fact).empty()) finding.nodes = {c.host(*fact)};
      finding.confidence = Confidence::Likely;
      finding.evidence = {fact, fullest};
      finding.what =
          name_ranks(finding.culprits) + " was killed (SIGKILL) while the memory of the host was nearly full";
      finding.why =
          "The log shows the memory growing to its limit; no kernel line is here to prove that the OOM "
          "killer did it.";
      return finding;
    }
  return std::nullopt;
}

}  // namespace

/// The kernel or the scheduler killed a process for lack of memory. Who invoked the OOM killer only asked for
/// memory.
std::optional<Finding> host_memory(const Case& c) {
  Finding finding;
  finding.rule = "host_memory";
  finding.kind = DiagnosisKind::HostOom;
  std::set<int> ranks;
  std::set<std::string> hosts;
  for (const Fact* fact : c.of(FactKind::KernelOom)) {
    if (fact->role != Role::Root || is_foreign_process(c, *fact)) continue;
    finding.evidence.push_back(fact);
    const int rank = c.rank(*fact);
    if (rank >= 0) ranks.insert(rank);
    if (const std::string host = c.host(*fact); !host.empty()) hosts.insert(host);
  }
  for (const Fact* fact : c.of(FactKind::SchedOom)) {
    finding.evidence.push_back(fact);
    if (fact->layer == Layer::Slurm) continue;  // prints for the whole step
    if (const int rank = c.rank(*fact); rank >= 0) ranks.insert(rank);
    if (const std::string host = c.host(*fact); !host.empty()) hosts.insert(host);
  }
  const bool scheduler_said = !finding.evidence.empty();
  for (const Fact* fact : c.of(FactKind::TaskEnded)) {
    const bool memory = fact->name.find("Out Of Memory") != std::string::npos;
    const bool killed = fact->name.rfind("Killed", 0) == 0 || fact->code == 137;
    if (!memory && !(killed && scheduler_said)) continue;
    finding.evidence.push_back(fact);
    hosts.insert(fact->who.host);
    if (c.who.task_is_rank()) ranks.insert(fact->named.begin(), fact->named.end());
  }
  if (finding.evidence.empty()) return killed_with_full_memory(c);
  if (ranks.empty())  // the scheduler names no task: who ended with SIGKILL?
    for (const FactKind kind :
         {FactKind::ElasticEntry, FactKind::ElasticRoot, FactKind::ElasticFailed, FactKind::MpiSignal})
      for (const Fact* fact : c.of(kind))
        if (signal_of_exit(fact->code) == 9 || (kind == FactKind::MpiSignal && fact->code == 9))
          if (const int rank = c.rank(*fact); rank >= 0) ranks.insert(rank);
  hosts.erase("");
  if (ranks.empty() && hosts.size() == 1) {  // a pod, or a node with one process: who else could it be?
    std::vector<int> there;
    for (const int rank : c.who.seen())
      if (c.who.host_of_rank(rank) == *hosts.begin()) there.push_back(rank);
    if (there.size() == 1) ranks.insert(there.front());
  }
  finding.culprits.assign(ranks.begin(), ranks.end());
  for (const std::string& host : c.hosts_of(finding.culprits)) hosts.insert(host);
  finding.nodes.assign(hosts.begin(), hosts.end());
  finding.confidence = ranks.empty() && hosts.empty() ? Confidence::Unknown : Confidence::Certain;
  finding.what = "the memory of " +
                 (finding.nodes.empty() ? std::string("a host") : name_hosts(finding.nodes)) +
                 " ran out and " + (ranks.empty() ? std::string("a process") : name_ranks(finding.culprits)) +
                 " was killed";
  finding.why = "The kernel or the scheduler says so; connections that close afterwards belong to victims.";
  return finding;
}

std::optional<Finding> configuration(const Case& c) {
  if (const auto& duplicates = c.of(FactKind::DuplicateGpu); !duplicates.empty()) {
    Finding finding;
    finding.rule = "configuration";
    finding.kind = DiagnosisKind::ConfigError;
    finding.evidence = duplicates;
    std::set<std::string> hosts;
    for (const Fact* fact : duplicates) {
      if (const std::string host = c.host(*fact); !host.empty()) hosts.insert(host);
      for (const std::string& host : c.hosts_of(fact->named)) hosts.insert(host);
    }
    finding.nodes.assign(hosts.begin(), hosts.end());
    finding.confidence = Confidence::Certain;
    finding.what = "two ranks of one communicator use the same GPU" +
                   (hosts.empty() ? std::string() : " on " + name_hosts(finding.nodes));
    finding.why =
        "NCCL names both ranks; it is the launch (processes per node against visible devices) that is wrong, "
        "not one of the ranks.";
    return finding;
  }
  if (auto finding = setting(c, FactKind::SharedMemory, "/dev/shm is too small",
                             "A shared memory segment could not be made; every rank of the same container "
                             "fails alike, so no rank is guilty.",
                             DiagnosisKind::ConfigError))
    return finding;
  if (auto finding = setting(c, FactKind::NvlsFailed, "NVLink SHARP multicast memory could not be bound",
                             "Multicast is offered but cannot be used: fabric manager or NVSwitch state. "
                             "Ranks elsewhere only see closed connections.",
                             DiagnosisKind::ConfigError))
    return finding;
  if (auto finding =
          setting(c, FactKind::NoInterface, "no usable network interface or name",
                  "The process could not find an interface or resolve a name, before any collective.",
                  DiagnosisKind::NetworkConfig))
    return finding;
  if (auto finding = setting(c, FactKind::BadSetup, "",
                             "The program cannot run like this; it failed before it "
                             "could communicate.",
                             DiagnosisKind::ConfigError)) {
    std::set<int> ranks;
    for (const Fact* fact : c.of(FactKind::BadSetup)) ranks.insert(c.torch_rank(*fact));
    const auto seen = std::max(c.world(), static_cast<std::int64_t>(c.who.seen().size()));
    if (ranks.count(-1) == 0 && static_cast<std::int64_t>(ranks.size()) * 2 < seen)
      finding->culprits.assign(ranks.begin(), ranks.end());
    finding->what = c.of(FactKind::BadSetup).front()->name +
                    (finding->culprits.empty() ? std::string() : ", on " + name_ranks(finding->culprits));
    return finding;
  }
  for (const Fact* fact : c.of(FactKind::NcclWarn))
    if (fact->role == Role::Root) {
      Finding finding;
      finding.rule = "configuration";
      finding.kind = DiagnosisKind::ConfigError;
      finding.evidence = {fact};
      finding.confidence = Confidence::Likely;
      finding.what = "versions differ between ranks: " + fact->name;
      finding.why = "NCCL refuses to work across these versions.";
      return finding;
    }
  return std::nullopt;
}

/// Verbs calls that fail for lack of locked memory or a wrong GID, and IB size checks that fail because nodes
/// run with different settings.
std::optional<Finding> ib_settings(const Case& c) {
  std::vector<const Fact*> memory;
  std::vector<const Fact*> route;
  for (const Fact* fact : c.of(FactKind::IbVerbs)) {
    if (fact->op == "ibv_get_async_event") continue;  // follows an adapter's failure
    (fact->name.find("Cannot allocate memory") != std::string::npos ? memory : route).push_back(fact);
  }
  Finding finding;
  finding.rule = "ib_settings";
  if (!memory.empty()) {
    finding.kind = DiagnosisKind::ConfigError;
    finding.evidence = memory;
    finding.nodes = special_hosts(c, memory);
    finding.confidence = Confidence::Certain;
    finding.what = memory.front()->op + " could not get locked memory" +
                   (finding.nodes.empty() ? "" : " on " + name_hosts(finding.nodes));
    finding.why = "The limit of locked memory (ulimit -l) is too small for InfiniBand.";
    return finding;
  }
  if (const auto& sizes = c.of(FactKind::IbSizeMismatch); !sizes.empty()) {
    finding.evidence = sizes;
    std::string host;
    const std::string odd = odd_setting(c, host);
    std::set<std::string> ends;
    for (const Fact* fact : sizes) {
      ends.insert(c.host(*fact));
      const std::string peer = c.who.host_of_address(fact->peer);
      ends.insert(peer.empty() ? fact->peer : peer);
    }
    if (!odd.empty() && ends.count(host) != 0) {
      finding.kind = DiagnosisKind::ConfigError;
      finding.nodes = {host};
      finding.confidence = Confidence::Certain;
      finding.what = odd;
      finding.why =
          "The two ends of a connection expect messages of different size while the tensors are equal: the "
          "nodes run with different NCCL settings, and the end that reports is innocent.";
      for (const Fact* fact : c.of(FactKind::NcclEnv))
        if (c.host(*fact) == host && odd.rfind(fact->op, 0) == 0) {
          finding.evidence.push_back(fact);
          break;
        }
      return finding;
    }
    finding.kind = DiagnosisKind::ShapeMismatch;
    finding.confidence = Confidence::Unknown;
    finding.what = "two ends of an InfiniBand connection expected different message sizes";
    finding.why =
        "Either the tensors or the NCCL settings of the two ends differ; one pair does not tell which end is "
        "wrong.";
    ends.erase("");
    for (const std::string& end : ends)
      finding.alternatives.push_back({DiagnosisKind::ConfigError, {}, end + " is one of the two ends"});
    return finding;
  }
  if (!route.empty() && !c.has(FactKind::IbCompletion)) {
    finding.kind = DiagnosisKind::NetworkConfig;
    finding.evidence = route;
    finding.nodes = special_hosts(c, route);
    finding.confidence = finding.nodes.empty() ? Confidence::Unknown : Confidence::Likely;
    finding.what =
        route.front()->op + " failed" + (route.front()->name.empty() ? "" : " (" + route.front()->name + ")");
    finding.why =
        "A queue pair could not be brought up: wrong GID index, no route between the ports, or a port that "
        "is down.";
    return finding;
  }
  return std::nullopt;
}

/// Processes that did not find each other. The clients that report are at one end of a way whose other end is
/// not here.
std::optional<Finding> rendezvous(const Case& c) {
  std::vector<const Fact*> unreachable;
  for (const Fact* fact : c.of(FactKind::StoreUnreachable)) unreachable.push_back(fact);
  for (const Fact* fact : c.of(FactKind::UniqueIdFailed)) unreachable.push_back(fact);
  Finding finding;
  finding.rule = "rendezvous";
  if (!unreachable.empty()) {
    finding.evidence = unreachable;
    const Fact& first = *unreachable.front();
    finding.kind = first.layer == Layer::Nccl ? DiagnosisKind::NetworkConfig : DiagnosisKind::Rendezvous;
    finding.confidence = Confidence::Unknown;
    const std::string target = first.peer.empty() ? std::string("the store") : first.peer;
    finding.what = "processes could not reach " + target;
    finding.why =
        "Wrong address, a firewall, or the process at the other end was not running: those who report cannot "
        "tell which.";
    // One host that cannot reach what several others reach has the fault on its own side.
    std::set<std::string> failing;
    for (const Fact* fact : unreachable) {
      std::string host = c.host(*fact);
      if (host.empty()) host = c.who.host_of_rank(c.torch_rank(*fact));
      failing.insert(host);
    }
    std::set<std::string> working;
    for (const FactKind kind : {FactKind::StepTime, FactKind::NcclInit})
      for (const Fact* fact : c.of(kind))
        if (const std::string host = c.host(*fact); !host.empty() && failing.count(host) == 0)
          working.insert(host);
    if (failing.size() == 1 && !failing.begin()->empty() && working.size() >= 2) {
      finding.kind = DiagnosisKind::NetworkConfig;
      finding.nodes = {*failing.begin()};
      finding.confidence = Confidence::Likely;
      finding.what = *failing.begin() + " could not reach " + target + ", which others reached";
      finding.why = "Only this host fails, so its interface, route or firewall is the suspect.";
    }
    finding.alternatives.push_back(
        {DiagnosisKind::NetworkConfig, {}, "a firewall or a wrong interface looks the same from here"});
    return finding;
  }
  if (const auto& ports = c.of(FactKind::PortInUse); !ports.empty()) {
    finding.kind = DiagnosisKind::ConfigError;
    finding.evidence = ports;
    finding.confidence = Confidence::Likely;
    if (const std::string host = c.host(*ports.front()); !host.empty() && c.who.hosts().size() > 1)
      finding.nodes = {host};
    finding.what = "the port of the store or launcher was already in use";
    finding.why = "Another process, often the rest of an earlier job, still listens there.";
    return finding;
  }
  // Before anything was done, a store that answers with errors is the same story.
  if (c.has(FactKind::StoreLost) && !c.has(FactKind::PeerClosed) && !c.has(FactKind::WatchdogTimeout) &&
      !c.has(FactKind::StepTime)) {
    finding.kind = DiagnosisKind::Rendezvous;
    finding.evidence = c.of(FactKind::StoreLost);
    finding.confidence = Confidence::Unknown;
    finding.what = "the store did not answer";
    finding.why =
        "The process that runs the store (rank 0's host) ended or was never reachable; its own log decides.";
    finding.alternatives.push_back(
        {DiagnosisKind::RankCrash, {0}, "rank 0 holds the store; nothing here shows that it failed"});
    return finding;
  }
  return std::nullopt;
}

}  // namespace ringside::backend::rules
