// `ringside`: opens the window, or renders one frame off-screen. The frame loop is all here.
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <memory>
#include <thread>

#include "app/app.hpp"
#include "app/imgui_compat.hpp"
#include "app/options.hpp"
#include "app/platform/platform.hpp"
#include "app/render.hpp"
#include "app/session/files.hpp"
#include "app/session/live_desk.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

/// ImGui's context for as long as the platform and the app live.
struct ImGuiGuard {
  ImGuiGuard() {
    IMGUI_CHECKVERSION();
    ImGui::CreateContext();
    ImGui::GetIO().IniFilename = nullptr;
  }
  ~ImGuiGuard() { ImGui::DestroyContext(); }
};

int fail(const sim::Error& error, int code) {
  std::fprintf(stderr, "ringside: %s\n", sim::escape_for_display(error.message()).c_str());
  return code;
}

volatile std::sig_atomic_t g_interrupted = 0;

/// A text of the command line, or standard input, bounded.
std::string moment_text(const std::string& given) {
  if (given != "-") return given;
  std::string out(kMaxMomentText + 1, '\0');
  std::cin.read(out.data(), static_cast<std::streamsize>(out.size()));
  out.resize(static_cast<std::size_t>(std::cin.gcount()));
  return out;
}

/// "ID" or "ID:STEP", the step from 1.
sim::Status start_lesson(Session& session, const std::string& wanted) {
  const std::size_t colon = wanted.find(':');
  const std::string id = wanted.substr(0, colon);
  int step = 1;
  if (colon != std::string::npos) {
    const char* end = wanted.data() + wanted.size();
    const auto read = std::from_chars(wanted.data() + colon + 1, end, step);
    if (read.ec != std::errc{} || read.ptr != end || step < 1)
      return sim::Error{.what = "--lesson \"" + wanted + "\" is not a lesson and a step",
                        .legal = "ID or ID:STEP, from 1"};
  }
  if (session.lessons.start(session, id, step - 1)) {
    session.finish_simulation();
    return sim::ok();
  }
  std::string legal;
  for (const LessonFile& file : session.lessons.library().files()) {
    if (!file.error) legal += (legal.empty() ? "" : ", ") + file.lesson.id;
  }
  return sim::Error{.what = "there is no lesson \"" + id + "\"", .legal = legal};
}

