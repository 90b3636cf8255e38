#include "app/shell/shell.hpp"
#include "app/i18n/on_cpu.hpp"
#include "app/i18n/titles.hpp"

#include <algorithm>
#include <cmath>

#include "app/draw/parts.hpp"
#include "app/imgui_compat.hpp"
#include "app/scenes/lesson_panel.hpp"
#include "app/session/live_desk.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

constexpr float kRailItem = 58, kRailGap = 2;
constexpr float kCaptionHeight = 92, kProgressHeight = 6;

void draw_stage_ground(Canvas& c, const Layout& layout) {
  const Theme& t = c.theme();
  const Rect s = layout.stage;
  c.rect({0, 0, c.size().x, c.size().y}, {.fill = t.stage});
  if (t.dark) c.gradient({s.x, s.y, s.w, s.h * .5f}, mix(t.stage, t.panel, .75f), t.stage);
}

/// Where notices are stacked from the bottom: above the transport bar or a scene's own, beside a lesson's
/// column.
Rect notice_box(Rect stage, const SceneEntry& scene, bool transport, bool presenting) {
  constexpr float kOwnBar = 92;  // of the scenes that tell their own story
  if (presenting) return stage;
  if (scene.id == kLessonScene) {
    const float column = lesson::column_width(stage.w);
    stage = {stage.x + column, stage.y, stage.w - column, stage.h};
  }
  if (!transport && scene.id != "home") stage.h -= kOwnBar;
  return stage;
}

/// "AllReduce · ring · float32 · sum, then ÷ 4".
std::string shell_facts(const SceneContext& ctx) {
  if (ctx.scenario == nullptr) return {};
  const sim::CollectiveSpec& c = ctx.scenario->collective;
  std::string out = tr_word("collective", sim::to_word(c.collective)) + " · " +
                    tr_word("algorithm", sim::to_word(c.algorithm)) + " · " +
                    std::string(sim::to_word(ctx.scenario->tensor.dtype)) + " · ";
  return out + fill_pattern(tr_word("op", sim::to_word(c.op)), {std::to_string(ctx.scenario->world_size())});
}

/// A live run (or its recording) whose ranks are processes on CPUs. Each says what it is in its first event.
bool is_of_cpus(const sim::Trace& trace) {
  constexpr std::size_t kSoon = 4096;  // a trace that says it nowhere is not searched in every frame
  if (trace.header.source != "live") return false;
  for (std::size_t i = 0; i < std::min(trace.size(), kSoon); ++i)
    if (const sim::Event& e = trace.events()[i]; e.type == sim::EventType::Hello)
      return trace.hello(e.hello.hello).device.starts_with("CPU");
  return false;
}

}  // namespace

float ui_scale_for(int width, int height, float user_scale) {
  const float automatic = height >= 2160 ? 2.0f : height >= 1440 ? 1.5f : height >= 1080 ? 1.25f : 1.0f;
  const auto w = static_cast<float>(width), h = static_cast<float>(height);
  const float base = std::min({automatic, w / 1280.0f, h / 720.0f});
  // Larger than that at the person's wish, as far as the layout with a folded inspector has room.
  return std::max(0.4f, std::min({base * user_scale, w / kLeastWindow.x, h / kLeastWindow.y}));
}

Layout layout_for(Vec2 window, const SceneEntry& scene, bool inspector_folded, bool presenter,
                  float transport_height) {
  Layout out;
  if (presenter) {
    out.transport = {0, window.y - kCaptionHeight - kProgressHeight, window.x,
                     kCaptionHeight + kProgressHeight};
    out.stage = {0, 0, window.x, out.transport.y};
    return out;
  }
  const float bar = scene.transport ? transport_height : 0;
  float inspector = inspector_folded || window.x < kNarrowBelow ? 0 : scene.inspector_width;
  if (inspector > 0 && window.x > kWideFrom) inspector = std::max(inspector, 372.0f);
  out.rail = {0, 0, kRailWidth, window.y};
  out.top = {kRailWidth, 0, window.x - kRailWidth, kTopHeight};
  out.stage = {kRailWidth, kTopHeight, window.x - kRailWidth - inspector, window.y - kTopHeight - bar};
  if (inspector > 0) out.inspector = {window.x - inspector, kTopHeight, inspector, out.stage.h};
  if (bar > 0) out.transport = {kRailWidth, window.y - bar, window.x - kRailWidth, bar};
  return out;
}

