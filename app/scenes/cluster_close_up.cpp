// One node at close range, tied to its box by a beam; or, with no node chosen, what the marks mean.
#include <algorithm>
#include <array>

#include "app/i18n/i18n.hpp"
#include "app/scenes/cluster_grid.hpp"
#include "app/text/layout.hpp"

namespace ringside::app {
namespace {

using parts::Mark;

struct Panel {
  View& view;
  Canvas& c;
  const Theme& t;
  Rect box;
  float y;
};

void draw_legend(Panel& p) {
  constexpr std::array kMarks = {Mark::Forward,  Mark::Backward,   Mark::Reducing,
                                 Mark::Waiting,  Mark::Stalled,    Mark::Silent,
                                 Mark::TimedOut, Mark::Terminated, Mark::Dead};
  p.c.text({p.box.x + 16, p.box.y + 23}, tr("cluster.legend"),
           {.size = 14, .color = p.t.t3, .face = Face::Bold});
  const float pitch = std::clamp((p.box.h - 52) / static_cast<float>(kMarks.size()), 24.0f, 34.0f);
  float y = p.box.y + 54;
  for (const Mark mark : kMarks) {
    if (y + 10 > p.box.bottom()) break;
    rank_mark(p.c, {p.box.x + 16, y - 7, 14, 14}, mark);
    p.c.text({p.box.x + 40, y},
             fit(p.c.fonts(), tr_word("cluster.mark", word_of(mark)), p.box.right() - p.box.x - 50, 15),
             {.size = 15, .color = p.t.t2});
    y += pitch;
  }
}

/// The ranks to list when not all fit: the selected and the guilty first, the others in order.
std::vector<int> rows_of(const ClusterView& cluster, int node, int selected, int most) {
  const int first = node * cluster.per_node, end = std::min(cluster.world, first + cluster.per_node);
  std::vector<int> rows;
  for (int r = first; r < end; ++r) rows.push_back(r);
  if (static_cast<int>(rows.size()) <= most) return rows;
  const auto matters = [&](int r) {
    const RankTile& tile = cluster.ranks[static_cast<std::size_t>(r)];
    return r == selected || tile.culprit || tile.mark == Mark::Dead;
  };
  std::stable_sort(rows.begin(), rows.end(), [&](int a, int b) { return matters(a) > matters(b); });
  rows.resize(static_cast<std::size_t>(std::max(1, most - 1)));
  std::sort(rows.begin(), rows.end());
  return rows;
}

Hit draw_row(Panel& p, const ClusterView& cluster, int rank, Rect row) {
  Canvas& c = p.c;
  const Theme& t = p.t;
  const RankTile& tile = cluster.ranks[static_cast<std::size_t>(rank)];
  const bool selected = p.view.ctx.selection.rank == rank, dead = tile.mark == Mark::Dead;
  const Hit hit =
      p.view.ui.hit("cluster.rank." + std::to_string(rank), row, {.explain = tr("cluster.close_up.explain")});
  const Rect plate = row.inset(5, 2);
  Color ink = t.t1, word = t.t2;
  if (dead) {
    c.rect(plate, {.fill = t.fail, .radius = 6});
    ink = word = t.on(t.fail);
  } else if (selected || hit.hovered) {
    c.rect(plate, {.fill = t.raised, .radius = 6});
  }
  if (tile.culprit) parts::brackets(c, plate.inset(-3), t.fail, 8, 3);
  if (selected) c.rect(plate, {.stroke = dead ? t.on(t.fail) : t.accent, .radius = 6, .width = 2});
  const float y = row.center().y, x = plate.x + 8;
  if (dead) {
    c.glyph(Glyph::Cross, {x + 7, y}, 12, ink, 2.4f);
  } else {
    rank_mark(c, {x, y - 7, 14, 14}, tile.mark, 0, tile.direct);
  }
  const float name = c.text({x + 21, y}, parts::rank_name(rank),
                            {.size = 16, .color = ink, .face = tile.culprit ? Face::Bold : Face::Regular});
  const std::string& state =
      tr_word("cluster.state", word_of(tile.finished ? Group::Finished : group_of(tile.mark)));
  const float room = plate.right() - 7 - (x + 21 + name + 6);
  if (room > 24) {
    const float size = size_that_fits(c.fonts(), state, room, {14, 13});
    c.text({plate.right() - 7, y}, fit(c.fonts(), state, room, size),
           {.size = size, .color = word, .align = Align::Right});
  }
  return hit;
}

void draw_node_only(Panel& p, const ClusterView& cluster, int node) {
  const NodeTile& tile = cluster.tiles[static_cast<std::size_t>(node)];
  const float side = 44;
  parts::state_mark(p.c, {p.box.x + 16, p.y, side, side}, tile.mark);
  if (tile.culprit) parts::brackets(p.c, Rect{p.box.x + 16, p.y, side, side}.inset(-6), p.t.fail, 9, 3);
  p.y += side + 24;
  p.c.text({p.box.x + 16, p.y}, tr_word("cluster.mark", word_of(tile.mark)),
           {.size = 17, .face = Face::Bold});
  p.y += 28;
  const float w = p.box.w - 32;
  p.y = parts::paragraph(p.c, {p.box.x + 16, p.y}, w,
                         tr("cluster.close_up.rack", {std::to_string(node / cluster.nodes_per_rack)}),
                         {.size = 14, .color = p.t.t2, .max_lines = 2});
  parts::paragraph(p.c, {p.box.x + 16, p.y + 8}, w,
                   tr("cluster.close_up.node_only", {std::to_string(cluster.per_node)}),
                   {.size = 14, .color = p.t.t3, .max_lines = 7});
}

}  // namespace

GridAnswer draw_close_up(View& view, const ClusterView& cluster, const GridLayout& grid,
                         const ClusterLayout& at, const GridState& state, int node) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  GridAnswer answer;
  const Rect box = at.panel;
  if (node >= 0) {
    const Rect from = state.zoom.to_stage(grid.by_node ? grid.square_at(node) : grid.box_at(node), at.grid);
    const bool seen = from.bottom() > at.grid.y && from.y < at.grid.bottom() && from.x < at.grid.right();
    if (seen)
      parts::beam(c, {from.right() + 5, from.y - 3}, {from.right() + 5, from.bottom() + 3},
                  {box.x, box.bottom()}, {box.x, box.y}, t.t1);
  }
  c.rect(box, {.fill = mix(t.stage, t.panel, .6f), .stroke = node >= 0 ? t.edge : t.line, .radius = 10});
  Panel p{view, c, t, box, box.y + 44};
  if (node < 0) {
    draw_legend(p);
    return answer;
  }
  const std::string name = cluster.node_name(node);
  const float w = c.text({box.x + 16, box.y + 23}, fit(c.fonts(), name, box.w - 32, 17, Face::Bold),
                         {.size = 17, .face = Face::Bold});
  const std::string label = tr("cluster.close_up.node", {std::to_string(node)});
  if (w + c.width(label, 13) + 44 < box.w)
    c.text({box.right() - 14, box.y + 23}, label, {.size = 13, .color = t.t2, .align = Align::Right});
  if (cluster.ranks.empty()) {
    draw_node_only(p, cluster, node);
    return answer;
  }
  const int count = std::min(cluster.per_node, cluster.world - node * cluster.per_node);
  const float room = box.bottom() - 8 - p.y;
  const float pitch = std::clamp(room / static_cast<float>(count), 30.0f, 40.0f);
  const int most = std::max(1, static_cast<int>(room / pitch));
  const std::vector<int> rows = rows_of(cluster, node, view.ctx.selection.rank, most);
  for (const int rank : rows) {
    const Hit hit = draw_row(p, cluster, rank, {box.x, p.y, box.w, pitch});
    if (hit.clicked || hit.menu) {
      answer.clicked = hit.clicked;
      answer.menu = hit.menu;
      answer.down = hit.double_clicked;
      answer.rank = rank;
      answer.node = node;
    }
    p.y += pitch;
  }
  if (static_cast<int>(rows.size()) < count && p.y + pitch / 2 + 8 <= box.bottom())
    c.text({box.x + 16, p.y + pitch / 2},
           tr("cluster.close_up.more", {std::to_string(count - static_cast<int>(rows.size()))}),
           {.size = 14, .color = t.t3});
  return answer;
}

}  // namespace ringside::app
