// The cluster: every rank with its state, one failure that stops them all, its diagnosis and its logs.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/cluster_grid.hpp"
#include "app/scenes/cluster_inspector.hpp"
#include "app/scenes/cluster_log.hpp"
#include "app/scenes/cluster_reliability.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

constexpr double kDriftPxPerS = 8;  // VISUAL §4: waiting drifts, slowly
constexpr float kSquare = 12;       // of a rank in a cluster of 512

class ClusterScene final : public Scene {
 public:
  void prepare(const SceneContext& ctx) override {
    const std::int64_t every = ctx.scenario != nullptr ? ctx.scenario->training.checkpoint_steps : 0;
    story_.update(ctx.trace, ctx.generation, every);
    if (seen_generation_ != ctx.generation) {
      seen_generation_ = ctx.generation;
      grid_state_ = {};
    }
    if (reliability_) reliability_panel_.prepare(ctx);
    facts_.verdict = verdicts_.at(ctx, story_);
    // A stop that is over (the job was started again) is told by the counts, not accused for ever.
    const bool runs_again = story_.episode_at(ctx.frame.t) == nullptr && !story_.episodes().empty() &&
                            story_.episodes().front().over >= 0 &&
                            story_.episodes().front().over <= ctx.frame.t;
    if (runs_again) facts_.verdict = {};
    const int racks = ctx.scenario != nullptr ? ctx.scenario->cluster.nodes_per_rack : 8;
    cluster_ = make_cluster_view(ctx.trace, ctx.frame, story_, facts_.verdict.diagnosis, racks, ctx.end_time);
    layout_ = layout_cluster({0, 0, ctx.stage.x, ctx.stage.y}, ctx.presenter);
    grid_ = make_grid(cluster_, layout_.grid,
                      layout_.wide ? std::min(20.0f, kSquare * ctx.stage.x / 864) : kSquare, ctx.presenter);
    prepare_facts(ctx);
  }

  void draw(View& view) override {
    if (reliability_) {
      if (reliability_panel_.draw(view, view.box)) reliability_ = false;
      return;
    }
    if (facts_.verdict.pending) view.ui.wake_in(.05);
    ClusterLayout at = layout_;
    GridLayout grid = grid_;
    const Vec2 d{view.box.x, view.box.y};
    for (Rect* r : {&at.counts, &at.grid, &at.panel, &at.log}) *r = r->moved(d);
    grid.origin = grid.origin + d;
    draw_counts(view, cluster_, grid, at.counts);
    const int node = shown_node(view.ctx.selection);
    if (!view.ctx.presenter) answer(view, draw_close_up(view, cluster_, grid, at, grid_state_, node));
    answer(view, draw_grid(view, cluster_, grid, at, grid_state_, drift(view)));
    if (!view.ctx.presenter) log_.draw(view, cluster_, story_, facts_.verdict.diagnosis, at.log);
  }

  void inspector(View& view) override {
    if (reliability_) {
      reliability_panel_.inspector(view);
      return;
    }
    if (view.ctx.selection.rank != memory_.seen_rank) {  // a rank was chosen: its page
      memory_.seen_rank = view.ctx.selection.rank;
      if (memory_.seen_rank >= 0) memory_.tab = InspectorTab::Rank;
    }
    draw_cluster_inspector(view, facts_, memory_);
    if (std::exchange(memory_.reliability_wanted, false)) {
      reliability_ = true;
      view.ui.keep_moving();
    }
  }

  bool key(Key key, View& view) override {
    Selection s = view.ctx.selection;
    if (key == Key::Escape) {
      if (reliability_) {
        reliability_ = false;
        return true;
      }
      if (s == Selection{}) return false;
      view.emit(action::Select{});
      return true;
    }
    const int step = key == Key::Left    ? -1
                     : key == Key::Right ? 1
                     : key == Key::Up    ? -row_step()
                     : key == Key::Down  ? row_step()
                                         : 0;
    if (step == 0) return false;
    const int from = grid_.by_node ? s.node : s.rank;
    const int to = from < 0 ? std::max(0, grid_.by_node ? cluster_.culprit_node : cluster_.culprit_rank)
                            : std::clamp(from + step, 0, grid_.squares - 1);
    select(view, grid_.by_node ? -1 : to, grid_.by_node ? to : cluster_.node_of(to));
    return true;
  }
  bool owns_arrows() const override { return grid_state_.focused && !reliability_; }

