// In which order a schedule adds: for one chunk, the tree of additions that its transfers amount to. Floating
// point additions do not associate, so this order is what decides the bits of the result.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/collective/schedule.hpp"

namespace ringside::sim {

struct SumOrder {
  /// A rank's own number (rank >= 0), or arrived + own (places in `nodes`).
  struct Node {
    int rank = -1;
    int arrived = -1, own = -1;
  };
  std::vector<Node> nodes;
  int root = -1;

  /// The ranks in the order in which they are added, if each addition adds one rank to the sum; else empty.
  std::vector<int> chain() const;
  /// "R1 + R2 + R3 + R0", "(R0 + R1) + (R2 + R3)".
  std::string text() const;
  /// The sum of one number a rank in this order, with the op's own rounding at every addition. No prepare, no
  /// finish.
  Scalar evaluate(ReduceOp op, std::span<const Scalar> per_rank) const;
};

/// The additions that end in `rank`'s copy of the chunk. For collectives that reduce.
SumOrder sum_order(const Schedule& schedule, std::uint32_t chunk, int rank = 0);

}  // namespace ringside::sim
