// Where everything is drawn: logical pixels in, ImGui draw-list calls out. No ImGui type in sight, so scenes
// include only this.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "app/draw/geometry.hpp"
#include "app/draw/glyph_id.hpp"
#include "app/draw/record.hpp"
#include "app/draw/theme.hpp"
#include "app/text/fonts.hpp"

struct ImDrawList;

namespace ringside::app {

enum class Align : std::uint8_t { Left, Center, Right };

struct Dash {
  float on = 0, off = 0;
};

struct RectStyle {
  Color fill{}, stroke{};
  float radius = 0;
  float width = 1;  // of the stroke, which lies inside the box
  Dash dash{};
};

struct TextStyle {
  float size = 14;
  Color color{};  // none = text 1
  Face face = Face::Regular;
  Align align = Align::Left;
  float max_width = 0;    // > 0: a wider text is a finding (lay out with fit() or wrap() first)
  bool on_shape = false;  // sits on its own small fill (a tag, a segment): not part of the overlap check
};

struct Run {
  std::string_view text;
  Color color{};
  Face face = Face::Regular;
};

class Canvas {
 public:
  Canvas(ImDrawList* list, Fonts& fonts, const Theme& theme, Vec2 size, float ui_scale, DrawRecord* record);

  const Theme& theme() const { return *theme_; }
  const Fonts& fonts() const { return *fonts_; }
  /// Logical size of the window.
  Vec2 size() const { return size_; }
  float ui_scale() const { return ui_scale_; }
  /// Device pixels a logical pixel, all transforms included.
  float pixels_per_unit() const { return ui_scale_ * scale_; }

  // Figures: what is drawn until pop() is scaled evenly by k and moved so that (0, 0) lands on `origin`.
  // Sizes of text and lines scale too. Nests.
  void push_figure(Vec2 origin, float k);
  void pop_figure();
  Vec2 to_window(Vec2 p) const { return {origin_.x + p.x * scale_, origin_.y + p.y * scale_}; }
  Rect to_window(Rect r) const {
    const Vec2 p = to_window(Vec2{r.x, r.y});
    return {p.x, p.y, r.w * scale_, r.h * scale_};
  }
  Vec2 from_window(Vec2 p) const { return {(p.x - origin_.x) / scale_, (p.y - origin_.y) / scale_}; }

  void push_clip(Rect box);
  void pop_clip();
  /// Overlays draw on a higher layer; matters to the checks of tests only.
  void push_layer();
  void pop_layer();

  void rect(Rect box, const RectStyle& style);
  /// Vertex colours: top to bottom, or left to right.
  void gradient(Rect box, Color from, Color to, bool horizontal = false);
  /// A quad with a colour at each corner (beams, tails).
  void quad(const Vec2 (&points)[4], const Color (&colors)[4]);
  void line(Vec2 a, Vec2 b, Color color, float width = 1, bool round_caps = false);
  void dashed_line(Vec2 a, Vec2 b, Color color, float width, Dash dash);
  /// Segments with round joints and caps.
  void stroke(std::span<const Vec2> points, Color color, float width, bool closed = false);
  void stroke(std::initializer_list<Vec2> points, Color color, float width, bool closed = false);
  void dashed(std::span<const Vec2> points, Color color, float width, Dash dash, bool closed = false);
  /// A convex polygon, clockwise.
  void fill(std::span<const Vec2> points, Color color);
  void fill(std::initializer_list<Vec2> points, Color color);
  void bezier(Vec2 p0, Vec2 p1, Vec2 p2, Vec2 p3, Color color, float width);
  void circle(Vec2 center, float radius, Color fill, Color outline = {}, float width = 1);
  void dashed_circle(Vec2 center, float radius, Color color, float width, Dash dash);
  /// Degrees, clockwise from 12 o'clock.
  void arc(Vec2 center, float radius, float from, float to, Color color, float width,
           bool round_caps = false);
  /// A half disc, the right half.
  void half_disc(Vec2 center, float radius, Color color);
  /// 45° lines, clipped to the box: the mark of waiting. `phase` moves them (logical pixels).
  void hatch(Rect box, Color color, float gap = 7, float width = 1.25f, float phase = 0);
  /// Dot grid: the mark of NaN.
  void dots(Rect box, Color color, float gap = 6, float radius = 1.2f);
  void glyph(Glyph glyph, Vec2 center, float size, Color color, float width = 0);

  /// Draws one line; `y` is the middle of the capital letters. Returns its width.
  float text(Vec2 at, std::string_view text, const TextStyle& style = {});
  /// One line in several colours and faces; returns its width.
  float runs(Vec2 at, std::initializer_list<Run> runs, float size, Align align = Align::Left);
  float width(std::string_view text, float size, Face face = Face::Regular) const {
    return fonts_->width(text, size, face);
  }

 private:
  struct Saved {
    Vec2 origin;
    float scale;
  };
  Vec2 px(Vec2 p) const { return to_window(p) * ui_scale_; }
  void note_shape(Rect box, bool filled, bool outlined);
  void count(int things = 1) {
    if (record_ != nullptr) record_->things += things;
  }
  void segment(Vec2 a, Vec2 b, Color color, float width_px);

  ImDrawList* list_;
  Fonts* fonts_;
  const Theme* theme_;
  Vec2 size_;
  float ui_scale_;
  DrawRecord* record_;
  Vec2 origin_{};
  float scale_ = 1;
  std::vector<Saved> saved_;
  std::vector<Rect> clips_;  // in the window's logical pixels
};

}  // namespace ringside::app
