// The inspector of an incident: who, why, what to do next, what was ruled out; rewind, report, rebuild.
#include <algorithm>

#include "app/draw/parts.hpp"
#include "app/scenes/incident_rebuild.hpp"
#include "app/scenes/incident_view.hpp"
#include "app/session/session.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app::incident {
namespace {

using parts::Mark;
using parts::Truth;

/// Host, device and process of the culprit, as far as the lines give them.
std::string place_of(const backend::Incident& incident, int rank, bool with_pid) {
  std::string out;
  const auto say = [&out](const std::string& text) { out += (out.empty() ? "" : " · ") + text; };
  for (const backend::RankRow& row : incident.ranks) {
    if (row.rank != rank) continue;
    if (row.local_rank >= 0) say("GPU " + std::to_string(row.device >= 0 ? row.device : row.local_rank));
    if (!row.bus.empty()) say("PCI " + sim::escape_for_display(row.bus.substr(0, 40)));
    if (with_pid && row.pid > 0) say(tr("incident.pid", {std::to_string(row.pid)}));
  }
  return out;
}

float draw_culprit(View& view, const Items& items, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const backend::Incident& incident = *items.incident;
  const sim::Diagnosis& d = incident.diagnosis;
  c.text({box.x, box.y + 8}, tr("incident.culprit"), {.size = 15, .color = t.t2});
  const Rect card{box.x, box.y + 24, box.w, 96};
  c.rect(card, {.fill = t.card, .radius = 10});
  const bool named = !d.culprits.empty() || !d.culprit_nodes.empty();
  if (!named) {
    c.glyph(Glyph::Hidden, {card.x + 28, card.y + 28}, 20, t.t2, 2);
    c.text(
        {card.x + 52, card.y + 28},
        fit(c.fonts(),
            d.kind == sim::DiagnosisKind::None ? tr_word("incident_kind", "none") : tr("incident.no_culprit"),
            card.w - 64, 18, Face::Bold),
        {.size = 18, .face = Face::Bold});
    if (d.kind != sim::DiagnosisKind::None)
      parts::paragraph(c, {card.x + 14, card.y + 58}, card.w - 28, tr("incident.no_culprit_text"),
                       {.size = 13, .line_height = 1.35f, .color = t.t2, .max_lines = 2});
    return card.bottom() + 20;
  }
  const IncidentRow* row = d.culprits.empty() ? nullptr : items.picture->row(d.culprits.front());
  const Rect mark{card.x + 16, card.y + 15, 26, 26};
  parts::state_mark(c, mark, row != nullptr && row->ended ? row->end : Mark::Silent);
  parts::brackets(c, mark.inset(-6), t.fail, 8, 3);
  const std::string name = d.culprits.empty() ? std::string() : ranks_text(d.culprits);
  const std::string host = d.culprit_nodes.empty()
                               ? std::string()
                               : sim::escape_for_display(d.culprit_nodes.front().substr(0, 80));
  const std::string& big = name.empty() ? host : name;
  const float room = card.w - 70;
  const float size =
      size_that_fits(c.fonts(), big, room * (name.empty() ? 1.0f : .55f), {24, 20, 17}, Face::Bold);
  const float nw = c.text({card.x + 58, card.y + 28}, fit(c.fonts(), big, room, size, Face::Bold),
                          {.size = size, .face = Face::Bold});
  const float left = card.x + 58 + nw + 16, right = card.right() - 14;
  if (!name.empty() && !host.empty() && right - left > 40)
    c.text({right, card.y + 22}, fit(c.fonts(), host, right - left, 15, Face::Bold),
           {.size = 15, .face = Face::Bold, .align = Align::Right});
  if (!d.culprits.empty() && right - left > 60) {
    std::string place = place_of(incident, d.culprits.front(), true);
    if (c.width(place, 13) > right - left) place = place_of(incident, d.culprits.front(), false);
    c.text({right, card.y + 43}, fit(c.fonts(), place, right - left, 13),
           {.size = 13, .color = t.t2, .align = Align::Right});
  }
  c.line({card.x + 14, card.y + 58}, {card.right() - 14, card.y + 58}, t.line);
  const float y = card.y + 77;
  c.glyph(Glyph::Victim, {card.x + 22, y}, 12, t.t2, 1.5f);
  const auto victims = static_cast<std::int64_t>(d.victims.size());
  const std::string who = items.picture->waited > 0
                              ? tr("incident.victims_waited", {sim::with_commas(items.picture->waited)})
                          : victims == 1 ? tr("incident.victims_one")
                          : victims > 0  ? tr("incident.victims", {sim::with_commas(victims)})
                                         : tr("incident.no_victims");
  const float vw = c.text({card.x + 38, y}, who, {.size = 14, .color = t.t2});
  if (items.picture->waited_total_ns > 0) {
    const std::string hours = rank_hours(items.picture->waited_total_ns);
    if (card.x + 38 + vw + 16 + c.width(hours, 15, Face::Bold) < right)
      c.text({right, y}, hours, {.size = 15, .face = Face::Bold, .align = Align::Right});
  }
  return card.bottom() + 20;
}

float draw_why(View& view, const Items& items, Rect box, int lines) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  c.text({box.x, box.y}, tr("incident.why"), {.size = 15, .color = t.t2});
  const float end = parts::paragraph(c, {box.x, box.y + 24}, box.w, items.why,
                                     {.size = 15, .line_height = 1.38f, .color = t.t1, .max_lines = lines});
  view.ui.explain({box.x, box.y + 10, box.w, end - box.y - 10}, items.why);
  return end + 8;
}