Shell::Shell() = default;

Scene& Shell::scene(std::string_view id) {
  const auto found = scenes_.find(id);
  if (found != scenes_.end()) return *found->second;
  const SceneEntry* entry = find_scene(id);
  RINGSIDE_CHECK(entry != nullptr);
  return *scenes_.emplace(std::string(id), entry->make()).first->second;
}

const Timeline& Shell::timeline(const SceneContext& ctx, const Scene& scene) {
  const TimelineKey key{&scene,     &ctx.trace,     ctx.trace.size(), ctx.end_time,
                        language(), ctx.theme.dark, ctx.generation,   std::string(scene.rail_id())};
  if (key != timeline_key_) {
    timeline_key_ = key;
    timeline_ = scene.timeline(ctx);
  }
  return timeline_;
}

void Shell::frame(Canvas& canvas, Ui& ui, Session& session, const Settings& settings, double now,
                  Actions& actions) {
  now_ = now;
  const SceneEntry* entry = find_scene(session.scene_id);
  if (entry == nullptr || (entry->needs_trace && !session.has_trace())) entry = &scene_table().front();
  shown_scene_ = std::string(entry->id);
  Scene& scene = this->scene(entry->id);
  set_ranks_on_cpu(is_of_cpus(session.trace()));
  SceneContext ctx{.trace = session.trace(),
                   .frame = session.frame(),
                   .playhead = session.playhead(),
                   .end_time = session.end_time() + (session.grows() ? 1 : 0),
                   .generation = session.generation(),
                   .scenario = session.scenario(),
                   .commands = session.commands(),
                   .simulation = session.simulation(),
                   .shared = session.shared_simulation(),
                   .can = session.abilities(),
                   .selection = session.selection,
                   .measure = canvas.fonts(),
                   .theme = canvas.theme(),
                   .library = session.library,
                   .array = session.array,
                   .lessons = &session.lessons,
                   .glossary = &session.glossary,
                   .covered_from = session.scene_id == kLessonScene ? session.lessons.fence() : std::nullopt,
                   .time_model = session.time_model ? &*session.time_model : nullptr,
                   .incidents = &session.incidents(),
                   .live = &session.live(),
                   .now = now,
                   .reduced_motion = settings.reduced_motion};
  SceneEntry shown = *entry;
  shown.transport = entry->transport && scene.wants_transport(ctx);
  timed_ = shown.transport;
  // Scenes with the transport bar show the trace; others tell their own story (home tells none).
  const bool presenting =
      presenter && (shown.transport ? session.has_trace() : entry != &scene_table().front());
  const bool comparing = session.compared_simulation() != nullptr && shown.transport && !presenting &&
                         !session.problem() && entry->id != kLessonScene;
  const Layout layout = layout_for(canvas.size(), shown, settings.inspector_folded || comparing, presenting,
                                   transport_height(session));
  const Rect scene_box = comparing ? compare_boxes(layout.stage).first : layout.stage;
  ctx.stage = {scene_box.w, scene_box.h};
  ctx.presenter = presenting;
  const auto view = [&](Rect box) { return View{canvas, ui, actions, ctx, box}; };

  draw_stage_ground(canvas, layout);
  scene.prepare(ctx);
  View stage = view(layout.stage), figure = view(scene_box);
  canvas.push_clip(scene_box);
  if (presenting) place_spotlight(stage);
  if (session.problem()) {
    draw_problem(stage, session);
  } else {
    scene.draw(figure);
  }
  ui.set_left_button(true);
  canvas.pop_clip();
  if (comparing) draw_compared(stage, session, entry->id);
  if (presenting) draw_spotlight(stage);

  const Theme& t = canvas.theme();
  if (layout.inspector.w > 0) {
    const Rect box = layout.inspector;
    canvas.rect(box, {.fill = t.panel});
    canvas.line({box.x, box.y}, {box.x, box.bottom()}, t.line);
    View inspector = view(box);
    canvas.push_clip(box);
    if (!session.problem()) scene.inspector(inspector);
    canvas.pop_clip();
  }
  if (presenting) {
    View caption = view(layout.transport);
    draw_caption(caption, session, scene);
  } else {
    View rail = view(layout.rail), top = view(layout.top);
    draw_rail(rail, session, settings, scene.rail_id().empty() ? entry->id : scene.rail_id());
    draw_top(top, session, settings, scene, entry->inspector_width > 0);
    if (shown.transport) {
      View bar = view(layout.transport);
      draw_transport(bar, session, scene);
    }
  }
  if (session.scene_id == kLessonScene && lesson_visit_ != session.lessons.visit()) {
    lesson_visit_ = session.lessons.visit();
    lesson_selection_ = session.selection;
  }
  narrow_ = canvas.size().x < kNarrowBelow;
  if (narrow_ && panel_over_ && !presenting && entry->inspector_width > 0 && !session.problem()) {
    // There is no room beside the stage: the panel lies over it while it is wanted, from the top bar to the
    // bottom. One that is made for a higher window shrinks a little.
    constexpr float kMadeFor = 588;
    const float height = canvas.size().y - kTopHeight, k = std::min(1.0f, height / kMadeFor);
    const Rect box{canvas.size().x - entry->inspector_width * k, kTopHeight, entry->inspector_width * k,
                   height};
    canvas.push_layer();
    canvas.rect(box, {.fill = t.panel});
    canvas.line({box.x, box.y}, {box.x, box.bottom()}, t.edge);
    ui.hit("inspector.ground", box, {.focusable = false});
    canvas.push_clip(box);
    canvas.push_figure({box.x, box.y}, k);
    View inspector = view({0, 0, entry->inspector_width, height / k});
    scene.inspector(inspector);
    canvas.pop_figure();
    canvas.pop_clip();
    canvas.pop_layer();
  }
  View all = view({0, 0, canvas.size().x, canvas.size().y});
  if (!session.problem()) scene.over(all);
  draw_progress(stage, session);
  break_menu.frame(all);
  View notice_area = view(notice_box(layout.stage, *entry, shown.transport, presenting));
  draw_notices(notice_area, session);
  glossary.draw(all, session.glossary, session.lessons);
  if (help_open) draw_help(all);
  handle_keys(stage, session, scene);
  if (session.playhead().mode == sim::PlayMode::Playing) ui.keep_moving();
  if (session.simulating() || session.incidents().reading() || exporting.running) ui.wake_in(0.1);
  ui.wake_in(session.live().wake_in());
  ui.end();  // popups are drawn here, while what they captured (views, the context) is alive
}

