#include "app/scenes/lesson_panel.hpp"

#include <cmath>

#include "app/i18n/i18n.hpp"
#include "app/lesson/glossary.hpp"
#include "app/session/session.hpp"
#include "sim/base/text.hpp"

namespace ringside::app::lesson {
namespace {

constexpr float kFooter = 64;

bool korean() {
  return language() == Lang::Ko;
}

/// One bar a step: read, here, to come.
void draw_steps(Flow& flow, const LessonDesk& desk, PanelState& state) {
  Canvas& c = flow.canvas();
  const Theme& t = flow.theme();
  const auto count = static_cast<int>(desk.lesson()->steps.size());
  const float gap = 4, each = (flow.w - gap * static_cast<float>(count - 1)) / static_cast<float>(count);
  for (int i = 0; i < count; ++i) {
    const Rect bar{flow.x + static_cast<float>(i) * (each + gap), flow.y, each, 5};
    const bool here = i == desk.step_index();
    c.rect(bar, {.fill = here ? t.accent : i < desk.step_index() ? t.edge : t.raised, .radius = 2.5f});
  }
  flow.y += 18;
  const int shown = std::min(desk.step_index() + 1, count);
  c.text({flow.x, flow.y + 8}, tr("lesson.step_of", {std::to_string(shown), std::to_string(count)}),
         {.size = 14, .color = t.t3, .face = Face::Bold});
  float x = flow.x + flow.w;
  x -= parts::key_cap(c, {x, flow.y + 8}, "PgDn", Align::Right) + 6;
  x -= parts::key_cap(c, {x, flow.y + 8}, "PgUp", Align::Right) + 22;
  if (state.has_inspector &&
      flow.view.ui.icon_button("lesson.inspector", {x, flow.y + 8}, Glyph::Panel, 16, tr("lesson.inspector")))
    state.turn_inspector = true;
  flow.y += 34;
}

/// What the reader is to do, and whether it has happened.
void draw_task(Flow& flow, const LessonDesk& desk) {
  const sim::LessonStep& step = *desk.step();
  Canvas& c = flow.canvas();
  const Theme& t = flow.theme();
  const bool done = desk.fulfilled();
  const std::string& words = step.task.in(korean());
  const float inner = flow.w - 60;
  const auto lines = wrap(c.fonts(), words, inner, 16, Face::Bold);
  const float h = 22 + 14 + 23 * static_cast<float>(lines.size()) + 10;
  const Rect box{flow.x, flow.y, flow.w, h};
  flow.y += h;
  if (!flow.visible(box.y, box.bottom())) return;
  c.rect(box, {.fill = t.card, .stroke = done ? t.line : t.edge, .radius = 10});
  const Vec2 mark{box.x + 24, box.center().y};
  if (done) {
    c.circle(mark, 11, t.accent);
    c.glyph(Glyph::Check, mark, 11, t.ink, 2.4f);
  } else {
    c.dashed_circle(mark, 11, t.t2, 1.75f, {4, 3});
  }
  c.text({box.x + 46, box.y + 20}, done ? tr("lesson.task_done") : tr("lesson.task"),
         {.size = 14, .color = t.t3, .face = Face::Bold});
  float y = box.y + 44;
  for (const std::string& line : lines) {
    c.text({box.x + 46, y}, line, {.size = 16, .color = done ? t.t2 : t.t1, .face = Face::Bold});
    y += 23;
  }
}

/// In the lesson · In the real stack · Try it: the same three parts everywhere.
void draw_card(Flow& flow, const sim::RealStackCard& card) {
  const Theme& t = flow.theme();
  struct Part {
    std::string_view key;
    const sim::LocalText& text;
    bool strong;
  };
  const Part parts[3] = {{"lesson.card_lesson", card.lesson, false},
                         {"lesson.card_real", card.real, true},
                         {"lesson.card_try", card.attempt, false}};
  constexpr float kPad = 16;
  Flow inner{flow.view, flow.x + kPad, flow.w - 2 * kPad, flow.y, flow.top, flow.bottom};
  float h = 14;
  for (const Part& part : parts)
    h += 24 + inner.height_of(part.text.in(korean()), 15, Face::Regular, 0, 1.45f) + 16;
  h -= 4;
  const float from = std::max(flow.y, flow.top), to = std::min(flow.y + h, flow.bottom);
  if (to - from > 24) flow.canvas().rect({flow.x, from, flow.w, to - from}, {.fill = t.card, .radius = 10});
  inner.y = flow.y + 14;
  for (const Part& part : parts) {
    if (&part != parts) {
      if (inner.visible(inner.y - 8, inner.y - 8))
        flow.canvas().line({inner.x, inner.y - 8}, {inner.x + inner.w, inner.y - 8}, t.line);
      inner.gap(4);
    }
    inner.text(tr(part.key), 14, t.t3, Face::Bold, 0, 24.0f / 14);
    inner.text(part.text.in(korean()), 15, part.strong ? t.t1 : t.t2, Face::Regular, 0, 1.45f);
    inner.gap(part.key == parts[2].key ? 0 : 12);
  }
  flow.y += h;
}

/// Words of this step that the glossary knows; a click opens it there.
void draw_words(Flow& flow, const LessonDesk& desk) {
  if (flow.view.ctx.glossary == nullptr || desk.step() == nullptr) return;
  const auto words = flow.view.ctx.glossary->in_text(desk.step()->text.in(korean()), 3);
  if (words.empty() || !flow.visible(flow.y, flow.y + 56)) return;
  Canvas& c = flow.canvas();
  const Theme& t = flow.theme();
  c.text({flow.x, flow.y + 8}, tr("lesson.words"), {.size = 14, .color = t.t3, .face = Face::Bold});
  float x = flow.x;
  float y = flow.y + 26;
  for (const GlossaryWord* word : words) {
    const std::string& name = word->word.in(korean());
    const float w = c.width(name, 15, Face::Bold);
    if (x + w > flow.x + flow.w) {
      x = flow.x;
      y += 30;
      if (!flow.visible(y, y + 28) || w > flow.w) break;
    }
    const Hit hit =
        flow.view.ui.hit("lesson.word." + std::to_string(word - flow.view.ctx.glossary->words.data()),
                         {x - 4, y, w + 8, 28}, {.explain = word->text.in(korean())});
    c.text({x, y + 13}, name, {.size = 15, .color = hit.hovered ? t.t1 : t.t2, .face = Face::Bold});
    c.dashed_line({x, y + 24}, {x + w, y + 24}, t.t3, 1.25f, {2, 3});
    if (hit.clicked) flow.view.emit(action::ShowGlossary{word->word.en});
    x += w + 20;
  }
  flow.y = y + 34;
}

void draw_last_page(Flow& flow, const LessonDesk& desk) {
  const sim::Lesson& lesson = *desk.lesson();
  const Theme& t = flow.theme();
  flow.text(tr("lesson.finished"), 24, t.t1, Face::Bold, 0, 1.35f);
  flow.gap(6);
  const LessonProgress* progress = desk.progress().of(lesson.id);
  const int asked = questions_of(lesson), right = progress != nullptr ? score_of(lesson, *progress) : 0;
  if (asked > 0) flow.text(tr("lesson.score", {std::to_string(right), std::to_string(asked)}), 17, t.t1);
  flow.gap(14);
  const LessonFile* next = desk.library().after(lesson.id);
  if (next != nullptr) {
    flow.text(tr("lesson.next_is"), 14, t.t3, Face::Bold);
    flow.text(next->lesson.title.in(korean()), 18, t.t1, Face::Bold, 0, 1.35f);
    flow.gap(14);
    const std::string id = next->lesson.id;
    if (flow.view.ui.button("lesson.next_lesson", {flow.x, flow.y, flow.w, 46}, tr("lesson.next_lesson"),
                            {.primary = true, .icon = Glyph::Play, .size = 16}))
      flow.view.emit(action::Custom{"lesson.open:" + id, [id](Session& s) { s.lessons.resume(s, id); }});
    flow.gap(58);
  }
  if (flow.view.ui.button("lesson.again", {flow.x, flow.y, flow.w, 40}, tr("lesson.again")))
    flow.view.emit(action::Custom{"lesson.again", [](Session& s) { s.lessons.restart(s); }});
  flow.gap(48);
  if (flow.view.ui.button("lesson.home", {flow.x, flow.y, flow.w, 40}, tr("lesson.home")))
    flow.view.emit(action::ShowScene{"home"});
  flow.gap(48);
}

void draw_body(Flow& flow, const LessonDesk& desk, PanelState& state, bool ahead) {
  const sim::LessonStep& step = *desk.step();
  const Theme& t = flow.theme();
  const bool asks = desk.question_open(), wide = flow.w > 340;
  if (desk.step_index() == 0) {
    flow.text(desk.lesson()->title.in(korean()), 22, t.t1, Face::Bold, 0, 1.35f);
    flow.gap(8);
  }
  // While a question is open it is what the eye meets; the text is its ground.
  flow.text(step.text.in(korean()),
            asks   ? 16.0f
            : wide ? 18.0f
                   : 17.0f,
            asks ? t.t2 : t.t1, Face::Regular, 0, 1.5f);
  flow.gap(14);
  if (!desk.problem().empty()) {
    flow.text(tr("lesson.place_problem"), 14, t.stall_text, Face::Bold);
    flow.text(desk.problem(), 14, t.t1);
    flow.gap(14);
  }
  if (step.question) {
    draw_question(flow, desk, state, ahead);
    flow.gap(14);
  }
  if (asks) return;
  if (!step.until.empty()) {
    draw_task(flow, desk);
    flow.gap(14);
  }
  if (step.card && desk.fulfilled()) {
    draw_card(flow, *step.card);
    flow.gap(14);
  }
  draw_words(flow, desk);
}

void draw_footer(View& view, const LessonDesk& desk, Rect box) {
  const Theme& t = view.canvas.theme();
  view.canvas.line({box.x - 24, box.y}, {box.right() + 24, box.y}, t.line);
  const float y = box.y + 12, h = 40;
  float left = box.x;
  if (view.ui.button("lesson.back", {left, y, 76, h}, tr("lesson.back"), {.enabled = desk.step_index() > 0}))
    view.emit(go(-1));
  left += 84;
  const bool free = desk.may_go_on();
  if (!free) {
    const Hit hit = view.ui.hit("lesson.skip", {left, y, 64, h}, {.explain = tr("lesson.skip_explain")});
    view.canvas.text({left + 32, y + h / 2}, tr("lesson.skip"),
                     {.size = 14, .color = hit.hovered ? t.t1 : t.t2, .align = Align::Center});
    if (hit.clicked) view.emit(go(1, true));
    left += 72;
  }
  const std::string& words = free                   ? tr("lesson.next")
                             : desk.question_open() ? tr("lesson.choose_first")
                                                    : tr("lesson.waits");
  const bool last = desk.step_index() + 1 == static_cast<int>(desk.lesson()->steps.size());
  if (view.ui.button("lesson.next", {left, y, box.right() - left, h},
                     free && last ? tr("lesson.finish") : words, {.primary = true, .enabled = free}))
    view.emit(go(1));
}

}  // namespace

Action go(int direction, bool skip) {
  return action::Custom{direction < 0 ? "lesson.back"
                        : skip        ? "lesson.skip"
                                      : "lesson.next",
                        [direction, skip](Session& s) { s.lessons.go(s, direction, skip); }};
}

Action answer(int choice) {
  return action::Custom{"lesson.answer:" + std::to_string(choice),
                        [choice](Session& s) { s.lessons.answer(choice); }};
}

void draw_panel(View& view, const LessonDesk& desk, PanelState& state, bool ahead) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const Rect box = view.box;
  c.rect(box, {.fill = t.panel});
  c.line({box.right(), box.y}, {box.right(), box.bottom()}, t.line);
  if (state.visit != desk.visit()) state = {.visit = desk.visit(), .has_inspector = state.has_inspector};
  Flow flow{view, box.x + 24, box.w - 48, box.y + 22, box.y, box.bottom() - 12};
  if (desk.lesson() == nullptr) {
    flow.text(tr("lesson.broken"), 20, t.t1, Face::Bold, 0, 1.35f);
    if (desk.broken() != nullptr)
      flow.text(sim::escape_for_display(desk.broken()->message()), 15, t.fail_text);
    return;
  }
  draw_steps(flow, desk, state);
  if (desk.at_last_page()) {
    draw_last_page(flow, desk);
    return;
  }
  flow.top = flow.y;
  flow.bottom = box.bottom() - kFooter - 10;
  const float room = flow.bottom - flow.top;
  const float most = std::max(0.0f, state.height - room);
  state.scroll = std::clamp(state.scroll - view.ui.wheel(box) * 48, 0.0f, most);
  flow.y -= state.scroll;
  const float begin = flow.y;
  draw_body(flow, desk, state, ahead);
  const float height = flow.y - begin - 14;
  if (std::abs(height - state.height) > .5f)
    view.ui.keep_moving();  // the next frame knows how far it scrolls
  state.height = height;
  if (most > 0) {
    const float bar = room * room / state.height;
    c.rect({box.right() - 9, flow.top + (room - bar) * state.scroll / most, 4, bar},
           {.fill = t.edge, .radius = 2});
  }
  draw_footer(view, desk, {flow.x, box.bottom() - kFooter, flow.w, kFooter});
}

}  // namespace ringside::app::lesson
