#include "sim/model/nccl_tuner.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "sim/base/check.hpp"

namespace ringside::sim {
namespace {

using PerProtocol = std::array<double, 3>;  // LL, LL128, Simple

// Latencies in µs (tuning.cc).
constexpr PerProtocol kRingBase = {6.6, 14, 8.4};
constexpr PerProtocol kTreeBase = {6.8, 14, 8.4};
constexpr PerProtocol kRingNvLink = {0.6, 1.9, 3.4};
constexpr PerProtocol kTreeNvLink = {0.6, 1.25, 4};
constexpr PerProtocol kRingPci = {1, 2.5, 5.7};
constexpr PerProtocol kTreePci = {1, 1.9, 4};
constexpr PerProtocol kRingNet = {2.7, 4, 14};
constexpr PerProtocol kTreeNet = {5, 8.5, 14};
constexpr double kNvlsIntra = 25, kNvlsNet = 18, kNvlsTreeNet = 20.9;
constexpr double kDirectIntra = 3.7, kDirectNet = 31, kChainIntra = 2.8, kChainNet = 30;

// Tree's bandwidth correction by ⌊log2(bytes / 64)⌋.
constexpr std::array<PerProtocol, 24> kTreeCorrection = {{
    {1, 1, .9},   {1, 1, .9},   {1, 1, .9},   {1, 1, .9},   {.9, 1, .9},  {.8, .9, .9},
    {.7, .8, .9}, {.7, .8, .8}, {.7, .8, .7}, {.7, .7, .6}, {.6, .6, .6}, {.5, .6, .5},
    {.4, .6, .5}, {.4, .6, .5}, {.5, .6, .5}, {.6, .6, .6}, {.7, .8, .7}, {.8, .9, .8},
    {.9, .9, .7}, {1, .9, .7},  {1, .9, .8},  {1, 1, .9},   {1, 1, .9},   {1, 1, .9},
}};
constexpr std::int32_t kCorrectionEnd = 23;

// Caps in GB/s, by architecture column and by 1, 2, more nodes.
using PerNodes = std::array<double, 3>;
constexpr std::array<double, 4> kLlMaxOneNode = {39, 87.7, 141, 282};
constexpr PerNodes kLlMaxOther = {39, 39, 20.4};
constexpr PerNodes kLlMaxAmd = {87.7, 22.5, 19};
constexpr std::array<PerNodes, 4> kRingLl128 = {
    {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {40, 40, 40}}};
constexpr std::array<PerNodes, 4> kTreeLl128 = {
    {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}};
constexpr std::array<PerNodes, 4> kTreeCap = {
    {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}};
constexpr std::array<PerNodes, 4> kNvlsTreeCap = {
    {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}}};

constexpr double kPlateau = 1.4, kPlateauBeforeAmpere = 1.9;
constexpr std::int32_t kMaxChannels = 64;

std::size_t column(GpuArch arch) {
  switch (arch) {
    case GpuArch::Volta:
    case GpuArch::Turing:
      return 0;
    case GpuArch::Ampere:
    case GpuArch::Cdna3:
      return 1;  // RCCL has its own table; nothing here is fitted to it
    case GpuArch::Hopper:
      return 2;
    case GpuArch::Blackwell:
      return 3;
  }
  return 2;
}

std::size_t node_class(std::int32_t nodes) {
  return nodes == 1 ? 0U : nodes == 2 ? 1U : 2U;
}
std::size_t index(NcclProtocol protocol) {
  return static_cast<std::size_t>(protocol);
}

/// Everything that the formulas of one call share.
struct Call {
  const TunerJob& job;
  Collective collective;
  std::int64_t bytes;
  std::int64_t ranks;
  std::size_t gpu;    // architecture column
  std::size_t scale;  // 1, 2, more nodes
};

double graph_bandwidth(const Call& call, const ChannelGraph& graph) {
  const double per_channel = call.job.nodes <= 2 ? graph.intra_GBps : graph.inter_GBps;
  return graph.channels * per_channel;
}

/// Network hop: the row of the table, the plugin's NIC latency, once more for the flush of Simple.
double net_hop(const Call& call, double table_us, NcclProtocol protocol) {
  return table_us + call.job.nic_latency_us * (protocol == NcclProtocol::Simple ? 2 : 1);
}

double net_overhead(const Call& call, NcclProtocol protocol) {
  if (call.job.nodes == 1) return 0;
  const double base = call.job.cpu == CpuKind::Amd ? 2 : 1;
  return protocol == NcclProtocol::Simple ? 3 * base : base;
}

/// Ring steps of a collective: 2(n-1) for all_reduce, n-1 for its halves, n for a pipelined chain.
std::int64_t ring_steps(Collective collective, std::int64_t ranks) {
  switch (collective) {
    case Collective::AllReduce:
      return 2 * (ranks - 1);
    case Collective::ReduceScatter:
    case Collective::AllGather:
      return ranks - 1;
    case Collective::Broadcast:
    case Collective::Reduce:
      return ranks;
    case Collective::AllToAll:
      return ranks - 1;
  }
  return ranks;
}

std::int32_t threads_of(NcclProtocol protocol, double ring_total_GBps) {
  if (protocol == NcclProtocol::LL128) return 640;
  return ring_total_GBps <= 12 ? 256 : 512;
}

/// Channels after connect.cc doubled them and enqueue.cc dropped those that a small message cannot fill.
std::int32_t channels_used(const Call& call, NcclAlgorithm algorithm, NcclProtocol protocol,
                           const ChannelGraph& graph) {
  if (algorithm == NcclAlgorithm::Nvls || algorithm == NcclAlgorithm::NvlsTree)
    return call.job.arch == GpuArch::Blackwell ? (call.job.nodes == 1 ? 24 : 32) : 16;
  std::int32_t channels = 2 * graph.channels;
  if (call.gpu >= 2 && call.job.nodes > 1 && graph.intra_GBps > 45 && channels < 16) channels *= 2;
  channels = std::clamp(channels, 1, kMaxChannels);
  const std::int64_t threads = threads_of(protocol, graph.channels * graph.intra_GBps);
  std::int64_t threshold = protocol == NcclProtocol::Simple ? 64 : 8;  // bytes a thread
  if (protocol == NcclProtocol::LL && algorithm == NcclAlgorithm::Ring) threshold *= call.ranks;
  const std::int64_t fill = call.bytes / (threads * threshold);
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(fill, 1, channels));
}

