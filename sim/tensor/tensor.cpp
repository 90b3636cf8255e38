#include "sim/tensor/tensor.hpp"

#include <algorithm>
#include <limits>

#include "sim/base/check.hpp"
#include "sim/base/random.hpp"
#include "sim/tensor/element.hpp"

namespace ringside::sim {
namespace {

using element::with_element;

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ULL;

template <class E>
std::uint64_t digest_loop(const std::byte* data, std::size_t count, std::uint64_t first) {
  std::uint64_t sum = 0;
  std::uint64_t position = (first + 1) * kGolden;
  for (std::size_t i = 0; i < count; ++i, position += kGolden) {
    sum += mix64(E::canonical(element::load<typename E::Word>(data, i)) ^ position);
  }
  return sum;
}

struct Range {
  std::uint64_t min = 0, max = 0;  // bits
  std::int64_t nan_count = 0, inf_count = 0;
};

/// Minimum and maximum by the order of the bits, with NaN pushed to the far end of each so that it never
/// wins.
template <class E>
Range range_loop(const std::byte* data, std::size_t count) {
  using S = typename E::Signed;
  S low = std::numeric_limits<S>::max(), high = std::numeric_limits<S>::min();
  std::int64_t nans = 0, infs = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto word = element::load<typename E::Word>(data, i);
    const S key = E::order(static_cast<S>(word));
    const bool nan = E::is_nan(word);
    low = std::min(low, nan ? std::numeric_limits<S>::max() : key);
    high = std::max(high, nan ? std::numeric_limits<S>::min() : key);
    nans += nan;
    infs += E::is_inf(word);
  }
  using W = typename E::Word;
  return {E::canonical(static_cast<W>(E::order(low))), E::canonical(static_cast<W>(E::order(high))), nans,
          infs};
}

}  // namespace

Tensor::Tensor(DType type, Shape extents) : dtype(type), shape(std::move(extents)) {
  data.resize(static_cast<std::size_t>(shape.count() * size_of(dtype)));
}

Scalar Tensor::at(std::int64_t flat) const {
  RINGSIDE_CHECK_LE(0, flat);
  RINGSIDE_CHECK_LT(flat, count());
  return {dtype, with_element(dtype, [&](auto e) -> std::uint64_t {
            using E = decltype(e);
            return E::canonical(element::load<typename E::Word>(data.data(), static_cast<std::size_t>(flat)));
          })};
}

void Tensor::set(std::int64_t flat, Scalar value) {
  RINGSIDE_CHECK_LE(0, flat);
  RINGSIDE_CHECK_LT(flat, count());
  RINGSIDE_CHECK(value.dtype == dtype);
  with_element(dtype, [&](auto e) {
    using E = decltype(e);
    const auto word = static_cast<typename E::Word>(value.bits);
    element::store(data.data(), static_cast<std::size_t>(flat), E::canonical(word));
  });
}

std::uint64_t digest_of(DType dtype, std::span<const std::byte> data, std::int64_t first) {
  return with_element(dtype, [&](auto e) {
    using E = decltype(e);
    return digest_loop<E>(data.data(), data.size() / sizeof(typename E::Word),
                          static_cast<std::uint64_t>(first));
  });
}

Sample sample_of(DType dtype, std::span<const std::byte> data) {
  Sample sample;
  sample.dtype = dtype;
  sample.count = static_cast<std::int64_t>(data.size()) / size_of(dtype);
  const auto value = [&](std::int64_t i) {
    return Scalar{
        dtype, with_element(dtype, [&](auto e) -> std::uint64_t {
          using E = decltype(e);
          return E::canonical(element::load<typename E::Word>(data.data(), static_cast<std::size_t>(i)));
        })};
  };
  const bool all = sample.count <= Sample::kAllUpTo;
  const std::int64_t head = all ? sample.count : 4;
  for (std::int64_t i = 0; i < head; ++i) sample.values.push_back(value(i));
  for (std::int64_t i = sample.count - 4; !all && i < sample.count; ++i) sample.values.push_back(value(i));

  Range range;  // an empty transfer: 0 for integers, NaN for floating types
  with_element(dtype, [&](auto e) {
    using E = decltype(e);
    if (sample.count > 0 || E::kFloating)
      range = range_loop<E>(data.data(), static_cast<std::size_t>(sample.count));
  });
  sample.min = {dtype, range.min};
  sample.max = {dtype, range.max};
  sample.nan_count = range.nan_count;
  sample.inf_count = range.inf_count;
  sample.digest = digest_of(dtype, data);
  return sample;
}

}  // namespace ringside::sim