void Shell::draw_rail(View& view, const Session& session, const Settings& settings, std::string_view lit) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  c.rect(view.box, {.fill = t.panel});
  c.line({view.box.right(), 0}, {view.box.right(), view.box.h}, t.line);
  parts::logo(c, {kRailWidth / 2, kTopHeight / 2}, 30);
  // Short of room: the items move together, then the words go (they come back on hover).
  const auto table = scene_table();
  const auto items =
      static_cast<float>(std::count_if(table.begin(), table.end(), [](const auto& e) { return e.in_rail; }));
  const auto rules = static_cast<float>(
      std::count_if(table.begin(), table.end(), [](const auto& e) { return e.rule_after; }));
  const float item = std::min(kRailItem + kRailGap, (c.size().y - kTopHeight - 10 - 54 - 6 * rules) / items);
  const bool words = item >= 43.5f;
  float y = kTopHeight + 10;
  for (const SceneEntry& entry : table) {
    if (!entry.in_rail) continue;
    const bool on = entry.id == lit;
    const Rect box{8, y, kRailWidth - 16, item - 4};
    const bool enabled = !entry.needs_trace || session.has_trace();
    const std::string_view explain = !enabled ? std::string_view(tr("rail.needs_file"))
                                     : words  ? std::string_view()
                                              : std::string_view(tr(entry.title_key));
    const Hit h =
        view.ui.hit("rail." + std::string(entry.id), box, {.focusable = enabled, .explain = explain});
    if (on || (enabled && h.hovered)) c.rect(box, {.fill = on ? t.raised : t.card, .radius = 8});
    if (on) c.rect({0, y + 8, 3, item - 20}, {.fill = t.accent, .radius = 1.5f});
    const Color color = on ? t.t1 : enabled ? t.t2 : t.t3;
    const float middle = box.center().y;
    c.glyph(entry.icon, {kRailWidth / 2, words ? middle - 9 : middle}, 22, on ? t.t1 : t.t3, 1.75f);
    if (words)
      c.text({kRailWidth / 2, middle + 14}, tr(entry.title_key),
             {.size = 13,
              .color = color,
              .face = on ? Face::Bold : Face::Regular,
              .align = Align::Center,
              .max_width = kRailWidth - 6});
    if (enabled && h.clicked) view.emit(action::ShowScene{std::string(entry.id)});
    y += item;
    if (entry.rule_after) {
      c.line({22, y + 1}, {kRailWidth - 22, y + 1}, t.line);
      y += 6;
    }
  }
  const Vec2 gear{kRailWidth / 2, c.size().y - 32};
  const Rect anchor{gear.x - 18, gear.y - 18, 36, 36};
  if (view.ui.icon_button("settings", gear, Glyph::Gear, 20, tr("settings.title")))
    view.ui.open_popup("settings.popup");
  draw_settings_popup(view, settings, anchor);
}

