// The detective: a job on 64 nodes stands still, and the player has what an operator has. This file keeps the
// game and its pages; making a case simulates a whole job, so it is done on another thread.
#include <chrono>
#include <future>
#include <memory>
#include <random>

#include "app/i18n/i18n.hpp"
#include "app/scenes/detective_view.hpp"
#include "app/session/session.hpp"

namespace ringside::app {
namespace {

class DetectiveScene final : public Scene {
 public:
  void prepare(const SceneContext& ctx) override {
    if (!seeded_) {
      seeded_ = true;
      // Another first case at every start; without a clock (--render) always the same.
      if (ctx.now > 0) memory_.seed = 1 + std::random_device{}() % 9999;
    }
    if (making_.valid()) {
      if (making_since_ < 0) making_since_ = ctx.now;
      memory_.made_for_s = ctx.now - making_since_;
      const bool wait = ctx.now == 0;
      if (wait || making_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) take_case();
    }
  }

  void draw(View& view) override {
    DetectiveAnswer answer;
    if (making_.valid()) view.ui.wake_in(.1);
    if (page_ == Page::Start || !game_) {
      draw_start_page(view, game_ ? &*game_ : nullptr, memory_, answer);
    } else if (game_->closed()) {
      if (tale_lang_ != language()) {
        tale_ = make_tale(*game_);
        tale_lang_ = language();
      }
      draw_verdict_page(view, *game_, tale_, answer);
    } else {
      draw_desk(view, *game_, memory_, answer);
    }
    take(view, answer);
  }

  bool key(Key key, View& view) override {
    if (page_ == Page::Start || !game_) {
      if (key != Key::Space && key != Key::Enter) return false;
      if (!making_.valid()) begin(static_cast<std::uint64_t>(memory_.seed));
      return true;
    }
    if (game_->closed()) return false;
    DetectiveGame& game = *game_;
    const int columns = layout_desk({0, 0, view.ctx.stage.x, view.ctx.stage.y}, game.engine().nodes()).columns;
    const int step = key == Key::Left    ? -1
                     : key == Key::Right ? 1
                     : key == Key::Up    ? -columns
                     : key == Key::Down  ? columns
                                         : 0;
    if (step != 0) {
      const int to = game.node() + step;
      if (to >= 0 && to < game.engine().nodes()) game.choose_node(to);
      return true;
    }
    switch (key) {
      case Key::Enter: {  // nothing, suspect, cleared, and round again
        const NodeMark now = game.mark_of(game.node());
        game.mark(game.node(), now == NodeMark::None ? NodeMark::Suspect : NodeMark::Cleared);
        return true;
      }
      case Key::Space:
        memory_.naming = !memory_.naming;
        return true;
      case Key::Escape:
        if (!memory_.naming) return false;
        memory_.naming = false;
        return true;
      case Key::PageDown:
        memory_.log_at += 8;
        return true;
      case Key::PageUp:
        memory_.log_at -= 8;
        return true;
      case Key::C:
        if (!view.ui.ctrl()) return false;
        copy(view);
        return true;
      default:
        return false;
    }
  }
  bool owns_arrows() const override { return on_desk(); }
  bool undo_own(bool redo) override { return on_desk() && game_->undo(redo); }

  std::string title(const SceneContext&) const override { return tr("detective.title"); }
  std::string facts(const SceneContext&) const override {
    if (!game_ || page_ == Page::Start) return {};
    return tr("detective.facts", {std::to_string(game_->seed()), std::to_string(game_->engine().nodes()),
                                  std::to_string(game_->engine().gpus_per_node())});
  }
  std::string caption(const SceneContext&) const override {
    if (page_ == Page::Start || !game_) return tr("detective.brief");
    return game_->closed() ? tale_.headline : tr("detective.brief");
  }

  /// "seed:12,do:nan_check+stacks/45,…": the game as DetectiveGame writes it, and "naming" while the accusation is
  /// open.
  std::string place() const override {
    if (!game_ || page_ == Page::Start) return {};
    return game_->to_text() + (memory_.naming ? ",naming" : "");
  }
  bool go_to(std::string_view place) override {
    const bool naming = place.ends_with(",naming");
    if (naming) place.remove_suffix(7);
    const auto seed = detective_seed(place);
    if (!seed) return false;
    if (!made_ || made_->seed != *seed) made_ = sim::make_detective_case(*seed);
    DetectiveGame game(*made_);
    if (!game.replay(place)) return false;
    game_.emplace(std::move(game));
    page_ = Page::Game;
    memory_ = {.naming = naming, .seed = static_cast<double>(*seed), .log_row = first_row()};
    seeded_ = true;
    tale_lang_.reset();
    if (game_->closed()) {
      tale_ = make_tale(*game_);
      tale_lang_ = language();
    }
    return true;
  }

