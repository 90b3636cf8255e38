// Since when each shared link of a topology (NICs, uplinks of leaf switches) is free. One for each run in
// virtual time: the executor's, the job's.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "sim/collective/topology.hpp"

namespace ringside::sim {

/// A regular type.
class SharedPorts {
 public:
  /// Moves `start` to when all shared links of the way are free, and takes each of them for as long as the
  /// bytes need there. Gives the longest of these times: the bytes go as fast as the slowest link on the way
  /// lets them.
  std::int64_t take(const SharedLinks& links, const SharedPath& path, std::int64_t bytes,
                    std::int64_t& start) {
    const std::array<std::pair<int, std::int64_t>, 4> ways{{{path.nic_out, links.nic_bytes_per_s},
                                                            {path.nic_in, links.nic_bytes_per_s},
                                                            {path.leaf_up, links.spine_bytes_per_s},
                                                            {path.leaf_down, links.spine_bytes_per_s}}};
    for (std::size_t kind = 0; kind < ways.size(); ++kind) {
      const int number = ways[kind].first;
      if (number < 0) continue;
      if (static_cast<std::size_t>(number) >= free_[kind].size())
        free_[kind].resize(static_cast<std::size_t>(number) + 1, std::numeric_limits<std::int64_t>::min());
      start = std::max(start, free_[kind][static_cast<std::size_t>(number)]);
    }
    std::int64_t longest = 0;
    for (std::size_t kind = 0; kind < ways.size(); ++kind) {
      const auto [number, bytes_per_s] = ways[kind];
      if (number < 0) continue;
      const std::int64_t wire = wire_ns(bytes, bytes_per_s);
      free_[kind][static_cast<std::size_t>(number)] = start + wire;
      longest = std::max(longest, wire);
    }
    return longest;
  }

 private:
  std::array<std::vector<std::int64_t>, 4> free_;  // NICs out and in, leaf switches up and down
};

}  // namespace ringside::sim
