// Each dtype as a type, for host and device: how its bits are loaded, computed with and rounded back.
//
// The same arithmetic as sim/tensor/element.hpp, written a second time because kernels/ stands alone and
// because Eigen's conversions take another way on a GPU. float16 and bfloat16 convert by integer arithmetic
// on both sides, so that the code that the CPU test looks at is the code that runs on the device.
// tests/unit/kernels_test.cpp holds the two against each other, bit for bit.
#pragma once

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define RINGSIDE_HD __host__ __device__
#else
#define RINGSIDE_HD
#endif

namespace ringside::kernels {

/// Same order as sim::DType (backend/live/gpu_plane.cpp asserts it).
enum class DType : std::uint8_t { Float64, Float32, Float16, BFloat16, Int32, Int64 };

namespace element {

RINGSIDE_HD inline std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
RINGSIDE_HD inline float float_of(std::uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/// What the four floating dtypes have in common: the bit patterns.
template <class W, class S, W kInfBits, W kNanBits>
struct FloatBits {
  using Word = W;
  using Signed = S;
  static constexpr bool kFloating = true;
  static constexpr W kMagnitude = static_cast<W>(static_cast<W>(~W{0}) >> 1);
  static constexpr W kInf = kInfBits;
  static constexpr W kNan = kNanBits;
  RINGSIDE_HD static constexpr bool is_nan(W bits) { return (bits & kMagnitude) > kInf; }
  RINGSIDE_HD static constexpr bool is_inf(W bits) { return (bits & kMagnitude) == kInf; }
  RINGSIDE_HD static constexpr W canonical(W bits) { return is_nan(bits) ? kNan : bits; }
  /// Signed integers in the order of the numbers, -0 just below +0. Its own inverse.
  RINGSIDE_HD static constexpr S order(S bits) {
    return static_cast<S>(bits ^ static_cast<S>((bits >> (8 * sizeof(W) - 1)) & static_cast<S>(kMagnitude)));
  }
};

struct F64 : FloatBits<std::uint64_t, std::int64_t, 0x7FF0000000000000u, 0x7FF8000000000000u> {
  using Compute = double;
  RINGSIDE_HD static double decode(Word bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
  }
  RINGSIDE_HD static Word encode(double value) {
    Word bits;
    memcpy(&bits, &value, sizeof bits);
    return canonical(bits);
  }
};

struct F32 : FloatBits<std::uint32_t, std::int32_t, 0x7F800000u, 0x7FC00000u> {
  using Compute = float;
  RINGSIDE_HD static float decode(Word bits) { return float_of(bits); }
  RINGSIDE_HD static Word encode(float value) { return canonical(bits_of(value)); }
};

struct F16 : FloatBits<std::uint16_t, std::int16_t, 0x7C00u, 0x7E00u> {
  using Compute = float;
  RINGSIDE_HD static float decode(Word bits) {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    const std::uint32_t exponent = (bits >> 10) & 31u, mantissa = bits & 0x3FFu;
    if (exponent == 31) return float_of(sign | 0x7F800000u | mantissa << 13);
    if (exponent != 0) return float_of(sign | (exponent + 112) << 23 | mantissa << 13);
    const float small = static_cast<float>(mantissa) * 0x1p-24f;  // subnormal: exact in float
    return float_of(bits_of(small) | sign);
  }
  /// To nearest, ties to even.
  RINGSIDE_HD static Word encode(float value) {
    const std::uint32_t bits = bits_of(value), magnitude = bits & 0x7FFFFFFFu;
    const auto sign = static_cast<Word>((bits >> 16) & 0x8000u);
    if (magnitude > 0x7F800000u) return kNan;
    if (magnitude >= 0x47800000u) return static_cast<Word>(sign | kInf);  // 65536 and above
    if (magnitude < 0x38800000u) {
      // Below 2^-14 the last place is 2^-24, which is that of floats at 0.5: adding 0.5 rounds there.
      const std::uint32_t rounded = bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f);
      return static_cast<Word>(sign | rounded);
    }
    const std::uint32_t odd = (magnitude >> 13) & 1u;
    return static_cast<Word>(sign | (magnitude - (112u << 23) + 0xFFFu + odd) >> 13);
  }
};

struct BF16 : FloatBits<std::uint16_t, std::int16_t, 0x7F80u, 0x7FC0u> {
  using Compute = float;
  RINGSIDE_HD static float decode(Word bits) { return float_of(static_cast<std::uint32_t>(bits) << 16); }
  /// To nearest, ties to even.
  RINGSIDE_HD static Word encode(float value) {
    const std::uint32_t bits = bits_of(value);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return kNan;
    return static_cast<Word>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
  }
};

/// Integers compute in the unsigned type, where wrapping is defined.
template <class W, class S>
struct IntBits {
  using Word = W;
  using Signed = S;
  using Compute = W;
  static constexpr bool kFloating = false;
  RINGSIDE_HD static constexpr bool is_nan(W) { return false; }
  RINGSIDE_HD static constexpr bool is_inf(W) { return false; }
  RINGSIDE_HD static constexpr W canonical(W bits) { return bits; }
  RINGSIDE_HD static constexpr S order(S bits) { return bits; }
  RINGSIDE_HD static W decode(W bits) { return bits; }
  RINGSIDE_HD static W encode(W value) { return value; }
};
struct I32 : IntBits<std::uint32_t, std::int32_t> {};
struct I64 : IntBits<std::uint64_t, std::int64_t> {};

/// The least and the greatest value of a signed word, without <limits> (whose functions are the host's only).
template <class E>
struct Ends {
  using S = typename E::Signed;
  using W = typename E::Word;
  static constexpr S kMax = static_cast<S>(static_cast<W>(~W{0}) >> 1);
  static constexpr S kMin = static_cast<S>(-kMax - 1);
};

/// Calls f(F32{}) or whichever type belongs to the dtype. Host only: kernels are chosen before they start.
template <class F>
decltype(auto) with_element(DType dtype, F&& f) {
  switch (dtype) {
    case DType::Float64:
      return f(F64{});
    case DType::Float32:
      return f(F32{});
    case DType::Float16:
      return f(F16{});
    case DType::BFloat16:
      return f(BF16{});
    case DType::Int32:
      return f(I32{});
    case DType::Int64:
      break;
  }
  return f(I64{});
}

}  // namespace element
}  // namespace ringside::kernels