  std::string place() const override { return reliability_ ? "reliability" : ""; }
  bool go_to(std::string_view place) override {
    if (place != "reliability" && !place.empty()) return false;
    reliability_ = place == "reliability";
    return true;
  }

  /// Work, the stop, the restarts; what went wrong as marks.
  Timeline timeline(const SceneContext& ctx) const override {
    Timeline out{.from = 0, .to = std::max<std::int64_t>(1, ctx.end_time)};
    ClusterStory story;
    story.update(ctx.trace, ctx.generation,
                 ctx.scenario != nullptr ? ctx.scenario->training.checkpoint_steps : 0);
    std::int64_t at = 0;
    const std::int64_t timeout = story.next_timeout(0);
    for (const Episode& e : story.episodes()) {
      if (e.failed > at)
        out.bands.push_back(
            {at, e.failed, tr("cluster.band.work", {sim::with_commas(story.step_at(e.failed))})});
      const std::int64_t over = e.over < 0 ? out.to : e.over;
      if (over > e.failed) out.bands.push_back({e.failed, over, tr("cluster.band.wait")});
      if (e.reported != timeout) out.marks.push_back({e.reported, Glyph::Cross, ctx.theme.fail});
      at = over;
    }
    if (at < out.to)
      out.bands.push_back({at, out.to, tr("cluster.band.work", {sim::with_commas(story.step_at(out.to))})});
    if (timeout >= 0) out.marks.push_back({timeout, Glyph::Clock, ctx.theme.stall});
    for (const std::uint32_t i : story.trouble_events()) {
      const sim::Event& e = ctx.trace.events()[i];
      if (e.type != sim::EventType::NanFound) continue;
      out.marks.push_back({e.t, Glyph::Poison, ctx.theme.nan});
      break;
    }
    return out;
  }

  std::string facts(const SceneContext& ctx) const override {
    const std::string size =
        tr("cluster.facts.size", {sim::with_commas(cluster_.nodes), std::to_string(cluster_.per_node)});
    if (ctx.scenario == nullptr) return size;
    const sim::StackSpec& s = ctx.scenario->stack;
    const std::string watchdog = s.watchdog_ns == 0
                                     ? tr("cluster.facts.no_watchdog")
                                     : tr("cluster.facts.watchdog", {span_text_long(s.watchdog_ns)});
    return size + " · " +
           tr("cluster.facts.over", {tr_word("cluster.library", sim::to_word(s.library)),
                                     tr_word("cluster.transport", sim::to_word(s.transport))}) +
           " · " + std::string(sim::to_word(s.launcher)) + " · " + watchdog;
  }

  std::string caption(const SceneContext& ctx) const override {
    const sim::Diagnosis* d = facts_.verdict.diagnosis;
    return d != nullptr && d->kind != sim::DiagnosisKind::None ? verdict_headline(*d)
                                                               : now_sentence(ctx, facts_);
  }
  std::string caption_detail(const SceneContext&) const override {
    if (facts_.stop < 0) return {};
    return tr("cluster.gpu_hours", {gpu_hours(facts_.cost.total())});
  }

  std::vector<Rect> places(std::string_view what) const override {
    if (what.starts_with("rank:") && !grid_.by_node && !reliability_) {
      const int rank = std::atoi(std::string(what.substr(5)).c_str());
      if (rank >= 0 && rank < grid_.squares)
        return {grid_state_.zoom.to_stage(grid_.square_at(rank), layout_.grid)};
    }
    if (what == "counts") return {layout_.counts};
    if (what == "log") return {layout_.log};
    return {};
  }

