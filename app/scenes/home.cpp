// Home: the lesson in one picture, four doors, the path of lessons.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "app/draw/parts.hpp"
#include "app/i18n/titles.hpp"
#include "app/lesson/desk.hpp"
#include "app/scenes/explain_box.hpp"
#include "app/scenes/home_path.hpp"
#include "app/scenes/scene.hpp"
#include "app/text/layout.hpp"

namespace ringside::app {
namespace {

constexpr std::array kValues = {2, 4, 6, 8};

Vec2 on_circle(Vec2 center, float r, float degrees) {
  const float a = degrees * std::numbers::pi_v<float> / 180.0f;
  return {center.x + r * std::sin(a), center.y - r * std::cos(a)};
}

/// Four gradients on a ring; the answer in the middle.
void draw_hero(Canvas& c, Vec2 center, float radius, float s) {
  const Theme& t = c.theme();
  c.circle(center, radius, {}, t.edge, 3);
  for (int i = 0; i < 4; ++i)
    for (const float k : {-12.0f, 0.0f, 12.0f}) {  // chevrons: the way round
      const float a = static_cast<float>(i) * 90 + k, rad = a * std::numbers::pi_v<float> / 180.0f;
      const Vec2 p = on_circle(center, radius, a), u{std::cos(rad), std::sin(rad)}, n{-u.y, u.x};
      c.stroke({p - u * 5 + n * 5, p + u * 5, p - u * 5 - n * 5}, t.t3, 2);
    }
  for (int i = 0; i < 4; ++i) {
    const Vec2 p = on_circle(center, radius, static_cast<float>(i) * 90 - 45);
    c.rect({p.x - s / 2 - 6, p.y - s / 2 - 6, s + 12, s + 12}, {.fill = t.stage, .radius = s * .2f});
    c.rect({p.x - s / 2, p.y - s / 2, s, s}, {.fill = t.rank(i), .radius = s * .16f});
    const Color on = t.on(t.rank(i));
    c.text({p.x, p.y - s * .28f}, "GPU " + std::to_string(i),
           {.size = s * .17f, .color = on, .face = Face::Bold, .align = Align::Center});
    c.text({p.x, p.y + s * .12f}, std::to_string(kValues[static_cast<std::size_t>(i)]),
           {.size = s * .5f, .color = on, .face = Face::Bold, .align = Align::Center});
  }
  // The sum, operand by operand.
  const float k = s * .25f, gap = s * .22f, y = center.y - s * .70f;
  float x = center.x - (4 * k + 3 * gap) / 2;
  for (int i = 0; i < 4; ++i) {
    c.rect({x, y - k / 2, k, k}, {.fill = t.rank(i), .radius = 4});
    c.text({x + k / 2, y}, std::to_string(kValues[static_cast<std::size_t>(i)]),
           {.size = k * .72f, .color = t.on(t.rank(i)), .face = Face::Bold, .align = Align::Center});
    x += k;
    if (i < 3) c.text({x + gap / 2, y}, "+", {.size = k * .8f, .color = t.t2, .align = Align::Center});
    x += gap;
  }
  c.text({center.x, y + s * .36f}, "= 20,  ÷ 4", {.size = s * .22f, .color = t.t2, .align = Align::Center});
  c.text({center.x, center.y + s * .33f}, "5",
         {.size = s * 1.08f, .face = Face::Bold, .align = Align::Center});
  c.text({center.x, center.y + s}, tr("home.on_every_gpu"),
         {.size = s * .2f, .color = t.t2, .align = Align::Center});
}

// --- the doors' pictures: a small piece of the scene behind, in the same language
// ---------------------------------------

void picture_learn(Canvas& c, Rect box) {
  const Theme& t = c.theme();
  const float k = std::min((box.h - 8) / 3, box.w / 9.3f), g = 3, base = box.bottom();
  const auto square = [&](float x, float y, const std::string& value, bool hot = false) {
    c.rect({x, y - k, k - g, k - g}, {.fill = hot ? t.t1 : t.raised, .radius = 3});
    c.text({x + (k - g) / 2, y - k + (k - g) / 2}, value,
           {.size = k * .52f,
            .color = hot ? t.ink : t.t2,
            .face = hot ? Face::Bold : Face::Regular,
            .align = Align::Center,
            .on_shape = true});
  };
  square(box.x, base, "5");
  for (int i = 0; i < 3; ++i)
    square(box.x + k * 1.6f, base - static_cast<float>(i) * k, std::to_string(3 - i));
  const int matrix[4] = {3, 4, 1, 2};
  for (int i = 0; i < 4; ++i)
    square(box.x + k * 3.2f + static_cast<float>(i % 2) * k, base - static_cast<float>(i / 2) * k,
           std::to_string(matrix[i]));
  const float x = box.x + k * 5.7f, o = k * .42f;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 2; ++j)
      c.rect({x + static_cast<float>(i) * k + o, base - static_cast<float>(j) * k - o - k, k - g, k - g},
             {.fill = fade(t.edge, .45f), .radius = 3});
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 2; ++j) {
      const float px = x + static_cast<float>(i) * k, py = base - static_cast<float>(j) * k;
      c.rect({px - 1, py - k - 1, k - g + 2, k - g + 2}, {.fill = t.card, .radius = 3});
      square(px, py, std::to_string((1 - j) * 3 + i + 1), i == 2 && j == 0);
    }
}