void Shell::draw_top(View& view, Session& session, const Settings& settings, const Scene& scene,
                     bool foldable) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const Rect box = view.box;
  const float y = box.y + box.h / 2;
  c.rect(box, {.fill = t.panel});
  c.line({box.x, box.bottom()}, {box.right(), box.bottom()}, t.line);

  const std::string own_title = scene.title(view.ctx);
  const bool own = !own_title.empty();  // a scene that is about no file
  // From the right: help, presenter, theme, language, panel; then the chip that says what this is.
  float x = box.right() - 34;
  const auto next = [&] {
    const float at = x;
    x -= 36;
    return at;
  };
  if (view.ui.icon_button("top.help", {next(), y}, Glyph::Help, 18, tr("top.help")))
    view.emit(action::ToggleHelp{});
  if (view.ui.icon_button("top.glossary", {next(), y}, Glyph::Lesson, 18, tr("top.glossary")))
    view.emit(action::ShowGlossary{});
  if (view.ui.icon_button("top.presenter", {next(), y}, Glyph::Screen, 18, tr("top.presenter"),
                          own || session.has_trace()))
    view.emit(action::TogglePresenter{});
  const bool dark = settings.theme == ThemeChoice::Dark;
  if (view.ui.icon_button("top.theme", {next(), y}, dark ? Glyph::Sun : Glyph::Moon, 20,
                          dark ? tr("top.light") : tr("top.dark")))
    view.emit(action::SetTheme{dark ? ThemeChoice::Light : ThemeChoice::Dark});
  {
    const Vec2 at{next(), y};
    const Hit h =
        view.ui.hit("top.language", {at.x - 18, at.y - 18, 36, 36}, {.explain = tr("top.language")});
    if (h.hovered) c.rect({at.x - 18, at.y - 18, 36, 36}, {.fill = t.raised, .radius = 8});
    c.text(at, language() == Lang::En ? "EN" : "한",
           {.size = 14, .color = h.hovered ? t.t1 : t.t2, .face = Face::Bold, .align = Align::Center});
    if (h.clicked) view.emit(action::SetLanguage{language() == Lang::En ? Lang::Ko : Lang::En});
  }
  const SceneEntry* entry = find_scene(shown_scene_);
  if (entry != nullptr && entry->transport && session.has_trace()) {
    const std::string why_not = session.fork_why_not();
    const Vec2 at{next(), y};
    if (view.ui.icon_button("top.break", at, Glyph::Bolt, 18, why_not.empty() ? tr("break.open") : why_not,
                            why_not.empty()))
      view.emit(action::OpenBreakMenu{session.selection, {at.x, box.bottom()}});
  }
  {
    const Vec2 at{next(), y};
    if (view.ui.icon_button("top.share", at, Glyph::Share, 17, tr("share.title")))
      share_panel.open(session, SharePanel::Page::List);
    share_panel.frame(view, session, {at.x - 18, at.y - 18, 36, 36});
  }
  if (foldable && view.ui.icon_button("top.panel", {next(), y}, Glyph::Panel, 17, tr("top.panel"))) {
    if (narrow_)
      panel_over_ = !panel_over_;
    else
      view.emit(action::ToggleInspector{});
  }
  x += 10;
  if (session.has_trace() && shown_scene_ != "home" && !own) {
    std::string label = tr_word("source", view.ctx.trace.header.source);
    if (session.scenario() != nullptr)
      label += " · " + tr("top.seed", {std::to_string(session.scenario()->seed)});
    const bool grows = session.grows();
    if (grows) label += " · " + session.live().host();
    const float w = 42 + c.width(label, 13, Face::Bold);
    c.rect({x - w, y - 14, w, 28}, {.stroke = t.edge, .radius = 14});
    c.glyph(grows ? Glyph::Live : Glyph::Ring, {x - w + 17, y}, 14, t.t1, 1.5f);
    c.text({x - w + 28, y}, label, {.size = 13, .face = Face::Bold});
    view.ui.explain({x - w, y - 14, w, 28}, grows ? tr("top.live_explain") : tr("top.source_explain"));
    x -= w + 16;
    if (const float chip = draw_branch_chip(view, session, x, y); chip > 0) x -= chip + 12;
    if (view.ctx.can.can_edit() && (session.can_undo() || session.can_redo())) {
      if (view.ui.icon_button("top.redo", {x - 12, y}, Glyph::Redo, 16, tr("top.redo"), session.can_redo()))
        view.emit(action::Redo{});
      if (view.ui.icon_button("top.undo", {x - 46, y}, Glyph::Undo, 16, tr("top.undo"), session.can_undo()))
        view.emit(action::Undo{});
      x -= 74;
    }
  }
  const bool home = !own && (!session.has_trace() || shown_scene_ == "home");
  const std::string& raw = view.ctx.trace.header.title;
  const std::string title = own           ? own_title
                            : home        ? std::string("Ringside")
                            : raw.empty() ? session.name()
                                          : known_title(raw);
  std::string facts = home ? tr("app.tagline") : scene.facts(view.ctx);
  if (facts.empty() && !own) facts = shell_facts(view.ctx);
  float left = box.x + 20, room = x - left;
  if (!own && session.documents().size() > 1) {
    draw_tabs(view, session, box.x + 8, x - box.x - 8, y);
    return;
  }
  const std::string shown = fit(c.fonts(), title, room, 17, Face::Bold);
  const float tw = c.text({left, y}, shown, {.size = 17, .face = Face::Bold});
  if (room - tw - 14 > 60)
    c.text({left + tw + 14, y}, fit(c.fonts(), facts, room - tw - 14, 14), {.size = 14, .color = t.t2});
}

