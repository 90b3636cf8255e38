// The arithmetic of reductions: one rounding in the dtype, NaN and signed zeros, wrapping integers, avg and
// its kin.
#include "sim/tensor/reduce.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/base/random.hpp"
#include "sim/tensor/tensor.hpp"

namespace ringside::sim {
namespace {

Scalar f32(double v) {
  return make_scalar(DType::Float32, v);
}
Scalar f16(double v) {
  return make_scalar(DType::Float16, v);
}
std::uint64_t random_bits(std::uint64_t i, std::uint64_t stream) {
  return draw_u64({.seed = 7, .rank = stream, .step = 0, .purpose = Purpose::TensorValues}, i);
}

// Sums and products of two float16, and products of two bfloat16, are exact in double: make_scalar rounds
// them once.
TEST(Rounding, HalvesRoundOnce) {
  for (std::uint64_t i = 0; i < 300000; ++i) {
    for (const DType dtype : {DType::Float16, DType::BFloat16}) {
      const Scalar a = canonical({dtype, random_bits(i, 0) & 0xFFFF}),
                   b = canonical({dtype, random_bits(i, 1) & 0xFFFF});
      const double x = to_double(a), y = to_double(b);
      ASSERT_EQ(reduce(ReduceOp::Prod, a, b), make_scalar(dtype, x * y)) << x << " * " << y;
      if (dtype == DType::Float16) {
        ASSERT_EQ(reduce(ReduceOp::Sum, a, b), make_scalar(dtype, x + y)) << x << " + " << y;
      }
    }
  }
}

// Sums of bfloat16 whose exponents differ by at most 40 are exact in double, too; all near ties are within
// that.
TEST(Rounding, BFloat16SumsRoundOnce) {
  for (std::uint64_t i = 0; i < 300000; ++i) {
    const std::uint64_t raw = random_bits(i, 2);
    const std::uint64_t a_bits = raw & 0xFFFF;
    const std::uint64_t exponent = (a_bits >> 7 & 0xFF) + (raw >> 40) % 20;
    if (exponent >= 0xFF) continue;
    const std::uint64_t b_bits = (raw >> 16 & 0x807F) | exponent << 7;
    const Scalar a = canonical({DType::BFloat16, a_bits}), b{DType::BFloat16, b_bits};
    ASSERT_EQ(reduce(ReduceOp::Sum, a, b), make_scalar(DType::BFloat16, to_double(a) + to_double(b)));
  }
}

TEST(Rounding, BFloat16ProductsAroundTheSubnormals) {
  // 2^-70 … 2^-64 squared lies around 2^-133, bfloat16's last place.
  for (std::uint64_t a = (127 - 70) << 7; a < std::uint64_t{127 - 64} << 7; ++a) {
    for (std::uint64_t b = (127 - 68) << 7; b < std::uint64_t{127 - 64} << 7; ++b) {
      const Scalar x{DType::BFloat16, a}, y{DType::BFloat16, b};
      ASSERT_EQ(reduce(ReduceOp::Prod, x, y), make_scalar(DType::BFloat16, to_double(x) * to_double(y)));
    }
  }
}

TEST(Rounding, Float16OverflowsToInfinityAndStaysThere) {
  EXPECT_EQ(to_double(reduce(ReduceOp::Sum, f16(60000), f16(6000))), INFINITY);
  EXPECT_EQ(to_double(reduce(ReduceOp::Sum, f16(INFINITY), f16(-6000))), INFINITY);
  EXPECT_EQ(reduce(ReduceOp::Sum, f16(INFINITY), f16(-INFINITY)).bits, 0x7E00u);
  EXPECT_EQ(reduce(ReduceOp::Prod, f16(INFINITY), f16(0)).bits, 0x7E00u);
}

TEST(Nan, PoisonsSumAndProdAndHidesInMinAndMax) {
  for (const DType dtype : {DType::Float64, DType::Float32, DType::Float16, DType::BFloat16}) {
    const Scalar nan = make_scalar(dtype, std::nan("")), five = make_scalar(dtype, 5);
    for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Avg, ReduceOp::SumThenDivide, ReduceOp::Prod}) {
      EXPECT_EQ(reduce(op, nan, five), nan);
      EXPECT_EQ(reduce(op, five, nan), nan);
    }
    for (const ReduceOp op : {ReduceOp::Min, ReduceOp::Max}) {
      EXPECT_EQ(reduce(op, nan, five), five);
      EXPECT_EQ(reduce(op, five, nan), five);
      EXPECT_EQ(reduce(op, nan, nan), nan);
      for (const double edge : {-INFINITY, +INFINITY}) {
        EXPECT_EQ(reduce(op, nan, make_scalar(dtype, edge)), make_scalar(dtype, edge));
      }
    }
  }
  // Any payload and sign, in a register or not, gives the one NaN.
  const Scalar odd{DType::Float32, 0xFF812345u};
  for (const ReduceOp op : kAllOps) EXPECT_EQ(reduce(op, odd, odd).bits, 0x7FC00000u);
  EXPECT_EQ(reduce(ReduceOp::Max, odd, f32(-1)), f32(-1));
}

TEST(MinMax, MinusZeroIsBelowPlusZero) {
  for (const DType dtype : {DType::Float64, DType::Float32, DType::Float16, DType::BFloat16}) {
    const Scalar minus = make_scalar(dtype, -0.0), plus = make_scalar(dtype, 0.0);
    for (const auto& [a, b] : {std::pair{minus, plus}, std::pair{plus, minus}}) {
      EXPECT_EQ(reduce(ReduceOp::Min, a, b), minus);
      EXPECT_EQ(reduce(ReduceOp::Max, a, b), plus);
    }
  }
}

