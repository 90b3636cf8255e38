// The course of the losses: on everyone's data and on each rank's own, with the AllReduce and without, over
// all training steps.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/step_draw.hpp"
#include "app/text/layout.hpp"

namespace ringside::app::step {
namespace {

constexpr float kPad = 16;
constexpr int kMostLines = 8;  // of single ranks; more are a band

struct Plot {
  Rect box{};
  double top = 1;
  std::int64_t steps = 1;
  Vec2 at(std::int64_t step, double loss) const {
    const double x = static_cast<double>(step) / static_cast<double>(std::max<std::int64_t>(1, steps));
    const double y = std::clamp(loss / top, 0.0, 1.0);
    return {box.x + box.w * static_cast<float>(x), box.bottom() - box.h * static_cast<float>(y)};
  }
};

/// The next of 1, 2, 2.5, 4, 5, 8 times a power of ten.
double round_up(double x) {
  if (!(x > 0) || !std::isfinite(x)) return 1;
  const double power = std::pow(10.0, std::floor(std::log10(x)));
  for (const double k : {1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0})
    if (k * power >= x) return k * power;
  return 10 * power;
}

using Curve = std::vector<double>;  // by step, from 0

Curve curve(const sim::TrainingHistory& h, std::int64_t last, const auto& loss) {
  Curve out;
  for (std::int64_t step = 0; step <= std::min(last, h.known()); ++step) out.push_back(loss(step));
  return out;
}
Curve on_all(const sim::TrainingHistory& h, int rank, std::int64_t last) {
  return curve(h, last, [&](std::int64_t step) { return h.loss_on_all(rank, step); });
}
Curve on_own(const sim::TrainingHistory& h, int rank, std::int64_t last) {
  return curve(h, last, [&](std::int64_t step) { return h.own_loss(rank, step); });
}
Curve mean_on_all(const sim::TrainingHistory& h, std::int64_t last) {
  const int world = h.scenario().world_size();
  return curve(h, last, [&](std::int64_t step) {
    double sum = 0;
    for (int r = 0; r < world; ++r) sum += h.loss_on_all(r, step);
    return sum / world;
  });
}
Curve mean_on_own(const sim::TrainingHistory& h, std::int64_t last) {
  const int world = h.scenario().world_size();
  return curve(h, last, [&](std::int64_t step) {
    double sum = 0;
    for (int r = 0; r < world; ++r) sum += h.own_loss(r, step);
    return sum / world;
  });
}

struct Pen {
  Color color{};
  float width = 1.5f;
  Dash dash{};
};

/// Solid up to `now`, pale after it. What is not a number ends the line.
void draw_curve(Paint& p, const Plot& plot, const Curve& values, std::int64_t now, const Pen& pen) {
  std::vector<Vec2> past, future;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) break;
    const Vec2 at = plot.at(static_cast<std::int64_t>(i), values[i]);
    if (static_cast<std::int64_t>(i) <= now) past.push_back(at);
    if (static_cast<std::int64_t>(i) >= now) future.push_back(at);
  }
  const auto line = [&](const std::vector<Vec2>& points, Color color) {
    if (points.size() < 2) return;
    if (pen.dash.on > 0)
      p.c.dashed(points, color, pen.width, pen.dash);
    else
      p.c.stroke(points, color, pen.width);
  };
  line(future, fade(pen.color, .4f));
  line(past, pen.color);
}

/// Short: "4", "0.5", "2e+19".
std::string axis_text(double value) {
  return fmt::format("{:.2g}", value);
}

void draw_grid(Paint& p, const Plot& plot) {
  for (int i = 0; i <= 2; ++i) {
    const double value = plot.top * i / 2;
    const float y = plot.at(0, value).y;
    p.c.line({plot.box.x, y}, {plot.box.right(), y}, p.t.line);
    const std::string text = axis_text(value);
    p.c.text({plot.box.x - 8, y}, text, {.size = 13, .color = p.t.t3, .align = Align::Right});
  }
  const float y = plot.box.bottom() + 14;
  p.c.text({plot.box.x, y}, "0", {.size = 13, .color = p.t.t3, .align = Align::Center});
  p.c.text({plot.box.right(), y}, std::to_string(plot.steps),
           {.size = 13, .color = p.t.t3, .align = Align::Right});
}