/// Commands as boxes with a copy button, sentences as text. Stops at `bottom`.
float draw_steps(View& view, const Items& items, Rect box, float bottom) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  if (items.steps.empty() || box.y + 60 > bottom) return box.y;
  c.text({box.x, box.y}, tr("incident.steps"), {.size = 15, .color = t.t2});
  float y = box.y + 18;
  for (std::size_t i = 0; i < items.steps.size(); ++i) {
    const NextStep& step = items.steps[i];
    if (step.command.empty()) {
      const auto lines = wrap(c.fonts(), step.note, box.w - 16, 14, Face::Regular, 2);
      if (y + 19 * static_cast<float>(lines.size()) + 10 > bottom) break;
      c.circle({box.x + 4, y + 11}, 2.2f, t.t2);
      for (const std::string& line : lines) {
        c.text({box.x + 16, y + 11}, line, {.size = 14, .color = t.t1});
        y += 19;
      }
      view.ui.explain(
          {box.x, y - 19 * static_cast<float>(lines.size()), box.w, 19 * static_cast<float>(lines.size())},
          step.note);
      y += 8;
      continue;
    }
    if (y + 38 > bottom) break;
    const Rect field{box.x, y, box.w, 34};
    const std::string id = "incident.step." + std::to_string(i);
    const Hit hit = view.ui.hit(
        id, field,
        {.explain = step.note.empty() ? std::string_view(step.command) : std::string_view(step.note)});
    c.rect(field, {.fill = hit.hovered ? t.raised : t.stage, .stroke = t.edge, .radius = 6});
    c.text({field.x + 12, field.center().y}, fit(c.fonts(), step.command, field.w - 52, 14, Face::Mono),
           {.size = 14, .face = Face::Mono});
    c.glyph(Glyph::Copy, {field.right() - 19, field.center().y}, 14, t.t2, 1.5f);
    if (hit.clicked) view.emit(action::CopyText{step.command});
    y += 40;
  }
  return y + 10;
}

float draw_causes(View& view, const Items& items, Rect box, float bottom) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  if (items.causes.empty() || box.y + 44 > bottom) return box.y;
  const sim::Diagnosis& d = items.incident->diagnosis;
  const bool open = d.confidence == sim::Confidence::Unknown;
  c.text({box.x, box.y}, open ? tr("incident.candidates") : tr("incident.ruled_out"),
         {.size = 15, .color = t.t2});
  float y = box.y + 24;
  for (const OtherCause& cause : items.causes) {
    if (y + 10 > bottom) break;
    c.glyph(open ? Glyph::Hidden : Glyph::Cross, {box.x + 6, y}, 10, t.t2, 2);
    const float nw =
        c.text({box.x + 20, y}, fit(c.fonts(), cause.name, box.w * .62f, 14), {.size = 14, .color = t.t1});
    const float room = box.w - 20 - nw - 12;
    if (room > 40)
      c.text({box.right(), y}, fit(c.fonts(), cause.why, room, 13),
             {.size = 13, .color = t.t2, .align = Align::Right});
    view.ui.explain({box.x, y - 11, box.w, 22}, cause.why);
    y += 24;
  }
  return y + 6;
}