void Shell::draw_caption(View& view, const Session& session, const Scene& scene) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const Rect box = view.box;
  const Timeline& line = timeline(view.ctx, scene);
  const TimelineTrack track{.x = box.x,
                            .w = box.w,
                            .from = line.from,
                            .to = std::max(line.to, line.from + 1),
                            .axis = &session.axis()};
  const auto at = [&](std::int64_t time) { return track.at(time); };
  c.rect({box.x, box.y, box.w, kProgressHeight}, {.fill = t.raised});
  const std::optional<float> progress = scene.progress();
  const float played = progress ? box.w * *progress : at(view.ctx.playhead.t) - box.x;
  c.rect({box.x, box.y, played, kProgressHeight}, {.fill = t.accent});
  for (const std::int64_t tick : line.ticks)
    c.rect({at(tick) - 1, box.y, 2, kProgressHeight}, {.fill = t.stage});
  const Rect caption{box.x, box.y + kProgressHeight, box.w, box.h - kProgressHeight};
  c.rect(caption, {.fill = t.panel});
  const float y = caption.y + caption.h / 2;
  const std::string detail = scene.caption_detail(view.ctx);
  const float dw = detail.empty() ? 0 : c.width(detail, 28) + 40;
  c.text({box.x + 28, y}, fit(c.fonts(), scene.caption(view.ctx), box.w - 56 - dw, 34, Face::Bold),
         {.size = 34, .face = Face::Bold});
  c.text({box.right() - 28, y}, detail, {.size = 28, .color = t.t2, .align = Align::Right});
}

