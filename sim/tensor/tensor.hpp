// A dense row-major tensor of real numbers, and the summary of it that events carry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/tensor/dtype.hpp"
#include "sim/tensor/shape.hpp"

namespace ringside::sim {

struct Tensor {
  DType dtype = DType::Float32;
  Shape shape;
  std::vector<std::byte> data;  // count × size_of(dtype) bytes, native (little) endian

  Tensor() = default;
  Tensor(DType type, Shape extents);  // zeros
  std::int64_t count() const { return shape.count(); }
  std::int64_t bytes() const { return static_cast<std::int64_t>(data.size()); }
  Scalar at(std::int64_t flat) const;
  void set(std::int64_t flat, Scalar value);  // dtype must match
  template <class T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(data.data()), data.size() / sizeof(T)};
  }
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T)};
  }
};

/// What an event says of some numbers: all of them up to 64, else the first four and last four; always min
/// and max (of the numbers that are not NaN), the count of NaN and infinities, and the digest.
struct Sample {
  static constexpr std::int64_t kAllUpTo = 64;
  DType dtype = DType::Float32;
  std::int64_t count = 0;
  std::vector<Scalar> values;  // count of them if count <= 64, else 8: first four, last four
  Scalar min, max;             // NaN (or 0 for integers) if there is no number
  std::int64_t nan_count = 0, inf_count = 0;
  std::uint64_t digest = 0;

  bool complete() const { return static_cast<std::int64_t>(values.size()) == count; }
  bool operator==(const Sample&) const = default;
};

/// digest = Σ mix64(bits_i ⊕ (i+1)·0x9E3779B97F4A7C15) mod 2^64 over the canonical bits; i counts from
/// `first`, so that the digests of the parts of a tensor add up to the digest of the whole. Order-free: GPU
/// and CPU agree.
std::uint64_t digest_of(DType dtype, std::span<const std::byte> data, std::int64_t first = 0);
Sample sample_of(DType dtype, std::span<const std::byte> data);
inline Sample sample_of(const Tensor& tensor) {
  return sample_of(tensor.dtype, tensor.data);
}

}  // namespace ringside::sim
