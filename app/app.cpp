#include "app/app.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "app/imgui_compat.hpp"
#include "app/session/files.hpp"
#include "app/session/live_desk.hpp"
#include "sim/base/text.hpp"
#include "sim/base/toml.hpp"

namespace ringside::app {
namespace {

constexpr double kForever = 1e9;

/// The title of a scenario file, without checking the rest of it.
std::string title_of(const std::string& path) {
  const auto text = read_file(path, 1 << 20);
  if (!text) return file_stem(path);
  const auto table = sim::parse_toml(*text, path);
  return table ? (*table)["title"].value_or(file_stem(path)) : file_stem(path);
}

constexpr std::size_t kMostPresetBytes = std::size_t{16} << 20;

}  // namespace

App::App(std::unique_ptr<Fonts> fonts, Settings settings, const std::string& assets, const std::string& state)
    : fonts_(std::move(fonts)), settings_(std::move(settings)), assets_(assets) {
  if (!fonts_->has_korean() && settings_.lang == Lang::Ko) {
    settings_.lang = Lang::En;
    shell_.font_notice = "No Korean font was found, so Ringside speaks English. Install fonts-nanum.";
  }
  set_language(settings_.lang);
  refresh_library();
  session_.lessons.open(assets_, state.empty() ? "" : state + "/progress.toml", session_.notices);
  const std::string words = assets_ + "/glossary.toml";
  const auto text = read_file(words, 1 << 20);
  auto glossary = text ? parse_glossary(*text, words) : sim::Result<Glossary>(text.error());
  if (glossary) {
    session_.glossary = std::move(*glossary);
  } else {
    session_.notices.push_back({NoticeKind::Warning, sim::escape_for_display(glossary.error().message())});
  }
  session_.live().program_folder = std::filesystem::path(program).parent_path().string();
  if (const auto presets = read_file(assets_ + "/presets.toml", kMostPresetBytes))
    if (auto model = sim::parse_time_model(*presets, assets_ + "/presets.toml"))
      session_.time_model = std::move(*model);
}

sim::Status App::watch(std::string_view url) {
  if (const sim::Status status = session_.live().watch(url); !status) return status;
  session_.scene_id = "live";
  return sim::ok();
}

const Theme& App::theme() const {
  return settings_.theme == ThemeChoice::Dark ? dark_theme() : light_theme();
}

void App::refresh_library() {
  std::vector<LibraryEntry>& library = session_.library;
  library.clear();
  for (const std::string& path : settings_.recent)
    if (std::error_code error; std::filesystem::is_regular_file(path, error) && library.size() < 3)
      library.push_back({path, title_of(path), true});
  std::error_code error;
  std::vector<std::string> files;
  for (const auto& file : std::filesystem::directory_iterator(assets_ + "/scenarios", error))
    if (file.path().extension() == ".toml" && file.path().stem() != "reference")
      files.push_back(file.path().string());
  std::sort(files.begin(), files.end());
  for (const std::string& path : files)
    if (std::none_of(library.begin(), library.end(), [&](const LibraryEntry& e) { return e.path == path; }))
      library.push_back({path, title_of(path), false});
}

/// A teacher who saves a lesson and comes back to the window sees it: files are looked at when frames are
/// drawn, at most once a second. Nobody is woken for it.
void App::refresh_lessons(double now) {
  if (session_.scene_id != "home" && session_.scene_id != kLessonScene) return;
  if (std::abs(now - lessons_seen_) < 1) return;
  lessons_seen_ = now;
  session_.lessons.refresh();
}

bool App::prepare_fonts(int width, int height) {
  const float scale = ui_scale_for(width, height, settings_.user_scale);
  if (scale == font_scale_) {
    if (!fonts_->atlas().full) return false;
    fonts_->reset_atlas(fonts_->atlas().width,
                        fonts_->atlas().height);  // too many sizes were seen: start anew
    settle_frames_ = std::max(settle_frames_, 2);
    return false;
  }
  font_scale_ = scale;
  compat::build_fonts(*fonts_, scale);
  return true;
}

void App::frame(int width, int height, std::int64_t wall_ns, double now, DrawRecord* record) {
  apply_actions();
  refresh_lessons(now);
  const bool moved = session_.update(wall_ns);
  session_.lessons.keep(session_.notices);
  if (auto notice = export_.poll()) session_.notices.push_back(std::move(*notice));
  shell_.exporting = {export_.running(), export_.frame(), export_.frames()};
  const float scale = font_scale_;
  Canvas canvas(ImGui::GetBackgroundDrawList(), *fonts_, theme(),
                {static_cast<float>(width) / scale, static_cast<float>(height) / scale}, scale, record);
  ui_.reduced_motion = settings_.reduced_motion;
  ui_.begin(canvas, now);
  const auto drawing = std::chrono::steady_clock::now();
  shell_.frame(canvas, ui_, session_, settings_, now, actions_);
  session_.live().note_frame(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - drawing).count());
  if (!actions_.empty() || moved) settle_frames_ = std::max(settle_frames_, 2);
  if (settle_frames_ > 0) {
    --settle_frames_;
    next_frame_in_ = 0;
  } else {
    next_frame_in_ = ui_.moving() ? 0 : std::min(kForever, ui_.next_wake());
  }
}