void Shell::draw_compared(View& view, Session& session, std::string_view scene_id) {
  const auto [left, right] = compare_boxes(view.box);
  auto found = compared_scenes_.find(scene_id);
  if (found == compared_scenes_.end())
    found = compared_scenes_.emplace(std::string(scene_id), find_scene(scene_id)->make()).first;
  Scene& scene = *found->second;
  scene.set_view_state(this->scene(scene_id).view_state());
  sim::Playhead playhead = session.playhead();
  playhead.t = std::min(playhead.t, session.compared_trace().end_time());
  SceneContext ctx{.trace = session.compared_trace(),
                   .frame = session.compared_frame(),
                   .playhead = playhead,
                   .end_time = session.compared_trace().end_time(),
                   .generation = session.compared_generation(),
                   .scenario = &session.branches()[static_cast<std::size_t>(session.compared())].scenario,
                   .simulation = session.compared_simulation(),
                   .shared = session.compared_shared(),
                   .can = session.abilities(),
                   .selection = session.selection,
                   .measure = view.ctx.measure,
                   .theme = view.ctx.theme,
                   .library = view.ctx.library,
                   .array = view.ctx.array,
                   .lessons = view.ctx.lessons,
                   .glossary = view.ctx.glossary,
                   .stage = {right.w, right.h},
                   .now = view.ctx.now,
                   .reduced_motion = view.ctx.reduced_motion};
  Actions none;
  View other{view.canvas, view.ui, none, ctx, right};
  view.canvas.push_clip(right);
  view.ui.begin_passive();
  scene.prepare(ctx);
  scene.draw(other);
  view.ui.end_passive();
  view.canvas.pop_clip();
  view.canvas.line({right.x, right.y}, {right.x, right.bottom()}, view.canvas.theme().line);
  draw_compare_band(view, session, left, right);
}

namespace {

/// As the top bar would say it: the scenario's title in the person's language, else the name of what was
/// opened.
std::string tab_title(const Document& document) {
  const Branch* branch = document.current();
  const std::string& title = branch != nullptr  ? branch->scenario.title
                             : document.foreign ? document.foreign->header.title
                                                : document.name;
  return title.empty() ? document.name : known_title(title);
}

}  // namespace

