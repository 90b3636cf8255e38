#include "app/scenes/allreduce_layout.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/scenes/allreduce_making.hpp"

namespace ringside::app {
namespace {

using layout::kMaxCards;
using layout::Making;

constexpr Vec2 kFigure{880, 588};
constexpr Vec2 kPresenterFigure{880, 432};
constexpr float kMargin = 24, kTop = 20, kLegend = 46;

float length_of(Vec2 v) {
  return std::hypot(v.x, v.y);
}

/// Columns and rows for m cells in a box, so that the numbers can be largest.
std::array<int, 2> grid_for(std::size_t m, Vec2 box) {
  std::array<int, 2> best{1, 1};
  float best_score = -1;
  for (int rows = 1; rows <= static_cast<int>(m); ++rows) {
    const int columns = (static_cast<int>(m) + rows - 1) / rows;
    if (rows > 1 && columns * (rows - 1) >= static_cast<int>(m)) continue;  // an empty row
    const float w = box.x / static_cast<float>(columns), h = box.y / static_cast<float>(rows);
    const float score = m > 8 ? std::min(w / 3.4f, h / 1.5f) : std::min(w / 2.2f, h / 2.6f);
    if (score > best_score) {
      best_score = score;
      best = {columns, rows};
    }
  }
  return best;
}

CellBox make_cell(const Making& m, Rect box, const CellView* cell, float largest) {
  CellBox out{.box = box};
  const float label = std::max(13.0f, m.smallest);
  out.label = box.h >= 76 && box.w >= 44 && label < 16;
  if (m.options.presenter) out.label = box.h >= 84 && box.w >= 56;
  out.glyph = out.label || (box.w >= 52 && box.h >= 40);
  out.bar = box.w >= 26 && box.h >= 34;
  const float top = out.label ? label + 10 : 2, bottom = out.bar ? (box.h >= 76 ? 20.0f : 9.0f) : 3;
  const Rect inner{box.x + 3, box.y + top, box.w - 6, box.h - top - bottom};
  if (cell != nullptr) out.content = fit_numbers(cell->numbers, inner, largest, m.smallest, m.measure);
  return out;
}

std::vector<CellBox> make_cells(const Making& m, int rank, Rect inner, float gap, float largest) {
  std::vector<CellBox> out;
  if (m.chunks() == 0) return out;
  const auto [columns, rows] = grid_for(m.chunks(), {inner.w, inner.h});
  const float g = m.chunks() > 16 ? std::min(gap, 2.0f) : gap;
  const float w = (inner.w - g * static_cast<float>(columns - 1)) / static_cast<float>(columns);
  const float h = (inner.h - g * static_cast<float>(rows - 1)) / static_cast<float>(rows);
  for (std::size_t i = 0; i < m.chunks(); ++i) {
    const auto col = static_cast<float>(static_cast<int>(i) % columns),
               row = static_cast<float>(static_cast<int>(i) / columns);
    const Rect box{inner.x + col * (w + g), inner.y + row * (h + g), w, h};
    const bool known = rank >= 0 && !m.view.cells.empty();
    out.push_back(make_cell(m, box, known ? &m.view.cell(rank, i) : nullptr, largest));
  }
  // Many small cells read best in one size.
  float size = largest;
  for (const CellBox& cell : out)
    for (const PlacedText& text : cell.content.texts) size = std::min(size, text.size);
  if (m.chunks() > kMaxCards)
    for (CellBox& cell : out)
      for (PlacedText& text : cell.content.texts) text.size = size;
  return out;
}

CardBox make_card(const Making& m, int rank, Rect box) {
  CardBox card{.rank = rank, .box = box};
  card.header = true;
  if (m.out.form == Form::OneNumber) {
    CellBox cell{.box = {box.x + 20, box.y + 48, box.w - 40, box.h - 86}};
    cell.bar = true;
    cell.content = fit_numbers(m.view.cell(rank, 0).numbers, cell.box, 60, m.smallest, m.measure);
    card.cells.push_back(cell);
    card.tag_size = 15;
    return card;
  }
  const float head = box.h >= 140 ? 44 : 34;
  card.tag_size = m.options.presenter ? std::max(19.0f, m.smallest) : 14;
  const float pad = box.w >= 260 ? 14 : 8;
  card.cells = make_cells(m, rank, {box.x + pad, box.y + head, box.w - 2 * pad, box.h - head - pad},
                          box.w >= 260 ? 6 : 4, box.h >= 200 ? 44 : 30);
  return card;
}

Path straight(Rect from, Rect to) {
  const Vec2 a = from.center(), b = to.center();
  const auto edge = [](Rect box, Vec2 center, Vec2 target) {  // where the line to the target leaves the box
    const Vec2 d = target - center;
    float k = 1e9f;
    if (d.x != 0) k = std::min(k, box.w / 2 / std::fabs(d.x));
    if (d.y != 0) k = std::min(k, box.h / 2 / std::fabs(d.y));
    return center + d * std::min(k, 1.0f);
  };
  return {{edge(from, a, b), edge(to, b, a)}};
}

void add_link(const Making& m, int src, int dst, Path path, float width, int chevrons) {
  m.out.links.push_back(
      {.src = src, .dst = dst, .path = std::move(path), .width = width, .chevrons = chevrons});
}

int chevrons_for(const Path& path) {
  return std::clamp(static_cast<int>(path.length() / 42), 1, 6);
}

// --- a ring of cards ---

std::vector<Rect> ring_of_four(const Making& m) {
  const bool first = m.out.form == Form::OneNumber;
  const float cw = first ? 252 : 302, inset = first ? 16 : 0;
  const float ch = first ? 164 : m.options.presenter ? 138 : 148;
  const float lx = m.area.x + inset, rx = m.area.right() - inset - cw;
  const float ty = m.area.y + (first ? 6 : 0), by = m.area.bottom() - (first ? 16 : 0) - ch;
  if (m.view.world == 3)
    return {{lx, ty, cw, ch}, {rx, ty, cw, ch}, {m.area.center().x - cw / 2, by, cw, ch}};
  return {{lx, ty, cw, ch}, {rx, ty, cw, ch}, {rx, by, cw, ch}, {lx, by, cw, ch}};
}

std::vector<Rect> ring_of_two(const Making& m) {
  const bool first = m.out.form == Form::OneNumber;
  const float cw = first ? 252 : 302, ch = std::min(first ? 190.0f : 220.0f, m.area.h - 200);
  const float y = m.area.center().y - ch / 2;
  return {{m.area.x, y, cw, ch}, {m.area.right() - cw, y, cw, ch}};
}

std::vector<Rect> ring_of_eight(const Making& m) {
  const int n = m.view.world;
  const int rows = n <= 6 ? 2 : 3;
  const float cw = 214;
  const float ch = std::min(rows == 2 ? 176.0f : 130.0f,
                            (m.area.h - 56.0f * static_cast<float>(rows - 1)) / static_cast<float>(rows));
  const auto slot = [&](int col, int row) {
    const float x = m.area.x + (m.area.w - cw) * static_cast<float>(col) / 2;
    const float y = m.area.y + (m.area.h - ch) * static_cast<float>(row) / static_cast<float>(rows - 1);
    return Rect{x, y, cw, ch};
  };
  const int last = rows - 1;
  std::vector<Rect> boxes = {slot(0, 0), slot(1, 0), slot(2, 0)};
  if (n >= 7) boxes.push_back(slot(2, 1));
  boxes.push_back(slot(2, last));
  if (n != 5) boxes.push_back(slot(1, last));
  boxes.push_back(slot(0, last));
  if (n == 8) boxes.push_back(slot(0, 1));
  return boxes;
}

Path ring_path(const Making& m, Rect a, Rect b, int src) {
  const Vec2 ca = a.center(), cb = b.center();
  if (m.view.world == 2) {  // over and under
    const float y = src == 0 ? m.area.y + 46 : m.area.bottom() - 46;
    const float from = src == 0 ? a.y : a.bottom(), to = src == 0 ? b.y : b.bottom();
    return {{{ca.x, from}, {ca.x, y}, {cb.x, y}, {cb.x, to}}};
  }
  if (std::fabs(ca.y - cb.y) < 1)
    return cb.x > ca.x ? Path{{{a.right(), ca.y}, {b.x, cb.y}}} : Path{{{a.x, ca.y}, {b.right(), cb.y}}};
  if (std::fabs(ca.x - cb.x) < 1)
    return cb.y > ca.y ? Path{{{ca.x, a.bottom()}, {cb.x, b.y}}} : Path{{{ca.x, a.y}, {cb.x, b.bottom()}}};
  if (src == 1)
    return {{{ca.x, a.bottom()}, {ca.x, cb.y}, {b.right(), cb.y}}};  // three: down, then in from the right
  return {{{a.x, ca.y}, {cb.x, ca.y}, {cb.x, b.bottom()}}};
}

void place_ring_cards(Making& m) {
  const int n = m.view.world;
  std::vector<Rect> boxes;
  if (n == 1) {
    boxes = {{m.area.center().x - 151, m.area.center().y - 90, 302, 180}};
  } else {
    boxes = n == 2 ? ring_of_two(m) : n <= 4 ? ring_of_four(m) : ring_of_eight(m);
  }
  for (int r = 0; r < n; ++r) m.out.cards.push_back(make_card(m, r, boxes[static_cast<std::size_t>(r)]));
  m.out.dial = m.area.center();
  m.out.dial_radius = n == 1 ? 0.0f : m.options.presenter ? 38.0f : n >= 7 ? 80.0f : n >= 5 ? 68.0f : 84.0f;
  if (n == 3 || m.options.presenter) m.out.dial.y -= 18;
  if (n == 1) return;
  for (int r = 0; r < n; ++r) {
    const int to = (r + 1) % n;
    Path path = ring_path(m, boxes[static_cast<std::size_t>(r)], boxes[static_cast<std::size_t>(to)], r);
    const int chevrons = chevrons_for(path);
    add_link(m, r, to, std::move(path), n <= 4 ? 5.0f : 4.0f, chevrons);
  }
}

// --- the root in the middle ---

void place_star(Making& m) {
  const int n = m.view.world;
  const float cw = 214, ch = std::min(130.0f, (m.area.h - 112) / 3);
  const auto slot = [&](int col, int row) {
    return Rect{m.area.x + (m.area.w - cw) * static_cast<float>(col) / 2,
                m.area.y + (m.area.h - ch) * static_cast<float>(row) / 2, cw, ch};
  };
  // The place above the root is kept for the sum: the root takes one chunk after the other.
  const std::array<std::array<int, 2>, 7> order{{{2, 1}, {0, 1}, {1, 2}, {2, 2}, {0, 2}, {0, 0}, {2, 0}}};
  std::vector<Rect> boxes(static_cast<std::size_t>(n));
  std::size_t next = 0;
  for (int r = 0; r < n; ++r) {
    const bool root = r == m.view.root;
    boxes[static_cast<std::size_t>(r)] = root ? slot(1, 1) : slot(order[next][0], order[next][1]);
    if (!root) ++next;
  }
  for (int r = 0; r < n; ++r) m.out.cards.push_back(make_card(m, r, boxes[static_cast<std::size_t>(r)]));
  for (int r = 0; r < n; ++r)
    if (r != m.view.root)
      add_link(m, r, m.view.root,
               straight(boxes[static_cast<std::size_t>(r)], boxes[static_cast<std::size_t>(m.view.root)]), 3,
               0);
  m.out.progress = {slot(1, 0).x - 40, m.area.y + 26, cw + 80, 10};
}

// --- squares on the ring ---

/// A point on the outline of a box, p = 0 … 1 clockwise from the top left corner.
Vec2 on_outline(Rect box, float p) {
  const float around = 2 * (box.w + box.h);
  float d = (p - std::floor(p)) * around;
  if (d < box.w) return {box.x + d, box.y};
  d -= box.w;
  if (d < box.h) return {box.right(), box.y + d};
  d -= box.h;
  if (d < box.w) return {box.right() - d, box.bottom()};
  return {box.x, box.bottom() - (d - box.w)};
}

/// Where on an outline (0 … 1) the point nearest to `p` lies; `p` is outside the box or on it.
float outline_place(Rect box, Vec2 p) {
  const float around = 2 * (box.w + box.h);
  const float x = std::clamp(p.x, box.x, box.right()) - box.x,
              y = std::clamp(p.y, box.y, box.bottom()) - box.y;
  if (p.y <= box.y) return x / around;
  if (p.x >= box.right()) return (box.w + y) / around;
  if (p.y >= box.bottom()) return (box.w + box.h + box.w - x) / around;
  return (2 * box.w + box.h + box.h - y) / around;
}

Path outline_path(Rect box, float from, float to) {
  if (to <= from) to += 1;
  Path path{{on_outline(box, from)}};
  const float around = 2 * (box.w + box.h);
  for (const float corner :
       {box.w / around, (box.w + box.h) / around, (2 * box.w + box.h) / around, 1.0f, 1 + box.w / around})
    if (corner > from + 1e-4f && corner < to - 1e-4f) path.points.push_back(on_outline(box, corner));
  path.points.push_back(on_outline(box, to));
  return path;
}

void place_close_up(Making& m, Rect room) {
  m.out.dial_radius = 80;
  m.out.dial = {room.x + 92, room.center().y};
  const float x = room.x + 204;
  m.out.close_up = {x, room.y, room.right() - x, room.h};
  m.out.close_up_rank = std::clamp(m.options.close_up, 0, m.view.world - 1);
  const Rect c = m.out.close_up;
  const float top = 44 + 84;  // the header, and the room of the sum
  m.out.close_up_cells =
      make_cells(m, m.out.close_up_rank, {c.x + 14, c.y + top, c.w - 28, c.h - top - 14}, 4, 26);
}

/// How many squares lie on the top and on a side, so that the pitches are about the same: top and bottom have
/// their corners, the sides lie between; the left side may have one less.
std::array<int, 2> per_side(int n, float w, float h) {
  const int half = (n + 1) / 2;
  const int top =
      std::clamp(static_cast<int>(std::lround(w / (w + h) * static_cast<float>(half))) + 1, 2, half);
  return {top, half - top};
}

/// Middles of n squares clockwise around the outline, from its top left corner.
std::vector<Vec2> around(Rect track, int n) {
  const auto [top, side] = per_side(n, track.w, track.h);
  const auto share = [](int i, int pieces) { return static_cast<float>(i) / static_cast<float>(pieces); };
  std::vector<Vec2> out;
  for (int i = 0; i < top; ++i) out.push_back({track.x + track.w * share(i, top - 1), track.y});
  for (int i = 1; i <= side; ++i) out.push_back({track.right(), track.y + track.h * share(i, side + 1)});
  for (int i = 0; i < top && static_cast<int>(out.size()) < n; ++i)
    out.push_back({track.right() - track.w * share(i, top - 1), track.bottom()});
  const int left = n - static_cast<int>(out.size());
  for (int i = 1; i <= left; ++i) out.push_back({track.x, track.bottom() - track.h * share(i, left + 1)});
  return out;
}

void place_squares(Making& m) {
  const int n = m.view.world;
  float side = 84;
  for (int pass = 0; pass < 6; ++pass) {
    const auto [top, between] = per_side(n, m.area.w - side, m.area.h - side);
    const float pitch = std::min((m.area.w - side) / static_cast<float>(top - 1),
                                 (m.area.h - side) / static_cast<float>(between + 1));
    side = std::clamp(pitch * .84f, 20.0f, 84.0f);
  }
  const std::vector<Vec2> middles = around(m.area.inset(side / 2), n);
  const Rect inner = m.area.inset(side + 13);
  for (int r = 0; r < n; ++r) {
    const Vec2 c = middles[static_cast<std::size_t>(r)];
    CardBox card{.rank = r, .box = {c.x - side / 2, c.y - side / 2, side, side}};
    card.tag_size = side >= 60 ? 14 : 13;
    card.header = true;
    m.out.cards.push_back(card);
  }
  for (int r = 0; r < n && m.view.ring; ++r)
    add_link(m, r, (r + 1) % n,
             outline_path(inner, outline_place(inner, middles[static_cast<std::size_t>(r)]),
                          outline_place(inner, middles[static_cast<std::size_t>((r + 1) % n)])),
             3, 0);
  const float inset = side + 13 + 28;
  place_close_up(m, m.area.inset(inset, inset - (n > 40 ? 4.0f : 0.0f)));
}

// --- the row ---

void place_columns(Making& m) {
  const int n = m.view.world;
  const float gap = n <= 4 ? 116 : n <= 8 ? 40 : n <= 16 ? 6 : 2;
  const float around = n <= 8 && n > 1 ? 22 : 0;  // room for the way back
  m.out.progress = {m.area.x, m.area.y + 26, m.area.w, 10};
  Rect area{m.area.x + around, m.area.y + 58, m.area.w - 2 * around,
            m.area.h - 58 - (around > 0 ? 50.0f : 4.0f)};
  const float cw = std::min(180.0f, (area.w - gap * static_cast<float>(n - 1)) / static_cast<float>(n));
  const float x0 = area.center().x - (cw * static_cast<float>(n) + gap * static_cast<float>(n - 1)) / 2;
  const float head = n <= 32 ? 32 : 18, pad = n <= 8 ? 8 : n <= 16 ? 3 : 1;
  const auto rows = static_cast<float>(std::max<std::size_t>(1, m.chunks()));
  const float g = rows > 16 ? 1 : 4;
  const float row_height = std::min(96.0f, (area.h - head - pad) / rows - g);
  const float ch = head + rows * (row_height + g) - g + pad;
  for (int r = 0; r < n; ++r) {
    CardBox card{.rank = r, .box = {x0 + static_cast<float>(r) * (cw + gap), area.y, cw, ch}};
    card.header = cw >= 20;
    card.tag_size = cw >= 30 ? 14 : 13;
    for (std::size_t c = 0; c < m.chunks(); ++c) {
      const Rect box{card.box.x + pad, area.y + head + static_cast<float>(c) * (row_height + g), cw - 2 * pad,
                     row_height};
      card.cells.push_back(make_cell(m, box, m.view.cells.empty() ? nullptr : &m.view.cell(r, c), 28));
    }
    m.out.cards.push_back(std::move(card));
  }
}

/// In the row a chunk flies at its own height; the way back goes around under the cards.
Path column_path(const RingLayout& out, int src, int dst, std::size_t shown) {
  const Rect &a = out.cards[static_cast<std::size_t>(src)].box,
             &b = out.cards[static_cast<std::size_t>(dst)].box;
  const auto& cells = out.cards[static_cast<std::size_t>(src)].cells;
  const float y = shown < cells.size() ? cells[shown].box.center().y : a.center().y;
  if (dst > src) return {{{a.right(), y}, {b.x, y}}};
  const bool around =
      src + 1 == static_cast<int>(out.cards.size()) && dst == 0 && out.cards.size() <= kMaxCards;
  if (!around) return {{{a.x, y}, {b.right(), y}}};
  const float under = a.bottom() + 26;
  return {{{a.right(), y},
           {a.right() + 16, y},
           {a.right() + 16, under},
           {b.x - 16, under},
           {b.x - 16, y},
           {b.x, y}}};
}

Form form_of(const RingView& view, const LayoutOptions& options) {
  if (view.kind != ViewKind::Chunks && view.kind != ViewKind::Single) return Form::Message;
  if (options.row && view.kind == ViewKind::Chunks) return Form::Columns;
  if (view.one_number && view.world <= 4 && view.ring) return Form::OneNumber;
  if (view.ring || view.world == 1) return view.world <= kMaxCards ? Form::Cards : Form::Squares;
  return view.world <= kMaxCards ? Form::Star : Form::Columns;
}

}  // namespace

float Path::length() const {
  float sum = 0;
  for (std::size_t i = 1; i < points.size(); ++i) sum += length_of(points[i] - points[i - 1]);
  return sum;
}

Vec2 Path::at(float p) const {
  float left = std::clamp(p, 0.0f, 1.0f) * length();
  for (std::size_t i = 1; i < points.size(); ++i) {
    const float piece = length_of(points[i] - points[i - 1]);
    if (left <= piece && piece > 0) return lerp(points[i - 1], points[i], left / piece);
    left -= piece;
  }
  return points.empty() ? Vec2{} : points.back();
}

Vec2 Path::direction(float p) const {
  float left = std::clamp(p, 0.0f, 1.0f) * length();
  Vec2 d{1, 0};
  for (std::size_t i = 1; i < points.size(); ++i) {
    const Vec2 step = points[i] - points[i - 1];
    const float piece = length_of(step);
    if (piece <= 0) continue;
    d = step * (1 / piece);
    if (left <= piece) break;
    left -= piece;
  }
  return d;
}

const LinkBox* RingLayout::link(int src, int dst) const {
  const auto found = std::find_if(links.begin(), links.end(),
                                  [&](const LinkBox& l) { return l.src == src && l.dst == dst; });
  return found == links.end() ? nullptr : &*found;
}

Path transfer_path(const RingLayout& layout, int src, int dst, std::size_t shown) {
  if (layout.form == Form::Columns) return column_path(layout, src, dst, shown);
  if (const LinkBox* link = layout.link(src, dst)) return link->path;
  if (const LinkBox* back = layout.link(dst, src)) {
    Path path = back->path;
    std::reverse(path.points.begin(), path.points.end());
    return path;
  }
  return straight(layout.cards[static_cast<std::size_t>(src)].box,
                  layout.cards[static_cast<std::size_t>(dst)].box);
}

RingLayout make_layout(const RingView& view, Rect stage, const TextMeasurer& measure,
                       const LayoutOptions& options) {
  RingLayout out;
  const Vec2 least = options.presenter ? kPresenterFigure : kFigure;
  out.k = std::max(.1f, std::min(stage.w / least.x, stage.h / least.y));
  out.size = {stage.w / out.k, stage.h / out.k};
  out.origin = {stage.x, stage.y};
  const float legend = options.presenter ? kTop : kLegend;
  out.legend_y = options.presenter ? 0 : out.size.y - 24;
  out.form = form_of(view, options);
  Making m{.view = view,
           .options = options,
           .measure = measure,
           .out = out,
           .area = {kMargin, kTop, out.size.x - 2 * kMargin, out.size.y - kTop - legend},
           .smallest = (options.presenter ? 28.0f : 13.0f) / out.k};
  switch (out.form) {
    case Form::Message:
      return out;
    case Form::OneNumber:
    case Form::Cards:
      place_ring_cards(m);
      break;
    case Form::Star:
      place_star(m);
      break;
    case Form::Squares:
      place_squares(m);
      break;
    case Form::Columns:
      place_columns(m);
      break;
  }
  layout::place_tiles(m);
  layout::place_sums(m);
  return out;
}

}  // namespace ringside::app
