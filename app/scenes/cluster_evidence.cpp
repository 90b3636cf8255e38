// The inspector's second and third page: evidence, what one's own tools say, next steps and "what if".
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/draw/parts.hpp"
#include "app/draw/rank_place.hpp"
#include "app/i18n/i18n.hpp"
#include "app/i18n/phrases.hpp"
#include "app/scenes/cluster_grid.hpp"
#include "app/scenes/cluster_inspector.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

struct VerdictLook {
  Glyph glyph;
  Color color;
};

VerdictLook look_of(const Theme& t, sim::ToolVerdict verdict) {
  switch (verdict) {
    case sim::ToolVerdict::Right:
      return {Glyph::Check, t.t1};
    case sim::ToolVerdict::Misleading:
      return {Glyph::Warning, t.stall_text};
    case sim::ToolVerdict::Silent:
      return {Glyph::Hidden, t.t3};
  }
  return {Glyph::None, t.t3};
}

void evidence_rows(InspectorColumn& k, const sim::Diagnosis& d) {
  if (!inspector_heading(k, tr("cluster.evidence.title"), 40)) return;
  const float most = k.y + (k.bottom - k.y) * .4f;
  for (std::size_t i = 0; i < d.evidence.size(); ++i) {
    const sim::Evidence& e = d.evidence[i];
    const std::string when = e.t_ns ? span_text(*e.t_ns) : std::string();
    const float tw = when.empty() ? 0 : k.c.width(when, 14) + 10;
    const std::vector<std::string> lines =
        wrap(k.c.fonts(), sim::escape_for_display(known_phrase(e.text)), k.w - 24 - tw, 14, Face::Regular, 2);
    const float h = static_cast<float>(lines.size()) * 19 + 8;
    if (k.y + h > most && i > 0) break;
    const Rect row{k.x, k.y, k.w, h};
    const Hit hit = k.view.ui.hit("cluster.evidence." + std::to_string(i), row,
                                  {.focusable = e.t_ns.has_value(), .explain = tr("cluster.go_there")});
    if (hit.hovered && e.t_ns) k.c.rect(row.inset(-4, 0), {.fill = k.t.raised, .radius = 6});
    const bool direct = e.event.has_value();
    k.c.glyph(direct ? Glyph::Measured : Glyph::Inferred, {k.x + 7, k.y + 13}, 11, k.t.t2, 1.5f);
    float y = k.y + 13;
    for (const std::string& line : lines) {
      k.c.text({k.x + 22, y}, line, {.size = 14, .color = i == 0 ? k.t.t1 : k.t.t2});
      y += 19;
    }
    if (!when.empty())
      k.c.text({k.x + k.w, k.y + 13}, when, {.size = 14, .color = k.t.t3, .align = Align::Right});
    if (hit.clicked && e.t_ns) k.view.emit(action::SeekTo{*e.t_ns});
    k.y += h;
  }
  if (!d.waits_for.empty() && k.room(24)) {
    const auto [from, to] = d.waits_for.front();
    k.c.glyph(Glyph::Inferred, {k.x + 7, k.y + 12}, 11, k.t.t2, 1.5f);
    const std::string text =
        tr("cluster.evidence.waits", {sim::with_commas(static_cast<std::int64_t>(d.waits_for.size())),
                                      parts::rank_name(from), parts::rank_name(to)});
    k.y = parts::paragraph(k.c, {k.x + 22, k.y + 12}, k.w - 22, text,
                           {.size = 14, .line_height = 1.35f, .color = k.t.t2, .max_lines = 2});
  }
  k.y += 8;
}

