// The desk: the clock, 64 node tiles with the player's marks, the chosen node, the log as it arrived.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/detective_view.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

constexpr float kMargin = 20, kGap = 12, kTileGap = 4;

/// A figure of the header: a large number, what it is, right-aligned at x. Returns the x left of it.
float figure(Canvas& c, float x, float y, const std::string& value, const std::string& label, Color color) {
  const Theme& t = c.theme();
  const float w = std::max(c.width(value, 28, Face::Bold), c.width(label, 13));
  c.text({x, y - 8}, value, {.size = 28, .color = color, .face = Face::Bold, .align = Align::Right});
  c.text({x, y + 18}, label, {.size = 13, .color = t.t2, .align = Align::Right});
  return x - w - 26;
}

std::string hint_text(const DetectiveGame& game) {
  switch (game.hint()) {
    case DetectiveHint::Begin:
      return tr("detective.hint.begin");
    case DetectiveHint::Deeper:
      return tr("detective.hint.deeper");
    case DetectiveHint::Follow:
      return tr("detective.hint.follow");
    case DetectiveHint::Decide:
      return tr("detective.hint.decide");
    case DetectiveHint::Late:
      return tr("detective.hint.late");
  }
  return {};
}

/// A node: its name, what its GPUs show, the player's mark.
void draw_tile(Canvas& c, const DetectiveGame& game, Rect box, int node, bool hovered) {
  const Theme& t = c.theme();
  const NodeMark mark = game.mark_of(node);
  const sim::NodeTile& tile = game.dashboard()[static_cast<std::size_t>(node)];
  const bool chosen = node == game.node(), cleared = mark == NodeMark::Cleared;
  c.rect(box, {.fill = hovered ? t.raised : cleared ? t.stage : t.card,
               .stroke = mark == NodeMark::Suspect ? t.t1 : cleared ? t.line : Color{},
               .radius = 5,
               .width = mark == NodeMark::Suspect ? 2.0f : 1.0f});
  if (chosen) c.rect(box.inset(-3), {.stroke = t.accent, .radius = 8, .width = 2});
  const Color dim = cleared ? t.t3 : t.t2;
  const std::string name = "n" + std::to_string(node);
  const std::string busy = std::to_string(tile.utilisation_percent) + " %",
                    power = std::to_string(tile.power_w) + " W";
  // All in one weight: to read them is the player's work.
  const TextStyle numbers{.size = 13, .color = dim, .align = Align::Right};
  // Tall: name above the numbers. Middle: beside them. Flat: one number, the telling one.
  const bool tall = box.h >= 50, middle = !tall && box.h >= 32;
  const float left = box.x + 6, right = box.right() - 6, name_y = tall ? box.y + 13 : box.center().y;
  c.text({left, name_y}, name, {.size = 13, .color = cleared ? t.t3 : t.t1, .face = Face::Bold});
  if (mark != NodeMark::None) {
    const Vec2 at{tall ? right - 6 : left + c.width(name, 13, Face::Bold) + 11, name_y};
    c.glyph(cleared ? Glyph::Check : Glyph::Flag, at, 11, cleared ? t.t2 : t.t1, 2);
  }
  if (tall || middle) {
    const float y = tall ? box.y + 30 : box.center().y - 7;
    c.text({right, y}, busy, numbers);
    c.text({right, y + 15}, power, numbers);
  } else {
    // Short of room the unit goes first; beside a mark the number itself, which the hover still tells.
    const std::string bare = std::to_string(tile.power_w);
    const float room = right - left - c.width(name, 13, Face::Bold) - (mark != NodeMark::None ? 22 : 4);
    for (const std::string& shown : {power, bare}) {
      if (c.width(shown, 13, numbers.face) > room) continue;
      c.text({right, name_y}, shown, numbers);
      break;
    }
  }
}

void draw_grid(View& view, const DetectiveGame& game, const DeskLayout& at, DetectiveAnswer& answer) {
  for (int node = 0; node < game.engine().nodes(); ++node) {
    const Rect box = tile_box(at, game.engine().nodes(), node);
    const Hit hit = view.ui.hit("detective.node." + std::to_string(node), box, {.focusable = false});
    draw_tile(view.canvas, game, box, node, hit.hovered);
    if (hit.hovered) {
      const sim::NodeTile& tile = game.dashboard()[static_cast<std::size_t>(node)];
      view.ui.explain(box, tr("detective.tile_explain",
                              {"n" + std::to_string(node), std::to_string(tile.utilisation_percent),
                               std::to_string(tile.power_w)}));
    }
    if (hit.clicked) answer.node = node;
    if (hit.menu) answer.mark = {node, NodeMark::Suspect};
  }
}

