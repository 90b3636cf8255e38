// The plot: time or bus bandwidth over message size or nodes, logarithmic, with the current point to drag,
// the stretches where one side wins, the ties, and measurements.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/duel_figure.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

struct Axes {
  Rect box;
  double x0 = 1, x1 = 10, y0 = 1, y1 = 10;
  float x(double v) const { return box.x + box.w * static_cast<float>(std::log(v / x0) / std::log(x1 / x0)); }
  float y(double v) const {
    const double share = std::log(std::clamp(v, y0, y1) / y0) / std::log(y1 / y0);
    return box.bottom() - box.h * static_cast<float>(share);
  }
  double value_at(float px) const {
    return x0 * std::exp(static_cast<double>((px - box.x) / box.w) * std::log(x1 / x0));
  }
};

std::optional<double> value_of(const DuelView& duel, const DuelPoint& point, std::size_t side) {
  if (!point.time_us[side]) return std::nullopt;
  if (!duel.setup.busbw) return *point.time_us[side];
  return static_cast<double>(point.bytes) / (1000 * *point.time_us[side]) * point.factor;
}

std::string y_text(const DuelView& duel, double v) {
  if (!duel.setup.busbw) {  // whole decades
    static constexpr std::array<std::pair<double, const char*>, 4> kUnits{
        {{1e6, " s"}, {1e3, " ms"}, {1, " μs"}, {1e-3, " ns"}}};
    for (const auto& [unit, name] : kUnits)
      if (v >= unit * .999) return std::to_string(static_cast<int>(std::lround(v / unit))) + name;
    return "0 ns";
  }
  const std::string number =
      v >= 10 ? std::to_string(static_cast<int>(std::lround(v))) : std::to_string(v).substr(0, 4);
  return number + " GB/s";
}

/// Whole decades that hold every value.
void set_range(Axes& a, const DuelView& duel, const DuelState& state) {
  double least = 1e300, most = 0;
  const auto see = [&](double v) {
    if (v <= 0) return;
    least = std::min(least, v);
    most = std::max(most, v);
  };
  for (const DuelPoint& p : duel.points)
    for (std::size_t i = 0; i < p.time_us.size(); ++i)
      if (const auto v = value_of(duel, p, i)) see(*v);
  if (state.measured && !duel.setup.over_nodes)
    for (const auto& [bytes, us] : state.measured->rows)
      if (!duel.setup.busbw) see(us);
  if (most == 0) least = most = 1;
  a.y0 = std::pow(10, std::floor(std::log10(least) + 1e-9));
  a.y1 = std::pow(10, std::ceil(std::log10(most) - 1e-9));
  if (a.y1 <= a.y0) a.y1 = a.y0 * 10;
  a.x0 = duel.least_x;
  a.x1 = duel.most_x;
}

std::string x_text(const DuelView& duel, double x) {
  if (!duel.setup.over_nodes) return sim::format_bytes(static_cast<std::int64_t>(x + .5));
  return std::to_string(static_cast<int>(x + .5));
}

/// Sizes of the plot's texts: a presenter's are read from the last row.
struct Sizes {
  float axis = 13, name = 15, range = 13, cursor = 14, line = 2.5f;
};
Sizes sizes_of(const View& view) {
  if (!view.ctx.presenter) return {};
  return {.axis = 28, .name = 28, .range = 28, .cursor = 28, .line = 4};
}

/// "8 MiB", "16 nodes".
std::string cursor_text(const DuelView& duel) {
  if (!duel.setup.over_nodes) return sim::format_bytes(duel.setup.bytes);
  return std::to_string(duel.setup.nodes) + " " + tr("duel.nodes_word");
}

void draw_grid(View& view, const DuelView& duel, const Axes& a) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const Sizes s = sizes_of(view);
  const float under = a.box.bottom() + s.axis * .6f + 8;
  float last_y = 1e9f;
  for (double y = a.y0; y <= a.y1 * 1.001; y *= 10) {
    c.line({a.box.x, a.y(y)}, {a.box.right(), a.y(y)}, t.line);
    if (last_y - a.y(y) < s.axis * 1.3f) continue;
    last_y = a.y(y);
    c.text({a.box.x - 8, a.y(y)}, y_text(duel, y), {.size = s.axis, .color = t.t3, .align = Align::Right});
  }
  const double factor = duel.setup.over_nodes ? 2 : 32;
  double last = a.x0;
  float free_from = a.box.x - 40;
  const double now = duel.setup.over_nodes ? duel.setup.nodes : static_cast<double>(duel.setup.bytes);
  const float cursor = a.x(now), taken = c.width(cursor_text(duel), s.cursor, Face::Bold) / 2 + 14;
  for (double x = a.x0; x <= a.x1 * 1.001; x *= factor) {
    last = x;
    c.line({a.x(x), a.box.y}, {a.x(x), a.box.bottom()}, t.line);
    const std::string text = x_text(duel, x);
    const float half = c.width(text, s.axis) / 2;
    if (a.x(x) - half < free_from || std::fabs(a.x(x) - cursor) < half + taken) continue;
    c.text({a.x(x), under}, text, {.size = s.axis, .color = t.t3, .align = Align::Center});
    free_from = a.x(x) + half + 10;
  }
  const std::string end = x_text(duel, a.x1);
  const float half_end = c.width(end, s.axis) / 2;
  if (last < a.x1 * .999 && a.box.right() - half_end > free_from &&
      std::fabs(a.box.right() - cursor) > half_end + taken)
    c.text({a.box.right(), under}, end, {.size = s.axis, .color = t.t3, .align = Align::Center});
}

