// What lies over the stage: settings, notices, the list of keys, the card of a broken file, progress.
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/draw/parts.hpp"
#include "app/imgui_compat.hpp"
#include "app/session/files.hpp"
#include "app/shell/shell.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

#include <fmt/format.h>

namespace ringside::app {
namespace {

constexpr double kNoticeSeconds = 6;

struct KeyRow {
  std::vector<std::string> caps;
  std::string_view text_key;
};

std::vector<KeyRow> key_rows() {
  return {{{"Space"}, "keys.play"},
          {{"Left", "Right"}, "keys.step"},
          {{"Up", "Down"}, "keys.step_size"},
          {{"Home", "End"}, "keys.ends"},
          {{"PgUp", "PgDn"}, "keys.beats"},
          {{"Enter"}, "keys.act"},
          {{"Ins"}, "keys.fork"},
          {{"Del"}, "keys.remove"},
          {{"Tab"}, "keys.focus"},
          {{"Esc"}, "keys.back"},
          {{"Ctrl", "Z"}, "keys.undo"},
          {{"Ctrl", "Y"}, "keys.redo"},
          {{"Ctrl", "C"}, "keys.copy"},
          {{"Ctrl", "V"}, "keys.paste"},
          {{"Ctrl", "S"}, "keys.save"},
          {{"Ctrl", "Tab"}, "keys.tab"},
          {{"F1"}, "keys.help"},
          {{"F2"}, "keys.glossary"},
          {{"F11"}, "keys.full_screen"}};
}

}  // namespace

void Shell::draw_settings_popup(View& view, const Settings& settings, Rect anchor) {
  view.ui.popup("settings.popup", anchor, {360, 340}, [view, &settings](Rect box) mutable {
    Canvas& c = view.canvas;
    const Theme& t = c.theme();
    const float left = box.x + 20, right = box.right() - 20;
    c.text({left, box.y + 28}, tr("settings.title"), {.size = 17, .face = Face::Bold});
    const auto label = [&](float y, const std::string& text) {
      c.text({left, y}, text, {.size = 14, .color = t.t2});
    };
    const std::string languages[] = {"English", "한국어"};
    label(box.y + 74, tr("settings.language"));
    if (const auto chosen = view.ui.toggle("settings.language", {right, box.y + 74}, languages,
                                           static_cast<int>(settings.lang), Align::Right))
      view.emit(action::SetLanguage{static_cast<Lang>(*chosen)});
    const std::string themes[] = {tr("settings.dark"), tr("settings.light")};
    label(box.y + 120, tr("settings.theme"));
    if (const auto chosen = view.ui.toggle("settings.theme", {right, box.y + 120}, themes,
                                           static_cast<int>(settings.theme), Align::Right))
      view.emit(action::SetTheme{static_cast<ThemeChoice>(*chosen)});
    label(box.y + 166, tr("settings.scale"));
    double scale = settings.user_scale;
    c.text({right, box.y + 166}, fmt::format("{:.0f} %", scale * 100),
           {.size = 14, .face = Face::Bold, .align = Align::Right});
    if (view.ui.slider("settings.scale", {right - 190, box.y + 152, 130, 28}, scale, kLeastUserScale,
                       kMostUserScale, {.logarithmic = true, .explain = tr("settings.scale_explain")}))
      view.emit(action::SetUserScale{static_cast<float>(scale)});
    const Vec2 pixels = c.size() * c.ui_scale();
    const float as_wished = c.ui_scale() / ui_scale_for(static_cast<int>(std::lround(pixels.x)),
                                                        static_cast<int>(std::lround(pixels.y)), 1);
    if (as_wished < settings.user_scale * .99f)
      c.text({right, box.y + 190},
             fit(c.fonts(), tr("settings.scale_limited", {fmt::format("{:.0f}", as_wished * 100)}),
                 right - left, 14),
             {.size = 14, .color = t.t2, .align = Align::Right});
    bool reduced = settings.reduced_motion;
    if (view.ui.checkbox("settings.motion", {left, box.y + 228}, tr("settings.reduced_motion"), reduced,
                         tr("settings.reduced_motion_explain")))
      view.emit(action::SetReducedMotion{reduced});
    c.line({left, box.y + 262}, {right, box.y + 262}, t.line);
    c.text({left, box.y + 286}, fmt::format("Ringside {}", RINGSIDE_VERSION), {.size = 14, .color = t.t2});
    c.text({left, box.y + 310},
           fit(c.fonts(),
               fmt::format("Dear ImGui {} · {}", compat::imgui_version(),
                           file_stem(c.fonts().path(Face::Regular))),
               right - left, 13),
           {.size = 13, .color = t.t3});
  });
}

/// What was said since the last frame is shown; what is over goes.
void Shell::take_notices(const View& view, Session& session) {
  const ShownNotice::Moment moment{session.scene_id, session.lessons.visit(), session.generation()};
  // While a field is typed into again, what is legal there stays to be read. The click that committed the
  // text is not the next thing done.
  constexpr double kSameAct = .6;
  const bool typing = view.ui.typing(), down = view.ui.mouse_down();
  const bool typed = std::exchange(was_typing_, typing) && !typing;
  const bool clicked = std::exchange(was_down_, down) && !down && !typing;
  std::erase_if(shown_, [&](const ShownNotice& s) {
    if (!s.only_at) return false;
    return *s.only_at != moment || ((typed || clicked) && now_ - s.since > kSameAct);
  });
  for (Notice& notice : session.notices) {
    // The same thing said again replaces itself.
    std::erase_if(shown_, [&](const ShownNotice& s) { return s.notice.text == notice.text; });
    const bool complaint =
        std::find(complaints_.begin(), complaints_.end(), notice.text) != complaints_.end();
    shown_.push_back({std::move(notice), now_, complaint ? std::optional(moment) : std::nullopt});
  }
  session.notices.clear();
  complaints_.clear();
  for (const Action& action : view.actions)  // a scene's own: these arrive in the next frame
    if (const auto* said = std::get_if<action::ShowNotice>(&action);
        said != nullptr && said->notice.kind != NoticeKind::Info)
      complaints_.push_back(said->notice.text);
  if (!font_notice.empty()) {
    shown_.push_back({{NoticeKind::Error, font_notice}, now_, std::nullopt});
    font_notice.clear();
  }
  std::erase_if(shown_, [&](const ShownNotice& s) {
    return s.notice.kind == NoticeKind::Info && now_ - s.since > kNoticeSeconds;
  });
  if (shown_.size() > 4) shown_.erase(shown_.begin(), shown_.end() - 4);
}

void Shell::draw_notices(View& view, Session& session) {
  take_notices(view, session);
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  c.push_layer();
  float bottom = view.box.bottom() - 16;
  int index = 0;
  std::string closed;
  for (auto it = shown_.rbegin(); it != shown_.rend(); ++it, ++index) {
    const Notice& notice = it->notice;
    const float width = std::min({560.0f, view.box.w - 48, c.width(notice.text, 15) + 100});
    const auto lines = wrap(c.fonts(), notice.text, width - 96, 15, Face::Regular, 4);
    const float h = 22 * static_cast<float>(lines.size()) + 22;
    const Rect box{view.box.x + (view.box.w - width) / 2, bottom - h, width, h};
    const Color mark = notice.kind == NoticeKind::Error     ? t.fail
                       : notice.kind == NoticeKind::Warning ? t.stall
                                                            : t.t2;
    c.rect(box, {.fill = t.panel, .stroke = t.edge, .radius = 10});
    c.rect({box.x, box.y + 8, 3, box.h - 16}, {.fill = mark, .radius = 1.5f});
    c.glyph(notice.kind == NoticeKind::Info ? Glyph::Flag : Glyph::Warning, {box.x + 26, box.y + 22}, 14,
            mark, 2);
    float y = box.y + 22;
    for (const std::string& line : lines) {
      c.text({box.x + 46, y}, line, {.size = 15});
      y += 22;
    }
    if (view.ui.icon_button("notice.close." + std::to_string(index), {box.right() - 24, box.y + 22},
                            Glyph::Cross, 10, tr("notice.close")))
      closed = notice.text;
    if (notice.kind == NoticeKind::Info) view.ui.wake_in(kNoticeSeconds - (now_ - it->since) + 0.05);
    bottom -= h + 8;
  }
  c.pop_layer();
  if (!closed.empty()) std::erase_if(shown_, [&](const ShownNotice& s) { return s.notice.text == closed; });
}

void Shell::draw_help(View& view) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  c.push_layer();
  c.rect(view.box, {.fill = fade(t.stage, .82f)});
  view.ui.hit("help.ground", view.box, {.focusable = false});
  const auto rows = key_rows();
  constexpr float kWidth = 760, kRow = 40;
  const auto per_column = static_cast<float>((rows.size() + 1) / 2);
  const float h = 84 + per_column * kRow + 24;
  const Rect box{view.box.center().x - kWidth / 2, view.box.center().y - h / 2, kWidth, h};
  c.rect(box, {.fill = t.panel, .stroke = t.line, .radius = 12});
  c.text({box.x + 28, box.y + 42}, tr("keys.title"), {.size = 22, .face = Face::Bold});
  if (view.ui.icon_button("help.close", {box.right() - 36, box.y + 42}, Glyph::Cross, 14, {}))
    view.emit(action::ToggleHelp{});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto column = static_cast<float>(i / static_cast<std::size_t>(per_column));
    const auto row = static_cast<float>(i % static_cast<std::size_t>(per_column));
    const float x = box.x + 28 + column * (kWidth / 2 - 8), y = box.y + 96 + row * kRow;
    float kx = x;
    for (const std::string& cap : rows[i].caps) kx += parts::key_cap(c, {kx, y}, cap) + 6;
    const float tx = x + 124;
    c.text({tx, y}, fit(c.fonts(), tr(rows[i].text_key), x + kWidth / 2 - 40 - tx, 15),
           {.size = 15, .color = t.t2});
  }
  c.pop_layer();
}

