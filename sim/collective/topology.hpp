// Links between ranks: latency and bandwidth of every pair, and how long bytes take on one.
#pragma once

#include <cstdint>
#include <vector>

namespace ringside::sim {

struct LinkSpec {
  std::int64_t latency_ns = 3'400;
  std::int64_t bytes_per_s = 240'000'000'000;  // > 0
  bool operator==(const LinkSpec&) const = default;
};

/// A link that differs from its class, from `[[link]]`. Directed.
struct LinkOverride {
  int from = 0, to = 0;
  LinkSpec spec;
  bool operator==(const LinkOverride&) const = default;
};

/// Links that several ranks share on the way between nodes. Off by default: then every GPU has a way of its
/// own to every other, as the time formula says. One direction, payload bytes.
struct SharedLinks {
  int nics_per_node = 0;               // 0 = off. GPU l goes through NIC l · nics / GPUs of a node
  std::int64_t nic_bytes_per_s = 0;    // of one NIC
  int nodes_per_leaf = 0;              // nodes under one leaf switch; 0 = all, and no spine
  bool rails = false;                  // rail-optimised: NIC i of these nodes has a leaf switch of its own
  std::int64_t spine_bytes_per_s = 0;  // of all uplinks of one leaf switch together; less than what hangs
                                       // below it = oversubscribed
  bool on() const { return nics_per_node > 0; }
  bool operator==(const SharedLinks&) const = default;
};

/// The shared links on one way, each by its number; -1 = none of that kind.
struct SharedPath {
  int nic_out = -1, nic_in = -1, leaf_up = -1, leaf_down = -1;
  bool operator==(const SharedPath&) const = default;
};

struct Topology {
  int world_size = 1;
  int gpus_per_node = 8;
  LinkSpec intra;                       // within a node
  LinkSpec inter;                       // between nodes
  std::vector<LinkOverride> overrides;  // sorted by (from, to), no duplicates
  SharedLinks shared{};

  bool operator==(const Topology&) const = default;
  int node_of(int rank) const { return rank / gpus_per_node; }
  LinkSpec link(int from, int to) const;
  /// Within a node, and if shared links are off: none. NICs are numbered node by node, leaf switches group by
  /// group.
  SharedPath shared_path(int from, int to) const;
};

/// wire = ceil(bytes · 10^9 / bytes_per_s), in 128 bits.
std::int64_t wire_ns(std::int64_t bytes, std::int64_t bytes_per_s);

}  // namespace ringside::sim
