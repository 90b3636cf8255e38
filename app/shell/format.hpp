// Times and speeds as the transport bar shows them.
#pragma once

#include <cstdint>
#include <string>

namespace ringside::app {

/// A time in the unit of `total`, with fixed decimals, so that the clock does not jump: "9.5 μs" of 34.2 μs,
/// "2:05:09" of hours.
std::string format_clock(std::int64_t t, std::int64_t total);
/// "1 μs = 0.5 s": what a second of watching shows.
std::string format_speed(double simulated_ns_per_s);

}  // namespace ringside::app
