// Stepped against fused: what counts as equal, and how a difference is said.
#include "backend/live/compare.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace ringside::backend {
namespace {

std::vector<std::byte> bytes_of(std::vector<float> values) {
  std::vector<std::byte> out(values.size() * sizeof(float));
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Compare, EqualBitsAndNansOfAnyPayloadAreEqual) {
  const auto a = bytes_of({1, 0, kNan, -3}), b = bytes_of({1, 0, -kNan, -3});
  const Comparison c = compare_results(sim::DType::Float32, a, b);
  EXPECT_EQ(c.differing, 0);
  EXPECT_EQ(comparison_text(c, 2), "bucket 2: stepped and fused agree bit for bit in 4 elements");
  EXPECT_TRUE(says_equal(comparison_text(c, 2)));
  EXPECT_EQ(compare_results(sim::DType::Float32, {}, {}).differing, 0);
}

TEST(Compare, TheFirstDifferenceIsNamedWithBothValues) {
  const auto a = bytes_of({1, 2, 3, 4}), b = bytes_of({1, 2.5f, 3, 3});
  const Comparison c = compare_results(sim::DType::Float32, a, b);
  EXPECT_EQ(c.differing, 2);
  EXPECT_EQ(c.first, 1);
  EXPECT_EQ(c.largest, 1.0);
  EXPECT_EQ(comparison_text(c, 0),
            "bucket 0: stepped and fused differ in 2 of 4 elements, first in element 1: 2 and 2.5, at most 1 "
            "apart");
  EXPECT_FALSE(says_equal(comparison_text(c, 0)));
}

TEST(Compare, ZerosOfDifferentSignAndANanAgainstANumberDiffer) {
  const Comparison zeros = compare_results(sim::DType::Float32, bytes_of({0.0f}), bytes_of({-0.0f}));
  EXPECT_EQ(zeros.differing, 1);
  EXPECT_EQ(zeros.largest, 0);
  const Comparison nan = compare_results(sim::DType::Float32, bytes_of({1}), bytes_of({kNan}));
  EXPECT_TRUE(std::isinf(nan.largest));
  EXPECT_NE(comparison_text(nan, 0).find("1 and NaN, at most Infinity apart"), std::string::npos);
}

}  // namespace
}  // namespace ringside::backend
