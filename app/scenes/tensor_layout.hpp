// Where every number of the tensor is drawn: as a box that grows a direction at a time, or as the one row
// that it is in memory. No ImGui.
#pragma once

#include <vector>

#include "app/draw/geometry.hpp"
#include "app/scenes/tensor_model.hpp"

namespace ringside::app {

/// How the numbers stand.
enum class TensorView : std::uint8_t {
  Box,  // columns, rows, sheets that lie behind each other, stacks side by side, then below each other …
  Pictures,  // the same, with the sheets side by side: nothing covers a picture
  Flat,      // in memory order
};

struct TensorCell {
  Index index;
  std::int64_t flat = 0;
  Rect box;
  std::size_t sheet = 0;  // into sheets
};
/// A matrix of the tensor: what its last two directions span.
struct TensorSheet {
  Rect box;
  std::int64_t depth = 0;  // place in its stack, 0 = front
  std::size_t stack = 0;
};
/// A dimension line: how many in this direction. The handle stands at `b`.
struct DimensionLine {
  int axis = 0;
  Vec2 a, b;
  Vec2 label;
  enum class Side : std::uint8_t { Below, Right, Diagonal } side = Side::Below;
  float pitch = 0;  // how far along (b - a) one more is
};
struct TensorLayout {
  std::vector<TensorCell> cells;  // back to front
  std::vector<TensorSheet> sheets;
  std::vector<DimensionLine> lines;  // none when flat
  std::vector<Vec2> gaps;            // where numbers are left out
  float pitch = 0;                   // of a cell
  std::int64_t shown = 0;            // cells, of count
  Rect bounds;
  Vec2 anchor;  // top left of the first front sheet: what stays while an edge is dragged
};

/// The places of one direction that are shown: all, or the first, some around the selection and the last,
/// with -1 where some are left out.
std::vector<std::int64_t> shown_places(std::int64_t extent, int most, std::int64_t selected);

/// Lays the tensor out inside `box`, evenly scaled, with room for the dimension lines. `most_pitch` bounds
/// the size of a cell; `held` keeps the size and the anchor of another layout (while an edge is dragged).
TensorLayout lay_out(const TensorModel& model, TensorView view, Rect box, float most_pitch = 76,
                     const TensorLayout* held = nullptr);

}  // namespace ringside::app
