// What is between the GPUs: links, chunks on their way, additions.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/allreduce_pen.hpp"

namespace ringside::app::figure {
namespace {

std::string link_name(const Pen& p, int src, int dst) {
  if (p.view.ctx.scenario == nullptr) return {};
  const sim::Topology& topology = p.view.ctx.scenario->cluster.topology;
  const sim::LinkSpec spec = topology.link(src, dst);
  const bool nvlink =
      p.view.ctx.scenario->stack.transport == sim::Transport::NvLink && spec == topology.intra;
  return (nvlink ? "NVLink · " : "") + time_text(spec.latency_ns);
}

/// The areas of a link that can be clicked: its straight pieces, as wide as a finger.
void hit_link(const Pen& p, const LinkBox& link, FigureAnswer& answer) {
  if (p.view.ctx.scenario == nullptr) return;
  const sim::LinkSpec spec = p.view.ctx.scenario->cluster.topology.link(link.src, link.dst);
  const std::string from = parts::rank_name(link.src), to = parts::rank_name(link.dst);
  const std::string sentence =
      tr("allreduce.explain.link", {from, to, time_text(spec.latency_ns), rate_text(spec.bytes_per_s)});
  for (std::size_t i = 1; i < link.path.points.size(); ++i) {
    const Vec2 a = link.path.points[i - 1], b = link.path.points[i];
    const Rect box{std::min(a.x, b.x) - 12, std::min(a.y, b.y) - 12, std::fabs(b.x - a.x) + 24,
                   std::fabs(b.y - a.y) + 24};
    const bool straight = a.x == b.x || a.y == b.y;
    if (!straight) continue;
    const std::string id = "allreduce.link" + std::to_string(link.src) + "." + std::to_string(link.dst) +
                           "." + std::to_string(i);
    const bool quiet = p.view.ctx.presenter;
    const Hit hit =
        p.view.ui.hit(id, box, {.focusable = false, .explain = quiet ? std::string_view() : sentence});
    if (hit.clicked && !quiet) {
      answer.link_from = link.src;
      answer.link_to = link.dst;
    }
    if (hit.menu) answer.menu = Selection{.link_from = link.src, .link_to = link.dst};
  }
}

void draw_chevron(const Pen& p, Vec2 at, Vec2 d, float a, Color color) {
  const Vec2 n{-d.y, d.x};
  const Vec2 points[3] = {at - d * a + n * (a * 1.3f), at + d * a, at - d * a - n * (a * 1.3f)};
  p.c.stroke(points, p.t.stage, 7);
  p.c.stroke(points, color, 2.5f);
}

}  // namespace

void draw_link(const Pen& p, const LinkBox& link, FigureAnswer& answer) {
  hit_link(p, link, answer);
  const Path& path = link.path;
  const auto& bad = p.ring.poisoned_links;
  const bool poisoned = std::find(bad.begin(), bad.end(), std::pair(link.src, link.dst)) != bad.end();
  const Selection& chosen = p.view.ctx.selection;
  const bool selected = chosen.link_from == link.src && chosen.link_to == link.dst;
  const Color color = poisoned ? p.t.nan : selected ? p.t.t1 : p.t.edge;
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

namespace {}  // namespace

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
      const auto meets = [&](const auto& other) {
        return other.box.w > 0 && other.box.y < place.bottom() && other.box.bottom() > place.y &&
               other.box.x < place.right() && other.box.right() > place.x;
      };
      // Tiles pile up on a link whose receiver does not come.
      const bool covered = std::any_of(p.layout.sums.begin(), p.layout.sums.end(), meets) ||
                           std::any_of(p.layout.tiles.begin(), p.layout.tiles.end(), meets);
      if (!covered && w < std::fabs(b.x - a.x) - 12)
        p.c.text({m.x, y}, name, {.size = 13, .color = p.t.t2, .align = Align::Center});
    } else if (!used && !summed) {
      const bool left = m.x < p.layout.size.x / 2;
      p.c.text({m.x + (left ? -14.0f : 14.0f), m.y}, name,
               {.size = 13, .color = p.t.t3, .align = left ? Align::Right : Align::Left});
    }
  }
}

namespace {

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

}  // namespace

void draw_tile(const Pen& p, const FlightView& f, const TileBox& tile) {
  Canvas& c = p.c;
  const Rect b = tile.box;
  if (b.w <= 0) return;
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
  if (p.follows(f.chunk)) c.rect(b.inset(-5), {.stroke = p.t.accent, .radius = radius + 3, .width = 2});
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

namespace {

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

}  // namespace

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

}  // namespace ringside::app::figure
