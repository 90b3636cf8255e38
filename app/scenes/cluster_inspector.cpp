#include "app/scenes/cluster_inspector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/draw/parts.hpp"
#include "app/draw/rank_place.hpp"
#include "app/i18n/i18n.hpp"
#include "app/i18n/phrases.hpp"
#include "app/scenes/cluster_grid.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"
#include "sim/model/reliability.hpp"

namespace ringside::app {
namespace {

constexpr float kPad = 16;

/// "R137", "R1, R2 and R5", "n17".
std::string who_of(const sim::Diagnosis& d) {
  if (d.culprits.size() == 1) return parts::rank_name(d.culprits.front());
  if (d.culprits.size() > 1 && d.culprit_nodes.size() == 1 && d.culprits.size() > 3)
    return d.culprit_nodes.front();
  if (!d.culprits.empty()) {
    std::string out;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, d.culprits.size()); ++i)
      out += (i > 0 ? ", " : "") + parts::rank_name(d.culprits[i]);
    return d.culprits.size() > 3 ? tr("list.and_more", {out, std::to_string(d.culprits.size() - 3)}) : out;
  }
  if (!d.culprit_nodes.empty()) return d.culprit_nodes.front();
  return d.first_cause.node.value_or("");
}

bool decided(const sim::Diagnosis& d) {
  return d.kind != sim::DiagnosisKind::None && !(d.culprits.empty() && who_of(d).empty()) &&
         d.confidence != sim::Confidence::Unknown;
}

/// Whether the verdict names what was injected: only the simulator knows, so it is said as a check of us.
bool matches_injected(const SceneContext& ctx, const ClusterStory& story, const ClusterView& cluster,
                      const sim::Diagnosis& d) {
  for (const std::uint32_t i : story.injected()) {
    const sim::Event& e = ctx.trace.events()[i];
    if (e.t > ctx.frame.t) break;
    const sim::Fault& fault = ctx.trace.command(e.command.command);
    if (fault.rank >= 0 && std::binary_search(d.culprits.begin(), d.culprits.end(), fault.rank)) return true;
    const int node = fault.node >= 0 ? fault.node : fault.rank >= 0 ? cluster.node_of(fault.rank) : -1;
    if (node < 0) continue;
    if (d.culprits.empty() ? node == cluster.culprit_node
                           : fault.node >= 0 && cluster.node_of(d.culprits.front()) == node)
      return true;
  }
  return false;
}

void draw_title(InspectorColumn& k) {
  const sim::Diagnosis* d = k.f.verdict.diagnosis;
  const bool has = d != nullptr && d->kind != sim::DiagnosisKind::None;
  k.c.text({k.x, k.y}, tr(has ? "cluster.diagnosis" : "cluster.now"),
           {.size = 14, .color = k.t.t3, .face = Face::Bold});
  if (has) {
    const bool matches = matches_injected(k.view.ctx, *k.f.story, *k.f.cluster, *d);
    const std::string word =
        matches ? tr("cluster.matches") : tr_word("cluster.confidence", sim::to_word(d->confidence));
    const parts::ChipStyle style{.icon = matches                                     ? Glyph::Check
                                         : d->confidence == sim::Confidence::Certain ? Glyph::Measured
                                                                                     : Glyph::Inferred,
                                 .color = k.t.t2,
                                 .stroke = k.t.edge,
                                 .text = k.t.t1,
                                 .align = Align::Right};
    const float w = parts::chip(k.c, {k.x + k.w, k.y}, word, style);
    k.view.ui.explain({k.x + k.w - w, k.y - 13, w, 26},
                      tr(matches ? "cluster.matches_explain" : "cluster.confidence_explain"));
  }
  k.y += 34;
}

void headline(InspectorColumn& k, std::string_view text, std::string_view sub) {
  const float size = size_that_fits(k.c.fonts(), text, k.w, {24, 22, 20}, Face::Bold);
  k.y = parts::paragraph(
      k.c, {k.x, k.y}, k.w, text,
      {.size = size, .line_height = 1.3f, .color = k.t.t1, .face = Face::Bold, .max_lines = 3});
  if (!sub.empty())
    k.y = parts::paragraph(k.c, {k.x, k.y}, k.w, sub,
                           {.size = 15, .line_height = 1.4f, .color = k.t.t2, .max_lines = 4});
  k.y -= 6;
}

