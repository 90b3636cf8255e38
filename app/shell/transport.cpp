// The transport bar: step back, play, step on, clock, timeline with bands, ticks and marks, speed, arrow-key
// step.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/draw/parts.hpp"
#include "app/shell/format.hpp"
#include "app/shell/shell.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

using Track = TimelineTrack;
constexpr float kClockWidth = 128, kRightWidth = 190, kTrackHeight = 20;

/// `label_end`: labels above the bands end here.
void draw_bands(Canvas& c, const Timeline& line, const TimelineTrack& track, float head, float label_end) {
  const Theme& t = c.theme();
  float last_label_end = -1e9f;
  for (const TimelineBand& band : line.bands) {
    const float a = track.at(band.from), b = track.at(band.to);
    if (b - a < 1) continue;
    c.rect({a + 1, track.y, std::max(1.0f, b - a - 2), kTrackHeight}, {.fill = t.raised, .radius = 4});
    const float played = std::min(head, b - 1) - (a + 1);
    if (played > 0) c.rect({a + 1, track.y, played, kTrackHeight}, {.fill = t.edge, .radius = 4});
    if (!band.label.empty() && c.width(band.label, 13) <= std::min(b, label_end) - a - 4 &&
        a + 2 > last_label_end + 8) {
      c.text({a + 2, track.y - 17}, band.label, {.size = 13, .color = t.t2});
      last_label_end = a + 2 + c.width(band.label, 13);
    }
  }
}

/// What is not to be seen yet: a lesson has asked what comes next.
void draw_cover(Canvas& c, const TimelineTrack& track, std::int64_t from) {
  const Theme& t = c.theme();
  const float x = track.at(from) + 5, w = track.x + track.w - x;
  if (w < 24) return;
  const Rect box{x, track.y - 6, w, kTrackHeight + 12};
  c.rect(box, {.fill = t.raised, .radius = 6});
  c.rect(box, {.stroke = t.edge, .radius = 6, .width = 1.5f, .dash = {5, 4}});
  const std::string& words = tr("lesson.covered");
  const bool room = c.width(words, 14) + 44 < w;
  const float left = room ? box.center().x - (c.width(words, 14) + 22) / 2 : box.center().x - 5;
  c.text({left, box.center().y}, "?", {.size = 20, .face = Face::Bold, .on_shape = true});
  if (room) c.text({left + 22, box.center().y}, words, {.size = 14, .color = t.t2});
}

/// The line without what lies after a moment.
Timeline cut_after(const Timeline& line, std::int64_t t) {
  Timeline out = line;
  std::erase_if(out.bands, [&](const TimelineBand& band) { return band.from >= t; });
  for (TimelineBand& band : out.bands) band.to = std::min(band.to, t);
  std::erase_if(out.ticks, [&](std::int64_t tick) { return tick >= t; });
  std::erase_if(out.labels, [&](const Timeline::Label& label) { return label.t >= t; });
  std::erase_if(out.marks, [&](const TimelineMark& mark) { return mark.t > t; });
  return out;
}

void draw_track(Canvas& c, const Timeline& line, const TimelineTrack& track, std::int64_t now,
                float label_end = 1e9f) {
  const Theme& t = c.theme();
  const float head = track.at(now);
  draw_bands(c, line, track, head, label_end);
  for (const std::int64_t tick : line.ticks)
    c.rect({track.at(tick) - 1, track.y, 2, kTrackHeight}, {.fill = t.panel});
  float last = -1e9f;
  for (const Timeline::Label& label : line.labels) {
    const float x = track.at(label.t), w = c.width(label.text, 13);
    if (x - w / 2 < last + 6) continue;
    c.text({x, track.y + kTrackHeight / 2}, label.text,
           {.size = 13,
            .color = label.t < now ? (t.dark ? t.ink : rgb(0xFFFFFF)) : t.t2,
            .align = Align::Center,
            .on_shape = true});
    last = x + w / 2;
  }
  for (const TimeAxis::Cut& cut : track.axis->cuts()) {  // a wait that was cut: the band is broken
    const float a = track.at(cut.from), b = track.at(cut.to);
    if (b - a < 8) continue;
    c.rect({a, track.y - 1, b - a, kTrackHeight + 2}, {.fill = t.panel});
    parts::wait_box(c, {a + 1, track.y, b - a - 2, kTrackHeight});
    parts::zigzag(c, {(a + b) / 2, track.y + kTrackHeight / 2}, kTrackHeight + 8);
  }
  float last_mark = -1e9f;
  for (const TimelineMark& mark : line.marks) {
    const float x = track.at(mark.t);
    c.line({x, track.y - 2}, {x, track.y + kTrackHeight + 4}, mark.color, 2);
    if (x - last_mark < 14) continue;  // marks that touch share one glyph
    c.glyph(mark.glyph, {x, track.y + kTrackHeight + 12}, 12, mark.color, 2);
    last_mark = x;
  }
  c.rect({head - 1.5f, track.y - 7, 3, kTrackHeight + 14}, {.fill = t.accent, .radius = 1.5f});
  c.fill({{head - 6, track.y - 9}, {head + 6, track.y - 9}, {head, track.y - 1}}, t.accent);
}

