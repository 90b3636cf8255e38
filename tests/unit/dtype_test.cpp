// Element types: words, conversions with one rounding, canonical NaN, text; shapes and tensors; digests and
// samples.
#include "sim/tensor/dtype.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "sim/base/random.hpp"
#include "sim/tensor/tensor.hpp"

namespace ringside::sim {
namespace {

std::string text_of(Scalar value) {
  std::string out;
  append_scalar(out, value);
  return out;
}
std::string json_of(Scalar value) {
  std::string out;
  append_scalar_json(out, value);
  return out;
}

TEST(DTypeWords, RoundTripAndSize) {
  const std::int64_t sizes[] = {8, 4, 2, 2, 4, 8};
  for (std::size_t i = 0; i < kAllDTypes.size(); ++i) {
    EXPECT_EQ(dtype_from(to_word(kAllDTypes[i])), kAllDTypes[i]);
    EXPECT_EQ(size_of(kAllDTypes[i]), sizes[i]);
    EXPECT_EQ(is_floating(kAllDTypes[i]), i < 4);
  }
  for (const ReduceOp op : kAllOps) EXPECT_EQ(op_from(to_word(op)), op);
  EXPECT_EQ(to_word(DType::BFloat16), "bfloat16");
  EXPECT_EQ(to_word(ReduceOp::SumThenDivide), "sum_then_divide");
  EXPECT_FALSE(dtype_from("fp16"));
  EXPECT_FALSE(op_from("mean"));
}

TEST(MakeScalar, EveryHalfAndBFloat16ComesBack) {
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    for (std::uint64_t bits = 0; bits < 65536; ++bits) {
      const Scalar value{dtype, bits};
      if (is_nan(value)) {
        EXPECT_EQ(canonical(value).bits, dtype == DType::Float16 ? 0x7E00u : 0x7FC0u);
      } else {
        ASSERT_EQ(make_scalar(dtype, to_double(value)), value) << bits;
        EXPECT_EQ(canonical(value), value);
      }
    }
  }
}

// Between two neighbours: the exact middle goes to the even one, anything beside it to the nearer one,
// however near the middle. A conversion by way of float would round twice and fail here.
TEST(MakeScalar, RoundsOnceToNearestEven) {
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    const std::uint64_t infinity = dtype == DType::Float16 ? 0x7C00 : 0x7F80;
    for (std::uint64_t bits = 0; bits + 1 < infinity; ++bits) {
      const double low = to_double({dtype, bits}), high = to_double({dtype, bits + 1});
      const double middle = low + (high - low) / 2;
      ASSERT_EQ(make_scalar(dtype, middle).bits, bits + (bits & 1)) << bits;
      ASSERT_EQ(make_scalar(dtype, std::nextafter(middle, low)).bits, bits);
      ASSERT_EQ(make_scalar(dtype, std::nextafter(middle, high)).bits, bits + 1);
      const std::uint64_t sign = 0x8000;
      ASSERT_EQ(make_scalar(dtype, -std::nextafter(middle, low)).bits, bits | sign);
      ASSERT_EQ(make_scalar(dtype, -std::nextafter(middle, high)).bits, (bits + 1) | sign);
    }
  }
  EXPECT_EQ(make_scalar(DType::Float16, 65519.999).bits, 0x7BFFu);
  EXPECT_EQ(make_scalar(DType::Float16, 65520).bits, 0x7C00u);
  EXPECT_EQ(make_scalar(DType::Float16, -1e300).bits, 0xFC00u);
  EXPECT_EQ(make_scalar(DType::BFloat16, 3.4e38).bits, 0x7F80u);
  EXPECT_EQ(make_scalar(DType::BFloat16, 1e-300).bits, 0u);
  EXPECT_EQ(make_scalar(DType::Float16, -1e-300).bits, 0x8000u);
  EXPECT_EQ(make_scalar(DType::Float32, 1e300).bits, 0x7F800000u);
}

