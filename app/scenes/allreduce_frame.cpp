// Around the ring: dial, progress, legend, toggles, the sentence when there is nothing to draw.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/allreduce_pen.hpp"

namespace ringside::app::figure {

using sim::CellState;

void draw_dial(const Pen& p) {
  Canvas& c = p.c;
  const float r = p.layout.dial_radius, thick = r >= 80 ? 12.0f : 9.0f;
  if (r <= 0 || p.ring.steps == 0) return;
  const Vec2 m = p.layout.dial;
  const auto steps = static_cast<float>(p.ring.steps);
  const float each = 360.0f / steps, gap = std::min(3.0f, each * .12f);
  const Color dim = p.t.dark ? p.t.raised : mix(p.t.raised, p.t.edge, .18f);
  for (std::uint32_t i = 0; i < p.ring.steps; ++i) {
    const float a0 = static_cast<float>(i) * each + gap, a1 = static_cast<float>(i + 1) * each - gap;
    c.arc(m, r, a0, a1, dim, thick);
    const bool current = i + 1 == p.ring.ring_step;
    if (p.ring.done || i + 1 < p.ring.ring_step)
      c.arc(m, r, a0, a1, p.t.t1, thick);
    else if (current && p.ring.step_progress > 0)
      c.arc(m, r, a0, a0 + (a1 - a0) * p.ring.step_progress, p.t.t1, thick);
  }
  if (p.ring.reduce_steps > 0 && p.ring.reduce_steps < p.ring.steps && p.ring.steps > 24) {
    const float a = static_cast<float>(p.ring.reduce_steps) * each;  // where the second phase begins
    c.arc(m, r, a - 1.2f, a + 1.2f, p.t.stage, thick + 6);
  }
  const std::string now = std::to_string(p.ring.ring_step), all = std::to_string(p.ring.steps);
  const std::string phase = sentence_text(phase_name(p.ring));
  if (p.view.ctx.presenter) {
    c.text({m.x, m.y + 1}, now + "/" + all, {.size = 23, .face = Face::Bold, .align = Align::Center});
    c.text({m.x, m.y + r + 23}, tr("allreduce.dial.presenter", {phase, now}),
           {.size = p.smallest(), .face = Face::Bold, .align = Align::Center});
    return;
  }
  const float label = p.label(14);
  if (label > 0)
    c.text({m.x, m.y - r * .43f}, tr("allreduce.dial.ring_step"),
           {.size = label, .color = p.t.t2, .align = Align::Center});
  float size = 38;
  while (size > 20 && c.width(now, size, Face::Bold) + c.width(" / " + all, size) > r * 1.55f) size -= 2;
  c.runs({m.x, m.y + 2}, {{now, p.t.t1, Face::Bold}, {" / " + all, p.t.t2, Face::Regular}}, size,
         Align::Center);
  if (label > 0) {
    float s = label;
    const bool fits = c.width(phase, s, Face::Bold) < r * 1.72f;
    c.text({m.x, fits ? m.y + r * .44f : m.y + r + 24}, phase,
           {.size = s, .face = Face::Bold, .align = Align::Center});
  }
  p.view.ui.explain({m.x - r, m.y - r, 2 * r, 2 * r}, tr("allreduce.explain.dial", {now, all}));
}

/// The dial unrolled, where the middle of the figure is taken.
void draw_progress(const Pen& p) {
  const Rect b = p.layout.progress;
  if (b.w <= 0 || p.ring.steps == 0 || p.view.ctx.presenter) return;
  Canvas& c = p.c;
  const float w = b.w / static_cast<float>(p.ring.steps), gap = std::min(3.0f, w * .2f);
  for (std::uint32_t i = 0; i < p.ring.steps; ++i) {
    const Rect piece{b.x + static_cast<float>(i) * w, b.y, w - gap, b.h};
    c.rect(piece, {.fill = p.t.raised, .radius = 2});
    const float share = p.ring.done || i + 1 < p.ring.ring_step ? 1.0f
                        : i + 1 == p.ring.ring_step             ? p.ring.step_progress
                                                                : 0.0f;
    if (share > 0) c.rect({piece.x, piece.y, piece.w * share, piece.h}, {.fill = p.t.t1, .radius = 2});
  }
  if (p.label(16) > 0) {
    const std::string now = std::to_string(p.ring.ring_step), all = std::to_string(p.ring.steps);
    c.runs({b.x, b.y - 14},
           {{tr("allreduce.dial.ring_step") + " ", p.t.t2, Face::Regular},
            {now, p.t.t1, Face::Bold},
            {" / " + all + "  ", p.t.t2, Face::Regular},
            {sentence_text(phase_name(p.ring)), p.t.t1, Face::Bold}},
           16);
  }
}

namespace {

/// The legend, shortened from the end until it fits; returns nothing, draws from x to `right`.
void draw_legend(const Pen& p, float x, float right) {
  Canvas& c = p.c;
  const float y = p.layout.legend_y, size = std::max(13.0f, p.smallest());
  const std::string& colour = tr(p.colours() ? "allreduce.legend.colour" : "allreduce.legend.lightness");
  float w = c.width(colour, size);
  if (x + w + 90 > right) return;
  c.text({x, y}, colour, {.size = size, .color = p.t.t2});
  x += w + 12;
  if (p.colours()) {
    for (int r = 0; r < p.ring.world; ++r) {
      c.rect({x, y - 6, 13, 12}, {.fill = p.t.rank(r), .radius = 2});
      x += 15;
    }
    x += 9;
  } else {
    for (int i = 0; i < 5; ++i) {
      c.rect({x, y - 7, 14, 14},
             {.fill = mix(p.t.raised, p.t.edge, static_cast<float>(i) * .2f), .radius = 2});
      x += 15;
    }
    x += 14;
  }
  if (p.layout.form == Form::OneNumber) return;
  static constexpr std::array<std::pair<CellState, const char*>, 4> kStates{
      {{CellState::PassedOn, "allreduce.legend.passed_on"},
       {CellState::Arriving, "allreduce.legend.arriving"},
       {CellState::Adding, "allreduce.legend.adding"},
       {CellState::Complete, "allreduce.legend.complete"}}};
  for (const auto& [state, key] : kStates) {
    const std::string& word = tr(key);
    w = 18 + 7 + c.width(word, size);
    if (x + w > right) return;
    CellView cell;
    cell.state = state;
    const Look l = look_of(p.t, cell);
    c.rect({x, y - 9, 18, 18}, {.fill = l.fill, .radius = 4});
    c.rect({x, y - 9, 18, 18},
           {.stroke = l.stroke, .radius = 4, .width = l.width, .dash = l.dash.on > 0 ? Dash{3, 3} : Dash{}});
    c.glyph(l.glyph, {x + 9, y}, 10, l.glyph_color, 1.6f);
    c.text({x + 25, y}, word, {.size = size, .color = p.t.t2});
    x += w + 11;
  }
}

}  // namespace

void draw_controls(const Pen& p, FigureAnswer& answer) {
  const float y = p.layout.legend_y;
  float right = p.layout.size.x - 24;
  const bool movable = p.ring.kind == ViewKind::Chunks;
  if (movable) {
    float w = 0;
    const std::array<std::string, 2> transit = {tr("allreduce.toggle.tensor"),
                                                tr("allreduce.toggle.in_transit")};
    if (const auto chosen = p.view.ui.toggle("allreduce.transit", {right, y}, transit, p.state.tensor ? 0 : 1,
                                             Align::Right, &w))
      answer.tensor = *chosen == 0;
    p.view.ui.explain({right - w, y - 18, w, 36}, tr("allreduce.explain.toggle"));
    right -= w + 10;
    const std::array<std::string, 2> shape = {tr("allreduce.toggle.ring"), tr("allreduce.toggle.row")};
    if (const auto chosen =
            p.view.ui.toggle("allreduce.shape", {right, y}, shape, p.state.row ? 1 : 0, Align::Right, &w))
      answer.row = *chosen == 1;
    right -= w + 10;
  }
  draw_legend(p, 24, right);
}

namespace {

/// The end of the last ring step before t that the trace has, else of the first one.
std::optional<std::int64_t> nearest_told(const sim::Trace& trace, std::int64_t t) {
  std::optional<std::int64_t> before, first;
  for (const sim::Event& e : trace.events()) {
    if (e.type != sim::EventType::RingStepEnd) continue;
    if (!first) first = e.t;
    if (e.t < t && (!before || e.t > *before)) before = e.t;
  }
  return before ? before : first;
}

}  // namespace

void draw_message(const Pen& p) {
  const Vec2 m{p.layout.size.x / 2, p.layout.size.y / 2};
  const bool hidden = p.ring.kind == ViewKind::Hidden || p.ring.kind == ViewKind::Untold;
  if (hidden) p.c.glyph(Glyph::Hidden, {m.x, m.y - 60}, 44, p.t.t3, 3);
  float y = m.y;
  for (const Sentence& s : p.ring.now) {
    parts::ParagraphStyle style{
        .size = 22, .line_height = 1.45f, .color = p.t.t1, .face = Face::Bold, .max_lines = 3};
    const float w = std::min(p.layout.size.x - 160, p.c.width(sentence_text(s), 22, Face::Bold) + 4);
    y = parts::paragraph(p.c, {m.x - w / 2, y}, w, sentence_text(s), style);
  }
  if (hidden && p.label(16) > 0) {
    const std::string& why =
        tr(p.ring.kind == ViewKind::Hidden ? "allreduce.hidden_why" : "allreduce.untold_why");
    const float w = std::min(p.layout.size.x - 160, p.c.width(why, 16) + 4);
    y = parts::paragraph(p.c, {m.x - w / 2, y + 10}, w, why, {.size = 16, .color = p.t.t2});
  }
  if (p.ring.kind != ViewKind::Untold) return;
  const std::string& label = tr("allreduce.untold_go");
  const float w = p.c.width(label, 15, Face::Bold) + 64;
  if (!p.view.ui.button("allreduce.told", {m.x - w / 2, y + 14, w, 38}, label)) return;
  if (const auto t = nearest_told(p.view.ctx.trace, p.view.ctx.frame.t)) p.view.emit(action::SeekTo{*t});
}

}  // namespace ringside::app::figure