 private:
  static std::string span_text_long(std::int64_t ns) { return sim::with_commas(ns / 1'000'000'000) + " s"; }

  void prepare_facts(const SceneContext& ctx) {
    const std::int64_t t = ctx.frame.t;
    facts_.cluster = &cluster_;
    facts_.story = &story_;
    facts_.chain.clear();
    const sim::Diagnosis* d = facts_.verdict.diagnosis;
    if (d != nullptr) facts_.chain = make_chain(ctx.trace, story_, cluster_, *d, t);
    const Episode* stop = story_.episode_at(t);
    const std::int64_t known = stopped_at(d);
    facts_.stop = stop != nullptr ? stop->failed : known;
    if (stop != nullptr && known >= 0) facts_.stop = std::min(facts_.stop, known);
    facts_.episode = stop != nullptr ? *stop : facts_.stop >= 0 ? story_.stop_at(facts_.stop) : Episode{};
    facts_.cost = story_.cost_at(t, known);
    facts_.timeout_at = -1;
    facts_.cost_then = {};
    if (facts_.stop < 0 || facts_.episode.over >= 0) return;  // it starts again by itself
    // A simulated job knows how it ends; else it is counted from the wait.
    const std::int64_t watchdog = ctx.scenario != nullptr ? ctx.scenario->stack.watchdog_ns : 0;
    const std::int64_t strikes = story_.next_timeout(facts_.stop);
    facts_.by_watchdog = strikes >= 0;
    if (strikes >= 0) {
      facts_.timeout_at = strikes;
    } else if (ctx.simulation != nullptr && facts_.episode.over < 0 &&
               ctx.simulation->outcome != sim::Outcome::Hang) {
      facts_.timeout_at = ctx.end_time;
    } else if (watchdog > 0 && cluster_.waits_since >= 0) {
      facts_.by_watchdog = true;
      facts_.timeout_at = cluster_.waits_since + watchdog;
    }
    if (ctx.covered_from && facts_.timeout_at > *ctx.covered_from)
      facts_.timeout_at = -1;  // a lesson asks: no forecast
    if (facts_.timeout_at <= t) return;
    facts_.cost_then = facts_.cost;
    facts_.cost_then.waiting += static_cast<double>(facts_.timeout_at - t) * cluster_.world;
  }

  int shown_node(const Selection& s) const {
    if (grid_state_.hovered_node >= 0 && grid_state_.hovered_node < cluster_.nodes)
      return grid_state_.hovered_node;
    if (s.rank >= 0 && s.rank < cluster_.world) return cluster_.node_of(s.rank);
    if (s.node >= 0 && s.node < cluster_.nodes) return s.node;
    return cluster_.culprit_node;
  }

  int row_step() const { return grid_.inner_columns; }

  /// How far the hatch of waiting has drifted: only while time runs, after the first second.
  float drift(View& view) const {
    const SceneContext& ctx = view.ctx;
    const bool runs =
        ctx.playhead.mode == sim::PlayMode::Playing || ctx.playhead.mode == sim::PlayMode::Follow;
    const bool long_enough =
        cluster_.waits_since >= 0 && ctx.frame.t - cluster_.waits_since >= sim::kSilentAfterNs;
    if (!runs || !long_enough || ctx.reduced_motion || ctx.now == 0) return 0;
    view.ui.keep_moving();
    return static_cast<float>(std::fmod(ctx.now * kDriftPxPerS, 1e4));
  }

  void select(View& view, int rank, int node) {
    Selection s;
    s.rank = rank;
    s.node = node;
    view.emit(action::Select{s});
  }

  void answer(View& view, const GridAnswer& a) {
    if (a.menu) {
      Selection target;
      target.rank = a.rank;
      target.node = a.node;
      view.emit(action::Select{target});
      view.emit(action::OpenBreakMenu{target, view.ui.mouse()});
    }
    if (!a.clicked) return;
    select(view, a.rank, a.node);
    if (a.down && a.rank >= 0) view.emit(action::ShowScene{"allreduce"});
  }

  std::uint64_t seen_generation_ = ~std::uint64_t{0};
  ClusterStory story_;
  Verdicts verdicts_;
  ClusterView cluster_;
  ClusterLayout layout_;
  GridLayout grid_;
  GridState grid_state_;
  LogPanel log_;
  InspectorFacts facts_;
  InspectorMemory memory_;
  bool reliability_ = false;
  ReliabilityPanel reliability_panel_;
};

}  // namespace

std::unique_ptr<Scene> make_cluster_scene() {
  return std::make_unique<ClusterScene>();
}

}  // namespace ringside::app
