// The memory that the plugin (inside the job) shares with its feeder (a process beside it).
#pragma once

#include "backend/live/telemetry.hpp"

namespace ringside::backend {

struct FeedBlock {
  static constexpr std::uint64_t kMagic = 0x52494E4753464431;  // "RINGSFD1"
  std::uint64_t magic = kMagic, size = sizeof(FeedBlock);      // both sides are of the same build
  SharedRank rank;  // events carry t in ns since 1970: the feeder knows the origin when the hub has told it
};

}  // namespace ringside::backend