void tool_rows(InspectorColumn& k, const sim::Diagnosis& d) {
  if (!inspector_heading(k, tr("cluster.tools.title"), 40)) return;
  for (const sim::ToolSays& tool : d.tools_would_say) {
    const std::string text =
        tool.text.empty() ? tr("cluster.tools.nothing") : sim::escape_for_display(known_phrase(tool.text));
    const int most = tool.text.empty() ? 1 : 2;
    const std::vector<std::string> lines = wrap(k.c.fonts(), text, k.w - 24, 14, Face::Regular, most);
    const bool silent = tool.text.empty();
    const float h = silent ? 25 : 24 + static_cast<float>(lines.size()) * 18 + 5;
    if (!k.room(h)) break;
    const VerdictLook look = look_of(k.t, tool.verdict);
    k.c.glyph(look.glyph, {k.x + 7, k.y + 11}, 13, look.color, 1.8f);
    const float w = k.c.text(
        {k.x + 24, k.y + 11}, tool.tool,
        {.size = 15, .color = silent ? k.t.t2 : k.t.t1, .face = silent ? Face::Regular : Face::Bold});
    const std::string& word = tr_word("cluster.tool_verdict", sim::to_word(tool.verdict));
    if (w + k.c.width(word, 14) + 40 < k.w)
      k.c.text({k.x + k.w, k.y + 11}, word, {.size = 14, .color = look.color, .align = Align::Right});
    if (!silent) {
      float y = k.y + 31;
      for (const std::string& line : lines) {
        k.c.text({k.x + 24, y}, line, {.size = 14, .color = k.t.t2});
        y += 18;
      }
      k.view.ui.explain({k.x, k.y, k.w, h}, text);
    }
    k.y += h;
  }
  k.y += 6;
}

bool is_command(const std::string& text) {
  constexpr std::array<std::string_view, 7> kPrograms = {"scontrol ",     "dmesg ",  "nvidia-smi ", "dcgmi ",
                                                         "ibqueryerrors", "py-spy ", "nvidia-smi"};
  if (text.ends_with('.')) return false;
  return std::any_of(kPrograms.begin(), kPrograms.end(),
                     [&](std::string_view p) { return text.starts_with(p); });
}

void next_steps(InspectorColumn& k, const sim::Diagnosis& d) {
  if (d.next_steps.empty() || !inspector_heading(k, tr("cluster.next.title"), 40)) return;
  const float most = k.bottom - 190;
  for (std::size_t i = 0; i < d.next_steps.size(); ++i) {
    const bool command = is_command(d.next_steps[i]);
    const std::string text = command ? d.next_steps[i] : known_phrase(d.next_steps[i]);
    const float indent = command ? 12 : 22, size = command ? 14 : 15;
    const std::vector<std::string> lines = wrap(k.c.fonts(), text, k.w - indent - (command ? 40 : 4), size,
                                                command ? Face::Mono : Face::Regular, 3);
    const float h = static_cast<float>(lines.size()) * 20 + (command ? 16 : 6);
    if (k.y + h > most && i > 0) break;
    float y = k.y + (command ? 17 : 12);
    if (command) {
      k.c.rect({k.x, k.y, k.w, h}, {.fill = k.t.stage, .stroke = k.t.line, .radius = 8});
      if (k.view.ui.icon_button("cluster.copy." + std::to_string(i), {k.x + k.w - 20, k.y + h / 2},
                                Glyph::Copy, 16, tr("cluster.copy")))
        k.view.emit(action::CopyText{text});
    } else {
      k.c.text({k.x, y}, std::to_string(i + 1), {.size = 14, .color = k.t.t3, .face = Face::Bold});
    }
    for (const std::string& line : lines) {
      k.c.text({k.x + indent, y}, line, {.size = size, .face = command ? Face::Mono : Face::Regular});
      y += 20;
    }
    k.y += h + (command ? 6 : 2);
  }
  k.y += 6;
}

std::string duration_word(std::int64_t ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  return ns < 60 * kSecond ? std::to_string(ns / kSecond) + " s"
                           : std::to_string(ns / (60 * kSecond)) + " min";
}

