// One chunk on one rank: how it looks in each state, and what hovering says.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/allreduce_pen.hpp"

namespace ringside::app::figure {

using sim::CellState;

namespace {

std::string contributors_text(const RingView& ring, std::uint64_t have) {
  std::string out;
  for (int r = 0; r < ring.world && r < 64; ++r)
    if ((have >> r) & 1u) out += (out.empty() ? "R" : ", R") + std::to_string(r);
  return out;
}

}  // namespace

Selection chunk_selection(const RingView& ring, int rank, std::uint32_t chunk) {
  Selection out;
  out.rank = rank;
  out.chunk = chunk;
  if (chunk < ring.info.chunks.chunks.size()) out.element = ring.info.chunks.chunks[chunk].offset;
  return out;
}

std::string cell_sentence(const RingView& ring, int rank, std::size_t shown, bool tensor) {
  const CellView& cell = ring.cell(rank, shown);
  const std::string who = parts::rank_name(rank), chunk = chunk_name(ring.chunks[shown]),
                    what = numbers_text(cell.numbers);
  const std::string count = std::to_string(cell.contribution_count), world = std::to_string(ring.world);
  if (cell.finished) return tr("allreduce.explain.cell_finished", {who, chunk, what, world});
  if (tensor && cell.state != CellState::Complete)
    return tr("allreduce.explain.cell_tensor", {who, chunk, what});
  switch (cell.state) {
    case CellState::Own:
      return tr("allreduce.explain.cell_own", {who, chunk, what});
    case CellState::PassedOn:
      return tr("allreduce.explain.cell_passed", {who, chunk, what});
    case CellState::Arriving:
      return tr("allreduce.explain.cell_arriving", {who, chunk, what});
    case CellState::Adding:
      return tr("allreduce.explain.cell_adding", {who, chunk, what, count, world});
    case CellState::Partial:
      return ring.world > kRankColors
                 ? tr("allreduce.explain.cell_partial_many", {who, chunk, what, count, world})
                 : tr("allreduce.explain.cell_partial",
                      {who, chunk, what, contributors_text(ring, cell.contributions)});
    case CellState::Complete:
      return tr("allreduce.explain.cell_complete", {who, chunk, what, world});
  }
  return {};
}

bool is_poisoned(const CellView& cell) {
  return cell.poisoned || cell.numbers.nan_count > 0 || cell.numbers.inf_count > 0;
}

Look look_of(const Theme& t, const CellView& cell) {
  Look l{.fill = t.raised, .number = t.t1, .label = t.t3, .glyph_color = t.t1};
  switch (cell.state) {
    case CellState::Own:
      break;
    case CellState::Partial:
      l.fill = t.strong(.10f);
      l.stroke = t.dark ? Color{} : t.edge;
      l.label = t.t2;
      break;
    case CellState::PassedOn:
      l = {.fill = t.card,
           .stroke = t.line,
           .number = t.t3,
           .label = t.t3,
           .alpha = .45f,
           .face = Face::Regular,
           .glyph = Glyph::Send,
           .glyph_color = t.t3};
      break;
    case CellState::Arriving:
      l.stroke = t.t2;
      l.width = 1.5f;
      l.dash = {4, 4};
      l.glyph = Glyph::Receive;
      l.glyph_color = t.t2;
      break;
    case CellState::Adding:
      l.fill = t.strong();
      l.stroke = t.t1;
      l.width = 2.5f;
      l.label = t.t2;
      l.glyph = Glyph::Plus;
      break;
    case CellState::Complete:
      l.fill = t.strong();
      l.stroke = t.t1;
      l.width = 1.5f;
      l.label = t.t2;
      l.glyph = Glyph::Check;
      break;
  }
  if (is_poisoned(cell) && cell.state != CellState::PassedOn) {
    l.fill = mix(t.card, t.nan, .24f);
    l.stroke = t.nan;
    l.width = 2;
    l.dash = {};
    l.dots = true;
    l.label = t.t2;
  }
  return l;
}

namespace {

/// The state as it is drawn: a cell whose sum is still on its link counts as adding.
CellState shown_state(const RingView& ring, int rank, std::size_t shown) {
  const CellView& cell = ring.cell(rank, shown);
  if (cell.state == CellState::Complete && ring.reducing) {
    for (const SumView& sum : ring.sums)
      if (sum.dst == rank && ring.shown(sum.chunk) == shown) return CellState::Adding;
  }
  if (cell.state == CellState::Partial || cell.state == CellState::Own)
    for (const SumView& sum : ring.sums)
      if (sum.dst == rank && ring.shown(sum.chunk) == shown) return CellState::Adding;
  return cell.state;
}

}  // namespace

void draw_cell(const Pen& p, const CellBox& box, int rank, std::size_t shown) {
  Canvas& c = p.c;
  CellView cell = p.ring.cell(rank, shown);
  cell.state = p.state.tensor ? cell.state : shown_state(p.ring, rank, shown);
  const Look l = look_of(p.t, cell);
  const bool small = box.box.h < 20 || box.box.w < 20;
  const float radius = small ? 0.0f : box.box.h < 50 ? 4.0f : 6.0f;
  Color fill = l.fill;
  if (!p.colours() && (cell.state == CellState::Partial || cell.state == CellState::Own) && !l.dots) {
    const float share = static_cast<float>(cell.contribution_count) / static_cast<float>(p.ring.world);
    fill = mix(p.t.raised, p.t.edge, share * .8f);
  }
  const bool fine_line = small && !l.dash.on;
  c.rect(box.box, {.fill = fill, .radius = radius});
  if (l.dots) c.dots(box.box.inset(2), fade(p.t.nan, .30f), 6, 1.3f);
  if (l.stroke.visible() && !(small && cell.state == CellState::PassedOn))
    c.rect(box.box, {.stroke = l.stroke,
                     .radius = radius,
                     .width = fine_line ? std::min(l.width, 1.0f) : l.width,
                     .dash = l.dash});
  const float label = std::max(13.0f, p.smallest());
  const Rect b = box.box;
  if (p.follows(p.ring.chunks[shown]))
    c.rect(b.inset(-1), {.stroke = p.t.accent, .radius = radius + 1, .width = small ? 1.0f : 2.5f});
  if (box.label && p.label(label) > 0)
    c.text({b.x + 8, b.y + label}, chunk_name(p.ring.chunks[shown]), {.size = label, .color = l.label});
  if (box.glyph && l.glyph != Glyph::None && box.label)
    c.glyph(l.glyph, {b.right() - 14, b.y + 13},
            l.glyph == Glyph::Send || l.glyph == Glyph::Receive ? 11 : 12, l.glyph_color,
            l.glyph == Glyph::Plus || l.glyph == Glyph::Check ? 2.0f : 0.0f);
  const Rect inner{b.x + 3, b.y + (box.label ? 23.0f : 2.0f), b.w - 6,
                   b.h - (box.label ? 23.0f : 2.0f) - (box.bar ? (b.h >= 76 ? 20.0f : 9.0f) : 3.0f)};
  draw_content(c, box.content, cell.numbers, inner, p.most, l.number, l.face);
  if (box.bar) {
    const float h = b.h >= 76 ? 8 : 4, side = b.w >= 56 ? 8.0f : 4.0f;
    draw_contributions(c, {b.x + side, b.bottom() - h - (b.h >= 76 ? 8.0f : 4.0f), b.w - 2 * side, h},
                       cell.contributions, p.ring.world, l.alpha);
  }
}

}  // namespace ringside::app::figure