/// The chosen node: its ranks, and what the player makes of it.
void draw_node_strip(View& view, const DetectiveGame& game, Rect box, DetectiveAnswer& answer) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const int node = game.node(), per_node = game.engine().gpus_per_node();
  c.rect(box, {.fill = t.card, .radius = 8});
  const float y = box.center().y;
  // Short of room the marks lose their words, and the strip tells the unit that the flat tiles leave out.
  const bool words = box.w >= 700;
  const std::string name =
      words ? tr("detective.node", {std::to_string(node)})
            : "n" + std::to_string(node) + "  " +
                  std::to_string(game.dashboard()[static_cast<std::size_t>(node)].power_w) + " W";
  const float name_w = c.text({box.x + 12, y}, name, {.size = 15, .face = Face::Bold}), h = 32;
  float x = box.right() - 8 - 32;
  if (view.ui.icon_button("detective.undo", {x + 16, y}, Glyph::Undo, 16, tr("detective.mark.undo"),
                          game.can_undo(false)))
    answer.undo = false;
  const auto mark_button = [&](const char* id, NodeMark mark, const std::string& word, Glyph glyph,
                               std::string_view explain) {
    const float w = words ? c.width(word, 14, Face::Bold) + 44 : 36;
    x -= w + 6;
    const Rect button{x, y - h / 2, w, h};
    const bool on = game.mark_of(node) == mark;
    const Hit hit = view.ui.hit(id, button, {.explain = explain});
    c.rect(button, {.fill = on            ? t.accent
                            : hit.hovered ? t.raised
                                          : t.panel,
                    .stroke = on ? Color{} : t.edge,
                    .radius = 8});
    const Color ink = on ? t.ink : t.t1;
    c.glyph(glyph, {words ? x + 18 : button.center().x, y}, 12, ink, 2);
    if (words) c.text({x + 32, y}, word, {.size = 14, .color = ink, .face = Face::Bold});
    if (hit.clicked) answer.mark = {node, mark};
  };
  mark_button("detective.cleared", NodeMark::Cleared, tr("detective.mark.cleared"), Glyph::Check,
              tr("detective.mark.cleared_explain"));
  mark_button("detective.suspect", NodeMark::Suspect, tr("detective.mark.suspect"), Glyph::Flag,
              tr("detective.mark.suspect_explain"));
  const float left = box.x + 12 + name_w + 14, room = x - 10 - left;
  const float pitch = std::min(56.0f, room / static_cast<float>(per_node));
  for (int i = 0; i < per_node; ++i) {
    const int rank = node * per_node + i;
    const Rect chip{left + pitch * static_cast<float>(i), y - h / 2, pitch - 4, h};
    const bool on = rank == game.rank();
    const Hit hit = view.ui.hit("detective.rank." + std::to_string(i), chip,
                                {.explain = tr("detective.rank_explain", {parts::rank_name(rank)})});
    c.rect(chip, {.fill = on ? t.accent : hit.hovered ? t.raised : t.panel,
                  .stroke = on ? Color{} : t.edge,
                  .radius = 6});
    c.text(chip.center(), parts::rank_name(rank),
           {.size = 13,
            .color = on ? t.ink : t.t1,
            .face = on ? Face::Bold : Face::Regular,
            .align = Align::Center});
    if (hit.clicked) answer.rank = on ? -1 : rank;
  }
}

}  // namespace

DeskLayout layout_desk(Rect stage, int nodes) {
  DeskLayout out;
  const bool wide = stage.w > 1400, small = stage.h < 560;
  const float column = wide ? 460.0f : stage.w >= 1100 ? 380.0f : 320.0f;
  const float left = stage.w - 2 * kMargin - 16 - column;
  out.header = {stage.x + kMargin, stage.y + (small ? 6.0f : 12.0f), stage.w - 2 * kMargin, 60};
  const float top = out.header.bottom() + (small ? 6.0f : 12.0f), bottom = stage.bottom() - (small ? 8 : 16);
  out.column = {stage.right() - kMargin - column, top, column, bottom - top};
  out.columns = left / 16 >= 50 ? 16 : 8;
  const auto rows = static_cast<float>((nodes + out.columns - 1) / out.columns);
  const float pitch = out.columns == 16 ? 60.0f : small ? 25.0f : 38.0f;
  out.grid = {stage.x + kMargin, top, left, rows * pitch - kTileGap};
  out.node = {out.grid.x, out.grid.bottom() + kGap - 2, left, 44};
  const float log = out.node.bottom() + kGap - 4;
  out.log = {out.grid.x, log, left, bottom - log};
  return out;
}