void finish(const Call& call, TunerRow& row) {
  row.tuner_us = row.latency_us + static_cast<double>(call.bytes) / (1000 * row.algbw_GBps);
}

void add_ring(const Call& call, NcclProtocol protocol, std::vector<TunerRow>& rows) {
  const ChannelGraph& graph = call.job.ring;
  const std::size_t p = index(protocol);
  double busbw = graph_bandwidth(call, graph);
  const PerNodes& ll_max = call.job.cpu == CpuKind::Amd ? kLlMaxAmd : kLlMaxOther;
  if (protocol == NcclProtocol::LL)
    busbw = std::min(call.scale == 0 ? kLlMaxOneNode[call.gpu] : ll_max[call.scale], busbw * 0.5);
  if (protocol == NcclProtocol::LL128)
    busbw = std::min(busbw * 0.92, graph.channels * kRingLl128[call.gpu][call.scale]);

  TunerRow row;
  row.algorithm = NcclAlgorithm::Ring;
  row.protocol = protocol;
  row.channels = channels_used(call, row.algorithm, protocol, graph);
  const std::int64_t steps = ring_steps(call.collective, call.ranks);
  std::int64_t net_steps = call.job.nodes == 1 ? 0 : call.job.nodes - 1;
  if (call.collective == Collective::AllReduce) net_steps *= 2;
  if (call.job.gpus_per_node == 1) net_steps = steps;  // every hop leaves the machine
  row.algbw_GBps = busbw * static_cast<double>(call.ranks) / static_cast<double>(steps);
  const double intra = (call.job.nvlink ? kRingNvLink : kRingPci)[p];
  const double inter = net_hop(call, (call.job.gpus_per_node == 1 ? kTreeNet : kRingNet)[p], protocol);
  row.latency_us = kRingBase[p] +
                   static_cast<double>(steps - net_steps) * std::max(intra, net_overhead(call, protocol)) +
                   static_cast<double>(net_steps) * inter;
  const bool plateau = protocol == NcclProtocol::Simple && call.job.nodes > 1 &&
                       call.bytes / (std::int64_t{2} * graph.channels * call.ranks) >= 64;
  if (plateau) row.latency_us *= call.gpu == 0 ? kPlateauBeforeAmpere : kPlateau;
  row.link_hops = static_cast<std::int32_t>(steps - net_steps);
  row.nic_hops = static_cast<std::int32_t>(net_steps) * (protocol == NcclProtocol::Simple ? 2 : 1);
  finish(call, row);
  rows.push_back(row);
}

