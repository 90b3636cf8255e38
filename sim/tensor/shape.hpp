// Shape of a tensor: its extents, outermost first. An empty list of extents is a scalar (one element).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/result.hpp"

namespace ringside::sim {

struct Shape {
  std::vector<std::int64_t> extents;

  bool operator==(const Shape&) const = default;
  std::int64_t rank() const { return static_cast<std::int64_t>(extents.size()); }
  /// Product of the extents; 1 for a scalar. Legal shapes never overflow (checked_shape).
  std::int64_t count() const;
  /// Row-major strides in elements: the last is 1.
  std::vector<std::int64_t> strides() const;
  /// Multi-dimensional index of a flat (row-major) position.
  std::vector<std::int64_t> index_of(std::int64_t flat) const;
  std::int64_t flat_of(const std::vector<std::int64_t>& index) const;
  /// "(4096, 4096)", "(4,)", "()": as Python prints a tuple.
  std::string text() const;
};

/// Error if an extent is < 1, if there are more than 16, or if count × 8 bytes overflows 2^62.
Result<Shape> checked_shape(std::vector<std::int64_t> extents);

}  // namespace ringside::sim