void Shell::draw_problem(View& view, Session& session) {
  const FileProblem& problem = *session.problem();
  const sim::Error& error = problem.error;
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const float w = std::min(640.0f, view.box.w - 80), inner = w - 56;
  const std::string legal =
      error.legal.empty() ? "" : tr("problem.possible", {sim::escape_for_display(error.legal)});
  std::string advice = legal;
  if (!error.hint.empty()) advice += (advice.empty() ? "" : " ") + sim::escape_for_display(error.hint);
  const auto advice_lines =
      advice.empty() ? std::vector<std::string>() : wrap(c.fonts(), advice, inner, 15, Face::Regular, 4);
  const auto what_lines = wrap(c.fonts(), sim::escape_for_display(error.what), inner, 15, Face::Regular, 3);
  const bool has_line = error.line > 0 && !problem.line_text.empty();
  const float h =
      150 + (has_line ? 76 : 0) + 22 * static_cast<float>(advice_lines.size() + what_lines.size()) + 24;
  const Rect box{view.box.center().x - w / 2, view.box.center().y - h / 2, w, h};
  c.rect(box, {.fill = t.panel, .stroke = t.line, .radius = 12});
  const float x = box.x + 28;
  float y = box.y + 38;
  const std::string title =
      error.line > 0 ? tr("problem.line", {std::to_string(error.line)}) : tr("problem.file");
  c.text({x, y}, title, {.size = 22, .face = Face::Bold});
  y += 28;
  std::string place = sim::escape_for_display(problem.path);
  if (error.line > 0) place += fmt::format(":{}:{}", error.line, error.column);
  c.text({x, y}, fit(c.fonts(), place, inner, 14, Face::Mono),
         {.size = 14, .color = t.t3, .face = Face::Mono});
  y += 20;
  if (has_line) {
    const Rect code{x, y, inner, 60};
    c.rect(code, {.fill = t.stage, .radius = 8});
    c.rect({code.x, code.y, 3, code.h}, {.fill = t.fail, .radius = 1.5f});
    const std::string number = std::to_string(error.line);
    c.text({x + 16, y + 22}, number, {.size = 15, .color = t.t3, .face = Face::Mono});
    const float tx = x + 28 + c.width(number, 15, Face::Mono);
    const std::string text = sim::escape_for_display(problem.line_text);
    c.text({tx, y + 22}, fit(c.fonts(), text, code.right() - 12 - tx, 16, Face::Mono),
           {.size = 16, .face = Face::Mono});
    // The column counts characters; text before it may be wide.
    std::size_t at = std::min(text.size(), static_cast<std::size_t>(std::max(0, error.column - 1)));
    std::size_t length = error.text.empty() ? 1 : error.text.size();
    if (const std::size_t found = error.text.empty() ? std::string::npos : text.find(error.text);
        found != std::string::npos)
      at = found;
    length = std::min(length, text.size() - at);
    const float ux = tx + c.width(std::string_view(text).substr(0, at), 16, Face::Mono);
    const float uw = std::max(8.0f, c.width(std::string_view(text).substr(at, length), 16, Face::Mono));
    if (ux + uw < code.right() - 8) c.rect({ux, y + 37, uw, 2.5f}, {.fill = t.fail});
    y += 76;
  } else {
    y += 8;
  }
  for (const std::string& line : what_lines) {
    c.text({x, y}, line, {.size = 15, .color = t.fail_text});
    y += 22;
  }
  for (const std::string& line : advice_lines) {
    c.text({x, y}, line, {.size = 15});
    y += 22;
  }
  y += 8;
  if (view.ui.button("problem.retry", {x, y, 176, 40}, tr("problem.retry"), {.primary = true}))
    view.emit(action::Custom{"problem.retry", [](Session& s) { static_cast<void>(s.retry()); }});
  if (view.ui.button("problem.close", {x + 188, y, 128, 40}, tr("problem.close")))
    view.emit(action::Custom{"problem.close", [](Session& s) { s.clear_problem(); }});
}

