// The inspector of the NaN scene.
#include <algorithm>
#include <array>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/nan_figure.hpp"
#include "app/text/layout.hpp"

namespace ringside::app {
namespace {

constexpr float kPad = 16, kRow = 25;

struct Column {
  View& view;
  Canvas& c;
  const Theme& t;
  const PoisonView& poison;
  const RingView& ring;
  float x, w, y, bottom;
};

void draw_now(Column& k) {
  k.c.text({k.x, k.y + 8}, tr("nan.now.title"), {.size = 14, .color = k.t.t3, .face = Face::Bold});
  std::string all;
  for (const Sentence& s : poison_sentences(k.poison, k.ring))
    all += (all.empty() ? "" : " ") + sentence_text(s);
  k.y = parts::paragraph(k.c, {k.x, k.y + 34}, k.w, all,
                         {.size = 16, .line_height = 1.45f, .color = k.t.t1, .max_lines = 4}) +
        4;
}

/// "R2  has the first NaN  0": the ranks in the order in which the followed chunk poisons them. Long ways
/// show their beginning, what is now and next, and their end.
std::vector<const PoisonStop*> rows_that_fit(const std::vector<PoisonStop>& path, std::size_t most) {
  std::vector<const PoisonStop*> out;
  if (path.size() <= most) {
    for (const PoisonStop& stop : path) out.push_back(&stop);
    return out;
  }
  std::size_t next = path.size() - 1;
  for (std::size_t i = 0; i < path.size(); ++i)
    if (!path[i].reached) {
      next = i;
      break;
    }
  out.push_back(&path.front());
  const std::size_t window = most - 4;  // first, two gaps, last
  const std::size_t from =
      std::clamp<std::size_t>(next > window / 2 ? next - window / 2 : 1, 1, path.size() - 1 - window);
  if (from > 1) out.push_back(nullptr);
  for (std::size_t i = from; i < from + window; ++i) out.push_back(&path[i]);
  if (from + window < path.size() - 1) out.push_back(nullptr);
  out.push_back(&path.back());
  return out;
}

std::string stop_text(const PoisonStop& stop) {
  if (stop.step == 0) return tr("nan.path.first");
  if (stop.now) return tr("nan.path.now");
  if (stop.next) return tr("nan.path.next");
  return stop.owner ? tr("nan.path.owner") : std::string();
}

void draw_path(Column& k, float height) {
  const std::vector<PoisonStop>& path = k.poison.path;
  const auto most = static_cast<std::size_t>(std::max(5.0f, (height - 74) / kRow));
  const auto rows = rows_that_fit(path, most);
  const float h = 48 + static_cast<float>(rows.size()) * kRow + (k.poison.everywhere > 0 ? 30.0f : 6.0f);
  const Rect box{k.x, k.y, k.w, h};
  parts::card(k.c, box);
  const std::string right = tr("nan.path.column");
  k.c.text({box.x + 16, box.y + 22},
           fit(k.c.fonts(), tr("nan.path.title", {chunk_name(k.poison.chunk)}),
               box.w - k.c.width(right, 13) - 44, 14, Face::Bold),
           {.size = 14, .color = k.t.t2, .face = Face::Bold});
  k.c.text({box.right() - 16, box.y + 22}, right, {.size = 13, .color = k.t.t3, .align = Align::Right});
  float y = box.y + 50;
  const float x = box.x + 26;
  for (std::size_t i = 0; i < rows.size(); ++i, y += kRow) {
    if (i + 1 < rows.size()) {
      const bool on =
          rows[i] != nullptr && rows[i]->reached && rows[i + 1] != nullptr && rows[i + 1]->reached;
      if (on)
        k.c.line({x, y}, {x, y + kRow}, k.t.nan, 3);
      else
        k.c.dashed_line({x, y + 9}, {x, y + kRow - 9}, k.t.edge, 1.5f, {3, 3});
    }
    if (rows[i] == nullptr) {
      k.c.text({x + 22, y}, "…", {.size = 14, .color = k.t.t3});
      continue;
    }
    const PoisonStop& stop = *rows[i];
    if (stop.reached) {
      k.c.circle({x, y}, 8.5f, k.t.nan);
      k.c.glyph(Glyph::Cross, {x, y}, 7, k.t.on(k.t.nan), 2);
    } else {
      k.c.circle({x, y}, 7, k.t.card, stop.next ? k.t.nan : k.t.edge, 2);
    }
    const float tag =
        parts::rank_tag(k.c, {x + 20, y}, stop.rank,
                        {.width = 36, .height = 20, .size = 14, .neutral = k.ring.world > kRankColors});
    const std::string step = std::to_string(stop.step), text = stop_text(stop);
    k.c.text({box.right() - 16, y}, step,
             {.size = 14,
              .color = stop.reached ? k.t.t1 : k.t.t2,
              .face = stop.reached ? Face::Bold : Face::Regular,
              .align = Align::Right});
    if (!text.empty())
      k.c.text({x + 30 + tag, y},
               fit(k.c.fonts(), text, box.right() - 34 - k.c.width(step, 14) - (x + 30 + tag), 14),
               {.size = 14,
                .color = stop.now || stop.step == 0 ? k.t.t1 : k.t.t2,
                .face = stop.now ? Face::Bold : Face::Regular});
  }
  if (k.poison.everywhere > 0) {
    const std::string step = std::to_string(k.poison.everywhere);
    k.c.text({box.x + 16, y},
             fit(k.c.fonts(),
                 tr("nan.path.everywhere", {std::to_string(k.ring.world), chunk_name(k.poison.chunk)}),
                 box.w - 60, 14),
             {.size = 14});
    k.c.text({box.right() - 16, y}, step, {.size = 14, .color = k.t.t2, .align = Align::Right});
  }
  k.y += h + 18;
}

void draw_stages(Column& k) {
  const PoisonStages& s = k.poison.stages;
  const std::int64_t t = k.view.ctx.frame.t;
  struct Row {
    std::string when, what;
    std::int64_t at;
  };
  const std::array<Row, 4> rows{{
      {tr("nan.stage.now"), tr("nan.stage.element"), s.element},
      {tr("nan.stage.after_update"), tr("nan.stage.weight"), s.update},
      {tr("nan.stage.next_step"), tr("nan.stage.losses"), s.losses},
      {tr("nan.stage.then"), tr("nan.stage.weights"), s.weights},
  }};
  if (k.y + 4 * 22 > k.bottom + 8) return;
  for (const Row& row : rows) {
    const bool reached = row.at >= 0 && row.at <= t;
    if (reached)
      k.c.circle({k.x + 6, k.y}, 6, k.t.nan);
    else
      k.c.circle({k.x + 6, k.y}, 5, {}, row.at >= 0 ? k.t.nan : k.t.edge, 1.5f);
    const float left = k.c.width(row.when, 14) + 26;
    k.c.text({k.x + 20, k.y}, row.when, {.size = 14, .color = reached ? k.t.t1 : k.t.t2});
    k.c.text({k.x + k.w, k.y},
             fit(k.c.fonts(), row.what, k.w - left - 8, 14, reached ? Face::Bold : Face::Regular),
             {.size = 14,
              .color = reached ? k.t.t1 : k.t.t2,
              .face = reached ? Face::Bold : Face::Regular,
              .align = Align::Right});
    k.y += 24;
  }
  if (s.losses_nan > 0 && k.y + 20 < k.bottom) {
    k.c.text({k.x + 20, k.y},
             fit(k.c.fonts(),
                 tr("nan.stage.losses_nan", {std::to_string(s.losses_nan), std::to_string(k.ring.world)}),
                 k.w - 20, 14),
             {.size = 14, .color = k.t.nan_text});
    k.y += 24;
  }
}

/// The first number of the followed chunk on the selected rank (else R1) becomes NaN in step 1.
void draw_poison_button(Column& k, Rect box, std::string_view why) {
  const int world = k.ring.world;
  const int selected = k.view.ctx.selection.rank;
  const int rank = selected >= 0 && selected < world ? selected : std::min(1, world - 1);
  const auto& chunks = k.ring.info.chunks.chunks;
  const std::int64_t element = k.poison.chunk < chunks.size() ? chunks[k.poison.chunk].offset : 0;
  if (!k.view.ui.button("nan.poison", box, tr("nan.act.poison", {parts::rank_name(rank)}),
                        {.primary = true,
                         .icon = Glyph::Poison,
                         .enabled = why.empty(),
                         .explain = why.empty() ? std::string_view(tr("nan.act.poison_explain")) : why}))
    return;
  k.view.emit(action::EditScenario{"nan",
                                   [rank, element](sim::Scenario& s) {
                                     sim::Fault fault;
                                     fault.kind = sim::FaultKind::Nan;
                                     fault.rank = rank;
                                     fault.element = element;
                                     s.faults.push_back(fault);
                                   },
                                   {}});
}

void draw_policy(Column& k, Rect box, std::string_view why) {
  const sim::Scenario* scenario = k.view.ctx.scenario;
  k.c.text({box.x, box.y - 14}, fit(k.c.fonts(), tr("nan.act.policy"), box.w, 14),
           {.size = 14, .color = k.t.t3, .face = Face::Bold});
  static constexpr std::array kAll = {sim::OnNan::Continue, sim::OnNan::Raise, sim::OnNan::SkipHere,
                                      sim::OnNan::SkipAll};
  std::vector<MenuItem> items;
  int current = 0;
  for (std::size_t i = 0; i < kAll.size(); ++i) {
    items.push_back({.label = tr_word("nan.policy", sim::to_word(kAll[i])), .enabled = why.empty()});
    if (scenario != nullptr && scenario->training.on_nan == kAll[i]) current = static_cast<int>(i);
  }
  if (!why.empty()) {
    k.view.ui.button("nan.policy", box, items[static_cast<std::size_t>(current)].label,
                     {.enabled = false, .explain = why});
    return;
  }
  if (const auto chosen = k.view.ui.select("nan.policy", box, items, current, tr("nan.act.policy_explain"))) {
    const sim::OnNan policy = kAll[static_cast<std::size_t>(*chosen)];
    k.view.emit(
        action::EditScenario{"on_nan", [policy](sim::Scenario& s) { s.training.on_nan = policy; }, {}});
  }
}

}  // namespace

void draw_poison_inspector(View& view, const PoisonView& poison, const RingView& ring) {
  const Rect box = view.box;
  Column k{view,         view.canvas,      view.canvas.theme(), poison,           ring,
           box.x + kPad, box.w - 2 * kPad, box.y + kPad,        box.bottom() - 16};
  const std::string why = !view.ctx.can.can_edit()       ? tr(view.ctx.can.edit_why_not)
                          : view.ctx.scenario == nullptr ? tr("allreduce.edit.no_scenario")
                                                         : std::string();
  draw_now(k);
  const Rect action{k.x, k.bottom - 40, k.w, 40};
  if (ring.world > 0 && !poison.in_trace) {
    k.bottom = action.y - 12;
    draw_poison_button(k, action, why);
    return;
  }
  if (poison.in_trace) {
    k.bottom = action.y - 34;
    draw_policy(k, action, why);
  }
  if (ring.kind == ViewKind::Chunks && !poison.path.empty()) draw_path(k, k.bottom - k.y - 4 * 24 - 16);
  if (poison.in_trace && !poison.hides) draw_stages(k);
}

}  // namespace ringside::app
