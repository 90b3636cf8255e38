// The bits of a number in a floating dtype, and what rounding into it loses.
#pragma once

#include <string>
#include <vector>

#include "sim/tensor/dtype.hpp"

namespace ringside::app {

/// How a floating dtype spends its bits (IEEE 754; bfloat16 is the upper half of float32).
struct FloatLayout {
  int sign = 1, exponent = 0, mantissa = 0;
  int bits() const { return sign + exponent + mantissa; }
  int bias() const { return (1 << (exponent - 1)) - 1; }
};
/// Layout of float64, float32, float16, bfloat16. Aborts for integers.
FloatLayout float_layout(sim::DType dtype);

enum class FloatClass : std::uint8_t { Zero, Subnormal, Normal, Infinity, Nan };

struct FloatBits {
  FloatLayout layout;
  std::vector<bool> bits;  // most significant first: sign, exponent, mantissa
  FloatClass kind = FloatClass::Zero;
  bool negative = false;
  int exponent = 0;       // of two, unbiased; the least normal one for subnormals and zero
  double fraction = 0;    // 1.m or 0.m
  double value = 0;       // what the dtype holds
  double lost = 0;        // value - given; 0 for NaN and for infinities that were given
  bool overflow = false;  // a finite number became infinite
  bool to_zero = false;   // a number that is not 0 became 0
  bool exact() const { return lost == 0 && !overflow; }
};
/// Rounds `given` to nearest even into the dtype and takes it apart.
FloatBits float_bits(sim::DType dtype, double given);

/// A double in at most `digits` significant digits, or exactly if that is not longer: "0.0999756", "65504".
std::string short_number(double value, int digits = 7);

}  // namespace ringside::app
