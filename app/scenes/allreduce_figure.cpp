#include "app/scenes/allreduce_figure.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"

namespace ringside::app {
namespace {

using sim::CellState;

/// One frame's drawing.
struct Pen {
  View& view;
  Canvas& c;
  const Theme& t;
  const RingView& ring;
  const RingLayout& layout;
  const FigureState& state;
  double most = 1;  // scale of heat maps
  bool colours() const { return ring.world <= kRankColors; }
  float smallest() const { return (view.ctx.presenter ? 28.0f : 13.0f) / layout.k; }
  /// A label size, or 0 if it would be too small to be text.
  float label(float size) const {
    return size + .01f >= smallest() ? size : view.ctx.presenter ? smallest() : 0;
  }
};

std::string contributors_text(const RingView& ring, std::uint64_t have) {
  std::string out;
  for (int r = 0; r < ring.world && r < 64; ++r)
    if ((have >> r) & 1u) out += (out.empty() ? "R" : ", R") + std::to_string(r);
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

struct Look {
  Color fill{}, stroke{}, number{}, label{};
  float width = 1, alpha = 1;
  Dash dash{};
  Face face = Face::Bold;
  Glyph glyph = Glyph::None;
  Color glyph_color{};
  bool dots = false;
};

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
  const float label = p.view.ctx.presenter ? p.smallest() : 13;
  const Rect b = box.box;
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

// --- what a rank does
// ----------------------------------------------------------------------------------------------

struct Note {
  std::string text;
  std::vector<Glyph> glyphs;
  bool waits = false, hot = false;
  Color color{};
};

std::string doing_text(const Activity& a) {
  const char* key = a.doing == Doing::Adds    ? "allreduce.does.adds"
                    : a.doing == Doing::Sends ? "allreduce.does.sends"
                                              : "allreduce.does.receives";
  return tr(key, {chunk_name(a.chunk)});
}

Glyph doing_glyph(Doing doing) {
  return doing == Doing::Adds ? Glyph::Plus : doing == Doing::Sends ? Glyph::Send : Glyph::Receive;
}

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
      name + " · GPU " + std::to_string(p.ring.ranks[static_cast<std::size_t>(card.rank)].local_rank);
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
  }
}

// --- squares
// -------------------------------------------------------------------------------------------------------

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
  }
}

// --- links, tiles, sums
// ----------------------------------------------------------------------------------------------

void draw_chevron(const Pen& p, Vec2 at, Vec2 d, float a, Color color) {
  const Vec2 n{-d.y, d.x};
  const Vec2 points[3] = {at - d * a + n * (a * 1.3f), at + d * a, at - d * a - n * (a * 1.3f)};
  p.c.stroke(points, p.t.stage, 7);
  p.c.stroke(points, color, 2.5f);
}

void draw_link(const Pen& p, const LinkBox& link) {
  const Path& path = link.path;
  const auto& bad = p.ring.poisoned_links;
  const bool poisoned = std::find(bad.begin(), bad.end(), std::pair(link.src, link.dst)) != bad.end();
  const Color color = poisoned ? p.t.nan : p.t.edge;
  for (std::size_t i = 1; i < path.points.size(); ++i)
    p.c.line(path.points[i - 1], path.points[i], color, link.width);
  for (std::size_t i = 1; i + 1 < path.points.size(); ++i) p.c.circle(path.points[i], link.width / 2, color);
  for (int i = 0; i < link.chevrons; ++i) {
    const float at = static_cast<float>(i + 1) / static_cast<float>(link.chevrons + 1);
    const Vec2 where = path.at(at);
    const bool covered =
        std::any_of(p.layout.sums.begin(), p.layout.sums.end(),
                    [&](const SumBox& s) { return s.box.w > 0 && s.box.inset(-8).contains(where); }) ||
        std::any_of(p.layout.tiles.begin(), p.layout.tiles.end(),
                    [&](const TileBox& b) { return b.box.inset(-8).contains(where); });
    if (!covered) draw_chevron(p, where, path.direction(at), 5, poisoned ? p.t.nan : p.t.t2);
  }
}

std::string link_name(const Pen& p, int src, int dst) {
  if (p.view.ctx.scenario == nullptr) return {};
  const sim::Topology& topology = p.view.ctx.scenario->cluster.topology;
  const sim::LinkSpec spec = topology.link(src, dst);
  const bool nvlink =
      p.view.ctx.scenario->stack.transport == sim::Transport::NvLink && spec == topology.intra;
  return (nvlink ? "NVLink · " : "") + time_text(spec.latency_ns);
}