void add_tree(const Call& call, NcclProtocol protocol, std::vector<TunerRow>& rows) {
  const ChannelGraph& graph = call.job.tree;
  const std::size_t p = index(protocol);
  const double share = graph_bandwidth(call, graph) * kTreeShare;
  const double cap = graph.channels * kTreeCap[call.gpu][call.scale];
  double busbw = std::min(share, cap);
  const PerNodes& ll_max = call.job.cpu == CpuKind::Amd ? kLlMaxAmd : kLlMaxOther;
  if (protocol == NcclProtocol::LL)
    busbw = std::min(busbw / 3.8, call.scale == 0 ? kLlMaxOneNode[call.gpu] : ll_max[call.scale]);
  if (protocol == NcclProtocol::LL128)
    busbw = std::min(busbw * (call.scale == 0 ? 7.0 / 9 : 120.0 / 128),
                     graph.channels * kTreeLl128[call.gpu][call.scale]);
  TunerRow row;
  row.algorithm = NcclAlgorithm::Tree;
  row.protocol = protocol;
  row.channels = channels_used(call, row.algorithm, protocol, graph);
  row.algbw_GBps = busbw * 0.5;
  row.without_share = std::min(share / kTreeShare, cap) / std::min(share, cap);
  const std::int32_t size_index = floor_log2(call.bytes / 64);
  if (call.bytes >= 64 && size_index < kCorrectionEnd)
    row.algbw_GBps *= kTreeCorrection[static_cast<std::size_t>(size_index)][p];
  const std::int32_t depth = floor_log2(call.job.nodes);
  const double intra = (call.job.nvlink ? kTreeNvLink : kTreePci)[p];
  row.latency_us = kTreeBase[p] +
                   2 * ((call.job.gpus_per_node - 1) * intra + depth * net_hop(call, kTreeNet[p], protocol));
  row.link_hops = 2 * (call.job.gpus_per_node - 1);
  row.nic_hops = 2 * depth * (protocol == NcclProtocol::Simple ? 2 : 1);
  finish(call, row);
  rows.push_back(row);
}

/// Reduction in the NVLink switch; between nodes a tree over the heads (NVLSTree) or, with SHARP, CollNet
/// (NVLS).
void add_nvls(const Call& call, std::vector<TunerRow>& rows) {
  const ChannelGraph& graph = call.job.nvls;
  if (call.gpu < 2 || graph.channels < 2) return;
  const double efficiency = call.gpu == 2 ? 0.85 : 0.74;
  const double intra =
      graph.channels * graph.intra_GBps * efficiency * (graph.channels - 1) / graph.channels * 2;
  TunerRow row;
  row.protocol = NcclProtocol::Simple;
  double busbw = intra;
  const std::int32_t depth = floor_log2(call.job.nodes);
  if (call.job.nodes == 1) {
    row.algorithm = NcclAlgorithm::Nvls;
    row.latency_us = kNvlsIntra;
  } else if (call.job.collnet) {
    row.algorithm = NcclAlgorithm::Nvls;
    busbw = std::min(intra, graph.channels * graph.inter_GBps);
    row.latency_us = kNvlsIntra + net_hop(call, kNvlsNet, row.protocol);
    row.nic_hops = 2;
  } else {
    row.algorithm = NcclAlgorithm::NvlsTree;
    busbw = std::min({intra, graph.channels * graph.inter_GBps * (call.job.nodes <= 2 ? 2 : 1),
                      graph.channels * kNvlsTreeCap[call.gpu][call.scale]});
    row.latency_us = kNvlsIntra + 2 * depth * net_hop(call, kNvlsTreeNet, row.protocol);
    row.nic_hops = 4 * depth;
  }
  row.channels = channels_used(call, row.algorithm, row.protocol, graph);
  const double ranks = static_cast<double>(call.ranks);
  row.algbw_GBps = busbw * ranks / (2 * (ranks - 1));
  finish(call, row);
  rows.push_back(row);
}

/// SHARP: every local GPU talks to the network (Direct), or the first of a chain does (Chain).
void add_collnet(const Call& call, std::vector<TunerRow>& rows) {
  if (!call.job.collnet || call.job.nodes == 1) return;
  const std::int32_t local = call.job.gpus_per_node;
  const double busbw = call.job.tree.channels * call.job.tree.intra_GBps;
  TunerRow row;
  row.protocol = NcclProtocol::Simple;
  row.channels = channels_used(call, NcclAlgorithm::CollNetDirect, row.protocol, call.job.tree);
  row.nic_hops = 2;
  if (call.job.nvlink && local <= 8) {
    row.algorithm = NcclAlgorithm::CollNetDirect;
    const double per_channel = std::max(1.0, static_cast<double>(local) / call.job.tree.channels);
    row.algbw_GBps = 0.5 * busbw / ((1 + per_channel) / 2) * (call.gpu >= 2 ? 0.85 : 1);
    row.latency_us = 2 * (std::min(1, local - 1) * kDirectIntra + (local - 1) * 0.4) +
                     net_hop(call, kDirectNet, row.protocol);
    row.link_hops = 2 * std::min(1, local - 1);
    finish(call, row);
    rows.push_back(row);
  }
  row.algorithm = NcclAlgorithm::CollNetChain;
  row.algbw_GBps = 0.5 * busbw;
  row.latency_us = 2 * (local - 1) * kChainIntra + net_hop(call, kChainNet, row.protocol);
  row.link_hops = 2 * (local - 1);
  finish(call, row);
  rows.push_back(row);
}

