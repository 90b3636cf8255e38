// The two cards under the lanes: how long the last collectives took, and the same job simulated.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/live_scene.hpp"
#include "app/session/session.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app::live {
namespace {

constexpr float kPad = 16;

/// `measured`: all of it is; else its columns say what is.
void card_head(Paint& p, Rect box, const std::string& title, bool measured) {
  p.c.rect(box, {.fill = p.t.card, .radius = 10});
  const float badge =
      measured ? parts::truth_badge(p.c, {box.right() - kPad, box.y + 22}, parts::Truth::Measured, true, Align::Right)
               : 0.0f;
  p.c.text({box.x + kPad, box.y + 22}, fit(p.c.fonts(), title, box.w - 2 * kPad - badge - 10, 15),
           {.size = 15, .color = p.t.t2});
}

/// The bars' full height: a little more than the usual times; one that never ends is cut with a zigzag.
std::int64_t scale_of(const LiveView& live) {
  std::vector<std::int64_t> took;
  for (const LiveCall& call : live.calls)
    if (call.finished) took.push_back(call.ns);
  if (took.empty()) return 1;
  std::sort(took.begin(), took.end());
  const std::int64_t usual = took[took.size() * 9 / 10];
  return std::max<std::int64_t>(1, std::min(took.back(), usual * 2) * 11 / 10);
}

std::string gigabytes(double bytes_per_s) {
  const double gb = bytes_per_s / 1e9;
  return gb >= 1 ? fmt::format("{:.2f} GB/s", gb)
                 : bytes_per_s >= 1e6 ? fmt::format("{:.1f} MB/s", bytes_per_s / 1e6)
                                      : fmt::format("{:.1f} kB/s", bytes_per_s / 1e3);
}

/// "1.3 ×", "0.08 ×".
std::string ratio_text(std::int64_t measured, std::int64_t simulated) {
  if (measured <= 0 || simulated <= 0) return "-";
  const double ratio = static_cast<double>(measured) / static_cast<double>(simulated);
  return ratio >= 100 ? sim::with_commas(std::llround(ratio)) + " ×"
         : ratio >= 10 ? fmt::format("{:.0f} ×", ratio)
         : ratio >= 1  ? fmt::format("{:.1f} ×", ratio)
                       : fmt::format("{:.2f} ×", ratio);
}

}  // namespace

void draw_calls(Paint& p, Rect box) {
  card_head(p, box, tr("live.card.calls", {std::to_string(p.live.calls.size())}), true);
  if (p.live.calls.empty()) {
    parts::paragraph(p.c, {box.x + kPad, box.y + 54}, box.w - 2 * kPad, tr("live.card.no_calls"),
                     {.size = 15, .color = p.t.t2, .max_lines = 2});
    return;
  }
  const std::int64_t most = scale_of(p.live);
  const std::string top = time_text(p.live.call_median_ns);
  const float axis = std::max(48.0f, p.c.width(top, 13) + 12);
  const Rect plot{box.x + kPad + axis, box.y + 44, box.w - 2 * kPad - axis, box.h - 44 - 34};
  if (plot.h < 12) return;
  const auto y_of = [&](std::int64_t ns) {
    return plot.bottom() - plot.h * std::min(1.0f, static_cast<float>(ns) / static_cast<float>(most));
  };
  if (p.live.call_median_ns > 0) {
    const float y = y_of(p.live.call_median_ns);
    p.c.line({plot.x, y}, {plot.right(), y}, p.t.line);
    p.c.text({plot.x - 8, y}, top, {.size = 13, .color = p.t.t3, .align = Align::Right});
    if (plot.bottom() - y > 24)
      p.c.text({plot.x - 8, plot.bottom() - 6}, "0", {.size = 13, .color = p.t.t3, .align = Align::Right});
  }
  const float pitch = plot.w / static_cast<float>(std::max<std::size_t>(12, p.live.calls.size()));
  const float width = std::max(1.0f, std::min(pitch - 2, 16.0f));
  float x = plot.right() - pitch * static_cast<float>(p.live.calls.size());
  for (const LiveCall& call : p.live.calls) {
    const float y = std::min(y_of(call.ns), plot.bottom() - 2);
    const Rect bar{x + (pitch - width) / 2, y, width, plot.bottom() - y};
    if (call.finished) {
      p.c.rect(bar, {.fill = p.t.comm, .radius = std::min(2.0f, width / 2)});
    } else {
      parts::wait_box(p.c, bar, {}, 5);
    }
    if (call.ns > most) parts::zigzag(p.c, {bar.center().x, plot.y + 10}, 12);
    x += pitch;
  }
  const LiveCall &first = p.live.calls.front(), &last = p.live.calls.back();
  const float y = box.bottom() - 17;
  const std::string end = last.finished ? tr("live.card.seq", {sim::with_commas(last.seq)})
                                        : tr("live.card.not_finished", {sim::with_commas(last.seq)});
  const float end_w = p.c.text({plot.right(), y}, end, {.size = 13, .face = Face::Bold, .align = Align::Right});
  const std::string begin = tr("live.card.seq", {sim::with_commas(first.seq)});
  const float first_x = std::max(plot.x, plot.right() - pitch * static_cast<float>(p.live.calls.size()));
  if (first_x + p.c.width(begin, 13) + 16 < plot.right() - end_w)
    p.c.text({first_x, y}, begin, {.size = 13, .color = p.t.t3});
}

