// Rules on what the hardware, the kernel and the scheduler say.
#include <algorithm>
#include <map>

#include "backend/import/codes.hpp"
#include "backend/import/messages.hpp"
#include "backend/import/natural_order.hpp"
#include "backend/import/rules.hpp"

namespace ringside::backend::rules {
namespace {

using sim::Confidence;
using sim::DiagnosisKind;

constexpr std::size_t kAerStorm =
    8;  // a few corrected errors are normal, a row of them before a GPU is lost is its cause

bool is_link_xid(const Fact& fact) {
  return xid_meaning(fact.code).of == XidClass::Link;
}
bool is_hardware_xid(const Fact& fact) {
  const XidClass of = xid_meaning(fact.code).of;
  return of == XidClass::Hardware || of == XidClass::Contained || of == XidClass::Link;
}

/// The earliest of some Facts; on a tie in time the first in reading order.
const Fact* earliest(const Case& c, const std::vector<const Fact*>& facts) {
  const Fact* first = nullptr;
  for (const Fact* fact : facts)
    if (first == nullptr || c.before(*fact, *first)) first = fact;
  return first;
}

/// Culprit rank and host of a Fact about a GPU.
void blame_gpu(const Case& c, const Fact& fact, Finding& finding) {
  int rank = c.who.rank_at_bus(c.host(fact), fact.bus);
  if (rank < 0) rank = c.torch_rank(fact);
  std::string host = c.host(fact);
  if (rank >= 0) {
    finding.culprits = {rank};
    if (host.empty()) host = c.who.host_of_rank(rank);
  }
  if (!host.empty()) finding.nodes = {host};
  finding.confidence =
      finding.culprits.empty() && finding.nodes.empty() ? Confidence::Likely : Confidence::Certain;
}

/// What the kernel reported more than a day before anything of the job is not what ended the job; the day is
/// for clocks that tell another time zone's time.
bool is_of_an_older_job(const Case& c, const Fact& fact) {
  constexpr std::int64_t kDay = std::int64_t{26} * 3600 * 1'000'000'000;
  if (!fact.dated || fact.t_ns < 0) return false;
  std::int64_t start = INT64_MAX;
  for (const Fact& other : c.facts.facts)
    if (other.who.rank >= 0 && other.layer != Layer::Kernel && other.dated && other.t_ns >= 0)
      start = std::min(start, other.t_ns);
  return start != INT64_MAX && fact.t_ns < start - kDay;
}

/// Every rank is known to run elsewhere: the kernel log is of a machine that had no part in the job.
bool is_of_another_machine(const Case& c, const Fact& fact) {
  constexpr std::int64_t kMostRanks = 65'536;
  const std::string host = c.host(fact);
  if (host.empty() || c.torch_rank(fact) >= 0 || c.world() <= 0 || c.world() > kMostRanks) return false;
  const std::string short_name = host.substr(0, host.find('.'));
  for (int rank = 0; rank < c.world(); ++rank) {
    const std::string there = c.who.host_of_rank(rank);
    if (there.empty() || there.substr(0, there.find('.')) == short_name) return false;
  }
  return true;
}

/// The job had fallen silent well before, after a failure of the program that no GPU takes part in. Silence
/// alone is no proof, since a kernel log may tell another time zone's time.
bool is_after_the_end(const Case& c, const Fact& fact) {
  constexpr std::int64_t kMargin = std::int64_t{60} * 1'000'000'000;
  if (fact.t_ns < 0 || c.has(FactKind::CudaError) || c.has(FactKind::GpuEcc)) return false;
  const auto of_the_program = [](const Fact* raised) {
    static constexpr std::string_view kNames[] = {"ValueError",   "KeyError",         "IndexError",
                                                  "TypeError",    "AttributeError",   "AssertionError",
                                                  "NameError",    "ImportError",      "FileNotFoundError",
                                                  "UnicodeError", "ZeroDivisionError"};
    return raised->role == Role::Root &&
           std::find(std::begin(kNames), std::end(kNames), raised->name) != std::end(kNames);
  };
  const auto& raised = c.of(FactKind::PythonException);
  if (std::none_of(raised.begin(), raised.end(), of_the_program)) return false;
  std::int64_t last = -1;
  for (const Fact& other : c.facts.facts)
    if (other.file != fact.file && other.layer != Layer::Kernel && other.dated == fact.dated)
      last = std::max(last, other.t_ns);
  return last >= 0 && fact.t_ns > last + kMargin;
}

bool is_about_this_job(const Case& c, const Fact& fact) {
  return !is_of_an_older_job(c, fact) && !is_of_another_machine(c, fact) && !is_after_the_end(c, fact);
}

std::optional<Finding> from_kernel(const Case& c) {
  std::vector<const Fact*> roots;
  for (const Fact* fact : c.of(FactKind::Xid))
    if (is_hardware_xid(*fact) && is_about_this_job(c, *fact)) roots.push_back(fact);
  for (const Fact* fact : c.of(FactKind::DeviceFault))
    if (is_about_this_job(c, *fact)) roots.push_back(fact);
  // "Nonfatal" link events on other GPUs are the echo of a fatal one.
  const bool fatal = std::any_of(roots.begin(), roots.end(), [](const Fact* f) {
    return is_link_xid(*f) && f->name.find("Fatal") != std::string::npos &&
           f->name.find("Nonfatal") == std::string::npos;
  });
  if (fatal)
    roots.erase(std::remove_if(roots.begin(), roots.end(),
                               [](const Fact* f) {
                                 return is_link_xid(*f) && f->name.find("Nonfatal") != std::string::npos;
                               }),
                roots.end());
  for (const Fact* fact : c.of(FactKind::GpuLost))
    if (fact->role == Role::Root && fact->layer == Layer::Kernel && !fact->bus.empty() &&
        is_about_this_job(c, *fact))
      roots.push_back(fact);
  if (roots.empty())
    for (const Fact* fact : c.of(FactKind::GpuLost))
      if (fact->role == Role::Root && is_about_this_job(c, *fact)) roots.push_back(fact);
  const Fact* first = earliest(c, roots);
  if (first == nullptr) return std::nullopt;
  Finding finding;
  finding.rule = "gpu_hardware";
  blame_gpu(c, *first, finding);
  finding.evidence = {first};
  for (const Fact* root : roots)
    if (root != first) finding.evidence.push_back(root);
  std::size_t reports = 0;
  const Fact* report = nullptr;
  const Fact* power = nullptr;
  for (const Fact* fact : c.of(FactKind::Aer)) {
    const bool slot =
        fact->name == "Link Down" || fact->name == "Card not present" || fact->name == "Power fault";
    if (fact->file != first->file || fact->line > first->line) continue;
    if (fact->name == "Power fault") power = fact;
    if (slot) continue;
    ++reports;
    if (report == nullptr) report = fact;
  }
  const std::string where = finding.culprits.empty()
                                ? (finding.nodes.empty() ? "a GPU" : "a GPU of " + finding.nodes.front())
                                : "the GPU of " + rank_on_host(c, finding.culprits.front());
  if (power != nullptr) {
    finding.kind = DiagnosisKind::PcieError;
    finding.what = "a PCIe slot reported a power fault, then " + where + " was lost";
    finding.why = "The power of the slot failed before the GPU left the bus.";
    finding.evidence.push_back(power);
  } else if (reports >= kAerStorm) {
    finding.kind = DiagnosisKind::PcieError;
    finding.what = "PCIe errors in a row, then " + where + " was lost";
    finding.why = std::to_string(reports) +
                  " PCIe error reports of one port stand before the loss of the GPU, so the fault is on its "
                  "way to the GPU.";
    finding.evidence.push_back(report);
  } else if (first->kind == FactKind::Xid) {
    const XidMeaning& xid = xid_meaning(first->code);
    finding.kind = xid.of == XidClass::Link ? DiagnosisKind::NvlinkHw : DiagnosisKind::GpuHw;
    finding.what = where + " reported Xid " + std::to_string(first->code) + ": " + xid.meaning_en;
    finding.why =
        "The kernel's own report is the strongest evidence; timeouts and closed connections on other ranks "
        "follow from it.";
  } else if (first->kind == FactKind::DeviceFault) {
    const bool is_switch = first->code != 0;
    finding.kind = is_switch ? DiagnosisKind::NvlinkHw : DiagnosisKind::GpuHw;
    finding.what = is_switch ? "an NVSwitch" + (finding.nodes.empty() ? "" : " of " + finding.nodes.front()) +
                                   " reported SXid " + std::to_string(first->code) + " (" + first->name + ")"
                             : where + " reported " + first->name;
    finding.why = "The kernel's own report is the strongest evidence; timeouts on all ranks follow from it.";
  } else {
    finding.kind = DiagnosisKind::GpuHw;
    finding.what = where + " was lost";
    finding.why = "A GPU that cannot be opened or has left the bus cannot take part in any collective.";
  }
  return finding;
}

/// Uncorrectable errors that CUDA reports to the process.
std::optional<Finding> from_cuda(const Case& c) {
  const auto& errors = c.of(FactKind::GpuEcc);
  if (errors.empty()) return std::nullopt;
  Finding finding;
  finding.rule = "gpu_hardware";
  const bool link = errors.front()->name.find("NVLink") != std::string::npos;
  finding.kind = link ? DiagnosisKind::NvlinkHw : DiagnosisKind::GpuHw;
  std::set<int> ranks;
  for (const Fact* fact : errors) {
    const int rank = c.torch_rank(*fact);
    if (rank >= 0) ranks.insert(rank);
    finding.evidence.push_back(fact);
  }
  if (ranks.empty())
    if (const int rank = attribute(c, *errors.front()); rank >= 0) ranks.insert(rank);
  finding.what = "CUDA reported an " + errors.front()->name;
  if (ranks.size() == 1) {
    finding.culprits = {*ranks.begin()};
    finding.nodes = c.hosts_of(finding.culprits);
    finding.confidence = Confidence::Certain;
    finding.what += " on " + rank_on_host(c, *ranks.begin());
    finding.why = "Only this rank's GPU reported the error; the others were stopped or lost the connection.";
  } else {
    // Both ends of a broken link report it; without the kernel log nobody knows which is at fault.
    finding.nodes = c.hosts_of({ranks.begin(), ranks.end()});
    if (finding.nodes.size() > 1) finding.nodes.clear();
    finding.confidence = finding.nodes.empty() ? Confidence::Unknown : Confidence::Likely;
    finding.why =
        "Several ranks report it at once; the kernel log (Xid lines) decides which GPU or link it is.";
    finding.alternatives.push_back(
        {finding.kind, {ranks.begin(), ranks.end()}, "the kernel log is not here to choose among them"});
  }
  return finding;
}

std::vector<std::string> expand_hosts(const std::string& text) {
  const std::size_t open = text.find('[');
  if (open == std::string::npos) return {text};
  std::vector<std::string> hosts;
  const std::string numbers =
      text.substr(open + 1, text.find(']') == std::string::npos ? text.npos : text.find(']') - open - 1);
  const std::size_t width = numbers.find_first_not_of("0123456789");
  const std::size_t digits = width == std::string::npos ? numbers.size() : width;
  for (const int number : read_rank_list(numbers)) {
    std::string digit = std::to_string(number);
    while (digit.size() < digits) digit.insert(digit.begin(), '0');
    hosts.push_back(text.substr(0, open) + digit);
  }
  return hosts;
}

}  // namespace

std::optional<Finding> gpu_hardware(const Case& c) {
  if (auto finding = from_kernel(c)) return finding;
  return from_cuda(c);
}

/// The scheduler or the launcher says that a node is gone. "STEP … ON host CANCELLED" names the node that
/// prints it.
std::optional<Finding> node_failure(const Case& c) {
  Finding finding;
  finding.rule = "node_failure";
  finding.kind = DiagnosisKind::NodeFailure;
  std::set<std::string> hosts;
  for (const Fact* fact : c.of(FactKind::NodeFailed)) {
    finding.evidence.push_back(fact);
    const bool own = fact->layer == Layer::Kernel;  // a kernel that panics speaks of its own machine
    for (const std::string& host : expand_hosts(own ? c.host(*fact) : fact->who.host))
      if (!host.empty()) hosts.insert(host);
  }
  if (finding.evidence.empty()) {
    for (const Fact* fact : c.of(FactKind::StepCancelled))
      if (fact->name.find("NODE FAILURE") != std::string::npos) finding.evidence.push_back(fact);
    if (finding.evidence.empty()) return std::nullopt;
    // The failed node is not named: it is the one that all the others lost, if they agree.
    std::map<std::string, std::set<std::string>> lost;
    for (const Fact* fact : c.of(FactKind::PeerClosed))
      if (const std::string peer = c.who.host_of_address(fact->peer); !peer.empty() && peer != c.host(*fact))
        lost[peer].insert(c.host(*fact));
    if (lost.size() == 1) hosts.insert(lost.begin()->first);
  }
  finding.nodes.assign(hosts.begin(), hosts.end());
  std::sort(finding.nodes.begin(), finding.nodes.end(),
            [](const auto& a, const auto& b) { return natural_less(a, b); });
  finding.confidence = hosts.empty() ? Confidence::Unknown : Confidence::Certain;
  finding.what = hosts.empty()
                     ? "a node failed"
                     : "the scheduler or launcher reports that " + name_hosts(finding.nodes) + " failed";
  finding.why =
      "Ranks that lost a connection to it are victims; the host in \"STEP … ON … CANCELLED\" only printed "
      "the line.";
  for (const Fact* fact : c.of(FactKind::MachineCheck)) finding.evidence.push_back(fact);
  return finding;
}

/// The kernel of a host saw a port go down, and completions failed afterwards.
bool is_lost_port(const Case& c, const Fact& fact) {
  static constexpr std::string_view kLost[] = {"ink down", "unplugged", "Cable error", "health compromised",
                                               "device error"};
  const bool lost = std::any_of(std::begin(kLost), std::end(kLost), [&](std::string_view word) {
    return fact.name.find(word) != std::string::npos;
  });
  const auto& errors = c.of(FactKind::IbCompletion);
  return lost && !c.host(fact).empty() && std::none_of(errors.begin(), errors.end(), [&](const Fact* error) {
           return c.before(*error, fact);
         });
}

/// Asynchronous events of the adapter: they come from the host whose port or adapter failed, before anybody
/// else notices.
std::optional<Finding> ib_port(const Case& c) {
  std::map<std::string, std::vector<const Fact*>> hosts;
  std::set<std::string> ports;
  std::vector<const Fact*> events = c.of(FactKind::IbAsyncFatal);
  // A port that came back, and steps after that: it did not end the job.
  std::erase_if(events, [&](const Fact* event) {
    const auto& others = c.of(FactKind::IbAsyncOther);
    return std::any_of(others.begin(), others.end(), [&](const Fact* active) {
      return active->name == "port active" && active->bus == event->bus &&
             c.host(*active) == c.host(*event) && c.before(*event, *active) && steps_go_on(c, *active, -1);
    });
  });
  if (events.empty() && c.has(FactKind::IbCompletion))
    for (const Fact* fact : c.of(FactKind::LinkState))
      if (is_lost_port(c, *fact)) events.push_back(fact);
  for (const Fact* fact : events) {
    hosts[c.host(*fact)].push_back(fact);
    if (!fact->bus.empty()) ports.insert(fact->bus);
  }
  if (hosts.empty()) return std::nullopt;
  hosts.erase("");
  Finding finding;
  finding.rule = "ib_port";
  finding.kind = DiagnosisKind::IbError;
  finding.evidence = events;
  for (const Fact* fact : c.of(FactKind::IbCompletion))
    if (fact->code != 5) finding.evidence.push_back(fact);
  std::string port = ports.size() == 1 ? " on " + *ports.begin() : std::string();
  const std::string event = events.front()->name;
  if (hosts.size() == 1) {
    finding.nodes = {hosts.begin()->first};
    finding.confidence = Confidence::Certain;
    finding.what = "the adapter of " + finding.nodes.front() + " reported \"" + event + "\"" + port;
    finding.why =
        "Only processes of this host report it, before any other rank has an error; its neighbours later see "
        "their retries run out.";
    return finding;
  }
  // Several hosts: the one whose events stand clearly before all others.
  const Fact* first = earliest(c, events);
  const std::string host = c.host(*first);
  bool alone_first = !host.empty();
  for (const auto& [other, facts] : hosts)
    if (other != host) alone_first = alone_first && c.before(*first, *facts.front());
  if (alone_first) finding.nodes = {host};
  for (const auto& [other, facts] : hosts)
    if (!alone_first) finding.nodes.push_back(other);
  finding.confidence = hosts.empty() ? Confidence::Unknown : Confidence::Likely;
  finding.what = "adapters reported \"" + event + "\"" + port +
                 (finding.nodes.empty() ? "" : " on " + name_hosts(finding.nodes));
  finding.why = alone_first
                    ? "Its events stand before those of the other hosts."
                    : "Several hosts report it at about the same time, which points to a switch they share.";
  return finding;
}

/// Completion errors name a pair of hosts. The host that is in every pair, with different partners, is the
/// suspect.
std::optional<Finding> ib_completion(const Case& c) {
  std::map<std::string, std::set<std::string>> partners;
  std::set<std::pair<std::string, std::string>> pairs;
  Finding finding;
  finding.rule = "ib_completion";
  finding.kind = DiagnosisKind::IbError;
  std::set<std::string> adapters;
  bool protection = false;
  std::set<std::string> protection_hosts;
  for (const Fact* fact : c.of(FactKind::IbCompletion)) {
    if (fact->code == 5) continue;  // flushed after an earlier error
    finding.evidence.push_back(fact);
    if (!fact->name.empty()) adapters.insert(fact->name);
    const std::string here = c.host(*fact);
    if (fact->code == 4) {
      protection = true;
      if (!here.empty()) protection_hosts.insert(here);
    }
    if (fact->peer.empty()) continue;
    const std::string known = c.who.host_of_address(fact->peer);
    const std::string there = known.empty() ? fact->peer : known;
    if (here.empty() || here == there) continue;
    pairs.insert(std::minmax(here, there));
    partners[here].insert(there);
    partners[there].insert(here);
  }
  if (finding.evidence.empty()) return std::nullopt;
  const int code = finding.evidence.front()->code;
  const CodeMeaning& meaning = wc_meaning(code);
  const std::string adapter = adapters.size() == 1 ? ", always on " + *adapters.begin() : std::string();
  const bool all_protection = std::all_of(finding.evidence.begin(), finding.evidence.end(),
                                          [](const Fact* f) { return f->code == 4; });
  if (all_protection || (protection && protection_hosts.size() <= 1)) {
    // A local protection error is a statement about the reporter's own machine, not about the way.
    finding.kind = DiagnosisKind::NetworkConfig;
    if (protection_hosts.size() < c.who.hosts().size())
      finding.nodes.assign(protection_hosts.begin(), protection_hosts.end());
    finding.confidence =
        protection_hosts.empty() || c.who.hosts().size() < 2 ? Confidence::Likely : Confidence::Certain;
    if (c.who.hosts().size() < 2) finding.nodes.clear();
    finding.what = std::string("work completions failed with status 4: ") + meaning.meaning_en;
    finding.why = "Status 4 concerns the memory of the host that reports it.";
    return finding;
  }
  for (const auto& [host, others] : partners) {
    const bool in_every = std::all_of(pairs.begin(), pairs.end(), [&host = host](const auto& pair) {
      return pair.first == host || pair.second == host;
    });
    if (!in_every || others.size() < 2) continue;
    const bool named = c.who.host_of_address(host) == host;
    if (named) finding.nodes = {host};
    finding.confidence = named ? Confidence::Certain : Confidence::Likely;
    finding.what = "the way to " + host + " failed (status " + std::to_string(code) + ", " + meaning.name +
                   ")" + adapter;
    finding.why = std::to_string(others.size()) +
                  " hosts report errors against one and the same peer, so the fault is at that peer and not "
                  "at those who report.";
    return finding;
  }
  if (partners.size() >= 3 && pairs.size() >= 2 && !c.has(FactKind::StepTime) &&
      !c.has(FactKind::WatchdogTimeout)) {
    bool progressed = false;
    for (const Fact* fact : c.of(FactKind::Progress)) progressed = progressed || fact->step > 0;
    if (!progressed) {
      // Every pair fails from the start: not one cable, but how all nodes are set up.
      finding.kind = DiagnosisKind::NetworkConfig;
      finding.confidence = Confidence::Likely;
      finding.what = std::string("transfers fail between many pairs of hosts (status ") +
                     std::to_string(code) + ", " + meaning.name + ") before any step was done";
      finding.why =
          "No single host is in all pairs and nothing has worked before, so the set-up (GID index, "
          "partition, MTU, firewall) is wrong rather than one link.";
      return finding;
    }
  }
  finding.confidence = Confidence::Unknown;
  finding.what =
      std::string("a work completion failed with status ") + std::to_string(code) + ": " + meaning.meaning_en;
  finding.why =
      "One pair of hosts does not tell which end, cable or switch is at fault; \"status 5\" lines are "
      "flushes after the first error.";
  for (const auto& [host, others] : partners)
    finding.alternatives.push_back({DiagnosisKind::IbError,
                                    {},
                                    host + " is one end of " + std::to_string(others.size()) +
                                        " failing pair(s); no other pair confirms it"});
  return finding;
}

/// AER reports without a lost GPU: only when nothing else explains the failure.
std::optional<Finding> pcie_reports(const Case& c) {
  const auto& reports = c.of(FactKind::Aer);
  const bool uncorrected = std::any_of(reports.begin(), reports.end(),
                                       [](const Fact* f) { return f->name.rfind("Uncorrect", 0) == 0; });
  if (reports.empty() || (!uncorrected && reports.size() < 10 * kAerStorm)) return std::nullopt;
  Finding finding;
  finding.rule = "pcie_reports";
  finding.kind = DiagnosisKind::PcieError;
  finding.evidence = {reports.front(), reports.back()};
  if (const std::string host = c.host(*reports.front()); !host.empty()) finding.nodes = {host};
  if (const int rank = c.who.rank_at_bus(c.host(*reports.front()), reports.front()->bus); rank >= 0)
    finding.culprits = {rank};
  finding.confidence = finding.nodes.empty() ? Confidence::Unknown : Confidence::Likely;
  finding.what = std::to_string(reports.size()) + " PCIe error reports" +
                 (finding.nodes.empty() ? "" : " on " + finding.nodes.front());
  finding.why = uncorrected ? "An uncorrected PCIe error loses data."
                            : "So many corrected errors mean a bad lane, riser or power.";
  return finding;
}

}  // namespace ringside::backend::rules