double App::next_frame_in() const {
  return next_frame_in_;
}

void App::apply_actions() {
  Actions pending;
  pending.swap(actions_);
  for (const Action& action : pending) {
    if (const auto* file = std::get_if<action::OpenFile>(&action)) {
      open_files({file->path}, file->new_tab);
    } else if (!share(action) && !session_.apply(action)) {
      apply_to_window(action);
    }
  }
}

sim::Status App::open_moment(std::string_view text) {
  auto moment = read_moment(text);
  if (!moment) return moment.error();
  if (find_scene(moment->scene_id) != nullptr) shell_.scene(moment->scene_id).set_view_state(moment->view);
  session_.open_moment(std::move(*moment));
  return sim::ok();
}

sim::Result<std::string> App::moment_text() {
  if (session_.scenario() == nullptr) return sim::Error{.what = tr("share.not_simulated")};
  Moment moment = session_.moment(shell_.scene(session_.scene_id).view_state());
  if (moment.scene_id == kLessonScene) moment.scene_id = session_.lessons.scene();  // what the lesson shows
  return write_moment(moment);
}

bool App::share(const Action& action) {
  const auto say = [&](NoticeKind kind, std::string text) {
    session_.notices.push_back({kind, std::move(text)});
  };
  const auto complain = [&](const sim::Error& error) {
    say(NoticeKind::Error, sim::escape_for_display(error.message()));
  };
  if (std::holds_alternative<action::CopyMoment>(action)) {
    const auto text = moment_text();
    if (!text) return complain(text.error()), true;
    ImGui::SetClipboardText(text->c_str());
    say(NoticeKind::Info, tr("share.copied", {std::to_string(text->size())}));
  } else if (std::holds_alternative<action::PasteMoment>(action)) {
    const char* text = ImGui::GetClipboardText();
    if (text == nullptr || *text == '\0') return say(NoticeKind::Warning, tr("share.empty_clipboard")), true;
    if (const sim::Status opened = open_moment(text); !opened) return complain(opened.error()), true;
    say(NoticeKind::Info, tr("share.opened"));
  } else if (const auto* moment = std::get_if<action::OpenMoment>(&action)) {
    if (const sim::Status opened = open_moment(moment->text); !opened) complain(opened.error());
  } else if (const auto* save = std::get_if<action::SaveScenario>(&action)) {
    if (const sim::Status saved = session_.save_scenario(save->path); !saved)
      return complain(saved.error()), true;
    say(NoticeKind::Info, tr("share.saved", {sim::escape_for_display(save->path)}));
    add_recent(settings_, save->path);
    settings_changed_ = true;
    refresh_library();
  } else if (const auto* wanted = std::get_if<action::Export>(&action)) {
    const auto text = moment_text();
    if (!text) return complain(text.error()), true;
    const ExportLook look{settings_.lang, settings_.theme, settings_.user_scale, assets_};
    if (const sim::Status started = export_.start(*wanted, look, *text, program); !started)
      complain(started.error());
  } else if (std::holds_alternative<action::CancelExport>(action)) {
    export_.cancel();
  } else {
    return false;
  }
  return true;
}

