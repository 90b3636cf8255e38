// The bodies of the CUDA kernels, run on the CPU, give the bits of sim/: every dtype, op and length, NaN,
// infinities, zeros of both signs, subnormals, ties.
#include "kernels/kernels.hpp"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/tensor/reduce.hpp"
#include "sim/tensor/tensor.hpp"

namespace ringside {
namespace {

using kernels::Op;

std::uint64_t random_bits(std::uint64_t i, std::uint64_t stream) {
  return sim::draw_u64({.seed = 11, .rank = stream, .step = 0, .purpose = sim::Purpose::TensorValues}, i);
}
kernels::DType of(sim::DType dtype) {
  return static_cast<kernels::DType>(dtype);
}
sim::ReduceOp of(Op op) {
  constexpr std::array kOps{sim::ReduceOp::Sum, sim::ReduceOp::Prod, sim::ReduceOp::Min, sim::ReduceOp::Max};
  return kOps[static_cast<std::size_t>(op)];
}

/// Values that arithmetic gets wrong first, then random bit patterns (so NaN of any payload and sign, too).
std::vector<std::byte> awkward(sim::DType dtype, std::int64_t count, std::uint64_t stream) {
  constexpr std::array<double, 14> kEdges{0.0,     -0.0,    1.0,     -1.0,     0x1p-24,    0x1p-25, 0x1.8p-24,
                                          65504.0, 65519.0, 65520.0, 0x1p-133, 0x1.8p-134, 3.4e38,  -1e308};
  const auto size = static_cast<std::size_t>(sim::size_of(dtype));
  std::vector<std::byte> out(static_cast<std::size_t>(count) * size);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    std::uint64_t bits = random_bits(i, stream);
    if (bits % 3 == 0)
      bits = sim::make_scalar(dtype, kEdges[(bits >> 8) % kEdges.size()]).bits;
    else if (bits % 17 == 0)
      bits = sim::make_scalar(dtype, std::numeric_limits<double>::infinity()).bits;
    else if (bits % 19 == 0)
      bits = sim::make_scalar(dtype, std::numeric_limits<double>::quiet_NaN()).bits;
    std::memcpy(out.data() + i * size, &bits, size);
  }
  return out;
}

constexpr std::array<std::int64_t, 6> kCounts{0, 1, 7, 64, 1000, 4099};

class KernelMatrix : public testing::TestWithParam<std::tuple<sim::DType, std::int64_t>> {};

TEST_P(KernelMatrix, ReduceGivesTheBitsOfSim) {
  const auto [dtype, count] = GetParam();
  for (const Op op : {Op::Sum, Op::Prod, Op::Min, Op::Max}) {
    const auto arrived = awkward(dtype, count, 1);
    auto own = awkward(dtype, count, 2), expected = own;
    kernels::host::reduce(of(dtype), op, arrived.data(), own.data(), count);
    sim::reduce_into(dtype, of(op), arrived, expected);
    EXPECT_TRUE(own == expected) << "op " << static_cast<int>(op);
  }
}

TEST_P(KernelMatrix, ScaleAndDivideGiveTheBitsOfSim) {
  const auto [dtype, count] = GetParam();
  for (const int world : {1, 2, 3, 7, 8, 1000}) {
    auto scaled = awkward(dtype, count, 3), divided = scaled, scaled_sim = scaled, divided_sim = scaled;
    kernels::host::scale(of(dtype), scaled.data(), count, world);
    sim::prepare(dtype, sim::ReduceOp::Avg, world, scaled_sim);
    EXPECT_TRUE(scaled == scaled_sim) << "world " << world;
    kernels::host::divide(of(dtype), divided.data(), count, world);
    sim::finish(dtype, sim::ReduceOp::SumThenDivide, world, divided_sim);
    EXPECT_TRUE(divided == divided_sim) << "world " << world;
  }
}

TEST_P(KernelMatrix, SummaryIsTheSampleOfSimHoweverItIsDealt) {
  const auto [dtype, count] = GetParam();
  const auto data = awkward(dtype, count, 4);
  const sim::Sample expected = sim::sample_of(dtype, data);
  for (const int threads : {1, 2, 33, 256, 5000}) {
    const kernels::Summary s = kernels::host::summary(of(dtype), data.data(), count, 0, threads);
    EXPECT_EQ(s.digest, expected.digest);
    EXPECT_EQ(static_cast<std::int64_t>(s.nan_count), expected.nan_count);
    EXPECT_EQ(static_cast<std::int64_t>(s.inf_count), expected.inf_count);
    if (count == 0) continue;  // a sample of nothing says 0 for integers by itself
    EXPECT_EQ(kernels::bits_of_key(of(dtype), s.low), expected.min.bits);
    EXPECT_EQ(kernels::bits_of_key(of(dtype), s.high), expected.max.bits);
  }
}

TEST_P(KernelMatrix, DigestsOfThePartsAddUp) {
  const auto [dtype, count] = GetParam();
  const auto data = awkward(dtype, count, 5);
  const std::int64_t cut = count / 3;
  const auto* second = data.data() + cut * sim::size_of(dtype);
  const auto a = kernels::host::summary(of(dtype), data.data(), cut, 0);
  const auto b = kernels::host::summary(of(dtype), second, count - cut, static_cast<std::uint64_t>(cut));
  EXPECT_EQ(a.digest + b.digest, sim::digest_of(dtype, data));
}

TEST_P(KernelMatrix, FillWritesEveryElementAndNoMore) {
  const auto [dtype, count] = GetParam();
  const auto size = static_cast<std::size_t>(sim::size_of(dtype));
  std::vector<std::byte> data((static_cast<std::size_t>(count) + 1) * size, std::byte{0x5A});
  const sim::Scalar value = sim::make_scalar(dtype, 3);
  kernels::host::fill(of(dtype), data.data(), count, value.bits);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
    ASSERT_EQ(std::memcmp(data.data() + i * size, &value.bits, size), 0) << i;
  EXPECT_EQ(data.back(), std::byte{0x5A});
}

INSTANTIATE_TEST_SUITE_P(AllDTypes, KernelMatrix,
                         testing::Combine(testing::ValuesIn(sim::kAllDTypes), testing::ValuesIn(kCounts)));

TEST(KernelConversion, EveryFloat16AndBFloat16ComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto word = static_cast<std::uint16_t>(bits);
    ASSERT_EQ(kernels::element::F16::encode(kernels::element::F16::decode(word)),
              kernels::element::F16::canonical(word));
    ASSERT_EQ(kernels::element::BF16::encode(kernels::element::BF16::decode(word)),
              kernels::element::BF16::canonical(word));
  }
}

/// Rounding from float: all ties and their neighbours, and a walk through all exponents.
TEST(KernelConversion, RoundsAsSimDoes) {
  for (std::uint64_t i = 0; i < 2'000'000; ++i) {
    std::uint32_t bits = static_cast<std::uint32_t>(random_bits(i, 9));
    if (i % 2 == 0) bits = (bits & 0xFFFF'E000u) + 0x1000u + static_cast<std::uint32_t>(i % 6) / 2 - 1;
    const float value = kernels::element::float_of(bits);
    if (value != value) continue;
    ASSERT_EQ(kernels::element::F16::encode(value), sim::make_scalar(sim::DType::Float16, value).bits)
        << value;
    ASSERT_EQ(kernels::element::BF16::encode(value), sim::make_scalar(sim::DType::BFloat16, value).bits)
        << value;
  }
}

}  // namespace
}  // namespace ringside
