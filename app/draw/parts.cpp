#include "app/draw/parts.hpp"

#include <algorithm>
#include <cmath>

#include "app/i18n/i18n.hpp"
#include "app/text/layout.hpp"

namespace ringside::app::parts {
namespace {

float aligned(float x, float w, Align align) {
  return align == Align::Center ? x - w / 2 : align == Align::Right ? x - w : x;
}

}  // namespace

std::string rank_name(int rank) {
  return "R" + std::to_string(rank);
}

float rank_tag(Canvas& c, Vec2 at, int rank, const TagStyle& style) {
  const Theme& t = c.theme();
  const std::string own = rank_name(rank);
  const std::string_view label = style.label.empty() ? std::string_view(own) : style.label;
  const float w = std::max(style.width, c.width(label, style.size, Face::Bold) + style.size * 0.9f);
  const float x = aligned(at.x, w, style.align);
  const Color fill = style.neutral ? t.raised : t.rank(rank);
  c.rect({x, at.y - style.height / 2, w, style.height},
         {.fill = fill, .radius = std::min(5.0f, style.height * .25f)});
  c.text({x + w / 2, at.y}, label,
         {.size = style.size,
          .color = style.neutral ? t.t1 : t.on(fill),
          .face = Face::Bold,
          .align = Align::Center,
          .on_shape = true});
  return w;
}

void contributions(Canvas& c, Rect box, std::uint64_t have, int world, float alpha, int bad_rank) {
  const Theme& t = c.theme();
  const float gap = world > 8 ? 1.0f : 2.0f;
  const float w = (box.w - gap * static_cast<float>(world - 1)) / static_cast<float>(world);
  for (int r = 0; r < world; ++r) {
    const Rect seg{box.x + static_cast<float>(r) * (w + gap), box.y, w, box.h};
    if (((have >> r) & 1u) == 0) {
      c.rect(seg, {.stroke = fade(t.edge, .55f * alpha), .radius = 1.5f});
      continue;
    }
    const bool bad = r == bad_rank;
    c.rect(seg, {.fill = fade(bad ? t.nan : t.rank(r), alpha), .radius = 1.5f});
    if (bad) c.line({seg.x + 1.5f, seg.bottom() - 1}, {seg.right() - 1.5f, seg.y + 1}, t.on(t.nan), 1.2f);
  }
}

void share_bar(Canvas& c, Rect box, int have, int world) {
  const Theme& t = c.theme();
  c.rect(box, {.fill = t.line, .radius = box.h / 2});
  if (have <= 0 || world <= 0) return;
  const float w = box.w * static_cast<float>(have) / static_cast<float>(world);
  c.rect({box.x, box.y, std::max(w, box.h), box.h}, {.fill = t.t2, .radius = box.h / 2});
}

void number_cell(Canvas& c, Rect box, std::string_view label, std::string_view value,
                 const CellStyle& style) {
  const Theme& t = c.theme();
  Color label_color = t.t3, number_color = t.t1;
  float alpha = 1;
  Face face = Face::Bold;
  Glyph corner = Glyph::None;
  Color corner_color = t.t1;
  switch (style.look) {
    case CellLook::Own:
      c.rect(box, {.fill = t.raised, .radius = 6});
      break;
    case CellLook::Partial:
      c.rect(box, {.fill = t.strong(.10f), .radius = 6});
      label_color = t.t2;
      break;
    case CellLook::Sent:
      c.rect(box, {.fill = t.card, .stroke = t.line, .radius = 6});
      number_color = t.t3;
      alpha = .45f;
      face = Face::Regular;
      corner = Glyph::Send;
      corner_color = t.t3;
      break;
    case CellLook::Next:
      c.rect(box, {.fill = t.raised, .radius = 6});
      c.rect(box, {.stroke = t.t2, .radius = 6, .width = 1.5f, .dash = {4, 4}});
      corner = Glyph::Receive;
      corner_color = t.t2;
      break;
    case CellLook::Adding:
      c.rect(box, {.fill = t.strong(), .stroke = t.t1, .radius = 6, .width = 2.5f});
      label_color = t.t2;
      corner = Glyph::Plus;
      break;
    case CellLook::Done:
      c.rect(box, {.fill = t.strong(), .stroke = t.t1, .radius = 6, .width = 1.5f});
      label_color = t.t2;
      corner = Glyph::Check;
      break;
    case CellLook::Poisoned:
      c.rect(box, {.fill = mix(t.card, t.nan, .24f), .radius = 6});
      c.dots(box.inset(2), fade(t.nan, .30f), 6, 1.3f);
      c.rect(box, {.stroke = t.nan, .radius = 6, .width = 2});
      label_color = t.t2;
      break;
  }
  if (style.label) c.text({box.x + 8, box.y + 13}, label, {.size = 13, .color = label_color});
  if (corner != Glyph::None)
    c.glyph(corner, {box.right() - 14, box.y + 13},
            style.look == CellLook::Sent || style.look == CellLook::Next ? 11 : 12, corner_color,
            style.look == CellLook::Adding || style.look == CellLook::Done ? 2.0f : 0.0f);
  c.text({box.x + box.w / 2, box.y + box.h * .53f}, value,
         {.size = style.number_size,
          .color = number_color,
          .face = face,
          .align = Align::Center,
          .max_width = box.w - 4});
  if (style.bar)
    contributions(c, {box.x + 8, box.bottom() - 16, box.w - 16, 8}, style.have, style.world, alpha,
                  style.bad_rank);
}

float chip_width(const Canvas& c, std::string_view label, const ChipStyle& style) {
  return style.pad * 2 + c.width(label, style.size, style.face) + (style.icon == Glyph::None ? 0 : 18.0f);
}

float chip(Canvas& c, Vec2 at, std::string_view label, const ChipStyle& style) {
  const Theme& t = c.theme();
  const float w = chip_width(c, label, style), x = aligned(at.x, w, style.align);
  const Color color = style.color.visible() ? style.color : t.t2;
  c.rect({x, at.y - style.height / 2, w, style.height},
         {.fill = style.fill.visible() ? style.fill : t.card,
          .stroke = style.stroke.visible() ? style.stroke : t.line,
          .radius = style.height / 2});
  float tx = x + style.pad;
  if (style.icon != Glyph::None) {
    c.glyph(style.icon, {tx + 6, at.y}, 12, color);
    tx += 18;
  }
  c.text({tx, at.y}, label,
         {.size = style.size, .color = style.text.visible() ? style.text : color, .face = style.face});
  return w;
}

float truth_badge(Canvas& c, Vec2 at, Truth truth, bool word, Align align, float size) {
  const Theme& t = c.theme();
  const std::string& label = truth == Truth::Measured   ? tr("truth.measured")
                             : truth == Truth::Inferred ? tr("truth.inferred")
                                                        : tr("truth.hidden");
  const Glyph glyph = truth == Truth::Measured   ? Glyph::Measured
                      : truth == Truth::Inferred ? Glyph::Inferred
                                                 : Glyph::Hidden;
  const Color color = truth == Truth::Hidden ? t.t3 : t.t2;
  const float w = 17 + (word ? c.width(label, size) : 0), x = aligned(at.x, w, align);
  c.glyph(glyph, {x + 6, at.y}, 12, color, 1.5f);
  if (word) c.text({x + 17, at.y}, label, {.size = size, .color = color});
  return w;
}

void brackets(Canvas& c, Rect box, Color color, float arm, float width) {
  for (const float sx : {0.0f, 1.0f})
    for (const float sy : {0.0f, 1.0f}) {
      const Vec2 p{box.x + sx * box.w, box.y + sy * box.h};
      const float dx = sx == 0 ? arm : -arm, dy = sy == 0 ? arm : -arm;
      c.stroke({{p.x + dx, p.y}, p, {p.x, p.y + dy}}, color, width);
    }
}

void card(Canvas& c, Rect box, std::string_view title, Color fill, Color stroke, float radius) {
  const Theme& t = c.theme();
  c.rect(box, {.fill = fill.visible() ? fill : t.card, .stroke = stroke, .radius = radius});
  if (!title.empty())
    c.text({box.x + 16, box.y + 20}, title, {.size = 14, .color = t.t3, .face = Face::Bold});
}

float key_cap(Canvas& c, Vec2 at, std::string_view label, Align align) {
  const Theme& t = c.theme();
  const float w = std::max(24.0f, c.width(label, 13) + 12), x = aligned(at.x, w, align);
  c.rect({x, at.y - 12, w, 24}, {.fill = t.card, .stroke = t.edge, .radius = 5});
  c.text({x + w / 2, at.y}, label, {.size = 13, .align = Align::Center});
  return w;
}

void wait_box(Canvas& c, Rect box, Color color, float gap, float phase) {
  const Color line = color.visible() ? color : c.theme().t2;
  c.rect(box, {.stroke = line, .radius = 4, .width = 1.25f});
  c.hatch(box.inset(2), fade(line, .75f), gap, 1.2f, phase);
}

void zigzag(Canvas& c, Vec2 center, float height) {
  const float h = height;
  for (const float d : {-3.0f, 3.0f})
    c.stroke({{center.x + d - 3, center.y + h / 2},
              {center.x + d + 3, center.y + h / 6},
              {center.x + d - 3, center.y - h / 6},
              {center.x + d + 3, center.y - h / 2}},
             c.theme().t1, 1.75f);
}

void link(Canvas& c, Vec2 from, Vec2 to, const LinkStyle& style) {
  const Theme& t = c.theme();
  c.line(from, to, style.color.visible() ? style.color : t.edge, style.width);
  const float d = std::hypot(to.x - from.x, to.y - from.y);
  if (d <= 0) return;
  const Vec2 u{(to.x - from.x) / d, (to.y - from.y) / d}, n{-u.y, u.x};
  const float a = style.arm;
  for (int i = 0; i < style.chevrons; ++i) {
    const Vec2 p = lerp(from, to, static_cast<float>(i + 1) / static_cast<float>(style.chevrons + 1));
    const Vec2 points[3] = {p - u * a + n * (a * 1.3f), p + u * a, p - u * a - n * (a * 1.3f)};
    c.stroke(points, t.stage, 7);
    c.stroke(points, style.chevron.visible() ? style.chevron : t.t2, 2.5f);
  }
}

void beam(Canvas& c, Vec2 a0, Vec2 a1, Vec2 b1, Vec2 b0, Color color) {
  c.quad({a0, a1, b1, b0}, {fade(color, .13f), fade(color, .13f), fade(color, .05f), fade(color, .05f)});
}

float paragraph(Canvas& c, Vec2 at, float width, std::string_view text, const ParagraphStyle& style) {
  float y = at.y;
  for (const std::string& line : wrap(c.fonts(), text, width, style.size, style.face, style.max_lines)) {
    c.text({at.x, y}, line,
           {.size = style.size, .color = style.color, .face = style.face, .max_width = width});
    y += style.size * style.line_height;
  }
  return y;
}

void logo(Canvas& c, Vec2 center, float size) {
  const Theme& t = c.theme();
  const float r = size * .36f, k = size * .2f;
  c.circle(center, r, {}, t.t1, size * .1f);
  const Vec2 p{center.x + r * .72f, center.y - r * .72f};
  c.rect({p.x - k - size * .05f, p.y - k - size * .05f, 2 * k + size * .1f, 2 * k + size * .1f},
         {.fill = t.panel, .radius = size * .09f});
  c.rect({p.x - k, p.y - k, 2 * k, 2 * k}, {.fill = t.t1, .radius = size * .06f});
}

void state_mark(Canvas& c, Rect box, Mark mark, float phase) {
  const Theme& t = c.theme();
  const float s = std::min(box.w, box.h) * .55f;
  const bool small = std::min(box.w, box.h) < 16;
  const auto filled = [&](Color fill, Glyph glyph) {
    c.rect(box, {.fill = fill, .radius = 4});
    if (glyph != Glyph::None) c.glyph(glyph, box.center(), s, t.on(fill), 2);
  };
  const auto hollow = [&](Color line) {
    c.rect(box, {.stroke = line, .radius = 4, .width = 1.5f});
    if (small) {
      c.line({box.x + 3, box.bottom() - 3}, {box.right() - 3, box.y + 3}, line, 1.2f);
    } else {
      c.hatch(box.inset(2), fade(line, .75f), 6, 1.2f, phase);
    }
  };
  switch (mark) {
    case Mark::Idle:
      c.rect(box, {.stroke = t.edge, .radius = 4});
      break;
    case Mark::Forward:
      filled(t.forward, Glyph::Forward);
      break;
    case Mark::Backward:
      filled(t.backward, Glyph::Backward);
      break;
    case Mark::Sending:
      filled(t.comm, Glyph::Send);
      break;
    case Mark::Receiving:
      filled(t.comm, Glyph::Receive);
      break;
    case Mark::Reducing:
      filled(t.comm, Glyph::Plus);
      break;
    case Mark::Update:
      filled(t.update, Glyph::None);
      break;
    case Mark::Waiting:
      hollow(t.t2);
      break;
    case Mark::Stalled:
      hollow(t.stall);
      if (!small) {
        c.circle(box.center(), s * .8f, c.theme().card);
        c.glyph(Glyph::Hourglass, box.center(), s, t.stall, 2);
      }
      break;
    case Mark::TimedOut:
      filled(t.stall, Glyph::Clock);
      break;
    case Mark::Terminated:
    case Mark::Aborted:
      c.rect(box, {.stroke = t.t1, .radius = 4, .width = 1.5f});
      c.glyph(Glyph::Stop, box.center(), s * .8f, t.t1);
      break;
    case Mark::Dead:
      filled(t.fail, Glyph::Cross);
      break;
    case Mark::Poisoned:
      c.rect(box, {.fill = mix(t.card, t.nan, .24f), .radius = 4});
      c.dots(box.inset(2), fade(t.nan, .35f), 5, 1.1f);
      c.rect(box, {.stroke = t.nan, .radius = 4, .width = 1.5f});
      if (box.w > 40)
        c.text(box.center(), "NaN",
               {.size = 13, .face = Face::Bold, .align = Align::Center, .on_shape = true});
      break;
    case Mark::Silent:
      c.rect(box, {.stroke = t.stall, .radius = 4, .width = 1.5f, .dash = {3, 4}});
      c.glyph(Glyph::Hidden, box.center(), s, t.stall, 1.5f);
      break;
  }
}

}  // namespace ringside::app::parts
