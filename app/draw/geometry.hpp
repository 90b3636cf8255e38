// Points and boxes in logical pixels (before the UI scale).
#pragma once

namespace ringside::app {

struct Vec2 {
  float x = 0, y = 0;
  bool operator==(const Vec2&) const = default;
};
constexpr Vec2 operator+(Vec2 a, Vec2 b) {
  return {a.x + b.x, a.y + b.y};
}
constexpr Vec2 operator-(Vec2 a, Vec2 b) {
  return {a.x - b.x, a.y - b.y};
}
constexpr Vec2 operator*(Vec2 a, float k) {
  return {a.x * k, a.y * k};
}
constexpr Vec2 lerp(Vec2 a, Vec2 b, float t) {
  return {a.x + (b.x - a.x) * t, a.y + (b.y - a.y) * t};
}

struct Rect {
  float x = 0, y = 0, w = 0, h = 0;
  bool operator==(const Rect&) const = default;
  constexpr float right() const { return x + w; }
  constexpr float bottom() const { return y + h; }
  constexpr Vec2 center() const { return {x + w / 2, y + h / 2}; }
  constexpr bool contains(Vec2 p) const { return p.x >= x && p.x < x + w && p.y >= y && p.y < y + h; }
  constexpr Rect inset(float d) const { return {x + d, y + d, w - 2 * d, h - 2 * d}; }
  constexpr Rect inset(float dx, float dy) const { return {x + dx, y + dy, w - 2 * dx, h - 2 * dy}; }
  constexpr Rect moved(Vec2 d) const { return {x + d.x, y + d.y, w, h}; }
};

}  // namespace ringside::app
