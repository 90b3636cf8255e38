// The inspector of the duel: who is ahead and why, the machine, side by side, NCCL's choice, how far to trust
// it.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/duel_figure.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

constexpr float kPad = 16;

struct Column {
  View& view;
  Canvas& c;
  const Theme& t;
  const DuelView& duel;
  DuelState& state;
  DuelAnswer& answer;
  float x, w, y, bottom;
};

std::string number(double v, int decimals) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", decimals, v);
  return text;
}

std::string now_text(const DuelView& duel) {
  if (duel.problem) return tr("duel.now.problem");
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < duel.sides.size(); ++i)
    if (duel.sides[i].available) order.push_back(i);
  if (order.size() < 2) return tr("duel.now.alone");
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return duel.sides[a].time_us < duel.sides[b].time_us;
  });
  const DuelSide &first = duel.sides[order[0]], &second = duel.sides[order[1]];
  const double ratio = second.time_us / first.time_us;
  const std::string size = sim::format_bytes(duel.setup.bytes);
  std::string out = ratio < 1 + kTie
                        ? tr("duel.now.tie", {size, side_name(duel, order[0]), side_name(duel, order[1])})
                        : tr("duel.now.faster",
                             {size, side_name(duel, order[0]), number(ratio, 1), side_name(duel, order[1])});
  if (duel.setup.source == DuelSource::Model && second.time_us > 0) {
    const double hops = (second.parts.latency_us + second.parts.hops_us) / second.time_us;
    out += " " + tr(hops > .5 ? "duel.now.on_hops" : "duel.now.on_bytes",
                    {side_name(duel, order[1]),
                     std::to_string(static_cast<int>(std::lround((hops > .5 ? hops : 1 - hops) * 100)))});
  }
  return out;
}

void draw_now(Column& k) {
  k.c.text({k.x, k.y + 8}, tr("duel.now.title"), {.size = 14, .color = k.t.t3, .face = Face::Bold});
  k.y = parts::paragraph(k.c, {k.x, k.y + 34}, k.w, now_text(k.duel),
                         {.size = 16, .line_height = 1.45f, .color = k.t.t1, .max_lines = 4}) +
        6;
}

void draw_source(Column& k) {
  const std::array<std::string, 2> labels{tr("duel.source.model"), tr("duel.source.scenario")};
  const bool possible = k.view.ctx.scenario != nullptr;
  const int current = k.duel.setup.source == DuelSource::Model ? 0 : 1;
  if (const auto chosen = k.view.ui.toggle("duel.source", {k.x, k.y + 18}, labels, current);
      chosen && *chosen != current && (possible || *chosen == 0)) {
    DuelSetup setup = k.duel.setup;
    setup.source = *chosen == 0 ? DuelSource::Model : DuelSource::Scenario;
    const auto choices = duel_choices(setup.source);
    setup.sides = *chosen == 0 ? std::vector<std::string>{"Ring", "Tree"}
                               : std::vector<std::string>{"ring", "recursive_doubling"};
    setup.over_nodes = false;
    if (setup.source == DuelSource::Scenario) {
      const sim::Scenario& s = *k.view.ctx.scenario;
      setup.nodes = s.cluster.nodes;
      setup.bytes = std::max<std::int64_t>(1024, s.tensor.shape.count() * sim::size_of(s.tensor.dtype));
    }
    k.answer.setup = setup;
  }
  if (!possible) k.view.ui.explain({k.x, k.y, k.w, 36}, tr("duel.explain.no_scenario"));
  k.y += 50;
}

