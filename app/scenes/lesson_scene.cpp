// The lesson page: the author's words at the left, and beside them the living scene that the step names. The
// scene is a real one, with its own inspector and timeline; the page only frames it, marks what the text is
// about, and watches whether what the step asks for has happened.
#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "app/i18n/i18n.hpp"
#include "app/i18n/titles.hpp"
#include "app/scenes/lesson_panel.hpp"
#include "app/session/session.hpp"
#include "sim/lesson/facts.hpp"

namespace ringside::app {
namespace {

constexpr float kWide = 1400;  // of the page: from here on there is room for the inspector as well

/// What stands in a scene's inspector, not on its stage.
bool in_inspector(std::string_view scene, std::string_view name) {
  constexpr std::array<std::string_view, 4> kAlways{"log", "now", "edit", "bits"};
  if (std::find(kAlways.begin(), kAlways.end(), name) != kAlways.end()) return true;
  return (name == "goal" && scene == "allreduce") || (name == "element" && scene == "tensor");
}

class LessonPage final : public Scene {
 public:
  void prepare(const SceneContext& ctx) override {
    follow_desk(ctx);
    lay_out(ctx);
    hosted_ctx_.reset();
    if (scene_ == nullptr || !can_show(ctx)) return;
    hosted_ctx_.emplace(ctx);
    hosted_ctx_->stage = {stage_.w, stage_.h};
    scene_->prepare(*hosted_ctx_);
  }

  void draw(View& view) override {
    pass_on(view);
    const Vec2 origin{view.box.x, view.box.y};
    const Rect stage = stage_.moved(origin);
    if (hosted_ctx_) {
      View inner{view.canvas, view.ui, hosted_actions_, *hosted_ctx_, stage};
      view.canvas.push_clip(stage);
      scene_->draw(inner);
      view.canvas.pop_clip();
      if (question_open_) draw_covers(view);
      if (inspector_.w > 0) draw_inspector(view, inspector_.moved(origin));
    } else {
      draw_absence(view, stage);
    }
    if (below_panel_.h > 0) draw_below_panel(view, below_panel_.moved(origin));
    if (panel_box_.w > 0) {
      View panel{view.canvas, view.ui, view.actions, view.ctx, panel_box_.moved(origin)};
      const bool ahead =
          hosted_ctx_ && scene_->wants_transport(*hosted_ctx_) && view.ctx.playhead.t < view.ctx.end_time;
      panel_.has_inspector = inspector_width_ > 0 && !question_open_ && hosted_ctx_.has_value();
      lesson::draw_panel(panel, *view.ctx.lessons, panel_,
                         ahead && view.ctx.playhead.mode == sim::PlayMode::Paused);
      if (std::exchange(panel_.turn_inspector, false)) {
        inspector_wanted_ = inspector_.w <= 0;
        view.ui.keep_moving();
      }
    }
    watch(view);
  }

  bool key(Key key, View& view) override {
    const LessonDesk* desk = view.ctx.lessons;
    if (desk == nullptr || desk->lesson() == nullptr) return false;
    if (key == Key::PageDown || key == Key::PageUp) {
      view.emit(lesson::go(key == Key::PageDown ? 1 : -1));
      return true;
    }
    if (desk->question_open()) {
      const auto last = static_cast<int>(desk->step()->question->choices.size()) - 1;
      const bool none = panel_.cursor < 0;
      if (key == Key::Up || key == Key::Left)
        return move_cursor(none ? last : std::max(0, panel_.cursor - 1));
      if (key == Key::Down || key == Key::Right) return move_cursor(std::min(last, panel_.cursor + 1));
      if (key == Key::Enter) {
        if (!none) view.emit(lesson::answer(panel_.cursor));
        return true;
      }
    }
    if (!hosted_ctx_) return false;
    View inner{view.canvas, view.ui, hosted_actions_, *hosted_ctx_, stage_};
    return scene_->key(key, inner);
  }

  bool owns_arrows() const override { return question_open_ || (hosted_ctx_ && scene_->owns_arrows()); }