/// Who, on which host, with the ids that a person on the machine needs.
void culprit_card(InspectorColumn& k, const sim::Diagnosis& d) {
  const ClusterView& cluster = *k.f.cluster;
  if (!k.room(56)) return;
  const Rect box{k.x, k.y, k.w, 56};
  const int rank = cluster.culprit_rank;
  const Hit hit = k.view.ui.hit("cluster.culprit", box, {.explain = tr("cluster.culprit_explain")});
  k.c.rect(box, {.fill = hit.hovered ? k.t.raised : k.t.card, .radius = 10});
  const Rect mark{box.x + 16, box.center().y - 14, 28, 28};
  const parts::Mark state =
      rank >= 0 && !cluster.ranks.empty() ? cluster.ranks[static_cast<std::size_t>(rank)].mark
      : cluster.culprit_node >= 0         ? cluster.tiles[static_cast<std::size_t>(cluster.culprit_node)].mark
                                          : parts::Mark::Dead;
  parts::state_mark(k.c, mark.inset(4), state);
  parts::brackets(k.c, mark.inset(-1), k.t.fail, 8, 2.5f);
  std::string title = rank >= 0 ? parts::rank_place(rank, rank % cluster.per_node, cluster.node_name(cluster.node_of(rank)))
                                : who_of(d);
  if (d.culprits.size() > 1) title += "  " + tr("cluster.and_more", {std::to_string(d.culprits.size() - 1)});
  const float tx = mark.right() + 18, room = box.right() - 10 - tx;
  std::string detail;
  if (rank >= 0 && static_cast<std::size_t>(rank) < k.view.ctx.frame.ranks.size()) {
    const std::uint32_t hello = k.view.ctx.frame.ranks[static_cast<std::size_t>(rank)].hello;
    if (hello != sim::kNone) {
      const sim::Hello& h = k.view.ctx.trace.hello(hello);
      if (!h.pci.empty()) detail = "PCI " + h.pci;
      if (!h.uuid.empty()) detail += (detail.empty() ? "" : " · ") + h.uuid;
      if (h.pid > 0) detail += (detail.empty() ? "" : " · ") + std::string("pid ") + std::to_string(h.pid);
    }
  }
  if (detail.empty())
    detail = tr("cluster.close_up.rack",
                {std::to_string(std::max(0, cluster.culprit_node) / cluster.nodes_per_rack)});
  k.c.text({tx, box.center().y - 10}, fit(k.c.fonts(), title, room, 17, Face::Bold),
           {.size = 17, .face = Face::Bold});
  k.c.text({tx, box.center().y + 12}, fit(k.c.fonts(), sim::escape_for_display(detail), room, 14),
           {.size = 14, .color = k.t.t2});
  if (hit.clicked) {
    Selection selection;
    selection.rank = rank;
    selection.node = cluster.culprit_node;
    k.view.emit(action::Select{selection});
  }
  k.y += 62;
}

void victims_row(InspectorColumn& k) {
  if (!k.room(34)) return;
  const ClusterView& cluster = *k.f.cluster;
  std::string text;
  for (const Group g : {Group::Terminated, Group::Aborted, Group::TimedOut, Group::Stalled, Group::Waiting,
                        Group::Poisoned}) {
    const int n = cluster.counts[static_cast<std::size_t>(g)];
    if (n == 0) continue;
    text += (text.empty() ? "" : ", ") +
            tr("cluster.count", {sim::with_commas(n), tr_word("cluster.state", word_of(g))});
  }
  if (text.empty()) return;
  const Rect box{k.x, k.y, k.w, 32};
  k.c.rect(box, {.fill = k.t.card, .radius = 10});
  k.c.glyph(Glyph::Victim, {box.x + 30, box.center().y}, 13, k.t.t2, 1.6f);
  k.c.text({box.x + 62, box.center().y}, fit(k.c.fonts(), text, box.w - 72, 15), {.size = 15});
  k.y += 40;
}

Glyph glyph_of(LinkKind kind) {
  constexpr std::array kGlyphs = {Glyph::Bolt,    Glyph::Warning, Glyph::Cross, Glyph::Stop, Glyph::Hourglass,
                                  Glyph::Warning, Glyph::Clock,   Glyph::Stop,  Glyph::Play};
  return kGlyphs[static_cast<std::size_t>(kind)];
}