/// What the lines are, in the head of the card.
void draw_key(Paint& p, Rect box, float x, const auto& entries) {
  for (const auto& [text, pen] : entries) {
    const float w = 30 + p.c.width(text, 13);
    if (x + w > box.right() - kPad) return;
    if (pen.dash.on > 0)
      p.c.dashed_line({x, box.y + 20}, {x + 22, box.y + 20}, pen.color, pen.width, pen.dash);
    else
      p.c.line({x, box.y + 20}, {x + 22, box.y + 20}, pen.color, pen.width);
    p.c.text({x + 28, box.y + 20}, text, {.size = 13, .color = p.t.t2});
    x += w + 14;
  }
}

/// The step whose weights the ranks have now.
std::int64_t steps_done(const Paint& p) {
  return p.now() >= p.step.to ? p.step.step : p.step.step - 1;
}

void seek(Paint& p, const Plot& plot) {
  const Hit hit = p.view.ui.hit("step.loss", {plot.box.x, plot.box.y - 4, plot.box.w, plot.box.h + 8},
                                {.explain = tr("step.explain.loss")});
  if (!hit.held && !hit.pressed) return;
  const double share = std::clamp(static_cast<double>((hit.mouse.x - plot.box.x) / plot.box.w), 0.0, 1.0);
  const auto wanted = static_cast<std::size_t>(
      std::max<std::int64_t>(1, std::llround(share * static_cast<double>(plot.steps))));
  if (p.step.step_begins.empty()) return;
  const std::int64_t t = p.step.step_begins[std::min(wanted, p.step.step_begins.size()) - 1];
  // A hair later: at the very begin of a step the slower ranks are still in the one before.
  if (static_cast<std::int64_t>(wanted) != p.step.step) p.view.emit(action::SeekTo{t});
}

/// The number at the playhead, beside its point.
void draw_value(Paint& p, const Plot& plot, std::int64_t now, double value) {
  const Vec2 at = plot.at(now, value);
  p.c.circle(at, 6, p.t.card);
  p.c.circle(at, 4.5f, p.t.t1);
  const std::string text = value_text(value), where = tr("step.loss.at", {std::to_string(now)});
  const float w = p.c.width(text, 22) + 10 + p.c.width(where, 14);
  float x = at.x + 12;
  if (x + w > plot.box.right()) x = std::max(plot.box.x + 4, plot.box.right() - w);
  float y = std::clamp(at.y - 26, plot.box.y + 12, plot.box.bottom() - 14);
  p.c.rect({x - 4, y - 13, w + 8, 26}, {.fill = fade(p.t.card, .86f), .radius = 5});
  p.c.text({x, y}, text, {.size = 22, .on_shape = true});
  p.c.text({x + p.c.width(text, 22) + 10, y}, where, {.size = 14, .color = p.t.t2, .on_shape = true});
}

double highest(std::initializer_list<const Curve*> curves) {
  double most = 0;
  for (const Curve* c : curves)
    for (const double value : *c)
      if (std::isfinite(value)) most = std::max(most, value);
  return most;
}

/// From the trace alone: the loss that each rank says, its mean over the ranks.
void draw_said(Paint& p, Rect box) {
  p.c.text({box.x + kPad, box.y + 20}, tr("step.loss.title"),
           {.size = 14, .color = p.t.t3, .face = Face::Bold});
  double sum = 0;
  int count = 0;
  for (const sim::RankFrame& rank : p.view.ctx.frame.ranks)
    if (rank.has & sim::kHasLoss) sum += rank.loss, ++count;
  if (count > 0) {
    p.c.text({box.x + kPad, box.y + 64}, value_text(sum / count), {.size = 30, .face = Face::Bold});
    p.c.text({box.x + kPad, box.y + 96}, tr("step.loss.mean", {std::to_string(count)}),
             {.size = 14, .color = p.t.t2});
    return;
  }
  const std::string& why = p.numbers.too_large() ? tr("step.loss.too_large") : tr("step.loss.none");
  parts::paragraph(p.c, {box.x + kPad, box.y + 56}, box.w - 2 * kPad, why,
                   {.size = 14, .color = p.t.t2, .max_lines = 4});
}

}  // namespace

