#include "app/scenes/allreduce_inspector.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/allreduce_column.hpp"
#include "app/text/layout.hpp"

namespace ringside::app {
namespace inspector {

void heading(Column& k, std::string_view text, std::string_view right) {
  k.c.text({k.x, k.y + 8}, text, {.size = 14, .color = k.t.t3, .face = Face::Bold});
  if (!right.empty() && k.c.width(text, 14, Face::Bold) + k.c.width(right, 13) + 16 < k.w)
    k.c.text({k.x + k.w, k.y + 8}, right, {.size = 13, .color = k.t.t2, .align = Align::Right});
  k.y += 34;
}

}  // namespace inspector

namespace {

using namespace inspector;

void draw_now(Column& k) {
  heading(k, tr("allreduce.now.title"));
  std::string all;
  for (const Sentence& s : k.ring.now) all += (all.empty() ? "" : " ") + sentence_text(s);
  const bool first = k.ring.one_number;
  k.y = parts::paragraph(k.c, {k.x, k.y}, k.w, all,
                         {.size = first ? 17.0f : 16.0f,
                          .line_height = 1.45f,
                          .color = k.t.t1,
                          .face = first ? Face::Bold : Face::Regular,
                          .max_lines = 4});
  k.y += 2;
}

// --- the goal ---

const std::string& goal_word(sim::ReduceOp op) {
  return tr_word("allreduce.goal_op", sim::to_word(op));
}

void goal_one_number(Column& k, Rect box) {
  const Theme& t = k.t;
  const std::string sum = number_text(k.ring.goal_sum.values[0]),
                    result = number_text(k.ring.goal_result.values[0]);
  if (!k.ring.divides) {
    const CellContent content =
        fit_numbers(k.ring.goal_result, {box.x + 14, box.y + 38, box.w - 28, 48}, 30, 13, k.c.fonts());
    draw_content(k.c, content, k.ring.goal_result, box, 1, t.t1, Face::Bold);
    return;
  }
  const std::string divide = "  ÷ " + std::to_string(k.ring.world) + "  =  ";
  float size = 30;
  while (size > 13 && k.c.width(sum + result, size, Face::Bold) + k.c.width(divide, size) > box.w - 32)
    size -= 1;
  k.c.runs({box.x + 16, box.y + 62},
           {{sum, t.t1, Face::Bold}, {divide, t.t2, Face::Regular}, {result, t.t1, Face::Bold}}, size);
}

void goal_row(Column& k, const Numbers& numbers, float x, float w, float y, float h, bool framed,
              std::size_t columns) {
  const auto n = static_cast<float>(columns);
  const float gap = 6, each = (w - gap * (n - 1)) / n;
  for (std::size_t i = 0; i < numbers.values.size(); ++i) {
    const Rect cell{x + static_cast<float>(i) * (each + gap), y, each, h};
    if (framed) k.c.rect(cell, {.fill = k.t.strong(), .stroke = k.t.t1, .radius = 6, .width = 1.5f});
    const Numbers one = numbers_of(std::vector<sim::Scalar>{numbers.values[i]});
    draw_content(k.c, fit_numbers(one, cell.inset(3, 2), 20, 13, k.c.fonts()), one, cell, 1,
                 one.nan_count + one.inf_count > 0 ? k.t.nan_text : k.t.t1, Face::Bold);
  }
}

Numbers part_of(const Numbers& all, std::size_t first, std::size_t count) {
  std::vector<sim::Scalar> out;
  for (std::size_t i = first; i < std::min(first + count, all.values.size()); ++i)
    out.push_back(all.values[i]);
  return numbers_of(std::move(out));
}

void draw_goal(Column& k) {
  const RingView& ring = k.ring;
  const Numbers& sum = ring.goal_sum;
  // Four to a row, or two where digits would be broken over lines: the last ones may be what matters.
  bool lengthy = false;
  for (const sim::Scalar value : sum.values)
    lengthy = lengthy || k.c.width(number_text(value), 16, Face::Bold) > (k.w - 46) / 4 - 8;
  const bool many = sum.count > 4 || (lengthy && sum.count > 2);
  const bool divided = ring.divides && !many;
  const float h = !sum.complete() ? 76.0f : ring.one_number ? 96.0f : divided || many ? 126.0f : 92.0f;
  const Rect box{k.x, k.y, k.w, h};
  parts::card(k.c, box);
  k.c.glyph(Glyph::Flag, {box.x + 20, box.y + 21}, 13, k.t.t2);
  const std::string title = tr("allreduce.goal.title", {goal_word(ring.info.op)});
  k.c.text({box.x + 34, box.y + 21}, fit(k.c.fonts(), title, box.w - 46, 14, Face::Bold),
           {.size = 14, .color = k.t.t2, .face = Face::Bold});
  if (!sum.complete()) {
    k.c.text({box.x + 16, box.y + 52}, fit(k.c.fonts(), tr("allreduce.goal.unknown"), box.w - 32, 14),
             {.size = 14, .color = k.t.t3});
  } else if (ring.one_number) {
    goal_one_number(k, box);
  } else {
    const std::string left = tr("allreduce.goal.sum_row");
    const float label = divided ? 46.0f : 0, x = box.x + 14 + label, w = box.w - 28 - label;
    if (many) {
      const Numbers& shown = ring.divides ? ring.goal_result : sum;
      const std::size_t each = lengthy ? 2 : 4;
      goal_row(k, part_of(shown, 0, each), x, w, box.y + 42, 34, true, each);
      goal_row(k, part_of(shown, each, each), x, w, box.y + 82, 34, true, each);
      const auto left_out = ring.info.count - static_cast<std::int64_t>(2 * each);
      if (left_out > 0) {
        const std::string more = tr("allreduce.goal.more", {std::to_string(left_out)});
        if (k.c.width(title, 14, Face::Bold) + k.c.width(more, 13) + 60 < box.w)
          k.c.text({box.right() - 14, box.y + 21}, more,
                   {.size = 13, .color = k.t.t3, .align = Align::Right});
      }
    } else {
      if (divided) k.c.text({box.x + 14, box.y + 61}, left, {.size = 14, .color = k.t.t2});
      goal_row(k, sum, x, w, box.y + 42, 38, true, sum.values.size());
      if (divided) {
        k.c.text({box.x + 14, box.y + 103}, "÷ " + std::to_string(ring.world), {.size = 14, .color = k.t.t2});
        goal_row(k, ring.goal_result, x, w, box.y + 88, 30, false, sum.values.size());
      }
    }
  }
  k.view.ui.explain(box, tr("allreduce.explain.goal", {goal_word(ring.info.op)}));
  k.y += h + 14;
}

bool follows_number(const Column& k) {
  const std::int64_t element = k.view.ctx.selection.element;
  return k.ring.kind == ViewKind::Chunks && element >= 0 && element < k.ring.info.count;
}

// --- the numbers of one chunk ---

bool shows_numbers(const Column& k) {
  const Selection& s = k.view.ctx.selection;
  if (s.rank < 0 || s.rank >= k.ring.world || s.chunk < 0 || k.ring.cells.empty()) return false;
  const std::size_t shown = k.ring.shown(static_cast<std::uint32_t>(s.chunk));
  return shown < k.ring.chunks.size() && k.ring.cell(s.rank, shown).numbers.count > 1;
}

void draw_numbers(Column& k, const ElementReader& element) {
  const Selection& s = k.view.ctx.selection;
  const std::size_t shown = k.ring.shown(static_cast<std::uint32_t>(s.chunk));
  const CellView& cell = k.ring.cell(s.rank, shown);
  const sim::Chunk& chunk = k.ring.info.chunks.chunks[k.ring.chunks[shown]];
  const std::string last = std::to_string(chunk.offset + chunk.count - 1);
  const Vec2 corner{k.x + k.w - 8, k.y + 8};
  heading(k, tr("allreduce.numbers.title", {parts::rank_name(s.rank), chunk_name(k.ring.chunks[shown])}) +
                 ": " + tr("allreduce.numbers.range", {std::to_string(chunk.offset), last}));
  if (k.view.ui.icon_button("allreduce.numbers.close", corner, Glyph::Cross, 12,
                            tr("allreduce.numbers.close"))) {
    Selection none = s;
    none.chunk = -1;
    k.view.emit(action::Select{none});
  }
  const Rect box{k.x, k.y - kRow / 2, k.w, k.bottom - k.y};
  const int fits = std::max(1, static_cast<int>((k.bottom - k.y) / kRow));
  const auto most = static_cast<float>(std::max<std::int64_t>(0, chunk.count - fits));
  const float per_notch = chunk.count > 2000 ? static_cast<float>(chunk.count) / 100 : 3;
  k.state.scroll = std::clamp(k.state.scroll - k.view.ui.wheel(box) * per_notch, 0.0f, most);
  const auto first = static_cast<std::int64_t>(k.state.scroll);
  const double scale = heat_scale(k.ring);
  for (std::int64_t i = first; i < std::min(chunk.count, first + fits); ++i) {
    std::optional<sim::Scalar> value;
    if (cell.numbers.complete())
      value = cell.numbers.values[static_cast<std::size_t>(i)];
    else if (element)
      value = element(s.rank, chunk.offset + i, cell.after_transfer);
    k.c.text({k.x, k.y}, "[" + std::to_string(chunk.offset + i) + "]", {.size = 14, .color = k.t.t3});
    const std::string text = value ? number_text(*value) : tr("allreduce.not_known");
    if (value)
      k.c.rect({k.x + k.w * .42f, k.y - 7, 14, 14},
               {.fill = heat_color(k.t, sim::to_double(*value), scale), .radius = 2});
    k.c.text({k.x + k.w - 4, k.y}, fit(k.c.fonts(), text, k.w * .5f, 16, Face::Bold),
             {.size = 16, .color = value ? k.t.t1 : k.t.t3, .face = Face::Bold, .align = Align::Right});
    k.y += kRow;
  }
}

// --- below ---

std::string transit_note(const Column& k) {
  if (k.state.tensor) return tr("allreduce.note.tensor");
  for (const SumView& sum : k.ring.sums)
    if (sum.result.values.size() == 1 && sum.own.values.size() == 1)
      return tr("allreduce.note.sum",
                {parts::rank_name(sum.dst), number_text(sum.own.values[0]), chunk_name(sum.chunk)});
  return tr("allreduce.note.transit");
}

void draw_note(Column& k) {
  const std::vector<std::string> lines = wrap(k.c.fonts(), transit_note(k), k.w, 14, Face::Regular, 3);
  const float h = static_cast<float>(lines.size()) * 19 + 20;
  if (k.y + h > k.bottom) return;
  k.y += 4;
  k.c.line({k.x, k.y}, {k.x + k.w, k.y}, k.t.line);
  float y = k.y + 18;
  for (const std::string& line : lines) {
    k.c.text({k.x, y}, line, {.size = 14, .color = k.t.t2});
    y += 19;
  }
  k.y += h;
}

}  // namespace

void draw_inspector(View& view, const RingView& ring, const TransferTable& table,
                    const ElementReader& element, InspectorState& state) {
  Canvas& c = view.canvas;
  const Rect box = view.box;
  constexpr float kFold = 52;
  Column k{view,         c,
           c.theme(),    ring,
           table,        state,
           box.x + kPad, box.w - 2 * kPad,
           box.y + kPad, box.bottom() - kFold - 6};
  state.places.clear();
  draw_now(k);
  state.places["now"] = {box.x + kPad, box.y + kPad - 4, k.w, k.y - box.y - kPad - 8};
  const Rect fold{box.x + kPad, box.bottom() - kFold, box.w - 2 * kPad, 40};
  const bool editable = view.ctx.can.can_edit() && view.ctx.scenario != nullptr;
  const std::string why = editable                  ? tr("allreduce.edit.explain")
                          : view.ctx.can.can_edit() ? tr("allreduce.edit.no_scenario")
                                                    : tr(view.ctx.can.edit_why_not);
  if (view.ui.button(
          "allreduce.edit", fold, tr(state.editing ? "allreduce.edit.close" : "allreduce.edit.open"),
          {.icon = state.editing ? Glyph::Down : Glyph::Gear, .enabled = editable, .explain = why}))
    state.editing = !state.editing;
  if (state.editing && editable) {
    draw_edit_panel(view, ring, {k.x, k.y, k.w, k.bottom - k.y});
    state.places["edit"] = {k.x - 6, k.y - 4, k.w + 12, fold.bottom() - k.y + 4};
    return;
  }
  state.places["edit"] = fold;
  const bool shown = ring.kind == ViewKind::Chunks || ring.kind == ViewKind::Single;
  const float goal_top = k.y;
  if (shown) draw_goal(k);
  if (shown) state.places["goal"] = {k.x, goal_top, k.w, k.y - goal_top - 14};
  if (follows_number(k)) {
    draw_followed(k);
    return;
  }
  if (shows_numbers(k)) {
    draw_numbers(k, element);
    return;
  }
  if (ring.kind != ViewKind::Chunks) return;
  const float note = 62;
  if (k.bottom - k.y > 200) k.bottom -= note;
  state.places["log"] = {k.x - 4, k.y - 2, k.w + 8, k.bottom - k.y};
  if (ring.one_number && ring.ring && ring.world <= 8) {
    draw_way(k);
  } else {
    draw_log(k);
  }
  k.bottom += note;
  draw_note(k);
}

}  // namespace ringside::app