void picture_break(Canvas& c, Rect box) {
  const Theme& t = c.theme();
  constexpr float k = 15, g = 6;
  const int nx = static_cast<int>((box.w + g) / (k + g)), ny = static_cast<int>((box.h + g) / (k + g));
  const int hot_x = nx * 5 / 8, hot_y = ny / 2;
  const auto at = [&](int i, int j) {
    return Rect{box.x + static_cast<float>(i) * (k + g),
                box.bottom() - static_cast<float>(ny - j) * (k + g) + g, k, k};
  };
  for (int i = 0; i < nx; ++i)
    for (int j = 0; j < ny; ++j) {
      const Rect r = at(i, j);
      if (i == hot_x && j == hot_y) continue;
      c.rect(r, {.stroke = fade(t.t3, .8f), .radius = 3, .width = 1.25f});
      c.line({r.x + 3, r.bottom() - 3}, {r.right() - 3, r.y + 3}, fade(t.t3, .8f), 1.1f);
    }
  const Rect r = at(hot_x, hot_y);
  c.rect(r.inset(-1), {.fill = t.fail, .radius = 3});
  c.glyph(Glyph::Cross, r.center(), 9, t.ink, 2.4f);
  c.rect(r.inset(-6.5f), {.stroke = t.card, .radius = 3, .width = 3});
  parts::brackets(c, r.inset(-5.5f), t.fail, 7, 2.5f);
}

void picture_watch(Canvas& c, Rect box) {
  const Theme& t = c.theme();
  constexpr float kLanes[4][5][2] = {{{0, .20f}, {.21f, .42f}, {.43f, .55f}, {.60f, .80f}, {.81f, .97f}},
                                     {{0, .22f}, {.23f, .44f}, {.45f, .55f}, {.60f, .81f}, {.82f, .97f}},
                                     {{0, .19f}, {.20f, .41f}, {.43f, .55f}, {.60f, .79f}, {.80f, .97f}},
                                     {{0, .23f}, {.24f, .45f}, {.46f, .55f}, {.60f, .82f}, {.83f, .97f}}};
  constexpr float kShade[3] = {.62f, .36f, .85f};
  const float pitch = box.h / 4;
  for (int j = 0; j < 4; ++j)
    for (int i = 0; i < 5; ++i) {
      const float a = kLanes[j][i][0], b = kLanes[j][i][1];
      c.rect({box.x + a * box.w, box.y + static_cast<float>(j) * pitch + 4, (b - a) * box.w - 1, pitch - 8},
             {.fill = mix(t.card, t.t2, kShade[i % 3]), .radius = 3});
    }
  c.rect({box.x + .97f * box.w, box.y - 2, 2.5f, box.h + 4}, {.fill = t.t1, .radius = 1});
}