void Shell::draw_progress(View& view, const Session& session) {
  float y = view.box.y + 16;
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  // What happens, how far it is, and a way out. `done` < 0: not known.
  const auto chip = [&](std::string_view id, const std::string& text, double done, Action stop) {
    constexpr float kHeight = 44, kBar = 120;
    const std::string& cancel = tr("share.cancel");
    const float tw = c.width(text, 15), cw = c.width(cancel, 14, Face::Bold) + 28;
    const float w = 46 + tw + (done >= 0 ? kBar + 16 : 0) + cw + 22;
    const Rect box{view.box.center().x - w / 2, y, w, kHeight};
    c.push_layer();
    c.rect(box, {.fill = t.panel, .stroke = t.edge, .radius = 22});
    c.glyph(Glyph::Hourglass, {box.x + 24, box.center().y}, 14, t.t1, 1.75f);
    float x = box.x + 42;
    x += c.text({x, box.center().y}, text, {.size = 15}) + 16;
    if (done >= 0) {
      c.rect({x, box.center().y - 3, kBar, 6}, {.fill = t.raised, .radius = 3});
      c.rect({x, box.center().y - 3, kBar * static_cast<float>(std::clamp(done, 0.0, 1.0)), 6},
             {.fill = t.t1, .radius = 3});
      x += kBar + 16;
    }
    if (view.ui.button(id, {box.right() - cw - 6, box.y + 5, cw, kHeight - 10}, cancel, {.size = 14}))
      view.emit(std::move(stop));
    c.pop_layer();
    y += kHeight + 8;
  };
  if (session.simulating() && session.simulating_for_ns() >= 150'000'000) {
    const sim::SimulationProgress progress = session.simulation_progress();
    const std::string text =
        tr("progress.steps", {sim::with_commas(progress.step), sim::with_commas(progress.steps),
                              sim::with_commas(progress.events)});
    chip("progress.cancel", text,
         static_cast<double>(progress.step) / static_cast<double>(std::max<std::int64_t>(1, progress.steps)),
         action::CancelSimulation{});
  }
  if (exporting.running) {
    const bool counted = exporting.frames > 0;
    chip("export.cancel",
         counted ? tr("share.progress", {std::to_string(exporting.frame), std::to_string(exporting.frames)})
                 : tr("share.starting"),
         counted ? static_cast<double>(exporting.frame) / exporting.frames : -1, action::CancelExport{});
  }
}

}  // namespace ringside::app
