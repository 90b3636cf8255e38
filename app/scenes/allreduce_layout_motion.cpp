// Places for chunks on their way and for additions.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/scenes/allreduce_making.hpp"

namespace ringside::app::layout {
namespace {

float length_of(Vec2 v) {
  return std::hypot(v.x, v.y);
}

Heading heading_of(Vec2 d) {
  if (std::fabs(d.x) > std::fabs(d.y)) return d.x > 0 ? Heading::Right : Heading::Left;
  return d.y > 0 ? Heading::Down : Heading::Up;
}

/// Half of its time = half of its way; the tile starts beside the sender and ends beside the receiver, never
/// on them.
float place_between(const Path& path, float p, Vec2 size) {
  const float length = path.length();
  if (length <= 0) return p;
  const auto half = [&](Vec2 d) { return (std::fabs(d.x) > std::fabs(d.y) ? size.x : size.y) / 2 + 5; };
  const float a = half(path.direction(0)) / length, b = half(path.direction(1)) / length;
  return a + b >= 1 ? .5f : a + p * (1 - a - b);
}

/// Which of several chunks that would touch on one link this is, and how many they are (channels run side by
/// side).
std::array<int, 2> beside(const RingView& view, const FlightView& flight, const Path& path, float least) {
  int before = 0, all = 0;
  for (const FlightView& f : view.flights) {
    const bool touches = std::fabs(f.progress - flight.progress) * path.length() < least;
    if (f.src != flight.src || f.dst != flight.dst || !touches) continue;
    before += &f < &flight ? 1 : 0;
    ++all;
  }
  return {before, all};
}

bool overlap(Rect a, Rect b) {
  return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
}

/// The longest straight piece of a path.
std::array<Vec2, 2> longest_piece(const Path& path) {
  std::array<Vec2, 2> best{path.points[0], path.points[0]};
  for (std::size_t i = 1; i < path.points.size(); ++i)
    if (length_of(path.points[i] - path.points[i - 1]) > length_of(best[1] - best[0]))
      best = {path.points[i - 1], path.points[i]};
  return best;
}

SumBox sum_on_link(const Making& m, const SumView& sum) {
  const Path path = transfer_path(m.out, sum.src, sum.dst, m.view.shown(sum.chunk));
  const auto [a, b] = longest_piece(path);
  const Vec2 middle = lerp(a, b, .5f), d = b - a;
  const bool horizontal = std::fabs(d.x) > std::fabs(d.y);
  const bool big = m.view.world <= 4;
  const float largest = m.out.form == Form::OneNumber ? 34.0f
                        : m.options.presenter         ? 30.0f
                        : big                         ? 25.0f
                                                      : 20.0f;
  const float card_height = m.out.cards[static_cast<std::size_t>(sum.dst)].box.h;
  Vec2 room;
  if (horizontal) {
    room = {length_of(d) - (big ? 15.0f : 14.0f), std::min(card_height, 120.0f)};
    if (m.view.world == 2) room.y = 90;
    if (m.out.form == Form::OneNumber) room.y = 112;
  } else {
    room = {m.out.form == Form::OneNumber ? 290.0f
            : big                         ? 270.0f
                                          : 230.0f,
            length_of(d) - (big ? 28.0f : 12.0f)};
    // Not past the edge of the figure, and not into the dial.
    room.x = std::min({room.x, 2 * (middle.x - 4), 2 * (m.out.size.x - 4 - middle.x)});
    if (m.out.dial_radius > 0)
      room.x = std::min(room.x, 2 * (std::fabs(m.out.dial.x - middle.x) - m.out.dial_radius - 14));
  }
  const bool shared = std::any_of(m.view.flights.begin(), m.view.flights.end(),
                                  [&](const FlightView& f) { return f.src == sum.src && f.dst == sum.dst; });
  if (shared) (horizontal ? room.x : room.y) *= .55f;  // the next chunk is already on this link
  SumBox box = fit_sum(m.view, sum, middle, room, largest, m.smallest, m.measure);
  if (shared && box.box.w > 0) {
    const float move = (length_of(d) - (horizontal ? box.box.w : box.box.h)) / 2 - 11;
    box.box = box.box.moved(d * (std::max(0.0f, move) / length_of(d)));
  }
  box.points = heading_of(path.direction(1));
  if (horizontal && m.view.world == 2) box.points = Heading::None;
  if (path.points.size() > 2) box.points = heading_of(d);
  return box;
}

SumBox sum_in_columns(const Making& m, const SumView& sum) {
  const CardBox &from = m.out.cards[static_cast<std::size_t>(sum.src)],
                &to = m.out.cards[static_cast<std::size_t>(sum.dst)];
  const std::size_t shown = m.view.shown(sum.chunk);
  if (shown >= to.cells.size()) return SumBox();
  const Rect cell = to.cells[shown].box;
  const bool around = sum.dst < sum.src;
  const float gap = m.out.cards.size() > 1 ? m.out.cards[1].box.x - m.out.cards[0].box.right() : 0;
  if (gap >= 100 && !around) {
    SumBox box = fit_sum(m.view, sum, {(from.box.right() + to.box.x) / 2, cell.center().y},
                         {gap - 16, std::max(cell.h + 14, 116.0f)}, 20, m.smallest, m.measure);
    box.points = Heading::Right;
    return box;
  }
  return SumBox();  // no room: the cell is lit, the log has the sum
}

}  // namespace

void place_tiles(Making& m) {
  for (const FlightView& f : m.view.flights) {
    TileBox tile;
    const std::size_t shown = m.view.shown(f.chunk);
    const Path path = transfer_path(m.out, f.src, f.dst, shown);
    Vec2 size{72, 72};
    float number = 30;
    if (m.out.form == Form::OneNumber) {
      size = {104, 84};
      number = 44;
    } else if (m.out.form == Form::Squares) {
      const float side = m.out.cards[0].box.w >= 60 ? 18.0f : 12.0f;
      size = {side, side};
    } else if (m.out.form == Form::Columns) {
      const Rect cell = m.out.cards[0].cells.empty() ? Rect{0, 0, 40, 30} : m.out.cards[0].cells[0].box;
      size = {std::min(cell.w, 104.0f), std::min(cell.h, 44.0f)};
      number = 26;
      if (m.view.world > kMaxCards) size = {std::min(cell.w * .5f, 14.0f), std::min(cell.h * .5f, 6.0f)};
    } else if (m.view.world > 4 || m.out.form == Form::Star) {
      size = {52, 46};
      number = 20;
    }
    if (m.options.presenter && m.out.form == Form::Cards && m.view.world <= 4) size = {66, 92};
    if (size.x > 52 && beside(m.view, f, path, 1.6f * size.x)[1] > 1) {
      size = {52, 46};
      number = 20;
    }
    const auto [lane, lanes] = beside(m.view, f, path, size.x + 6);
    const bool dash = m.out.form == Form::Columns && m.view.world > kMaxCards;
    const bool between = m.out.form != Form::Squares && !dash;
    const float p = f.progress < 0 ? .5f : std::clamp(f.progress, 0.0f, 1.0f);
    const float where = between ? place_between(path, p, size) : p;
    tile.direction = path.direction(where);
    Vec2 at = path.at(where);
    bool covered = false;  // more than fit side by side: the last one lies on top
    if (lanes > 1 && m.out.form != Form::Columns) {
      const Vec2 n{-tile.direction.y, tile.direction.x};
      const float across = std::fabs(n.x) > .5f ? size.x : size.y;
      const float pitch = std::min(across + 8, (between ? 116.0f : 24.0f) / static_cast<float>(lanes - 1));
      covered = pitch < across && lane + 1 < lanes;
      at = at + n * ((static_cast<float>(lane) - static_cast<float>(lanes - 1) / 2) * pitch);
      if (covered || lane + 1 == lanes) {  // a heap stays inside the figure
        at.y = std::clamp(at.y, m.area.y + size.y / 2,
                          std::max(m.area.y, m.area.bottom() - size.y) + size.y / 2);
        at.x =
            std::clamp(at.x, m.area.x + size.x / 2, std::max(m.area.x, m.area.right() - size.x) + size.x / 2);
      }
    }
    if (dash) {  // no room between the columns: a dash under the numbers, from middle to middle
      const Rect &a = m.out.cards[static_cast<std::size_t>(f.src)].box,
                 &b = m.out.cards[static_cast<std::size_t>(f.dst)].box;
      at.x = lerp(a.center(), b.center(), p).x;
      const auto& cells = m.out.cards[static_cast<std::size_t>(f.dst)].cells;
      if (shown < cells.size()) at.y = cells[shown].box.bottom() - size.y / 2;
    }
    tile.box = {at.x - size.x / 2, at.y - size.y / 2, size.x, size.y};
    const bool written = size.x >= 30 && size.y >= 18 && !covered;
    tile.label = written && size.y >= 60;
    tile.bar = written && size.y >= 34;
    if (written) {
      const float top = tile.label ? 20.0f : 3.0f, bottom = tile.bar ? (tile.label ? 18.0f : 12.0f) : 3.0f;
      tile.content =
          fit_numbers(f.numbers, {tile.box.x + 3, tile.box.y + top, size.x - 6, size.y - top - bottom},
                      number, m.smallest, m.measure);
    }
    tile.tail = f.progress < 0
                    ? 0
                    : std::min(56.0f * size.x / 72,
                               std::max(0.0f, where * path.length() -
                                                  (std::fabs(tile.direction.x) > .5f ? size.x : size.y) / 2));
    const bool roomy =
        m.view.world <= 4 && m.view.ring && (m.out.form == Form::Cards || m.out.form == Form::OneNumber);
    if (roomy && !m.options.presenter && lanes == 1) {
      const bool vertical = std::fabs(tile.direction.y) > .5f, left = at.x < m.area.center().x;
      const float w = 100;
      tile.note = vertical ? Rect{left ? tile.box.x - 10 - w : tile.box.right() + 10, at.y - 20, w, 40}
                           : Rect{at.x - w / 2,
                                  at.y > m.area.center().y ? tile.box.y - 26 : tile.box.bottom() + 6, w, 20};
      tile.note_right_aligned = vertical && left;
      // On the outside there may be no room: the inside has the dial, which is far enough.
      if (tile.note.x < 4) tile.note.x = 4;
      if (tile.note.right() > m.out.size.x - 4) tile.note.x = m.out.size.x - 4 - w;
    }
    m.out.tiles.push_back(std::move(tile));
  }
}

void place_sums(Making& m) {
  for (const SumView& sum : m.view.sums) {
    SumBox box;
    if (m.options.show_sums) {
      if (m.out.form == Form::Columns) {
        box = sum_in_columns(m, sum);
      } else if (m.out.form == Form::Star) {
        const Rect root = m.out.cards[static_cast<std::size_t>(m.view.root)].box;
        if (m.out.sums.empty())
          box = fit_sum(m.view, sum, {root.center().x, root.y - 46}, {root.w + 130, 68}, 22, m.smallest,
                        m.measure);
        box.points = Heading::Down;
      } else if (m.out.form == Form::Squares) {
        const Rect c = m.out.close_up;
        if (sum.dst == m.out.close_up_rank)
          box = fit_sum(m.view, sum, {c.center().x, c.y + 82}, {c.w - 28, 82}, 28, m.smallest, m.measure);
      } else {
        box = sum_on_link(m, sum);
      }
    }
    m.out.sums.push_back(std::move(box));
  }
  for (TileBox& tile : m.out.tiles)  // the sum is what counts; the log still has the chunk
    for (const SumBox& sum : m.out.sums)
      if (m.out.form != Form::Squares && sum.box.w > 0 && overlap(sum.box, tile.box))
        tile.box = tile.note = Rect();
}

}  // namespace ringside::app::layout
