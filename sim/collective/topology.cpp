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

std::int64_t wire_ns(std::int64_t bytes, std::int64_t bytes_per_s) {
  RINGSIDE_CHECK_LE(0, bytes);
  RINGSIDE_CHECK_LT(0, bytes_per_s);
  __extension__ using Wide = unsigned __int128;
  const Wide numerator = static_cast<Wide>(bytes) * 1'000'000'000u + static_cast<Wide>(bytes_per_s - 1);
  return static_cast<std::int64_t>(numerator / static_cast<Wide>(bytes_per_s));
}

}  // namespace ringside::sim
