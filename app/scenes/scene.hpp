// A scene: one way to look at a Trace. This is the contract of everybody who adds one (docs/app.md shows
// how).
//
// A scene gets a `const Frame&` and never asks where it came from; it changes nothing itself, it emits
// Actions. prepare() turns the frame into draw items (positions, colours, words) and needs no window, so it
// is unit-tested; draw() paints them and places widgets.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/draw/canvas.hpp"
#include "app/session/actions.hpp"
#include "app/ui/ui.hpp"
#include "sim/job/simulate.hpp"
#include "sim/model/time_model.hpp"
#include "sim/lesson/lesson.hpp"
#include "sim/trace/frame.hpp"
#include "sim/trace/playhead.hpp"
#include "sim/trace/trace.hpp"

namespace ringside::app {

class IncidentDesk;
class LiveDesk;

/// What can be done with what is open; a reason (a text key) where it cannot. Views show disabled controls
/// with the reason; they never ask for the kind of source.
struct Abilities {
  std::string_view edit_why_not;  // "" = the scenario can be edited
  std::string_view fork_why_not;
  bool can_edit() const { return edit_why_not.empty(); }
  bool can_fork() const { return fork_why_not.empty(); }
};

/// A scenario that comes with Ringside or was opened lately.
struct LibraryEntry {
  std::string path, title;
  bool recent = false;
};

/// The array file (.npy) that was opened last, for the tensor scene.
struct OpenedArray {
  std::shared_ptr<const sim::Tensor> tensor;
  std::string name;          // "rank0.npy"
  std::uint64_t serial = 0;  // 0 = none yet; grows with every file
};

class LessonDesk;
struct Glossary;

/// Everything a scene may know in one frame. References are valid during the frame only.
struct SceneContext {
  const sim::Trace& trace;
  const sim::Frame& frame;
  const sim::Playhead& playhead;
  std::int64_t end_time = 0;                                // while a job runs: after all that is known
  std::uint64_t generation = 0;                             // changes when another trace is shown
  const sim::Scenario* scenario = nullptr;                  // what made the trace, if known
  std::span<const sim::Command> commands = {};              // … and the faults given by hand
  const sim::Simulation* simulation = nullptr;              // outcome and results, if simulated
  std::shared_ptr<const sim::Simulation> shared = nullptr;  // the same, for work on another thread
  Abilities can;
  const Selection& selection;
  const TextMeasurer& measure;
  const Theme& theme;
  std::span<const LibraryEntry> library;
  const OpenedArray& array;
  const LessonDesk* lessons = nullptr;   // null: no lessons here (tests)
  const Glossary* glossary = nullptr;
  /// While a lesson asks what comes next: nothing later than this may be shown.
  std::optional<std::int64_t> covered_from = {};
  const sim::TimeModel* time_model = nullptr;  // assets/presets.toml; null if it could not be read
  const IncidentDesk* incidents = nullptr;  // logs that are read or were read
  const LiveDesk* live = nullptr;           // a running job that is watched, or was
  Vec2 stage{};    // logical size of the stage
  double now = 0;  // wall seconds for drifts and tweens; 0 in --render
  bool reduced_motion = false;
  bool presenter = false;
};

/// What a scene draws on and talks through.
struct View {
  Canvas& canvas;
  Ui& ui;
  Actions& actions;
  const SceneContext& ctx;
  Rect box;  // the stage, or the inspector
  void emit(Action action) { actions.push_back(std::move(action)); }
};

/// The timeline of the transport bar.
struct TimelineBand {
  std::int64_t from = 0, to = 0;
  std::string label;  // above the band, if it has room
};
struct TimelineMark {
  std::int64_t t = 0;
  Glyph glyph = Glyph::Flag;
  Color color{};
};
struct Timeline {
  std::int64_t from = 0, to = 0;
  std::vector<TimelineBand> bands = {};
  std::vector<std::int64_t> ticks = {};
  struct Label {
    std::int64_t t = 0;  // middle
    std::string text;
  };
  std::vector<Label> labels = {};  // inside the bands
  std::vector<TimelineMark> marks = {};
};
/// Ring steps and phases of the collective on stage if its steps are visible; phases of rank 0 otherwise.
/// Marks where ranks die, time out or find NaN.
Timeline default_timeline(const SceneContext& ctx);

class Scene {
 public:
  virtual ~Scene() = default;
  /// From the frame to draw items. Called once a frame, before draw and inspector. No ImGui.
  virtual void prepare(const SceneContext& ctx) = 0;
  /// Paints the stage (view.box).
  virtual void draw(View& view) = 0;
  /// Paints the inspector (view.box): Now > goal or diagnosis > log > action at the bottom.
  virtual void inspector(View&) {}
  /// A key that the shell has no use for, or arrows while the scene owns them. True if it was used.
  virtual bool key(Key, View&) { return false; }
  /// True while the arrow keys move a selection of this scene instead of time.
  virtual bool owns_arrows() const { return false; }
  virtual Timeline timeline(const SceneContext& ctx) const { return default_timeline(ctx); }
  /// The one sentence under the figure for a presenter (<= 60 Latin, <= 34 Hangul characters), and its detail
  /// at the right ("transfer 2 of 4").
  virtual std::string caption(const SceneContext&) const { return {}; }
  virtual std::string caption_detail(const SceneContext&) const { return {}; }
  /// Facts beside the title in the top bar; empty = the shell's own ("AllReduce · ring · float32 · sum").
  virtual std::string facts(const SceneContext&) const { return {}; }
  /// What a person has chosen on this scene that is not in the Session ("tensor row"), for a moment that is copied,
  /// and back. Text from outside: what is not understood is left as it is.
  virtual std::string view_state() const { return {}; }
  virtual void set_view_state(std::string_view) {}
  /// False while this scene has no use for the transport bar, though its row has one.
  virtual bool wants_transport(const SceneContext&) const { return true; }
  /// The rail lights this scene's row up instead; empty = the scene's own.
  virtual std::string_view rail_id() const { return {}; }
  /// Drawn last, over the bars (view.box = the window): marks on what was drawn before.
  virtual void over(View&) {}
  /// What only this scene knows, for the conditions of lessons: names and meaning in sim/lesson/facts.cpp.
  virtual std::map<std::string, sim::FactValue> lesson_facts(const SceneContext&) const { return {}; }
  /// Where something that a lesson points at ("rank:2", "goal", "dial" …) was drawn in the last frame, in the
  /// coordinates of view.box; empty if it is not on screen. The names are those that a lesson's highlight may have.
  virtual std::vector<Rect> places(std::string_view) const { return {}; }
  /// The title in the top bar; empty = the shell's own (that of what is open).
  virtual std::string title(const SceneContext&) const { return {}; }
  /// How far the scene's own story has come, 0 … 1, for a presenter's progress line. Scenes with the
  /// transport bar leave it to the playhead.
  virtual std::optional<float> progress() const { return {}; }
  /// Where the scene stands, for what is not in the trace ("rung:3"), and the way back there: command line,
  /// lessons, a copied moment. go_to is false for a place that the scene does not know, and then changes
  /// nothing.
  virtual std::string place() const { return {}; }
  virtual bool go_to(std::string_view) { return false; }
  /// Ctrl+Z (or redo) while this scene keeps edits of its own; true if it took the key.
  virtual bool undo_own(bool /*redo*/) { return false; }
};

/// One row of the table of scenes.
struct SceneEntry {
  std::string_view
      id;  // CONTRACTS: home, tensor, same-shape, step, allreduce, nan, cluster, duel, live, incident
  std::string_view title_key;  // under the icon of the rail
  Glyph icon = Glyph::None;
  bool in_rail = true;
  bool rule_after = false;      // a line in the rail below it
  float inspector_width = 316;  // 0 = none
  bool transport = true;
  bool needs_trace = true;  // false: can be shown with nothing open (prepare gets an empty trace)
  std::unique_ptr<Scene> (*make)() = nullptr;
};

/// All scenes, in the order of the rail. To add one: its file, its line in registry.cpp, its texts.
std::span<const SceneEntry> scene_table();
const SceneEntry* find_scene(std::string_view id);

}  // namespace ringside::app
