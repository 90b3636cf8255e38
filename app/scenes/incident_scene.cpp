// Logs: the verdict on a job that died; the lane one sequence number behind; the lines that prove it.
#include <algorithm>
#include <map>

#include "app/scenes/incident_rebuild.hpp"
#include "app/scenes/incident_view.hpp"
#include "app/session/session.hpp"
#include "backend/import/prefix.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace incident {

const std::string& end_word(parts::Mark mark) {
  using parts::Mark;
  switch (mark) {
    case Mark::TimedOut:
      return tr("incident_end.timed_out");
    case Mark::Aborted:
      return tr("incident_end.aborted");
    case Mark::Terminated:
      return tr("incident_end.terminated");
    case Mark::Dead:
      return tr("incident_end.dead");
    case Mark::Poisoned:
      return tr("incident_end.poisoned");
    case Mark::Silent:
      return tr("incident_end.silent");
    default:
      return tr("incident_end.left");
  }
}

namespace {

std::vector<Group> groups_of(const IncidentPicture& picture) {
  std::vector<Group> out;
  std::map<std::string, std::size_t> by_host;
  for (const IncidentRow& row : picture.rows) {
    const auto [at, fresh] = by_host.emplace(row.host, out.size());
    if (fresh) out.push_back({row.host, {}, false});
    Group& group = out[at->second];
    group.rows.push_back(&row);
    group.guilty = group.guilty || row.culprit;
  }
  return out;
}

std::vector<ToolCard> tools_of(const sim::Diagnosis& d) {
  std::vector<ToolCard> out;
  for (const sim::ToolSays& says : d.tools_would_say) {
    const auto same = std::find_if(out.begin(), out.end(), [&](const ToolCard& card) {
      return card.tool == says.tool && card.verdict == says.verdict;
    });
    if (same != out.end()) {
      ++same->times;
      continue;
    }
    out.push_back(
        {sim::escape_for_display(says.tool), translated("incident_tool", says.text), says.verdict, 1});
  }
  return out;
}

/// Strongest first; lines that differ in numbers only (fifteen ranks, one timeout) share a row.
std::vector<EvidenceRow> evidence_of(const sim::Diagnosis& d) {
  std::vector<EvidenceRow> out;
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < d.evidence.size(); ++i) {
    const sim::Evidence& e = d.evidence[i];
    const backend::Peeled peeled = backend::peel(e.text);
    std::string_view text = peeled.text;
    while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
    if (text.starts_with("[Rank ") && text.find("] ") < 12) text.remove_prefix(text.find("] ") + 2);
    EvidenceRow row;
    row.index = i;
    row.rank = peeled.rank;
    row.text = sim::escape_for_display((text.empty() ? std::string_view(e.text) : text).substr(0, 300));
    row.place = e.file.empty() ? tr("incident.evidence_all_dumps") : sim::escape_for_display(e.file);
    if (e.line > 0) row.place += ":" + std::to_string(e.line);
    std::string key;
    for (const char c : text.substr(0, 80))
      if (c < '0' || c > '9') key += c;
    const auto [at, fresh] = seen.emplace(key, out.size());
    if (fresh || e.line == 0)
      out.push_back(std::move(row));
    else
      ++out[at->second].more;
  }
  return out;
}

std::vector<OtherCause> causes_of(const sim::Diagnosis& d) {
  constexpr std::string_view kWeaker = ": weaker evidence than the verdict, and explained by it";
  std::vector<OtherCause> out;
  for (const sim::Alternative& other : d.alternatives) {
    std::string name = tr_word("incident_kind", sim::to_word(other.kind));
    if (other.culprits.size() == 1) name += ", " + parts::rank_name(other.culprits.front());
    const bool weaker = other.why_not.ends_with(kWeaker);
    out.push_back(
        {name, weaker ? tr("incident.weaker") : sim::escape_for_display(other.why_not.substr(0, 300))});
  }
  return out;
}

class IncidentScene final : public Scene {
 public:
  void prepare(const SceneContext& ctx) override {
    desk_ = ctx.incidents;
    items_.incident = desk_ == nullptr ? nullptr : desk_->incident();
    if (items_.incident == nullptr) return;
    items_.picture = &desk_->picture();
    items_.own_timeline = ctx.trace.header.source == "import";
    // Calls of dumps have no end: at the end of the trace, all of the picture is shown.
    items_.t = items_.own_timeline && ctx.playhead.t < ctx.end_time ? ctx.playhead.t : items_.picture->to;
    if (made_for_ == desk_->generation() && made_in_ == language()) return;
    if (made_for_ != desk_->generation()) {
      state_.opening = false;
      state_.evidence = -1;
    }
    made_for_ = desk_->generation();
    made_in_ = language();
    make_words();
  }

