#include "app/scenes/cluster_grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/i18n/i18n.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

using parts::Mark;

constexpr float kNumbered = 26;  // from this size on a square carries its number

Color fill_of(const Theme& t, Mark mark) {
  switch (mark) {
    case Mark::Forward:
      return t.forward;
    case Mark::Backward:
      return t.backward;
    case Mark::Sending:
    case Mark::Receiving:
    case Mark::Reducing:
      return t.comm;
    case Mark::Update:
      return t.update;
    case Mark::TimedOut:
      return t.stall;
    case Mark::Dead:
      return t.fail;
    default:
      return {};
  }
}

Glyph glyph_of(Mark mark) {
  switch (mark) {
    case Mark::Forward:
      return Glyph::Forward;
    case Mark::Backward:
      return Glyph::Backward;
    case Mark::Reducing:
      return Glyph::Plus;
    case Mark::TimedOut:
      return Glyph::Clock;
    case Mark::Dead:
      return Glyph::Cross;
    default:
      return Glyph::None;
  }
}

/// A mark of 2 to 6 px: fill or outline only, still told apart by how full it is.
void tiny_mark(Canvas& c, Rect box, Mark mark) {
  const Theme& t = c.theme();
  switch (mark) {
    case Mark::Idle:
      return c.rect(box, {.stroke = fade(t.edge, .7f)});
    case Mark::Waiting:
      return c.rect(box, {.stroke = t.t3});
    case Mark::Stalled:
    case Mark::Silent:
      return c.rect(box, {.stroke = t.stall});
    case Mark::Terminated:
    case Mark::Aborted:
      return c.rect(box.inset(box.w * .2f), {.fill = t.t2});
    case Mark::Poisoned:
      return c.rect(box, {.fill = t.nan});
    default:
      return c.rect(box, {.fill = fill_of(t, mark)});
  }
}

void small_mark(Canvas& c, Rect box, Mark mark, float phase, bool strong) {
  const Theme& t = c.theme();
  const float r = std::min(3.0f, box.w * .2f), d = std::max(2.0f, box.w * .24f);
  const auto hollow = [&](Color line) {
    c.rect(box, {.stroke = line, .radius = r, .width = strong ? 2.0f : 1.25f});
    // One diagonal; where it drifts, it comes in again on the other side.
    const float x = phase > 0 ? std::fmod(phase, box.w) : 0;
    if (x == 0) {
      c.line({box.x + d, box.bottom() - d}, {box.right() - d, box.y + d}, line, strong ? 2.0f : 1.2f);
      return;
    }
    c.push_clip(box.inset(1));
    for (const float shift : {x, x - box.w})
      c.line({box.x + shift, box.bottom()}, {box.right() + shift, box.y}, line, strong ? 2.0f : 1.2f);
    c.pop_clip();
  };
  switch (mark) {
    case Mark::Idle:
      return c.rect(box, {.stroke = t.edge, .radius = r});
    case Mark::Waiting:
      return hollow(strong ? t.t1 : t.t3);
    case Mark::Stalled:
      return hollow(strong ? t.stall : mix(t.card, t.stall, .82f));
    case Mark::Terminated:
    case Mark::Aborted:
      c.rect(box, {.stroke = t.t1, .radius = r, .width = 1.25f});
      return c.rect(box.inset(box.w * .3f), {.fill = t.t1});
    case Mark::Poisoned:
      c.rect(box, {.fill = mix(t.card, t.nan, .24f), .radius = r});
      c.dots(box.inset(2), t.nan, 4, 1.1f);
      return c.rect(box, {.stroke = t.nan, .radius = r, .width = 1.25f});
    case Mark::Silent:
      c.rect(box, {.stroke = t.stall, .radius = r, .width = 1.25f, .dash = {2, 2}});
      return c.circle(box.center(), box.w * .14f, t.stall);
    default:
      break;
  }
  c.rect(box, {.fill = fill_of(t, mark), .radius = r});
  if (const Glyph glyph = glyph_of(mark); glyph != Glyph::None && box.w >= 9)
    c.glyph(glyph, box.center(), box.w * (mark == Mark::Dead ? .62f : .5f), t.on(fill_of(t, mark)),
            mark == Mark::Dead ? 2.0f : 1.2f);
}

