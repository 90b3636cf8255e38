#include "app/scenes/allreduce_figure.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/allreduce_pen.hpp"

namespace ringside::app {

using figure::Pen;

FigureAnswer draw_figure(View& view, const RingView& ring, const RingLayout& layout,
                         const FigureState& state) {
  FigureAnswer answer;
  Canvas& c = view.canvas;
  const Pen p{.view = view,
              .c = c,
              .t = c.theme(),
              .ring = ring,
              .layout = layout,
              .state = state,
              .most = heat_scale(ring)};
  c.push_figure(layout.origin, layout.k);
  if (layout.form == Form::Message) {
    figure::draw_message(p);
    c.pop_figure();
    return answer;
  }
  figure::draw_beam(p);
  if (layout.form != Form::Columns)
    for (const LinkBox& link : layout.links) figure::draw_link(p, link, answer);
  if (layout.form == Form::Columns && layout.cards.size() <= 8 && layout.cards.size() > 1)
    for (std::size_t r = 0; r < layout.cards.size(); ++r)
      for (std::size_t i = 0; i < ring.chunks.size(); ++i) {
        const Path path =
            transfer_path(layout, static_cast<int>(r), static_cast<int>((r + 1) % layout.cards.size()), i);
        if (path.points.size() == 2) c.line(path.points[0], path.points[1], p.t.line, 1.5f);
      }
  figure::draw_dial(p);
  figure::draw_progress(p);
  for (const CardBox& card : layout.cards)
    if (layout.form == Form::Squares)
      figure::draw_square(p, card, answer);
    else
      figure::draw_card(p, card, answer);
  figure::draw_close_up(p, answer);
  figure::draw_link_names(p);
  for (std::size_t i = 0; i < ring.flights.size(); ++i)
    figure::draw_tile(p, ring.flights[i], layout.tiles[i]);
  for (std::size_t i = 0; i < ring.sums.size(); ++i) figure::draw_sum(p, ring.sums[i], layout.sums[i]);
  if (layout.legend_y > 0 && layout.k >= .88f) figure::draw_controls(p, answer);
  c.pop_figure();
  return answer;
}

std::string sentence_text(const Sentence& s) {
  const auto arg = [&](std::size_t i) -> std::string_view {
    return i < s.args.size() ? std::string_view(s.args[i]) : std::string_view();
  };
  return tr(s.key, {arg(0), arg(1), arg(2), arg(3), arg(4)});
}

std::string time_text(std::int64_t ns) {
  static constexpr std::array<std::pair<double, const char*>, 4> kUnits{
      {{1e9, " s"}, {1e6, " ms"}, {1e3, " μs"}, {1, " ns"}}};
  for (const auto& [unit, name] : kUnits) {
    if (static_cast<double>(ns) < unit && unit > 1) continue;
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", static_cast<double>(ns) / unit);
    std::string out = text;
    if (out.ends_with(".0")) out.resize(out.size() - 2);
    return out + name;
  }
  return "0 ns";
}

std::string rate_text(std::int64_t bytes_per_s) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g GB/s", static_cast<double>(bytes_per_s) / 1e9);
  return text;
}

std::string chunk_name(std::uint32_t chunk) {
  return "c" + std::to_string(chunk);
}

std::string numbers_text(const Numbers& numbers) {
  if (!numbers.complete())
    return numbers.ranged ? number_text(numbers.min) + " ... " + number_text(numbers.max)
                          : tr("allreduce.not_known");
  std::string out;
  constexpr std::size_t kMost = 4;
  for (std::size_t i = 0; i < std::min(kMost, numbers.values.size()); ++i)
    out += (i > 0 ? ", " : "") + number_text(numbers.values[i]);
  return numbers.values.size() > kMost ? out + " ..." : out;
}

Color heat_color(const Theme& t, double value, double most) {
  if (std::isnan(value) || std::isinf(value)) return t.nan;
  const double x = most > 0 ? std::clamp(value / most, -1.0, 1.0) : 0;
  const float strength = static_cast<float>(std::sqrt(std::fabs(x)));
  return x >= 0 ? mix(t.raised, t.t1, strength * .85f)
                : mix(t.raised, t.dark ? t.stage : t.edge, strength * .85f);
}

void draw_contributions(Canvas& c, Rect box, std::uint64_t have, int world, float alpha) {
  if (world <= kRankColors) {
    parts::contributions(c, box, have, world, alpha);
  } else {
    parts::share_bar(c, box, std::popcount(have), world);
  }
}

void draw_content(Canvas& c, const CellContent& content, const Numbers& numbers, Rect box, double most,
                  Color color, Face face) {
  if (content.heat) {
    const auto& values = numbers.complete() ? numbers.values : numbers.sampled;
    const float w = box.w / static_cast<float>(content.heat_columns),
                h = box.h / static_cast<float>(content.heat_rows);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto col = static_cast<float>(static_cast<int>(i) % content.heat_columns),
                 row = static_cast<float>(static_cast<int>(i) / content.heat_columns);
      c.rect({box.x + col * w, box.y + row * h, w - .5f, h - .5f},
             {.fill = fade(heat_color(c.theme(), sim::to_double(values[i]), most),
                           face == Face::Bold ? 1 : .4f)});
    }
    return;
  }
  for (const PlacedText& text : content.texts)
    c.text(text.middle, text.text, {.size = text.size, .color = color, .face = face, .align = Align::Center});
}

double heat_scale(const RingView& ring) {
  double most = 0;
  for (const CellView& cell : ring.cells) {
    if (!cell.numbers.ranged) continue;
    for (const sim::Scalar& v : {cell.numbers.min, cell.numbers.max})
      if (!sim::is_inf(v) && !sim::is_nan(v)) most = std::max(most, std::fabs(sim::to_double(v)));
  }
  return most;
}

}  // namespace ringside::app
