// The channels and speeds that NCCL's topology search finds on a preset's node: which entry of the speed list
// fits the links (per channel) and how many channels then fill the GPU's links or the NICs.
#include <algorithm>
#include <cstddef>
#include <iterator>

#include "sim/model/nccl_tuner.hpp"

namespace ringside::sim {
namespace {

constexpr std::int32_t kMaxNvlsHeads = 32;  // a tree over NVLS heads: at most so many GPUs under one switch

bool since_hopper(GpuArch arch) {
  return arch == GpuArch::Hopper || arch == GpuArch::Blackwell;
}

template <std::size_t N>
double entry_below(const double (&speeds)[N], double limit) {
  const double* entry =
      std::find_if(std::begin(speeds), std::end(speeds), [&](double s) { return s <= limit; });
  return entry == std::end(speeds) ? speeds[N - 1] : *entry;
}

/// The largest entry of NCCL's list of speeds between nodes that does not exceed the limit.
double inter_speed(GpuArch arch, double limit) {
  constexpr double kBeforeHopper[] = {48, 30, 28, 24, 20, 18,  15,  12,  10, 9,
                                      7,  6,  5,  4,  3,  2.4, 1.2, .24, .12};
  constexpr double kHopper[] = {48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, .24, .12};
  return since_hopper(arch) ? entry_below(kHopper, limit) : entry_below(kBeforeHopper, limit);
}

/// The same inside a node.
double intra_speed(GpuArch arch, double limit) {
  constexpr double kBeforeHopper[] = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
  constexpr double kHopper[] = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
  constexpr double kBlackwell[] = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};
  if (arch == GpuArch::Blackwell) return entry_below(kBlackwell, limit);
  return arch == GpuArch::Hopper ? entry_below(kHopper, limit) : entry_below(kBeforeHopper, limit);
}

/// Inside one node (or one NVLink domain).
ChannelGraph intra_graph(const Preset& preset) {
  switch (preset.intra) {
    case IntraKind::PciePeer:
      return {1, 20, 20};
    case IntraKind::HostMemory:
      return {1, 5, 5};
    case IntraKind::InfinityFabric:
      return {14, 24, 24};
    case IntraKind::NvLinkMesh:
    case IntraKind::NvSwitch:
      break;
  }
  switch (preset.nvlink_generation) {
    case 2:
      return {6, 20, 20};
    case 3:
      return {12, 20, 20};
    case 4:
      return {12, 30, 30};
    default:
      return {16, 45, 45};
  }
}

ChannelGraph nvls_graph(const Preset& preset) {
  if (preset.intra != IntraKind::NvSwitch) return {};
  if (preset.arch == GpuArch::Hopper) return {8, 40, 40};
  if (preset.arch == GpuArch::Blackwell) return {8, 70, 70};
  return {};
}

double nic_GBps(const Preset& preset) {
  return static_cast<double>(preset.links.inter_bytes_per_s) / 1e9;
}

/// Across nodes every channel owns a NIC (several NICs of one GPU share a channel up to 48 GB/s on Hopper),
/// unless the links inside are the narrower part.
ChannelGraph inter_graph(const Preset& preset, const ChannelGraph& inside, std::int32_t nics) {
  std::int32_t channels = nics;
  double rate = nic_GBps(preset);
  if (since_hopper(preset.arch)) {
    while (channels % 2 == 0 && rate * 2 <= 50 && channels > 8) {
      channels /= 2;
      rate *= 2;
    }
  }
  if (!network_is_narrower(preset, nics)) return inside;
  double speed = inter_speed(preset.arch, rate);
  if (preset.intra == IntraKind::PciePeer || preset.intra == IntraKind::HostMemory)
    speed = std::min(speed, inside.channels * inside.intra_GBps / channels);
  return {channels, speed, speed};
}

/// Two nodes: a tree sends less through its NICs than a ring, so the search may raise its speed inside the
/// node, up to twofold, as far as the links allow.
void raise_tree(const Preset& preset, const ChannelGraph& inside, ChannelGraph& tree) {
  const double limit = std::min(2 * tree.intra_GBps, inside.channels * inside.intra_GBps / tree.channels);
  if (limit > tree.intra_GBps) tree.intra_GBps = std::max(tree.intra_GBps, intra_speed(preset.arch, limit));
}

}  // namespace

bool network_is_narrower(const Preset& preset, std::int32_t nics) {
  // A quarter of slack: NCCL's link constants are below the wire's rate (370 of 450 GB/s on H100).
  const ChannelGraph inside = intra_graph(preset);
  return nics * nic_GBps(preset) <= 1.25 * inside.channels * inside.intra_GBps;
}

std::int32_t nics_in_use(const Preset& preset, std::int32_t gpus_per_node) {
  const std::int32_t all = preset.links.nics, gpus = preset.links.gpus_per_node;
  if (gpus_per_node >= gpus) return all;
  return std::max(1, (all * gpus_per_node + gpus - 1) / gpus);
}

TunerJob tuner_job(const Preset& preset, std::int32_t nodes, std::int32_t gpus_per_node) {
  TunerJob job;
  job.arch = preset.arch;
  job.cpu = preset.cpu;
  job.nvlink = preset.intra != IntraKind::PciePeer && preset.intra != IntraKind::HostMemory;
  job.ll128 = job.nvlink;
  // Nodes on one NVLink switch count as one node; the rest is spread evenly over the switches.
  const std::int32_t domains = (nodes + preset.nvlink_domain_nodes - 1) / preset.nvlink_domain_nodes;
  const std::int32_t nodes_per_domain = (nodes + domains - 1) / domains;
  job.nodes = domains;
  job.gpus_per_node = gpus_per_node * nodes_per_domain;
  const ChannelGraph inside = intra_graph(preset);
  if (domains == 1) {
    job.ring = job.tree = inside;
    job.nvls = nvls_graph(preset);
    return job;
  }
  const std::int32_t nics = nics_in_use(preset, gpus_per_node) * nodes_per_domain;
  job.ring = job.tree = inter_graph(preset, inside, nics);
  if (job.gpus_per_node > 1) raise_tree(preset, inside, job.tree);
  job.nvls = nvls_graph(preset);
  if (job.nvls.channels > 0) {
    job.nvls.intra_GBps = job.nvls.inter_GBps = std::min(48.0, job.ring.inter_GBps);
    if (preset.arch == GpuArch::Blackwell) job.nvls.intra_GBps = nvls_graph(preset).intra_GBps;
  }
  if (job.gpus_per_node > kMaxNvlsHeads || job.gpus_per_node < 2) job.nvls = {};
  return job;
}

}  // namespace ringside::sim