Rect tile_box(const DeskLayout& at, int nodes, int node) {
  const int rows = (nodes + at.columns - 1) / at.columns;
  const float w = (at.grid.w + kTileGap) / static_cast<float>(at.columns),
              h = (at.grid.h + kTileGap) / static_cast<float>(rows);
  return {at.grid.x + w * static_cast<float>(node % at.columns),
          at.grid.y + h * static_cast<float>(node / at.columns), w - kTileGap, h - kTileGap};
}

void draw_desk_header(View& view, const DetectiveGame& game, Rect box, DetectiveAnswer& answer) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const float y = box.center().y;
  float x = box.right();
  const std::int64_t left = game.watchdog_left_ns();
  const std::string due = game.watchdog_struck() ? tr("detective.watchdog_struck")
                          : left <= 0            ? tr("detective.watchdog_now")
                                                 : "~ " + minutes_text(left);
  x = figure(c, x, y, due, tr("detective.until_watchdog"), left < 120'000'000'000 ? t.stall_text : t.t1);
  x = figure(c, x, y, hours_text(game.gpu_hours_lost()), tr("detective.gpu_hours"), t.t1);
  x = figure(c, x, y, minutes_text(game.stopped_for_ns()), tr("detective.stopped"), t.t1);
  view.ui.explain({x, box.y, box.right() - x, box.h}, tr("detective.clock_explain", {cost_text(game.watchdog_ns())}));
  const std::string number = tr("detective.case", {std::to_string(game.seed())});
  const float copy_w = 36, room = x - box.x - 10;
  const std::string& brief = tr("detective.brief");
  const float size = size_that_fits(c.fonts(), brief, room, {20, 18, 16, 15}, Face::Bold);
  c.text({box.x, box.y + 18}, fit(c.fonts(), brief, room, size, Face::Bold), {.size = size, .face = Face::Bold});
  const float number_w = c.text({box.x, box.y + 46}, number, {.size = 14, .color = t.t3});
  if (view.ui.icon_button("detective.copy", {box.x + number_w + 18, box.y + 46}, Glyph::Copy, 13,
                          tr("detective.copy_explain")))
    answer.copy = true;
  const float hint_x = box.x + number_w + copy_w + 8;
  c.glyph(Glyph::Right, {hint_x, box.y + 46}, 11, t.t1, 2);
  const std::string hint = hint_text(game);
  c.text({hint_x + 12, box.y + 46}, fit(c.fonts(), hint, room - (hint_x + 12 - box.x), 15),
         {.size = 15, .color = t.t1});
  view.ui.explain({hint_x, box.y + 34, room - (hint_x - box.x), 24}, hint);
}

void draw_desk(View& view, const DetectiveGame& game, DetectiveMemory& memory, DetectiveAnswer& answer) {
  const DeskLayout at = layout_desk(view.box, game.engine().nodes());
  draw_desk_header(view, game, at.header, answer);
  draw_grid(view, game, at, answer);
  draw_node_strip(view, game, at.node, answer);
  draw_desk_log(view, game, memory, at.log, answer);
  if (memory.naming) {
    draw_accusation(view, game, at.column, answer);
    return;
  }
  constexpr float kTools = 138, kButton = 44;
  const Rect col = at.column;
  draw_tools(view, game, {col.x, col.y, col.w, kTools}, answer);
  const float notes = col.y + kTools + 10, button = col.bottom() - kButton;
  draw_notebook(view, game, memory, {col.x, notes, col.w, button - 10 - notes}, answer);
  if (view.ui.button("detective.name", {col.x, button, col.w, kButton}, tr("detective.name.open"),
                     {.primary = game.hint() >= DetectiveHint::Decide,
                      .icon = Glyph::Flag,
                      .explain = tr("detective.name.open_explain")}))
    answer.name = true;
}

}  // namespace ringside::app
