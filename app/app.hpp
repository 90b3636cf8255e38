// One running Ringside: fonts, settings, session, shell; and one frame of it. The window, the off-screen
// renderer and the tests all run this same frame.
#pragma once

#include <memory>
#include <string>

#include "app/draw/record.hpp"
#include "app/session/export_job.hpp"
#include "app/session/session.hpp"
#include "app/session/settings.hpp"
#include "app/shell/shell.hpp"
#include "app/text/fonts.hpp"

namespace ringside::app {

class App {
 public:
  /// ImGui's context must exist. `assets` = the folder with lang/ and scenarios/.
  /// `state` = the folder that keeps the reader's progress; "" keeps nothing (tests, --render).
  App(std::unique_ptr<Fonts> fonts, Settings settings, const std::string& assets,
      const std::string& state = {});

  /// Applies what is pending, draws one frame into ImGui's draw list and collects Actions for the next. Call
  /// between ImGui::NewFrame and Render. `wall_ns` = since the last frame; `now` = wall seconds (constant in
  /// --render).
  void frame(int width, int height, std::int64_t wall_ns, double now, DrawRecord* record = nullptr);
  /// Sets fonts up for this window size if the scale has changed. Call before ImGui::NewFrame; true if it
  /// did.
  bool prepare_fonts(int width, int height);

  /// Seconds until the next frame is needed: 0 = at once, large = only on input.
  double next_frame_in() const;
  /// Input came: draw a few frames, since hover and focus settle one frame later.
  void expect_input() { settle_frames_ = 3; }
  /// Arrays together, or the first file.
  void open_files(const std::vector<std::string>& paths, bool new_tab);
  /// Files that were dropped on the window: beside what is open.
  void drop_files(const std::vector<std::string>& paths) { open_files(paths, true); }

  /// Connects to the hub of a running job and goes to the live scene.
  sim::Status watch(std::string_view url);
  /// Opens a moment; the error says what is wrong with the text.
  sim::Status open_moment(std::string_view text);
  /// The moment on screen as a text.
  sim::Result<std::string> moment_text();

  Session& session() { return session_; }
  Shell& shell() { return shell_; }
  Ui& ui() { return ui_; }
  Fonts& fonts() { return *fonts_; }
  Settings& settings() { return settings_; }
  const Theme& theme() const;
  Color background() const { return theme().stage; }
  /// The Actions that the last frame emitted (applied at the start of the next one).
  const Actions& actions() const { return actions_; }
  /// Applies pending Actions now.
  void apply_actions();

  // What only the window can do; taken by main.
  bool take_full_screen() { return std::exchange(full_screen_wanted_, false); }
  bool settings_changed() { return std::exchange(settings_changed_, false); }
  std::string window_title() const;
  ExportJob& export_job() { return export_; }
  /// The ringside that exports run; "" = none (tests).
  std::string program = own_program();
  bool keep_settings = true;  // false: tests and --render leave no file behind

 private:
  void apply_to_window(const Action& action);
  /// Moments, files, exports. True if it was one of them.
  bool share(const Action& action);
  void refresh_library();
  void refresh_lessons(double now);

  std::unique_ptr<Fonts> fonts_;
  Settings settings_;
  std::string assets_;
  Session session_;
  Shell shell_;
  Ui ui_;
  ExportJob export_;
  Actions actions_;
  float font_scale_ = 0;
  double next_frame_in_ = 0;
  int settle_frames_ = 3;  // hover and layout settle one frame after a change
  bool full_screen_wanted_ = false, settings_changed_ = false;
  double lessons_seen_ = -1e9;  // when the lesson files were looked at last
  ThemeChoice theme_before_presenting_ = ThemeChoice::Dark;
};

}  // namespace ringside::app
