// Element types of tensors, one number of any of them, and the reduction ops.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ringside::sim {

enum class DType : std::uint8_t { Float64, Float32, Float16, BFloat16, Int32, Int64 };
inline constexpr std::array<DType, 6> kAllDTypes{DType::Float64,  DType::Float32, DType::Float16,
                                                 DType::BFloat16, DType::Int32,   DType::Int64};

/// The word in scenario files, events and JSON: "float32", "bfloat16" …
std::string_view to_word(DType dtype);
std::optional<DType> dtype_from(std::string_view word);
/// Bytes of one element: 8, 4, 2, 2, 4, 8.
std::int64_t size_of(DType dtype);
bool is_floating(DType dtype);

/// `sum_then_divide` is the textbook's (sum, then divide by the world size); `avg` is NCCL's (1/n times each
/// input, then sum).
enum class ReduceOp : std::uint8_t { Sum, Avg, SumThenDivide, Prod, Min, Max };
inline constexpr std::array<ReduceOp, 6> kAllOps{ReduceOp::Sum,  ReduceOp::Avg, ReduceOp::SumThenDivide,
                                                 ReduceOp::Prod, ReduceOp::Min, ReduceOp::Max};
std::string_view to_word(ReduceOp op);
std::optional<ReduceOp> op_from(std::string_view word);

/// One number of any dtype, by its bits (in the low bytes). Equality is equality of bits.
struct Scalar {
  DType dtype = DType::Float32;
  std::uint64_t bits = 0;
  bool operator==(const Scalar&) const = default;
};

/// Rounds to nearest even into the dtype (integers: toward zero, saturated). NaN becomes the dtype's
/// canonical quiet NaN.
Scalar make_scalar(DType dtype, double value);
/// Exact for every dtype but int64 beyond 2^53.
double to_double(Scalar value);
/// The integer itself for int32/int64; truncated for floating types.
std::int64_t to_int64(Scalar value);
bool is_nan(Scalar value);
bool is_inf(Scalar value);
/// NaN of any sign and payload becomes the dtype's positive quiet NaN (7e00, 7fc0, 7fc00000,
/// 7ff8000000000000).
Scalar canonical(Scalar value);
/// Shortest text in the value's own type (float16 and bfloat16 through float); NaN, Infinity, -Infinity.
void append_scalar(std::string& out, Scalar value);
/// As append_scalar, but non-finite values in quotes, as JSON needs them.
void append_scalar_json(std::string& out, Scalar value);

}  // namespace ringside::sim