RC_GTEST_PROP(MinMax, AgreeWithDoubles, (std::uint32_t a_raw, std::uint32_t b_raw)) {
  for (const DType dtype : {DType::Float32, DType::Float16, DType::BFloat16}) {
    const std::uint64_t mask = size_of(dtype) == 2 ? 0xFFFF : 0xFFFFFFFF;
    const Scalar a = canonical({dtype, a_raw & mask}), b = canonical({dtype, b_raw & mask});
    if (to_double(a) == to_double(b)) continue;  // zeros of both signs have their own test
    RC_ASSERT(reduce(ReduceOp::Min, a, b) == make_scalar(dtype, std::fmin(to_double(a), to_double(b))));
    RC_ASSERT(reduce(ReduceOp::Max, a, b) == make_scalar(dtype, std::fmax(to_double(a), to_double(b))));
  }
}

TEST(Integers, Wrap) {
  const Scalar most{DType::Int32, 0x7FFFFFFF}, one = make_scalar(DType::Int32, 1);
  EXPECT_EQ(to_int64(reduce(ReduceOp::Sum, most, one)), -2147483648LL);
  EXPECT_EQ(to_int64(reduce(ReduceOp::Prod, most, most)), 1);
  const Scalar most64{DType::Int64, 0x7FFFFFFFFFFFFFFF}, two = make_scalar(DType::Int64, 2);
  EXPECT_EQ(to_int64(reduce(ReduceOp::Prod, most64, two)), -2);
  EXPECT_EQ(to_int64(reduce(ReduceOp::Min, make_scalar(DType::Int64, -3), two)), -3);
  EXPECT_EQ(to_int64(reduce(ReduceOp::Max, make_scalar(DType::Int32, -3), one)), 1);
}

TEST(Avg, MultipliesInputsAndDividesIntegersAfter) {
  EXPECT_TRUE(has_prepare(DType::Float16, ReduceOp::Avg) && !has_finish(DType::Float16, ReduceOp::Avg));
  EXPECT_TRUE(!has_prepare(DType::Int32, ReduceOp::Avg) && has_finish(DType::Int32, ReduceOp::Avg));
  EXPECT_TRUE(has_finish(DType::Float32, ReduceOp::SumThenDivide) &&
              has_finish(DType::Int64, ReduceOp::SumThenDivide));
  EXPECT_EQ(to_double(prepare(ReduceOp::Avg, 4, f32(6))), 1.5);
  EXPECT_EQ(to_double(prepare(ReduceOp::Sum, 4, f32(6))), 6);
  // A third in float16 is 0x3555; in float32 the product rounds to float32.
  EXPECT_EQ(prepare(ReduceOp::Avg, 3, f16(1)).bits, 0x3555u);
  EXPECT_EQ(prepare(ReduceOp::Avg, 3, f32(1)), f32(1.0f / 3.0f));
  EXPECT_EQ(prepare(ReduceOp::Avg, 3, f32(5)), f32(5.0f * (1.0f / 3.0f)));
  EXPECT_EQ(to_int64(finish(ReduceOp::Avg, 4, make_scalar(DType::Int32, -7))), -1) << "toward zero";
  EXPECT_EQ(to_int64(finish(ReduceOp::SumThenDivide, 4, make_scalar(DType::Int64, 7))), 1);
  EXPECT_EQ(to_double(finish(ReduceOp::SumThenDivide, 4, f32(20))), 5);
  EXPECT_EQ(finish(ReduceOp::SumThenDivide, 3, {DType::Float32, 0xFFFFFFFFu}).bits, 0x7FC00000u);
}

// The loops over many elements give the bits of the loop over one, in all three forms and at every length and
// alignment.
RC_GTEST_PROP(Loops, GiveTheBitsOfScalars, (std::vector<std::uint64_t> raw)) {
  for (const DType dtype : kAllDTypes) {
    const std::int64_t size = size_of(dtype);
    const auto count = static_cast<std::int64_t>(raw.size());
    if (count == 0) continue;
    Tensor a(dtype, Shape{{count}}), b(dtype, Shape{{count}});
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint64_t x = raw[static_cast<std::size_t>(i)], y = mix64(x);
      std::memcpy(a.data.data() + i * size, &x, static_cast<std::size_t>(size));
      std::memcpy(b.data.data() + i * size, &y, static_cast<std::size_t>(size));
    }
    for (const ReduceOp op : kAllOps) {
      Tensor into = b, to(dtype, Shape{{count}}), prepared = a, finished = a;
      reduce_into(dtype, op, a.data, into.data);
      reduce_to(dtype, op, a.data, b.data, to.data);
      RC_ASSERT(into.data == to.data);
      prepare(dtype, op, 7, prepared.data);
      finish(dtype, op, 7, finished.data);
      for (std::int64_t i = 0; i < count; ++i) {
        RC_ASSERT(to.at(i) == reduce(op, a.at(i), b.at(i)));
        RC_ASSERT(to.at(i) == reduce(op, b.at(i), a.at(i)));  // every op commutes
        RC_ASSERT(prepared.at(i) == prepare(op, 7, a.at(i)));
        RC_ASSERT(finished.at(i) == finish(op, 7, a.at(i)));
      }
    }
  }
}

}  // namespace
}  // namespace ringside::sim
