#include "sim/base/random.hpp"

namespace ringside::sim {

double draw_normal(const DrawKey& key, std::uint64_t i) {
  std::int64_t sum = 0;  // 32.32 fixed point
  for (std::uint64_t k = 0; k < 6; ++k) {
    const std::uint64_t word = draw_u64(key, i * 6 + k);
    sum += static_cast<std::int64_t>(word >> 32) + static_cast<std::int64_t>(word & 0xFFFFFFFFULL);
  }
  const std::int64_t centred = sum - (std::int64_t{6} << 32);
  return static_cast<double>(centred) / 4294967296.0;  // division by a power of two is exact
}

std::int64_t draw_jitter_ppm(const DrawKey& key, std::uint64_t i, std::int64_t ppm) {
  if (ppm <= 0) return 1'000'000;
  const auto width = static_cast<std::uint32_t>(2 * ppm + 1);
  return 1'000'000 - ppm + static_cast<std::int64_t>(draw_below(key, i, width));
}

}  // namespace ringside::sim