void draw_machine(Column& k) {
  DuelSetup setup = k.duel.setup;
  bool changed = false;
  if (setup.source == DuelSource::Model) {
    std::vector<MenuItem> items;
    int current = 0;
    const auto& presets = sim::builtin_presets();
    for (std::size_t i = 0; i < presets.size(); ++i) {
      items.push_back({.label = presets[i].name});
      if (presets[i].name == setup.preset) current = static_cast<int>(i);
    }
    if (const auto chosen =
            k.view.ui.select("duel.preset", {k.x, k.y, k.w, 36}, items, current, tr("duel.explain.preset"))) {
      setup.preset = presets[static_cast<std::size_t>(*chosen)].name;
      changed = true;
    }
    k.y += 46;
  }
  const float half = (k.w - 10) / 2;
  k.c.text({k.x, k.y + 6}, tr("duel.nodes"), {.size = 14, .color = k.t.t2});
  k.c.text({k.x + half + 10, k.y + 6}, tr("duel.size"), {.size = 14, .color = k.t.t2});
  double nodes = setup.nodes;
  if (k.view.ui.number_field("duel.nodes", {k.x, k.y + 20, half, 36}, nodes, 1,
                             setup.source == DuelSource::Model ? 4096 : 64, 1, {},
                             tr("duel.explain.nodes"))) {
    setup.nodes = static_cast<int>(nodes);
    changed = true;
  }
  double log_size = std::log2(static_cast<double>(setup.bytes));
  k.c.text({k.x + k.w, k.y + 6}, sim::format_bytes(setup.bytes),
           {.size = 14, .face = Face::Bold, .align = Align::Right});
  if (k.view.ui.slider("duel.size", {k.x + half + 10, k.y + 20, half, 36}, log_size, 10, 33,
                       {.explain = tr("duel.explain.size")})) {
    setup.bytes = static_cast<std::int64_t>(std::exp2(std::round(log_size * 4) / 4));
    changed = true;
  }
  if (changed) k.answer.setup = setup;
  k.y += 70;
}

void draw_table(Column& k) {
  const bool model = k.duel.setup.source == DuelSource::Model;
  struct Row {
    std::string label;
    std::string (*value)(const DuelSide&);
  };
  std::vector<Row> rows;
  if (model) {
    rows.push_back({tr("duel.row.hops"), [](const DuelSide& s) { return std::to_string(s.hops); }});
    rows.push_back({tr("duel.row.protocol"), [](const DuelSide& s) { return s.protocol; }});
  } else {
    rows.push_back({tr("duel.row.transfers"), [](const DuelSide& s) { return std::to_string(s.transfers); }});
  }
  // With three sides there is no room for units beside the numbers: they move into a title of its own line.
  const bool narrow = k.duel.sides.size() > 2;
  rows.push_back({tr(narrow ? "duel.row.algbw_alone" : "duel.row.algbw"), [](const DuelSide& s) { return number(s.algbw_GBps, 1); }});
  rows.push_back({tr(narrow ? "duel.row.busbw_alone" : "duel.row.busbw"), [](const DuelSide& s) { return number(s.busbw_GBps, 1); }});
  const float head = narrow ? 26 : 0, h = head + 44 + 26 * static_cast<float>(rows.size());
  if (k.y + h > k.bottom) return;
  const Rect box{k.x, k.y, k.w, h};
  parts::card(k.c, box);
  const auto n = static_cast<float>(k.duel.sides.size());
  const float column = std::min(74.0f, (box.w - 88) / n);
  for (std::size_t i = 0; i < k.duel.sides.size(); ++i) {
    const float right = box.right() - 14 - column * (n - 1 - static_cast<float>(i));
    parts::rank_tag(k.c, {right - 13, box.y + head + 22}, static_cast<int>(i),
                    {.width = 26, .height = 20, .size = 14, .align = Align::Center, .label = side_letter(i)});
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const float y = box.y + head + 52 + 26 * static_cast<float>(r);
      const std::string value = k.duel.sides[i].available ? rows[r].value(k.duel.sides[i]) : "-";
      const float size = size_that_fits(k.c.fonts(), value, column - 4, {14, 13}, Face::Bold);
      k.c.text({right, y}, fit(k.c.fonts(), value, column - 4, size, Face::Bold),
               {.size = size, .face = Face::Bold, .align = Align::Right});
    }
  }
  const float left = box.w - 28 - column * n;
  k.c.text({box.x + 14, box.y + 22},
           narrow ? fit(k.c.fonts(), tr("duel.side_by_side_units"), box.w - 28, 14, Face::Bold)
                  : fit(k.c.fonts(), tr("duel.side_by_side"), left, 14, Face::Bold),
           {.size = 14, .color = k.t.t2, .face = Face::Bold});
  for (std::size_t r = 0; r < rows.size(); ++r)
    k.c.text({box.x + 14, box.y + head + 52 + 26 * static_cast<float>(r)}, fit(k.c.fonts(), rows[r].label, left, 14),
             {.size = 14, .color = k.t.t2});
  k.y += h + 12;
}

