// The right column of the desk: tools with their price, the notebook of what they said, the accusation.
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

void draw_tool(View& view, const DetectiveGame& game, sim::Tool tool, Rect box, DetectiveAnswer& answer) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const std::string word(sim::to_word(tool));
  const std::string label = tool == sim::Tool::Stacks
                                ? tr("detective.stacks_of", {"n" + std::to_string(game.node())})
                                : tr_word("detective.tool", word);
  const std::string_view why = game.why_not(tool);
  const Hit hit = view.ui.hit(
      "detective.tool." + word, box,
      {.focusable = why.empty(), .explain = why.empty() ? tr_word("detective.tells", word) : tr(why)});
  c.rect(box, {.fill = why.empty() && hit.hovered ? t.raised : t.card, .stroke = t.edge, .radius = 8});
  const float size = size_that_fits(c.fonts(), label, box.w - 16, {14, 13}, Face::Bold);
  c.text({box.x + 9, box.y + 16}, fit(c.fonts(), label, box.w - 16, size, Face::Bold),
         {.size = size, .color = why.empty() ? t.t1 : t.t3, .face = Face::Bold});
  c.text({box.x + 9, box.y + 35}, cost_text(sim::cost_ns(tool)), {.size = 13, .color = t.t2});
  if (game.used(tool)) c.glyph(Glyph::Check, {box.right() - 14, box.y + 35}, 11, t.t2, 2);
  if (hit.clicked && why.empty()) answer.tool = tool;
}

/// Which look comes first, by its price.
std::array<sim::Tool, sim::kToolCount> tools_by_cost() {
  std::array<sim::Tool, sim::kToolCount> order{};
  for (int i = 0; i < sim::kToolCount; ++i) order[static_cast<std::size_t>(i)] = static_cast<sim::Tool>(i);
  std::stable_sort(order.begin(), order.end(),
                   [](sim::Tool a, sim::Tool b) { return sim::cost_ns(a) < sim::cost_ns(b); });
  return order;
}

/// While the notebook is empty: what can be written into it.
void draw_what_looks_tell(Canvas& c, Rect box) {
  const Theme& t = c.theme();
  float y = parts::paragraph(c, {box.x, box.y + 10}, box.w, tr("detective.note.empty"),
                             {.size = 14, .color = t.t2, .max_lines = std::max(1, static_cast<int>(box.h / 21))}) +
            8;
  for (const sim::Tool tool : tools_by_cost()) {
    const std::string word(sim::to_word(tool));
    const auto lines = wrap(c.fonts(), tr_word("detective.tells", word), box.w - 12, 13, Face::Regular, 2);
    const float h = 20 + 17 * static_cast<float>(lines.size()) + 6;
    if (y + h > box.bottom()) return;
    c.text({box.x, y + 8}, tr_word("detective.tool", word), {.size = 14, .face = Face::Bold});
    for (std::size_t i = 0; i < lines.size(); ++i)
      c.text({box.x + 12, y + 26 + 17 * static_cast<float>(i)}, lines[i], {.size = 13, .color = t.t2});
    y += h;
  }
}

struct NoteRow {
  std::size_t report = 0, line = 0;
  bool title = false, odd = false;
  std::vector<std::string> text = {};
  sim::Finding finding = {};
};

/// All rows, newest look first.
std::vector<NoteRow> note_rows(const Canvas& c, const DetectiveGame& game, float width) {
  std::vector<NoteRow> rows;
  const auto& reports = game.engine().reports();
  for (std::size_t i = reports.size(); i-- > 0;) {
    rows.push_back({.report = i, .title = true, .text = {report_title(reports[i])}});
    const auto lines = notebook_lines(reports[i]);
    for (std::size_t k = 0; k < lines.size(); ++k) {
      const bool mono = lines[k].finding.kind == sim::FindingKind::KernelLine;
      const Face face = mono ? Face::Mono : lines[k].odd ? Face::Bold : Face::Regular;
      rows.push_back({.report = i,
                      .line = k,
                      .odd = lines[k].odd,
                      .text = wrap(c.fonts(), finding_text(lines[k].finding), width - 22, mono ? 13 : 14,
                                   face, 4),
                      .finding = lines[k].finding});
    }
  }
  return rows;
}

float height_of(const NoteRow& row) {
  return row.title ? 28 : 18 * static_cast<float>(row.text.size()) + 6;
}