/// What the clock's unit follows: the end of the stretch that holds t. Microseconds before a wait of minutes
/// would else read "0:00".
std::int64_t clock_scale(const TimeAxis& axis, std::int64_t t, std::int64_t end_time) {
  for (const TimeAxis::Cut& cut : axis.cuts()) {
    if (t <= cut.from) return cut.from;
    if (t < cut.to) return cut.to;
  }
  return end_time;
}

}  // namespace

void Shell::draw_transport(View& view, const Session& session, const Scene& scene) {
  Canvas& c = view.canvas;
  Ui& ui = view.ui;
  const Theme& t = c.theme();
  const Rect box = view.box;
  const sim::Playhead& playhead = view.ctx.playhead;
  c.rect(box, {.fill = t.panel});
  c.line({box.x, box.y}, {box.right(), box.y}, t.line);
  const float y = box.y + kTransportHeight / 2;  // tracks of branches lie below
  float x = box.x + 18;

  const bool at_start = playhead.t <= 0, at_end = playhead.t >= view.ctx.end_time;
  if (ui.icon_button("transport.first", {x + 12, y}, Glyph::First, 18, tr("transport.first"), !at_start))
    view.emit(action::SeekStart{});
  x += 38;
  if (ui.icon_button("transport.back", {x + 12, y}, Glyph::StepBack, 20, tr("transport.back"), !at_start))
    view.emit(action::StepBy{-1});
  x += 38;
  const bool playing = playhead.mode != sim::PlayMode::Paused;
  const Rect play{x - 3, y - 23, 46, 46};
  const Hit h =
      ui.hit("transport.play", play, {.explain = playing ? tr("transport.pause") : tr("transport.play")});
  c.circle({x + 20, y}, 23, h.hovered ? mix(t.accent, t.stage, .12f) : t.accent);
  c.glyph(playing ? Glyph::Pause : Glyph::Play, {x + (playing ? 20 : 21.5f), y}, 20, t.ink);
  if (h.clicked) view.emit(action::TogglePlay{});
  x += 54;
  if (ui.icon_button("transport.on", {x + 12, y}, Glyph::StepOn, 20, tr("transport.on"), !at_end))
    view.emit(action::StepBy{1});
  x += 38;
  if (ui.icon_button("transport.last", {x + 12, y}, Glyph::Last, 18, tr("transport.last"), !at_end))
    view.emit(action::SeekEnd{});
  x += 44;

  const std::string clock = format_clock(playhead.t, clock_scale(session.axis(), playhead.t, view.ctx.end_time));
  c.text(
      {x, y - 11}, clock,
      {.size = size_that_fits(c.fonts(), clock, kClockWidth, {26, 22, 18}, Face::Bold), .face = Face::Bold});
  c.text({x, y + 15}, tr("transport.of", {format_clock(view.ctx.end_time, view.ctx.end_time)}),
         {.size = 14, .color = t.t2});

  const float right = box.right() - 20;
  Track track{.x = x + kClockWidth + 14, .y = y - 2, .axis = &session.axis()};
  track.w = right - kRightWidth - 34 - track.x;
  const Timeline& line = timeline(view.ctx, scene);
  track.from = line.from;
  track.to = std::max(line.to, line.from + 1);
  const Hit scrub =
      ui.hit("transport.timeline", {track.x, track.y - 10, track.w, kTrackHeight + 20}, {.least = 36});
  if (scrub.pressed || (scrub.held && track.time_at(scrub.mouse.x) != playhead.t))
    view.emit(action::SeekTo{track.time_at(scrub.mouse.x)});
  if (view.ctx.covered_from) {
    draw_track(c, cut_after(line, *view.ctx.covered_from), track, playhead.t);
    draw_cover(c, track, *view.ctx.covered_from);
  } else {
    const float label_end = session.grows() ? draw_live_end(view, track, y - 21) : 1e9f;
    draw_track(c, line, track, playhead.t, label_end);
    draw_branch_tracks(view, session, track, box.y + kTransportHeight);
  }

  // Speed and arrow-key step: two rows, each a field to open.
  const auto row = [&](std::string_view id, float row_y, const std::string& label, const std::string& value,
                       std::string_view explain) {
    const Rect area{right - kRightWidth - 8, row_y - 13, kRightWidth + 16, 26};
    const Hit hit = ui.hit(id, area, {.explain = explain});
    if (hit.hovered) c.rect(area, {.fill = t.raised, .radius = 6});
    c.text({right - kRightWidth, row_y}, label, {.size = 13, .color = t.t3});
    c.text({right, row_y}, value, {.size = 14, .face = Face::Bold, .align = Align::Right});
    return hit.clicked;
  };
  if (row("transport.speed", y - 14, tr("transport.speed"), format_speed(playhead.speed * 1e9),
          tr("transport.speed_explain")))
    ui.open_popup("transport.speed.popup");
  draw_speed_popup(view, {right - 300, y - 27, 300, 26});

  std::vector<MenuItem> units;
  for (int i = 0; i <= static_cast<int>(sim::StepUnit::TrainingStep); ++i)
    units.push_back({.label = tr_word("unit", sim::to_word(static_cast<sim::StepUnit>(i)))});
  const int unit = static_cast<int>(playhead.unit);
  if (row("transport.unit", y + 14, tr("transport.arrow_keys"), units[static_cast<std::size_t>(unit)].label,
          tr("transport.arrow_explain")))
    ui.open_popup("transport.unit.menu");
  if (const auto chosen =
          ui.menu("transport.unit.menu", {right - kRightWidth, y + 1, kRightWidth, 26}, units, unit))
    view.emit(action::SetStepUnit{static_cast<sim::StepUnit>(*chosen)});
}