 private:
  enum class Page : std::uint8_t { Start, Game };

  /// The row that is read in full at first: it shows that rows can be.
  int first_row() const { return game_->logs().empty() ? -1 : 0; }
  bool on_desk() const { return page_ == Page::Game && game_ && !game_->closed(); }

  void begin(std::uint64_t seed) {
    making_ = std::async(std::launch::async, [seed] { return sim::make_detective_case(seed); });
    making_since_ = -1;
    page_ = Page::Start;  // it says how far the case is
    memory_ = {.seed = static_cast<double>(seed), .made_for_s = 0};
  }

  void take_case() {
    made_ = making_.get();
    game_.emplace(*made_);
    memory_ = {.seed = memory_.seed, .log_row = first_row()};
    page_ = Page::Game;
    tale_lang_.reset();
  }

  void copy(View& view) const {
    view.emit(action::CopyText{std::to_string(game_->seed())});
    view.emit(action::ShowNotice{{NoticeKind::Info, tr("detective.copied", {std::to_string(game_->seed())})}});
  }

  /// The job as it was, fault and all, in a tab of its own, at the moment of the fault; the tab that already
  /// holds it, if there is one.
  void replay(View& view) const {
    Moment moment;
    moment.name = tr("detective.case", {std::to_string(game_->seed())});
    moment.scene_id = "cluster";
    moment.scenario = game_->engine().replay_job();
    moment.playhead.t = game_->engine().story().struck_ns;
    view.emit(action::Custom{"replay the case", [moment](Session& session) {
                                const auto& open = session.documents();
                                for (std::size_t i = 0; i < open.size(); ++i) {
                                  if (open[i]->name != moment.name) continue;
                                  session.apply(action::SwitchTab{static_cast<int>(i)});
                                  session.apply(action::ShowScene{moment.scene_id});
                                  return;
                                }
                                if (!session.simulating()) session.open_moment(moment);
                              }});
  }

  void take(View& view, const DetectiveAnswer& answer) {
    if (answer.start && !making_.valid()) begin(*answer.start);
    if (answer.resume) page_ = Page::Game;
    if (answer.leave) {
      page_ = Page::Start;
      memory_ = {.seed = static_cast<double>(game_->seed() % kMostDetectiveSeed + 1)};
    }
    if (answer.copy) copy(view);
    if (answer.replay) replay(view);
    if (!on_desk()) return;
    DetectiveGame& game = *game_;
    if (answer.node) game.choose_node(*answer.node);
    if (answer.rank) game.choose_rank(*answer.rank);
    if (answer.mark) {
      game.choose_node(answer.mark->first);
      game.mark(answer.mark->first, answer.mark->second);
    }
    if (answer.undo) game.undo(*answer.undo);
    if (answer.kind) game.kind = answer.kind;
    if (answer.node_out) game.choose_node_out(*answer.node_out);
    if (answer.name) memory_.naming = true;
    if (answer.back) memory_.naming = false;
    if (answer.tool && game.why_not(*answer.tool).empty()) {
      game.look(*answer.tool);
      memory_.notes_at = 0;
    }
    if (answer.close && game.missing().empty()) {
      game.close();
      memory_.naming = false;
    }
    if (answer.any()) view.ui.keep_moving();
  }

  std::optional<sim::DetectiveCase> made_;  // the latest; its trace is shared with the game
  std::optional<DetectiveGame> game_;
  DetectiveMemory memory_;
  Page page_ = Page::Start;
  bool seeded_ = false;
  std::future<sim::DetectiveCase> making_;
  double making_since_ = -1;
  DetectiveTale tale_;
  std::optional<Lang> tale_lang_;  // that the tale was told in
};

}  // namespace

std::unique_ptr<Scene> make_detective_scene() {
  return std::make_unique<DetectiveScene>();
}

}  // namespace ringside::app
