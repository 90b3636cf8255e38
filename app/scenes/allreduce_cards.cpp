// A GPU as a card: its tag, what it does, its cells.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "app/draw/parts.hpp"
#include "app/draw/rank_place.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/allreduce_pen.hpp"

namespace ringside::app::figure {

using sim::CellState;

namespace {

std::string doing_text(const Activity& a) {
  const char* key = a.doing == Doing::Adds    ? "allreduce.does.adds"
                    : a.doing == Doing::Sends ? "allreduce.does.sends"
                                              : "allreduce.does.receives";
  return tr(key, {chunk_name(a.chunk)});
}

Glyph doing_glyph(Doing doing) {
  return doing == Doing::Adds ? Glyph::Plus : doing == Doing::Sends ? Glyph::Send : Glyph::Receive;
}

}  // namespace

Note trouble_note(const Theme& t, sim::RankStatus status) {
  switch (status) {
    case sim::RankStatus::Dead:
      return {tr("allreduce.rank.dead"), {Glyph::Cross}, false, true, t.fail_text};
    case sim::RankStatus::TimedOut:
      return {tr("allreduce.rank.timed_out"), {Glyph::Clock}, false, true, t.stall_text};
    case sim::RankStatus::Stalled:
      return {tr("allreduce.rank.stalled"), {Glyph::Hourglass}, false, true, t.stall_text};
    case sim::RankStatus::Silent:
      return {tr("allreduce.rank.silent"), {Glyph::Hidden}, false, true, t.stall_text};
    case sim::RankStatus::Terminated:
      return {tr("allreduce.rank.terminated"), {Glyph::Stop}, false, false, t.t1};
    case sim::RankStatus::Aborted:
      return {tr("allreduce.rank.aborted"), {Glyph::Stop}, false, false, t.t1};
    default:
      return {};
  }
}

namespace {

Note note_of(const Pen& p, int rank) {
  const RankView& r = p.ring.ranks[static_cast<std::size_t>(rank)];
  Note note = trouble_note(p.t, r.status);
  if (!note.text.empty()) return note;
  const bool first = p.layout.form == Form::OneNumber;
  if (p.ring.world == 1) return {tr("allreduce.rank.alone"), {Glyph::Check}, false, false, p.t.t2};
  std::vector<Activity> doing = r.activities;
  if (doing.size() > 2) doing.resize(2);
  for (const Activity& a : doing) {
    if (!note.text.empty()) note.text += ", ";
    note.text += first ? tr(a.doing == Doing::Adds    ? "allreduce.rank.adds"
                            : a.doing == Doing::Sends ? "allreduce.rank.sends"
                                                      : "allreduce.rank.receives")
                       : doing_text(a);
    note.glyphs.push_back(doing_glyph(a.doing));
    note.hot = note.hot || a.doing == Doing::Adds;
  }
  note.color = note.hot && first ? p.t.t1 : p.t.t2;
  if (!note.text.empty()) return note;
  if (r.dividing) return {"÷ " + std::to_string(p.ring.world), {}, false, true, p.t.t1};
  if (r.finished) return {tr("allreduce.rank.done"), {Glyph::Check}, false, false, p.t.t2};
  if (!r.entered) return {tr("allreduce.rank.elsewhere"), {}, false, false, p.t.t3};
  if (first) {
    const CellState s = p.ring.cell(rank, 0).state;
    if (s == CellState::PassedOn)
      return {tr("allreduce.rank.passed_on"), {Glyph::Send}, false, false, p.t.t2};
    if (s == CellState::Complete) return {tr("allreduce.rank.has_it"), {Glyph::Check}, false, false, p.t.t2};
    for (const SumView& sum : p.ring.sums)
      if ((sum.dst + 1) % p.ring.world == rank) return {tr("allreduce.rank.next"), {}, true, false, p.t.t2};
  }
  return {tr("allreduce.rank.waits"), {}, true, false, p.t.t2};
}

}  // namespace

bool is_hot(const Pen& p, int rank) {
  return std::any_of(p.ring.sums.begin(), p.ring.sums.end(), [&](const SumView& s) { return s.dst == rank; });
}

void draw_header(const Pen& p, const CardBox& card) {
  Canvas& c = p.c;
  const Rect b = card.box;
  const bool large = b.h >= 140, first = p.layout.form == Form::OneNumber;
  const float size = std::max(card.tag_size, p.smallest());
  const float y = b.y + (first ? 27.0f : large ? 23.0f : 20.0f), h = first ? 28 : large ? 24.0f : 20.0f;
  const std::string name = parts::rank_name(card.rank);
  const std::string full =
      parts::rank_place(card.rank, p.ring.ranks[static_cast<std::size_t>(card.rank)].local_rank);
  const bool long_name = b.w >= 240 && !p.view.ctx.presenter;
  const float tag = parts::rank_tag(c, {b.x + (b.w >= 240 ? 14.0f : 10.0f), y}, card.rank,
                                    {.width = 30,
                                     .height = std::max(h, size * 1.35f),
                                     .size = size,
                                     .neutral = !p.colours(),
                                     .label = long_name ? full : name});
  Note note = note_of(p, card.rank);
  const float text_size = p.label(14);
  if (text_size <= 0) return;
  float room = b.w - tag - 34;
  const float glyph_step = 20;
  const float glyphs = static_cast<float>(note.glyphs.size()) * glyph_step + (note.waits ? 26.0f : 0);
  const Face face = note.hot && first ? Face::Bold : Face::Regular;
  if (c.width(note.text, text_size, face) + glyphs >
      room) {  // labels go first: only the first thing, then only the glyphs
    note.text = note.text.substr(0, note.text.find(','));
    if (note.glyphs.size() > 1) note.glyphs.resize(1);
    const float left = static_cast<float>(note.glyphs.size()) * glyph_step + (note.waits ? 26.0f : 0);
    if (c.width(note.text, text_size, face) + left > room) note.text.clear();
    if (left > room + 8) note = {};
  }
  const float w = c.width(note.text, text_size, face) + static_cast<float>(note.glyphs.size()) * glyph_step +
                  (note.waits ? 26.0f : 0);
  float x = first ? b.right() - 16 - w : b.x + (b.w >= 240 ? 14.0f : 10.0f) + tag + 10;
  if (note.waits) {
    parts::wait_box(c, {x, y - 8, 18, 16}, note.color);
    x += 26;
  }
  for (const Glyph g : note.glyphs) {
    c.glyph(g, {x + 6, y}, 13, note.color, 1.7f);
    x += glyph_step;
  }
  if (!note.text.empty())
    c.text({x + (note.glyphs.empty() ? 0 : 2.0f), y}, note.text,
           {.size = text_size, .color = note.color, .face = face});
}

namespace {

void draw_one_number(const Pen& p, const CardBox& card) {
  Canvas& c = p.c;
  const Rect b = card.box;
  const CellView& cell = p.ring.cell(card.rank, 0);
  const bool sent = cell.state == CellState::PassedOn && !p.state.tensor;
  const bool bad = is_poisoned(cell) && !sent;
  if (bad) c.dots({b.x + 8, b.y + 46, b.w - 16, b.h - 84}, fade(p.t.nan, .30f), 6, 1.3f);
  draw_content(c, card.cells[0].content, cell.numbers, card.cells[0].box, p.most,
               sent  ? p.t.t3
               : bad ? p.t.nan_text
                     : p.t.t1,
               sent ? Face::Regular : Face::Bold);
  draw_contributions(c, {b.x + 54, b.bottom() - 30, b.w - 108, 12}, cell.contributions, p.ring.world,
                     sent ? .45f : 1);
}

}  // namespace

void draw_card(const Pen& p, const CardBox& card, FigureAnswer& answer) {
  Canvas& c = p.c;
  const bool first = p.layout.form == Form::OneNumber;
  const bool hot = first && is_hot(p, card.rank);
  const bool selected = p.view.ctx.selection.rank == card.rank;
  const bool dead = p.ring.ranks[static_cast<std::size_t>(card.rank)].status == sim::RankStatus::Dead;
  c.rect(card.box, {.fill = p.t.card,
                    .stroke = dead       ? p.t.fail
                              : hot      ? p.t.t1
                              : selected ? p.t.edge
                                         : p.t.line,
                    .radius = 12,
                    .width = hot || dead ? 2.5f
                             : selected  ? 2.0f
                                         : 1.0f});
  const std::string id = "allreduce.rank" + std::to_string(card.rank);
  const Hit whole = p.view.ui.hit(
      id, {card.box.x, card.box.y, card.box.w, card.box.h},
      {.focusable = false, .explain = tr("allreduce.explain.rank", {parts::rank_name(card.rank)})});
  if (whole.clicked) answer.clicked_rank = card.rank;
  if (whole.menu) answer.menu = Selection{.rank = card.rank};
  if (card.header) draw_header(p, card);
  for (std::size_t i = 0; i < card.cells.size(); ++i) {
    if (first) {
      draw_one_number(p, card);
    } else {
      draw_cell(p, card.cells[i], card.rank, i);
    }
    const Hit hit = p.view.ui.hit(
        id + ".c" + std::to_string(p.ring.chunks[i]), card.cells[i].box,
        {.focusable = p.ring.world <= 8, .explain = cell_sentence(p.ring, card.rank, i, p.state.tensor)});
    if (hit.clicked) {
      answer.clicked_rank = card.rank;
      answer.clicked_chunk = p.ring.chunks[i];
      answer.clicked_box = c.to_window(card.cells[i].box);
    }
    if (hit.menu) answer.menu = chunk_selection(p.ring, card.rank, p.ring.chunks[i]);
  }
}

}  // namespace ringside::app::figure
