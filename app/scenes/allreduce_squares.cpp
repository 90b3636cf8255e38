// More than eight GPUs: squares on the ring and one rank close up.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/allreduce_pen.hpp"

namespace ringside::app::figure {
namespace {

/// The working number that a square shows: of the chunk it adds, or got last.
const CellView* latest_cell(const RingView& ring, int rank) {
  const CellView* best = nullptr;
  for (std::size_t i = 0; i < ring.chunks.size(); ++i) {
    const CellView& cell = ring.cell(rank, i);
    if (cell.after_transfer >= 0 && (best == nullptr || cell.after_transfer > best->after_transfer))
      best = &cell;
  }
  return best;
}

}  // namespace

void draw_square(const Pen& p, const CardBox& card, FigureAnswer& answer) {
  Canvas& c = p.c;
  const Rect b = card.box;
  const RankView& r = p.ring.ranks[static_cast<std::size_t>(card.rank)];
  const bool hot = is_hot(p, card.rank), selected = card.rank == p.layout.close_up_rank;
  const Note trouble = trouble_note(p.t, r.status);
  const Color fill = hot          ? p.t.accent
                     : r.finished ? p.t.strong()
                                  : mix(p.t.raised, p.t.edge, static_cast<float>(r.share) * .8f);
  const Color ink = hot ? p.t.ink : p.t.t1;
  c.rect(b, {.fill = fill, .radius = b.w >= 60 ? 10.0f : 5.0f});
  if (r.poisoned) c.dots(b.inset(3), fade(p.t.nan, .5f), 6, 1.3f);
  if (r.poisoned || !trouble.text.empty())
    c.rect(b,
           {.stroke = r.poisoned ? p.t.nan : trouble.color, .radius = b.w >= 60 ? 10.0f : 5.0f, .width = 2});
  if (selected) c.rect(b.inset(-4), {.stroke = p.t.t1, .radius = b.w >= 60 ? 13.0f : 8.0f, .width = 2});
  if (b.w >= 60) {
    c.text({b.x + 9, b.y + 15}, parts::rank_name(card.rank),
           {.size = std::max(14.0f, p.smallest()), .color = hot ? p.t.ink : p.t.t2, .face = Face::Bold});
    if (const CellView* cell = latest_cell(p.ring, card.rank)) {
      const CellContent content =
          fit_numbers(cell->numbers, {b.x + 4, b.y + 24, b.w - 8, b.h - 42}, 24, p.smallest(), c.fonts());
      draw_content(c, content, cell->numbers, {b.x + 4, b.y + 24, b.w - 8, b.h - 42}, p.most, ink,
                   Face::Bold);
    } else {
      const CellContent content =
          fit_numbers(p.ring.cell(card.rank, 0).numbers, {b.x + 4, b.y + 24, b.w - 8, b.h - 42}, 24,
                      p.smallest(), c.fonts());
      draw_content(c, content, p.ring.cell(card.rank, 0).numbers, {b.x + 4, b.y + 24, b.w - 8, b.h - 42},
                   p.most, p.t.t2, Face::Bold);
    }
    const float share = static_cast<float>(r.share), w = b.w - 18;
    c.rect({b.x + 9, b.bottom() - 13, w, 5}, {.fill = fade(hot ? p.t.ink : p.t.t3, .35f), .radius = 2.5f});
    c.rect({b.x + 9, b.bottom() - 13, std::max(5.0f, w * share), 5},
           {.fill = hot ? p.t.ink : p.t.t1, .radius = 2.5f});
  } else if (p.smallest() <= 13.01f && b.w >= 20) {
    c.text(b.center(), std::to_string(card.rank),
           {.size = 13, .color = ink, .face = Face::Bold, .align = Align::Center, .on_shape = true});
  }
  const Hit hit = p.view.ui.hit(
      "allreduce.rank" + std::to_string(card.rank), b.inset(-2),
      {.explain =
           tr("allreduce.explain.square",
              {parts::rank_name(card.rank), std::to_string(static_cast<int>(std::lround(r.share * 100)))})});
  if (hit.clicked) answer.clicked_rank = card.rank;
  if (hit.menu) answer.menu = Selection{.rank = card.rank};
}

/// The light from the chosen square to its close-up, under everything else.
void draw_beam(const Pen& p) {
  const RingLayout& l = p.layout;
  if (l.close_up_rank < 0) return;
  Canvas& c = p.c;
  const Rect b = l.close_up, square = l.cards[static_cast<std::size_t>(l.close_up_rank)].box;
  const Vec2 sc = square.center(), bc = b.center();
  const Vec2 d = bc - sc;
  const bool vertical = std::fabs(d.y) * b.w > std::fabs(d.x) * b.h;
  const Color light = p.t.dark ? p.t.t1 : p.t.edge;
  if (vertical) {
    const float y0 = d.y > 0 ? square.bottom() + 4 : square.y - 4, y1 = d.y > 0 ? b.y : b.bottom();
    parts::beam(c, {square.x, y0}, {square.right(), y0}, {b.right(), y1}, {b.x, y1}, light);
  } else {
    const float x0 = d.x > 0 ? square.right() + 4 : square.x - 4, x1 = d.x > 0 ? b.x : b.right();
    parts::beam(c, {x0, square.y}, {x0, square.bottom()}, {x1, b.bottom()}, {x1, b.y}, light);
  }
}

void draw_close_up(const Pen& p, FigureAnswer& answer) {
  const RingLayout& l = p.layout;
  if (l.close_up_rank < 0) return;
  Canvas& c = p.c;
  const Rect b = l.close_up;
  c.rect(b, {.fill = p.t.card, .stroke = p.t.edge, .radius = 12});
  CardBox header{.rank = l.close_up_rank, .box = b, .header = true};
  draw_header(p, header);
  const bool has_sum = std::any_of(p.ring.sums.begin(), p.ring.sums.end(),
                                   [&](const SumView& s) { return s.dst == l.close_up_rank; });
  if (!has_sum && p.label(14) > 0) {
    const RankView& r = p.ring.ranks[static_cast<std::size_t>(l.close_up_rank)];
    int complete = 0;
    for (std::size_t i = 0; i < p.ring.chunks.size(); ++i)
      complete += p.ring.cell(l.close_up_rank, i).contribution_count == p.ring.world ? 1 : 0;
    const std::string chunks = std::to_string(p.ring.chunks.size());
    c.runs({b.x + 16, b.y + 66},
           {{std::to_string(complete), p.t.t1, Face::Bold}, {" / " + chunks, p.t.t2, Face::Regular}}, 28);
    c.text({b.x + 16, b.y + 92}, tr("allreduce.close_up.complete"), {.size = 14, .color = p.t.t2});
    parts::share_bar(c, {b.x + 16, b.y + 108, b.w - 32, 6}, static_cast<int>(std::lround(r.share * 1000)),
                     1000);
  }
  for (std::size_t i = 0; i < l.close_up_cells.size(); ++i) {
    draw_cell(p, l.close_up_cells[i], l.close_up_rank, i);
    const Hit hit = p.view.ui.hit(
        "allreduce.closeup.c" + std::to_string(p.ring.chunks[i]), l.close_up_cells[i].box,
        {.focusable = false, .explain = cell_sentence(p.ring, l.close_up_rank, i, p.state.tensor)});
    if (hit.clicked) {
      answer.clicked_rank = l.close_up_rank;
      answer.clicked_chunk = p.ring.chunks[i];
      answer.clicked_box = c.to_window(l.close_up_cells[i].box);
    }
    if (hit.menu) answer.menu = chunk_selection(p.ring, l.close_up_rank, p.ring.chunks[i]);
  }
}

}  // namespace ringside::app::figure
