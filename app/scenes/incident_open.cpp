// Where logs are opened: a place to drop them, a path, a line to explain; and the page while they are read.
#include <fmt/format.h>

#include <algorithm>

#include "app/draw/parts.hpp"
#include "app/scenes/incident_view.hpp"
#include "app/session/session.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app::incident {
namespace {

void open_paths(View& view, std::string path) {
  while (!path.empty() && (path.back() == ' ' || path.back() == '\n')) path.pop_back();
  while (!path.empty() && path.front() == ' ') path.erase(path.begin());
  if (path.size() > 1 && path.front() == '\'' && path.back() == '\'') path = path.substr(1, path.size() - 2);
  if (!path.empty()) view.emit(action::OpenFile{path});
}

/// What went wrong the last time; returns the y below it.
float draw_error(View& view, const IncidentDesk& desk, Rect box) {
  if (!desk.error()) return box.y;
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const std::string text = sim::escape_for_display(desk.error()->message());
  const auto lines = wrap(c.fonts(), text, box.w - 56, 15, Face::Regular, 3);
  const float h = 48 + 21 * static_cast<float>(lines.size());
  c.rect({box.x, box.y, box.w, h}, {.fill = t.card, .stroke = t.line, .radius = 10});
  c.rect({box.x, box.y + 8, 3, h - 16}, {.fill = t.fail, .radius = 1.5f});
  c.text({box.x + 20, box.y + 24}, tr("incident.error"), {.size = 16, .face = Face::Bold});
  float y = box.y + 48;
  for (const std::string& line : lines) {
    c.text({box.x + 20, y}, line, {.size = 15, .color = t.fail_text});
    y += 21;
  }
  return box.y + h + 16;
}

}  // namespace

void draw_open_page(View& view, ViewState& state, const IncidentDesk& desk) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const Rect s = view.box;
  const float w = std::min(760.0f, s.w - 64), x = s.x + (s.w - w) / 2;
  float y = s.y + std::max(24.0f, s.h * .07f);
  y = draw_error(view, desk, {x, y, w, 0});
  // The place to drop.
  const float answer_h = state.explain.answered() ? 230.0f : 0;
  const float drop_h = std::clamp(s.bottom() - y - 210 - answer_h, 116.0f, 230.0f);
  const Rect drop{x, y, w, drop_h};
  c.rect(drop, {.stroke = t.edge, .radius = 12, .width = 1.5f, .dash = {7, 5}});
  const bool roomy = drop_h > 170;
  if (roomy) c.glyph(Glyph::Logs, {drop.center().x, drop.y + 48}, 34, t.t2, 2.2f);
  const float ty = drop.y + (roomy ? 102 : 36);
  c.text({drop.center().x, ty}, fit(c.fonts(), tr("incident.drop_title"), w - 40, 22, Face::Bold),
         {.size = 22, .face = Face::Bold, .align = Align::Center});
  float py = ty + 32;
  for (const std::string& line :
       wrap(c.fonts(), tr("incident.drop_text"), w - 80, 15, Face::Regular, roomy ? 3 : 2)) {
    c.text({drop.center().x, py}, line, {.size = 15, .color = t.t2, .align = Align::Center});
    py += 22;
  }
  y = drop.bottom() + 16;
  // A path.
  const std::string& open = tr("incident.open");
  const float bw = std::max(96.0f, c.width(open, 15) + 40);
  const Rect field{x, y, w - bw - 8, 40};
  bool go = view.ui.text_field("incident.path", field, state.path, 15, tr("incident.path_explain"));
  if (state.path.empty() && !view.ui.typing())
    c.text({field.x + 10, field.center().y}, tr("incident.path"), {.size = 15, .color = t.t3});
  if (view.ui.button("incident.open", {field.right() + 8, y, bw, 40}, open,
                     {.primary = true, .icon = Glyph::Folder}))
    go = true;
  if (go) open_paths(view, state.path);
  y += 40 + 26;
  // One line.
  c.line({x, y - 6}, {x + w, y - 6}, t.line);
  c.text({x, y + 18}, tr("explain.title"), {.size = 17, .face = Face::Bold});
  if (desk.incident() != nullptr) {
    const std::string& back = tr("incident.back");
    const float back_w = c.width(back, 15) + 56;
    if (view.ui.button("incident.back", {x + w - back_w, y, back_w, 36}, back, {.icon = Glyph::Left})) {
      state.opening = false;
      view.emit(action::Custom{"incident.back", [](Session& session) { session.incidents().clear_error(); }});
    }
  }
  y += 44;
  state.explain.field(view, "incident.explain", {x, y, w, 40});
  state.explain.answer(view, {x, y + 48, w, std::max(0.0f, s.bottom() - y - 60)});
}

