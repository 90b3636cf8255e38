// Quantities as people write them in scenario files and on the command line: "30ms", "64M", "240GB/s".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/base/result.hpp"

namespace ringside::sim {

/// An integer with a unit: ns, us, ms, s, min, h ("30ms"). Never negative. The Error has no position: the
/// caller knows it.
Result<std::int64_t> parse_duration(std::string_view text);
/// Nanoseconds in the largest unit that holds them exactly: "90s", "1500us", "0ns". Reads back to the same
/// number.
std::string duration_text(std::int64_t ns);

/// An integer, alone or with K, M or G: powers of 2^10 ("64M" = 67,108,864).
Result<std::int64_t> parse_size(std::string_view text);

/// A number with a unit of rate, in bytes per second. B/s, KB/s, MB/s, GB/s, TB/s are powers of 10^3; KiB/s,
/// MiB/s, GiB/s, TiB/s of 2^10; Kb/s, Mb/s, Gb/s, Tb/s are bits ("400Gb/s" = 50GB/s). Decimals are legal as
/// long as the rate is a whole number of bytes a second ("370.8GB/s").
Result<std::int64_t> parse_rate(std::string_view text);
/// "240GB/s", "370.8GB/s": reads back to the same number.
std::string rate_text(std::int64_t bytes_per_s);

}  // namespace ringside::sim
