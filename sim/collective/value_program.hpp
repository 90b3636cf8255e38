// The numbers of one chunk as a program over values: value r < world_size is what rank r brought along, every
// later value is the reduction of two earlier ones. A copy makes no value, and a ∘ b is the same value as b ∘
// a (every op commutes, bit for bit), so that results that are equal are known to be equal before a single
// number was computed.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/collective/schedule.hpp"

namespace ringside::sim {

struct ValueProgram {
  struct Op {
    std::uint32_t arrived = 0, own = 0;  // values; the result is value world_size + index of the op
  };
  std::vector<Op> ops;
  std::vector<std::uint32_t>
      travels;  // per transfer into the chunk (Schedule::transfers_into): the value that travels
  std::vector<std::uint32_t> result;  // per rank: the value that it holds after the last transfer
};

/// For schedules in which a chunk keeps its place (all but all_to_all).
ValueProgram value_program(const Schedule& schedule, std::uint32_t chunk);

}  // namespace ringside::sim