  Timeline timeline(const SceneContext& ctx) const override {
    return scene_ != nullptr ? scene_->timeline(ctx) : default_timeline(ctx);
  }
  std::string caption(const SceneContext& ctx) const override {
    return hosted_ctx_ ? scene_->caption(ctx) : std::string();
  }
  std::string caption_detail(const SceneContext& ctx) const override {
    return hosted_ctx_ ? scene_->caption_detail(ctx) : std::string();
  }
  std::string title(const SceneContext& ctx) const override {
    const sim::Lesson* lesson = ctx.lessons != nullptr ? ctx.lessons->lesson() : nullptr;
    return lesson != nullptr ? lesson->title.in(language() == Lang::Ko) : tr("scene.lesson");
  }
  std::string facts(const SceneContext& ctx) const override {
    const sim::Lesson* lesson = ctx.lessons != nullptr ? ctx.lessons->lesson() : nullptr;
    if (lesson == nullptr) return " ";
    std::string out = tr("lesson.number", {std::to_string(ctx.lessons->library().number_of(lesson->id))});
    if (hosted_ctx_ && !ctx.trace.header.title.empty() && needs_trace_)
      out += " · " + known_title(ctx.trace.header.title);
    return out;
  }
  bool wants_transport(const SceneContext& ctx) const override {
    const SceneEntry* entry = ctx.lessons != nullptr ? find_scene(ctx.lessons->scene()) : nullptr;
    return entry != nullptr && entry->transport && !ctx.trace.empty();
  }
  std::string_view rail_id() const override { return id_; }
  std::map<std::string, sim::FactValue> lesson_facts(const SceneContext& ctx) const override {
    return scene_ != nullptr ? scene_->lesson_facts(ctx) : std::map<std::string, sim::FactValue>();
  }

  void over(View& view) override {
    if (!hosted_ctx_ || view.ctx.lessons->step() == nullptr || menu_hides_marks(view)) return;
    std::vector<Rect> boxes;
    for (const std::string& name : view.ctx.lessons->step()->highlight) {
      std::vector<Rect> found = scene_->places(name);
      if (found.empty() && name == "transport")
        if (const auto box = view.ui.probe("transport.timeline"))
          found.push_back({box->x - 2, box->y - 16, box->w + 4, box->h + 20});  // with its labels and marks
      // What has no extent is not on the stage now: nothing to put a line around.
      std::copy_if(found.begin(), found.end(), std::back_inserter(boxes),
                   [](const Rect& box) { return box.w >= 4 && box.h >= 4; });
    }
    draw_marks(view, boxes);
  }

 private:
  /// The scene object of the desk's scene; another step may bring another.
  void follow_desk(const SceneContext& ctx) {
    const LessonDesk* desk = ctx.lessons;
    question_open_ = desk != nullptr && desk->question_open();
    if (desk == nullptr || desk->scene().empty()) return;
    if (visit_ != desk->visit()) {
      visit_ = desk->visit();
      entered_ = ctx.now;
      inspector_wanted_.reset();
      place_pending_ = begin_pending_ = true;
    }
    if (begin_pending_ && desk->ready()) {  // the desk has just put the playhead there
      begin_pending_ = false;
      panel_.begin = ctx.playhead.t;
    }
    if (desk->scene() != id_ || scene_ == nullptr || openings_ != desk->openings()) take_scene(desk->scene());
    openings_ = desk->openings();
    if (!place_pending_ || scene_ == nullptr) return;
    place_pending_ = false;
    if (!desk->own_place().empty()) static_cast<void>(scene_->go_to(desk->own_place()));
  }

  void take_scene(const std::string& id) {
    id_ = id;
    const SceneEntry* entry = find_scene(id_);
    needs_trace_ = entry == nullptr || entry->needs_trace;
    inspector_width_ = entry != nullptr ? entry->inspector_width : 0;
    scene_ = entry != nullptr && entry->make != nullptr && id_ != kLessonScene ? entry->make() : nullptr;
    hosted_actions_.clear();
  }

  bool can_show(const SceneContext& ctx) const { return !needs_trace_ || !ctx.trace.empty(); }

  /// Text | stage | inspector. The text has one width, so that the figure stays where it is.
  void lay_out(const SceneContext& ctx) {
    const Rect all{0, 0, ctx.stage.x, ctx.stage.y};
    const bool wide = all.w > kWide;
    const sim::LessonStep* step = ctx.lessons != nullptr ? ctx.lessons->step() : nullptr;
    const float panel = lesson::column_width(all.w);
    float inspector = 0;
    if (shows_inspector(step, wide) && !ctx.presenter)
      inspector = std::max(inspector_width_, wide ? 372.0f : 0.0f);
    const bool bar_below = wants_transport(ctx) || ctx.presenter;
    panel_box_ = {0, 0, panel, bar_below ? all.h : all.h - lesson::kBelowColumn};
    below_panel_ = {0, panel_box_.bottom(), panel, all.h - panel_box_.h};
    stage_ = {panel, 0, all.w - panel - inspector, all.h};
    inspector_ = {all.w - inspector, 0, inspector, all.h};
  }

