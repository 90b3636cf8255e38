// The inspector of the training-step scene: now, one number on all ranks, what the slow rank costs, what
// next.
#include <algorithm>
#include <cmath>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/step_draw.hpp"
#include "app/text/layout.hpp"

namespace ringside::app::step {
namespace {

constexpr float kMargin = 16, kPad = 16;

struct Column {
  float x = 0, w = 0, y = 0, bottom = 0;
};

void draw_now(Paint& p, Column& k) {
  p.c.text({k.x, k.y + 8}, tr("step.now.title"), {.size = 14, .color = p.t.t3, .face = Face::Bold});
  if (!p.step.empty) {
    const std::string of = tr("step.of", {std::to_string(p.step.step), std::to_string(p.step.last_step)});
    p.c.text({k.x + k.w, k.y + 8}, of, {.size = 13, .color = p.t.t2, .align = Align::Right});
  }
  k.y = parts::paragraph(p.c, {k.x, k.y + 36}, k.w, now_text(p.step, p.view.ctx.trace),
                         {.size = 16, .line_height = 1.45f, .max_lines = 3});
  k.y += 4;
}

// --- one number on all ranks

/// Moves the choice to the next or previous number.
void step_element(Paint& p, std::int64_t by) {
  const std::int64_t count = p.numbers.scenario()->tensor.shape.count();
  p.state.element = (chosen_element(p) + by + count) % count;
}

void draw_value_row(Paint& p, Rect row, int rank, double value, double most) {
  const float y = row.y + row.h / 2;
  parts::rank_tag(p.c, {row.x, y}, rank, {.width = 34, .height = 20, .neutral = true});
  const float zero = row.x + 46 + (row.w - 46 - 84) * .5f, half = (row.w - 46 - 84) * .5f;
  if (std::isfinite(value) && most > 0) {
    const float length = half * static_cast<float>(std::abs(value) / most);
    p.c.rect({value < 0 ? zero - length : zero, y - 6, std::max(1.5f, length), 12},
             {.fill = p.t.update, .radius = 2});
  }
  p.c.line({zero, row.y + 1}, {zero, row.bottom() - 1}, p.t.edge, 1);
  p.c.text({row.right(), y}, value_text(value),
           {.size = 16, .color = std::isfinite(value) ? p.t.t1 : p.t.nan_text, .align = Align::Right});
}

/// "0.2451 - 0.08 × (-0.0127) = 0.2461": the update of this weight on rank 0.
std::string update_text(Paint& p, std::int64_t element) {
  const sim::TrainingHistory& h = *p.numbers.history();
  const auto i = static_cast<std::size_t>(element);
  const double before = static_cast<double>(h.weights(0, p.step.step - 1)[i]);
  const double after = static_cast<double>(h.weights(0, p.step.step)[i]);
  const double g = sim::to_double(p.numbers.gradients(p.step.step).update->at(element));
  std::string rate = value_text(h.scenario().training.network.learning_rate);
  while (rate.size() > 1 && rate.find('.') != std::string::npos && rate.back() == '0') rate.pop_back();
  const std::string shown = g < 0 ? "(" + value_text(g) + ")" : value_text(g);
  return value_text(before) + " - " + rate + " × " + shown + " = " + value_text(after);
}

void draw_number_card(Paint& p, Column& k, bool small) {
  if (!p.numbers.has_network() || !p.numbers.knows(p.step.step)) return;
  const sim::Scenario& s = *p.numbers.scenario();
  const int world = s.world_size(), rows = std::min(world, small ? 2 : 4);
  const std::int64_t element = chosen_element(p);
  const auto& g = p.numbers.gradients(p.step.step);
  const bool together = s.training.network.all_reduce;
  const float row_h = 25,
              h = 64 + row_h * static_cast<float>(rows) + (world > rows ? 20 : 0) + (together ? 62 : 34);
  const Rect box{k.x, k.y, k.w, h};
  parts::card(p.c, box);
  const float x = box.x + kPad, w = box.w - 2 * kPad;
  p.c.text({x, box.y + 21},
           fit(p.c.fonts(), tr("step.card.number", {std::to_string(world)}), w - 76, 14, Face::Bold),
           {.size = 14, .color = p.t.t3, .face = Face::Bold});
  if (p.view.ui.icon_button("step.element.back", {box.right() - 58, box.y + 22}, Glyph::Left, 13,
                            tr("step.explain.element")))
    step_element(p, -1);
  if (p.view.ui.icon_button("step.element.on", {box.right() - 24, box.y + 22}, Glyph::Right, 13,
                            tr("step.explain.element")))
    step_element(p, 1);
  p.c.text({x, box.y + 47}, fit(p.c.fonts(), element_name(s.training.network, element), w, 15, Face::Mono),
           {.size = 15, .face = Face::Mono});
  double most = 0;
  for (int r = 0; r < rows; ++r)
    most = std::max(most, std::abs(sim::to_double(g.own[static_cast<std::size_t>(r)]->at(element))));
  float y = box.y + 62;
  for (int r = 0; r < rows; ++r) {
    draw_value_row(p, {x, y, w, row_h}, r, sim::to_double(g.own[static_cast<std::size_t>(r)]->at(element)),
                   most);
    y += row_h;
  }
  if (world > rows) {
    p.c.text({x, y + 9}, tr("step.more_ranks", {std::to_string(world - rows)}),
             {.size = 13, .color = p.t.t3});
    y += 20;
  }
  if (together) {
    p.c.line({x, y + 4}, {x + w, y + 4}, p.t.line);
    const std::string& label = tr("step.card.mean");
    p.c.text({x, y + 20}, fit(p.c.fonts(), label, w - 90, 14), {.size = 14, .color = p.t.t2});
    p.c.text({x + w, y + 20}, value_text(sim::to_double(g.update->at(element))),
             {.size = 18, .face = Face::Bold, .align = Align::Right});
    y += 32;
  }
  const std::string text = update_text(p, element);
  const float size = size_that_fits(p.c.fonts(), text, w, {14, 13});
  p.c.text({x, y + 12}, fit(p.c.fonts(), text, w, size), {.size = size, .color = p.t.t2});
  p.view.ui.explain({x, y + 2, w, 20}, tr("step.explain.update"));
  k.y += h + 14;
}

// --- what it costs

void cost_bar(Paint& p, float x, float y, float w, const std::string& label, std::int64_t ns,
              std::int64_t most, Color color, float label_w) {
  p.c.text({x, y}, fit(p.c.fonts(), label, label_w - 6, 14), {.size = 14, .color = p.t.t2});
  const std::string text = time_text(ns);
  const float value_w = 74, room = w - label_w - value_w;
  if (room > 10)
    p.c.rect(
        {x + label_w, y - 5,
         std::max(2.0f, room * static_cast<float>(static_cast<double>(ns) / static_cast<double>(most))), 10},
        {.fill = color, .radius = 3});
  p.c.text({x + w, y}, text, {.size = 14, .align = Align::Right});
}

void draw_cost(Paint& p, Column& k) {
  const auto equal = p.numbers.equal_step_ns();
  if (!equal || p.step.empty || p.step.open || *equal <= 0) return;
  const std::int64_t now = p.step.together ? p.step.to - p.step.from : p.step.longest_ns, more = now - *equal;
  if (more * 100 < *equal) return;
  const float h = 122;
  if (k.y + h > k.bottom) return;
  const Rect box{k.x, k.y, k.w, h};
  parts::card(p.c, box);
  const float x = box.x + kPad, w = box.w - 2 * kPad;
  const std::string title =
      p.step.slow ? tr("step.card.cost", {parts::rank_name(p.step.slow->rank)}) : tr("step.card.cost_uneven");
  p.c.text({x, box.y + 21}, fit(p.c.fonts(), title, w, 14, Face::Bold),
           {.size = 14, .color = p.t.t3, .face = Face::Bold});
  const std::string amount = "+" + time_text(more);
  const bool waits = !p.step.buckets.empty();
  p.c.text({x, box.y + 52}, amount, {.size = 28, .color = p.t.stall_text});
  const float used = p.c.width(amount, 28) + 14;
  p.c.text({x + used, box.y + 54},
           fit(p.c.fonts(), tr(waits ? "step.card.every_rank" : "step.card.this_rank"), w - used, 14),
           {.size = 14});
  const std::string &a = tr("step.card.this_step"), &b = tr("step.card.all_equal");
  const float label_w = std::min(w * .42f, std::max(p.c.width(a, 14), p.c.width(b, 14)) + 12);
  cost_bar(p, x, box.y + 82, w, a, now, now, p.t.stall, label_w);
  cost_bar(p, x, box.y + 103, w, b, *equal, now, p.t.edge, label_w);
  p.view.ui.explain(box, tr("step.explain.cost"));
  k.y += h + 14;
}

// --- what next

void draw_action(Paint& p, Rect box) {
  const bool slow = p.step.slow && p.view.ctx.scenario != nullptr;
  const std::string why = why_not_edit(p);
  const int rank = p.step.slow ? p.step.slow->rank : -1;
  const auto faults = [&] {
    return std::any_of(p.view.ctx.scenario->faults.begin(), p.view.ctx.scenario->faults.end(),
                       [&](const sim::Fault& f) { return f.kind == sim::FaultKind::Slow && f.rank == rank; });
  };
  if (slow && faults()) {
    if (p.view.ui.button(
            "step.same_speed", box, tr("step.action.same_speed", {parts::rank_name(rank)}),
            {.enabled = why.empty(), .explain = why.empty() ? tr("step.explain.same_speed") : why}))
      edit(p, "R" + std::to_string(rank) + " not slow", [rank](sim::Scenario& s) {
        std::erase_if(s.faults, [rank](const sim::Fault& f) {
          return f.kind == sim::FaultKind::Slow && f.rank == rank;
        });
      });
    return;
  }
  if (p.view.ctx.scenario == nullptr || p.step.empty || p.step.world < 2 || p.step.grouped) return;
  const int chosen = p.view.ctx.selection.rank >= 0 && p.view.ctx.selection.rank < p.step.world
                         ? p.view.ctx.selection.rank
                         : p.step.world / 2;
  if (p.view.ui.button("step.slow_down", box, tr("step.action.slow_down", {parts::rank_name(chosen)}),
                       {.enabled = why.empty(), .explain = why.empty() ? tr("step.explain.slow_down") : why}))
    edit(p, "R" + std::to_string(chosen) + " slow", [chosen](sim::Scenario& s) {
      sim::Fault fault;
      fault.kind = sim::FaultKind::Slow;
      fault.rank = chosen;
      fault.step = 1;
      fault.factor_ppm = 800'000;
      s.faults.push_back(fault);
    });
}

}  // namespace

void draw_inspector(Paint& p) {
  const Rect box = p.view.box;
  Column k{box.x + kMargin, box.w - 2 * kMargin, box.y + 16, box.bottom() - 66};
  draw_now(p, k);
  const bool small = k.bottom - k.y < 330;
  draw_number_card(p, k, small);
  draw_cost(p, k);
  draw_action(p, {box.x + kMargin, box.bottom() - 56, box.w - 2 * kMargin, 42});
}

}  // namespace ringside::app::step