Color color_of(const Theme& t, LinkKind kind) {
  switch (kind) {
    case LinkKind::Cause:
    case LinkKind::Raise:
    case LinkKind::Gone:
      return t.fail;
    case LinkKind::Timeout:
      return t.stall;
    default:
      return t.t2;
  }
}

/// Cause above consequence, joined by arrows; a click goes to the moment.
void chain_strip(InspectorColumn& k, const sim::Diagnosis& d) {
  const std::vector<ChainLink>& chain = k.f.chain;
  if (chain.size() < 2 || !inspector_heading(k, tr("cluster.chain.title"), 48)) return;
  constexpr float kRow = 26;
  const std::int64_t from = chain.front().t;
  for (std::size_t i = 0; i < chain.size() && k.room(kRow); ++i) {
    const ChainLink& link = chain[i];
    const Rect row{k.x, k.y, k.w, kRow};
    const Hit hit =
        k.view.ui.hit("cluster.chain." + std::to_string(i), row, {.explain = tr("cluster.go_there")});
    if (hit.hovered) k.c.rect(row.inset(-4, 1), {.fill = k.t.raised, .radius = 6});
    const float y = row.center().y;
    const Color color = color_of(k.t, link.kind);
    const bool more = i + 1 < chain.size() && k.y + 2 * kRow <= k.bottom;
    k.c.glyph(glyph_of(link.kind), {k.x + 9, y}, 13, color, 2);
    if (more) {  // the causal arrow
      k.c.line({k.x + 9, y + 9}, {k.x + 9, y + kRow - 10}, k.t.t3, 1.5f);
      k.c.stroke({{k.x + 6, y + kRow - 13}, {k.x + 9, y + kRow - 10}, {k.x + 12, y + kRow - 13}}, k.t.t3,
                 1.5f);
    }
    const std::string when = i == 0 ? span_text(link.t) : "+" + span_text(link.t - from);
    const float tw = k.c.text({k.x + k.w, y}, when, {.size = 14, .color = k.t.t3, .align = Align::Right});
    k.c.text({k.x + 28, y},
             fit(k.c.fonts(), chain_text(link, d, *k.f.cluster), k.w - 36 - tw, 15,
                 i == 0 ? Face::Bold : Face::Regular),
             {.size = 15, .color = i == 0 ? k.t.t1 : k.t.t2, .face = i == 0 ? Face::Bold : Face::Regular});
    if (hit.clicked) k.view.emit(action::SeekTo{link.t});
    k.y += kRow;
  }
  k.y += 8;
}

void candidates(InspectorColumn& k, const sim::Diagnosis& d) {
  if (d.alternatives.empty() || !inspector_heading(k, tr("cluster.candidates"), 30)) return;
  for (const sim::Alternative& a : d.alternatives) {
    if (!k.room(24)) break;
    std::string who;
    for (const int r : a.culprits) who += (who.empty() ? "" : ", ") + parts::rank_name(r);
    const std::string& kind = tr_word("cluster.kind", sim::to_word(a.kind));
    k.c.glyph(Glyph::Hidden, {k.x + 8, k.y + 10}, 12, k.t.t3, 1.5f);
    k.c.text({k.x + 26, k.y + 10}, fit(k.c.fonts(), who + "  " + kind, k.w - 26, 15), {.size = 15});
    k.view.ui.explain({k.x, k.y, k.w, 22}, known_phrase(a.why_not));
    k.y += 24;
  }
  if (k.room(40))
    k.y = parts::paragraph(k.c, {k.x, k.y + 10}, k.w, known_phrase(d.alternatives.front().why_not),
                           {.size = 14, .color = k.t.t2, .max_lines = 3});
}

/// A small card of words and numbers.
void fact_rows(InspectorColumn& k, const std::vector<std::pair<std::string, std::string>>& rows) {
  const float pitch = 27, h = pitch * static_cast<float>(rows.size()) + 14;
  if (!k.room(h)) return;
  k.c.rect({k.x, k.y, k.w, h}, {.fill = k.t.card, .radius = 10});
  float y = k.y + 7 + pitch / 2;
  for (const auto& [word, number] : rows) {
    const float w =
        k.c.text({k.x + k.w - 14, y}, number, {.size = 16, .face = Face::Bold, .align = Align::Right});
    k.c.text({k.x + 14, y}, fit(k.c.fonts(), word, k.w - 36 - w, 14), {.size = 14, .color = k.t.t2});
    y += pitch;
  }
  k.y += h + 14;
}