void draw_link_names(const Pen& p) {
  const bool cards = p.layout.form == Form::Cards || p.layout.form == Form::OneNumber;
  if (!cards || p.ring.world > 4 || p.ring.world < 3 || p.label(13) <= 0 || p.view.ctx.presenter) return;
  for (const LinkBox& link : p.layout.links) {
    const std::string name = link_name(p, link.src, link.dst);
    if (name.empty() || link.path.points.size() != 2) continue;
    const Vec2 a = link.path.points[0], b = link.path.points[1], m = lerp(a, b, .5f);
    const bool used = std::any_of(p.ring.flights.begin(), p.ring.flights.end(), [&](const FlightView& f) {
      return f.src == link.src && f.dst == link.dst;
    });
    bool summed = false;
    for (std::size_t i = 0; i < p.ring.sums.size(); ++i)
      summed = summed || (p.ring.sums[i].src == link.src && p.ring.sums[i].dst == link.dst &&
                          p.layout.sums[i].box.w > 0);
    if (std::fabs(a.y - b.y) < 1) {
      const bool top = m.y < p.layout.size.y / 2;
      const float y = m.y + (top ? -60.0f : 60.0f), w = p.c.width(name, 13);
      const Rect place{m.x - w / 2, y - 8, w, 16};
      const bool covered = std::any_of(p.layout.sums.begin(), p.layout.sums.end(), [&](const SumBox& s) {
        return s.box.w > 0 && s.box.y < place.bottom() && s.box.bottom() > place.y &&
               s.box.x < place.right() && s.box.right() > place.x;
      });
      if (!covered && w < std::fabs(b.x - a.x) - 12)
        p.c.text({m.x, y}, name, {.size = 13, .color = p.t.t2, .align = Align::Center});
    } else if (!used && !summed) {
      const bool left = m.x < p.layout.size.x / 2;
      p.c.text({m.x + (left ? -14.0f : 14.0f), m.y}, name,
               {.size = 13, .color = p.t.t3, .align = left ? Align::Right : Align::Left});
    }
  }
}

void draw_tail(const Pen& p, const TileBox& tile) {
  if (tile.tail < 4) return;
  const Vec2 d = tile.direction, n{-d.y, d.x}, at = tile.box.center();
  const float along = std::fabs(d.x) > .5f ? tile.box.w : tile.box.h,
              across = std::fabs(d.x) > .5f ? tile.box.h : tile.box.w;
  const Vec2 tip = at - d * (along / 2 + tile.tail);
  const Color from = fade(p.t.t1, .34f), to = fade(p.t.t1, 0);
  p.c.quad({at + n * (across * .42f), at - n * (across * .42f), tip - n * (across * .16f),
            tip + n * (across * .16f)},
           {from, from, to, to});
}

void draw_tile(const Pen& p, const FlightView& f, const TileBox& tile) {
  Canvas& c = p.c;
  const Rect b = tile.box;
  const bool bad = f.numbers.nan_count > 0 || f.numbers.inf_count > 0;
  draw_tail(p, tile);
  const float radius = b.w < 30 ? 3 : 7;
  if (b.w >= 30) c.rect(b.inset(-3), {.fill = p.t.stage, .radius = radius + 2});
  const bool small = b.w < 30;
  if (small) {
    const float share = static_cast<float>(std::popcount(f.contributions)) / static_cast<float>(p.ring.world);
    c.rect(b, {.fill = p.t.stage, .radius = radius});
    c.rect(b, {.fill = bad ? p.t.nan : mix(p.t.raised, p.t.t1, .35f + .65f * share),
               .stroke = p.t.t1,
               .radius = radius,
               .width = 1.5f});
  } else {
    c.rect(b, {.fill = bad ? mix(p.t.card, p.t.nan, .24f) : p.t.strong(),
               .stroke = bad ? p.t.nan : p.t.t1,
               .radius = radius,
               .width = 2,
               .dash = f.progress < 0 ? Dash{5, 4} : Dash{}});
    if (bad) c.dots(b.inset(3), fade(p.t.nan, .30f), 6, 1.3f);
  }
  const float label = p.view.ctx.presenter ? p.smallest() : 13;
  if (tile.label && p.label(label) > 0)
    c.text({b.x + 8, b.y + label}, chunk_name(f.chunk), {.size = label, .color = p.t.t2});
  const Rect inner{b.x + 3, b.y + (tile.label ? 20.0f : 3.0f), b.w - 6,
                   b.h - (tile.label ? 20.0f : 3.0f) - (tile.bar ? (tile.label ? 18.0f : 12.0f) : 3.0f)};
  draw_content(c, tile.content, f.numbers, inner, p.most, p.t.t1, Face::Bold);
  if (tile.bar)
    draw_contributions(c,
                       {b.x + (b.w > 60 ? 8.0f : 5.0f), b.bottom() - (tile.label ? 16.0f : 9.0f),
                        b.w - (b.w > 60 ? 16.0f : 10.0f), tile.label ? 8.0f : 5.0f},
                       f.contributions, p.ring.world);
  if (tile.note.w > 0 && p.label(13) > 0) {
    const Align align = tile.note_right_aligned ? Align::Right
                        : tile.note.h > 30      ? Align::Left
                                                : Align::Center;
    const float x = align == Align::Right    ? tile.note.right()
                    : align == Align::Center ? tile.note.center().x
                                             : tile.note.x;
    const std::string share = f.progress < 0
                                  ? tr("allreduce.on_its_way")
                                  : std::to_string(static_cast<int>(std::lround(f.progress * 100))) + " %";
    const std::string name = link_name(p, f.src, f.dst);
    if (tile.note.h > 30 && !name.empty()) {
      c.text({x, tile.note.y + 10}, name, {.size = 13, .color = p.t.t3, .align = align});
      c.text({x, tile.note.y + 31}, share, {.size = 15, .face = Face::Bold, .align = align});
    } else {
      c.text({x, tile.note.center().y}, share, {.size = 15, .face = Face::Bold, .align = align});
    }
  }
  const std::string key = f.progress < 0 ? "allreduce.explain.flight_unknown" : "allreduce.explain.flight";
  p.view.ui.explain(
      b,
      tr(key, {chunk_name(f.chunk), parts::rank_name(f.src), parts::rank_name(f.dst), numbers_text(f.numbers),
               std::to_string(static_cast<int>(std::lround(std::max(0.0f, f.progress) * 100)))}));
}

