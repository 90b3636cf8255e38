#include "app/scenes/home_path.hpp"

#include <algorithm>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/session/files.hpp"
#include "app/session/session.hpp"
#include "app/text/layout.hpp"

namespace ringside::app {
namespace {

constexpr float kRadius = 15;

/// "done · 2 of 3 right", "part 2 of 6", "4 min".
std::string state_of(const LessonFile& file, const LessonProgress* progress) {
  const int steps = static_cast<int>(file.lesson.steps.size());
  const std::string minutes = tr("home.path.minutes", {std::to_string(minutes_of(file.lesson))});
  if (progress == nullptr || (progress->step == 0 && !progress->done)) return minutes;
  if (!progress->done)
    return minutes + " · " +
           tr("home.path.part", {std::to_string(progress->step + 1), std::to_string(steps)});
  const int asked = questions_of(file.lesson);
  if (asked == 0) return tr("home.path.done");
  return tr("home.path.done") + " · " +
         tr("home.path.score", {std::to_string(score_of(file.lesson, *progress)), std::to_string(asked)});
}

void draw_disc(Canvas& c, Vec2 at, const LessonFile& file, const LessonProgress* progress, bool next,
               int number) {
  const Theme& t = c.theme();
  if (file.error) {
    c.circle(at, kRadius, t.panel);
    c.dashed_circle(at, kRadius, t.stall, 1.75f, {4, 3});
    c.glyph(Glyph::Warning, at, 14, t.stall, 2);
    return;
  }
  if (progress != nullptr && progress->done) {
    c.circle(at, kRadius, t.accent);
    c.glyph(Glyph::Check, at, 14, t.ink, 2.4f);
    return;
  }
  c.circle(at, kRadius, t.panel, t.edge, 2);
  const float share = progress == nullptr
                          ? 0
                          : static_cast<float>(progress->step) / static_cast<float>(file.lesson.steps.size());
  if (share > 0) c.arc(at, kRadius - 1.5f, 0, 360 * share, t.accent, 3.5f);
  c.text(at, std::to_string(number),
         {.size = 14,
          .color = next ? t.t1 : t.t2,
          .face = Face::Bold,
          .align = Align::Center,
          .on_shape = true});
}

}  // namespace

Action resume_lesson(const std::string& id) {
  return action::Custom{"lesson.open:" + id, [id](Session& s) { s.lessons.resume(s, id); }};
}

void LessonPath::draw_node(View& view, Rect cell, const LessonFile& file, const LessonDesk& desk, bool next,
                           int number) const {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const LessonProgress* progress = file.error ? nullptr : desk.progress().of(file.lesson.id);
  const std::string name = file.error ? file_stem(file.path) : file.lesson.id;
  const Hit hit = view.ui.hit("home.lesson." + name, {cell.x - 6, cell.y, cell.w, cell.h},
                              {.explain = file.error ? file.error->message() : std::string_view()});
  if (hit.hovered) c.rect({cell.x - 8, cell.y, cell.w - 4, cell.h}, {.fill = t.raised, .radius = 8});
  draw_disc(c, {cell.x + kRadius, cell.y + 22}, file, progress, next, number);
  const std::string& title = file.error ? name : file.lesson.title.in(language() == Lang::Ko);
  const Face face = next ? Face::Bold : Face::Regular;
  float y = cell.y + 56;
  for (const std::string& line : wrap(c.fonts(), title, cell.w - 22, 15, face, 2)) {
    c.text({cell.x, y}, line, {.size = 15, .color = next || hit.hovered ? t.t1 : t.t2, .face = face});
    y += 21;
  }
  const std::string state = file.error ? tr("home.path.broken") : state_of(file, progress);
  c.text({cell.x, y + 1}, fit(c.fonts(), state, cell.w - 18, 14),
         {.size = 14, .color = file.error ? t.stall_text : t.t3});
  if (!hit.clicked) return;
  if (!file.error) {
    view.emit(resume_lesson(file.lesson.id));
  } else {
    const FileProblem problem{*file.error, file.path, file.line_text};
    view.emit(action::Custom{"lesson.problem:" + name, [problem](Session& s) { s.show_problem(problem); }});
  }
}

void LessonPath::draw(View& view, Rect box, float margin, const LessonDesk& desk) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  c.rect(box, {.fill = t.panel});
  c.line({box.x, box.y}, {box.right(), box.y}, t.line);
  const auto& files = desk.library().files();
  const LessonFile* next = desk.next_to_read();
  const int count = static_cast<int>(files.size()), columns = std::min(count, box.w > 1400 ? 8 : 6);
  const int pages = (count + columns - 1) / columns;
  const int here = next != nullptr ? static_cast<int>(next - files.data()) / columns : 0;
  const int page = std::clamp(page_ < 0 ? here : page_, 0, pages - 1);
  const float y = box.y + 12, h = box.h - 20;
  if (page > 0 && view.ui.icon_button("home.path.earlier", {box.x + 22, y + 22}, Glyph::Left, 18,
                                      tr("home.path.earlier")))
    page_ = page - 1;
  if (page + 1 < pages && view.ui.icon_button("home.path.later", {box.right() - 22, y + 22}, Glyph::Right, 18,
                                              tr("home.path.later")))
    page_ = page + 1;
  const float pitch = (box.w - 2 * margin) / static_cast<float>(columns);
  const int first = page * columns, last = std::min(first + columns, count) - 1;
  const auto x_of = [&](int i) { return box.x + margin + static_cast<float>(i - first) * pitch; };
  for (int i = first; i <= last; ++i) {
    const LessonFile& file = files[static_cast<std::size_t>(i)];
    draw_node(view, {x_of(i), y, pitch, h}, file, desk, &file == next, i + 1);
    const bool joined = i < last && !files[static_cast<std::size_t>(i) + 1].error && !file.error;
    if (joined) c.line({x_of(i) + 2 * kRadius + 8, y + 22}, {x_of(i + 1) - 10, y + 22}, t.line, 2);
  }
}

}  // namespace ringside::app