/// Nothing is wrong: where the job stands, and why that will not last.
void draw_healthy(InspectorColumn& k) {
  const SceneContext& ctx = k.view.ctx;
  const ClusterView& cluster = *k.f.cluster;
  headline(k, now_sentence(ctx, k.f), k.f.verdict.pending ? tr("cluster.looking") : std::string());
  std::vector<std::pair<std::string, std::string>> rows;
  const Episode next = k.f.story->stop_at(ctx.frame.t);
  if (ctx.scenario != nullptr && ctx.scenario->training.steps > 1)
    rows.emplace_back(
        tr("cluster.fact.step"),
        tr("cluster.of", {sim::with_commas(cluster.step), sim::with_commas(ctx.scenario->training.steps)}));
  if (ctx.scenario != nullptr && ctx.scenario->training.checkpoint_steps > 0) {
    rows.emplace_back(tr("cluster.fact.checkpoint"),
                      next.saved_step > 0 ? sim::with_commas(next.saved_step) : tr("cluster.none"));
    rows.emplace_back(
        tr("cluster.fact.at_risk"),
        tr("cluster.gpu_hours", {gpu_hours(static_cast<double>(ctx.frame.t - next.saved) * cluster.world)}));
  }
  if (k.f.cost.total() > 0)
    rows.emplace_back(tr("cluster.fact.lost"), tr("cluster.gpu_hours", {gpu_hours(k.f.cost.total())}));
  if (!rows.empty()) fact_rows(k, rows);
  if (!k.room(120)) return;
  if (!inspector_heading(k, tr("cluster.why_so_often", {sim::with_commas(cluster.nodes)}), 80)) return;
  sim::ReliabilitySpec spec;
  spec.gpus = cluster.world;
  spec.gpus_per_node = cluster.per_node;
  const double hours =
      24.0 * 1000.0 / (static_cast<double>(cluster.nodes) * spec.failures_per_1000_node_days);
  k.y = parts::paragraph(k.c, {k.x, k.y + 8}, k.w,
                         tr("cluster.mttf_sentence",
                            {fmt::format("{:.1f}", spec.failures_per_1000_node_days),
                             hours >= 10 ? fmt::format("{:.1f}", hours) : fmt::format("{:.2f}", hours)}),
                         {.size = 15, .line_height = 1.4f, .color = k.t.t2, .max_lines = 5});
  k.y += 8;
  if (k.room(40)) {
    if (k.view.ui.button("cluster.reliability", {k.x, k.y, k.w, 38}, tr("cluster.reliability.open"),
                         {.icon = Glyph::Duel}))
      k.memory.reliability_wanted = true;
    k.y += 46;
  }
}

void draw_actions(InspectorColumn& k, float y) {
  const sim::Diagnosis& d = *k.f.verdict.diagnosis;
  const std::int64_t cause =
      d.first_cause.t_ns.value_or(d.evidence.empty() ? -1 : d.evidence.front().t_ns.value_or(-1));
  const float half = (k.w - 8) * .56f;
  if (k.view.ui.button("cluster.rewind", {k.x, y, half, 40}, tr("cluster.rewind"),
                       {.primary = true,
                        .icon = Glyph::First,
                        .enabled = cause >= 0,
                        .explain = tr("cluster.rewind_explain")}))
    k.view.emit(action::SeekTo{cause});
  if (k.view.ui.button("cluster.report", {k.x + half + 8, y, k.w - half - 8, 40}, tr("cluster.report"),
                       {.explain = tr("cluster.report_explain")}))
    k.view.emit(action::CopyText{verdict_report(k.view.ctx, k.f)});
}

}  // namespace

bool inspector_heading(InspectorColumn& k, std::string_view text, float h) {
  if (!k.room(h + 26)) return false;
  k.c.text({k.x, k.y + 8}, fit(k.c.fonts(), text, k.w, 14, Face::Bold),
           {.size = 14, .color = k.t.t3, .face = Face::Bold});
  k.y += 24;
  return true;
}

