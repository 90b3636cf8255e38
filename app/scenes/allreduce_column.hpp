// Inside of the AllReduce inspector: the column that its parts are written into, from top to bottom.
#pragma once

#include <string_view>

#include "app/scenes/allreduce_inspector.hpp"

namespace ringside::app::inspector {

inline constexpr float kPad = 16, kRow = 24;

struct Column {
  View& view;
  Canvas& c;
  const Theme& t;
  const RingView& ring;
  const TransferTable& table;
  InspectorState& state;
  float x, w, y, bottom;
};

/// A title line, with a quieter text at its right if there is room.
void heading(Column& k, std::string_view text, std::string_view right = {});
/// The transfers of this ring step and of those before, newest first, with their sums.
void draw_log(Column& k);
/// The number that the person follows, on every rank.
void draw_followed(Column& k);
/// One number a GPU: where that number has been, and where it goes.
void draw_way(Column& k);

}  // namespace ringside::app::inspector
