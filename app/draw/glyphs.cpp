// The drawn glyphs. Coordinates are in half-sizes around the centre: (-1, -1) … (1, 1).
#include <cmath>
#include <numbers>

#include "app/draw/canvas.hpp"

namespace ringside::app {
namespace {

struct Pen {
  Canvas& c;
  Vec2 o;
  float h;
  Color color;
  float w;

  Vec2 at(Vec2 p) const { return {o.x + p.x * h, o.y + p.y * h}; }
  void lines(std::initializer_list<Vec2> points, float k = 1) const {
    std::vector<Vec2> moved;
    for (const Vec2 p : points) moved.push_back(at(p));
    c.stroke(moved, color, w * k);
  }
  void fill(std::initializer_list<Vec2> points) const {
    std::vector<Vec2> moved;
    for (const Vec2 p : points) moved.push_back(at(p));
    c.fill(moved, color);
  }
  void box(float x, float y, float bw, float bh, float radius = 1) const {
    const Vec2 p = at({x, y});
    const Vec2 size{bw * h, bh * h};
    c.rect({p.x, p.y, size.x, size.y}, {.fill = color, .radius = radius});
  }
  void frame(float x, float y, float bw, float bh, float radius = 2, Color inside = {}) const {
    const Vec2 p = at({x, y});
    c.rect({p.x, p.y, bw * h, bh * h}, {.fill = inside, .stroke = color, .radius = radius, .width = w});
  }
  void disc(Vec2 p, float r) const { c.circle(at(p), r * h, color); }
  void ring(Vec2 p, float r) const { c.circle(at(p), r * h, {}, color, w); }
  /// Rays around the centre.
  void rays(float from, float to, float k = 1) const {
    for (int i = 0; i < 8; ++i) {
      const float a = static_cast<float>(i) * std::numbers::pi_v<float> / 4;
      const Vec2 d{std::sin(a), -std::cos(a)};
      c.line(at(d * from), at(d * to), color, w * k);
    }
  }
};

void draw_player(const Pen& p, Glyph glyph) {
  switch (glyph) {
    case Glyph::Play:
      p.fill({{-.62f, -.85f}, {.88f, 0}, {-.62f, .85f}});
      break;
    case Glyph::Pause:
      p.box(-.7f, -.8f, .45f, 1.6f);
      p.box(.25f, -.8f, .45f, 1.6f);
      break;
    case Glyph::StepOn:
      p.fill({{-.8f, -.75f}, {.35f, 0}, {-.8f, .75f}});
      p.box(.5f, -.75f, .28f, 1.5f);
      break;
    case Glyph::StepBack:
      p.fill({{.8f, -.75f}, {.8f, .75f}, {-.35f, 0}});
      p.box(-.78f, -.75f, .28f, 1.5f);
      break;
    case Glyph::First:
      p.fill({{1, -.7f}, {1, .7f}, {.15f, 0}});
      p.fill({{.15f, -.7f}, {.15f, .7f}, {-.7f, 0}});
      p.box(-1, -.7f, .25f, 1.4f);
      break;
    case Glyph::Last:
      p.fill({{-1, -.7f}, {-.15f, 0}, {-1, .7f}});
      p.fill({{-.15f, -.7f}, {.7f, 0}, {-.15f, .7f}});
      p.box(.75f, -.7f, .25f, 1.4f);
      break;
    case Glyph::Loop:
      p.c.arc(p.o, p.h * .7f, 60, 360, p.color, p.w, true);
      p.lines({{-.35f, -1}, {.02f, -.7f}, {-.35f, -.38f}});
      break;
    default:
      break;
  }
}

void draw_mark(const Pen& p, Glyph glyph) {
  switch (glyph) {
    case Glyph::Check:
      p.lines({{-.75f, .05f}, {-.2f, .6f}, {.8f, -.6f}});
      break;
    case Glyph::Cross:
      p.lines({{-.7f, -.7f}, {.7f, .7f}});
      p.lines({{-.7f, .7f}, {.7f, -.7f}});
      break;
    case Glyph::Plus:
      p.lines({{-.75f, 0}, {.75f, 0}});
      p.lines({{0, -.75f}, {0, .75f}});
      break;
    case Glyph::Minus:
      p.lines({{-.75f, 0}, {.75f, 0}});
      break;
    case Glyph::Send:
      p.lines({{-.85f, -.75f}, {-.85f, .75f}});
      p.lines({{-.45f, 0}, {.85f, 0}});
      p.lines({{.35f, -.5f}, {.9f, 0}, {.35f, .5f}});
      break;
    case Glyph::Receive:
      p.lines({{.85f, -.75f}, {.85f, .75f}});
      p.lines({{-.9f, 0}, {.4f, 0}});
      p.lines({{-.1f, -.5f}, {.45f, 0}, {-.1f, .5f}});
      break;
    case Glyph::Hourglass:
      p.lines({{-.6f, -.85f}, {.6f, -.85f}, {-.6f, .85f}, {.6f, .85f}, {-.6f, -.85f}});
      break;
    case Glyph::Clock:
      p.ring({0, 0}, .85f);
      p.lines({{0, -.5f}, {0, 0}, {.38f, .2f}});
      break;
    case Glyph::Stop:
      p.box(-.6f, -.6f, 1.2f, 1.2f);
      break;
    case Glyph::Forward:
      p.lines({{-.6f, -.6f}, {0, 0}, {-.6f, .6f}});
      p.lines({{.1f, -.6f}, {.7f, 0}, {.1f, .6f}});
      break;
    case Glyph::Backward:
      p.lines({{.6f, -.6f}, {0, 0}, {.6f, .6f}});
      p.lines({{-.1f, -.6f}, {-.7f, 0}, {-.1f, .6f}});
      break;
    case Glyph::Right:
      p.lines({{-.3f, -.6f}, {.3f, 0}, {-.3f, .6f}});
      break;
    case Glyph::Left:
      p.lines({{.3f, -.6f}, {-.3f, 0}, {.3f, .6f}});
      break;
    case Glyph::Down:
      p.lines({{-.6f, -.3f}, {0, .3f}, {.6f, -.3f}});
      break;
    case Glyph::Up:
      p.lines({{-.6f, .3f}, {0, -.3f}, {.6f, .3f}});
      break;
    case Glyph::Arrow:
      p.lines({{-.9f, 0}, {.8f, 0}});
      p.lines({{.3f, -.5f}, {.85f, 0}, {.3f, .5f}});
      break;
    case Glyph::ArrowDown:
      p.lines({{0, -.9f}, {0, .8f}});
      p.lines({{-.5f, .3f}, {0, .85f}, {.5f, .3f}});
      break;
    case Glyph::Flag:
      p.lines({{-.6f, .9f}, {-.6f, -.85f}});
      p.fill({{-.6f, -.85f}, {.8f, -.45f}, {-.6f, .05f}});
      break;
    case Glyph::Bolt:  // two convex halves
      p.fill({{.15f, -.95f}, {.05f, -.15f}, {-.05f, .15f}, {-.6f, .15f}});
      p.fill({{.05f, -.15f}, {.6f, -.15f}, {-.15f, .95f}, {-.05f, .15f}});
      break;
    case Glyph::Victim:
      p.lines({{-.75f, .65f}, {0, -.7f}, {.75f, .65f}, {-.75f, .65f}});
      break;
    case Glyph::Warning:
      p.lines({{0, -.7f}, {0, .15f}}, 1.3f);
      p.disc({0, .65f}, .16f);
      break;
    case Glyph::Measured:
      p.disc({0, 0}, .72f);
      break;
    case Glyph::Inferred:
      p.ring({0, 0}, .66f);
      p.c.half_disc(p.o, p.h * .7f, p.color);
      break;
    case Glyph::Hidden:
      for (int i = 0; i < 6; ++i)
        p.c.arc(p.o, p.h * .66f, static_cast<float>(i * 60 + 8), static_cast<float>(i * 60 + 42), p.color,
                p.w);
      break;
    default:
      break;
  }
}

void draw_scene_icon(const Pen& p, Glyph glyph) {
  Canvas& c = p.c;
  const Color ground = c.theme().panel;
  switch (glyph) {
    case Glyph::Home:
      p.lines({{-.85f, -.05f}, {0, -.8f}, {.85f, -.05f}});
      p.lines({{-.6f, -.25f}, {-.6f, .8f}, {.6f, .8f}, {.6f, -.25f}});
      break;
    case Glyph::Tensor:
      for (const Vec2 d : {Vec2{.35f, -.35f}, Vec2{0, 0}, Vec2{-.35f, .35f}})
        p.frame(d.x - .52f, d.y - .52f, 1.04f, 1.04f, 2, ground);
      break;
    case Glyph::SameShape:
      for (const float x : {-.5f, .5f}) {
        p.frame(x - .36f, -.62f, .72f, 1.24f);
        c.line(p.at({x - .36f, 0}), p.at({x + .36f, 0}), p.color, p.w * .8f);
      }
      break;
    case Glyph::Ring:
      p.ring({0, 0}, .68f);
      for (const Vec2 d : {Vec2{.48f, -.48f}, Vec2{.48f, .48f}, Vec2{-.48f, .48f}, Vec2{-.48f, -.48f}}) {
        c.circle(p.at(d), p.h * .24f + .5f, ground);
        c.circle(p.at(d), p.h * .24f - .5f, p.color);
      }
      break;
    case Glyph::Lanes:
      p.box(-.85f, -.75f, 1.2f, .34f);
      p.box(-.5f, -.19f, 1.35f, .34f);
      p.box(-.85f, .37f, .95f, .34f);
      break;
    case Glyph::Failures:
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
          const float x = static_cast<float>(i - 1) * .62f, y = static_cast<float>(j - 1) * .62f;
          if (i == 2 && j == 0) {
            p.lines({{x - .26f, y - .26f}, {x + .26f, y + .26f}});
            p.lines({{x - .26f, y + .26f}, {x + .26f, y - .26f}});
          } else {
            p.box(x - .19f, y - .19f, .38f, .38f);
          }
        }
      break;
    case Glyph::Duel:
      p.lines({{-.85f, -.8f}, {-.85f, .8f}, {.85f, .8f}});
      c.bezier(p.at({-.7f, .45f}), p.at({-.1f, .35f}), p.at({.3f, .1f}), p.at({.8f, -.75f}), p.color, p.w);
      c.bezier(p.at({-.7f, -.1f}), p.at({-.1f, -.1f}), p.at({.3f, -.15f}), p.at({.85f, -.35f}), p.color, p.w);
      break;
    case Glyph::Live:
      p.lines({{-.95f, .1f}, {-.45f, .1f}, {-.15f, -.75f}, {.25f, .7f}, {.5f, .1f}, {.95f, .1f}});
      break;
    case Glyph::Logs: {
      const float ends[4] = {.85f, .4f, .7f, .1f};
      for (int i = 0; i < 4; ++i) {
        const float y = -.66f + static_cast<float>(i) * .44f;
        c.line(p.at({-.8f, y}), p.at({ends[i], y}), p.color, p.w);
      }
      break;
    }
    case Glyph::Poison:
      p.frame(-.8f, -.8f, 1.6f, 1.6f, 3);
      for (const float y : {-.38f, .38f})
        for (const float x : {-.38f, .38f}) p.disc({x, y}, .14f);
      p.disc({0, 0}, .14f);
      break;
    case Glyph::Lesson:
      p.lines({{0, -.55f}, {0, .75f}});
      p.lines({{0, -.55f}, {-.9f, -.75f}, {-.9f, .55f}, {0, .75f}, {.9f, .55f}, {.9f, -.75f}, {0, -.55f}});
      break;
    default:
      break;
  }
}

void draw_chrome(const Pen& p, Glyph glyph) {
  Canvas& c = p.c;
  switch (glyph) {
    case Glyph::Gear:
      p.ring({0, 0}, .52f);
      p.rays(.62f, .88f, 1.2f);
      break;
    case Glyph::Screen:
      p.frame(-.9f, -.75f, 1.8f, 1.15f);
      p.lines({{0, .4f}, {0, .8f}});
      p.lines({{-.45f, .82f}, {.45f, .82f}});
      break;
    case Glyph::Sun:
      p.disc({0, 0}, .38f);
      p.rays(.6f, .9f, .7f);
      break;
    case Glyph::Moon:
      p.disc({0, 0}, .7f);
      c.circle(p.at({.35f, -.25f}), p.h * .58f, c.theme().panel);
      break;
    case Glyph::Help:
      p.ring({0, 0}, 1);
      c.text(p.o, "?",
             {.size = p.h * 1.45f,
              .color = p.color,
              .face = Face::Bold,
              .align = Align::Center,
              .on_shape = true});
      break;
    case Glyph::Copy:
      p.frame(-.75f, -.3f, 1.05f, 1.1f);
      p.lines({{-.3f, -.4f}, {-.3f, -.8f}, {.75f, -.8f}, {.75f, .35f}, {.4f, .35f}});
      break;
    case Glyph::Panel:
      p.frame(-.85f, -.7f, 1.7f, 1.4f);
      c.line(p.at({.25f, -.7f}), p.at({.25f, .7f}), p.color, p.w);
      break;
    case Glyph::Undo:
    case Glyph::Redo: {
      const float s = glyph == Glyph::Undo ? 1.0f : -1.0f;
      p.lines({{-.4f * s, -.75f}, {-.85f * s, -.3f}, {-.4f * s, .15f}});
      c.bezier(p.at({-.8f * s, -.3f}), p.at({.6f * s, -.45f}), p.at({1.1f * s, .75f}), p.at({-.2f * s, .75f}),
               p.color, p.w);
      break;
    }
    case Glyph::Folder:
      p.lines({{-.85f, .65f},
               {-.85f, -.6f},
               {-.3f, -.6f},
               {-.05f, -.35f},
               {.85f, -.35f},
               {.85f, .65f},
               {-.85f, .65f}});
      break;
    case Glyph::Fork:  // one way becomes two
      p.lines({{-.85f, .45f}, {.85f, .45f}});
      p.lines({{-.45f, .45f}, {.05f, -.5f}, {.85f, -.5f}});
      p.disc({-.45f, .45f}, .24f);
      break;
    case Glyph::Share:
      p.lines({{0, .3f}, {0, -.85f}});
      p.lines({{-.4f, -.45f}, {0, -.85f}, {.4f, -.45f}});
      p.lines({{-.35f, -.1f}, {-.75f, -.1f}, {-.75f, .8f}, {.75f, .8f}, {.75f, -.1f}, {.35f, -.1f}});
      break;
    case Glyph::Pin:
      p.ring({0, -.35f}, .42f);
      p.lines({{0, .1f}, {0, .85f}});
      break;
    default:
      break;
  }
}

}  // namespace

void Canvas::glyph(Glyph glyph, Vec2 center, float size, Color color, float width) {
  if (record_ != nullptr) ++record_->order;
  DrawRecord* record = record_;
  record_ = nullptr;  // a glyph's own boxes are not shapes that text must respect
  const Pen pen{*this, center, size / 2, color, width > 0 ? width : std::max(1.5f, size / 9)};
  if (glyph <= Glyph::Loop) {
    draw_player(pen, glyph);
  } else if (glyph <= Glyph::Hidden) {
    draw_mark(pen, glyph);
  } else if (glyph <= Glyph::Lesson) {
    draw_scene_icon(pen, glyph);
  } else {
    draw_chrome(pen, glyph);
  }
  record_ = record;
}

}  // namespace ringside::app
