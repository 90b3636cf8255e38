#include "app/draw/canvas.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "app/draw/shape_memo.hpp"
#include "app/imgui_compat.hpp"
#include "app/text/utf8.hpp"

namespace ringside::app {
namespace {

ImU32 pack(Color c) {
  return IM_COL32(c.r, c.g, c.b, c.a);
}

ImVec2 im(Vec2 v) {
  return {v.x, v.y};
}

Vec2 on_circle(Vec2 center, float radius, float degrees) {
  const float a = degrees * std::numbers::pi_v<float> / 180.0f;
  return {center.x + radius * std::sin(a), center.y - radius * std::cos(a)};
}

/// Of the frame that is drawn: a Canvas lives for one.
ShapeMemo& shapes() {
  thread_local ShapeMemo memo;
  return memo;
}

/// `corners` = 0: as many as a circle of that size needs.
void disc(ImDrawList& list, Vec2 center, float radius, Color color, int corners = 0) {
  shapes().draw(list, {ShapeKey::Kind::Disc, radius, static_cast<float>(corners), 0, 0, pack(color)}, im(center),
                [&] { list.AddCircleFilled(im(center), radius, pack(color), corners); });
}

float distance(Vec2 a, Vec2 b) {
  return std::hypot(b.x - a.x, b.y - a.y);
}

}  // namespace

Canvas::Canvas(ImDrawList* list, Fonts& fonts, const Theme& theme, Vec2 size, float ui_scale,
               DrawRecord* record)
    : list_(list), fonts_(&fonts), theme_(&theme), size_(size), ui_scale_(ui_scale), record_(record) {
  clips_.push_back({0, 0, size.x, size.y});
  shapes().clear();
}

void Canvas::push_figure(Vec2 origin, float k) {
  saved_.push_back({origin_, scale_});
  origin_ = to_window(origin);
  scale_ *= k;
}

void Canvas::pop_figure() {
  origin_ = saved_.back().origin;
  scale_ = saved_.back().scale;
  saved_.pop_back();
}

void Canvas::push_clip(Rect box) {
  const Rect w = to_window(box), outer = clips_.back();
  const float x = std::max(w.x, outer.x), y = std::max(w.y, outer.y);
  const Rect clip{x, y, std::max(0.0f, std::min(w.right(), outer.right()) - x),
                  std::max(0.0f, std::min(w.bottom(), outer.bottom()) - y)};
  clips_.push_back(clip);
  list_->PushClipRect(im(Vec2{clip.x, clip.y} * ui_scale_), im(Vec2{clip.right(), clip.bottom()} * ui_scale_),
                      true);
}

void Canvas::pop_clip() {
  clips_.pop_back();
  list_->PopClipRect();
}

void Canvas::push_layer() {
  if (record_ != nullptr) ++record_->layer;
}

void Canvas::pop_layer() {
  if (record_ != nullptr) --record_->layer;
}

void Canvas::note_shape(Rect box, bool filled, bool outlined) {
  if (record_ == nullptr) return;
  const Rect w = to_window(box);
  ++record_->order;
  if (w.w > 24 && w.h > 14) record_->shapes.push_back({w, filled, outlined, record_->order, record_->layer});
}

void Canvas::rect(Rect box, const RectStyle& style) {
  if (box.w <= 0 || box.h <= 0) return;
  const bool dashed_outline = style.dash.on > 0;
  note_shape(box, style.fill.a > 127, style.stroke.visible() && !dashed_outline);
  const float k = pixels_per_unit();
  const Vec2 a = px({box.x, box.y}), b = px({box.right(), box.bottom()});
  const float radius = std::min({style.radius * k, (b.x - a.x) / 2, (b.y - a.y) / 2});
  if (style.fill.visible()) {
    count();
    const auto make = [&] { list_->AddRectFilled(im(a), im(b), pack(style.fill), radius); };
    if (radius < .5f)
      make();  // four corners
    else
      shapes().draw(*list_, {ShapeKey::Kind::Filled, b.x - a.x, b.y - a.y, radius, 0, pack(style.fill)}, im(a), make);
  }
  if (!style.stroke.visible()) return;
  const float w = style.width * k, half = w / 2;
  const Vec2 in{half, half};
  if (!dashed_outline) {
    count();
    shapes().draw(*list_, {ShapeKey::Kind::Outlined, b.x - a.x, b.y - a.y, radius, w, pack(style.stroke)}, im(a), [&] {
      compat::add_rect(*list_, a + in, b - in, pack(style.stroke), std::max(0.0f, radius - half), w);
    });
    return;
  }
  // Walk the rounded outline: corners as short arcs.
  std::vector<Vec2> path;
  const Rect r = box.inset(style.width / 2);
  const float rr = std::min({style.radius, r.w / 2, r.h / 2});
  const Vec2 corner[4] = {{r.right() - rr, r.y + rr},
                          {r.right() - rr, r.bottom() - rr},
                          {r.x + rr, r.bottom() - rr},
                          {r.x + rr, r.y + rr}};
  for (int i = 0; i < 4; ++i)
    for (int step = 0; step <= 4; ++step)
      path.push_back(
          on_circle(corner[i], rr, static_cast<float>(i) * 90.0f + static_cast<float>(step) * 22.5f));
  dashed(path, style.stroke, style.width, style.dash, true);
}

void Canvas::gradient(Rect box, Color from, Color to, bool horizontal) {
  const ImU32 a = pack(from), b = pack(to);
  count();
  list_->AddRectFilledMultiColor(im(px({box.x, box.y})), im(px({box.right(), box.bottom()})), a,
                                 horizontal ? b : a, b, horizontal ? a : b);
}

void Canvas::quad(const Vec2 (&points)[4], const Color (&colors)[4]) {
  const ImVec2 uv = ImGui::GetFontTexUvWhitePixel();
  count();
  const auto base = static_cast<ImDrawIdx>(list_->_VtxCurrentIdx);
  list_->PrimReserve(6, 4);
  for (const int i : {0, 1, 2, 0, 2, 3}) list_->PrimWriteIdx(static_cast<ImDrawIdx>(base + i));
  for (int i = 0; i < 4; ++i) list_->PrimWriteVtx(im(px(points[i])), uv, pack(colors[i]));
}

void Canvas::line(Vec2 a, Vec2 b, Color color, float width, bool round_caps) {
  if (!color.visible()) return;
  const float w = width * pixels_per_unit();
  const Vec2 pa = px(a), pb = px(b);
  if ((a.x == b.x || a.y == b.y) && !round_caps) {  // an axis-parallel line is a crisp box
    const float half = w / 2;
    Vec2 lo{std::min(pa.x, pb.x), std::min(pa.y, pb.y)}, hi{std::max(pa.x, pb.x), std::max(pa.y, pb.y)};
    const float snapped = std::max(1.0f, std::round(w));
    if (a.x == b.x) {
      lo.x = std::round(pa.x - half);
      hi.x = lo.x + snapped;
    } else {
      lo.y = std::round(pa.y - half);
      hi.y = lo.y + snapped;
    }
    count();
    list_->AddRectFilled(im(lo), im(hi), pack(color));
    return;
  }
  segment(pa, pb, color, w);
  if (!round_caps) return;
  count(2);
  for (const Vec2 p : {pa, pb}) disc(*list_, p, w / 2, color);
}

void Canvas::segment(Vec2 a, Vec2 b, Color color, float width_px) {
  // ImGui's AddLine shifts by half a pixel; the path does not.
  count();
  shapes().draw(*list_, {ShapeKey::Kind::Line, b.x - a.x, b.y - a.y, 0, width_px, pack(color)}, im(a), [&] {
    list_->PathLineTo(im(a));
    list_->PathLineTo(im(b));
    compat::stroke_path(*list_, pack(color), false, width_px);
  });
}

void Canvas::dashed_line(Vec2 a, Vec2 b, Color color, float width, Dash dash) {
  const Vec2 points[2] = {a, b};
  dashed(points, color, width, dash);
}

void Canvas::stroke(std::span<const Vec2> points, Color color, float width, bool closed) {
  const float w = width * pixels_per_unit();
  for (std::size_t i = 0; i + 1 < points.size(); ++i) segment(px(points[i]), px(points[i + 1]), color, w);
  if (closed && points.size() > 2) segment(px(points.back()), px(points.front()), color, w);
  if (w < 1.5f) return;
  count(static_cast<int>(points.size()));
  for (const Vec2 p : points) disc(*list_, px(p), w / 2, color);
}

void Canvas::stroke(std::initializer_list<Vec2> points, Color color, float width, bool closed) {
  stroke(std::span<const Vec2>(points.begin(), points.size()), color, width, closed);
}

void Canvas::dashed(std::span<const Vec2> points, Color color, float width, Dash dash, bool closed) {
  const float w = width * pixels_per_unit();
  const std::size_t n = points.size(), edges = closed ? n : n - 1;
  bool on = true;
  float left = dash.on;
  for (std::size_t i = 0; i < edges; ++i) {
    Vec2 a = points[i];
    const Vec2 b = points[(i + 1) % n];
    float rest = distance(a, b);
    while (rest > 1e-4f) {
      const float take = std::min(rest, left);
      const Vec2 c = lerp(a, b, take / rest);
      if (on) segment(px(a), px(c), color, w);
      a = c;
      rest -= take;
      left -= take;
      if (left <= 1e-4f) {
        on = !on;
        left = on ? dash.on : dash.off;
      }
    }
  }
}

void Canvas::fill(std::span<const Vec2> points, Color color) {
  count();
  for (const Vec2 p : points) list_->PathLineTo(im(px(p)));
  list_->PathFillConvex(pack(color));
}

void Canvas::fill(std::initializer_list<Vec2> points, Color color) {
  fill(std::span<const Vec2>(points.begin(), points.size()), color);
}

void Canvas::bezier(Vec2 p0, Vec2 p1, Vec2 p2, Vec2 p3, Color color, float width) {
  count();
  list_->PathLineTo(im(px(p0)));
  list_->PathBezierCubicCurveTo(im(px(p1)), im(px(p2)), im(px(p3)));
  compat::stroke_path(*list_, pack(color), false, width * pixels_per_unit());
}

void Canvas::circle(Vec2 center, float radius, Color fill, Color outline, float width) {
  const float k = pixels_per_unit();
  count((fill.visible() ? 1 : 0) + (outline.visible() ? 1 : 0));
  if (fill.visible()) disc(*list_, px(center), radius * k, fill);
  if (outline.visible()) list_->AddCircle(im(px(center)), radius * k, pack(outline), 0, width * k);
}

void Canvas::dashed_circle(Vec2 center, float radius, Color color, float width, Dash dash) {
  std::vector<Vec2> path;
  constexpr int kSegments = 48;
  for (int i = 0; i < kSegments; ++i)
    path.push_back(on_circle(center, radius, static_cast<float>(i) * 360.0f / kSegments));
  dashed(path, color, width, dash, true);
}

void Canvas::arc(Vec2 center, float radius, float from, float to, Color color, float width, bool round_caps) {
  if (to <= from) return;
  const float k = pixels_per_unit(), degree = std::numbers::pi_v<float> / 180.0f;
  count(round_caps ? 3 : 1);
  list_->PathArcTo(im(px(center)), radius * k, (from - 90.0f) * degree, (to - 90.0f) * degree,
                   std::clamp(static_cast<int>((to - from) * radius * k / 180.0f), 6, 96));
  compat::stroke_path(*list_, pack(color), false, width * k);
  if (round_caps)
    for (const float a : {from, to})
      list_->AddCircleFilled(im(px(on_circle(center, radius, a))), width * k / 2, pack(color));
}

void Canvas::half_disc(Vec2 center, float radius, Color color) {
  const float quarter = std::numbers::pi_v<float> / 2;
  count();
  list_->PathArcTo(im(px(center)), radius * pixels_per_unit(), -quarter, quarter, 16);
  list_->PathFillConvex(pack(color));
}

void Canvas::hatch(Rect box, Color color, float gap, float width, float phase) {
  const float w = width * pixels_per_unit();
  float offset = std::fmod(phase, gap);
  if (offset > 0) offset -= gap;
  // Lines x + y = d in the box's own coordinates (y down from its top), cut at its edges.
  for (float d = offset; d < box.w + box.h; d += gap) {
    const float x0 = std::max(0.0f, d - box.h), x1 = std::min(box.w, d);
    if (x1 - x0 < 0.5f) continue;
    segment(px({box.x + x0, box.y + d - x0}), px({box.x + x1, box.y + d - x1}), color, w);
  }
}

void Canvas::dots(Rect box, Color color, float gap, float radius) {
  const float k = pixels_per_unit();
  int row = 0;
  for (float y = gap / 2; y + radius <= box.h; y += gap * 0.8f, ++row)
    for (float x = row % 2 == 0 ? gap / 2 : gap; x + radius <= box.w; x += gap) {
      count();
      disc(*list_, px({box.x + x, box.y + y}), radius * k, color, radius * k < 3 ? 8 : 0);
    }
}

float Canvas::text(Vec2 at, std::string_view text, const TextStyle& style) {
  const float w = width(text, style.size, style.face);
  const float x = at.x - (style.align == Align::Center ? w / 2 : style.align == Align::Right ? w : 0.0f);
  const Color color = style.color.visible() ? style.color : theme_->t1;
  const Vec2 pen = px({x, at.y + 0.348f * style.size});
  if (record_ != nullptr) {
    ++record_->order;
    const Rect box = to_window(Rect{x, at.y - 0.40f * style.size, w, 0.82f * style.size});
    if (style.max_width > 0 && w > style.max_width + 0.5f)
      record_->problems.push_back("too wide by " +
                                  std::to_string(static_cast<int>(w - style.max_width + 0.5f)) + ": \"" +
                                  std::string(text) + "\"");
    for (std::size_t i = 0; i < text.size();) {
      const char32_t c = next_code_point(text, i);
      if (c != U' ') count();
      if (!fonts_->can_show(style.face, c))
        record_->problems.push_back("no glyph for U+" + std::to_string(static_cast<unsigned>(c)) + ": \"" +
                                    std::string(text) + "\"");
    }
    if (!style.on_shape && !text.empty())
      record_->texts.push_back({box, clips_.back(), std::string(text), record_->order, record_->layer});
  }
  compat::draw_text(*list_, *fonts_, style.face, style.size * pixels_per_unit(), pen.x, pen.y, pack(color),
                    text);
  return w;
}

float Canvas::runs(Vec2 at, std::initializer_list<Run> runs, float size, Align align) {
  float total = 0;
  for (const Run& run : runs) total += width(run.text, size, run.face);
  float x = at.x - (align == Align::Center ? total / 2 : align == Align::Right ? total : 0.0f);
  for (const Run& run : runs)
    x += text({x, at.y}, run.text, {.size = size, .color = run.color, .face = run.face});
  return total;
}

}  // namespace ringside::app
