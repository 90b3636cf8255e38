// NCCL's own cost model (2.30.7, src/graph/tuning.cc and src/enqueue.cc): the time of every algorithm ×
// protocol, as NCCL estimates it to choose between them. It ranks well and predicts badly below 1 GiB,
// because it knows neither launch cost nor pipeline fill; the time model (time_model.hpp) puts measured
// constants on top of its structure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/collective/schedule.hpp"
#include "sim/model/preset.hpp"

namespace ringside::sim {

enum class NcclAlgorithm : std::uint8_t { Ring, Tree, CollNetDirect, CollNetChain, Nvls, NvlsTree, Pairwise };
inline constexpr double kTreeShare = 0.92;  // of the links that NCCL gives a tree

enum class NcclProtocol : std::uint8_t { LL, LL128, Simple };
/// NCCL's names: "Ring", "Tree", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree"; "Pairwise" for
/// all_to_all.
std::string_view to_word(NcclAlgorithm algorithm);
std::string_view to_word(NcclProtocol protocol);

/// One search result of NCCL: so many channels (before connect.cc doubles them) at a speed per channel.
struct ChannelGraph {
  std::int32_t channels = 0;
  double intra_GBps = 0;  // per channel, inside the node
  double inter_GBps = 0;  // per channel, between nodes
};

/// What the tuner knows of a communicator.
struct TunerJob {
  GpuArch arch = GpuArch::Hopper;
  CpuKind cpu = CpuKind::Intel;
  bool nvlink = true;      // the intra-node latency row: NVLink or PCI
  bool ll128 = true;       // GPUs and NICs near enough for LL128
  std::int32_t nodes = 1;  // NVLink domains: an NVL72 rack is one
  std::int32_t gpus_per_node = 8;
  ChannelGraph ring, tree, nvls;  // channels 0: the algorithm is not available
  double nic_latency_us = 0;      // network plugins may set it; 0 for the built-in InfiniBand and sockets
  bool collnet = false;           // SHARP in the network switches
};

/// One algorithm × protocol. tuner_us = latency_us + bytes / (1000 algbw_GBps).
struct TunerRow {
  NcclAlgorithm algorithm = NcclAlgorithm::Ring;
  NcclProtocol protocol = NcclProtocol::Simple;
  std::int32_t channels = 1;  // that the kernel runs at this size
  double latency_us = 0;      // with the plateau factor of Ring/Simple
  double algbw_GBps = 0;      // with the size correction of Tree
  double tuner_us = 0;
  // For the time model: the bandwidth of a tree if it had all of the links, relative to algbw_GBps; and how
  // the latency is made up.
  double without_share = 1;
  std::int32_t link_hops = 0;  // hops between GPUs of a node
  std::int32_t nic_hops = 0;   // hops over the network; twice for Simple, which flushes
};

/// The channels and speeds that NCCL's search finds on a preset's node. One assumption per kind of hardware
/// (speed lists and NIC rates), not read from a machine's log. Gives `nodes` in NVLink domains.
TunerJob tuner_job(const Preset& preset, std::int32_t nodes, std::int32_t gpus_per_node);

/// NICs that the GPUs in use can reach: all, if all GPUs of the node are used.
std::int32_t nics_in_use(const Preset& preset, std::int32_t gpus_per_node);

/// True if those NICs together carry less than a GPU's links: then the network sets a ring's speed.
bool network_is_narrower(const Preset& preset, std::int32_t nics);

/// Every algorithm × protocol available for this collective, in a fixed order. `bytes` counts as nccl-tests
/// does: the whole buffer (for all_gather and reduce_scatter: world size × one rank's part). Empty below two
/// ranks.
std::vector<TunerRow> tuner_rows(const TunerJob& job, Collective collective, std::int64_t bytes);

/// The row with the least time: NCCL's choice. Null when there is none.
const TunerRow* tuner_choice(const std::vector<TunerRow>& rows);

/// busbw = algbw × this (nccl-tests): 2(n-1)/n for all_reduce, (n-1)/n for reduce_scatter, all_gather and
/// all_to_all.
double bus_factor(Collective collective, std::int64_t ranks);

/// ⌊log2 x⌋, 0 for x < 2.
std::int32_t floor_log2(std::int64_t x);

}  // namespace ringside::sim