/// At the end of a running job's timeline: whether the playhead follows it, and the way back there.
/// Returns its left end.
float Shell::draw_live_end(View& view, const TimelineTrack& track, float y) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const bool follows = view.ctx.playhead.mode == sim::PlayMode::Follow;
  const std::string& label = follows ? tr("transport.live") : tr("transport.to_live");
  const float w = c.width(label, 14, Face::Bold) + 40;
  const Rect box{track.x + track.w - w, y - 11, w, 22};
  const Hit hit = view.ui.hit("transport.follow", box, {.explain = tr("transport.follow_explain")});
  c.rect(box, {.fill = !follows && hit.hovered ? t.raised : t.panel, .stroke = follows ? Color{} : t.edge, .radius = 11});
  c.glyph(Glyph::Live, {box.x + 16, box.center().y}, 15, follows ? t.t1 : t.t2, 1.75f);
  c.text({box.x + 29, box.center().y}, label,
         {.size = 14, .color = follows ? t.t1 : t.t2, .face = Face::Bold, .on_shape = true});
  if (hit.clicked) view.emit(action::Follow{});
  return box.x - 8;
}

void Shell::draw_speed_popup(View& view, Rect anchor) {
  view.ui.popup("transport.speed.popup", anchor, {300, 132}, [view](Rect box) mutable {
    Canvas& c = view.canvas;
    const Theme& t = c.theme();
    const sim::Playhead& playhead = view.ctx.playhead;
    c.text({box.x + 16, box.y + 24}, tr("transport.speed"), {.size = 14, .color = t.t3, .face = Face::Bold});
    double speed = playhead.speed * 1e9;
    c.text({box.right() - 16, box.y + 24}, format_speed(speed),
           {.size = 15, .face = Face::Bold, .align = Align::Right});
    const double whole = std::max(1.0, static_cast<double>(view.ctx.end_time));
    if (view.ui.slider("transport.speed.slider", {box.x + 16, box.y + 44, box.w - 32, 28}, speed,
                       std::max(0.2, whole / 600), std::max(2.0, whole / 0.5), {.logarithmic = true}))
      view.emit(action::SetSpeed{speed});
    bool loop = playhead.loop;
    if (view.ui.checkbox("transport.loop", {box.x + 16, box.y + 100}, tr("transport.loop"), loop))
      view.emit(action::SetLoop{loop});
  });
}

}  // namespace ringside::app