void draw_loss(Paint& p, Rect box) {
  parts::card(p.c, box);
  const sim::TrainingHistory* h = p.numbers.history();
  if (h == nullptr) return draw_said(p, box);
  const bool together = h->scenario().training.network.all_reduce;
  const int world = h->scenario().world_size();
  const std::int64_t last = p.numbers.trusted(), now = std::min(steps_done(p), last);
  const sim::TrainingHistory* other = p.numbers.other();
  const Curve reference = other != nullptr ? mean_on_all(*other, other->steps()) : Curve{};
  std::vector<Curve> all, own;
  if (world > kMostLines)
    own.push_back(mean_on_own(*h, last));
  else
    for (int r = 0; r < world; ++r) own.push_back(on_own(*h, r, last));
  if (together || world > kMostLines)
    all.push_back(mean_on_all(*h, last));
  else
    for (int r = 0; r < world; ++r) all.push_back(on_all(*h, r, last));
  Plot plot;
  plot.steps = h->steps();
  plot.box = {box.x + 58, box.y + 46, box.w - 58 - kPad - 4, box.h - 46 - 34};
  double most = highest({&reference});
  for (const auto* curves : {&all, &own})
    for (const Curve& c : *curves) most = std::max(most, highest({&c}));
  plot.top = round_up(most);
  const std::string& title = tr("step.loss.title");
  p.c.text({box.x + kPad, box.y + 20}, title, {.size = 14, .color = p.t.t3, .face = Face::Bold});
  const Pen all_pen{.color = p.t.t1, .width = together ? 2.5f : 1.75f};
  const Pen own_pen{.color = p.t.t3, .width = 1.25f, .dash = {4, 3}};
  const Pen reference_pen{.color = together ? p.t.t3 : p.t.comm,
                          .width = together ? 1.25f : 2.0f,
                          .dash = together ? Dash{1.5f, 3} : Dash{}};
  std::vector<std::pair<std::string, Pen>> key{{tr("step.loss.all"), all_pen},
                                               {tr("step.loss.own"), own_pen}};
  if (!reference.empty())
    key.emplace_back(tr(together ? "step.loss.without" : "step.loss.with"), reference_pen);
  draw_key(p, box, box.x + kPad + p.c.width(title, 14, Face::Bold) + 18, key);
  draw_grid(p, plot);
  if (!reference.empty()) draw_curve(p, plot, reference, now, reference_pen);
  for (const Curve& c : own) draw_curve(p, plot, c, now, own_pen);
  for (const Curve& c : all) draw_curve(p, plot, c, now, all_pen);
  const Curve mean = mean_on_all(*h, last);
  if (now >= 0 && static_cast<std::size_t>(now) < mean.size() &&
      std::isfinite(mean[static_cast<std::size_t>(now)]))
    draw_value(p, plot, now, mean[static_cast<std::size_t>(now)]);
  if (last < std::min(h->known(), h->steps())) {
    const std::string text =
        tr(p.numbers.differs() ? "step.loss.unknown_after" : "step.loss.ends_after", {std::to_string(last)});
    const float x = plot.at(last, 0).x + 6, w = p.c.width(text, 13);
    p.c.text({std::min(x, plot.box.right() - w), plot.box.y + 10}, text,
             {.size = 13, .color = p.numbers.differs() ? p.t.stall_text : p.t.t3});
  }
  seek(p, plot);
}

}  // namespace ringside::app::step
