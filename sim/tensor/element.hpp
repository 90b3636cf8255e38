// Each dtype as a type: how its bits are loaded, computed with and rounded back. For the loops over elements.
//
// float16 and bfloat16 compute in float and round once. That gives the bits of their own arithmetic:
//  * add: a float has 24 significant bits, at least 2p + 2 for p = 11 (float16) and p = 8 (bfloat16), so that
//  rounding
//    first to float and then to the dtype is the same as rounding once (Figueroa, "When is double rounding
//    innocuous?", 1995). Sums in the subnormal range of the dtype are multiples of its smallest number: exact
//    in float.
//  * mul: the product has at most 2p = 22 significant bits, so it is exact in float, except for bfloat16
//  products below
//    2^-126 that lose bits under 2^-149. There bfloat16's last place is 2^-133 and its ties lie at odd
//    multiples of 2^-134; a product with its leading bit at 2^-134 or above has its last bit at 2^-149 or
//    above (16 bits), so it is exact, and everything below rounds to zero either way.
// Eigen does the conversions; the NaN that a conversion or an operation gives is replaced by the canonical
// one.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <Eigen/Core>

#include "sim/tensor/dtype.hpp"

namespace ringside::sim::element {

template <class W>
inline W load(const std::byte* data, std::size_t i) {
  W word;
  std::memcpy(&word, data + i * sizeof(W), sizeof(W));
  return word;
}
template <class W>
inline void store(std::byte* data, std::size_t i, W word) {
  std::memcpy(data + i * sizeof(W), &word, sizeof(W));
}

/// What the four floating dtypes have in common: the bit patterns.
template <class W, class S, W kInfBits, W kNanBits>
struct FloatBits {
  using Word = W;
  using Signed = S;
  static constexpr bool kFloating = true;
  static constexpr W kMagnitude = static_cast<W>(static_cast<W>(~W{0}) >> 1);  // all but the sign
  static constexpr W kInf = kInfBits;
  static constexpr W kNan = kNanBits;
  static constexpr bool is_nan(W bits) { return (bits & kMagnitude) > kInf; }
  static constexpr bool is_inf(W bits) { return (bits & kMagnitude) == kInf; }
  static constexpr W canonical(W bits) { return is_nan(bits) ? kNan : bits; }
  /// Signed integers in the order of the numbers, -0 just below +0. Its own inverse. NaNs lie beyond the
  /// infinities.
  static constexpr S order(S bits) {
    return static_cast<S>(bits ^ static_cast<S>((bits >> (8 * sizeof(W) - 1)) & static_cast<S>(kMagnitude)));
  }
};

struct F64 : FloatBits<std::uint64_t, std::int64_t, 0x7FF0000000000000u, 0x7FF8000000000000u> {
  using Compute = double;
  static double decode(Word bits) { return std::bit_cast<double>(bits); }
  static Word encode(double value) { return value == value ? std::bit_cast<Word>(value) : kNan; }
};

struct F32 : FloatBits<std::uint32_t, std::int32_t, 0x7F800000u, 0x7FC00000u> {
  using Compute = float;
  static float decode(Word bits) { return std::bit_cast<float>(bits); }
  static Word encode(float value) { return value == value ? std::bit_cast<Word>(value) : kNan; }
};

struct F16 : FloatBits<std::uint16_t, std::int16_t, 0x7C00u, 0x7E00u> {
  using Compute = float;
  static float decode(Word bits) {
    return Eigen::half_impl::half_to_float(Eigen::half_impl::raw_uint16_to_half(bits));
  }
  static Word encode(float value) { return canonical(Eigen::half_impl::float_to_half_rtne(value).x); }
};

struct BF16 : FloatBits<std::uint16_t, std::int16_t, 0x7F80u, 0x7FC0u> {
  using Compute = float;
  static float decode(Word bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
  static Word encode(float value) {
    // Eigen's rounding for numbers that are not NaN; the select keeps the loop free of branches.
    const Word rounded = Eigen::bfloat16_impl::float_to_bfloat16_rtne<true>(value).value;
    return value == value ? rounded : kNan;
  }
};

/// Integers compute in the unsigned type, where wrapping is defined.
template <class W, class S>
struct IntBits {
  using Word = W;
  using Signed = S;
  using Compute = W;
  static constexpr bool kFloating = false;
  static constexpr bool is_nan(W) { return false; }
  static constexpr bool is_inf(W) { return false; }
  static constexpr W canonical(W bits) { return bits; }
  static constexpr S order(S bits) { return bits; }
  static W decode(W bits) { return bits; }
  static W encode(W value) { return value; }
};
struct I32 : IntBits<std::uint32_t, std::int32_t> {};
struct I64 : IntBits<std::uint64_t, std::int64_t> {};

/// Calls f(F32{}) or whichever type belongs to the dtype.
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

}  // namespace ringside::sim::element
