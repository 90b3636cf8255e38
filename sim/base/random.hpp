// Counter-based random numbers: every draw is a pure function of (seed, rank, step, purpose, i), so that one
// more draw somewhere never shifts another. splitmix64 (Steele, Lea, Flood 2014); no std distribution, since
// those differ between libraries.
#pragma once

#include <cstdint>

namespace ringside::sim {

/// splitmix64's finaliser: a bijection of 64-bit words in which every input bit reaches every output bit.
constexpr std::uint64_t mix64(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

/// What a draw is for. Append only: the numbers are part of every recorded result.
enum class Purpose : std::uint64_t {
  TensorValues = 1,
  Jitter = 2,
  Weights = 3,
  Data = 4,
  Noise = 5,
  Fault = 6,
  Detective = 7,
  MonteCarlo = 8,
  Network = 9,
};

struct DrawKey {
  std::uint64_t seed = 0;
  std::uint64_t rank = 0;
  std::uint64_t step = 0;
  Purpose purpose = Purpose::TensorValues;
};

/// The i-th 64-bit word of a stream.
constexpr std::uint64_t draw_u64(const DrawKey& key, std::uint64_t i) {
  constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ULL;
  std::uint64_t z = mix64(key.seed + kGolden);
  z = mix64(z ^ (key.rank + 1) * kGolden);
  z = mix64(z ^ (key.step + 1) * kGolden);
  z = mix64(z ^ static_cast<std::uint64_t>(key.purpose) * kGolden);
  return mix64(z ^ (i + 1) * kGolden);
}

/// Uniform integer in [0, n), n > 0. Fixed-point multiply: bias below n / 2^32.
constexpr std::uint32_t draw_below(const DrawKey& key, std::uint64_t i, std::uint32_t n) {
  return static_cast<std::uint32_t>(((draw_u64(key, i) >> 32) * n) >> 32);
}

/// Standard normal by Irwin–Hall: the sum of 12 uniforms minus 6, in 32.32 fixed point, so that the bits are
/// the same everywhere. Exact as a double (at most 36 significant bits).
double draw_normal(const DrawKey& key, std::uint64_t i);

/// Factor for a duration: 1,000,000 ± `ppm`, uniform. duration * jitter_ppm(...) / 1'000'000.
std::int64_t draw_jitter_ppm(const DrawKey& key, std::uint64_t i, std::int64_t ppm);

}  // namespace ringside::sim
