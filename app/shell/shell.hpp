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

namespace ringside::app {

struct Layout {
  Rect rail, top, stage, inspector, transport;
};
inline constexpr float kRailWidth = 84, kTopHeight = 48, kTransportHeight = 84;
/// From where on there is room for more content, not only larger content.
inline constexpr float kWideFrom = 1500;

/// The boxes for a window of this logical size. A presenter has the stage only (and its caption).
Layout layout_for(Vec2 window, const SceneEntry& scene, bool inspector_folded, bool presenter);

/// The UI scale of a window: 1, 1.25 from 1080 px height, 1.5 from 1440, 2 from 2160, times the user's; never
/// so large that the smallest layout (1280 × 720) would not fit.
float ui_scale_for(int width, int height, float user_scale);

/// Toasts that are on screen.
struct ShownNotice {
  Notice notice;
  double since = 0;
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
  std::string font_notice;  // non-empty: shown until closed (no Korean font)
  /// The scene object on stage; for tests.
  Scene& scene(std::string_view id);

 private:
  void draw_rail(View& view, const Session& session, const Settings& settings, std::string_view lit);
  void draw_top(View& view, Session& session, const Settings& settings, const Scene& scene, bool foldable);
  void draw_transport(View& view, const Scene& scene);
  void draw_caption(View& view, const Scene& scene);
  void draw_speed_popup(View& view, Rect anchor);
  void draw_settings_popup(View& view, const Settings& settings, Rect anchor);
  void draw_notices(View& view, Session& session);
  void draw_help(View& view);
  void draw_problem(View& view, Session& session);
  void draw_progress(View& view, const Session& session);
  void handle_keys(View& view, Session& session, Scene& scene);
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
  std::uint64_t generation_ = 0;
  std::map<std::string, std::unique_ptr<Scene>, std::less<>> scenes_;
  std::vector<ShownNotice> shown_;
  std::string shown_scene_;
  bool timed_ = true;  // it has the transport bar now
  double now_ = 0;
};

}  // namespace ringside::app