void draw_bands(View& view, const DuelView& duel, const Axes& a) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  if (duel.sides.size() < 2) return;
  const Sizes s = sizes_of(view);
  for (const DuelBand& band : duel.bands) {
    const float x0 = a.x(band.from), x1 = a.x(band.to);
    if (x1 - x0 < 2) continue;
    if (band.side >= 0 && band.from > a.x0)
      c.dashed_line({x0, a.box.y}, {x0, a.box.bottom()}, t.edge, 1.2f, {4, 4});
    if (band.side < 0) {
      c.rect({x0, a.box.y, x1 - x0, a.box.h}, {.fill = fade(t.edge, .16f)});
      c.dashed_line({x0, a.box.y}, {x0, a.box.bottom()}, t.edge, 1.2f, {4, 4});
      c.dashed_line({x1, a.box.y}, {x1, a.box.bottom()}, t.edge, 1.2f, {4, 4});
    }
    const std::string name =
        band.side < 0 ? tr("duel.tie") : side_name(duel, static_cast<std::size_t>(band.side));
    if (c.width(name, s.name) + 10 > x1 - x0) continue;
    c.text({(x0 + x1) / 2, a.box.y + s.name * .6f + 7}, name,
           {.size = s.name,
            .color = band.side < 0 ? t.t1 : t.t2,
            .face = band.side < 0 ? Face::Bold : Face::Regular,
            .align = Align::Center});
    if (band.side >= 0) continue;
    const std::string range = x_text(duel, band.from) + " - " + x_text(duel, band.to);
    if (c.width(range, s.range) + 8 < x1 - x0)
      c.text({(x0 + x1) / 2, a.box.y + s.name * 1.9f + 7}, range, {.size = s.range, .color = t.t2, .align = Align::Center});
  }
}

/// One line pattern a side, so that colour is not the only difference.
void draw_curve(Canvas& c, std::size_t side, const std::vector<Vec2>& points, Color color, float width) {
  static constexpr std::array<Dash, 4> kPatterns{{{}, {10, 5}, {3, 4}, {14, 4}}};
  if (points.size() < 2) return;
  if (kPatterns[side % 4].on == 0)
    c.stroke(points, color, width);
  else
    c.dashed(points, color, width, kPatterns[side % 4]);
}

void draw_curves(View& view, const DuelView& duel, const Axes& a) {
  Canvas& c = view.canvas;
  const Sizes s = sizes_of(view);
  const bool presenter = view.ctx.presenter;
  std::vector<std::vector<Vec2>> curves(duel.sides.size());
  for (std::size_t i = 0; i < curves.size(); ++i) {
    for (const DuelPoint& p : duel.points)
      if (const auto v = value_of(duel, p, i)) curves[i].push_back({a.x(p.x), a.y(*v)});
    draw_curve(c, i, curves[i], c.theme().rank(static_cast<int>(i)), s.line);
  }
  for (std::size_t i = 0; i < curves.size(); ++i) {  // over all curves: a letter is not crossed out
    if (curves[i].empty()) continue;
    const std::size_t at = std::min(curves[i].size() - 1, curves[i].size() * (1 + i) / 9);
    parts::rank_tag(c, curves[i][at], static_cast<int>(i),
                    {.width = presenter ? 40.0f : 22.0f,
                     .height = presenter ? 38.0f : 19.0f,
                     .size = presenter ? 28.0f : 13.0f,
                     .align = Align::Center,
                     .label = side_letter(i)});
  }
}

void draw_measured(View& view, const DuelView& duel, const DuelState& state, const Axes& a) {
  if (!state.measured || duel.setup.over_nodes || duel.setup.source != DuelSource::Model) return;
  Canvas& c = view.canvas;
  const double factor = sim::bus_factor(sim::Collective::AllReduce, duel.ranks);
  for (const auto& [bytes, us] : state.measured->rows) {
    const auto x = static_cast<double>(bytes);
    if (x < a.x0 || x > a.x1) continue;
    const double v = duel.setup.busbw ? x / (1000 * us) * factor : us;
    c.circle({a.x(x), a.y(v)}, 4, c.theme().t1, c.theme().card, 1.5f);
  }
}

