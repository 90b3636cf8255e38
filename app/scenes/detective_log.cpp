// The merged log of the detective's job, as it arrived; the row in question is read in full below.
#include <fmt/format.h>

#include <algorithm>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/detective_view.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"
#include "sim/job/log_text.hpp"

namespace ringside::app {
namespace {

constexpr float kPitch = 20, kHeader = 36, kSize = 13;

std::string wall_clock(std::int64_t t) {
  const std::int64_t ms = (sim::kLogEpochUnixS * 1000 + t / 1'000'000) % 86'400'000;
  return fmt::format("{:02}:{:02}:{:02}.{:03}", ms / 3'600'000, ms / 60'000 % 60, ms / 1000 % 60, ms % 1000);
}

std::string source_of(const DetectiveGame& game, const sim::LogRow& row) {
  return row.rank < 0 ? std::string(game.launcher())
                      : "rank" + std::to_string(row.rank);
}

void draw_row(View& view, const DetectiveGame& game, int index, Rect box, DetectiveMemory& memory,
              DetectiveAnswer& answer) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const sim::LogRow& row = game.logs()[static_cast<std::size_t>(index)];
  const Hit hit =
      view.ui.hit("detective.log.row" + std::to_string(index), box, {.focusable = false});
  const bool chosen = index == memory.log_row;
  if (chosen || hit.hovered) c.rect(box, {.fill = t.raised, .radius = 4});
  // New since the last look.
  if (static_cast<std::size_t>(index) >= game.logs_before())
    c.rect({box.x, box.y + 2, 3, box.h - 4}, {.fill = t.accent, .radius = 1.5f});
  const float y = box.center().y;
  float x = box.x + 10;
  c.text({x, y}, wall_clock(row.t_ns), {.size = kSize, .color = t.t3, .face = Face::Mono});
  x += c.width("00:00:00.000", kSize, Face::Mono) + 12;
  c.text({x, y}, source_of(game, row), {.size = kSize, .color = t.t1, .face = Face::MonoBold});
  x += c.width("rank511", kSize, Face::MonoBold) + 12;
  c.text({x, y}, fit(c.fonts(), sim::escape_for_display(row.text), box.right() - 10 - x, kSize, Face::Mono),
         {.size = kSize, .color = t.t2, .face = Face::Mono});
  if (hit.clicked) {
    memory.log_row = chosen ? -1 : index;
    if (row.rank >= 0 && !chosen) answer.rank = row.rank;
  }
}

/// The chosen row with all of its text; the height that it takes.
float draw_full_row(View& view, const DetectiveGame& game, Rect box, const DetectiveMemory& memory) {
  if (memory.log_row < 0 || memory.log_row >= static_cast<int>(game.logs().size())) return 0;
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const sim::LogRow& row = game.logs()[static_cast<std::size_t>(memory.log_row)];
  constexpr int kMostLines = 5;
  const int most = std::clamp(static_cast<int>((box.h - 90) / 18), 1, kMostLines);
  const auto lines =
      wrap(c.fonts(), sim::escape_for_display(row.text), box.w - 24, kSize, Face::Mono, most);
  const float h = 18 * static_cast<float>(lines.size()) + 12;
  const float top = box.bottom() - h;
  c.line({box.x + 8, top}, {box.right() - 8, top}, t.line);
  for (std::size_t i = 0; i < lines.size(); ++i)
    c.text({box.x + 12, top + 15 + 18 * static_cast<float>(i)}, lines[i],
           {.size = kSize, .color = t.t1, .face = Face::Mono});
  return h;
}

}  // namespace

void draw_desk_log(View& view, const DetectiveGame& game, DetectiveMemory& memory, Rect box,
                   DetectiveAnswer& answer) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const int rows = static_cast<int>(game.logs().size());
  const Hit ground = view.ui.hit("detective.log", box, {.takes_arrows = true});
  c.rect(box, {.fill = mix(t.stage, t.panel, .6f), .stroke = ground.focused ? t.t2 : t.line, .radius = 10});
  const int fresh = rows - static_cast<int>(game.logs_before());
  std::string title = tr("detective.log.title", {sim::with_commas(rows)});
  if (fresh > 0) title += " · " + tr("detective.log.fresh", {sim::with_commas(fresh)});
  c.text({box.x + 14, box.y + 19}, fit(c.fonts(), title, box.w - 110, 14, Face::Bold),
         {.size = 14, .color = t.t3, .face = Face::Bold});
  const float full = draw_full_row(view, game, box, memory);
  const Rect list{box.x + 6, box.y + kHeader, box.w - 12, box.h - kHeader - full - 6};
  const int fits_rows = std::max(1, static_cast<int>(list.h / kPitch));
  const auto most = static_cast<float>(std::max(0, rows - fits_rows));
  memory.log_at = std::clamp(memory.log_at - view.ui.wheel(list) * 3, 0.0f, most);
  if (ground.focused && !view.ui.typing() && rows > 0) {
    const int step = view.ui.key(Key::Down) ? 1 : view.ui.key(Key::Up) ? -1 : 0;
    if (step != 0) {
      for (const Key key : {Key::Down, Key::Up}) view.ui.take(key);
      memory.log_row = std::clamp(memory.log_row + step, 0, rows - 1);
      const auto row = static_cast<float>(memory.log_row);
      memory.log_at = std::clamp(memory.log_at, row - static_cast<float>(fits_rows) + 1, row);
    }
    if (ground.clicked && memory.log_row >= 0)
      answer.rank = game.logs()[static_cast<std::size_t>(memory.log_row)].rank;
    if (answer.rank == -1) answer.rank.reset();
  }
  memory.log_at = std::clamp(memory.log_at, 0.0f, most);
  if (rows == 0) {
    c.text({box.x + 14, list.y + 12}, fit(c.fonts(), tr("detective.log.empty"), box.w - 28, 14),
           {.size = 14, .color = t.t2});
    return;
  }
  if (view.ui.icon_button("detective.log.first", {box.right() - 60, box.y + 19}, Glyph::First, 13,
                          tr("detective.log.first"), memory.log_at > 0))
    memory.log_at = 0;
  if (view.ui.icon_button("detective.log.last", {box.right() - 24, box.y + 19}, Glyph::Last, 13,
                          tr("detective.log.last"), memory.log_at < most))
    memory.log_at = most;
  const int first = static_cast<int>(memory.log_at);
  for (int i = first; i < std::min(rows, first + fits_rows); ++i)
    draw_row(view, game, i,
             {list.x, list.y + kPitch * static_cast<float>(i - first), list.w - 6, kPitch - 1}, memory, answer);
  if (most > 0) {
    const float share = static_cast<float>(fits_rows) / static_cast<float>(rows);
    const float length = std::max(14.0f, list.h * share);
    c.rect({box.right() - 7, list.y + (list.h - length) * memory.log_at / most, 3, length},
           {.fill = t.edge, .radius = 1.5f});
  }
}

}  // namespace ringside::app
