// Lanes: one a rank, the last seconds up to now. Filled = works, hatched = waits, broken outline = we do not
// know.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/live_scene.hpp"
#include "app/scenes/phase_color.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app::live {
namespace {

constexpr float kAxis = 26, kLegend = 26, kLeastPitch = 10, kMostPitch = 72, kSteps = 20;

struct Plan {
  Rect box{};
  float hosts = 0, bars = 0, right = 0;  // x of the columns: hosts, bars begin, bars end
  float pitch = 0, steps = 0;  // height of the line with the numbers of the steps
  std::vector<int> rows;  // ranks, top to bottom
  std::int64_t from = 0, to = 1;
  float at(std::int64_t t) const {
    const double share = static_cast<double>(t - from) / static_cast<double>(to - from);
    return bars + (right - bars) * static_cast<float>(std::clamp(share, 0.0, 1.0));
  }
};

bool is_odd(const LiveLane& lane) {
  return lane.failed || lane.poisoned || lane.state == LiveState::Silent || lane.state == LiveState::TimedOut;
}

/// More ranks than fit: those that differ stay, then the first ones.
std::vector<int> rows_that_fit(const LiveView& live, std::size_t most) {
  std::vector<int> rows;
  for (const LiveLane& lane : live.lanes)
    if (is_odd(lane) && rows.size() < most) rows.push_back(lane.rank);
  for (const LiveLane& lane : live.lanes)
    if (!is_odd(lane) && rows.size() < most) rows.push_back(lane.rank);
  std::sort(rows.begin(), rows.end());
  return rows;
}

Plan make_plan(const Paint& p, Rect box) {
  Plan plan;
  plan.from = p.live.from;
  plan.to = std::max(p.live.t, p.live.from + 1);
  const float steps = box.h > 200 ? kSteps : 0;
  const float room = box.h - kAxis - kLegend - steps;
  const auto most = static_cast<std::size_t>(std::max(1.0f, std::floor(room / kLeastPitch)));
  plan.rows = rows_that_fit(p.live, most);
  plan.pitch = std::min(kMostPitch, room / static_cast<float>(std::max<std::size_t>(1, plan.rows.size())));
  plan.box = {box.x, box.y + kAxis, box.w, plan.pitch * static_cast<float>(plan.rows.size())};
  const bool hosts = !p.live.one_host;
  plan.hosts = hosts ? 84.0f : 12.0f;
  plan.bars = box.x + plan.hosts + 108;
  plan.right = box.right() - 12;
  plan.steps = steps;
  return plan;
}

void draw_axis(Paint& p, const Plan& plan) {
  const float y = plan.box.y - kAxis / 2;
  p.c.text({plan.bars - 12, y}, tr("live.column.heard"), {.size = 13, .color = p.t.t3, .align = Align::Right});
  const std::int64_t span = plan.to - plan.from, second = 1'000'000'000;
  std::int64_t tick = second / 5;
  for (const std::int64_t next : {second / 2, second, 2 * second, 5 * second, 10 * second, 20 * second, 30 * second})
    if (span / tick > 6) tick = next;
  const std::string& now = tr("live.column.now");
  const float now_left = plan.right - p.c.width(now, 14, Face::Bold) - 12;
  for (std::int64_t back = tick; back < span; back += tick) {
    const float x = plan.at(plan.to - back);
    const std::string number = fmt::format("{:g}", static_cast<double>(back) / 1e9);
    const std::string label = "-" + (back < second ? sim::format_duration(back) : tr("live.seconds", {number}));
    const float half = p.c.width(label, 13) / 2;
    if (x - half < plan.bars - 2 || x + half > now_left) continue;
    p.c.line({x, plan.box.y}, {x, plan.box.bottom()}, p.t.line);
    p.c.text({x, y}, label, {.size = 13, .color = p.t.t3, .align = Align::Center});
  }
  p.c.text({plan.right, y}, now, {.size = 14, .face = Face::Bold, .align = Align::Right});
}

/// A label in a bar, on a ground of its own, if it has room: the long form, the short form, or none.
void bar_label(Paint& p, Rect bar, const std::string& whole, const std::string& brief, Color color, Color ground,
               Glyph glyph = Glyph::None) {
  if (bar.h < 17) return;
  const float icon = glyph == Glyph::None ? 0.0f : 20.0f;
  for (const std::string* text : {&whole, &brief}) {
    const float w = p.c.width(*text, 14) + icon;
    if (w + 20 > bar.w) continue;
    const float x = bar.center().x - w / 2;
    p.c.rect({x - 6, bar.center().y - 8, w + 12, 16}, {.fill = ground, .radius = 3});
    if (glyph != Glyph::None) p.c.glyph(glyph, {x + 6, bar.center().y}, 12, color, 1.5f);
    p.c.text({x + icon, bar.center().y}, *text, {.size = 14, .color = color, .on_shape = true});
    return;
  }
}

void draw_work(Paint& p, const Plan& plan, const LiveLane& lane, Rect row) {
  for (const LivePiece& piece : lane.work) {
    const float a = plan.at(piece.from), b = plan.at(piece.to);
    const Rect bar{a + .5f, row.y, std::max(1.5f, b - a - 1), row.h};
    const Color fill = phase_color(p.t, piece.phase);
    p.c.rect(bar, {.fill = fill, .radius = std::min(4.0f, bar.w / 3)});
    const Glyph glyph = piece.phase == sim::Phase::Forward    ? Glyph::Forward
                        : piece.phase == sim::Phase::Backward ? Glyph::Backward
                                                              : Glyph::None;
    if (glyph != Glyph::None && bar.w >= 16 && row.h >= 14) p.c.glyph(glyph, bar.center(), 11, p.t.on(fill), 2);
  }
}

std::string end_text(const LiveLane& lane) {
  if (!lane.failed) return tr("live.lane.done");
  return lane.by_signal ? tr("live.lane.dead", {std::to_string(lane.exit_code)})
                        : tr("live.lane.dead_code", {std::to_string(lane.exit_code)});
}

/// What comes after the last work: a wait, silence, the end.
void draw_rest(Paint& p, const Plan& plan, const LiveLane& lane, Rect row) {
  const std::int64_t t = p.live.t;
  if (lane.ended >= 0) {
    const float x = plan.at(lane.ended);
    const Rect rest{x, row.y, plan.right - x, row.h};
    const Color mark = lane.failed ? p.t.fail : p.t.edge;
    if (rest.w > 24) p.c.rect(rest.inset(.5f), {.stroke = mark, .radius = 4, .width = 1.25f, .dash = {4, 4}});
    const float k = std::min(20.0f, row.h);
    const Rect square{std::min(x, plan.right - k), row.center().y - k / 2, k, k};
    if (lane.failed) {
      p.c.rect(square, {.fill = p.t.fail, .radius = 3});
      p.c.glyph(Glyph::Cross, square.center(), k * .55f, p.t.on(p.t.fail), 2);
    }
    const Rect words{square.right(), row.y, plan.right - square.right(), row.h};
    bar_label(p, words, end_text(lane), end_text(lane), lane.failed ? p.t.fail_text : p.t.t2, p.t.card);
    return;
  }
  if (lane.state == LiveState::Silent) {
    const float x = plan.at(t - lane.heard_ns);
    const Rect bar{x + 2, row.y, std::max(4.0f, plan.right - x - 2), row.h};
    p.c.rect(bar, {.fill = fade(p.t.stall, .12f), .radius = 5});
    p.c.rect(bar, {.stroke = p.t.stall, .radius = 5, .width = 1.5f, .dash = {4, 3}});
    const std::string time = time_text(lane.heard_ns);
    bar_label(p, bar, tr("live.lane.silent", {time}), tr("live.lane.silent_short", {time}), p.t.stall_text, p.t.card,
              Glyph::Hidden);
    return;
  }
  if (lane.state == LiveState::TimedOut) {
    const Rect bar{plan.right - 130, row.y, 130, row.h};
    bar_label(p, bar, tr("live.lane.timed_out"), tr("live.lane.timed_out"), p.t.stall_text, p.t.card, Glyph::Clock);
    return;
  }
  if (lane.waiting_from < 0) return;
  const float x = plan.at(lane.waiting_from);
  const Rect bar{x + 1, row.y, std::max(4.0f, plan.right - x - 1), row.h};
  const bool stalled = t - lane.waiting_from >= sim::kStalledAfterNs;
  parts::wait_box(p.c, bar, stalled ? p.t.stall : Color{});
  const std::string time = time_text(t - lane.waiting_from);
  bar_label(p, bar, tr("live.lane.waits", {time, sim::with_commas(lane.seq)}), tr("live.lane.waits_short", {time}),
            stalled ? p.t.stall_text : p.t.t1, p.t.card, stalled ? Glyph::Hourglass : Glyph::None);
}

bool culprit(const LiveView& live, int rank) {
  return live.verdict && std::find(live.verdict->culprits.begin(), live.verdict->culprits.end(), rank) !=
                             live.verdict->culprits.end();
}

void draw_row(Paint& p, const Plan& plan, const LiveLane& lane, float y) {
  const bool odd = is_odd(lane);
  const Rect whole{plan.box.x, y, plan.box.w, plan.pitch};
  const Hit hit = p.view.ui.hit("live.rank." + std::to_string(lane.rank), whole.inset(1));
  const bool selected = p.view.ctx.selection.rank == lane.rank;
  const Rect ground{plan.box.x + plan.hosts - 6, y + 1, plan.box.right() - plan.box.x - plan.hosts + 4, plan.pitch - 2};
  if (selected || hit.hovered) p.c.rect(ground, {.fill = p.t.raised, .radius = 6});
  if (odd && lane.state == LiveState::Silent) p.c.rect(ground, {.fill = fade(p.t.stall, .10f), .radius = 6});
  const float mid = y + plan.pitch / 2, x = plan.box.x + plan.hosts;
  if (plan.pitch >= 17) {
    const float h = std::min(22.0f, plan.pitch - 4);
    parts::rank_tag(p.c, {x, mid}, lane.rank, {.height = h, .size = h >= 18 ? 14.0f : 13.0f, .neutral = true});
    const bool here = lane.state != LiveState::Absent && lane.ended < 0;
    const bool silent = lane.state == LiveState::Silent;
    if (here) {
      p.c.text({plan.bars - 26, mid}, tr("live.seconds", {fmt::format("{:.2f}", static_cast<double>(lane.heard_ns) / 1e9)}),
               {.size = 13, .color = silent ? p.t.stall_text : p.t.t2, .align = Align::Right, .on_shape = true});
      p.c.glyph(silent ? Glyph::Hidden : Glyph::Measured, {plan.bars - 14, mid}, 11, silent ? p.t.stall : p.t.t2, 1.5f);
    } else if (lane.state == LiveState::Absent) {
      p.c.text({plan.bars + 6, mid}, tr("live.lane.absent"), {.size = 13, .color = p.t.t3, .on_shape = true});
    }
  }
  const float inset = plan.pitch >= 24 ? std::max(4.0f, plan.pitch * .16f) : 1.0f;
  const Rect row{plan.bars, y + inset, plan.right - plan.bars, plan.pitch - 2 * inset};
  draw_work(p, plan, lane, row);
  draw_rest(p, plan, lane, row);
  if (lane.poisoned && plan.pitch >= 17) {
    const std::string nan = "NaN";
    const Rect tag{x + 38, mid - 9, p.c.width(nan, 13, Face::Bold) + 8, 18};
    p.c.rect(tag, {.fill = p.t.card, .stroke = p.t.nan, .radius = 4, .width = 1.5f});
    p.c.text(tag.center(), nan,
             {.size = 13, .color = p.t.nan_text, .face = Face::Bold, .align = Align::Center, .on_shape = true});
  }
  if (culprit(p.live, lane.rank)) parts::brackets(p.c, ground.inset(1), p.t.fail, 9, 3);
  if (hit.clicked) {
    Selection chosen;
    chosen.rank = selected ? -1 : lane.rank;
    p.view.emit(action::Select{chosen});
  }
}

/// Hosts: a card behind the ranks of each, and its name beside them.
void draw_hosts(Paint& p, const Plan& plan) {
  for (std::size_t i = 0; i < plan.rows.size();) {
    const std::string& host = p.live.lanes[static_cast<std::size_t>(plan.rows[i])].host;
    std::size_t end = i + 1;
    while (end < plan.rows.size() && p.live.lanes[static_cast<std::size_t>(plan.rows[end])].host == host) ++end;
    const Rect card{plan.box.x, plan.box.y + plan.pitch * static_cast<float>(i) + 1, plan.box.w,
                    plan.pitch * static_cast<float>(end - i) - 2};
    p.c.rect(card, {.fill = p.t.card, .radius = 8});
    if (!p.live.one_host && card.h >= 16)
      p.c.text({card.x + 10, card.center().y},
               fit(p.c.fonts(), sim::escape_for_display(host), plan.hosts - 18, 14),
               {.size = 14, .color = p.t.t2, .on_shape = true});
    i = end;
  }
}

/// Where training steps begin, as the first of the lanes shows it.
void draw_steps(Paint& p, const Plan& plan, float y) {
  if (plan.steps == 0 || plan.rows.empty()) return;
  float last = plan.bars - 8;
  for (const LivePiece& piece : p.live.lanes[static_cast<std::size_t>(plan.rows.front())].work) {
    if (piece.phase != sim::Phase::Forward) continue;
    const std::string label = tr("live.lane.step", {sim::with_commas(piece.step)});
    const float x = plan.at(piece.from), w = p.c.width(label, 13);
    if (x < last + 12 || x + w > plan.right) continue;
    p.c.text({x, y}, label, {.size = 13, .color = p.t.t3});
    last = x + w;
  }
}

void draw_legend(Paint& p, const Plan& plan, float y) {
  float x = plan.right;
  const auto item = [&](const std::string& label, auto draw) {
    const float w = p.c.width(label, 13);
    x -= w;
    p.c.text({x, y}, label, {.size = 13, .color = p.t.t2});
    x -= 27;
    draw(Rect{x, y - 6, 20, 13});
    x -= 16;
  };
  const auto filled = [&](Color color) {
    return [&p, color](Rect r) { p.c.rect(r, {.fill = color, .radius = 3}); };
  };
  item(tr("live.legend.silent"),
       [&](Rect r) { p.c.rect(r, {.stroke = p.t.stall, .radius = 3, .width = 1.5f, .dash = {3, 2}}); });
  item(tr("live.legend.gone"), [&](Rect r) {
    p.c.rect({r.x + 3, r.y, 13, 13}, {.fill = p.t.fail, .radius = 3});
    p.c.glyph(Glyph::Cross, {r.x + 9.5f, r.center().y}, 8, p.t.on(p.t.fail), 1.75f);
  });
  item(tr("live.legend.waiting"), [&](Rect r) { parts::wait_box(p.c, r); });
  item(tr("live.legend.allreduce"), filled(p.t.comm));
  item(tr("live.legend.backward"), filled(p.t.backward));
  item(tr("live.legend.forward"), filled(p.t.forward));
  const std::size_t hidden = p.live.lanes.size() - plan.rows.size();
  if (hidden > 0)
    p.c.text({plan.box.x + 12, y}, tr("live.lane.more", {sim::with_commas(static_cast<std::int64_t>(hidden))}),
             {.size = 13, .color = p.t.t2});
}

}  // namespace

void draw_lanes(Paint& p, Rect box) {
  if (p.live.lanes.empty()) return;
  const Plan plan = make_plan(p, box);
  draw_hosts(p, plan);
  draw_axis(p, plan);
  for (std::size_t i = 0; i < plan.rows.size(); ++i)
    draw_row(p, plan, p.live.lanes[static_cast<std::size_t>(plan.rows[i])],
             plan.box.y + plan.pitch * static_cast<float>(i));
  p.c.rect({plan.right, plan.box.y - 4, 3, plan.box.h + 6}, {.fill = p.t.accent, .radius = 1.5f});
  draw_steps(p, plan, plan.box.bottom() + plan.steps / 2 + 2);
  draw_legend(p, plan, plan.box.bottom() + plan.steps + kLegend / 2 + 2);
}

}  // namespace ringside::app::live