void draw_compare(Paint& p, Rect box, Prediction& prediction) {
  card_head(p, box, tr("live.card.compare"), false);
  const bool can = prediction.scenario().has_value();
  if (can && !prediction.times() && !prediction.running() && !prediction.too_large() && p.live.call_median_ns > 0)
    prediction.start();
  const std::optional<JobTimes>& simulated = prediction.times();
  const float x0 = box.x + kPad, x3 = box.right() - kPad, w = x3 - x0;
  const float x1 = x0 + w * .56f, x2 = x0 + w * .80f;
  float y = box.y + 46;
  const auto head = [&](float x, std::string_view key) {
    p.c.text({x, y}, fit(p.c.fonts(), tr(key), w * .23f, 13), {.size = 13, .color = p.t.t3, .align = Align::Right});
  };
  head(x1, "live.card.measured");
  head(x2, "live.card.simulated");
  head(x3, "live.card.ratio");
  const float pitch = box.h < 170 ? 20.0f : 24.0f;
  const auto row = [&](const std::string& label, const std::string& measured, const std::string& other,
                       const std::string& ratio) {
    y += pitch;
    p.c.text({x0, y}, fit(p.c.fonts(), label, w * .34f, 14), {.size = 14, .color = p.t.t2});
    p.c.text({x1, y}, measured, {.size = 14, .face = Face::Bold, .align = Align::Right});
    p.c.text({x2, y}, other, {.size = 14, .align = Align::Right});
    p.c.text({x3, y}, ratio, {.size = 14, .color = p.t.t2, .align = Align::Right});
  };
  const auto text = [](std::int64_t ns) { return ns > 0 ? time_text(ns) : std::string("-"); };
  JobTimes model = simulated.value_or(JobTimes{});
  if (can && prediction.scenario()->training.forward_ns + prediction.scenario()->training.backward_ns == 0)
    model.step_ns = 0;  // the scenario gives no times for the work, so there is none to compare
  row(tr("live.card.allreduce"), text(p.live.call_median_ns), text(model.call_ns),
      ratio_text(p.live.call_median_ns, model.call_ns));
  row(tr("live.card.step"), text(p.live.step_median_ns), text(model.step_ns),
      ratio_text(p.live.step_median_ns, model.step_ns));
  const double shrink = model.call_ns > 0 ? static_cast<double>(p.live.call_median_ns) / static_cast<double>(model.call_ns) : 0;
  if (box.h >= 170)
    row(tr("live.card.busbw"), p.live.busbw > 0 ? gigabytes(p.live.busbw) : "-",
        p.live.busbw > 0 && shrink > 0 ? gigabytes(p.live.busbw * shrink) : "-", "");
  const std::string why = prediction.running()       ? tr("live.card.computing")
                          : !can                     ? tr("live.card.no_scenario")
                          : prediction.too_large()   ? tr("live.card.too_large")
                                                     : std::string();
  const Rect button{x0, box.bottom() - 14 - 34, w, 34};
  if (p.view.ui.button("live.same", button, tr("live.card.same"),
                       {.icon = Glyph::Fork, .size = 14, .enabled = can, .explain = why.empty() ? tr("live.card.fit") : why})) {
    p.view.emit(action::Custom{"live.same", [scenario = *prediction.scenario()](Session& s) mutable {
                                 s.scene_id = std::string(scene_for(scenario));
                                 const std::string name = scenario.title;
                                 s.open_scenario(std::move(scenario), name, true);
                               }});
  }
  p.view.ui.explain({box.x, box.y + 34, box.w, button.y - box.y - 40}, why.empty() ? tr("live.card.fit") : why);
}

}  // namespace ringside::app::live
