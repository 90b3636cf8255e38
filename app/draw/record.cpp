#include "app/draw/record.hpp"

#include <algorithm>

namespace ringside::app {
namespace {

float overlap(float a0, float a1, float b0, float b1) {
  return std::min(a1, b1) - std::max(a0, b0);
}

bool covers(const Rect& outer, const Rect& inner) {
  return outer.x <= inner.x && outer.right() >= inner.right() && outer.y <= inner.y &&
         outer.bottom() >= inner.bottom();
}

std::string quoted(const std::string& text) {
  return "\"" + text + "\"";
}

void check_against_shapes(const DrawRecord& record, const DrawnText& text, std::vector<std::string>& out) {
  const Rect box = text.box.inset(1, 2);
  for (std::size_t i = 0; i < record.shapes.size(); ++i) {
    const DrawnShape& shape = record.shapes[i];
    if (shape.layer != text.layer) continue;
    if (overlap(box.x, box.right(), shape.box.x, shape.box.right()) <= 0 ||
        overlap(box.y, box.bottom(), shape.box.y, shape.box.bottom()) <= 0)
      continue;
    if (shape.filled && shape.order > text.order) {
      out.push_back("hidden by a later shape: " + quoted(text.text));
    } else if (!covers(shape.box, box)) {
      // A filled shape between them that carries the whole text makes the crossing harmless.
      const bool carried =
          std::any_of(record.shapes.begin(), record.shapes.end(), [&](const DrawnShape& other) {
            return other.filled && other.layer == text.layer && other.order > shape.order &&
                   other.order < text.order && covers(other.box, box);
          });
      if (!carried && shape.order < text.order)
        out.push_back("across the edge of a shape: " + quoted(text.text));
    }
  }
}

}  // namespace

std::vector<std::string> check_record(const DrawRecord& record, Vec2 window) {
  std::vector<std::string> out = record.problems;
  for (std::size_t i = 0; i < record.texts.size(); ++i) {
    const DrawnText& a = record.texts[i];
    if (a.box.x < -1 || a.box.y < -1 || a.box.right() > window.x + 1 || a.box.bottom() > window.y + 1)
      out.push_back("outside the window: " + quoted(a.text));
    if (!covers({a.clip.x - 1, a.clip.y - 1, a.clip.w + 2, a.clip.h + 2}, a.box))
      out.push_back("cut off: " + quoted(a.text));
    for (std::size_t j = i + 1; j < record.texts.size(); ++j) {
      const DrawnText& b = record.texts[j];
      if (a.layer == b.layer && overlap(a.box.x, a.box.right(), b.box.x, b.box.right()) > 1 &&
          overlap(a.box.y, a.box.bottom(), b.box.y, b.box.bottom()) > 1)
        out.push_back("overlap: " + quoted(a.text) + " and " + quoted(b.text));
    }
    check_against_shapes(record, a, out);
  }
  return out;
}

}  // namespace ringside::app