void draw_note(View& view, const DetectiveGame& game, const NoteRow& row, Rect box,
               DetectiveAnswer& answer) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const sim::ToolReport& report = game.engine().reports()[row.report];
  if (row.title) {
    const std::string when = tr("detective.note.at", {minutes_text(game.stopped_at_ns(report.t_ns))});
    c.text({box.x, box.y + 16}, fit(c.fonts(), row.text.front(), box.w - c.width(when, 13) - 10, 14, Face::Bold),
           {.size = 14, .color = t.t1, .face = Face::Bold});
    c.text({box.right(), box.y + 16}, when, {.size = 13, .color = t.t3, .align = Align::Right});
    return;
  }
  const int rank = row.finding.ranks.empty() ? -1 : row.finding.ranks.front();
  const bool leads = row.odd && (rank >= 0 || row.finding.node >= 0);
  if (leads) {
    const Hit hit = view.ui.hit(
        "detective.note." + std::to_string(row.report) + "." + std::to_string(row.line), box,
        {.explain = tr("detective.note.go", {rank >= 0 ? parts::rank_name(rank)
                                                       : "n" + std::to_string(row.finding.node)})});
    if (hit.hovered) c.rect(box, {.fill = t.raised, .radius = 5});
    c.rect({box.x, box.y + 4, 3, box.h - 8}, {.fill = t.t1, .radius = 1.5f});
    if (hit.clicked && rank >= 0) answer.rank = rank;
    if (hit.clicked && rank < 0) answer.node = row.finding.node;
  }
  const bool mono = row.finding.kind == sim::FindingKind::KernelLine;
  for (std::size_t i = 0; i < row.text.size(); ++i)
    c.text({box.x + 12, box.y + 12 + 18 * static_cast<float>(i)}, row.text[i],
           {.size = mono ? 13.0f : 14.0f,
            .color = row.odd ? t.t1 : t.t2,
            .face = mono ? Face::Mono : row.odd ? Face::Bold : Face::Regular});
}

}  // namespace

void draw_tools(View& view, const DetectiveGame& game, Rect box, DetectiveAnswer& answer) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  c.text({box.x, box.y + 9}, fit(c.fonts(), tr("detective.tools"), box.w, 14, Face::Bold),
         {.size = 14, .color = t.t3, .face = Face::Bold});
  // Cheap ones first, as an operator looks.
  const auto order = tools_by_cost();
  constexpr float kGap = 6, kHeight = 50;
  const float w = (box.w - 2 * kGap) / 3;
  for (int i = 0; i < sim::kToolCount; ++i)
    draw_tool(view, game, order[static_cast<std::size_t>(i)],
              {box.x + (w + kGap) * static_cast<float>(i % 3),
               box.y + 26 + (kHeight + kGap) * static_cast<float>(i / 3), w, kHeight},
              answer);
}

void draw_notebook(View& view, const DetectiveGame& game, DetectiveMemory& memory, Rect box,
                   DetectiveAnswer& answer) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const Hit ground = view.ui.hit("detective.notes", box, {.takes_arrows = true});
  c.rect(box, {.fill = mix(t.stage, t.panel, .6f), .stroke = ground.focused ? t.t2 : t.line, .radius = 10});
  const Rect list = box.inset(12, 8);
  c.text({list.x, box.y + 19}, tr("detective.note.title"),
         {.size = 14, .color = t.t3, .face = Face::Bold});
  const Rect inside{list.x, box.y + 34, list.w, box.h - 40};
  if (game.engine().reports().empty()) {
    draw_what_looks_tell(c, inside);
    return;
  }
  const std::vector<NoteRow> rows = note_rows(c, game, inside.w);
  float total = 0;
  for (const NoteRow& row : rows) total += height_of(row);
  const float most = std::max(0.0f, total - inside.h);
  float move = -view.ui.wheel(inside) * 54;
  if (ground.focused && !view.ui.typing()) {
    if (view.ui.key(Key::Down)) move = 54;
    if (view.ui.key(Key::Up)) move = -54;
    for (const Key key : {Key::Down, Key::Up}) view.ui.take(key);
  }
  memory.notes_at = std::clamp(memory.notes_at + move, 0.0f, most);
  // Whole rows only: what is half in sight waits for the next turn of the wheel.
  float y = inside.y - memory.notes_at;
  int hidden = 0;
  for (const NoteRow& row : rows) {
    const float h = height_of(row);
    if (y >= inside.y - 1 && y + h <= inside.bottom() + 1)
      draw_note(view, game, row, {inside.x, y, inside.w, h}, answer);
    else if (y + h > inside.bottom())
      ++hidden;
    y += h;
  }
  if (most > 0) {
    const float length = std::max(14.0f, inside.h * inside.h / total);
    c.rect({box.right() - 7, inside.y + (inside.h - length) * memory.notes_at / most, 3, length},
           {.fill = t.edge, .radius = 1.5f});
  }
  if (hidden > 0)
    c.text({list.right(), box.y + 19}, tr("detective.note.more", {std::to_string(hidden)}),
           {.size = 13, .color = t.t3, .align = Align::Right});
}

