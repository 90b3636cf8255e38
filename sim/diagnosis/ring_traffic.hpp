// What moved on the ring's links, for rules that ask which link holds the others up.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/diagnosis/rules.hpp"

namespace ringside::sim {

/// The link on which a collective stands still.
struct BlockedEdge {
  int from = 0, to = 0;
  std::uint32_t event = kNone;  // the chunk that left and never came, or the last thing that `from` received
  bool on_the_way = false;      // it left; false: it never left although `from` had it
};

/// One collective at one moment: everything up to and including time t.
struct RingState {
  std::vector<std::pair<int, int>> waits;  // [receiver, sender] of receives that have nothing yet
  std::vector<int> stopped;                // waited for, but waiting for nobody
  std::optional<BlockedEdge> blocked;      // only if exactly one link explains it
};
RingState ring_state(const Case& c, std::uint32_t coll, std::int64_t t);

}  // namespace ringside::sim