void what_if(InspectorColumn& k) {
  const SceneContext& ctx = k.view.ctx;
  if (ctx.scenario == nullptr || ctx.covered_from) return;  // a lesson asks what comes: no forecast
  if (!inspector_heading(k, tr("cluster.what_if.title"), 120)) return;
  const std::vector<WatchdogResult>& results = k.memory.what_if.results(ctx);
  if (results.empty()) {
    k.c.text({k.x, k.y + 12}, tr("cluster.what_if.working", {std::to_string(kWatchdogs.size())}),
             {.size = 14, .color = k.t.t2});
    k.view.ui.wake_in(.1);
    k.y += 30;
    return;
  }
  double worst = 0;
  for (const WatchdogResult& r : results) worst = std::max(worst, r.cost.total());
  for (const WatchdogResult& r : results) {
    if (!k.room(36)) break;
    const bool current = r.watchdog_ns == ctx.scenario->stack.watchdog_ns;
    const Rect row{k.x, k.y, k.w, 34};
    const std::string id = "cluster.watchdog." + std::to_string(r.watchdog_ns / 1'000'000'000);
    const Hit hit =
        k.view.ui.hit(id, row,
                      {.focusable = ctx.can.can_edit(),
                       .explain = ctx.can.can_edit() ? tr("cluster.what_if.use") : tr(ctx.can.edit_why_not)});
    k.c.rect(row, {.fill = current ? k.t.raised : hit.hovered ? k.t.card : Color{}, .radius = 8});
    if (current) k.c.rect({row.x, row.y + 6, 3, row.h - 12}, {.fill = k.t.accent, .radius = 1.5f});
    const float y = row.center().y;
    k.c.glyph(Glyph::Clock, {row.x + 18, y}, 14, k.t.t2, 1.6f);
    k.c.text({row.x + 34, y}, duration_word(r.watchdog_ns),
             {.size = 15, .face = current ? Face::Bold : Face::Regular});
    const float left = row.x + 96;
    const std::string number = r.outcome == sim::Outcome::Completed
                                   ? tr("cluster.what_if.completes")
                                   : tr("cluster.gpu_hours", {gpu_hours(r.cost.total())});
    const float w =
        k.c.text({row.right() - 10, y}, number, {.size = 15, .face = Face::Bold, .align = Align::Right});
    const float bar = row.right() - 20 - w - left;
    if (worst > 0 && bar > 20 && r.cost.total() > 0) {
      k.c.rect({left, y - 4, bar, 8}, {.fill = k.t.line, .radius = 4});
      const float share = static_cast<float>(r.cost.total() / worst);
      k.c.rect({left, y - 4, std::max(8.0f, bar * share), 8}, {.fill = k.t.stall, .radius = 4});
    }
    if (hit.clicked && ctx.can.can_edit() && !current)
      k.view.emit(action::EditScenario{"watchdog=" + duration_word(r.watchdog_ns),
                                       [ns = r.watchdog_ns](sim::Scenario& s) { s.stack.watchdog_ns = ns; },
                                       ""});
    k.y += 37;
  }
  const WatchdogResult& first = results.front();
  const bool false_alarm =
      std::any_of(results.begin(), results.end(), [](const WatchdogResult& r) { return r.false_alarm; });
  const std::string note = false_alarm             ? tr("cluster.what_if.false_alarm")
                           : first.stopped_ns >= 0 ? tr("cluster.what_if.note")
                                                   : std::string();
  if (!note.empty() && k.room(20))
    k.y = parts::paragraph(k.c, {k.x, k.y + 10}, k.w, note,
                           {.size = 14, .color = k.t.t3, .max_lines = k.room(50) ? 3 : 1});
}

}  // namespace