/// all_to_all is grouped send and receive: every pair at once, limited by the GPU's links or by its share of
/// the NICs.
void add_pairwise(const Call& call, std::vector<TunerRow>& rows) {
  const double local = call.job.gpus_per_node, ranks = static_cast<double>(call.ranks);
  const double intra = call.job.ring.channels * call.job.ring.intra_GBps;
  const double inter = call.job.ring.channels * call.job.ring.inter_GBps / local;
  const double local_us = (local - 1) / ranks / intra;
  const double remote_us = call.job.nodes == 1 ? 0 : (ranks - local) / ranks / inter;
  TunerRow row;
  row.algorithm = NcclAlgorithm::Pairwise;
  row.protocol = NcclProtocol::Simple;
  row.channels = channels_used(call, row.algorithm, row.protocol, call.job.ring);
  row.algbw_GBps = 1 / std::max(local_us, remote_us);
  const std::size_t p = index(row.protocol);
  row.latency_us = kRingBase[p] + (call.job.nodes == 1 ? (call.job.nvlink ? kRingNvLink : kRingPci)[p]
                                                       : net_hop(call, kRingNet[p], row.protocol));
  row.link_hops = call.job.nodes == 1 ? 1 : 0;
  row.nic_hops = call.job.nodes == 1 ? 0 : 2;
  finish(call, row);
  rows.push_back(row);
}

}  // namespace

std::string_view to_word(NcclAlgorithm algorithm) {
  switch (algorithm) {
    case NcclAlgorithm::Ring:
      return "Ring";
    case NcclAlgorithm::Tree:
      return "Tree";
    case NcclAlgorithm::CollNetDirect:
      return "CollNetDirect";
    case NcclAlgorithm::CollNetChain:
      return "CollNetChain";
    case NcclAlgorithm::Nvls:
      return "NVLS";
    case NcclAlgorithm::NvlsTree:
      return "NVLSTree";
    case NcclAlgorithm::Pairwise:
      return "Pairwise";
  }
  return "?";
}

std::string_view to_word(NcclProtocol protocol) {
  switch (protocol) {
    case NcclProtocol::LL:
      return "LL";
    case NcclProtocol::LL128:
      return "LL128";
    case NcclProtocol::Simple:
      return "Simple";
  }
  return "?";
}

std::vector<TunerRow> tuner_rows(const TunerJob& job, Collective collective, std::int64_t bytes) {
  RINGSIDE_CHECK_LE(std::int64_t{0}, bytes);
  RINGSIDE_CHECK_LE(1, job.nodes);
  RINGSIDE_CHECK_LE(1, job.gpus_per_node);
  RINGSIDE_CHECK_LE(1, job.ring.channels);
  const Call call = {job,
                     collective,
                     bytes,
                     std::int64_t{job.nodes} * job.gpus_per_node,
                     column(job.arch),
                     node_class(job.nodes)};
  std::vector<TunerRow> rows;
  if (call.ranks < 2) return rows;
  if (collective == Collective::AllToAll) {
    add_pairwise(call, rows);
    return rows;
  }
  for (const NcclProtocol protocol : {NcclProtocol::LL, NcclProtocol::LL128, NcclProtocol::Simple}) {
    if (protocol == NcclProtocol::LL128 && !job.ll128) continue;
    add_ring(call, protocol, rows);
    if (collective == Collective::AllReduce && job.tree.channels > 0) add_tree(call, protocol, rows);
  }
  if (collective == Collective::AllReduce) {
    add_nvls(call, rows);
    add_collnet(call, rows);
  }
  return rows;
}

const TunerRow* tuner_choice(const std::vector<TunerRow>& rows) {
  const auto least = std::min_element(
      rows.begin(), rows.end(), [](const TunerRow& a, const TunerRow& b) { return a.tuner_us < b.tuner_us; });
  return least == rows.end() ? nullptr : &*least;
}

double bus_factor(Collective collective, std::int64_t ranks) {
  const double n = static_cast<double>(ranks);
  switch (collective) {
    case Collective::AllReduce:
      return 2 * (n - 1) / n;
    case Collective::ReduceScatter:
    case Collective::AllGather:
    case Collective::AllToAll:
      return (n - 1) / n;
    case Collective::Broadcast:
    case Collective::Reduce:
      return 1;
  }
  return 1;
}

std::int32_t floor_log2(std::int64_t x) {
  std::int32_t log = 0;
  for (; x > 1; x >>= 1) ++log;
  return log;
}

}  // namespace ringside::sim
