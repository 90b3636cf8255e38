#include "sim/collective/topology.hpp"

#include <algorithm>
#include <tuple>

#include "sim/base/check.hpp"

namespace ringside::sim {

LinkSpec Topology::link(int from, int to) const {
  const auto at = std::lower_bound(overrides.begin(), overrides.end(), std::pair{from, to},
                                   [](const LinkOverride& o, const std::pair<int, int>& key) {
                                     return std::tie(o.from, o.to) < std::tie(key.first, key.second);
                                   });
  if (at != overrides.end() && at->from == from && at->to == to) return at->spec;
  return node_of(from) == node_of(to) ? intra : inter;
}

SharedPath Topology::shared_path(int from, int to) const {
  SharedPath path;
  const int a = node_of(from), b = node_of(to);
  if (!shared.on() || a == b) return path;
  const auto nic = [&](int rank) { return rank % gpus_per_node * shared.nics_per_node / gpus_per_node; };
  path.nic_out = a * shared.nics_per_node + nic(from);
  path.nic_in = b * shared.nics_per_node + nic(to);
  if (shared.nodes_per_leaf == 0) return path;
  const auto leaf = [&](int node, int rank) {
    const int group = node / shared.nodes_per_leaf;
    return shared.rails ? group * shared.nics_per_node + nic(rank) : group;
  };
  if (leaf(a, from) == leaf(b, to)) return path;
  path.leaf_up = leaf(a, from);
  path.leaf_down = leaf(b, to);
  return path;
}

std::int64_t wire_ns(std::int64_t bytes, std::int64_t bytes_per_s) {
  RINGSIDE_CHECK_LE(0, bytes);
  RINGSIDE_CHECK_LT(0, bytes_per_s);
  __extension__ using Wide = unsigned __int128;
  const Wide numerator = static_cast<Wide>(bytes) * 1'000'000'000u + static_cast<Wide>(bytes_per_s - 1);
  return static_cast<std::int64_t>(numerator / static_cast<Wide>(bytes_per_s));
}

}  // namespace ringside::sim