TEST(MakeScalar, IntegersTowardZeroAndSaturated) {
  EXPECT_EQ(to_int64(make_scalar(DType::Int32, 2.9)), 2);
  EXPECT_EQ(to_int64(make_scalar(DType::Int32, -2.9)), -2);
  EXPECT_EQ(make_scalar(DType::Int32, -1).bits, 0xFFFFFFFFu) << "only the low bytes are set";
  EXPECT_EQ(to_int64(make_scalar(DType::Int32, 1e12)), 2147483647);
  EXPECT_EQ(to_int64(make_scalar(DType::Int32, -1e12)), -2147483648LL);
  EXPECT_EQ(to_int64(make_scalar(DType::Int64, 1e300)), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(to_int64(make_scalar(DType::Int64, 9223372036854775808.0)),
            std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(to_int64(make_scalar(DType::Int64, -1e300)), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(to_int64(make_scalar(DType::Int64, std::nan(""))), 0);
  EXPECT_EQ(to_int64(make_scalar(DType::Float64, 7.9)), 7);
}

TEST(MakeScalar, NanIsCanonicalWhateverItWas) {
  const double negative = -std::numeric_limits<double>::quiet_NaN();
  const std::uint64_t want[] = {0x7FF8000000000000u, 0x7FC00000u, 0x7E00u, 0x7FC0u};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(make_scalar(kAllDTypes[i], negative).bits, want[i]);
    EXPECT_TRUE(is_nan(make_scalar(kAllDTypes[i], negative)));
  }
  EXPECT_EQ(canonical({DType::Float32, 0xFFA00001u}).bits, 0x7FC00000u);
  EXPECT_EQ(canonical({DType::Int32, 0x7FC00001u}).bits, 0x7FC00001u);
}

TEST(ScalarText, ShortestInItsOwnType) {
  EXPECT_EQ(text_of(make_scalar(DType::Float32, 0.1)), "0.1");
  EXPECT_EQ(text_of(make_scalar(DType::Float16, 0.1)), "0.099975586");
  EXPECT_EQ(text_of(make_scalar(DType::BFloat16, 0.1)), "0.100097656");
  EXPECT_EQ(text_of(make_scalar(DType::Float64, 1.0 / 3)), "0.3333333333333333");
  EXPECT_EQ(text_of(make_scalar(DType::Int64, -5)), "-5");
  EXPECT_EQ(text_of(make_scalar(DType::Float32, -0.0)), "-0");
  EXPECT_EQ(json_of(make_scalar(DType::Float16, 1e9)), "\"Infinity\"");
  EXPECT_EQ(json_of(make_scalar(DType::Float16, -1e9)), "\"-Infinity\"");
  EXPECT_EQ(json_of(make_scalar(DType::Float32, std::nan(""))), "\"NaN\"");
  EXPECT_EQ(json_of(make_scalar(DType::Float32, 5)), "5");
}

TEST(Shapes, CountStridesIndexText) {
  const Shape shape{{3, 5, 7}};
  EXPECT_EQ(shape.count(), 105);
  EXPECT_EQ(shape.strides(), (std::vector<std::int64_t>{35, 7, 1}));
  EXPECT_EQ(shape.index_of(104), (std::vector<std::int64_t>{2, 4, 6}));
  for (std::int64_t i = 0; i < 105; ++i) EXPECT_EQ(shape.flat_of(shape.index_of(i)), i);
  EXPECT_EQ(shape.text(), "(3, 5, 7)");
  EXPECT_EQ(Shape{{4}}.text(), "(4,)");
  EXPECT_EQ(Shape{}.text(), "()");
  EXPECT_EQ(Shape{}.count(), 1);
}

TEST(Shapes, RefusesWhatCannotBe) {
  EXPECT_TRUE(checked_shape({}));
  EXPECT_TRUE(checked_shape({std::int64_t{1} << 59}));
  EXPECT_FALSE(checked_shape({(std::int64_t{1} << 59) + 1}));
  EXPECT_FALSE(checked_shape({0}));
  EXPECT_FALSE(checked_shape({3, -1}));
  EXPECT_FALSE(checked_shape({std::int64_t{1} << 40, std::int64_t{1} << 40}));
  EXPECT_FALSE(checked_shape(std::vector<std::int64_t>(17, 1)));
  EXPECT_LT(checked_shape(std::vector<std::int64_t>(100000, 1)).error().message().size(), 300u);
}

Tensor index_tensor(DType dtype, std::int64_t count) {
  Tensor out(dtype, Shape{{count}});
  for (std::int64_t i = 0; i < count; ++i) out.set(i, make_scalar(dtype, static_cast<double>(i)));
  return out;
}

TEST(Digest, IsTheDefinition) {
  for (const DType dtype : kAllDTypes) {
    const Tensor tensor = index_tensor(dtype, 100);
    std::uint64_t want = 0;
    for (std::uint64_t i = 0; i < 100; ++i) {
      want += mix64(tensor.at(static_cast<std::int64_t>(i)).bits ^ ((i + 1) * 0x9E3779B97F4A7C15ULL));
    }
    EXPECT_EQ(digest_of(dtype, tensor.data), want);
    const auto cut = static_cast<std::size_t>(37 * size_of(dtype));
    const std::span<const std::byte> all(tensor.data);
    EXPECT_EQ(digest_of(dtype, all.first(cut)) + digest_of(dtype, all.subspan(cut), 37), want)
        << "parts add up";
  }
}

TEST(Digest, SeesOneNan) {
  Tensor a(DType::Float32, Shape{{3}}), b = a;
  const std::uint32_t raw_a = 0xFFC12345u, raw_b = 0x7F800001u;
  std::memcpy(a.data.data() + 4, &raw_a, 4);
  std::memcpy(b.data.data() + 4, &raw_b, 4);
  EXPECT_EQ(digest_of(a.dtype, a.data), digest_of(b.dtype, b.data));
  EXPECT_EQ(a.at(1), b.at(1));
  EXPECT_EQ(sample_of(a), sample_of(b));
}

TEST(Samples, AllUpTo64ElseBothEnds) {
  const Sample small = sample_of(index_tensor(DType::Int32, 64));
  EXPECT_TRUE(small.complete());
  EXPECT_EQ(to_int64(small.values.back()), 63);
  const Sample big = sample_of(index_tensor(DType::BFloat16, 65));
  ASSERT_EQ(big.values.size(), 8u);
  EXPECT_FALSE(big.complete());
  EXPECT_EQ(to_double(big.values[3]), 3);
  EXPECT_EQ(to_double(big.values[4]), 61);
  EXPECT_EQ(to_double(big.min), 0);
  EXPECT_EQ(to_double(big.max), 64);
}

TEST(Samples, MinMaxSkipNanAndCountThem) {
  for (const DType dtype : {DType::Float64, DType::Float32, DType::Float16, DType::BFloat16}) {
    Tensor tensor(dtype, Shape{{6}});
    const double values[] = {std::nan(""), -0.0, 3, -INFINITY, 2, std::nan("")};
    for (int i = 0; i < 6; ++i) tensor.set(i, make_scalar(dtype, values[i]));
    const Sample sample = sample_of(tensor);
    EXPECT_EQ(to_double(sample.min), -INFINITY);
    EXPECT_EQ(to_double(sample.max), 3);
    EXPECT_EQ(sample.nan_count, 2);
    EXPECT_EQ(sample.inf_count, 1);
    Tensor nothing(dtype, Shape{{2}});
    for (int i = 0; i < 2; ++i) nothing.set(i, make_scalar(dtype, std::nan("")));
    EXPECT_TRUE(is_nan(sample_of(nothing).min) && is_nan(sample_of(nothing).max));
    EXPECT_TRUE(is_nan(sample_of(dtype, {}).min) && is_nan(sample_of(dtype, {}).max));
  }
  EXPECT_EQ(sample_of(DType::Int64, {}).min.bits, 0u);
  Tensor ints(DType::Int64, Shape{{2}});
  ints.set(0, {DType::Int64, 0x8000000000000000u});
  EXPECT_EQ(to_int64(sample_of(ints).min), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(to_int64(sample_of(ints).max), 0);
}

}  // namespace
}  // namespace ringside::sim
