#include "sim/tensor/shape.hpp"

#include <algorithm>

#include "sim/base/text.hpp"

namespace ringside::sim {

std::int64_t Shape::count() const {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents) product *= extent;
  return product;
}

std::vector<std::int64_t> Shape::strides() const {
  std::vector<std::int64_t> out(extents.size(), 1);
  for (std::size_t d = extents.size(); d-- > 1;) out[d - 1] = out[d] * extents[d];
  return out;
}

std::vector<std::int64_t> Shape::index_of(std::int64_t flat) const {
  RINGSIDE_CHECK_LE(0, flat);
  RINGSIDE_CHECK_LT(flat, count());
  std::vector<std::int64_t> index(extents.size(), 0);
  for (std::size_t d = extents.size(); d-- > 0;) {
    index[d] = flat % extents[d];
    flat /= extents[d];
  }
  return index;
}

std::int64_t Shape::flat_of(const std::vector<std::int64_t>& index) const {
  RINGSIDE_CHECK_EQ(index.size(), extents.size());
  std::int64_t flat = 0;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    RINGSIDE_CHECK_LE(0, index[d]);
    RINGSIDE_CHECK_LT(index[d], extents[d]);
    flat = flat * extents[d] + index[d];
  }
  return flat;
}

std::string Shape::text() const {
  std::string out = "(";
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (d > 0) out += ", ";
    append_int(out, extents[d]);
  }
  if (extents.size() == 1) out += ",";
  return out + ")";
}

Result<Shape> checked_shape(std::vector<std::int64_t> extents) {
  constexpr std::size_t kMaxRank = 16;
  constexpr std::int64_t kMaxCount = (std::int64_t{1} << 62) / 8;
  Shape shape{std::move(extents)};
  const auto refuse = [&](std::string what, std::string legal) {
    // A hostile file may name thousands of extents: show the first few.
    Shape shown = shape;
    shown.extents.resize(std::min<std::size_t>(shown.extents.size(), kMaxRank));
    return Error{.what = std::move(what), .text = shown.text(), .legal = std::move(legal)};
  };
  if (shape.extents.size() > kMaxRank)
    return refuse("a shape with too many dimensions", "at most 16 dimensions");
  std::int64_t product = 1;
  for (const std::int64_t extent : shape.extents) {
    if (extent < 1) return refuse("a shape with an extent below 1", "extents of 1 or more");
    if (product > kMaxCount / extent)
      return refuse("a shape with too many elements", "at most 2^59 elements");
    product *= extent;
  }
  return shape;
}

}  // namespace ringside::sim