void picture_open(Canvas& c, Rect box) {
  const Theme& t = c.theme();
  constexpr float kEnds[5] = {.78f, .55f, .96f, .70f, .40f};
  const float pitch = box.h / 5;
  for (int j = 0; j < 5; ++j) {
    const float y = box.y + (static_cast<float>(j) + .5f) * pitch, end = box.x + kEnds[j] * box.w;
    if (j != 2) {
      c.rect({box.x, y - 4, 40, 8}, {.fill = fade(t.edge, .5f), .radius = 4});
      c.rect({box.x + 58, y - 2, end - box.x - 58, 4}, {.fill = fade(t.edge, .8f), .radius = 2});
      continue;
    }
    c.rect({box.x - 10, y - pitch / 2, box.w + 20, pitch}, {.fill = fade(t.fail, .18f), .radius = 4});
    c.rect({box.x - 10, y - pitch / 2, 4, pitch}, {.fill = t.fail, .radius = 2});
    c.rect({box.x, y - 9, 46, 18}, {.fill = t.raised, .radius = 4});
    c.text({box.x + 23, y}, "R137",
           {.size = 13, .face = Face::Bold, .align = Align::Center, .on_shape = true});
    c.rect({box.x + 58, y - 2, end - box.x - 58, 4}, {.fill = t.t1, .radius = 2});
  }
}

struct Door {
  std::string_view id, title_key, text_key;
  std::string_view scene;  // what it opens, once there is such a scene
  void (*picture)(Canvas&, Rect);
};
constexpr std::array kDoors = {
    Door{"learn", "home.learn", "home.learn_text", "allreduce", picture_learn},
    Door{"break", "home.break", "home.break_text", "cluster", picture_break},
    Door{"watch", "home.watch", "home.watch_text", "live", picture_watch},
    Door{"open", "home.open", "home.open_text", "incident", picture_open},
};

class HomeScene final : public Scene {
 public:
  void prepare(const SceneContext& ctx) override {
    wide_ = ctx.stage.x + 84 > 1500;
    small_ = ctx.stage.x < 1100;  // large type on a small screen
    first_ = nullptr;
    for (const LibraryEntry& entry : ctx.library)
      if (first_ == nullptr || entry.path.ends_with("/four-gpus.toml")) first_ = &entry;
    cluster_ = nullptr;
    for (const LibraryEntry& entry : ctx.library)
      if (entry.path.ends_with("/cluster-64x8-crash.toml")) cluster_ = &entry;
  }

  void draw(View& view) override {
    const Rect s = view.box;
    const bool path = view.ctx.lessons != nullptr && !view.ctx.lessons->library().files().empty();
    const float margin = wide_ ? 64 : small_ ? 28 : 44, strip = !path ? 0 : wide_ ? 168.0f : 148.0f;
    const float top = s.y + (wide_    ? 52
                             : small_ ? 20
                                      : 28),
                hero_w = wide_    ? 540.0f
                         : small_ ? 440.0f
                                  : 500.0f;
    draw_left(view, {s.x + margin, top, hero_w, s.h - strip - top + s.y});
    const float x = s.x + margin + hero_w + (wide_ ? 56 : small_ ? 24 : 40), w = s.right() - margin - x;
    const float bottom = s.bottom() - strip - (wide_ ? 34 : 24);
    draw_doors(view, {x, top + 4, w, bottom - top - 8});
    if (path) path_.draw(view, {s.x, s.bottom() - strip, s.w, strip}, margin, *view.ctx.lessons);
  }

 private:
  void open(View& view, std::string_view scene) const {
    const SceneEntry* row = find_scene(scene);
    if (row != nullptr && !row->needs_trace) {  // it has a page of its own without anything open
      view.emit(action::ShowScene{std::string(scene)});
      return;
    }
    if (first_ == nullptr && view.ctx.trace.empty()) return;
    const LibraryEntry* file = scene == "cluster" && cluster_ != nullptr ? cluster_ : first_;
    if (view.ctx.trace.empty()) view.emit(action::OpenFile{file->path});
    view.emit(action::ShowScene{std::string(scene)});
  }