void draw_pointer(const Pen& p, const SumBox& s) {
  const Rect b = s.box;
  const Vec2 m = b.center();
  const float k = std::min(10.0f, b.h / 6);
  switch (s.points) {
    case Heading::Right:
      p.c.fill({{b.right() - 1, m.y - k}, {b.right() + k, m.y}, {b.right() - 1, m.y + k}}, p.t.accent);
      break;
    case Heading::Left:
      p.c.fill({{b.x + 1, m.y - k}, {b.x + 1, m.y + k}, {b.x - k, m.y}}, p.t.accent);
      break;
    case Heading::Down:
      p.c.fill({{m.x - k, b.bottom() - 1}, {m.x + k, b.bottom() - 1}, {m.x, b.bottom() + k}}, p.t.accent);
      break;
    case Heading::Up:
      p.c.fill({{m.x - k, b.y + 1}, {m.x, b.y - k}, {m.x + k, b.y + 1}}, p.t.accent);
      break;
    case Heading::None:
      break;
  }
}

/// Segments on the ink card, on their own ground.
void draw_sum_bar(const Pen& p, const SumBox& s, Vec2 middle, std::uint64_t have) {
  const Rect bar{middle.x - s.segment_width / 2, middle.y - s.segment_height / 2, s.segment_width,
                 s.segment_height};
  p.c.rect(bar.inset(-2), {.fill = p.t.ink, .radius = 3});
  draw_contributions(p.c, bar, have, p.ring.world);
}

void draw_sum_row(const Pen& p, const SumView& sum, const SumBox& s) {
  Canvas& c = p.c;
  const std::uint64_t have[3] = {sum.arrived_from, sum.own_from, sum.arrived_from | sum.own_from};
  const Color quiet = mix(p.t.ink, p.t.accent, .25f);
  const float number_y = s.box.y + 8 + s.size * .58f;
  const float bar_y = s.box.y + 8 + s.size * 1.2f + s.segment_height / 2 + 2;
  const float op_width = std::max(s.size * 1.05f, c.width(s.op, s.size * .9f) + 8);
  float x = s.box.x + s.pad;
  for (int i = 0; i < 3; ++i) {
    const float m = x + s.widths[i] / 2;
    c.text({m, number_y}, s.texts[i],
           {.size = s.size, .color = p.t.ink, .face = Face::Bold, .align = Align::Center});
    if (s.bars) draw_sum_bar(p, s, {m, bar_y}, have[i]);
    if (s.captions)
      c.text({m, s.box.bottom() - 16}, tr(kSumCaptions[i]),
             {.size = 13, .color = quiet, .align = Align::Center});
    x += s.widths[i];
    if (i == 2) break;
    const float w = i == 0 ? op_width : s.size * 1.05f;
    c.text({x + w / 2, number_y}, i == 0 ? s.op : "=",
           {.size = i == 0 && s.op.size() > 2 ? s.size * .7f : s.size,
            .color = p.t.ink,
            .align = Align::Center});
    x += w;
  }
}

