#include "sim/tensor/dtype.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "sim/base/text.hpp"
#include "sim/tensor/element.hpp"

namespace ringside::sim {
namespace {

using element::with_element;

constexpr std::array<std::string_view, 6> kDTypeWords{"float64",  "float32", "float16",
                                                      "bfloat16", "int32",   "int64"};
constexpr std::array<std::string_view, 6> kOpWords{"sum", "avg", "sum_then_divide", "prod", "min", "max"};

template <class S>
S saturated(double value) {
  // The largest integer may not be a double; 2^31 and 2^63 are, and everything from there on saturates.
  constexpr double kEnd = -static_cast<double>(std::numeric_limits<S>::min());
  if (!(value == value)) return 0;
  if (value >= kEnd) return std::numeric_limits<S>::max();
  if (value < -kEnd) return std::numeric_limits<S>::min();
  return static_cast<S>(value);
}

/// Rounds toward zero, and an inexact result gets an odd last bit, so that a second rounding to at most 22
/// bits gives what one rounding of the double would (Boldo and Melquiond, "Emulation of FMA and correctly
/// rounded sums", 2008).
float round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || !(value == value)) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::abs(static_cast<double>(nearest)) > std::abs(value))
    --bits;  // toward zero; infinity becomes the largest
  return std::bit_cast<float>(bits | 1u);
}

template <class E>
typename E::Word encode_double(double value) {
  if constexpr (!E::kFloating) {
    return static_cast<typename E::Word>(saturated<typename E::Signed>(value));
  } else if constexpr (sizeof(typename E::Word) == 2) {
    return E::encode(round_to_odd(value));
  } else {
    return E::encode(static_cast<typename E::Compute>(value));
  }
}

template <class E>
double decode_double(std::uint64_t bits) {
  const auto word = static_cast<typename E::Word>(bits);
  if constexpr (!E::kFloating) {
    return static_cast<double>(static_cast<typename E::Signed>(word));
  } else {
    return static_cast<double>(E::decode(word));
  }
}

}  // namespace

std::string_view to_word(DType dtype) {
  return kDTypeWords.at(static_cast<std::size_t>(dtype));
}

std::optional<DType> dtype_from(std::string_view word) {
  for (const DType dtype : kAllDTypes) {
    if (to_word(dtype) == word) return dtype;
  }
  return std::nullopt;
}

std::int64_t size_of(DType dtype) {
  return with_element(dtype,
                      [](auto e) { return static_cast<std::int64_t>(sizeof(typename decltype(e)::Word)); });
}

bool is_floating(DType dtype) {
  return with_element(dtype, [](auto e) { return decltype(e)::kFloating; });
}

std::string_view to_word(ReduceOp op) {
  return kOpWords.at(static_cast<std::size_t>(op));
}

std::optional<ReduceOp> op_from(std::string_view word) {
  for (const ReduceOp op : kAllOps) {
    if (to_word(op) == word) return op;
  }
  return std::nullopt;
}

Scalar make_scalar(DType dtype, double value) {
  return {dtype,
          with_element(dtype, [&](auto e) -> std::uint64_t { return encode_double<decltype(e)>(value); })};
}

double to_double(Scalar value) {
  return with_element(value.dtype, [&](auto e) { return decode_double<decltype(e)>(value.bits); });
}

std::int64_t to_int64(Scalar value) {
  if (value.dtype == DType::Int64) return static_cast<std::int64_t>(value.bits);
  return saturated<std::int64_t>(to_double(value));
}

bool is_nan(Scalar value) {
  return with_element(value.dtype, [&](auto e) {
    return decltype(e)::is_nan(static_cast<typename decltype(e)::Word>(value.bits));
  });
}

bool is_inf(Scalar value) {
  return with_element(value.dtype, [&](auto e) {
    return decltype(e)::is_inf(static_cast<typename decltype(e)::Word>(value.bits));
  });
}

Scalar canonical(Scalar value) {
  return {value.dtype, with_element(value.dtype, [&](auto e) -> std::uint64_t {
            return decltype(e)::canonical(static_cast<typename decltype(e)::Word>(value.bits));
          })};
}

void append_scalar(std::string& out, Scalar value) {
  if (!is_floating(value.dtype)) {
    append_int(out, to_int64(value));
  } else if (value.dtype == DType::Float64) {
    append_double(out, to_double(value));
  } else {
    append_float(out, static_cast<float>(to_double(value)));
  }
}

void append_scalar_json(std::string& out, Scalar value) {
  const bool quoted = is_nan(value) || is_inf(value);
  if (quoted) out += '"';
  append_scalar(out, value);
  if (quoted) out += '"';
}

}  // namespace ringside::sim