  void draw_left(View& view, Rect box) const {
    Canvas& c = view.canvas;
    const Theme& t = c.theme();
    const float s = wide_ ? 116 : small_ ? 56 : 86, radius = wide_ ? 222 : small_ ? 108 : 168;
    const Vec2 center{box.center().x, box.y + radius - 12};
    draw_hero(c, center, radius, s);
    float y = center.y + radius + (wide_ ? 44 : 26);
    const std::string& claim = tr("home.claim");
    c.text({center.x, y + 4}, claim,
           {.size = size_that_fits(c.fonts(), claim, box.w, {wide_ ? 38.0f : 30.0f, 26, 22}, Face::Bold),
            .face = Face::Bold,
            .align = Align::Center});
    y += wide_ ? 42 : 28;
    if (!small_)
      c.text({center.x, y + 6}, fit(c.fonts(), tr("home.claim_text"), box.w + 36, wide_ ? 17 : 15),
             {.size = wide_ ? 17.0f : 15.0f, .color = t.t2, .align = Align::Center});
    if (!small_) y += wide_ ? 40 : 26;
    draw_start(view, center.x, y);
  }

  /// One click, or Space: on with the lesson.
  void draw_start(View& view, float middle, float y) const {
    Canvas& c = view.canvas;
    const LessonDesk* desk = view.ctx.lessons;
    const LessonFile* next = desk != nullptr ? desk->next_to_read() : nullptr;
    if (next == nullptr && first_ == nullptr) return;
    const Vec2 size = wide_ ? Vec2{340, 54} : Vec2{small_ ? 230.0f : 300.0f, 46};
    const float other = view.ctx.library.empty() ? 0 : wide_ ? 150.0f : 128.0f;
    float x = middle - (size.x + 66 + (other > 0 ? other + 8 : 0)) / 2;
    const std::string label = next != nullptr ? start_label(c, *desk, *next, size.x - 60) : tr("home.start");
    if (view.ui.button("home.start", {x, y, size.x, size.y}, label,
                       {.primary = true, .icon = Glyph::Play, .size = 16}) ||
        (!view.ui.any_popup_open() && !view.ui.typing() && view.ui.key(Key::Space))) {
      view.ui.take(Key::Space);
      if (next != nullptr) {
        view.emit(resume_lesson(next->lesson.id));
      } else {
        open(view, "allreduce");
      }
    }
    x += size.x + 12;
    x += parts::key_cap(c, {x, y + size.y / 2}, "Space") + 14;
    if (other > 0) draw_library(view, {x, y, other, size.y});
  }

  /// "Continue lesson 5: the ring …"; the title stays away rather than being cut.
  static std::string start_label(Canvas& c, const LessonDesk& desk, const LessonFile& next, float room) {
    const LessonProgress* progress = desk.progress().of(next.lesson.id);
    const bool begun = progress != nullptr && progress->step > 0 && !progress->done;
    const std::string number = std::to_string(desk.library().number_of(next.lesson.id));
    const std::string& title = next.lesson.title.in(language() == Lang::Ko);
    const std::string whole =
        begun ? tr("home.path.continue", {number, title}) : tr("home.path.start", {number, title});
    if (c.width(whole, 16, Face::Bold) <= room) return whole;
    return begun ? tr("home.path.continue_short", {number}) : tr("home.path.start_short", {number});
  }

