// The frame around every scene: rail, top bar, stage, inspector, transport; help, settings, notices, the card
// of a file that cannot be read. It owns no data of the simulation: it reads the Session and emits Actions.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/scenes/scene.hpp"
#include "app/session/session.hpp"
#include "app/session/settings.hpp"
#include "app/shell/break_menu.hpp"
#include "app/shell/glossary_panel.hpp"
#include "app/shell/share_panel.hpp"
#include "app/shell/timeline_track.hpp"

namespace ringside::app {

struct Layout {
  Rect rail, top, stage, inspector, transport;
};
inline constexpr float kRailWidth = 84, kTopHeight = 48, kTransportHeight = 84;
/// From where on there is room for more content, not only larger content.
inline constexpr float kWideFrom = 1500;
/// Below this width the inspector has no room beside the stage; it can be laid over it.
inline constexpr float kNarrowBelow = 1200;
/// The smallest logical window: 1280 × 720 at 125 %, 2560 × 1440 at 250 %.
inline constexpr Vec2 kLeastWindow{1024, 576};

/// The boxes for a window of this logical size. A presenter has the stage only (and its caption).
Layout layout_for(Vec2 window, const SceneEntry& scene, bool inspector_folded, bool presenter,
                  float transport_height = kTransportHeight);

/// The UI scale of a window: 1, 1.25 from 1080 px height, 1.5 from 1440, 2 from 2160 (less where 1280 × 720
/// would not fit), times the user's; never so large that the smallest layout (kLeastWindow) would not fit.
float ui_scale_for(int width, int height, float user_scale);

/// "original", "R2 crash", "R2 crash + 1 more".
std::string branch_name(const Branch& branch);
/// "R3, step 2, backward".
std::string difference_text(const sim::Difference& difference);

/// Toasts that are on screen.
struct ShownNotice {
  Notice notice;
  double since = 0;
  /// What it complains about was just done in a scene: it goes with the next thing that is done.
  struct Moment {
    std::string scene;
    std::uint64_t visit = 0, generation = 0;  // of the lesson's step, the simulation
    bool operator==(const Moment&) const = default;
  };
  std::optional<Moment> only_at;
};

class Shell {
 public:
  Shell();
  /// Draws everything of one frame and collects what the person did.
  void frame(Canvas& canvas, Ui& ui, Session& session, const Settings& settings, double now,
             Actions& actions);

  GlossaryPanel glossary;
  bool help_open = false;
  bool presenter = false;
  BreakMenu break_menu;
  SharePanel share_panel;
  /// An export under way, and how far it is.
  struct Exporting {
    bool running = false;
    int frame = 0, frames = 0;
  } exporting;
  /// Where a presenter has put the circle of light, as shares of the stage; none = not put.
  std::optional<Vec2> spotlight;
  std::string font_notice;  // non-empty: shown until closed (no Korean font)
  /// The scene object on stage; for tests.
  Scene& scene(std::string_view id);

 private:
  void draw_rail(View& view, const Session& session, const Settings& settings, std::string_view lit);
  void draw_top(View& view, Session& session, const Settings& settings, const Scene& scene, bool foldable);
  void draw_transport(View& view, const Session& session, const Scene& scene);
  static float transport_height(const Session& session);
  float draw_branch_chip(View& view, const Session& session, float right, float y);
  void draw_branch_list(View& view, const Session& session, Rect anchor);
  void draw_branch_row(View& view, const Session& session, int index, Rect row);
  void draw_branch_tracks(View& view, const Session& session, const TimelineTrack& track, float y);
  void draw_compare_band(View& view, const Session& session, Rect left, Rect right);
  static std::pair<Rect, Rect> compare_boxes(Rect stage);
  /// The other branch on its half of the stage: a picture that does not react.
  void draw_compared(View& view, Session& session, std::string_view scene_id);
  /// Tabs of the open scenarios; the width that they take.
  void draw_tabs(View& view, const Session& session, float left, float room, float y);
  void place_spotlight(View& view);
  void draw_spotlight(View& view);
  void draw_caption(View& view, const Session& session, const Scene& scene);
  static float draw_live_end(View& view, const TimelineTrack& track, float y);
  void draw_speed_popup(View& view, Rect anchor);
  void draw_settings_popup(View& view, const Settings& settings, Rect anchor);
  void take_notices(const View& view, Session& session);
  void draw_notices(View& view, Session& session);
  void draw_help(View& view);
  void draw_problem(View& view, Session& session);
  void draw_progress(View& view, const Session& session);
  void handle_keys(View& view, Session& session, Scene& scene);
  bool enter_breaks(const Session& session) const;
  Vec2 place_of_selection(const View& view, const Session& session, const Scene& scene) const;

  // A timeline walks the whole trace: made again only when something it depends on has changed.
  struct TimelineKey {
    const Scene* scene = nullptr;
    const sim::Trace* trace = nullptr;
    std::size_t events = 0;
    std::int64_t end = 0;
    Lang lang = Lang::En;
    bool dark = false;
    std::uint64_t generation = 0;
    std::string hosted;  // a lesson's scene
    bool operator==(const TimelineKey&) const = default;
  };
  const Timeline& timeline(const SceneContext& ctx, const Scene& scene);

  TimelineKey timeline_key_;
  Timeline timeline_;
  std::map<std::string, std::unique_ptr<Scene>, std::less<>> scenes_;
  std::map<std::string, std::unique_ptr<Scene>, std::less<>> compared_scenes_;
  int branch_scroll_ = 0;
  bool moving_spotlight_ = false, narrow_ = false, panel_over_ = false;
  std::vector<ShownNotice> shown_;
  std::vector<std::string> complaints_;  // of scenes, about what was just done there; on their way here
  bool was_typing_ = false, was_down_ = false;
  // The reader's step and what was selected when it began.
  std::uint64_t lesson_visit_ = 0;
  Selection lesson_selection_;
  std::string shown_scene_;
  bool timed_ = true;  // it has the transport bar now
  double now_ = 0;
};

}  // namespace ringside::app
