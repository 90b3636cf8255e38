// What a person wants done. Views only emit Actions; Session (and the App, for the window's own) applies them
// between frames. Tests assert on a vector of these.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "app/draw/geometry.hpp"
#include "app/i18n/i18n.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/trace/playhead.hpp"

namespace ringside::app {

class Session;

/// What the inspector is about and the arrows move over. -1 and kNone mean "nothing of that kind".
struct Selection {
  int rank = -1;
  int node = -1;
  int link_from = -1, link_to = -1;
  std::int64_t chunk = -1;
  std::int64_t element = -1;
  std::uint32_t event = sim::kNone;
  bool operator==(const Selection&) const = default;
};

enum class ThemeChoice : std::uint8_t { Dark, Light };
enum class NoticeKind : std::uint8_t { Info, Warning, Error };
struct Notice {
  NoticeKind kind = NoticeKind::Info;
  std::string text;  // already in the person's language
};

namespace action {
// Time. Touching time pauses.
struct TogglePlay {};
struct Pause {};
struct StepBy {
  int direction = 1;  // +1 on, -1 back, by the arrow-key step
};
struct SeekTo {
  std::int64_t t = 0;
};
struct SeekStart {};
struct SeekEnd {};
struct Follow {};
struct SetSpeed {
  double simulated_ns_per_s = 1;
};
struct SetLoop {
  bool on = false;
};
struct SetStepUnit {
  sim::StepUnit unit = sim::StepUnit::RingStep;
};
// What is shown.
struct ShowScene {
  std::string id;
};
struct OpenFile {
  std::string path;
  bool new_tab = false;  // false: takes the place of what is open if nothing was changed or forked there
};
struct Select {
  Selection selection;
};
struct TogglePresenter {};
struct ToggleInspector {};
struct ToggleFullScreen {};
struct ToggleHelp {};
/// Opens the glossary at a word (its English name; "" = all), or closes it.
struct ShowGlossary {
  std::string word;
};
struct SetLanguage {
  Lang lang = Lang::En;
};
struct SetTheme {
  ThemeChoice theme = ThemeChoice::Dark;
};
struct SetUserScale {
  float scale = 1;
};
struct SetReducedMotion {
  bool on = false;
};
struct ShowNotice {
  Notice notice;
};
struct CopyText {
  std::string text;
};
// The scenario. An edit is applied to a copy, checked, and simulated again from the same seed; the playhead
// keeps its place. Edits with the same non-empty `merge` in a row (a drag) are one step of undo.
struct EditScenario {
  std::string what;  // for the log and for tests: "op=max", "world=8"
  std::function<void(sim::Scenario&)> change;
  std::string merge;
};
struct Undo {};
struct Redo {};
// Branches. A fault by hand makes a branch at the playhead; the old future is kept.
/// The fault strikes at the playhead (its own step, at and at_ns are not looked at). Refused with a notice
/// where it cannot be: ask Session::break_choices first.
struct Inject {
  sim::Fault fault;
};
/// A branch without one fault: index into Session::faults(); -1 = the one that the selection is about, else
/// the latest before the playhead.
struct RemoveFault {
  int index = -1;
};
struct SwitchBranch {
  int index = 0;
};
/// Shows another branch beside the current one; -1 = ends it.
struct Compare {
  int with = -1;
};
/// Opens the menu of everything that can be broken on the target. `at`: logical pixels of the window
/// (view.canvas.to_window of the thing, or the mouse).
struct OpenBreakMenu {
  Selection target;
  Vec2 at;
};
/// Stops the simulation that runs in the background; what was on screen stays.
struct CancelSimulation {};
// Scenarios that are open.
struct SwitchTab {
  int index = 0;
};
struct CloseTab {
  int index = 0;
};
// What leaves the window and comes back.
struct CopyMoment {};   // to the clipboard, as a text
struct PasteMoment {};  // from the clipboard
struct OpenMoment {
  std::string text;
};
struct SaveScenario {
  std::string path;
};
/// A picture (.png) of the playhead's moment, or a video (.mp4) of a range.
struct Export {
  std::string path;
  bool video = false;
  int width = 1920, height = 1080, fps = 30;
  double seconds = 10;            // length of the video
  std::int64_t from = 0, to = 0;  // ns
  bool presenter = false;
};
struct CancelExport {};
/// Anything else that one scene needs of the Session.
struct Custom {
  std::string what;
  std::function<void(Session&)> run;
};
}  // namespace action

using Action =
    std::variant<action::TogglePlay, action::Pause, action::StepBy, action::SeekTo, action::SeekStart,
                 action::SeekEnd, action::Follow, action::SetSpeed, action::SetLoop, action::SetStepUnit,
                 action::ShowScene, action::OpenFile, action::Select, action::TogglePresenter,
                 action::ToggleInspector, action::ToggleFullScreen, action::ToggleHelp, action::ShowGlossary,
                 action::SetLanguage, action::SetTheme, action::SetUserScale, action::SetReducedMotion,
                 action::ShowNotice, action::CopyText, action::EditScenario, action::Undo, action::Redo,
                 action::Inject, action::RemoveFault, action::SwitchBranch, action::Compare,
                 action::OpenBreakMenu, action::CancelSimulation, action::SwitchTab, action::CloseTab,
                 action::CopyMoment, action::PasteMoment, action::OpenMoment, action::SaveScenario,
                 action::Export, action::CancelExport, action::Custom>;
using Actions = std::vector<Action>;

}  // namespace ringside::app
