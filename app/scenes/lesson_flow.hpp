// The column of a lesson: blocks one below the other, of which only what fits between top and bottom is
// drawn.
#pragma once

#include <algorithm>
#include <string>

#include "app/draw/parts.hpp"
#include "app/scenes/scene.hpp"
#include "app/text/layout.hpp"

namespace ringside::app::lesson {

/// `y` is the upper edge of the next block, scrolled. Lines that would be cut are left out: the column
/// scrolls.
struct Flow {
  View& view;
  float x = 0, w = 0, y = 0;
  float top = 0, bottom = 0;

  Canvas& canvas() const { return view.canvas; }
  const Theme& theme() const { return view.canvas.theme(); }
  /// The same column, measured only: nothing is visible in it.
  Flow measure() const { return {view, x, w, y, 1e9f, -1e9f}; }
  bool visible(float from, float to) const { return from >= top - 1 && to <= bottom + 1; }

  /// Wrapped text; moves on below it.
  void text(std::string_view words, float size, Color color, Face face = Face::Regular, float indent = 0,
            float line_height = 1.5f) {
    for (const std::string& line : wrap(canvas().fonts(), words, w - indent, size, face)) {
      if (visible(y, y + size * 1.2f))
        canvas().text({x + indent, y + size * .6f}, line, {.size = size, .color = color, .face = face});
      y += size * line_height;
    }
  }
  float height_of(std::string_view words, float size, Face face = Face::Regular, float indent = 0,
                  float line_height = 1.5f) const {
    return size * line_height *
           static_cast<float>(wrap(canvas().fonts(), words, w - indent, size, face).size());
  }
  void gap(float h) { y += h; }
};

}  // namespace ringside::app::lesson