void Shell::draw_tabs(View& view, const Session& session, float left, float room, float y) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const auto& documents = session.documents();
  constexpr float kLeast = 96, kMost = 220, kHeight = 36;
  const auto fits = std::max<std::size_t>(1, static_cast<std::size_t>((room - 60) / kLeast));
  const std::size_t count = std::min(documents.size(), fits);
  const auto current = static_cast<std::size_t>(session.tab());
  const std::size_t first = current < count ? 0 : current - count + 1;  // the current one is always in sight
  const float w = std::min(kMost, (room - 60) / static_cast<float>(count));
  float x = left;
  for (std::size_t i = first; i < first + count; ++i) {
    const Document& document = *documents[i];
    const bool on = i == current;
    const Rect box{x, y - kHeight / 2, w - 4, kHeight};
    const std::string id = "tab." + std::to_string(i), name = sim::escape_for_display(tab_title(document));
    const Hit h = view.ui.hit(id, box, {.explain = name});
    if (on || h.hovered) c.rect(box, {.fill = on ? t.raised : t.card, .radius = 8});
    const float close = on || h.hovered ? 30 : 0;
    c.text({box.x + 12, y}, fit(c.fonts(), name, box.w - 20 - close, 15, on ? Face::Bold : Face::Regular),
           {.size = 15, .color = on ? t.t1 : t.t2, .face = on ? Face::Bold : Face::Regular});
    if (close > 0 &&
        view.ui.icon_button(id + ".close", {box.right() - 17, y}, Glyph::Cross, 9, tr("tabs.close")))
      view.emit(action::CloseTab{static_cast<int>(i)});
    else if (h.clicked && !on)
      view.emit(action::SwitchTab{static_cast<int>(i)});
    x += w;
  }
  if (count < documents.size())
    c.text({x + 8, y}, tr("tabs.more", {std::to_string(documents.size() - count)}),
           {.size = 13, .color = t.t3});
}

/// A presenter's left button belongs to the light: a click puts it, a drag moves it, a click inside takes it
/// away.
void Shell::place_spotlight(View& view) {
  constexpr float kRadius = 84;
  view.ui.set_left_button(false);
  if (view.ui.any_popup_open() || help_open) return;
  const Rect box = view.box;
  const Vec2 mouse = view.ui.mouse();
  const Vec2 place{(mouse.x - box.x) / box.w, (mouse.y - box.y) / box.h};
  if (view.ui.mouse_pressed() && box.contains(mouse)) {
    const Vec2 at =
        spotlight ? Vec2{box.x + spotlight->x * box.w, box.y + spotlight->y * box.h} : Vec2{-1e6f, 0};
    const bool inside = std::hypot(mouse.x - at.x, mouse.y - at.y) < kRadius;
    spotlight = inside ? std::nullopt : std::optional(place);
    moving_spotlight_ = !inside;
  }
  if (!view.ui.mouse_down()) moving_spotlight_ = false;
  if (moving_spotlight_) spotlight = Vec2{std::clamp(place.x, 0.0f, 1.0f), std::clamp(place.y, 0.0f, 1.0f)};
}

void Shell::draw_spotlight(View& view) {
  if (!spotlight) return;
  const Rect box = view.box;
  const Vec2 at{box.x + spotlight->x * box.w, box.y + spotlight->y * box.h};
  view.canvas.push_clip(box);
  view.canvas.circle(at, 84, {}, view.canvas.theme().accent, 5);
  view.canvas.pop_clip();
}

/// In a lesson Enter has just meant "this is my answer": it opens the break menu only about something that
/// the reader has selected since.
bool Shell::enter_breaks(const Session& session) const {
  if (session.scene_id != kLessonScene) return true;
  const Selection& chosen = session.selection;
  const bool something = chosen.rank >= 0 || chosen.node >= 0 || chosen.link_from >= 0 || chosen.chunk >= 0;
  return something && chosen != lesson_selection_;
}

Vec2 Shell::place_of_selection(const View& view, const Session& session, const Scene& scene) const {
  const Selection& chosen = session.selection;
  std::string name;
  if (chosen.rank >= 0) name = "rank:" + std::to_string(chosen.rank);
  const auto places = name.empty() ? std::vector<Rect>() : scene.places(name);
  const Vec2 origin{view.box.x, view.box.y};
  if (!places.empty()) return places.front().center() + origin;
  return {view.box.center().x - 340, view.box.y + 24};
}