std::string verdict_headline(const sim::Diagnosis& d) {
  const std::string who = who_of(d);
  if (!decided(d))
    return fill_pattern(tr("cluster.undecided"), {tr_word("cluster.kind", sim::to_word(d.kind))});
  return fill_pattern(tr_word("cluster.verdict", sim::to_word(d.kind)), {who});
}

std::string now_sentence(const SceneContext& ctx, const InspectorFacts& f) {
  const ClusterView& cluster = *f.cluster;
  const int waiting = cluster.waiting();
  const auto count = [&](Group g) { return cluster.counts[static_cast<std::size_t>(g)]; };
  if (count(Group::Finished) == cluster.world)
    return tr("cluster.now_finished", {sim::with_commas(cluster.world)});
  const JobPhase* phase = f.story->job_phase_at(ctx.frame.t);
  if (phase != nullptr && phase->phase == sim::Phase::Restart)
    return tr("cluster.now_restarts", {sim::with_commas(f.episode.saved_step)});
  if (waiting > 0 && cluster.ranks_listed) {
    const int missing = cluster.world - waiting;
    int who = -1;  // asked of every rank in turn: dear, and worth it only where one name answers it
    for (int r = 0; missing == 1 && who < 0 && r < cluster.world; ++r) who = waits_for(ctx.trace, ctx.frame, r);
    if (who >= 0)
      return tr("cluster.now_wait_one", {sim::with_commas(waiting), parts::rank_name(who)});
    return tr("cluster.now_wait", {sim::with_commas(waiting), sim::with_commas(missing)});
  }
  if (cluster.gone() == cluster.world) return tr("cluster.now_over", {sim::with_commas(cluster.world)});
  if (count(Group::Working) > 0)
    return tr("cluster.now_work",
              {sim::with_commas(count(Group::Working)), sim::with_commas(std::max(1, cluster.step))});
  return tr("cluster.now_idle");
}

std::string verdict_report(const SceneContext& ctx, const InspectorFacts& f) {
  const sim::Diagnosis& d = *f.verdict.diagnosis;
  std::string out =
      ctx.trace.header.title + "\n" + verdict_headline(d) + " " + known_phrase(d.first_cause.what) + "\n";
  out += tr("cluster.confidence_is", {tr_word("cluster.confidence", sim::to_word(d.confidence))}) + "\n\n";
  out += tr("cluster.chain.title") + "\n";
  for (const ChainLink& link : f.chain)
    out += "  +" + span_text(link.t - f.chain.front().t) + "  " + chain_text(link, d, *f.cluster) + "\n";
  out += "\n" + tr("cluster.evidence.title") + "\n";
  for (const sim::Evidence& e : d.evidence) out += "  " + known_phrase(e.text) + "\n";
  out += "\n" + tr("cluster.tools.title") + "\n";
  for (const sim::ToolSays& tool : d.tools_would_say)
    out += "  " + tool.tool + " (" + tr_word("cluster.tool_verdict", sim::to_word(tool.verdict)) + ") " +
           known_phrase(tool.text) + "\n";
  out += "\n" + tr("cluster.next.title") + "\n";
  for (const std::string& step : d.next_steps) out += "  " + known_phrase(step) + "\n";
  out +=
      "\n" + tr("cluster.cost.so_far") + ": " + tr("cluster.gpu_hours", {gpu_hours(f.cost.total())}) + "\n";
  return out;
}