/// Connects to a running job. A picture is of what has come after a while.
sim::Status start_watching(App& app, const Options& options) {
  std::string url = options.watch;
  if (url == "-") std::getline(std::cin, url);
  if (const sim::Status status = app.watch(url); !status) return status;
  if (options.render.empty()) return sim::ok();
  Session& session = app.session();
  constexpr auto kCatchingUp = std::chrono::seconds(60);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(options.watch_for);
  const auto now = [] { return std::chrono::steady_clock::now(); };
  while (now() < end || (!session.live().caught_up() && now() < end + kCatchingUp)) {
    session.update(0);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (session.live().trace() != nullptr || session.has_trace()) return sim::ok();
  const std::string& why = session.live().status().text;
  return sim::Error{.what = "the hub was not reached" + (why.empty() ? "" : ": " + why)};
}

/// Opens the files of the command line and goes to the wanted scene and moment. An error only if it must end
/// the run.
sim::Status open_files(App& app, const Options& options) {
  Session& session = app.session();
  if (!options.files.empty()) app.drop_files(options.files);
  if (!options.moment.empty())
    if (const sim::Status opened = app.open_moment(moment_text(options.moment)); !opened) return opened;
  session.finish_simulation();
  if (session.problem()) return session.problem()->error;
  if (!options.watch.empty()) {
    if (const sim::Status status = start_watching(app, options); !status) return status;
  }
  if (!options.scene.empty()) {
    if (find_scene(options.scene) == nullptr) {
      std::string legal;
      for (const SceneEntry& entry : scene_table())
        legal += (legal.empty() ? "" : ", ") + std::string(entry.id);
      return sim::Error{.what = "there is no scene \"" + options.scene + "\"", .legal = legal};
    }
    session.scene_id = options.scene;
  }
  if (!options.lesson.empty())
    if (const sim::Status started = start_lesson(session, options.lesson); !started) return started;
  if (!options.at.empty() && !options.scene.empty() && app.shell().scene(options.scene).go_to(options.at))
    return sim::ok();  // a place of the scene's own
  if (!options.at.empty()) {
    const auto t = parse_at(options.at, session.trace());
    if (!t) return t.error();
    session.playhead().t = *t;
  }
  return sim::ok();
}

int render(App& app, Platform& platform, const Options& options) {
  app.keep_settings = false;
  if (const sim::Status status = open_files(app, options); !status) return fail(status.error(), 2);
  if (options.render.ends_with(".mp4")) {
    std::signal(SIGINT, [](int) { g_interrupted = 1; });
    std::signal(SIGTERM, [](int) { g_interrupted = 1; });
    const sim::Status status = render_video(app, platform, options, [] { return g_interrupted != 0; });
    return status ? 0 : fail(status.error(), 1);
  }
  const Image image = render_image(app, platform, options.width, options.height);
  if (const sim::Status status = write_png(options.render, image); !status) return fail(status.error(), 1);
  return 0;
}

int run_window(App& app, Platform& platform, const Options& options) {
  if (const sim::Status status = open_files(app, options); !status && !app.session().problem())
    return fail(status.error(), 2);
  double last = platform.now();
  int frames = 0;
  Image image;
  std::string title;
  double build_seconds = 0;
  while (platform.open()) {
    // Asleep until something moves or somebody acts.
    platform.poll(options.smoke > 0 ? 0 : app.next_frame_in());
    app.drop_files(platform.take_dropped_files());
    const auto size = ImGui::GetIO().DisplaySize;
    const bool rebuilt = app.prepare_fonts(frames == 0 ? options.width : static_cast<int>(size.x),
                                           frames == 0 ? options.height : static_cast<int>(size.y));
    if (rebuilt && frames > 0) compat::font_texture_changed();
    if (platform.begin_frame()) app.expect_input();
    const double now = platform.now();
    draw_frame(app, platform, static_cast<std::int64_t>((now - last) * 1e9), now);
    build_seconds += platform.now() - now;
    last = now;
    // Only when it changes: a new title is an event, and would wake the next poll.
    if (std::string wanted = app.window_title(); wanted != title)
      platform.set_title(title = std::move(wanted));
    ++frames;
    const bool last_frame = options.smoke > 0 && frames >= options.smoke;
    platform.end_frame(app.background(), last_frame ? &image : nullptr);
    if (options.timing && frames == 1) std::fprintf(stderr, "first frame after %.3f s\n", platform.now());
    if (app.take_full_screen()) platform.toggle_full_screen();
    if (app.settings_changed() && app.keep_settings) save_settings(app.settings());
    if (size.x >= 640 && size.y >= 360) {  // not a minimised one
      app.settings().window_width = static_cast<int>(size.x);
      app.settings().window_height = static_cast<int>(size.y);
    }
    if (last_frame) break;
  }
  if (app.keep_settings &&
      (app.settings().window_width != options.width || app.settings().window_height != options.height))
    save_settings(app.settings());
  if (options.timing && frames > 0)
    std::fprintf(stderr, "%d frames, %.3f ms each to build\n", frames, build_seconds * 1e3 / frames);
  if (!options.screenshot.empty() && !image.rgba.empty())
    if (const sim::Status status = write_png(options.screenshot, image); !status)
      return fail(status.error(), 1);
  return 0;
}

int run(int argc, char** argv) {
  ParsedOptions parsed = parse_options(argc, argv);
  if (parsed.exit_code) {
    std::fputs(parsed.text.c_str(), *parsed.exit_code == 0 ? stdout : stderr);
    return *parsed.exit_code;
  }
  Options& options = parsed.options;
  const bool offscreen = !options.render.empty();
  const std::string assets = find_assets(options.assets);
  if (assets.empty())
    return fail(
        {.what = "the assets (lang/en/window.toml) were not found", .hint = "--assets FOLDER names them"}, 1);
  if (const sim::Status status = load_languages(assets + "/lang"); !status) return fail(status.error(), 1);
  Settings settings = offscreen || options.smoke > 0 ? parse_settings("") : load_settings();
  if (options.lang) settings.lang = *options.lang;
  if (options.presenter && offscreen) settings.theme = ThemeChoice::Light;  // projectors want light
  if (options.theme) settings.theme = *options.theme;
  if (options.scale) settings.user_scale = *options.scale;
  auto fonts = Fonts::open();
  if (!fonts) return fail(fonts.error(), 1);

  const ImGuiGuard imgui;
  if (!options.size_given && !offscreen && options.smoke == 0) {
    options.width = settings.window_width;
    options.height = settings.window_height;
  }
  const PlatformOptions wanted{.width = options.width, .height = options.height};
  auto platform = offscreen ? open_offscreen(wanted) : open_window(wanted);
  if (!platform) return fail(platform.error(), 1);
  const bool forgets = offscreen || options.smoke > 0;
  App app(std::move(*fonts), std::move(settings), assets, forgets ? "" : state_folder());
  if (options.smoke > 0) app.keep_settings = false;
  app.shell().presenter = options.presenter;
  return offscreen ? render(app, **platform, options) : run_window(app, **platform, options);
}

}  // namespace
}  // namespace ringside::app

int main(int argc, char** argv) {
  return ringside::app::run(argc, argv);
}
