// Presets: kinds of node known by name ("dgx-h100"). A preset knows its node only (GPUs, links, NICs); how
// many nodes and GPUs a job uses is given apart. The link parameters are compiled in, so that a scenario
// needs no other file; the time model's fitted constants come from assets/presets.toml as text
// (presets_file.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/result.hpp"

namespace ringside::sim {

/// What the simulator needs to know of a node. One direction, payload bytes.
struct LinkParams {
  std::int64_t intra_latency_ns = 0;  // GPU to GPU inside the node
  std::int64_t intra_bytes_per_s =
      0;  // one GPU, all its links together: what a ring over all channels can carry
  std::int64_t inter_latency_ns = 0;   // GPU to GPU over the network
  std::int64_t inter_bytes_per_s = 0;  // one NIC; a node has `nics` of them
  std::int32_t gpus_per_node = 1;
  std::int32_t nics = 1;
};

enum class GpuArch : std::uint8_t { Volta, Turing, Ampere, Hopper, Blackwell, Cdna3 };
enum class IntraKind : std::uint8_t { NvLinkMesh, NvSwitch, InfinityFabric, PciePeer, HostMemory };
enum class NicKind : std::uint8_t { InfiniBand, Roce, Efa, Tcp };
enum class CpuKind : std::uint8_t { Intel, Amd, Arm };

/// One kind of node.
struct Preset {
  std::string name;   // the word in scenarios and on the command line
  std::string title;  // one line for people: "DGX H100: 8 H100, NVLink 4 + NVSwitch, 8 NDR 400 Gb/s"
  GpuArch arch = GpuArch::Hopper;
  IntraKind intra = IntraKind::NvSwitch;
  std::int32_t nvlink_generation = 0;  // 2 V100, 3 A100, 4 H100, 5 Blackwell; 0 without NVLink
  NicKind nic = NicKind::InfiniBand;
  CpuKind cpu = CpuKind::Intel;
  std::int32_t nvlink_domain_nodes = 1;  // nodes that one NVLink switch joins: 18 in an NVL72 rack
  LinkParams links;
};

/// All presets, in the order in which they are listed to people. The table is built once and never changes.
const std::vector<Preset>& builtin_presets();

/// The preset of that name, or an Error that lists the legal names and guesses which one was meant.
Result<Preset> find_preset(std::string_view name);

/// The names, separated by ", ".
std::string preset_names();

}  // namespace ringside::sim