  bool shows_inspector(const sim::LessonStep* step, bool wide) const {
    if (inspector_width_ <= 0 || scene_ == nullptr || question_open_) return false;  // it may hold the answer
    if (inspector_wanted_) return *inspector_wanted_;
    if (wide) return true;
    return step != nullptr && std::any_of(step->highlight.begin(), step->highlight.end(),
                                          [&](const std::string& name) { return in_inspector(id_, name); });
  }

  /// Where other scenes of the lesson have their transport bar: nothing, so that a click that was meant for
  /// Next can hit nothing there.
  static void draw_below_panel(View& view, Rect box) {
    const Theme& t = view.canvas.theme();
    view.canvas.rect(box, {.fill = t.panel});
    view.canvas.line({box.x, box.y}, {box.right(), box.y}, t.line);
    view.canvas.line({box.right(), box.y}, {box.right(), box.bottom()}, t.line);
  }

  void draw_inspector(View& view, Rect box) {
    view.canvas.rect(box, {.fill = view.canvas.theme().panel});
    view.canvas.line({box.x, box.y}, {box.x, box.bottom()}, view.canvas.theme().line);
    View inner{view.canvas, view.ui, hosted_actions_, *hosted_ctx_, box};
    view.canvas.push_clip(box);
    scene_->inspector(inner);
    view.canvas.pop_clip();
  }

  /// What would give the answer away, behind a curtain. It takes the mouse too.
  void draw_covers(View& view) const {
    Canvas& c = view.canvas;
    const Theme& t = c.theme();
    c.push_layer();
    int index = 0;
    for (const std::string& name : view.ctx.lessons->step()->cover)
      for (const Rect& box : scene_->places(name)) {
        c.rect(box, {.fill = t.raised, .radius = 10});
        c.rect(box, {.stroke = t.edge, .radius = 10, .width = 1.5f, .dash = {6, 5}});
        const bool tall = box.h > 110;
        c.text({box.center().x, box.center().y - (tall ? 16.0f : 0.0f)}, "?",
               {.size = tall ? 56.0f : 24.0f, .face = Face::Bold, .align = Align::Center});
        const std::string& words = tr("lesson.covered");
        if (tall && c.width(words, 15) + 24 < box.w)
          c.text({box.center().x, box.center().y + 34}, words,
                 {.size = 15, .color = t.t2, .align = Align::Center});
        view.ui.hit("lesson.cover." + std::to_string(index++), box, {.focusable = false});
      }
    c.pop_layer();
  }

  /// What the hosted scene wants done is done, except that another scene comes onto this stage.
  void pass_on(View& view) {
    for (Action& action : hosted_actions_) {
      if (const auto* show = std::get_if<action::ShowScene>(&action)) {
        const std::string id = show->id;
        view.emit(action::Custom{"lesson.scene:" + id, [id](Session& s) { s.lessons.show_scene(id); }});
      } else {
        view.emit(std::move(action));
      }
    }
    hosted_actions_.clear();
  }

  /// A build without the scene, or a step without anything open.
  void draw_absence(View& view, Rect stage) const {
    Canvas& c = view.canvas;
    const Theme& t = c.theme();
    const std::string words =
        scene_ == nullptr && !id_.empty() ? tr("lesson.no_scene", {id_}) : tr("lesson.nothing_open");
    c.glyph(Glyph::Lesson, {stage.center().x, stage.center().y - 44}, 40, t.t3, 2);
    float y = stage.center().y + 8;
    for (const std::string& line : wrap(c.fonts(), words, stage.w - 120, 17)) {
      c.text({stage.center().x, y}, line, {.size = 17, .color = t.t2, .align = Align::Center});
      y += 26;
    }
  }