/// A square with its rank's number; the state's glyph sits in the corner.
void numbered_mark(Canvas& c, Rect box, Mark mark, float phase, bool strong, int rank) {
  const Theme& t = c.theme();
  const std::string number = std::to_string(rank);
  const float size = std::clamp(box.w * .4f, 13.0f, 20.0f);
  const bool hollow = mark == Mark::Waiting || mark == Mark::Stalled || mark == Mark::Silent ||
                      mark == Mark::Poisoned || mark == Mark::Idle || mark == Mark::Terminated ||
                      mark == Mark::Aborted;
  if (hollow) {
    const Color line = mark == Mark::Stalled || mark == Mark::Silent ? t.stall
                       : mark == Mark::Poisoned                      ? t.nan
                       : mark == Mark::Waiting                       ? (strong ? t.t1 : t.t2)
                       : mark == Mark::Idle                          ? t.edge
                                                                     : t.t1;
    if (mark == Mark::Poisoned) {
      c.rect(box, {.fill = mix(t.card, t.nan, .24f), .radius = 4});
      c.dots(box.inset(2), fade(t.nan, .5f), 5, 1.1f);
    }
    if (mark == Mark::Waiting || mark == Mark::Stalled)
      c.hatch(box.inset(2), fade(line, .7f), 6, 1.2f, phase);
    c.rect(box, {.stroke = line,
                 .radius = 4,
                 .width = strong ? 2.5f : 1.5f,
                 .dash = mark == Mark::Silent ? Dash{3, 4} : Dash{}});
    const float w = c.width(number, size, Face::Bold) + 6;
    const Rect plate{box.center().x - w / 2, box.center().y - size * .62f, w, size * 1.24f};
    c.rect(plate, {.fill = t.card, .radius = 3});
    c.text(box.center(), number,
           {.size = size, .face = Face::Bold, .align = Align::Center, .on_shape = true});
    if (mark == Mark::Terminated || mark == Mark::Aborted)
      c.rect({box.right() - 10, box.y + 4, 6, 6}, {.fill = t.t1});
    if (mark == Mark::Stalled && box.w >= 34)
      c.glyph(Glyph::Hourglass, {box.right() - 8, box.y + 9}, 9, t.stall, 1.6f);
    return;
  }
  const Color fill = fill_of(t, mark);
  c.rect(box, {.fill = fill, .radius = 4});
  c.text({box.center().x, box.center().y + (box.w >= 34 ? 4.0f : 0.0f)}, number,
         {.size = size, .color = t.on(fill), .face = Face::Bold, .align = Align::Center, .on_shape = true});
  if (const Glyph glyph = glyph_of(mark); glyph != Glyph::None && box.w >= 34)
    c.glyph(glyph, {box.right() - 9, box.y + 9}, 9, t.on(fill), 1.6f);
}

void draw_square(Canvas& c, Rect box, const RankTile& tile, float phase, int rank) {
  if (box.w >= kNumbered) return numbered_mark(c, box, tile.mark, phase, tile.direct, rank);
  rank_mark(c, box, tile.mark, phase, tile.direct);
}

/// A node in a big cluster; split only where its ranks differ.
void draw_node(Canvas& c, Rect box, const ClusterView& cluster, int node) {
  const NodeTile& tile = cluster.tiles[static_cast<std::size_t>(node)];
  if (!tile.mixed || box.w < 8 || cluster.ranks.empty()) {
    rank_mark(c, box, tile.mark);
    return;
  }
  const int first = node * cluster.per_node, count = std::min(cluster.per_node, cluster.world - first);
  const int columns = static_cast<int>(std::ceil(std::sqrt(static_cast<float>(count)))),
            rows = (count + columns - 1) / columns;
  const float w = box.w / static_cast<float>(columns), h = box.h / static_cast<float>(rows);
  for (int i = 0; i < count; ++i)
    rank_mark(
        c,
        Rect{box.x + static_cast<float>(i % columns) * w, box.y + static_cast<float>(i / columns) * h, w, h}
            .inset(box.w > 14 ? 1.0f : .4f),
        cluster.ranks[static_cast<std::size_t>(first + i)].mark);
}

bool in_sight(Rect box, Rect area) {
  return box.right() > area.x && box.x < area.right() && box.bottom() > area.y && box.y < area.bottom();
}

void draw_row_names(Canvas& c, const ClusterView& cluster, const GridLayout& g, const Zoom& zoom, Rect area) {
  const Theme& t = c.theme();
  if (g.label <= 0) return;
  float last = -1e9f;
  const float size = 13;
  for (int box = 0; box < g.boxes; box += g.columns) {
    const Rect at = zoom.to_stage(g.box_at(box), area);
    if (!in_sight(at, {at.x - 1, area.y, at.w + 2, area.h}) || at.center().y - last < size + 4) continue;
    const std::string name =
        g.by_node ? tr("cluster.rack_short", {std::to_string(box)}) : cluster.node_name(box);
    const float x = std::max(area.x, zoom.to_stage(Vec2{g.origin.x, 0}, area).x) + g.label - 8;
    if (at.x < x - 4 || at.center().y - 8 < area.y || at.center().y + 8 > area.bottom()) continue;
    c.text({x, at.center().y}, fit(c.fonts(), name, g.label - 8, size),
           {.size = size, .color = t.t3, .align = Align::Right});
    last = at.center().y;
  }
}