void Shell::handle_keys(View& view, Session& session, Scene& scene) {
  Ui& ui = view.ui;
  if (ui.typing()) return;
  const auto pressed = [&](Key key) {
    if (!ui.key(key)) return false;
    ui.take(key);
    return true;
  };
  if (pressed(Key::F1)) view.emit(action::ToggleHelp{});
  if (pressed(Key::F2)) view.emit(action::ShowGlossary{});
  if (pressed(Key::F11)) view.emit(action::ToggleFullScreen{});
  if (ui.ctrl() && pressed(Key::V)) view.emit(action::PasteMoment{});
  if (ui.ctrl() && session.scenario() != nullptr && pressed(Key::S))
    share_panel.open(session, SharePanel::Page::Save);
  if (ui.ctrl() && session.has_trace() && pressed(Key::W)) view.emit(action::CloseTab{session.tab()});
  if (const auto tabs = static_cast<int>(session.documents().size());
      tabs > 1 && ui.ctrl() && pressed(Key::Tab))
    view.emit(action::SwitchTab{(session.tab() + (ui.shift() ? tabs - 1 : 1)) % tabs});
  if (ui.ctrl() && pressed(Key::Z) && !scene.undo_own(ui.shift()))
    view.emit(ui.shift() ? Action(action::Redo{}) : Action(action::Undo{}));
  if (ui.ctrl() && pressed(Key::Y) && !scene.undo_own(true)) view.emit(action::Redo{});
  if (help_open) {
    if (pressed(Key::Escape)) view.emit(action::ToggleHelp{});
    return;
  }
  if (ui.any_popup_open()) return;
  // A scene without the transport bar has the keys of time for its own story.
  const bool timed = timed_;
  if (!session.problem() && (session.has_trace() || !timed)) {
    for (const Key key : {Key::Left, Key::Right, Key::Up, Key::Down, Key::PageUp, Key::PageDown, Key::Enter,
                          Key::Delete, Key::Insert, Key::Escape, Key::C, Key::Space, Key::Home, Key::End}) {
      const bool arrow = key <= Key::Down && key >= Key::Left;
      if (arrow && (ui.focused_takes_arrows() || !scene.owns_arrows())) continue;
      if (timed && (key == Key::Space || key == Key::Home || key == Key::End)) continue;
      if (ui.key(key) && scene.key(key, view)) ui.take(key);
    }
  }
  if (ui.ctrl() && session.scenario() != nullptr && pressed(Key::C)) view.emit(action::CopyMoment{});
  if (timed && session.has_trace() && !session.problem()) {
    if ((enter_breaks(session) && pressed(Key::Enter)) || pressed(Key::Menu) || pressed(Key::Insert))
      view.emit(action::OpenBreakMenu{session.selection, place_of_selection(view, session, scene)});
    if (pressed(Key::Delete)) view.emit(action::RemoveFault{});
    const bool free_arrows = !ui.focused_takes_arrows();
    if (pressed(Key::Space)) view.emit(action::TogglePlay{});
    if (free_arrows && pressed(Key::Left)) view.emit(action::StepBy{-1});
    if (free_arrows && pressed(Key::Right)) view.emit(action::StepBy{1});
    if (pressed(Key::Home)) view.emit(action::SeekStart{});
    if (pressed(Key::End)) view.emit(action::SeekEnd{});
    const auto unit = static_cast<int>(session.playhead().unit);
    if (free_arrows && pressed(Key::Up) && unit < static_cast<int>(sim::StepUnit::TrainingStep))
      view.emit(action::SetStepUnit{static_cast<sim::StepUnit>(unit + 1)});
    if (free_arrows && pressed(Key::Down) && unit > 0)
      view.emit(action::SetStepUnit{static_cast<sim::StepUnit>(unit - 1)});
    if (presenter) {  // what presenter remotes send
      if (pressed(Key::PageDown)) view.emit(action::StepBy{1});
      if (pressed(Key::PageUp)) view.emit(action::StepBy{-1});
    }
  }
  if (presenter && pressed(Key::Escape)) view.emit(action::TogglePresenter{});
  if (pressed(Key::Escape)) {  // back: out of the focus, then out of the selection
    if (!ui.focused().empty()) {
      ui.clear_focus();
    } else if (session.selection != Selection{}) {
      view.emit(action::Select{});
    }
  }
}

}  // namespace ringside::app
