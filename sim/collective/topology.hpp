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

struct Topology {
  int world_size = 1;
  int gpus_per_node = 8;
  LinkSpec intra;                       // within a node
  LinkSpec inter;                       // between nodes
  std::vector<LinkOverride> overrides;  // sorted by (from, to), no duplicates

  bool operator==(const Topology&) const = default;
  int node_of(int rank) const { return rank / gpus_per_node; }
  LinkSpec link(int from, int to) const;
};

/// wire = ceil(bytes · 10^9 / bytes_per_s), in 128 bits.
std::int64_t wire_ns(std::int64_t bytes, std::int64_t bytes_per_s);

}  // namespace ringside::sim