void draw_boxes(Canvas& c, const GridLayout& g, const Zoom& zoom, Rect area, int close_up) {
  const Theme& t = c.theme();
  for (int box = 0; box < g.boxes; ++box) {
    const Rect at = zoom.to_stage(g.box_at(box), area);
    if (!in_sight(at, area)) continue;
    const bool lit = !g.by_node && box == close_up;
    c.rect(at, {.fill = lit ? t.raised : t.card, .radius = std::min(6.0f, at.h * .15f)});
  }
}

}  // namespace

std::string gpu_hours(double gpu_ns) {
  const double hours = gpu_ns / kGpuHourNs;
  if (hours < 1) return fmt::format("{:.2f}", hours);
  if (hours < 10) return fmt::format("{:.1f}", hours);
  return sim::with_commas(static_cast<std::int64_t>(std::llround(hours)));
}

std::string span_text(std::int64_t ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  if (ns < kSecond) return fmt::format("{:.1f} ms", static_cast<double>(ns) / 1e6);
  if (ns < 60 * kSecond) return fmt::format("{:.1f} s", static_cast<double>(ns / 100'000'000) / 10);
  const std::int64_t s = ns / kSecond;
  return s < 3600 ? fmt::format("{}:{:02}", s / 60, s % 60)
                  : fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

void rank_mark(Canvas& c, Rect box, Mark mark, float phase, bool strong) {
  if (box.w < 6) {
    tiny_mark(c, box, mark);
  } else if (box.w < 16) {
    small_mark(c, box, mark, phase, strong);
  } else {
    parts::state_mark(c, box, mark, phase);
  }
}

void draw_counts(View& view, const ClusterView& cluster, const GridLayout& grid, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  struct Entry {
    Group group;
    std::string number, word;
  };
  std::vector<Entry> entries;
  const auto count = [&](Group g) { return cluster.counts[static_cast<std::size_t>(g)]; };
  for (int g = 0; g < kGroupCount; ++g) {
    const auto group = static_cast<Group>(g);
    const bool stopped = group == Group::Working && cluster.waiting() > 0;
    if (count(group) == 0 && !stopped) continue;
    entries.push_back({group, sim::with_commas(count(group)), tr_word("cluster.state", word_of(group))});
  }
  const std::string what = tr(grid.by_node ? "cluster.key.nodes" : "cluster.key.ranks");
  const bool direct =
      std::any_of(cluster.ranks.begin(), cluster.ranks.end(), [](const RankTile& r) { return r.direct; });
  const std::string second =
      direct ? tr("cluster.key.direct")
             : tr("cluster.key.world", {sim::with_commas(cluster.world), sim::with_commas(cluster.nodes)});
  const bool presenter = view.ctx.presenter;
  const float caption = presenter ? 0 : std::max(c.width(what, 13), c.width(second, 13)) + 34;
  float size = presenter ? 60.0f : box.h > 70 ? 44.0f : 36.0f, word = presenter ? 32 : 16, gap = 26;
  const float mark = presenter ? 30 : 16, least_word = presenter ? 28 : 14;
  const auto width = [&] {
    float w = 0;
    for (const Entry& e : entries)
      w += mark + 10 + c.width(e.number, size, Face::Bold) + 7 + c.width(e.word, word) + gap;
    return w - gap;
  };
  while (width() > box.w - caption && size > 20) {
    size -= 2;
    word = std::max(least_word, word - .5f);
    gap = std::max(16.0f, gap - 1);
  }
  // No count is ever left out: short of room (two branches side by side) those of zero go first, then the words;
  // the mark says what is counted, and the hover.
  if (width() > box.w) std::erase_if(entries, [](const Entry& e) { return e.number == "0"; });
  const bool words = width() <= box.w;
  float x = box.x;
  const float y = box.center().y + 2;
  for (const Entry& e : entries) {
    const float begin = x;
    const bool zero = e.number == "0";
    parts::state_mark(c, {x, y - mark / 2, mark, mark},
                      zero                        ? parts::Mark::Idle
                      : e.group == Group::Working ? cluster.working_mark
                                                  : mark_of(e.group));
    x += mark + 10;
    const Color color = zero                         ? t.t3
                        : e.group == Group::Dead     ? t.fail_text
                        : e.group == Group::Poisoned ? t.nan_text
                        : e.group == Group::Stalled || e.group == Group::TimedOut || e.group == Group::Silent
                            ? t.stall_text
                            : t.t1;
    x += c.text({x, y}, e.number, {.size = size, .color = color, .face = Face::Bold}) + 7;
    if (words) x += c.text({x, y + size * .12f}, e.word, {.size = word, .color = zero ? t.t3 : t.t2});
    view.ui.explain({begin, box.y, x - begin, box.h}, e.number + " " + e.word);
    x += gap;
  }
  if (presenter || box.right() - x < 150) return;
  const float room = box.right() - x;
  c.text({box.right(), y - 10}, fit(c.fonts(), what, room, 13),
         {.size = 13, .color = t.t2, .align = Align::Right});
  c.text({box.right(), y + 10}, fit(c.fonts(), second, room, 13),
         {.size = 13, .color = t.t3, .align = Align::Right});
}

GridAnswer draw_grid(View& view, const ClusterView& cluster, const GridLayout& g, const ClusterLayout& at,
                     GridState& state, float phase) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const Rect area = at.grid;
  GridAnswer answer;
  const Hit hit = view.ui.hit("cluster.grid", area, {.takes_arrows = true});
  state.focused = hit.focused;
  const float most_zoom = std::max(1.0f, 48.0f / g.square);
  if (const float wheel = view.ui.wheel(area); wheel != 0) {
    state.zoom.by(wheel > 0 ? 1.25f : .8f, hit.hovered ? hit.mouse : area.center(), area, most_zoom);
    view.ui.keep_moving();
  }
  const int chosen = hit.hovered ? g.square_of(state.zoom.to_grid(hit.mouse, area)) : -1;
  if (hit.pressed) state.grabbed = hit.mouse;
  if (hit.held && state.zoom.k > 1) {
    const Vec2 moved = hit.mouse - state.grabbed;
    if (state.dragging || std::hypot(moved.x, moved.y) > 4) {
      state.dragging = true;
      state.zoom.pan(moved, area);
      state.grabbed = hit.mouse;
    }
  }
  const bool was_dragging = state.dragging;
  if (!hit.held) state.dragging = false;
  state.hovered_node = chosen < 0 ? -1 : g.by_node ? chosen : cluster.node_of(chosen);
  const bool menu = hit.menu && (chosen >= 0 || view.ctx.selection.rank >= 0 || view.ctx.selection.node >= 0);
  if (menu && chosen < 0) {  // by the menu key: what is selected
    answer.menu = true;
    answer.rank = view.ctx.selection.rank;
    answer.node = view.ctx.selection.node;
  } else if ((menu || hit.clicked) && chosen >= 0 && !was_dragging) {
    answer.clicked = hit.clicked;
    answer.menu = menu;
    answer.down = hit.double_clicked;
    answer.node = state.hovered_node;
    if (!g.by_node) answer.rank = chosen;
  }

  const Selection& selection = view.ctx.selection;
  const int lit = state.hovered_node >= 0 ? state.hovered_node
                  : selection.node >= 0   ? selection.node
                                          : cluster.culprit_node;
  c.push_clip(area.inset(-7));
  draw_boxes(c, g, state.zoom, area, lit);
  for (int i = 0; i < g.squares; ++i) {
    const Rect box = state.zoom.to_stage(g.square_at(i), area);
    if (!in_sight(box, area)) continue;
    if (g.by_node) {
      draw_node(c, box, cluster, i);
    } else {
      draw_square(c, box, cluster.ranks[static_cast<std::size_t>(i)], phase, i);
    }
    if (!g.by_node && box.w >= 16 && cluster.ranks[static_cast<std::size_t>(i)].culprit)
      parts::brackets(c, box.inset(-3), t.fail, box.w * .3f, 2.5f);
    const bool selected = g.by_node ? selection.node == i && selection.rank < 0 : selection.rank == i;
    if (selected) c.rect(box.inset(-3), {.stroke = t.accent, .radius = 4, .width = 2});
  }
  for (int n = 0; n < cluster.nodes; ++n) {
    if (!cluster.tiles[static_cast<std::size_t>(n)].culprit) continue;
    const Rect box = state.zoom.to_stage(g.by_node ? g.square_at(n) : g.box_at(n), area);
    if (!in_sight(box, area)) continue;
    const float arm = std::clamp(box.h * .4f, 4.0f, 13.0f);
    parts::brackets(c, box.inset(g.by_node ? -4.0f : -5.0f), t.fail, arm, box.w < 12 ? 2.0f : 3.0f);
  }
  draw_row_names(c, cluster, g, state.zoom, area);
  c.pop_clip();
  if (chosen >= 0) {
    std::string sentence =
        g.by_node ? cluster.node_name(chosen)
                  : parts::rank_name(chosen) + " · " + cluster.node_name(cluster.node_of(chosen));
    const Mark mark = g.by_node ? cluster.tiles[static_cast<std::size_t>(chosen)].mark
                                : cluster.ranks[static_cast<std::size_t>(chosen)].mark;
    sentence += ": " + std::string(tr_word("cluster.mark", word_of(mark)));
    view.ui.explain(area, sentence);
  }
  return answer;
}

}  // namespace ringside::app
