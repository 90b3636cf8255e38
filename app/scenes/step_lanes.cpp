// Lanes: one a rank, work above, communication below, over the time of one training step. Filled = works,
// hatched = waits, pale = not yet.
#include <algorithm>
#include <cmath>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/phase_color.hpp"
#include "app/scenes/step_draw.hpp"
#include "app/text/layout.hpp"

namespace ringside::app::step {
namespace {

constexpr float kFuture = .28f, kMostPitch = 92, kLegend = 30, kCut = 22;

/// Where things are: the same for all lanes.
struct Plan {
  Rect box{};            // of the lanes
  float x0 = 0, x1 = 0;  // of the time axis
  std::int64_t from = 0, to = 1;
  float pitch = 72, work_y = 0, work_h = 30, comm_y = 36, comm_h = 21;  // in a lane
  float label = 14;  // size of text in bars; 0 = no room for any
  float tag = 14;
  bool digests = false;
  int tag_every = 1;

  float at(std::int64_t t) const {
    const double share = static_cast<double>(t - from) / static_cast<double>(to - from);
    return x0 + (x1 - x0) * static_cast<float>(std::clamp(share, 0.0, 1.0));
  }
  std::int64_t time(float x) const {
    const double share = std::clamp(static_cast<double>((x - x0) / (x1 - x0)), 0.0, 1.0);
    return from + std::llround(share * static_cast<double>(to - from));
  }
};

bool any_comm(const StepView& view) {
  return std::any_of(view.lanes.begin(), view.lanes.end(), [](const StepLane& l) { return !l.comm.empty(); });
}

Plan make_plan(const Paint& p, Rect box, float axis) {
  Plan plan;
  const auto n = static_cast<float>(std::max<std::size_t>(1, p.step.lanes.size()));
  const bool big = p.presenter();
  plan.from = p.step.from;
  plan.to = std::max(p.step.to, p.step.from + 1);
  plan.digests = !big && p.step.lanes.size() <= 8 && !p.step.grouped;
  plan.tag = big ? 28 : 14;
  const float tags = big ? 84.0f : 62.0f;
  plan.x0 = box.x + tags;
  plan.x1 = box.right() - (plan.digests ? 84 : 14);
  plan.box = {box.x, box.y + axis, box.w, box.h - axis};
  plan.pitch = std::min(big ? 150.0f : kMostPitch, plan.box.h / n);
  const bool comm = any_comm(p.step);
  const float used = plan.pitch * (plan.pitch > 24 ? .86f : .94f);
  plan.work_h = comm ? used * .56f : used * .62f;
  plan.comm_h = comm ? used * .38f : 0;
  plan.work_y = 0;
  plan.comm_y = plan.work_h + used * .06f;
  plan.label = plan.comm_h >= 17 || (!comm && plan.work_h >= 17) ? 14.0f : 0.0f;
  if (big) plan.label = plan.work_h >= 34 ? 28.0f : 0.0f;
  plan.tag_every = std::max(1, static_cast<int>(std::ceil((plan.tag + 4) / plan.pitch)));
  return plan;
}

/// 1, 2 or 5 times a power of ten, so that about `wanted` ticks fit.
std::int64_t tick_step(std::int64_t span, int wanted) {
  const double raw = static_cast<double>(span) / std::max(1, wanted);
  const double power = std::pow(10.0, std::floor(std::log10(std::max(1.0, raw))));
  for (const double k : {1.0, 2.0, 5.0, 10.0})
    if (k * power >= raw) return std::max<std::int64_t>(1, std::llround(k * power));
  return std::llround(10 * power);
}

/// The bubble of the playhead on the axis; no width if it is not in this step.
Rect head_box(const Paint& p, const Plan& plan, float axis_y) {
  if (p.now() < plan.from || p.now() > plan.to) return {};
  const float size = p.presenter() ? 28.0f : 14.0f, h = p.presenter() ? 38.0f : 24.0f;
  const float w = p.c.width(time_text(p.now() - plan.from), size, Face::Bold) + 18;
  const float most = plan.digests ? plan.x1 + 14 : plan.box.right();
  return {std::clamp(plan.at(p.now()) - w / 2, plan.box.x, most - w), axis_y - h / 2, w, h};
}

void draw_axis(Paint& p, const Plan& plan, float y) {
  const float size = p.presenter() ? 28.0f : 13.0f;
  const int wanted = static_cast<int>((plan.x1 - plan.x0) / (p.presenter() ? 240 : 105));
  const std::int64_t step = tick_step(plan.to - plan.from, wanted);
  const float bottom = plan.box.y + plan.pitch * static_cast<float>(p.step.lanes.size());
  float last = -1e9f;
  const Rect head = head_box(p, plan, y);
  for (std::int64_t t = plan.from; t <= plan.to; t += step) {
    const float x = plan.at(t);
    p.c.line({x, y + size * .8f}, {x, bottom}, p.t.line);
    const std::string text = t == plan.from ? "0" : time_text(t - plan.from);
    const float w = p.c.width(text, size);
    const bool covered = head.w > 0 && x + w / 2 + 6 > head.x && x - w / 2 - 6 < head.right();
    if (x - w / 2 < last + 10 || covered || x + w / 2 > plan.x1 + 14) continue;
    p.c.text({x, y}, text, {.size = size, .color = p.t.t3, .align = Align::Center});
    last = x + w / 2;
  }
}

Glyph glyph_of(sim::Phase phase) {
  return phase == sim::Phase::Forward    ? Glyph::Forward
         : phase == sim::Phase::Backward ? Glyph::Backward
                                         : Glyph::None;
}

/// A filled bar: what is done is solid, what comes is pale; the work in progress has a bright head.
void bar(Paint& p, Rect box, float head, Color color) {
  const float radius = std::min(4.0f, box.h / 4);
  const float done = std::clamp(head - box.x, 0.0f, box.w);
  if (done < box.w) p.c.rect(box, {.fill = fade(color, kFuture), .radius = radius});
  if (done <= 0) return;
  p.c.rect({box.x, box.y, std::max(done, 1.0f), box.h}, {.fill = color, .radius = radius});
  if (done < box.w && box.h >= 8) p.c.rect({box.x + done - 2, box.y, 2, box.h}, {.fill = p.t.t1});
}

void bar_text(Paint& p, const Plan& plan, Rect box, float head, Color color, Glyph glyph,
              std::string_view text) {
  if (plan.label <= 0 || box.h < plan.label) return;
  const bool solid = head >= box.right();
  // On a bar that is partly done there is no colour that reads on both halves: what it is stands in its done
  // half.
  const float room = std::clamp(head - box.x, 0.0f, box.w);
  const float glyph_w = glyph == Glyph::None ? 0 : plan.label + 8;
  const float w = p.c.width(text, plan.label);
  const Color ink = p.t.on(color);
  const float y = box.y + box.h / 2;
  const auto put = [&](float limit, Color with) {
    float x = box.x + plan.label * .6f;
    if (glyph != Glyph::None && plan.label + 12 < limit) {
      p.c.glyph(glyph, {x + plan.label * .4f, y}, plan.label * .75f, with, 2);
      x += glyph_w;
    }
    if (x - box.x + w + 6 <= limit)
      p.c.text({x, y}, text, {.size = plan.label, .color = with, .on_shape = true});
  };
  if (room <= 0)
    put(box.w, p.t.t2);
  else if (solid)
    put(box.w, ink);
  else
    put(room, ink);
}

const std::string& phase_text(sim::Phase phase) {
  return tr_word("phase", sim::to_word(phase));
}

void draw_work(Paint& p, const Plan& plan, const StepLane& lane, float y) {
  const float head = plan.at(p.now());
  const bool started = p.now() >= p.step.from;
  const float sure = started ? head : plan.x0;
  for (const WorkPiece& piece : lane.work) {
    const float a = plan.at(piece.from), b = plan.at(piece.to);
    if (piece.to <= plan.from || piece.from >= plan.to) continue;
    const bool narrow = b - a < 3;
    const Rect box{a + (narrow ? 0 : .75f), y + plan.work_y, std::max(1.5f, b - a - (narrow ? 0 : 1.5f)),
                   plan.work_h};
    const Color color = phase_color(p.t, piece.phase);
    bar(p, box, sure, color);
    std::string text = piece.layer >= 0 ? layer_name(piece.layer) : phase_text(piece.phase);
    // Ranks that are not held together are in different steps: forward says in which.
    if (!p.step.together && piece.phase == sim::Phase::Forward) text += " " + std::to_string(piece.step);
    bar_text(p, plan, box, sure, color, glyph_of(piece.phase), text);
    p.view.ui.explain(
        box, tr("step.explain.work", {parts::rank_name(lane.rank),
                                      piece.layer >= 0 ? tr("step.backward_of", {layer_name(piece.layer)})
                                                       : phase_text(piece.phase),
                                      time_text(piece.to - piece.from)}));
  }
}

void draw_wait(Paint& p, const Plan& plan, Rect box, float head, std::int64_t ns) {
  const float seen = std::clamp(head - box.x, 0.0f, box.w);
  if (box.h < 8) {  // too low for a hatch: a frame with one line through it
    p.c.line({box.x, box.y + box.h / 2}, {box.right(), box.y + box.h / 2}, fade(p.t.t2, seen > 0 ? 1 : .5f),
             1);
    return;
  }
  p.c.rect(box, {.stroke = fade(p.t.t2, seen > 0 ? 1 : .5f), .radius = 4, .width = 1.25f});
  if (seen > 4) p.c.hatch({box.x + 2, box.y + 2, seen - 4, box.h - 4}, fade(p.t.t2, .75f), 6, 1.2f);
  if (plan.label <= 0 || box.h < plan.label || ns <= 0 || seen < box.w) return;
  const std::string text = time_text(ns);
  const float w = p.c.width(text, plan.label);
  if (w + 16 > box.w) return;
  const Vec2 m = box.center();
  p.c.rect({m.x - w / 2 - 4, box.y + 2, w + 8, box.h - 4}, {.fill = p.t.stage});
  p.c.text(m, text, {.size = plan.label, .align = Align::Center, .on_shape = true});
}

void draw_comm(Paint& p, const Plan& plan, const StepLane& lane, float y) {
  const float head = p.now() >= p.step.from ? plan.at(p.now()) : plan.x0;
  for (const CommPiece& piece : lane.comm) {
    const float a = plan.at(piece.from), m = plan.at(piece.moves), b = plan.at(piece.to);
    const float top = y + plan.comm_y;
    if (m - a > 2.5f) {
      const Rect wait{a + .75f, top, m - a - 1.5f, plan.comm_h};
      draw_wait(p, plan, wait, head, piece.moves - piece.from);
      p.view.ui.explain(
          wait, tr("step.explain.wait", {parts::rank_name(lane.rank), time_text(piece.moves - piece.from)}));
    }
    if (piece.never && b - m < 1) continue;
    const Rect box{m + .75f, top, std::max(1.5f, b - m - 1.5f), plan.comm_h};
    bar(p, box, head, p.t.comm);
    const std::string name = lane.comm.size() == 1 && p.step.buckets.size() <= 1
                                 ? phase_text(sim::Phase::AllReduce)
                                 : "b" + std::to_string(piece.bucket);
    bar_text(p, plan, box, head, p.t.comm, Glyph::None, name);
    p.view.ui.explain(
        box, tr("step.explain.moves", {parts::rank_name(lane.rank), "b" + std::to_string(piece.bucket),
                                       time_text(piece.to - piece.moves)}));
  }
}

/// What a lane says under its work: why the others wait, or that it goes its own way.
void draw_remark(Paint& p, const Plan& plan, const StepLane& lane, float y) {
  if (plan.label <= 0) return;
  const bool slow = p.step.slow && p.step.slow->rank == lane.rank;
  if (!slow) return;
  const float size = p.presenter() ? 28.0f : 14.0f;
  const std::string percent = std::to_string(p.step.slow->percent);
  const std::string text = lane.comm.empty() ? tr("step.slow_alone", {percent}) : tr("step.slow", {percent});
  const float end = lane.comm.empty() ? plan.x1 : plan.at(lane.comm.front().from);
  const float h = plan.comm_h > 0 ? plan.comm_h : plan.pitch - plan.work_h - 12;
  if (p.c.width(text, size) + 12 > end - plan.x0 || h < size) return;
  const float top = plan.comm_h > 0 ? plan.comm_y : plan.work_h + 4;
  p.c.text({plan.x0 + 4, y + top + h / 2}, text, {.size = size, .color = p.t.stall_text});
}

/// The weights after the last update that a rank has done, at the end of its lane; equal ones share a sign.
void draw_digest(Paint& p, const Plan& plan, const StepLane& lane, float y) {
  const sim::RankFrame& rank = p.view.ctx.frame.ranks[static_cast<std::size_t>(lane.rank)];
  if (rank.weights_step < 1) return;
  bool equal = true;
  int peers = 0;
  std::int64_t newest = 0;
  for (const sim::RankFrame& other : p.view.ctx.frame.ranks) newest = std::max(newest, other.weights_step);
  for (const sim::RankFrame& other : p.view.ctx.frame.ranks)
    if (other.weights_step == rank.weights_step) ++peers;
  for (const sim::RankFrame& other : p.view.ctx.frame.ranks)
    equal = equal && (other.weights_step != rank.weights_step || other.weights_digest == rank.weights_digest);
  const float x = plan.x1 + 78, middle = y + plan.work_h / 2;
  // Alone in its step there is nothing to compare with: another digest would read as other weights.
  const std::string text = peers < 2 && p.view.ctx.frame.ranks.size() > 1
                               ? tr("step.weights_ahead", {std::to_string(rank.weights_step)})
                               : short_digest(rank.weights_digest);
  p.c.text({x, middle}, text,
           {.size = 13,
            .color = rank.weights_step == newest ? p.t.t1 : p.t.t3,
            .face = Face::Mono,
            .align = Align::Right});
  const float w = p.c.width(text, 13, Face::Mono);
  const Rect box{x - w - 20, middle - 9, w + 20, 18};
  if (peers < 2) return;  // nobody else has done this step
  const float sign = x - w - 14;
  const Color color = equal ? p.t.t3 : p.t.stall_text;
  for (const float d : {-2.0f, 2.0f}) p.c.line({sign - 4, middle + d}, {sign + 4, middle + d}, color, 1.5f);
  if (!equal) p.c.line({sign - 3, middle + 5}, {sign + 3, middle - 5}, color, 1.5f);
  p.view.ui.explain(box, tr(equal ? "step.explain.digest_equal" : "step.explain.digest_differs",
                            {parts::rank_name(lane.rank), std::to_string(rank.weights_step)}));
}

/// Behind the slow rank's lane.
void draw_slow(Paint& p, const Plan& plan) {
  for (std::size_t i = 0; i < p.step.lanes.size(); ++i) {
    if (!p.step.slow || p.step.slow->rank != p.step.lanes[i].rank) continue;
    const float y = plan.box.y + plan.pitch * static_cast<float>(i);
    const bool roomy = plan.pitch >= 26;
    p.c.rect({plan.box.x, y - (roomy ? 5.0f : 1.0f), plan.box.w, plan.pitch - (roomy ? 2.0f : 0)},
             {.fill = p.t.card, .radius = roomy ? 8.0f : 2.0f});
  }
}

void draw_lane(Paint& p, const Plan& plan, std::size_t i) {
  const StepLane& lane = p.step.lanes[i];
  const float y = plan.box.y + plan.pitch * static_cast<float>(i);
  const bool slow = p.step.slow && p.step.slow->rank == lane.rank;
  const bool named = i % static_cast<std::size_t>(plan.tag_every) == 0 || (slow && plan.pitch >= 15);
  if (named && !p.step.grouped)
    parts::rank_tag(p.c, {plan.box.x + 8, y + std::max(plan.work_h, plan.tag) / 2}, lane.rank,
                    {.width = p.presenter() ? 60.0f : 38.0f,
                     .height = p.presenter() ? 38.0f : std::min(24.0f, std::max(15.0f, plan.work_h)),
                     .size = p.presenter()      ? 28.0f
                             : plan.work_h < 15 ? 13.0f
                                                : 14.0f,
                     .neutral = true});
  draw_work(p, plan, lane, y);
  draw_comm(p, plan, lane, y);
  draw_remark(p, plan, lane, y);
  if (plan.digests) draw_digest(p, plan, lane, y);
  if (lane.ended < 0 || lane.ended >= plan.to || lane.ended > p.now() || !lane.failed) return;
  const float s = std::min(18.0f, plan.work_h);
  parts::state_mark(p.c, {plan.at(lane.ended) + 3, y + plan.work_h / 2 - s / 2, s, s}, parts::Mark::Dead);
}

void draw_head(Paint& p, const Plan& plan, float axis_y) {
  if (p.now() < plan.from || p.now() > plan.to) return;
  const float x = plan.at(p.now());
  const float bottom = plan.box.y + plan.pitch * static_cast<float>(p.step.lanes.size());
  p.c.rect({x - 1.25f, axis_y + 8, 2.5f, bottom - axis_y - 6}, {.fill = p.t.accent, .radius = 1});
  const Rect bubble = head_box(p, plan, axis_y);
  p.c.rect(bubble, {.fill = p.t.accent, .radius = 6});
  p.c.text(bubble.center(), time_text(p.now() - plan.from),
           {.size = p.presenter() ? 28.0f : 14.0f,
            .color = p.t.ink,
            .face = Face::Bold,
            .align = Align::Center,
            .on_shape = true});
}

void legend(Paint& p, Vec2 at, float right) {
  float x = at.x;
  const auto entry = [&](const std::string& text, const auto& draw) {
    const float w = 32 + p.c.width(text, 14);
    if (x + w > right) return;
    draw(Rect{x, at.y - 7, 24, 14});
    p.c.text({x + 32, at.y}, text, {.size = 14, .color = p.t.t2});
    x += w + 20;
  };
  const auto filled = [&](Color color, Glyph glyph) {
    return [&p, color, glyph](Rect box) {
      p.c.rect(box, {.fill = color, .radius = 3});
      if (glyph != Glyph::None) p.c.glyph(glyph, box.center(), 9, p.t.on(color), 2);
    };
  };
  entry(phase_text(sim::Phase::Forward), filled(p.t.forward, Glyph::Forward));
  entry(phase_text(sim::Phase::Backward), filled(p.t.backward, Glyph::Backward));
  if (any_comm(p.step)) {
    entry(tr("step.legend.all_reduce"), filled(p.t.comm, Glyph::None));
    entry(tr("step.legend.waits"), [&p](Rect box) { parts::wait_box(p.c, box, {}, 5); });
  }
  entry(tr("step.legend.update"), filled(p.t.update, Glyph::None));
}

}  // namespace

float lanes_height(const Paint& p) {
  const auto n = static_cast<float>(std::max<std::size_t>(1, p.step.lanes.size()));
  return 36 + kLegend + (p.step.hidden_lanes > 0 ? kCut : 0) + n * kMostPitch;
}

void draw_lanes(Paint& p, Rect box) {
  const float axis = p.presenter() ? 52.0f : 36.0f, axis_y = box.y + axis / 2 - 2;
  const bool with_legend = !p.presenter();
  const bool cut = p.step.hidden_lanes > 0;
  Rect lanes = box;
  if (with_legend) lanes.h -= kLegend;
  if (cut && !p.presenter()) lanes.h -= kCut;
  const Plan plan = make_plan(p, lanes, axis);
  draw_axis(p, plan, axis_y);
  draw_slow(p, plan);
  for (std::size_t i = 0; i < p.step.lanes.size(); ++i) draw_lane(p, plan, i);
  if (plan.digests && std::any_of(p.view.ctx.frame.ranks.begin(), p.view.ctx.frame.ranks.end(),
                                  [](const sim::RankFrame& r) { return r.weights_step >= 1; }))
    p.c.text({plan.x1 + 78, axis_y}, tr("step.weights"),
             {.size = 13, .color = p.t.t3, .align = Align::Right});
  draw_head(p, plan, axis_y);
  const Hit scrub = p.view.ui.hit("step.axis", {plan.x0, axis_y - 16, plan.x1 - plan.x0, 32},
                                  {.explain = tr("step.explain.axis")});
  if (scrub.pressed || (scrub.held && plan.time(scrub.mouse.x) != p.now()))
    p.view.emit(action::SeekTo{plan.time(scrub.mouse.x)});
  float y = plan.box.y + plan.pitch * static_cast<float>(p.step.lanes.size());
  if (cut) {
    const std::string text =
        tr("step.cut", {std::to_string(p.step.lanes.size()),
                        std::to_string(p.step.hidden_lanes + static_cast<int>(p.step.lanes.size()))});
    if (!p.presenter())
      p.c.text({plan.x0, y + 12}, fit(p.c.fonts(), text, plan.x1 - plan.x0, 14),
               {.size = 14, .color = p.t.t2});
    y += kCut;
  }
  if (with_legend) legend(p, {plan.x0, y + 14}, box.right());
}

}  // namespace ringside::app::step