void draw_cost(InspectorColumn& k) {
  if (k.f.stop < 0 || k.f.cost.total() <= 0 || !k.room(100)) return;
  const Theme& t = k.t;
  const Rect box{k.x, k.y, k.w, 110};
  k.c.rect(box, {.fill = t.card, .radius = 10});
  const float x = box.x + 14, right = box.right() - 14;
  k.c.text({x, box.y + 18}, tr("cluster.cost.so_far"), {.size = 14, .color = t.t2});
  const std::string now = gpu_hours(k.f.cost.total());
  const float w = k.c.text({x, box.y + 46}, now, {.size = 32, .face = Face::Bold});
  k.c.text({x + w + 8, box.y + 50}, tr("cluster.cost.unit"), {.size = 14, .color = t.t2});
  const std::int64_t t_now = k.view.ctx.frame.t;
  const bool ahead = k.f.timeout_at > t_now;
  if (ahead) {
    k.c.text({right, box.y + 18}, tr("cluster.cost.if_nobody_acts"),
             {.size = 14, .color = t.t2, .align = Align::Right});
    k.c.text({right, box.y + 46}, gpu_hours(k.f.cost_then.total()),
             {.size = 32, .color = t.stall_text, .face = Face::Bold, .align = Align::Right});
  }
  const std::string parts_text =
      tr("cluster.cost.parts", {gpu_hours(k.f.cost.waiting), gpu_hours(k.f.cost.redo),
                                sim::with_commas(std::max(0, k.f.episode.step - k.f.episode.saved_step))});
  k.c.text({x, box.y + 74}, fit(k.c.fonts(), parts_text, box.w - 28, 14), {.size = 14});
  k.view.ui.explain(box, parts_text);
  const float y = box.y + 95;
  if (ahead) {
    const std::string left = span_text(k.f.timeout_at - t_now);
    k.c.text({x, y}, span_text(t_now - k.f.stop), {.size = 14, .face = Face::Bold});
    k.c.text({right, y}, tr(k.f.by_watchdog ? "cluster.cost.watchdog_in" : "cluster.cost.over_in", {left}),
             {.size = 14, .color = t.stall_text, .align = Align::Right});
  } else {
    k.c.text({x, y}, tr("cluster.cost.stopped_for", {span_text(std::max<std::int64_t>(0, t_now - k.f.stop))}),
             {.size = 14, .color = t.t2});
  }
  k.y += box.h + 10;
}

void draw_verdict_tab(InspectorColumn& k) {
  const sim::Diagnosis& d = *k.f.verdict.diagnosis;
  headline(k, verdict_headline(d), known_phrase(d.first_cause.what));
  if (decided(d)) culprit_card(k, d);
  // Who suffers stands in the counts on the stage too: here only where the chain leaves room for it.
  const float chain = 26 * static_cast<float>(k.f.chain.size()) + 34, cost_card = 120;
  if (k.room(40 + chain + cost_card)) victims_row(k);
  const bool cost = k.f.stop >= 0 && k.f.cost.total() > 0;
  const float keep = cost ? 120.0f : 0.0f;
  k.bottom -= keep;
  if (!decided(d)) candidates(k, d);
  chain_strip(k, d);
  k.bottom += keep;
  if (cost) draw_cost(k);
}

void draw_cluster_inspector(View& view, const InspectorFacts& facts, InspectorMemory& memory) {
  const Rect box = view.box;
  InspectorColumn k{
      view,       view.canvas,        view.canvas.theme(), facts, memory, box.x + kPad, box.w - 2 * kPad,
      box.y + 24, box.bottom() - kPad};
  draw_title(k);
  const sim::Diagnosis* d = facts.verdict.diagnosis;
  if (d == nullptr || d->kind == sim::DiagnosisKind::None) {
    if (view.ctx.selection.rank >= 0) k.bottom -= 190;
    draw_healthy(k);
    if (view.ctx.selection.rank >= 0) {
      k.bottom += 190;
      draw_rank_gauges(k, view.ctx.selection.rank);
    }
    return;
  }
  std::vector<std::string> tabs{tr("cluster.tab.verdict"), tr("cluster.tab.evidence"),
                                tr("cluster.tab.next")};
  const int rank = view.ctx.selection.rank;
  if (rank >= 0) tabs.push_back(parts::rank_name(rank));
  if (rank < 0 && memory.tab == InspectorTab::Rank) memory.tab = InspectorTab::Verdict;
  if (const auto chosen = view.ui.toggle("cluster.tab", {k.x, k.y + 4}, tabs, static_cast<int>(memory.tab))) {
    memory.tab = static_cast<InspectorTab>(*chosen);
    view.ui.keep_moving();
  }
  k.y += 46;
  k.bottom -= 48;
  if (memory.tab == InspectorTab::Verdict) draw_verdict_tab(k);
  if (memory.tab == InspectorTab::Evidence) draw_evidence_tab(k);
  if (memory.tab == InspectorTab::Next) draw_next_tab(k);
  if (memory.tab == InspectorTab::Rank) draw_rank_gauges(k, rank);
  draw_actions(k, box.bottom() - kPad - 40);
}

}  // namespace ringside::app
