// Clocks and time zones of hosts, compared by events that all ranks of a communicator share: the end of its
// creation, and the dump signal that reaches everybody. An offset is never used beyond its error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/import/evidence.hpp"
#include "backend/import/who.hpp"

namespace ringside::backend {

struct ClockOffset {
  std::string host;
  std::string reference;       // the host with most events
  std::int64_t offset_ns = 0;  // this host's clock minus the reference's
  std::int64_t error_ns = 0;   // half the spread of what the events say, at least kLeastClockErrorNs
  int events = 0;
  bool zone = false;  // near a whole number of quarter hours: another time zone, not a wrong clock
};
inline constexpr std::int64_t kLeastClockErrorNs = 1'000'000'000;

/// One row for each host that shares an event with the reference. Only dated stamps are compared.
std::vector<ClockOffset> clock_offsets(const Facts& facts, const Who& who);

}  // namespace ringside::backend