  void draw_doors(View& view, Rect box) {
    Canvas& c = view.canvas;
    const Theme& t = c.theme();
    constexpr float kGap = 16;
    const float w = (box.w - kGap) / 2, h = (box.h - kGap) / 2;
    for (std::size_t i = 0; i < kDoors.size(); ++i) {
      const Door& door = kDoors[i];
      const Rect d{box.x + static_cast<float>(i % 2) * (w + kGap),
                   box.y + static_cast<float>(i / 2) * (h + kGap), w, h};
      // Learn leads to the lessons; where there are none, to the ring itself.
      const LessonFile* lesson =
          i == 0 && view.ctx.lessons != nullptr ? view.ctx.lessons->next_to_read() : nullptr;
      const SceneEntry* scene = find_scene(door.scene);
      const bool enabled =
          lesson != nullptr ||
          (scene != nullptr && (!scene->needs_trace || first_ != nullptr || !view.ctx.trace.empty()));
      const Hit hit =
          view.ui.hit("home." + std::string(door.id), d,
                      {.focusable = enabled, .explain = enabled ? std::string_view() : tr("home.not_here")});
      c.rect(d, {.fill = enabled && hit.hovered ? t.raised : t.card, .stroke = t.line, .radius = 12});
      c.text({d.x + 20, d.y + 29}, tr(door.title_key),
             {.size = 22, .color = enabled ? t.t1 : t.t3, .face = Face::Bold});
      if (enabled) c.glyph(Glyph::Right, {d.right() - 24, d.y + 29}, 17, t.t3, 2.2f);
      // Behind logs, one line can be asked about right here; beside breaking, there is a broken job to solve.
      const bool asks = enabled && door.scene == "incident", solves = door.id == "break";
      const int lines = static_cast<int>((d.h - 58 - (solves ? 60 : 8)) / 21) + 1;
      const float end = parts::paragraph(c, {d.x + 20, d.y + 58}, d.w - 36, tr(door.text_key),
                                         {.size = 15,
                                          .line_height = 1.4f,
                                          .color = enabled ? t.t2 : t.t3,
                                          .max_lines = std::clamp(lines, 1, 3)});
      const float floor = d.bottom() - 20 - (asks || solves ? 46 : 0);
      const float ph = std::min({d.h - 120, floor - end, wide_ ? 200.0f : 150.0f});
      if (ph > 40) door.picture(c, {d.x + 20, floor - ph, std::min(d.w - 40, wide_ ? 400.0f : 300.0f), ph});
      if (asks) {
        const Rect ask{d.x + 16, d.bottom() - 16 - 36, d.w - 32, 36};
        if (explain_.field(view, "home.explain", ask)) view.ui.open_popup("home.explain.popup");
        explain_.popup(view, "home.explain.popup", ask);
      }
      const Rect solve{d.x + 16, d.bottom() - 16 - 36, d.w - 32, 36};
      const std::string& long_name = tr("home.detective");
      const bool fits = c.width(long_name, 15, Face::Bold) <= solve.w - 40;
      if (solves && view.ui.button("home.detective", solve, fits ? long_name : tr("scene.detective"),
                                   {.icon = Glyph::Flag, .size = 15, .explain = tr("home.detective_explain")})) {
        view.emit(action::ShowScene{"detective"});
        continue;
      }
      if (!enabled || !hit.clicked) continue;
      if (lesson != nullptr) {
        view.emit(resume_lesson(lesson->lesson.id));
      } else {
        open(view, door.scene);
      }
    }
  }

  /// The scenarios that come with Ringside, and the last ones.
  void draw_library(View& view, Rect button) const {
    const auto& library = view.ctx.library;
    if (view.ui.button("home.library", button, tr("home.path.scenarios"),
                       {.icon = Glyph::Down, .size = 15, .explain = tr("home.drop")}))
      view.ui.open_popup("home.library.menu");
    std::vector<MenuItem> items;
    for (const LibraryEntry& entry : library) items.push_back({.label = known_title(entry.title)});
    const auto chosen = view.ui.menu("home.library.menu", button, items, -1);
    if (!chosen || static_cast<std::size_t>(*chosen) >= library.size()) return;
    view.emit(action::OpenFile{library[static_cast<std::size_t>(*chosen)].path});
  }

  ExplainBox explain_;
  bool wide_ = false, small_ = false;
  LessonPath path_;
  const LibraryEntry* first_ = nullptr;
  const LibraryEntry* cluster_ = nullptr;  // what the door of the failures opens
};

}  // namespace

std::unique_ptr<Scene> make_home_scene() {
  return std::make_unique<HomeScene>();
}

}  // namespace ringside::app