void rebuild_now(Session& session) {
  const backend::Incident* incident = session.incidents().incident();
  if (incident == nullptr) return;
  auto built = rebuild(*incident, session.incidents().picture());
  if (!built) {
    session.notices.push_back({NoticeKind::Error, tr("incident.rebuild_failed",
                                                     {sim::escape_for_display(built.error().message())})});
    return;
  }
  std::string assumed;
  for (const Assumed what : built->assumed)
    assumed += (assumed.empty() ? "" : ", ") + tr_word("incident_assumed", to_word(what));
  const std::string kind = tr_word("incident_kind", sim::to_word(incident->diagnosis.kind));
  session.scene_id = find_scene("cluster") != nullptr ? "cluster" : "allreduce";
  session.open_scenario(std::move(built->scenario), session.incidents().name(), true);  // beside its timeline
  session.notices.push_back({NoticeKind::Warning, tr("incident.rebuild_done", {kind, assumed})});
}

float draw_buttons(View& view, const Items& items, Rect box) {
  const backend::Incident& incident = *items.incident;
  const bool can = can_rebuild(incident.diagnosis.kind);
  const float y = box.bottom() - 42, half = box.w * .56f;
  if (view.ui.button("incident.rewind", {box.x, y, half, 42}, tr("incident.rewind"),
                     {.primary = true,
                      .icon = Glyph::First,
                      .enabled = items.picture->timed,
                      .explain = tr("incident.rewind_explain")})) {
    const std::int64_t cause = items.picture->cause_ns;
    view.emit(action::Custom{"incident.rewind", [cause](Session& session) {
                               if (session.trace().header.source != "import")
                                 session.incidents().show(session);
                               session.playhead().t = std::clamp<std::int64_t>(cause, 0, session.end_time());
                               session.playhead().mode = sim::PlayMode::Paused;
                             }});
  }
  if (view.ui.button("incident.copy", {box.x + half + 10, y, box.w - half - 10, 42}, tr("incident.copy"),
                     {.explain = tr("incident.copy_explain")}))
    view.emit(action::CopyText{backend::to_text(incident)});
  if (view.ui.button("incident.rebuild", {box.x, y - 50, box.w, 40}, tr("incident.rebuild"),
                     {.icon = Glyph::Ring,
                      .enabled = can,
                      .explain = can ? tr("incident.rebuild_explain") : tr("incident.rebuild_cannot")}))
    view.emit(action::Custom{"incident.rebuild", rebuild_now});
  return y - 50;
}

/// What people must know before they believe the rest: files that were not read, clocks, contradictions.
void draw_warnings(View& view, const Items& items, Rect box, float bottom) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const backend::Incident& incident = *items.incident;
  std::vector<std::string> lines;
  if (!incident.problems.empty())
    lines.push_back(tr("incident.problems",
                       {std::to_string(incident.problems.size()),
                        sim::escape_for_display(incident.problems.front().message().substr(0, 160))}));
  for (const std::string& conflict : incident.conflicts)
    if (lines.size() < 3)
      lines.push_back(tr("incident.conflict", {sim::escape_for_display(conflict.substr(0, 160))}));
  for (const backend::ClockOffset& clock : incident.clocks) {
    const std::int64_t off = std::abs(clock.offset_ns);
    if (off > clock.error_ns && lines.size() < 4)
      lines.push_back(tr("incident.clock", {sim::escape_for_display(clock.host.substr(0, 60)),
                                            (clock.offset_ns < 0 ? "-" : "+") + sim::format_duration(off),
                                            sim::escape_for_display(clock.reference.substr(0, 60)),
                                            sim::format_duration(clock.error_ns)}));
  }
  float y = box.y;
  for (const std::string& line : lines) {
    if (y + 10 > bottom) break;
    c.glyph(Glyph::Warning, {box.x + 7, y}, 12, t.stall, 1.75f);
    c.text({box.x + 22, y}, fit(c.fonts(), line, box.w - 22, 13), {.size = 13, .color = t.t2});
    view.ui.explain({box.x, y - 11, box.w, 22}, line);
    y += 23;
  }
}

}  // namespace

void draw_panel(View& view, ViewState&, const Items& items) {
  const Rect box = view.box.inset(16, 14);
  const float bottom = draw_buttons(view, items, box) - 12;
  float y = draw_culprit(view, items, box);
  const bool roomy = view.box.h > 700;
  y = draw_why(view, items, {box.x, y, box.w, 0}, roomy ? 8 : 4);
  // Next steps leave room for what was ruled out.
  const float causes_h =
      items.causes.empty()
          ? 0
          : 34 + 24 * std::min<float>(roomy ? 6 : 2, static_cast<float>(items.causes.size()));
  y = draw_steps(view, items, {box.x, y + 6, box.w, 0}, bottom - causes_h);
  y = draw_causes(view, items, {box.x, y + 4, box.w, 0}, bottom);
  draw_warnings(view, items, {box.x, y + 6, box.w, 0}, bottom);
}

}  // namespace ringside::app::incident