void draw_sum_column(const Pen& p, const SumView& sum, const SumBox& s) {
  Canvas& c = p.c;
  const std::uint64_t have[3] = {sum.arrived_from, sum.own_from, sum.arrived_from | sum.own_from};
  const float pitch = s.size * 1.12f + (s.bars ? s.segment_height + 3 : 0);
  float y = s.box.y + 7;
  for (int i = 0; i < 3; ++i) {
    if (i == 2) {
      c.line({s.box.x + 8, y + 2}, {s.box.right() - 8, y + 2}, p.t.ink, 1.5f);
      y += 6;
    }
    const float right = s.box.right() - 9;
    c.text({right, y + s.size * .56f}, s.texts[i],
           {.size = s.size, .color = p.t.ink, .face = Face::Bold, .align = Align::Right});
    if (i == 1)
      c.text({s.box.x + 8, y + s.size * .56f}, s.op,
             {.size = s.op.size() > 2 ? std::max(13.0f, s.size * .7f) : s.size, .color = p.t.ink});
    if (s.bars)
      draw_sum_bar(p, s, {right - s.segment_width / 2 - 1, y + s.size * 1.12f + s.segment_height / 2},
                   have[i]);
    y += pitch;
  }
}

void draw_sum(const Pen& p, const SumView& sum, const SumBox& s) {
  if (s.box.w <= 0) return;
  draw_pointer(p, s);
  p.c.rect(s.box, {.fill = p.t.accent, .radius = 9});
  if (sum.result.nan_count + sum.result.inf_count > 0)
    p.c.rect(s.box.inset(2), {.stroke = p.t.nan, .radius = 8, .width = 2.5f});
  if (s.column) {
    draw_sum_column(p, sum, s);
  } else {
    draw_sum_row(p, sum, s);
  }
  const std::string more = sum.result.count > 1
                               ? tr("allreduce.explain.sum_first", {std::to_string(sum.result.count)})
                               : std::string();
  p.view.ui.explain(s.box, tr("allreduce.explain.sum",
                              {parts::rank_name(sum.dst), numbers_text(sum.arrived),
                               parts::rank_name(sum.src), numbers_text(sum.own), numbers_text(sum.result)}) +
                               more);
}

// --- dial and legend
// -------------------------------------------------------------------------------------------------

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

/// The legend, shortened from the end until it fits; returns nothing, draws from x to `right`.
void draw_legend(const Pen& p, float x, float right) {
  Canvas& c = p.c;
  const float y = p.layout.legend_y, size = p.label(13);
  if (size <= 0) return;
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

void draw_message(const Pen& p) {
  const Vec2 m{p.layout.size.x / 2, p.layout.size.y / 2};
  if (p.ring.kind == ViewKind::Hidden) p.c.glyph(Glyph::Hidden, {m.x, m.y - 60}, 44, p.t.t3, 3);
  float y = m.y;
  for (const Sentence& s : p.ring.now) {
    parts::ParagraphStyle style{
        .size = 22, .line_height = 1.45f, .color = p.t.t1, .face = Face::Bold, .max_lines = 3};
    const float w = std::min(p.layout.size.x - 160, p.c.width(sentence_text(s), 22, Face::Bold) + 4);
    y = parts::paragraph(p.c, {m.x - w / 2, y}, w, sentence_text(s), style);
  }
  if (p.ring.kind == ViewKind::Hidden && p.label(16) > 0) {
    const std::string& why = tr("allreduce.hidden_why");
    const float w = std::min(p.layout.size.x - 160, p.c.width(why, 16) + 4);
    parts::paragraph(p.c, {m.x - w / 2, y + 10}, w, why, {.size = 16, .color = p.t.t2});
  }
}

}  // namespace