/// The vertical line at the current point with its values; the whole plot can be dragged.
void draw_cursor(View& view, const DuelView& duel, const Axes& a, DuelAnswer& answer) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const double now = duel.setup.over_nodes ? duel.setup.nodes : static_cast<double>(duel.setup.bytes);
  const Hit hit = view.ui.hit("duel.plot", a.box, {.takes_arrows = true, .explain = tr("duel.explain.plot")});
  if (hit.held) {
    const double v = std::clamp(a.value_at(hit.mouse.x), a.x0, a.x1);
    DuelSetup setup = duel.setup;
    if (setup.over_nodes)
      setup.nodes = static_cast<int>(std::lround(v));
    else
      setup.bytes = static_cast<std::int64_t>(std::exp2(std::round(std::log2(v) * 4) / 4));
    answer.setup = setup;
  } else if (hit.focused) {
    const int direction = view.ui.key(Key::Right) ? 1 : view.ui.key(Key::Left) ? -1 : 0;
    if (direction != 0) {
      view.ui.take(direction > 0 ? Key::Right : Key::Left);
      DuelSetup setup = duel.setup;
      const double v = std::clamp(now * (direction > 0 ? 2 : .5), a.x0, a.x1);
      if (setup.over_nodes)
        setup.nodes = static_cast<int>(v);
      else
        setup.bytes = static_cast<std::int64_t>(v);
      answer.setup = setup;
    }
  }
  if (now < a.x0 || now > a.x1) return;
  const float x = a.x(now);
  c.line({x, a.box.y}, {x, a.box.bottom()}, t.t1, 2);
  for (std::size_t i = 0; i < duel.sides.size(); ++i) {
    if (!duel.sides[i].available) continue;
    const double v = duel.setup.busbw ? duel.sides[i].busbw_GBps : duel.sides[i].time_us;
    c.circle({x, a.y(v)}, 6, t.rank(static_cast<int>(i)), t.card, 2);
  }
  const std::string label = cursor_text(duel);
  const float size = sizes_of(view).cursor, h = size + 10, w = c.width(label, size, Face::Bold) + 18,
              lx = std::clamp(x, a.box.x + w / 2, a.box.right() - w / 2);
  c.rect({lx - w / 2, a.box.bottom() + 4, w, h}, {.fill = t.accent, .radius = 6});
  c.text({lx, a.box.bottom() + 4 + h / 2}, label,
         {.size = size, .color = t.ink, .face = Face::Bold, .align = Align::Center, .on_shape = true});
}

/// What the axes show, with its title.
void draw_plot_head(View& view, const DuelView& duel, Rect box, DuelAnswer& answer) {
  Canvas& c = view.canvas;
  const std::array<std::string, 2> values{tr("duel.axis.time"), tr("duel.axis.busbw")},
      xs{tr("duel.axis.size"), tr("duel.axis.nodes")};
  float w = 0;
  const float y = box.y + 30;
  if (const auto chosen = view.ui.toggle("duel.axis.x", {box.right() - 14, y}, xs,
                                         duel.setup.over_nodes ? 1 : 0, Align::Right, &w)) {
    answer.setup = duel.setup;
    answer.setup->over_nodes = *chosen == 1;
  }
  float w2 = 0;
  if (const auto chosen = view.ui.toggle("duel.axis.y", {box.right() - 24 - w, y}, values,
                                         duel.setup.busbw ? 1 : 0, Align::Right, &w2)) {
    answer.setup = duel.setup;
    answer.setup->busbw = *chosen == 1;
  }
  const std::string title =
      tr(duel.setup.busbw ? (duel.setup.over_nodes ? "duel.plot.busbw_nodes" : "duel.plot.busbw_size")
                          : (duel.setup.over_nodes ? "duel.plot.time_nodes" : "duel.plot.time_size"));
  c.text({box.x + 18, y}, fit(c.fonts(), title, box.w - w - w2 - 60, 16, Face::Bold),
         {.size = 16, .face = Face::Bold});
}

}  // namespace

void draw_duel_plot(View& view, const DuelView& duel, const DuelState& state, Rect box, DuelAnswer& answer) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  parts::card(c, box, {}, t.card, t.line, 12);
  Axes a{.box = {box.x + 78, box.y + 60, box.w - 110, box.h - 98}};
  if (view.ctx.presenter)
    a.box = {box.x + 130, box.y + 24, box.w - 174, box.h - 76};
  else
    draw_plot_head(view, duel, box, answer);
  set_range(a, duel, state);
  draw_bands(view, duel, a);
  draw_grid(view, duel, a);
  c.push_clip(a.box.inset(-14, -2));
  draw_curves(view, duel, a);
  draw_measured(view, duel, state, a);
  c.pop_clip();
  draw_cursor(view, duel, a, answer);
}

}  // namespace ringside::app