void draw_accusation(View& view, const DetectiveGame& game, Rect box, DetectiveAnswer& answer) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  c.rect(box, {.fill = t.panel, .stroke = t.edge, .radius = 10});
  const Rect in = box.inset(14, 12);
  constexpr float kBottom = 40 + 8 + 64;
  float y = in.y + 10;
  c.text({in.x, y}, tr("detective.name.kind"), {.size = 15, .face = Face::Bold});
  y += 18;
  const auto& kinds = sim::detective_kinds();
  const float pitch =
      std::min(50.0f, (in.bottom() - kBottom - 14 - y) / static_cast<float>(kinds.size()));
  const bool two_lines = pitch >= 42;
  for (const sim::DiagnosisKind kind : kinds) {
    const std::string word(sim::to_word(kind));
    const bool on = game.kind == kind;
    const Rect row{in.x, y, in.w, pitch - 3};
    const std::string& text = tr_word("detective.kind_text", word);
    const Hit hit = view.ui.hit("detective.kind." + word, row, {.explain = text});
    if (on || hit.hovered) c.rect(row, {.fill = t.raised, .radius = 6});
    const float line = two_lines ? row.y + row.h / 2 - 9 : row.center().y;
    c.circle({row.x + 15, line}, 6, {}, on ? t.t1 : t.edge, 1.75f);
    if (on) c.circle({row.x + 15, line}, 3.2f, t.t1);
    const float label = c.text({row.x + 32, line}, tr_word("detective.kind", word),
                               {.size = 14, .face = on ? Face::Bold : Face::Regular});
    if (two_lines) {
      c.text({row.x + 32, line + 18}, fit(c.fonts(), text, row.w - 40, 13), {.size = 13, .color = t.t2});
    } else if (row.w - 60 - label > 120) {
      c.text({row.x + 44 + label, line}, fit(c.fonts(), text, row.w - 52 - label, 13),
             {.size = 13, .color = t.t2});
    }
    if (hit.clicked) answer.kind = kind;
    y += pitch;
  }
  y = in.bottom() - kBottom;
  const float half = (in.w - 12) / 2;
  c.text({in.x, y}, fit(c.fonts(), tr("detective.name.rank"), half, 14), {.size = 14, .color = t.t2});
  c.text({in.x + half + 12, y}, fit(c.fonts(), tr("detective.name.node"), half, 14),
         {.size = 14, .color = t.t2});
  // The fields show -1 while nothing is chosen; clicking a tile's rank fills them as well.
  double rank = game.rank(), node = game.node_out();
  if (view.ui.number_field("detective.name.rank", {in.x, y + 12, half, 36}, rank, 0,
                           game.engine().world_size() - 1, 1, {}, tr("detective.name.rank_explain")) &&
      std::isfinite(rank))
    answer.rank = static_cast<int>(rank);
  if (view.ui.number_field("detective.name.node", {in.x + half + 12, y + 12, half, 36}, node, 0,
                           game.engine().nodes() - 1, 1, {}, tr("detective.name.node_explain")) &&
      std::isfinite(node))
    answer.node_out = static_cast<int>(node);
  y = in.bottom() - 40;
  const std::string_view missing = game.missing();
  const float back = 92;
  if (view.ui.button("detective.name.back", {in.x, y, back, 40}, tr("detective.name.back"), {.size = 14}))
    answer.back = true;
  const std::string label = game.node_out() < 0
                                ? tr("detective.name.close_plain")
                                : tr("detective.name.close", {"n" + std::to_string(game.node_out())});
  if (view.ui.button("detective.name.close", {in.x + back + 8, y, in.w - back - 8, 40}, label,
                     {.primary = true,
                      .size = 15,
                      .enabled = missing.empty(),
                      .explain = tr(missing.empty() ? "detective.name.close_explain" : missing)}))
    answer.close = true;
}

}  // namespace ringside::app
