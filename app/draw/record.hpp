// A record of every text and shape that a frame draws, and the checks on it: text cut off, overlapping,
// outside the window, hidden or crossed by a shape, without a glyph. Tests fail on any finding.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/draw/geometry.hpp"

namespace ringside::app {

struct DrawnText {
  Rect box;  // of the capitals and descenders, in logical pixels of the window
  Rect clip;
  std::string text;
  int order = 0;
  int layer = 0;
};

struct DrawnShape {
  Rect box;
  bool filled = false, outlined = false;
  int order = 0;
  int layer = 0;
};

struct DrawRecord {
  std::vector<DrawnText> texts;
  std::vector<DrawnShape> shapes;
  std::vector<std::string> problems;  // found while drawing: too wide, no glyph
  int order = 0;
  int layer = 0;   // overlays (menus, help) draw on higher layers and may cover lower ones
  int things = 0;  // boxes, lines, circles, polygons and letters that were drawn: what benchmarks count
  void clear() { *this = DrawRecord{}; }
};

/// All problems of a frame: those found while drawing, then overlaps, cuts and crossings.
std::vector<std::string> check_record(const DrawRecord& record, Vec2 window);

}  // namespace ringside::app
