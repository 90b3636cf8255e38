#include "app/scenes/cluster_reliability.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

constexpr double kLeastGpus = 8, kMostGpus = 131'072, kLeastMinutes = 1, kMostMinutes = 600;
constexpr int kDiceRuns = 150;

std::string hours_text(double hours) {
  if (hours >= 48) return tr("cluster.reliability.days", {fmt::format("{:.1f}", hours / 24)});
  return tr("cluster.reliability.hours",
            {hours >= 10 ? fmt::format("{:.1f}", hours) : fmt::format("{:.2f}", hours)});
}
std::string percent(double share) {
  return fmt::format("{:.1f} %", share * 100);
}
std::string ratio(double x) {
  return fmt::format("{:.3f}", x);
}

/// A plot with a logarithmic x axis.
struct Axes {
  Rect box;
  double x0, x1, y0, y1;
  bool log_y = false;
  float x(double v) const {
    return box.x + box.w * static_cast<float>((std::log(v) - std::log(x0)) / (std::log(x1) - std::log(x0)));
  }
  float y(double v) const {
    const double at = log_y ? (std::log(std::max(v, y0 / 10)) - std::log(y0)) / (std::log(y1) - std::log(y0))
                            : (v - y0) / (y1 - y0);
    return box.bottom() - box.h * static_cast<float>(at);
  }
  bool inside(double vx, double vy) const { return vx >= x0 && vx <= x1 && vy >= y0 && vy <= y1; }
};

void grid_line(Canvas& c, const Axes& a, double value, std::string_view label) {
  const Theme& t = c.theme();
  c.line({a.box.x, a.y(value)}, {a.box.right(), a.y(value)}, t.line);
  c.text({a.box.x - 8, a.y(value)}, label, {.size = 13, .color = t.t3, .align = Align::Right});
}

void tick(Canvas& c, const Axes& a, double value, std::string_view label) {
  const Theme& t = c.theme();
  c.line({a.x(value), a.box.bottom()}, {a.x(value), a.box.bottom() + 5}, t.edge);
  c.text({a.x(value), a.box.bottom() + 17}, label, {.size = 13, .color = t.t3, .align = Align::Center});
}

void plot_card(Canvas& c, Rect box, std::string_view title, std::string_view unit) {
  const Theme& t = c.theme();
  c.rect(box, {.fill = t.card, .radius = 10});
  const float w = c.text({box.x + 16, box.y + 22}, fit(c.fonts(), title, box.w - 32, 15, Face::Bold),
                         {.size = 15, .face = Face::Bold});
  if (w + c.width(unit, 13) + 44 < box.w)
    c.text({box.right() - 16, box.y + 22}, unit, {.size = 13, .color = t.t3, .align = Align::Right});
}

std::string gpus_word(double n) {
  return n >= 1'000 ? fmt::format("{:g}k", std::round(n / 100) / 10) : fmt::format("{:g}", n);
}

}  // namespace

void ReliabilityPanel::prepare(const SceneContext& ctx) {
  if (generation_ != ctx.generation) {
    generation_ = ctx.generation;
    const int world = ctx.trace.header.world_size, per_node = ctx.trace.header.gpus_per_node;
    if (world >= 8) spec_.gpus = world;
    if (per_node > 0) spec_.gpus_per_node = per_node;
    dirty_ = true;
  }
  compute(ctx);
}

void ReliabilityPanel::compute(const SceneContext& ctx) {
  if (dirty_) {
    dirty_ = false;
    now_ = sim::reliability(spec_);
    curve_.clear();
    sim::ReliabilitySpec point = spec_;
    point.runs = 2;
    for (int i = 0; i <= 60; ++i) {
      point.checkpoint_minutes = kLeastMinutes * std::pow(kMostMinutes / kLeastMinutes, i / 60.0);
      const sim::Reliability r = sim::reliability(point);
      curve_.push_back({point.checkpoint_minutes, r.ettr_linear, r.ettr_exact});
    }
    constexpr std::array kAt = {2.0, 5.0, 15.0, 60.0, 120.0, 240.0, 480.0};
    for (std::size_t i = 0; i < dice_.size(); ++i) dice_[i] = {kAt[i], {}, false};
  }
  for (DicePoint& point : dice_) {  // one a frame: none of them is felt
    if (point.known) continue;
    sim::ReliabilitySpec spec = spec_;
    spec.checkpoint_minutes = point.minutes;
    spec.runs = kDiceRuns;
    point.dice = sim::reliability(spec).ettr_simulated;
    point.known = true;
    if (ctx.now != 0) return;
  }
}

