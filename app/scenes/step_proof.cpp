// The proof: N ranks with a batch of b are one process with a batch of N · b, element by element, within what
// rounding explains; and exactly, where the additions come in the same order.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/step_draw.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"
#include "sim/collective/sum_order.hpp"
#include "sim/job/network.hpp"

namespace ringside::app::step {
namespace {

/// All digits that a float32 has.
std::string exact_text(double value) {
  return std::isfinite(value) ? fmt::format("{:.9g}", value) : value_text(value);
}

std::string small_text(double value) {
  if (value == 0) return "0";
  return std::isfinite(value) ? fmt::format("{:.1e}", value) : value_text(value);
}

struct Side {
  std::string title, how, value;
};

void draw_side(Paint& p, Rect box, const Side& side) {
  parts::card(p.c, box);
  const float room = box.w - 28;
  p.c.text({box.x + 14, box.y + 22}, fit(p.c.fonts(), side.title, room, 16, Face::Bold),
           {.size = 16, .face = Face::Bold});
  parts::paragraph(p.c, {box.x + 14, box.y + 46}, room, side.how,
                   {.size = 14, .line_height = 1.35f, .color = p.t.t2, .max_lines = 3});
  const float size = size_that_fits(p.c.fonts(), side.value, room, {24, 21, 18, 15}, Face::Bold);
  p.c.text({box.x + 14, box.bottom() - 24}, side.value, {.size = size, .face = Face::Bold});
}

/// Between two cards: how much they differ.
void draw_difference(Paint& p, Rect box, double difference, const std::string& below) {
  const float x = box.center().x, y = box.y + box.h * .4f;
  const bool zero = difference == 0;
  const std::string text = small_text(difference);
  for (const float d : {-4.0f, 4.0f}) p.c.line({x - 11, y - 26 + d}, {x + 11, y - 26 + d}, p.t.t1, 2.5f);
  if (!zero) {  // about equal: the lines bend
    p.c.rect({x - 14, y - 36, 28, 20}, {.fill = p.t.stage});
    for (const float d : {-4.0f, 4.0f})
      p.c.bezier({x - 12, y - 25 + d}, {x - 4, y - 34 + d}, {x + 4, y - 18 + d}, {x + 12, y - 27 + d}, p.t.t1,
                 2.5f);
  }
  p.c.text({x, y}, text, {.size = 17, .face = Face::Bold, .align = Align::Center});
  const auto lines = wrap(p.c.fonts(), below, box.w - 6, 13, Face::Regular, 2);
  for (std::size_t i = 0; i < lines.size(); ++i)
    p.c.text({x, y + 22 + 17 * static_cast<float>(i)}, lines[i],
             {.size = 13, .color = p.t.t2, .align = Align::Center});
}

// --- the plot: every element's difference under its bound

struct Scale {
  Rect box{};
  double low = -12, high = 0;  // powers of ten
  std::size_t count = 1;
  float x(std::size_t i) const {
    return box.x + box.w * (static_cast<float>(i) + .5f) / static_cast<float>(count);
  }
  float y(double value) const {
    if (!(value > 0)) return box.bottom();
    const double share = (std::log10(value) - low) / (high - low);
    return box.bottom() - 18 - (box.h - 18) * static_cast<float>(std::clamp(share, 0.0, 1.0));
  }
};

Scale make_scale(const sim::GradientProof& proof, Rect box) {
  double least = 1e300, most = 1e-300;
  for (std::size_t i = 0; i < proof.ranks.size(); ++i) {
    const double d = std::abs(proof.ranks[i] - proof.one_process[i]);
    if (d > 0 && std::isfinite(d)) least = std::min(least, d), most = std::max(most, d);
    if (std::isfinite(proof.bound[i]) && proof.bound[i] > 0) most = std::max(most, proof.bound[i]);
  }
  Scale scale{box, -10, -5, std::max<std::size_t>(1, proof.ranks.size())};
  if (least < 1e300) scale.low = std::floor(std::log10(least));
  scale.high = std::max(scale.low + 1, std::ceil(std::log10(most)));
  return scale;
}

void draw_scale(Paint& p, const Scale& scale) {
  const int step = scale.high - scale.low > 5 ? 2 : 1;
  for (int power = static_cast<int>(scale.low); power <= static_cast<int>(scale.high); power += step) {
    const float y = scale.y(std::pow(10.0, power));
    p.c.line({scale.box.x, y}, {scale.box.right(), y}, p.t.line);
    p.c.text({scale.box.x - 8, y}, fmt::format("1e{}", power),
             {.size = 13, .color = p.t.t3, .align = Align::Right});
  }
  p.c.line({scale.box.x, scale.box.bottom()}, {scale.box.right(), scale.box.bottom()}, p.t.edge);
  p.c.text({scale.box.x - 8, scale.box.bottom()}, "0", {.size = 13, .color = p.t.t3, .align = Align::Right});
}

void draw_layers(Paint& p, const Scale& scale) {
  const auto spans = sim::layer_spans(p.numbers.scenario()->training.network);
  const float each = scale.box.w / static_cast<float>(scale.count);
  for (std::size_t l = 0; l < spans.size(); ++l) {
    const float a = scale.box.x + each * static_cast<float>(spans[l].weights);
    const float b =
        scale.box.x + each * static_cast<float>(spans[l].biases + static_cast<std::size_t>(spans[l].out));
    if (l > 0) p.c.line({a, scale.box.y}, {a, scale.box.bottom() + 6}, p.t.line);
    const std::string name = layer_name(static_cast<int>(l));
    if (p.c.width(name, 13) + 4 < b - a)
      p.c.text({(a + b) / 2, scale.box.bottom() + 16}, name,
               {.size = 13, .color = p.t.t3, .align = Align::Center});
  }
}

void draw_points(Paint& p, const sim::GradientProof& proof, const Scale& scale) {
  const std::int64_t chosen = chosen_element(p);
  const float each = scale.box.w / static_cast<float>(scale.count);
  // Of very many numbers every k-th is drawn, and the largest difference.
  const std::size_t k = std::max<std::size_t>(1, scale.count / 4'000);
  for (std::size_t i = 0; i < scale.count; i += k) {
    const double d = std::abs(proof.ranks[i] - proof.one_process[i]);
    const float x = scale.x(i), bound = scale.y(proof.bound[i]);
    if (proof.bound[i] >= std::pow(10.0, scale.low))  // of a number that is always 0 there is no bound to see
      p.c.line({x - each * .5f, bound}, {x + each * .5f, bound}, p.t.edge, 2);
    const bool outside = !(d <= proof.bound[i]);
    const float radius = std::clamp(each * .35f, 1.5f, 3.5f);
    if (d == 0)
      p.c.circle({x, scale.box.bottom()}, radius, p.t.stage, p.t.t2, 1.25f);
    else
      p.c.circle({x, scale.y(d)}, radius, outside ? p.t.fail : p.t.t1);
  }
  if (chosen < 0 || static_cast<std::size_t>(chosen) >= scale.count) return;
  const auto i = static_cast<std::size_t>(chosen);
  p.c.line({scale.x(i), scale.box.y}, {scale.x(i), scale.box.bottom()}, fade(p.t.t1, .35f), 1);
  p.c.circle({scale.x(i), scale.y(std::abs(proof.ranks[i] - proof.one_process[i]))}, 6, {}, p.t.accent, 2);
}

void draw_plot(Paint& p, const sim::GradientProof& proof, Rect box) {
  parts::card(p.c, box);
  const std::string& title = tr("step.proof.plot");
  p.c.text({box.x + 16, box.y + 20}, fit(p.c.fonts(), title, box.w * .5f, 14, Face::Bold),
           {.size = 14, .color = p.t.t3, .face = Face::Bold});
  const std::string &bound = tr("step.proof.bound_key"), &point = tr("step.proof.point_key");
  float x = box.right() - 16 - p.c.width(bound, 13);
  p.c.text({x, box.y + 20}, bound, {.size = 13, .color = p.t.t2});
  p.c.line({x - 24, box.y + 20}, {x - 6, box.y + 20}, p.t.edge, 2);
  x -= 46 + p.c.width(point, 13);
  p.c.text({x, box.y + 20}, point, {.size = 13, .color = p.t.t2});
  p.c.circle({x - 10, box.y + 20}, 3.5f, p.t.t1);
  const Scale scale = make_scale(proof, {box.x + 66, box.y + 42, box.w - 66 - 18, box.h - 42 - 34});
  draw_scale(p, scale);
  draw_layers(p, scale);
  draw_points(p, proof, scale);
  const Hit hit = p.view.ui.hit("step.proof.plot", scale.box, {.explain = tr("step.explain.proof_plot")});
  if (hit.pressed || hit.held)
    p.state.element =
        std::clamp<std::int64_t>(static_cast<std::int64_t>((hit.mouse.x - scale.box.x) / scale.box.w *
                                                           static_cast<float>(scale.count)),
                                 0, static_cast<std::int64_t>(scale.count) - 1);
}

// --- the verdicts

void verdict(Paint& p, Vec2 at, float room, bool good, const std::string& text) {
  const Color color = good ? p.t.t1 : p.t.fail_text;
  p.c.glyph(good ? Glyph::Check : Glyph::Cross, {at.x + 8, at.y}, 14, color, 2.5f);
  p.c.text({at.x + 26, at.y}, fit(p.c.fonts(), text, room - 26, 15), {.size = 15, .color = color});
}

/// Why there is nothing to compare, and what to do.
void draw_why_not(Paint& p, Rect box, const std::string& problem) {
  const float y = parts::paragraph(p.c, {box.x + 8, box.y + 40}, std::min(620.0f, box.w - 16),
                                   tr_word("step.proof_problem", problem), {.size = 18, .line_height = 1.5f});
  if (problem != "alone" || !why_not_edit(p).empty()) return;
  if (p.view.ui.button("step.proof.together", {box.x + 8, y + 10, 240, 42}, tr("step.proof.together"),
                       {.primary = true}))
    edit(p, "all_reduce=true", [](sim::Scenario& s) { s.training.network.all_reduce = true; });
}

std::string order_text(const Paint& p, std::int64_t element) {
  const sim::TrainingHistory& h = *p.numbers.history();
  for (std::size_t b = 0; b < h.buckets().size(); ++b) {
    const sim::Bucket& range = h.buckets()[b];
    if (element < range.offset || element >= range.offset + range.count) continue;
    const sim::Schedule& schedule = h.schedule(b);
    return sim::sum_order(schedule, schedule.chunks.chunk_of(element - range.offset)).text();
  }
  return {};
}

}  // namespace

void draw_proof(Paint& p, Rect box) {
  const sim::Scenario& s = *p.numbers.scenario();
  if (const auto problem = sim::proof_problem(s)) return draw_why_not(p, box, *problem);
  const sim::GradientProof* proof = p.numbers.proof(p.step.step);
  if (proof == nullptr) {
    const std::string& why = p.numbers.too_large() ? tr("step.loss.too_large") : tr("step.number.unknown");
    parts::paragraph(p.c, {box.x + 8, box.y + 40}, box.w - 16, why, {.size = 16, .color = p.t.t2});
    return;
  }
  const auto i = static_cast<std::size_t>(chosen_element(p));
  const std::string n = std::to_string(s.world_size()), b = std::to_string(s.training.network.batch);
  const std::string all = std::to_string(std::int64_t{s.world_size()} * s.training.network.batch);
  p.c.text({box.x + 4, box.y + 14},
           fit(p.c.fonts(), tr("step.proof.title", {n, b, all}), box.w - 8, 18, Face::Bold),
           {.size = 18, .face = Face::Bold});
  p.c.text({box.x + 4, box.y + 40},
           fit(p.c.fonts(),
               tr("step.proof.which",
                  {element_name(s.training.network, chosen_element(p)), std::to_string(p.step.step)}),
               box.w - 8, 14),
           {.size = 14, .color = p.t.t2});
  const float between = 96, side = (box.w - 2 * between) / 3, top = box.y + 60, h = 152;
  const double difference = std::abs(proof->ranks[i] - proof->one_process[i]);
  const double same = std::abs(proof->ranks[i] - proof->same_order[i]);
  draw_side(p, {box.x, top, side, h},
            {tr("step.proof.one", {all}), tr("step.proof.one_how"), exact_text(proof->one_process[i])});
  draw_difference(p, {box.x + side, top, between, h}, difference,
                  difference == 0 ? tr("step.proof.exactly")
                                  : tr("step.proof.of_at_most", {small_text(proof->bound[i])}));
  draw_side(p, {box.x + side + between, top, side, h},
            {tr("step.proof.ranks", {n, b}), tr("step.proof.ranks_how"), exact_text(proof->ranks[i])});
  draw_difference(p, {box.x + 2 * side + between, top, between, h}, same, tr("step.proof.exactly"));
  const std::string order = order_text(p, static_cast<std::int64_t>(i));
  const bool short_order = order.size() <= 40;
  draw_side(p, {box.x + 2 * (side + between), top, side, h},
            {tr("step.proof.same"),
             short_order ? tr("step.proof.same_how", {order}) : tr("step.proof.same_how_long"),
             exact_text(proof->same_order[i])});
  const float foot = 84;
  draw_plot(p, *proof, {box.x, top + h + 14, box.w, box.bottom() - foot - top - h - 14});
  const std::string count = sim::with_commas(static_cast<std::int64_t>(proof->ranks.size()));
  float y = box.bottom() - foot + 20;
  verdict(p, {box.x + 4, y}, box.w, proof->within_bound,
          tr(proof->within_bound ? "step.proof.within" : "step.proof.outside",
             {count, small_text(proof->largest_difference), small_text(proof->largest_bound)}));
  y += 26;
  verdict(p, {box.x + 4, y}, box.w, proof->same_order_different == 0,
          proof->same_order_different == 0
              ? tr("step.proof.all_equal", {count})
              : tr("step.proof.some_differ",
                   {sim::with_commas(static_cast<std::int64_t>(proof->same_order_different))}));
  p.c.text({box.x + 30, y + 26},
           fit(p.c.fonts(),
               tr("step.proof.why", {sim::with_commas(static_cast<std::int64_t>(proof->equal)), count}),
               box.w - 34, 14),
           {.size = 14, .color = p.t.t2});
}

}  // namespace ringside::app::step