  /// Looks whether what the step waits for is true now.
  void watch(View& view) {
    const LessonDesk& desk = *view.ctx.lessons;
    const sim::LessonStep* step = desk.step();
    const bool watches = step != nullptr && !desk.fulfilled() && !desk.question_open() && desk.ready();
    if (!watches || scene_ == nullptr) {
      panel_.past = false;
      return;
    }
    const sim::LessonWorld world = world_now(view);
    if (sim::all_hold(step->until, world))
      view.emit(action::Custom{"lesson.fulfilled", [](Session& s) { s.lessons.fulfil(); }});
    const bool at_end = world.trace != nullptr && view.ctx.playhead.t >= view.ctx.end_time;
    const bool past = at_end && held_before(view, step->until, world);
    if (std::exchange(panel_.past, past) != past) view.ui.keep_moving();
  }

  sim::LessonWorld world_now(const View& view) const {
    const LessonDesk& desk = *view.ctx.lessons;
    sim::LessonWorld world;
    if (!view.ctx.trace.empty()) {
      world.trace = &view.ctx.trace;
      world.frame = &view.ctx.frame;
    }
    world.scenario = view.ctx.scenario;
    world.end_time = view.ctx.end_time;
    world.scene = desk.scene();
    world.selected_rank = view.ctx.selection.rank;
    world.selected_chunk = view.ctx.selection.chunk;
    world.selected_element = view.ctx.selection.element;
    world.of_scene = scene_->lesson_facts(hosted_ctx_ ? *hosted_ctx_ : view.ctx);
    return world;
  }

  /// Whether the conditions held at a moment between the step's begin and the end: then the reader has jumped
  /// over it. Looked up once for a step and a simulation.
  bool held_before(const View& view, const std::vector<sim::Condition>& conditions, sim::LessonWorld world) {
    const std::pair key{visit_, view.ctx.generation};
    if (held_key_ == key) return held_;
    held_key_ = key;
    held_ = false;
    constexpr std::size_t kMostMoments = 300;  // of a long trace, evenly
    std::vector<std::int64_t> moments;
    for (const sim::Event& event : world.trace->events())
      if (event.t >= panel_.begin) moments.push_back(event.t);
    std::sort(moments.begin(), moments.end());
    moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
    const std::size_t stride = moments.size() / kMostMoments + 1;
    sim::FrameSource frames(*world.trace);
    for (std::size_t i = 0; i < moments.size() && !held_; i += stride) {
      world.frame = &frames.frame_at(moments[i]);
      held_ = sim::all_hold(conditions, world);
    }
    return held_;
  }

  bool move_cursor(int to) {
    panel_.cursor = to;
    return true;
  }

  /// While a menu is open, marks would only be in the way.
  static bool menu_hides_marks(const View& view) { return view.ui.any_popup_open(); }

  /// A line of ink around what the text speaks of; it closes in once, then stays.
  void draw_marks(View& view, const std::vector<Rect>& boxes) const {
    constexpr double kSeconds = .5;
    Canvas& c = view.canvas;
    const Theme& t = c.theme();
    float far = 0;
    if (!view.ctx.reduced_motion && view.ctx.now > 0) {
      const double x = std::clamp((view.ctx.now - entered_) / kSeconds, 0.0, 1.0);
      far = static_cast<float>(10 * (1 - x) * (1 - x));
      if (x < 1) view.ui.keep_moving();
    }
    const float width = boxes.size() > 2 ? 1.75f : 2.5f;
    c.push_layer();
    for (const Rect& box : boxes) {
      const Rect ring = box.inset(-5 - far);
      c.rect(ring.inset(-width), {.stroke = fade(t.accent, .22f), .radius = 13, .width = 4});
      c.rect(ring, {.stroke = t.accent, .radius = 11, .width = width});
    }
    c.pop_layer();
  }

  std::string id_;
  std::unique_ptr<Scene> scene_;
  bool needs_trace_ = true;
  float inspector_width_ = 0;
  std::optional<SceneContext>
      hosted_ctx_;  // alive until the next prepare: popups of the scene hold views of it
  Actions hosted_actions_;
  Rect panel_box_, below_panel_, stage_, inspector_;
  double entered_ = 0;
  std::pair<std::uint64_t, std::uint64_t> held_key_{~std::uint64_t{0}, 0};
  bool held_ = false;
  bool place_pending_ = false, begin_pending_ = false;
  bool question_open_ = false;
  std::uint64_t visit_ = 0, openings_ = 0;
  std::optional<bool> inspector_wanted_;  // the reader's own choice, for this step
  lesson::PanelState panel_;
};

}  // namespace

std::unique_ptr<Scene> make_lesson_scene() {
  return std::make_unique<LessonPage>();
}

}  // namespace ringside::app