void App::apply_to_window(const Action& action) {
  const auto changed = [&] { settings_changed_ = true; };
  if (const auto* a = std::get_if<action::SetLanguage>(&action)) {
    if (a->lang == Lang::Ko && !fonts_->has_korean()) {
      session_.notices.push_back({NoticeKind::Warning, tr("settings.no_korean_font")});
      return;
    }
    settings_.lang = a->lang;
    set_language(a->lang);
    changed();
  } else if (const auto* theme = std::get_if<action::SetTheme>(&action)) {
    settings_.theme = theme->theme;
    changed();
  } else if (const auto* scale = std::get_if<action::SetUserScale>(&action)) {
    settings_.user_scale = std::clamp(scale->scale, kLeastUserScale, kMostUserScale);
    changed();
  } else if (const auto* motion = std::get_if<action::SetReducedMotion>(&action)) {
    settings_.reduced_motion = motion->on;
    changed();
  } else if (std::holds_alternative<action::ToggleInspector>(action)) {
    settings_.inspector_folded = !settings_.inspector_folded;
    changed();
  } else if (std::holds_alternative<action::TogglePresenter>(action)) {
    // Projectors want light: entering switches, leaving gives back what was.
    shell_.presenter = !shell_.presenter;
    // Where ring steps are seen, a key press is one transfer.
    sim::StepUnit& unit = session_.playhead().unit;
    if (shell_.presenter && unit == sim::StepUnit::RingStep)
      unit = sim::StepUnit::Transfer;
    else if (!shell_.presenter && unit == sim::StepUnit::Transfer)
      unit = sim::StepUnit::RingStep;
    shell_.spotlight.reset();
    if (shell_.presenter)
      theme_before_presenting_ = std::exchange(settings_.theme, ThemeChoice::Light);
    else
      settings_.theme = theme_before_presenting_;
  } else if (std::holds_alternative<action::ToggleHelp>(action)) {
    shell_.help_open = !shell_.help_open;
  } else if (const auto* word = std::get_if<action::ShowGlossary>(&action)) {
    shell_.glossary.open(session_.glossary, word->word);
  } else if (const auto* target = std::get_if<action::OpenBreakMenu>(&action)) {
    shell_.break_menu.open(session_, ui_, target->target, target->at);
  } else if (std::holds_alternative<action::ToggleFullScreen>(action)) {
    full_screen_wanted_ = true;
  } else if (const auto* copy = std::get_if<action::CopyText>(&action)) {
    ImGui::SetClipboardText(copy->text.c_str());
    session_.notices.push_back({NoticeKind::Info, tr("notice.copied")});
  }
}

void App::open_files(const std::vector<std::string>& paths, bool new_tab) {
  if (paths.empty()) return;
  const auto all_end_in = [&](std::string_view ending) {
    return std::all_of(paths.begin(), paths.end(), [&](const std::string& p) { return p.ends_with(ending); });
  };
  const bool arrays = all_end_in(".npy");
  if (!arrays && !all_end_in(".toml")) {  // logs, dumps, folders, recordings: read in the background
    session_.clear_problem();
    session_.incidents().open(paths);
    session_.scene_id = "incident";
    return;
  }
  const sim::Status status =
      arrays ? session_.open_npy_files(paths, new_tab) : session_.open_file(paths.front(), new_tab);
  if (!status || arrays) return;
  std::error_code error;
  add_recent(settings_, std::filesystem::absolute(paths.front(), error).string());
  settings_changed_ = true;
  refresh_library();
}

std::string App::window_title() const {
  const std::string& title = session_.trace().header.title;
  return session_.has_trace() && !title.empty() ? title + " · Ringside" : "Ringside";
}

}  // namespace ringside::app