void draw_rank_gauges(InspectorColumn& k, int rank) {
  const SceneContext& ctx = k.view.ctx;
  const auto& ranks = ctx.frame.ranks;
  if (rank < 0 || static_cast<std::size_t>(rank) >= ranks.size()) return;
  const ClusterView& cluster = *k.f.cluster;
  const sim::RankFrame& r = ranks[static_cast<std::size_t>(rank)];
  if (!inspector_heading(k,
                         parts::rank_place(rank, rank % cluster.per_node, cluster.node_name(cluster.node_of(rank))),
                         30))
    return;
  std::string state;
  const std::string seq =
      r.in_collective == sim::kNone ? "" : std::to_string(ctx.trace.collective(r.in_collective).seq);
  const int whom = waits_for(ctx.trace, ctx.frame, rank);
  if (whom >= 0 && !seq.empty()) {
    state = tr("cluster.rank.waits", {parts::rank_name(rank), parts::rank_name(whom), seq,
                                      span_text(ctx.frame.t - std::max<std::int64_t>(0, r.waiting_since))});
  } else {
    state = tr("cluster.rank.is",
               {tr_word("cluster.mark", word_of(mark_of(r))), sim::with_commas(std::max(0, r.step))});
  }
  k.y = parts::paragraph(k.c, {k.x, k.y + 8}, k.w, state, {.size = 15, .line_height = 1.35f, .max_lines = 3});
  const auto samples = k.f.story->samples(rank);
  const sim::Event* sample = nullptr;
  for (const std::uint32_t i : samples)
    if (ctx.trace.events()[i].t <= ctx.frame.t) sample = &ctx.trace.events()[i];
  if (sample != nullptr && k.room(64)) {
    const Rect box{k.x, k.y, k.w, 58};
    k.c.rect(box, {.fill = k.t.stage, .stroke = k.t.line, .radius = 8});
    const sim::DevicePayload& d = sample->device;
    k.c.text({box.x + 12, box.y + 17}, "nvidia-smi", {.size = 14, .color = k.t.t3, .face = Face::Mono});
    k.c.text({box.right() - 12, box.y + 17}, span_text(sample->t),
             {.size = 13, .color = k.t.t3, .align = Align::Right});
    const std::string line = fmt::format("{:.0f}C  {:.0f}W  {:.0f}%", static_cast<double>(d.temperature_c),
                                         static_cast<double>(d.power_w), static_cast<double>(d.utilisation));
    const float w = k.c.text({box.x + 12, box.y + 41}, line, {.size = 16, .face = Face::MonoBold});
    const bool spins = d.utilisation > 95 && r.waiting_since >= 0;
    if (spins) {
      const std::string& why = tr("cluster.rank.spins");
      k.c.text({box.right() - 12, box.y + 41}, fit(k.c.fonts(), why, box.w - w - 34, 14),
               {.size = 14, .color = k.t.stall_text, .align = Align::Right});
      k.view.ui.explain(box, tr("cluster.rank.spins_explain"));
    }
    k.y += 66;
  }
  if (k.room(40)) {
    const bool can = find_scene("allreduce") != nullptr;
    if (k.view.ui.button("cluster.down", {k.x, k.y, k.w, 36}, tr("cluster.rank.down"),
                         {.icon = Glyph::Ring, .enabled = can, .explain = tr("cluster.rank.down_explain")}))
      k.view.emit(action::ShowScene{"allreduce"});
    k.y += 44;
  }
}

void draw_evidence_tab(InspectorColumn& k) {
  const sim::Diagnosis& d = *k.f.verdict.diagnosis;
  evidence_rows(k, d);
  tool_rows(k, d);
}

void draw_next_tab(InspectorColumn& k) {
  next_steps(k, *k.f.verdict.diagnosis);
  k.bottom -= 46;
  what_if(k);
  k.bottom += 46;
  if (k.room(40)) {
    if (k.view.ui.button("cluster.reliability", {k.x, k.bottom - 42, k.w, 36}, tr("cluster.reliability.open"),
                         {.icon = Glyph::Duel}))
      k.memory.reliability_wanted = true;
  }
}

}  // namespace ringside::app