void draw_reads(View& view) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const Rect box = view.box.inset(16, 20);
  c.text({box.x, box.y + 4}, tr("incident_reads.title"), {.size = 15, .color = t.t2});
  float y = box.y + 36;
  for (const std::string* text :
       {&tr("incident_reads.torch"), &tr("incident_reads.nccl"), &tr("incident_reads.kernel"),
        &tr("incident_reads.launcher"), &tr("incident_reads.dumps"), &tr("incident_reads.recording"),
        &tr("incident_reads.packed")}) {
    c.glyph(Glyph::Logs, {box.x + 9, y}, 13, t.t3, 1.5f);
    y = parts::paragraph(c, {box.x + 30, y}, box.w - 30, *text,
                         {.size = 15, .line_height = 1.38f, .color = t.t1, .max_lines = 3}) +
        10;
  }
}

void draw_reading(View& view, const IncidentDesk& desk) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const ReadingProgress progress = desk.progress();
  const Rect s = view.box;
  const float w = std::min(720.0f, s.w - 64), x = s.x + (s.w - w) / 2;
  float y = s.y + std::max(60.0f, s.h * .14f);
  const std::string head = progress.files_total == 0
                               ? tr("incident.looking")
                               : tr("incident.reading", {sim::with_commas(progress.files_done),
                                                         sim::with_commas(progress.files_total)});
  c.text({x, y}, head,
         {.size = size_that_fits(c.fonts(), head, w, {34, 28, 22}, Face::Bold), .face = Face::Bold});
  y += 36;
  const double share =
      progress.bytes_total > 0
          ? std::clamp(static_cast<double>(progress.bytes_done) / static_cast<double>(progress.bytes_total),
                       0.0, 1.0)
          : 0.0;
  c.rect({x, y, w, 8}, {.fill = t.raised, .radius = 4});
  if (share > 0)
    c.rect({x, y, std::max(8.0f, w * static_cast<float>(share)), 8}, {.fill = t.accent, .radius = 4});
  y += 30;
  c.text({x, y},
         tr("incident.reading_bytes",
            {sim::format_bytes(progress.bytes_done), sim::format_bytes(progress.bytes_total)}),
         {.size = 15, .color = t.t2});
  if (view.ui.button("incident.cancel", {x + w - 120, y - 4, 120, 38}, tr("incident.cancel"))) {
    view.emit(action::Custom{"incident.cancel", [](Session& session) {
                               session.incidents().cancel();
                               session.notices.push_back({NoticeKind::Info, tr("incident.cancelled")});
                             }});
  }
  y += 64;
  c.text({x, y}, tr("incident.found"), {.size = 14, .color = t.t3, .face = Face::Bold});
  if (progress.found_count > 0)
    c.text({x + w, y}, tr("incident.found_more", {sim::with_commas(progress.found_count)}),
           {.size = 14, .color = t.t3, .align = Align::Right});
  y += 28;
  if (progress.found.empty()) c.text({x, y}, tr("incident.found_none"), {.size = 15, .color = t.t2});
  for (const backend::EarlyFinding& finding : progress.found) {
    if (y > s.bottom() - 20) break;
    const std::string place = sim::escape_for_display(finding.file) + ":" + std::to_string(finding.line);
    c.text({x, y}, fit(c.fonts(), place, 210, 13, Face::MonoBold), {.size = 13, .face = Face::MonoBold});
    c.text({x + 222, y}, fit(c.fonts(), sim::escape_for_display(finding.text), w - 222, 13, Face::Mono),
           {.size = 13, .color = t.t2, .face = Face::Mono});
    y += 24;
  }
  view.ui.wake_in(0.1);
}

}  // namespace ringside::app::incident
