// What hardware and kernel said: the strongest evidence there is, since nothing in a program can make it up.
#include <algorithm>

#include "sim/base/text.hpp"
#include "sim/diagnosis/rules.hpp"

namespace ringside::sim {
namespace {

/// NVIDIA's Xid numbers by what failed. 13, 31 and 43 are mostly the program's own fault and 45 is a
/// consequence: no verdict.
DiagnosisKind kind_of_xid(int xid) {
  switch (xid) {
    case 48:
    case 61:
    case 62:
    case 63:
    case 64:
    case 79:
    case 92:
    case 94:
    case 95:
    case 119:
    case 120:
    case 121:
      return DiagnosisKind::GpuHw;
    case 74:
      return DiagnosisKind::NvlinkHw;
    default:
      return xid >= 144 && xid <= 150 ? DiagnosisKind::NvlinkHw : DiagnosisKind::None;
  }
}

bool is_pcie_line(std::string_view text) {
  return contains(text, "AER:") || contains(text, "PCIe Bus Error") || contains(text, "power fault") ||
         contains(text, "Power fault") || contains(text, "pcieport");
}

/// The rank whose PCI id stands in a kernel line of its node; -1 if none or several.
int rank_by_pci(const Case& c, int node, std::string_view line) {
  int found = -1;
  for (const Event& e : c.trace.events()) {
    if (e.type != EventType::Hello || c.survey.node_of(e.src_id) != node) continue;
    std::string pci = c.trace.hello(e.hello.hello).pci;
    const std::size_t dot = pci.find('.');  // kernel lines leave the function number out
    if (dot != std::string::npos) pci.resize(dot);
    if (pci.empty() || !contains(line, pci)) continue;
    if (found >= 0) return -1;
    found = e.src_id;
  }
  return found;
}

Diagnosis blame_node(const Case& c, DiagnosisKind kind, int node, std::uint32_t event, std::string what) {
  Diagnosis d;
  d.kind = kind;
  const int first = node * c.survey.gpus_per_node;
  if (first < c.survey.world()) d.culprit_nodes = {c.survey.host_of(first)};
  d.first_cause.node = d.culprit_nodes.empty() ? "n" + std::to_string(node) : d.culprit_nodes.front();
  d.first_cause.t_ns = c.trace.events()[event].t;
  d.first_cause.what = std::move(what);
  d.evidence.push_back(cite(c, event));
  return d;
}

/// Several GPUs of one node that fail within a second fail together: all are named.
void add_neighbours_with_xid(const Case& c, Diagnosis& d, int rank) {
  constexpr std::int64_t kTogetherNs = 1'000'000'000;
  const int node = c.survey.node_of(rank);
  for (int r = 0; r < c.survey.world(); ++r) {
    const auto& xid = c.survey.ranks[static_cast<std::size_t>(r)].xid;
    if (r == rank || c.survey.node_of(r) != node || !xid) continue;
    const Event& e = c.trace.events()[*xid];
    if (kind_of_xid(static_cast<int>(e.device.xid)) == DiagnosisKind::None) continue;
    if (e.t - d.first_cause.t_ns.value_or(e.t) > kTogetherNs) continue;
    d.culprits.push_back(r);
    d.evidence.push_back(cite(c, *xid));
  }
}

}  // namespace

Verdict rule_kernel_says_hardware(const Case& c) {
  std::uint32_t best = kNone;
  int best_xid = 0;
  const auto consider = [&](std::uint32_t event, int xid) {
    if (kind_of_xid(xid) == DiagnosisKind::None) return;
    if (best != kNone && c.trace.events()[best].t <= c.trace.events()[event].t) return;
    best = event;
    best_xid = xid;
  };
  for (const std::uint32_t event : c.survey.kernel_lines) consider(event, xid_in(c.text_of(event)));
  for (const RankSurvey& rank : c.survey.ranks)
    if (rank.xid) consider(*rank.xid, static_cast<int>(c.trace.events()[*rank.xid].device.xid));
  std::uint32_t pcie = kNone;
  for (const std::uint32_t event : c.survey.kernel_lines)
    if (pcie == kNone && is_pcie_line(c.text_of(event))) pcie = event;
  if (best == kNone && pcie == kNone) return std::nullopt;

  const std::uint32_t event = best == kNone ? pcie : best;
  const Event& e = c.trace.events()[event];
  const bool from_rank = e.src_kind == Source::Kind::Rank;
  const int node = from_rank ? c.survey.node_of(e.src_id) : e.src_id;
  const bool pcie_here = pcie != kNone && c.trace.events()[pcie].src_id == node &&
                         (best == kNone || c.trace.events()[pcie].t <= e.t);
  const DiagnosisKind kind = pcie_here ? DiagnosisKind::PcieError : kind_of_xid(best_xid);
  const int rank = from_rank ? e.src_id : rank_by_pci(c, node, c.trace.string(e.text.text));
  const std::string what = pcie_here        ? "PCIe failed"
                           : best_xid == 79 ? "GPU fell off the bus (Xid 79)"
                           : best_xid == 74 ? "NVLink error (Xid 74)"
                                            : "GPU error (Xid " + std::to_string(best_xid) + ")";
  Diagnosis d = rank >= 0 ? blame_rank(c, kind, rank, event, rank_name(rank) + ": " + what + ".")
                          : blame_node(c, kind, node, event, what + ".");
  if (rank >= 0) add_neighbours_with_xid(c, d, rank);
  if (pcie_here && best != kNone) d.evidence.push_back(cite(c, pcie));
  if (rank >= 0 && c.survey.ranks[static_cast<std::size_t>(rank)].end)
    d.evidence.push_back(cite(c, c.survey.ranks[static_cast<std::size_t>(rank)].end->event));
  return d;
}

Verdict rule_node_down(const Case& c) {
  if (c.survey.node_down.empty()) return std::nullopt;
  const std::uint32_t event = c.survey.node_down.front();
  const int node = c.trace.events()[event].src_id;
  Diagnosis d = blame_node(c, DiagnosisKind::NodeFailure, node, event, "The whole node is gone.");
  for (int r = 0; r < c.survey.world(); ++r)
    if (c.survey.node_of(r) == node) d.culprits.push_back(r);
  return d;
}

namespace {

/// Ranks told of ports of their hosts. A cable has two ends: when both go down nobody can say which one failed,
/// and no rank did.
Verdict ports_told_by_ranks(const Case& c, const NicSurvey& first) {
  const bool stuck = std::any_of(c.survey.ranks.begin(), c.survey.ranks.end(), [](const RankSurvey& rank) {
    return rank.pending() != nullptr || rank.timeout || !rank.errors.empty();
  });
  if (!stuck) return std::nullopt;
  std::string what;
  std::vector<std::string> hosts;
  for (const NicSurvey& nic : c.survey.nics) {
    if (nic.rank < 0) continue;
    const std::string& host = c.survey.host_of(nic.rank);
    if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
    const bool back = nic.up_t >= 0;
    what += (what.empty() ? "Port " : ", port ") + nic.port + " of " + host + " went down" +
            (back ? " and came back " + format_duration(nic.up_t - nic.down_t) + " later" : "");
  }
  Diagnosis d = undecided(c, DiagnosisKind::LinkDown, {}, first.event,
                          what + ": the network between the hosts failed, not a rank.", {});
  d.confidence = Confidence::Likely;
  d.culprit_nodes = hosts;
  d.first_cause.node = c.survey.host_of(first.rank);
  for (const NicSurvey& nic : c.survey.nics)
    if (nic.event != first.event) d.evidence.push_back(cite(c, nic.event));
  return d;
}

}  // namespace

Verdict rule_port_down(const Case& c) {
  if (c.survey.nics.empty()) return std::nullopt;
  const auto first =
      std::min_element(c.survey.nics.begin(), c.survey.nics.end(),
                       [](const NicSurvey& a, const NicSurvey& b) { return a.down_t < b.down_t; });
  if (first->rank >= 0) return ports_told_by_ranks(c, *first);
  const bool came_back = first->up_t >= 0;
  const std::string back = " and came back " + format_duration(first->up_t - first->down_t) + " later.";
  return blame_node(c, came_back ? DiagnosisKind::IbError : DiagnosisKind::LinkDown, first->node,
                    first->event,
                    "Port " + first->port + " went down" + (came_back ? back : " and stayed down."));
}

}  // namespace ringside::sim