  void draw(View& view) override {
    if (desk_ == nullptr) return;
    if (desk_->reading()) {
      draw_reading(view, *desk_);
    } else if (items_.incident == nullptr || state_.opening || desk_->error()) {
      draw_open_page(view, state_, *desk_);
    } else if (view.ctx.presenter) {
      draw_enlarged(view);
    } else {
      draw_stage(view, state_, items_);
    }
    draw_excerpt(view, state_);
  }

  void inspector(View& view) override {
    if (desk_ == nullptr) return;
    if (items_.incident != nullptr && !desk_->reading() && !state_.opening && !desk_->error())
      draw_panel(view, state_, items_);
    else
      draw_reads(view);
  }

  bool key(Key key, View& view) override {
    if (key != Key::Enter || items_.incident == nullptr) return false;
    const auto& evidence = items_.incident->diagnosis.evidence;
    if (evidence.empty()) return false;
    const std::size_t row = static_cast<std::size_t>(std::max(0, state_.evidence)) % evidence.size();
    open_excerpt(view, state_, items_, UINT32_MAX, evidence[row].file, evidence[row].line);
    return true;
  }

  Timeline timeline(const SceneContext& ctx) const override {
    if (items_.incident == nullptr || !items_.own_timeline) return default_timeline(ctx);
    const IncidentPicture& p = *items_.picture;
    Timeline out{.from = 0, .to = std::max<std::int64_t>(1, ctx.end_time)};
    std::int64_t first = -1;
    for (const IncidentRow& row : p.rows)
      if (row.waits_from != -1) first = first == -1 ? row.waits_from : std::min(first, row.waits_from);
    if (first > 0) out.bands.push_back({0, first, tr("incident.work")});
    out.bands.push_back({std::max<std::int64_t>(0, first), out.to,
                         p.waited > 0 ? tr("incident.wait", {sim::with_commas(p.waited)}) : std::string()});
    if (first >= 0) out.marks.push_back({first, Glyph::Hourglass, ctx.theme.stall});
    for (const IncidentRow& row : p.rows) {
      if (!row.ended || row.ends_at < 0 || out.marks.size() > 200) continue;
      const bool dead = row.end == parts::Mark::Dead;
      if (row.culprit || dead)
        out.marks.push_back({row.ends_at, dead ? Glyph::Cross : Glyph::Flag, ctx.theme.fail});
      else if (row.end == parts::Mark::TimedOut)
        out.marks.push_back({row.ends_at, Glyph::Clock, ctx.theme.stall});
    }
    return out;
  }

  std::string facts(const SceneContext&) const override {
    return items_.incident == nullptr ? tr("incident.title") : items_.facts;
  }
  std::string caption(const SceneContext&) const override { return items_.verdict; }
  std::string caption_detail(const SceneContext&) const override {
    return items_.incident == nullptr
               ? std::string()
               : tr("incident.caption_detail",
                    {sim::with_commas(static_cast<std::int64_t>(items_.picture->rows.size()))});
  }

 private:
  /// The stage as on a screen of half the size: its smallest texts are read from the last row.
  void draw_enlarged(View& view) {
    constexpr float kLarger = 2;
    View inner{view.canvas, view.ui, view.actions, view.ctx, {0, 0, view.box.w / kLarger, view.box.h / kLarger}};
    view.canvas.push_figure({view.box.x, view.box.y}, kLarger);
    draw_stage(inner, state_, items_);
    view.canvas.pop_figure();
  }

  void make_words() {
    const backend::Incident& incident = *items_.incident;
    items_.verdict = verdict_text(incident);
    items_.others = others_text(incident, *items_.picture);
    items_.why = why_text(incident);
    std::int64_t most = -1;
    for (const IncidentRow& row : items_.picture->rows) most = std::max(most, row.last_seq);
    items_.longest_seq = most < 0 ? std::string() : sim::with_commas(most);
    items_.groups = groups_of(*items_.picture);
    items_.tools = tools_of(incident.diagnosis);
    items_.evidence = evidence_of(incident.diagnosis);
    items_.causes = causes_of(incident.diagnosis);
    items_.steps.clear();
    for (const std::string& step : incident.diagnosis.next_steps) items_.steps.push_back(next_step_of(step));
    const std::int64_t world = std::max<std::int64_t>(incident.diagnosis.world_size,
                                                      static_cast<std::int64_t>(items_.picture->rows.size()));
    const auto files = static_cast<std::int64_t>(incident.files.size());
    items_.facts =
        files == 1 ? tr("incident.facts_one", {sim::with_commas(incident.lines), sim::with_commas(world)})
                   : tr("incident.facts",
                        {sim::with_commas(files), sim::with_commas(incident.lines), sim::with_commas(world)});
  }

  const IncidentDesk* desk_ = nullptr;
  Items items_;
  ViewState state_;
  std::uint64_t made_for_ = 0;
  Lang made_in_ = Lang::En;
};

}  // namespace
}  // namespace incident

std::unique_ptr<Scene> make_incident_scene() {
  return std::make_unique<incident::IncidentScene>();
}

}  // namespace ringside::app
