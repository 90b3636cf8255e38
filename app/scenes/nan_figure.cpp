#include "app/scenes/nan_figure.hpp"

#include <algorithm>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/text/layout.hpp"

namespace ringside::app {
namespace {

struct Pen {
  View& view;
  Canvas& c;
  const Theme& t;
  const PoisonView& poison;
  const RingView& ring;
  const RingLayout& layout;
  float smallest() const { return (view.ctx.presenter ? 28.0f : 13.0f) / layout.k; }
  PoisonState state(int rank) const { return poison.ranks[static_cast<std::size_t>(rank)]; }
  std::size_t followed() const { return ring.shown(poison.chunk); }
};

const char* state_key(PoisonState state) {
  switch (state) {
    case PoisonState::Source:
      return "nan.rank.source";
    case PoisonState::Poisoned:
      return "nan.rank.poisoned";
    case PoisonState::Next:
      return "nan.rank.next";
    default:
      return "nan.rank.clean";
  }
}

bool bad(PoisonState state) {
  return state == PoisonState::Poisoned || state == PoisonState::Source;
}

/// It brought the NaN itself, whether it still holds it or not.
bool is_source(const Pen& p, int rank) {
  for (const PoisonStop& stop : p.poison.path)
    if (stop.rank == rank) return stop.step == 0;
  return false;
}

void draw_card_frame(const Pen& p, int rank, Rect box, PoisonState state, bool selected, float radius) {
  Canvas& c = p.c;
  if (bad(state)) {
    c.rect(box, {.fill = mix(p.t.card, p.t.nan, .20f), .stroke = p.t.nan, .radius = radius, .width = 2});
    c.dots(box.inset(4), fade(p.t.nan, .26f), 8, 1.2f);
  } else if (state == PoisonState::Next) {
    c.rect(box, {.fill = p.t.card, .stroke = p.t.nan, .radius = radius, .width = 2, .dash = {9, 6}});
  } else {
    c.rect(box, {.fill = p.t.card,
                 .stroke = selected ? p.t.edge : p.t.line,
                 .radius = radius,
                 .width = selected ? 2.0f : 1.0f});
  }
  if (is_source(p, rank)) parts::brackets(c, box.inset(-7), p.t.fail, 16, 3);
}

/// "NaN + 4 = NaN" if this rank adds the followed chunk now, or added it in the last ring step.
const SumView* sum_at(const Pen& p, int rank) {
  for (const SumView& s : p.ring.sums)
    if (s.dst == rank && s.chunk == p.poison.chunk && s.arrived.values.size() == 1 &&
        s.own.values.size() == 1 && s.result.values.size() == 1)
      return &s;
  return nullptr;
}

void draw_sum_text(const Pen& p, const SumView& sum, Rect box) {
  Canvas& c = p.c;
  const std::string left = number_text(sum.arrived.values[0]) + " " + op_sign(p.ring.info.op) + " " +
                           operand_text(sum.own.values[0]) + " = ";
  const std::string right = number_text(sum.result.values[0]);
  float size = std::min(26.0f, box.h * .66f);
  while (size > p.smallest() && c.width(left, size) + c.width(right, size, Face::Bold) > box.w - 16)
    size -= 1;
  const bool nan = sim::is_nan(sum.result.values[0]);
  c.runs(box.center(), {{left, p.t.t2, Face::Regular}, {right, nan ? p.t.nan_text : p.t.t1, Face::Bold}},
         size, Align::Center);
}

/// The number of the followed chunk, large; whose contributions are in it.
void draw_hero_number(const Pen& p, int rank, Rect box) {
  Canvas& c = p.c;
  const CellView& cell = p.ring.cell(rank, p.followed());
  const PoisonState state = p.state(rank);
  if (bad(state)) {
    c.rect(box, {.fill = p.t.stage, .radius = 6});
    if (const SumView* sum = sum_at(p, rank)) return draw_sum_text(p, *sum, box);
  }
  const bool one = cell.numbers.count == 1 && cell.numbers.complete();
  if (bad(state) && one) {
    const std::string text = number_text(cell.numbers.values[0]);
    c.text(box.center(), text,
           {.size = std::min(32.0f, box.h * .8f),
            .color = p.t.nan_text,
            .face = bad(state) ? Face::Bold : Face::Regular,
            .align = Align::Center});
    return;
  }
  if (bad(state)) {  // several numbers: how many of them
    const std::string count =
        cell.numbers.nan_count > 0 ? std::to_string(cell.numbers.nan_count) : tr("nan.some");
    const std::string of = " / " + std::to_string(cell.numbers.count) + " NaN";
    float size = std::min(26.0f, box.h * .7f);
    while (size > p.smallest() && c.width(count, size, Face::Bold) + c.width(of, size) > box.w - 12)
      size -= 1;
    c.runs(box.center(), {{count, p.t.nan_text, Face::Bold}, {of, p.t.t2, Face::Regular}}, size,
           Align::Center);
    return;
  }
  const float bars = box.w >= 150 ? std::min(124.0f, box.w * .6f) : 0;
  const Rect number{box.x + 4, box.y, box.w - bars - 12, box.h};
  const CellContent content = fit_numbers(cell.numbers, number, 32, p.smallest(), c.fonts());
  draw_content(c, content, cell.numbers, number, heat_scale(p.ring), p.t.t1, Face::Bold);
  if (bars > 0 && p.ring.world <= kRankColors)
    parts::contributions(c, {box.right() - bars, box.center().y - 5, bars, 10}, cell.contributions,
                         p.ring.world);
  else if (bars > 0)
    parts::share_bar(c, {box.right() - bars, box.center().y - 3, bars, 6}, cell.contribution_count,
                     p.ring.world);
}

/// All chunks of a rank in one row; the followed one framed, NaN crossed.
void draw_cells_row(const Pen& p, int rank, Rect box, PoisonAnswer& answer) {
  Canvas& c = p.c;
  const auto n = static_cast<float>(p.ring.chunks.size());
  const float gap = n > 24 ? 1.0f : 3.0f, w = (box.w - gap * (n - 1)) / n;
  for (std::size_t i = 0; i < p.ring.chunks.size(); ++i) {
    const CellView& cell = p.ring.cell(rank, i);
    const Rect r{box.x + static_cast<float>(i) * (w + gap), box.y, w, box.h};
    const bool passed = cell.state == sim::CellState::PassedOn;
    if (cell.poisoned) {
      c.rect(r, {.fill = passed ? Color{} : p.t.nan, .stroke = p.t.nan, .radius = 4});
      c.glyph(Glyph::Cross, r.center(), std::min(9.0f, w * .6f), passed ? p.t.nan_text : p.t.on(p.t.nan), 2);
    } else {
      c.rect(r, {.fill = passed ? Color{} : p.t.raised, .stroke = passed ? p.t.line : Color{}, .radius = 4});
      const float size = std::max(13.0f, p.smallest());
      const std::string all = numbers_text(cell.numbers);
      const std::string text = cell.numbers.count == 1 || w < 64 ? all : fit(c.fonts(), all, w - 6, size);
      if (cell.numbers.complete() && c.width(text, size) <= w - 3)
        c.text(r.center(), text,
               {.size = size, .color = passed ? p.t.t3 : p.t.t1, .align = Align::Center, .on_shape = true});
    }
    if (i == p.followed()) c.rect(r.inset(-2), {.stroke = p.t.t1, .radius = 6, .width = 2});
    const Hit hit = p.view.ui.hit(
        "nan.rank" + std::to_string(rank) + ".c" + std::to_string(p.ring.chunks[i]), r,
        {.focusable = p.ring.world <= 8, .explain = tr("nan.explain.cell", {chunk_name(p.ring.chunks[i])})});
    if (hit.clicked) {
      answer.clicked_rank = rank;
      answer.clicked_chunk = p.ring.chunks[i];
    }
  }
}

void draw_card(const Pen& p, const CardBox& card, PoisonAnswer& answer) {
  Canvas& c = p.c;
  const Rect b = card.box;
  const PoisonState state = p.state(card.rank);
  draw_card_frame(p, card.rank, b, state, p.view.ctx.selection.rank == card.rank, 12);
  const Hit whole = p.view.ui.hit("nan.rank" + std::to_string(card.rank), b,
                                  {.explain = tr("nan.explain.rank", {parts::rank_name(card.rank)})});
  if (whole.clicked) answer.clicked_rank = card.rank;
  const float size = std::max(14.0f, p.smallest());
  const float tag = parts::rank_tag(
      c, {b.x + 12, b.y + 21}, card.rank,
      {.width = 34, .height = size * 1.55f, .size = size, .neutral = p.ring.world > kRankColors});
  const std::string word = fit(c.fonts(), tr(state_key(state)), b.w - tag - 40, size);
  const Color word_color = state == PoisonState::Clean ? p.t.t2 : p.t.nan_text;
  if (!word.empty()) {
    const float x = b.x + 12 + tag + 8;
    if (bad(state)) {
      c.rect({x - 2, b.y + 21 - size * .78f, c.width(word, size) + 16, size * 1.56f},
             {.fill = p.t.stage, .radius = 5});
      c.text({x + 6, b.y + 21}, word, {.size = size, .color = word_color, .on_shape = true});
    } else {
      c.text({x, b.y + 21}, word, {.size = size, .color = word_color});
    }
  }
  if (p.ring.chunks.size() == 1) {  // the hero is all there is
    draw_hero_number(p, card.rank, {b.x + 12, b.y + 40, b.w - 24, b.h - 54});
    return;
  }
  const float row = std::clamp(b.h * .2f, 22.0f, 30.0f);
  Rect cells{b.x + 12, b.bottom() - row - 12, b.w - 24, row};
  const Rect hero{b.x + 12, b.y + 40, b.w - 24, cells.y - b.y - 50};
  if (hero.h >= p.smallest())
    draw_hero_number(p, card.rank, hero);
  else  // a card too low for both: the chunks are the story
    cells = {cells.x, b.y + 48, cells.w, b.bottom() - 12 - (b.y + 48)};
  draw_cells_row(p, card.rank, cells, answer);
}

void draw_square(const Pen& p, const CardBox& card, PoisonAnswer& answer) {
  Canvas& c = p.c;
  const Rect b = card.box;
  const PoisonState state = p.state(card.rank);
  const float radius = b.w >= 60 ? 10.0f : 5.0f;
  if (bad(state)) {
    c.rect(b, {.fill = p.t.nan, .radius = radius});
  } else {
    c.rect(b, {.fill = p.t.raised,
               .stroke = state == PoisonState::Next ? p.t.nan : Color{},
               .radius = radius,
               .width = 2,
               .dash = {6, 4}});
  }
  if (is_source(p, card.rank)) parts::brackets(c, b.inset(-5), p.t.fail, 8, 2.5f);
  if (p.view.ctx.selection.rank == card.rank)
    c.rect(b.inset(-4), {.stroke = p.t.t1, .radius = radius + 3, .width = 2});
  const float size = std::max(13.0f, p.smallest());
  const std::string text = std::to_string(card.rank);
  const Color ink = bad(state) ? p.t.on(p.t.nan) : p.t.t1;
  if (c.width(text, size, Face::Bold) <= b.w - 4)
    c.text({b.center().x, b.center().y - (bad(state) && b.h >= 44 ? 8.0f : 0)}, text,
           {.size = size, .color = ink, .face = Face::Bold, .align = Align::Center, .on_shape = true});
  if (bad(state) && b.h >= 44) c.glyph(Glyph::Cross, {b.center().x, b.center().y + 10}, 9, ink, 2.2f);
  const Hit hit = p.view.ui.hit(
      "nan.rank" + std::to_string(card.rank), b.inset(-2),
      {.explain = tr("nan.explain.square", {parts::rank_name(card.rank), tr(state_key(state))})});
  if (hit.clicked) answer.clicked_rank = card.rank;
}

/// A link that the followed chunk's NaN has taken is magenta, the one that it takes next is dashed.
void draw_links(const Pen& p) {
  const auto took = [&](const LinkBox& link) {
    return bad(p.state(link.src)) && p.state(link.dst) == PoisonState::Poisoned;
  };
  const auto next = [&](const LinkBox& link) {
    return bad(p.state(link.src)) && p.state(link.dst) == PoisonState::Next;
  };
  for (const LinkBox& link : p.layout.links) {
    if (link.path.points.size() < 2) continue;
    const bool magenta = took(link), dashed = next(link);
    const auto& points = link.path.points;
    const bool small = link.path.length() < 40;
    if (dashed) {
      p.c.dashed(points, p.t.nan, 3, {9, 6});
    } else if (points.size() == 2) {
      parts::link(p.c, points[0], points[1],
                  {.width = magenta ? 5.0f : 3.0f,
                   .chevrons = small ? 0 : 3,
                   .color = magenta ? p.t.nan : p.t.edge,
                   .chevron = magenta ? p.t.nan : p.t.t2});
    } else {
      p.c.stroke(points, magenta ? p.t.nan : p.t.edge, magenta ? 5.0f : 3.0f);
    }
  }
}

/// The hole in the ring: free of cards, as wide as it is at the height of `middle`.
Rect hole(const Pen& p, Vec2 middle) {
  float left = 0, right = p.layout.size.x, top = 0, bottom = p.layout.size.y;
  for (const CardBox& card : p.layout.cards) {
    const Rect& b = card.box;
    if (b.y < middle.y && b.bottom() > middle.y) {
      if (b.center().x < middle.x) left = std::max(left, b.right());
      else right = std::min(right, b.x);
    } else if (b.center().y < middle.y) {
      top = std::max(top, b.bottom());
    } else {
      bottom = std::min(bottom, b.y);
    }
  }
  return {left, top, right - left, bottom - top};
}

/// What of the whole world, or of all cells, is poisoned.
struct Count {
  int n = 0, of = 0;
  std::string what, where;
};

void draw_count(const Pen& p, Vec2 at, float room, float big, const Count& count) {
  Canvas& c = p.c;
  const float label = std::max(15.0f, p.smallest()), quiet = std::max(14.0f, p.smallest());
  const std::string number = std::to_string(count.n), rest = " / " + std::to_string(count.of);
  float size = big;
  while (size > 20 && c.width(number, size, Face::Bold) + c.width(rest, size) > room - 10) size -= 2;
  c.runs({at.x, at.y - 18},
         {{number, count.n > 0 ? p.t.nan_text : p.t.t1, Face::Bold}, {rest, p.t.t3, Face::Regular}}, size,
         Align::Center);
  c.text({at.x, at.y + 24}, fit(c.fonts(), count.what, room, label, Face::Bold),
         {.size = label, .face = Face::Bold, .align = Align::Center});
  if (!count.where.empty())
    c.text({at.x, at.y + 24 + label * 1.5f}, fit(c.fonts(), count.where, room, quiet),
           {.size = quiet, .color = p.t.t2, .align = Align::Center});
}

/// "3 / 8 ranks passed" and "0 / 64 cells NaN", side by side; a presenter whose ring leaves no room for both
/// has the first.
void draw_counts(const Pen& p) {
  Canvas& c = p.c;
  const Vec2 m = p.layout.dial_radius > 0 && p.layout.form != Form::Squares
                     ? p.layout.dial
                     : Vec2{p.layout.size.x / 2, p.layout.size.y / 2};
  const float quiet = std::max(14.0f, p.smallest());
  const bool presenter = p.view.ctx.presenter;
  const float free = p.layout.form == Form::Squares ? p.layout.size.x : hole(p, m).w - 32;
  const float wanted = presenter ? 170.0f : 96.0f, big = presenter ? 56.0f : 44.0f;
  const bool both = !presenter || free >= 4 * wanted;
  if (p.ring.steps > 0)
    c.text({m.x, m.y - 70},
           tr("nan.ring_step", {std::to_string(p.ring.ring_step), std::to_string(p.ring.steps)}),
           {.size = quiet, .color = p.t.t2, .align = Align::Center});
  const Count ranks{p.poison.ranks_poisoned, p.ring.world, tr("nan.count.ranks"),
                    both ? tr("nan.count.transit") : std::string()};
  const Count cells{p.poison.cells_poisoned, p.poison.cells, tr("nan.count.cells"), tr("nan.count.finished")};
  if (both) {
    draw_count(p, {m.x - wanted, m.y}, 2 * wanted - 10, big, ranks);
    c.line({m.x, m.y - 38}, {m.x, m.y + 52}, p.t.line);
    draw_count(p, {m.x + wanted, m.y}, 2 * wanted - 10, big, cells);
  } else {
    draw_count(p, m, free, big, ranks);
  }
  std::string end;
  if (p.poison.hides && p.poison.cells_at_end == 0 && p.poison.any)
    end = tr("nan.end.hidden", {std::string(sim::to_word(p.ring.info.op))});
  else if (p.poison.any && p.ring.steps > 0)
    end = tr("nan.end.holds", {std::to_string(p.ring.steps), std::to_string(p.poison.cells_at_end),
                               std::to_string(p.poison.cells)});
  const float room = std::min({p.layout.size.x - 40, 4 * wanted + 30, presenter ? free : 1e9f});
  if (!end.empty() && (!presenter || c.width(end, quiet) <= room))  // a presenter's caption says it too
    c.text({m.x, m.y + 96}, fit(c.fonts(), end, room, quiet),
           {.size = quiet, .color = p.t.t2, .align = Align::Center});
}

void draw_legend(const Pen& p) {
  if (p.layout.legend_y <= 0 || 14 + .01f < p.smallest()) return;
  Canvas& c = p.c;
  float x = 24;
  const float y = p.layout.legend_y;
  const auto item = [&](const std::string& text, const auto& mark) {
    if (x + 26 + c.width(text, 14) > p.layout.size.x - 8) return;
    mark(Rect{x, y - 9, 18, 18});
    c.text({x + 27, y}, text, {.size = 14, .color = p.t.t2});
    x += 27 + c.width(text, 14) + 24;
  };
  item(tr("nan.legend.following", {chunk_name(p.poison.chunk)}),
       [&](Rect r) { c.rect(r, {.stroke = p.t.t1, .radius = 5, .width = 2}); });
  item(tr("nan.legend.poisoned"), [&](Rect r) {
    c.rect(r, {.fill = p.t.nan, .radius = 5});
    c.glyph(Glyph::Cross, r.center(), 9, p.t.on(p.t.nan), 2);
  });
  item(tr("nan.legend.next"), [&](Rect r) {
    c.rect(r, {.stroke = p.t.nan, .radius = 5, .width = 2, .dash = {4, 3}});
  });
  item(tr("nan.legend.first"), [&](Rect r) { parts::brackets(c, r, p.t.fail, 6, 2.5f); });
}

void draw_message(const Pen& p, const std::string& title, const std::string& text) {
  const Vec2 m{p.layout.size.x / 2, p.layout.size.y / 2};
  p.c.glyph(Glyph::Poison, {m.x, m.y - 70}, 44, p.t.t3, 2.4f);
  p.c.text({m.x, m.y - 14}, fit(p.c.fonts(), title, p.layout.size.x - 60, 22, Face::Bold),
           {.size = std::max(22.0f, p.smallest()), .face = Face::Bold, .align = Align::Center});
  const float size = std::max(16.0f, p.smallest());
  float y = m.y + 24;
  for (const std::string& line : wrap(p.c.fonts(), text, p.layout.size.x * .7f, size, Face::Regular, 4)) {
    p.c.text({m.x, y}, line, {.size = size, .color = p.t.t2, .align = Align::Center});
    y += size * 1.5f;
  }
}

}  // namespace

PoisonAnswer draw_poison_figure(View& view, const PoisonView& poison, const RingView& ring,
                                const RingLayout& layout) {
  PoisonAnswer answer;
  const Pen p{view, view.canvas, view.canvas.theme(), poison, ring, layout};
  view.canvas.push_figure(layout.origin, layout.k);
  if (ring.kind != ViewKind::Chunks) {
    if (ring.kind == ViewKind::TooMany || ring.kind == ViewKind::Hidden || ring.kind == ViewKind::Untold)
      draw_message(
          p, tr("nan.message.counted", {std::to_string(poison.ranks_poisoned), std::to_string(ring.world)}),
          tr("nan.message.no_chunks"));
    else
      draw_message(p, tr("nan.message.nothing"), tr("nan.message.nothing_more"));
  } else {
    draw_links(p);
    for (const CardBox& card : layout.cards)
      if (layout.form == Form::Squares)
        draw_square(p, card, answer);
      else
        draw_card(p, card, answer);
    draw_counts(p);
    draw_legend(p);
  }
  view.canvas.pop_figure();
  return answer;
}

}  // namespace ringside::app