void draw_trust(Column& k) {
  const bool model = k.duel.setup.source == DuelSource::Model;
  std::string text;
  if (!model) {
    text = tr("duel.trust.teaching");
  } else {
    text = tr("duel.trust.nccl", {k.duel.nccl_choice}) + " ";
    text += k.duel.error_percent ? tr("duel.trust.error", {number(*k.duel.error_percent, 0)})
                                 : tr("duel.trust.not_fitted");
  }
  if (k.state.measured && model) {
    std::string more =
        tr("duel.trust.measured", {k.state.measured->name, std::to_string(k.state.measured->rows.size())});
    if (k.state.comparison) {
      const sim::TableComparison& comparison = *k.state.comparison;
      more += " ";
      if (comparison.healthy || comparison.causes.empty())
        more += tr("duel.trust.healthy");
      else
        more += tr("duel.trust.cause", {tr_word("duel.cause", [&] {
                     std::string word(sim::to_word(comparison.causes[0].cause));
                     for (char& ch : word)
                       if (ch == ' ' || ch == '-') ch = '_';
                     for (char& ch : word) ch = static_cast<char>(ch >= 'A' && ch <= 'Z' ? ch + 32 : ch);
                     return word;
                   }())});
    }
    text = more + " " + text;
  }
  const auto lines = wrap(k.c.fonts(), text, k.w - 26, 14, Face::Regular, 7);
  if (k.y + 20 * static_cast<float>(lines.size()) > k.bottom + 6) return;
  parts::truth_badge(k.c, {k.x, k.y + 8}, parts::Truth::Inferred, false);
  float y = k.y + 8;
  for (const std::string& line : lines) {
    k.c.text({k.x + 26, y}, line, {.size = 14, .color = k.t.t2});
    y += 20;
  }
  k.y = y + 6;
}

/// Race, another algorithm, measurements.
void draw_actions(Column& k) {
  const float h = 40;
  const Rect race{k.x, k.view.box.bottom() - 16 - h, k.w, h};
  const bool can_race = k.duel.fastest >= 0;
  if (k.view.ui.button("duel.race", race, tr(k.state.clock_us >= 0 ? "duel.act.stop" : "duel.act.race"),
                       {.primary = true,
                        .icon = k.state.clock_us >= 0 ? Glyph::Stop : Glyph::Play,
                        .enabled = can_race,
                        .explain = tr("duel.explain.race")}))
    k.answer.race = true;
  const float half = (k.w - 10) / 2;
  const Rect add{k.x, race.y - h - 10, half, h}, table{k.x + half + 10, race.y - h - 10, half, h};
  const bool room =
      k.duel.sides.size() < kMostSides && k.duel.sides.size() < duel_choices(k.duel.setup.source).size();
  if (k.view.ui.button(
          "duel.add", add, tr("duel.act.add"),
          {.size = 14, .enabled = room, .explain = tr(room ? "duel.explain.add" : "duel.explain.full")})) {
    DuelSetup setup = k.duel.setup;
    for (const std::string& word : duel_choices(setup.source))
      if (std::find(setup.sides.begin(), setup.sides.end(), word) == setup.sides.end()) {
        setup.sides.push_back(word);
        break;
      }
    k.answer.setup = setup;
  }
  const bool model = k.duel.setup.source == DuelSource::Model;
  if (k.view.ui.button("duel.table", table, tr("duel.act.table"),
                       {.size = 14,
                        .enabled = model,
                        .explain = tr(model ? "duel.explain.table" : "duel.explain.table_model")}))
    k.view.ui.open_popup("duel.table_popup");
  k.bottom = add.y - 10;
}

}  // namespace

void draw_duel_inspector(View& view, const DuelView& duel, DuelState& state, DuelAnswer& answer) {
  const Rect box = view.box;
  Column k{view,   view.canvas,  view.canvas.theme(), duel,         state,
           answer, box.x + kPad, box.w - 2 * kPad,    box.y + kPad, box.bottom()};
  draw_actions(k);
  draw_now(k);
  draw_source(k);
  draw_machine(k);
  if (duel.problem) return;
  draw_table(k);
  draw_trust(k);
}

}  // namespace ringside::app