FigureAnswer draw_figure(View& view, const RingView& ring, const RingLayout& layout,
                         const FigureState& state) {
  FigureAnswer answer;
  Canvas& c = view.canvas;
  const Pen p{.view = view,
              .c = c,
              .t = c.theme(),
              .ring = ring,
              .layout = layout,
              .state = state,
              .most = heat_scale(ring)};
  c.push_figure(layout.origin, layout.k);
  if (layout.form == Form::Message) {
    draw_message(p);
    c.pop_figure();
    return answer;
  }
  draw_beam(p);
  if (layout.form != Form::Columns)
    for (const LinkBox& link : layout.links) draw_link(p, link);
  if (layout.form == Form::Columns && layout.cards.size() <= 8 && layout.cards.size() > 1)
    for (std::size_t r = 0; r < layout.cards.size(); ++r)
      for (std::size_t i = 0; i < ring.chunks.size(); ++i) {
        const Path path =
            transfer_path(layout, static_cast<int>(r), static_cast<int>((r + 1) % layout.cards.size()), i);
        if (path.points.size() == 2) c.line(path.points[0], path.points[1], p.t.line, 1.5f);
      }
  draw_dial(p);
  draw_progress(p);
  for (const CardBox& card : layout.cards)
    if (layout.form == Form::Squares)
      draw_square(p, card, answer);
    else
      draw_card(p, card, answer);
  draw_close_up(p, answer);
  draw_link_names(p);
  for (std::size_t i = 0; i < ring.flights.size(); ++i) draw_tile(p, ring.flights[i], layout.tiles[i]);
  for (std::size_t i = 0; i < ring.sums.size(); ++i) draw_sum(p, ring.sums[i], layout.sums[i]);
  if (layout.legend_y > 0) draw_controls(p, answer);
  c.pop_figure();
  return answer;
}

std::string sentence_text(const Sentence& s) {
  const auto arg = [&](std::size_t i) -> std::string_view {
    return i < s.args.size() ? std::string_view(s.args[i]) : std::string_view();
  };
  return tr(s.key, {arg(0), arg(1), arg(2), arg(3), arg(4)});
}

std::string time_text(std::int64_t ns) {
  static constexpr std::array<std::pair<double, const char*>, 4> kUnits{
      {{1e9, " s"}, {1e6, " ms"}, {1e3, " μs"}, {1, " ns"}}};
  for (const auto& [unit, name] : kUnits) {
    if (static_cast<double>(ns) < unit && unit > 1) continue;
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", static_cast<double>(ns) / unit);
    std::string out = text;
    if (out.ends_with(".0")) out.resize(out.size() - 2);
    return out + name;
  }
  return "0 ns";
}

std::string chunk_name(std::uint32_t chunk) {
  return "c" + std::to_string(chunk);
}

std::string numbers_text(const Numbers& numbers) {
  if (!numbers.complete())
    return numbers.ranged ? number_text(numbers.min) + " ... " + number_text(numbers.max)
                          : tr("allreduce.not_known");
  std::string out;
  constexpr std::size_t kMost = 4;
  for (std::size_t i = 0; i < std::min(kMost, numbers.values.size()); ++i)
    out += (i > 0 ? ", " : "") + number_text(numbers.values[i]);
  return numbers.values.size() > kMost ? out + " ..." : out;
}

Color heat_color(const Theme& t, double value, double most) {
  if (std::isnan(value) || std::isinf(value)) return t.nan;
  const double x = most > 0 ? std::clamp(value / most, -1.0, 1.0) : 0;
  const float strength = static_cast<float>(std::sqrt(std::fabs(x)));
  return x >= 0 ? mix(t.raised, t.t1, strength * .85f)
                : mix(t.raised, t.dark ? rgb(0x000000) : t.edge, strength * .85f);
}

void draw_contributions(Canvas& c, Rect box, std::uint64_t have, int world, float alpha) {
  if (world <= kRankColors) {
    parts::contributions(c, box, have, world, alpha);
  } else {
    parts::share_bar(c, box, std::popcount(have), world);
  }
}

void draw_content(Canvas& c, const CellContent& content, const Numbers& numbers, Rect box, double most,
                  Color color, Face face) {
  if (content.heat) {
    const auto& values = numbers.complete() ? numbers.values : numbers.sampled;
    const float w = box.w / static_cast<float>(content.heat_columns),
                h = box.h / static_cast<float>(content.heat_rows);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto col = static_cast<float>(static_cast<int>(i) % content.heat_columns),
                 row = static_cast<float>(static_cast<int>(i) / content.heat_columns);
      c.rect({box.x + col * w, box.y + row * h, w - .5f, h - .5f},
             {.fill = fade(heat_color(c.theme(), sim::to_double(values[i]), most),
                           face == Face::Bold ? 1 : .4f)});
    }
    return;
  }
  for (const PlacedText& text : content.texts)
    c.text(text.middle, text.text, {.size = text.size, .color = color, .face = face, .align = Align::Center});
}

double heat_scale(const RingView& ring) {
  double most = 0;
  for (const CellView& cell : ring.cells) {
    if (!cell.numbers.ranged) continue;
    for (const sim::Scalar& v : {cell.numbers.min, cell.numbers.max})
      if (!sim::is_inf(v) && !sim::is_nan(v)) most = std::max(most, std::fabs(sim::to_double(v)));
  }
  return most;
}

}  // namespace ringside::app
