// The same collective done in two ways on the same data: where the results differ, and how the run says it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sim/tensor/dtype.hpp"

namespace ringside::backend {

/// The stream of the log lines below.
inline constexpr std::string_view kCompareStream = "compare";

/// NaNs are equal whatever their payload; zeros of different sign are not.
struct Comparison {
  std::int64_t count = 0, differing = 0;
  std::int64_t first = -1;     // index of the first that differs
  sim::Scalar stepped, fused;  // its two values
  double largest = 0;          // the largest |stepped - fused|; infinite where only one of them is a number
};

/// Both spans are equally long.
Comparison compare_results(sim::DType dtype, std::span<const std::byte> stepped,
                           std::span<const std::byte> fused);

/// "bucket 0: stepped and fused agree bit for bit in 105 elements", or "bucket 0: stepped and fused differ in
/// 3 of 105 elements, first in element 17: 0.1 and 0.10000001, at most 7.4505806e-09 apart".
std::string comparison_text(const Comparison& comparison, int bucket);
/// True for a line of that form that says so: a reader of recordings counts them.
bool says_equal(std::string_view text);

}  // namespace ringside::backend