void ReliabilityPanel::numbers(View& view, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  struct Number {
    std::string value, word;
    Color color;
  };
  const std::array<Number, 3> numbers = {
      Number{hours_text(now_.mttf_hours), tr("cluster.reliability.mttf"), t.t1},
      Number{percent(now_.failure_odds),
             tr("cluster.reliability.odds", {fmt::format("{:g}", spec_.run_hours)}), t.stall_text},
      Number{percent(now_.ettr_exact), tr("cluster.reliability.ettr"), t.t1}};
  const float w = (box.w - 32) / 3;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const float x = box.x + static_cast<float>(i) * (w + 16);
    c.text({x, box.y + 18}, numbers[i].value,
           {.size = size_that_fits(c.fonts(), numbers[i].value, w, {34, 30, 26, 22}, Face::Bold),
            .color = numbers[i].color,
            .face = Face::Bold});
    c.text({x, box.y + 46}, fit(c.fonts(), numbers[i].word, w, 14), {.size = 14, .color = t.t2});
  }
}

void ReliabilityPanel::size_plot(View& view, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  plot_card(c, box, tr("cluster.reliability.size_title"), tr("cluster.reliability.size_unit"));
  const Axes a{{box.x + 64, box.y + 48, box.w - 88, box.h - 84}, kLeastGpus, kMostGpus, .1, 10'000, true};
  for (const auto& [hours, label] :
       {std::pair(.1, "6 min"), std::pair(1.0, "1 h"), std::pair(24.0, "1 d"), std::pair(168.0, "7 d"),
        std::pair(720.0, "30 d"), std::pair(8760.0, "1 y")})
    grid_line(c, a, hours, label);
  for (const double gpus : {8.0, 64.0, 512.0, 4'096.0, 32'768.0}) tick(c, a, gpus, gpus_word(gpus));
  const auto mttf = [&](double gpus, double rate) {
    return 24'000.0 / (std::ceil(gpus / static_cast<double>(spec_.gpus_per_node)) * rate);
  };
  for (const sim::PublishedRate& rate : sim::published_rates()) {
    const bool chosen = std::abs(rate.per_1000_node_days - spec_.failures_per_1000_node_days) < 1e-6;
    const Vec2 from{a.x(kLeastGpus), a.y(mttf(kLeastGpus, rate.per_1000_node_days))},
        to{a.x(kMostGpus), a.y(mttf(kMostGpus, rate.per_1000_node_days))};
    c.line(from, to, chosen ? t.t1 : t.edge, chosen ? 2.5f : 1);
  }
  for (const sim::PublishedPoint& p : sim::published_points()) {
    if (!a.inside(static_cast<double>(p.gpus), p.hours)) continue;
    const Vec2 at{a.x(static_cast<double>(p.gpus)), a.y(p.hours)};
    // Far from the line of its own rate: shown as what it is.
    const double model = mttf(static_cast<double>(p.gpus), 6.5);
    const bool odd = p.measured && p.source.find("Llama") == std::string_view::npos &&
                     (p.hours < model / 2 || p.hours > model * 2);
    c.circle(at, 5, p.measured ? (odd ? t.stall : t.t1) : t.card, p.measured ? Color{} : t.t1, 1.75f);
    const Rect hit{at.x - 10, at.y - 10, 20, 20};
    view.ui.explain(hit, fmt::format("{}: {}, {} GPUs, {}. {}", p.source, p.what, sim::with_commas(p.gpus),
                                     hours_text(p.hours), p.note));
    if (odd)
      c.text({at.x + 10, at.y - 11}, tr("cluster.reliability.odd_point"),
             {.size = 13, .color = t.stall_text});
  }
  const Vec2 here{a.x(static_cast<double>(spec_.gpus)), a.y(now_.mttf_hours)};
  c.dashed_line({here.x, here.y}, {here.x, a.box.bottom()}, t.t3, 1.25f, {3, 4});
  c.circle(here, 8, {}, t.accent, 2.5f);
}

void ReliabilityPanel::checkpoint_plot(View& view, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  plot_card(c, box, tr("cluster.reliability.checkpoint_title"), tr("cluster.reliability.checkpoint_unit"));
  const Axes a{{box.x + 60, box.y + 48, box.w - 84, box.h - 84}, kLeastMinutes, kMostMinutes, 0, 1};
  for (const double share : {0.0, .25, .5, .75, 1.0})
    grid_line(c, a, share, fmt::format("{:.0f} %", share * 100));
  for (const double minutes : {1.0, 5.0, 15.0, 60.0, 240.0})
    tick(c, a, minutes,
         minutes >= 60 ? fmt::format("{:g} h", minutes / 60) : fmt::format("{:g} min", minutes));
  c.push_clip({a.box.x - 2, a.box.y - 2, a.box.w + 4, a.box.h + 4});
  std::vector<Vec2> exact, linear;
  for (const CurvePoint& p : curve_) {
    exact.push_back({a.x(p.minutes), a.y(std::clamp(p.exact, 0.0, 1.0))});
    if (p.linear > -.2) linear.push_back({a.x(p.minutes), a.y(p.linear)});
  }
  if (linear.size() > 1) c.dashed(linear, t.t3, 1.75f, {6, 5});
  if (exact.size() > 1) c.stroke(exact, t.t1, 2.5f);
  for (const DicePoint& p : dice_) {
    if (!p.known) continue;
    const float x = a.x(p.minutes);
    c.line({x, a.y(std::max(0.0, p.dice.low))}, {x, a.y(std::min(1.0, p.dice.high))}, t.forward, 3);
    c.rect({x - 4, a.y(p.dice.mean) - 4, 8, 8}, {.fill = t.forward, .stroke = t.card, .radius = 2});
  }
  c.pop_clip();
  const float x = a.x(std::clamp(spec_.checkpoint_minutes, kLeastMinutes, kMostMinutes));
  c.dashed_line({x, a.box.y}, {x, a.box.bottom()}, t.t3, 1.25f, {3, 4});
  c.circle({x, a.y(std::clamp(now_.ettr_exact, 0.0, 1.0))}, 8, {}, t.accent, 2.5f);
  float kx = a.box.x + 10;  // the key, where the curves are not
  const float ky = a.box.bottom() - 16;
  const auto key = [&](const std::string& word, auto&& mark) {
    if (kx + 26 + c.width(word, 13) > a.box.right()) return;
    mark(Vec2{kx, ky});
    kx += 26 + c.text({kx + 24, ky}, word, {.size = 13, .color = t.t2}) + 14;
  };
  key(tr("cluster.reliability.exact"), [&](Vec2 p) { c.line(p, {p.x + 18, p.y}, t.t1, 2.5f); });
  key(tr("cluster.reliability.linear"), [&](Vec2 p) {
    c.dashed_line(p, {p.x + 18, p.y}, t.t3, 1.75f, {6, 5});
  });
  key(tr("cluster.reliability.dice"), [&](Vec2 p) {
    c.rect({p.x + 5, p.y - 4, 8, 8}, {.fill = t.forward, .radius = 2});
  });
}

void ReliabilityPanel::controls(View& view, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const float w = (box.w - 24) / 2;
  struct Control {
    std::string_view id, key;
    double* value;
    double least, most;
    std::string shown;
  };
  double gpus = static_cast<double>(spec_.gpus);
  const std::array<Control, 4> sliders = {
      Control{"cluster.rel.gpus", "cluster.reliability.gpus", &gpus, kLeastGpus, kMostGpus,
              sim::with_commas(spec_.gpus)},
      Control{"cluster.rel.checkpoint", "cluster.reliability.checkpoint", &spec_.checkpoint_minutes,
              kLeastMinutes, kMostMinutes, fmt::format("{:.0f} min", spec_.checkpoint_minutes)},
      Control{"cluster.rel.restart", "cluster.reliability.restart", &spec_.restart_minutes, .5, 120,
              fmt::format("{:.1f} min", spec_.restart_minutes)},
      Control{"cluster.rel.write", "cluster.reliability.write", &spec_.write_minutes, .01, 30,
              fmt::format("{:.1f} min", spec_.write_minutes)}};
  for (std::size_t i = 0; i < sliders.size(); ++i) {
    const Control& s = sliders[i];
    const Rect row{box.x + static_cast<float>(i % 2) * (w + 24), box.y + static_cast<float>(i / 2) * 40, w,
                   36};
    const float label = std::min(150.0f, w * .38f);
    c.text({row.x, row.center().y}, fit(c.fonts(), tr(s.key), label, 14), {.size = 14, .color = t.t2});
    c.text({row.right(), row.center().y}, s.shown, {.size = 15, .face = Face::Bold, .align = Align::Right});
    if (view.ui.slider(s.id, {row.x + label + 10, row.y, row.w - label - 100, 36}, *s.value, s.least, s.most,
                       {.logarithmic = true}))
      dirty_ = true;
  }
  const auto rounded =
      static_cast<std::int64_t>(std::llround(gpus / static_cast<double>(spec_.gpus_per_node))) *
      spec_.gpus_per_node;
  if (dirty_) spec_.gpus = std::max<std::int64_t>(spec_.gpus_per_node, rounded);
  if (dirty_) view.ui.keep_moving();
}

bool ReliabilityPanel::draw(View& view, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const bool wide = box.w > 1100;
  const float margin = wide ? 32 : 22;
  const Rect in{box.x + margin, box.y + 14, box.w - 2 * margin, box.h - 26};
  const std::string back = tr("cluster.reliability.back");
  const float bw = c.width(back, 15) + 56;
  const bool leave =
      view.ui.button("cluster.rel.back", {in.right() - bw, in.y, bw, 36}, back, {.icon = Glyph::Failures});
  c.text({in.x, in.y + 18},
         fit(c.fonts(), tr("cluster.why_so_often", {sim::with_commas(now_.nodes)}), in.w - bw - 20, 22,
             Face::Bold),
         {.size = 22, .face = Face::Bold});
  float y = in.y + 54;
  numbers(view, {in.x, y, in.w, 60});
  y += 72;
  std::vector<std::string> rates;
  int current = -1;
  for (std::size_t i = 0; i < sim::published_rates().size(); ++i) {
    const sim::PublishedRate& r = sim::published_rates()[i];
    rates.push_back(fmt::format("{} {:.2f}", r.name, r.per_1000_node_days));
    if (std::abs(r.per_1000_node_days - spec_.failures_per_1000_node_days) < 1e-6)
      current = static_cast<int>(i);
  }
  float tw = 0;
  if (const auto chosen =
          view.ui.toggle("cluster.rel.rate", {in.x, y + 16}, rates, current, Align::Left, &tw, 32)) {
    spec_.failures_per_1000_node_days =
        sim::published_rates()[static_cast<std::size_t>(*chosen)].per_1000_node_days;
    dirty_ = true;
    view.ui.keep_moving();
  }
  if (in.w - tw > 120)
    c.text({in.x + tw + 14, y + 16}, fit(c.fonts(), tr("cluster.reliability.rate_unit"), in.w - tw - 14, 14),
           {.size = 14, .color = t.t3});
  y += 44;
  const float controls_h = 78, gap = 16;
  const float h = in.bottom() - controls_h - 10 - y, w = (in.w - gap) / 2;
  size_plot(view, {in.x, y, w, h});
  checkpoint_plot(view, {in.x + w + gap, y, w, h});
  controls(view, {in.x, in.bottom() - controls_h, in.w, controls_h});
  const bool rolling = std::any_of(dice_.begin(), dice_.end(), [](const DicePoint& p) { return !p.known; });
  if (rolling) view.ui.keep_moving();
  return leave;
}

void ReliabilityPanel::inspector(View& view) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const float x = view.box.x + 16, w = view.box.w - 32, bottom = view.box.bottom() - 16;
  float y = view.box.y + 24;
  const auto heading = [&](std::string_view text) {
    c.text({x, y}, fit(c.fonts(), text, w, 14, Face::Bold), {.size = 14, .color = t.t3, .face = Face::Bold});
    y += 26;
  };
  const auto row = [&](std::string_view word, std::string_view value, Color color = {}) {
    if (y + 12 > bottom) return;
    const float vw = c.text(
        {x + w, y}, value,
        {.size = 15, .color = color.visible() ? color : t.t1, .face = Face::Bold, .align = Align::Right});
    c.text({x, y}, fit(c.fonts(), word, w - vw - 12, 14), {.size = 14, .color = t.t2});
    y += 25;
  };
  const auto words = [&](std::string_view text, int lines = 6) {
    if (y + 20 > bottom) return;
    y = parts::paragraph(c, {x, y}, w, text,
                         {.size = 14,
                          .line_height = 1.4f,
                          .color = t.t2,
                          .max_lines = std::min(lines, std::max(1, static_cast<int>((bottom - y) / 20)))}) +
        8;
  };
  heading(tr("cluster.reliability.side_by_side"));
  row(tr("cluster.reliability.exact_long"), ratio(now_.ettr_exact));
  const sim::MonteCarlo& dice = now_.ettr_simulated;
  row(tr("cluster.reliability.dice_long", {std::to_string(spec_.runs)}), ratio(dice.mean));
  row(tr("cluster.reliability.interval"), ratio(dice.low) + " – " + ratio(dice.high));
  const bool far = std::abs(now_.ettr_linear - now_.ettr_exact) > .01;
  row(tr("cluster.reliability.linear_long"), ratio(now_.ettr_linear), far ? t.stall_text : Color{});
  const bool agrees = now_.ettr_exact >= dice.low && now_.ettr_exact <= dice.high;
  words(tr(agrees ? "cluster.reliability.agrees" : "cluster.reliability.disagrees"), 3);
  words(tr(far ? "cluster.reliability.linear_far" : "cluster.reliability.linear_near"), 3);
  y += 6;
  heading(tr("cluster.reliability.published"));
  const auto paper = [&](double minutes) {
    sim::ReliabilitySpec spec{.gpus = 16'000,
                              .failures_per_1000_node_days = 6.5,
                              .checkpoint_minutes = minutes,
                              .restart_minutes = 5};
    spec.runs = 2;
    return sim::reliability(spec).ettr_linear;
  };
  row(tr("cluster.reliability.paper_row", {"60"}), ratio(paper(60)) + " / 0.70");
  row(tr("cluster.reliability.paper_row", {"5"}), ratio(paper(5)) + " / 0.93");
  for (const sim::PublishedPoint& p : sim::published_points()) {
    const double model = 24'000.0 / (std::ceil(static_cast<double>(p.gpus) / 8) * 6.5);
    const bool llama = p.source.find("Llama") != std::string_view::npos;
    const bool odd = p.measured && !llama && (p.hours < model / 2 || p.hours > model * 2);
    row(tr(p.measured ? "cluster.reliability.measured_row" : "cluster.reliability.projected_row",
           {sim::with_commas(p.gpus)}),
        llama ? hours_text(p.hours) : hours_text(model) + " / " + hours_text(p.hours),
        odd ? t.stall_text : Color{});
  }
  words(tr("cluster.reliability.odd_explain"), 6);
}

}  // namespace ringside::app
