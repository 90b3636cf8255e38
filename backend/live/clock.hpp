// The wall clock of everything that is told live.
#pragma once

#include <chrono>
#include <cstdint>

namespace ringside::backend {

/// Nanoseconds since 1970 by this host's clock; hosts differ (host_clocks.hpp).
inline std::int64_t unix_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace ringside::backend
