#include "sim/model/preset.hpp"

#include <algorithm>
#include <cstddef>

namespace ringside::sim {
namespace {

constexpr std::int64_t kGiga = 1'000'000'000;

// Per-GPU bandwidths are NCCL's own link constants (payload, one direction): NVLink 20 GB/s a link on V100 (6
// links) and A100 (12), 20.6 on H100 (18), 40.1 on Blackwell (18); PCIe Gen3 x16 12, Gen4 x16 24. Host memory
// (no peer access) moves every byte twice. NIC bandwidth is the wire rate over 8. Latencies are NCCL's LL
// hops, with what a transport adds on top of InfiniBand.
constexpr std::int64_t kNvLink2 = 120 * kGiga;
constexpr std::int64_t kNvLink3 = 240 * kGiga;
constexpr std::int64_t kNvLink4 = 370'800'000'000;
constexpr std::int64_t kNvLink5 = 721'800'000'000;
constexpr std::int64_t kInfinityFabric3 =
    7 * 48 * kGiga;  // 7 links of 64 GB/s, of which about 48 reach the payload
constexpr std::int64_t kPcie4 = 24 * kGiga;
constexpr std::int64_t kHostPcie3 = 5 * kGiga;
constexpr std::int64_t kNvLinkHopNs = 700;
constexpr std::int64_t kPcieHopNs = 1'500;
constexpr std::int64_t kHostHopNs = 2'500;

constexpr std::int64_t gbit(std::int64_t rate) {
  return rate * (kGiga / 8);
}

std::int64_t nic_latency_ns(NicKind kind) {
  switch (kind) {
    case NicKind::InfiniBand:
      return 2'700;
    case NicKind::Roce:
      return 3'000;
    case NicKind::Efa:
      return 12'000;
    case NicKind::Tcp:
      return 20'000;
  }
  return 2'700;
}

struct Row {
  const char* name;
  const char* title;
  GpuArch arch;
  IntraKind intra;
  std::int32_t nvlink_generation;
  NicKind nic;
  CpuKind cpu;
  std::int32_t gpus_per_node;
  std::int64_t intra_bytes_per_s;
  std::int32_t nics;
  std::int64_t nic_gbit_per_s;
  std::int32_t nvlink_domain_nodes;
};

constexpr Row kRows[] = {
    {"dgx-v100", "DGX-1 V100: 8 V100, NVLink 2 hybrid cube mesh, 4 EDR 100 Gb/s", GpuArch::Volta,
     IntraKind::NvLinkMesh, 2, NicKind::InfiniBand, CpuKind::Intel, 8, kNvLink2, 4, 100, 1},
    {"dgx2-v100", "DGX-2: 16 V100, NVLink 2 + NVSwitch, 8 EDR 100 Gb/s", GpuArch::Volta, IntraKind::NvSwitch,
     2, NicKind::InfiniBand, CpuKind::Intel, 16, kNvLink2, 8, 100, 1},
    {"dgx-a100", "DGX A100: 8 A100, NVLink 3 + NVSwitch, 8 HDR 200 Gb/s", GpuArch::Ampere,
     IntraKind::NvSwitch, 3, NicKind::InfiniBand, CpuKind::Amd, 8, kNvLink3, 8, 200, 1},
    {"a100-hdr", "A100 in a cloud: 8 A100, NVLink 3 + NVSwitch, 8 HDR 200 Gb/s", GpuArch::Ampere,
     IntraKind::NvSwitch, 3, NicKind::InfiniBand, CpuKind::Amd, 8, kNvLink3, 8, 200, 1},
    {"a100-roce", "A100 with RoCE: 8 A100, NVLink 3 + NVSwitch, 16 RoCE 100 Gb/s", GpuArch::Ampere,
     IntraKind::NvSwitch, 3, NicKind::Roce, CpuKind::Amd, 8, kNvLink3, 16, 100, 1},
    {"dgx-h100", "DGX H100: 8 H100, NVLink 4 + NVSwitch, 8 NDR 400 Gb/s", GpuArch::Hopper,
     IntraKind::NvSwitch, 4, NicKind::InfiniBand, CpuKind::Intel, 8, kNvLink4, 8, 400, 1},
    {"h100-efa", "H100 with EFA (p5): 8 H100, NVLink 4 + NVSwitch, 32 EFA 100 Gb/s", GpuArch::Hopper,
     IntraKind::NvSwitch, 4, NicKind::Efa, CpuKind::Amd, 8, kNvLink4, 32, 100, 1},
    {"h100-roce", "H100 with RoCE: 8 H100, NVLink 4 + NVSwitch, 8 RoCE 400 Gb/s", GpuArch::Hopper,
     IntraKind::NvSwitch, 4, NicKind::Roce, CpuKind::Intel, 8, kNvLink4, 8, 400, 1},
    {"hgx-h200", "HGX H200: 8 H200, NVLink 4 + NVSwitch, 8 RoCE 400 Gb/s", GpuArch::Hopper,
     IntraKind::NvSwitch, 4, NicKind::Roce, CpuKind::Intel, 8, kNvLink4, 8, 400, 1},
    {"b200", "HGX B200: 8 B200, NVLink 5 + NVSwitch, 8 NDR 400 Gb/s", GpuArch::Blackwell, IntraKind::NvSwitch,
     5, NicKind::InfiniBand, CpuKind::Intel, 8, kNvLink5, 8, 400, 1},
    {"gb200-nvl72", "GB200 NVL72: 4 GB200 a node, 18 nodes on one NVLink 5 switch, 4 NICs 400 Gb/s",
     GpuArch::Blackwell, IntraKind::NvSwitch, 5, NicKind::Roce, CpuKind::Arm, 4, kNvLink5, 4, 400, 18},
    {"mi300x", "MI300X: 8 MI300X, Infinity Fabric mesh, 8 RoCE 400 Gb/s", GpuArch::Cdna3,
     IntraKind::InfinityFabric, 0, NicKind::Roce, CpuKind::Amd, 8, kInfinityFabric3, 8, 400, 1},
    {"pcie-a100", "A100 PCIe: 8 A100 on PCIe Gen4, one HDR 200 Gb/s", GpuArch::Ampere, IntraKind::PciePeer, 0,
     NicKind::InfiniBand, CpuKind::Amd, 8, kPcie4, 1, 200, 1},
    {"pcie-t4", "T4 through host memory: 2 T4 on PCIe Gen3, one 25 Gb/s Ethernet", GpuArch::Turing,
     IntraKind::HostMemory, 0, NicKind::Tcp, CpuKind::Intel, 2, kHostPcie3, 1, 25, 1},
    {"ethernet-100g", "Sockets: 8 A100, NVLink 3 + NVSwitch, one 100 Gb/s Ethernet with TCP", GpuArch::Ampere,
     IntraKind::NvSwitch, 3, NicKind::Tcp, CpuKind::Amd, 8, kNvLink3, 1, 100, 1},
};

Preset make_preset(const Row& row) {
  Preset preset;
  preset.name = row.name;
  preset.title = row.title;
  preset.arch = row.arch;
  preset.intra = row.intra;
  preset.nvlink_generation = row.nvlink_generation;
  preset.nic = row.nic;
  preset.cpu = row.cpu;
  preset.nvlink_domain_nodes = row.nvlink_domain_nodes;
  preset.links.intra_latency_ns = row.intra == IntraKind::HostMemory ? kHostHopNs
                                  : row.intra == IntraKind::PciePeer ? kPcieHopNs
                                                                     : kNvLinkHopNs;
  preset.links.intra_bytes_per_s = row.intra_bytes_per_s;
  preset.links.inter_latency_ns = nic_latency_ns(row.nic);
  preset.links.inter_bytes_per_s = gbit(row.nic_gbit_per_s);
  preset.links.gpus_per_node = row.gpus_per_node;
  preset.links.nics = row.nics;
  return preset;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t up = row[j];
      row[j] = std::min({row[j - 1] + 1, up + 1, diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      diagonal = up;
    }
  }
  return row[b.size()];
}

}  // namespace

const std::vector<Preset>& builtin_presets() {
  static const std::vector<Preset> presets = [] {
    std::vector<Preset> list;
    for (const Row& row : kRows) list.push_back(make_preset(row));
    return list;
  }();
  return presets;
}

Result<Preset> find_preset(std::string_view name) {
  const Preset* nearest = nullptr;
  std::size_t nearest_distance = 4;  // further away is no typing error
  for (const Preset& preset : builtin_presets()) {
    if (preset.name == name) return preset;
    if (name.size() > 64) continue;
    const std::size_t distance = edit_distance(name, preset.name);
    if (distance < nearest_distance) {
      nearest = &preset;
      nearest_distance = distance;
    }
  }
  Error error;
  error.what = "unknown preset";
  error.text = std::string(name.substr(0, 64));
  error.legal = preset_names();
  if (nearest != nullptr) error.hint = "did you mean " + nearest->name + "?";
  return error;
}

std::string preset_names() {
  std::string names;
  for (const Preset& preset : builtin_presets()) {
    if (!names.empty()) names += ", ";
    names += preset.name;
  }
  return names;
}

}  // namespace ringside::sim
