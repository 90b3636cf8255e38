#include "app/scenes/lesson_panel.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "app/i18n/i18n.hpp"
#include "app/lesson/glossary.hpp"
#include "app/session/session.hpp"
#include "sim/base/text.hpp"

namespace ringside::app::lesson {
namespace {

constexpr float kFooter = 64;
constexpr float kMoreRow = 26;  // of the mark that says that there is more
constexpr double kScrollSeconds = .22;

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

/// The moment has passed: what the task asks for was true earlier, and will not be again.
void draw_way_back(Flow& flow, const PanelState& state) {
  flow.gap(10);
  flow.text(tr("lesson.past"), 15, flow.theme().t1, Face::Bold, 0, 1.45f);
  flow.gap(6);
  if (flow.visible(flow.y, flow.y + 40) &&
      flow.view.ui.button("lesson.step_begin", {flow.x, flow.y, flow.w, 40}, tr("lesson.to_begin"),
                          {.icon = Glyph::StepBack}))
    flow.view.emit(action::SeekTo{state.begin});
  flow.gap(40);
}

/// What the reader is to do, and whether it has happened.
void draw_task(Flow& flow, const LessonDesk& desk, const PanelState& state) {
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
  if (!done && state.past) draw_way_back(flow, state);
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
  if (words.empty()) return;
  Canvas& c = flow.canvas();
  const Theme& t = flow.theme();
  if (flow.visible(flow.y, flow.y + 18))
    c.text({flow.x, flow.y + 8}, tr("lesson.words"), {.size = 14, .color = t.t3, .face = Face::Bold});
  float x = flow.x;
  float y = flow.y + 26;
  for (const GlossaryWord* word : words) {
    const std::string& name = word->word.in(korean());
    const float w = c.width(name, 15, Face::Bold);
    if (x + w > flow.x + flow.w) {
      x = flow.x;
      y += 30;
      if (w > flow.w) break;
    }
    const float left = x;
    x += w + 20;
    if (!flow.visible(y, y + 28)) continue;
    const Hit hit =
        flow.view.ui.hit("lesson.word." + std::to_string(word - flow.view.ctx.glossary->words.data()),
                         {left - 4, y, w + 8, 28}, {.explain = word->text.in(korean())});
    c.text({left, y + 13}, name, {.size = 15, .color = hit.hovered ? t.t1 : t.t2, .face = Face::Bold});
    c.dashed_line({left, y + 24}, {left + w, y + 24}, t.t3, 1.25f, {2, 3});
    if (hit.clicked) flow.view.emit(action::ShowGlossary{word->word.en});
  }
  flow.y = y + 34;
}

/// How many of its questions were answered, right or not.
int answered_of(const sim::Lesson& lesson, const LessonProgress& progress) {
  return static_cast<int>(
      std::count_if(progress.answers.begin(), progress.answers.end(), [&](const auto& answer) {
        const int step = answer.first;
        return step >= 0 && static_cast<std::size_t>(step) < lesson.steps.size() &&
               lesson.steps[static_cast<std::size_t>(step)].question;
      }));
}

void draw_last_page(Flow& flow, const LessonDesk& desk) {
  const sim::Lesson& lesson = *desk.lesson();
  const Theme& t = flow.theme();
  flow.text(tr("lesson.finished"), 24, t.t1, Face::Bold, 0, 1.35f);
  flow.gap(6);
  const LessonProgress* progress = desk.progress().of(lesson.id);
  const int asked = questions_of(lesson), right = progress != nullptr ? score_of(lesson, *progress) : 0;
  const int skipped = asked - (progress != nullptr ? answered_of(lesson, *progress) : 0);
  if (asked > 0) flow.text(tr("lesson.score", {std::to_string(right), std::to_string(asked)}), 17, t.t1);
  if (asked > 0 && skipped > 0) flow.text(tr("lesson.skipped", {std::to_string(skipped)}), 16, t.t2);
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

/// The step from its text to its words. Where the question lies, if it asks one.
std::optional<QuestionPlace> draw_body(Flow& flow, const LessonDesk& desk, PanelState& state, Setting setting,
                                       bool ahead) {
  const sim::LessonStep& step = *desk.step();
  const Theme& t = flow.theme();
  const bool asks = step.question.has_value(), wide = flow.w > 380;
  const float gap = setting == Setting::Open ? 14 : 10;
  if (desk.step_index() == 0) {
    flow.text(desk.lesson()->title.in(korean()), setting == Setting::Tight ? 19 : 22, t.t1, Face::Bold, 0,
              1.35f);
    flow.gap(setting == Setting::Open ? 8 : 4);
  }
  // Where a question is asked it is what the eye meets; the text is its ground.
  const float size = !asks ? (wide ? 18.0f : 17.0f) : setting == Setting::Open ? 16 : 15;
  flow.text(step.text.in(korean()), size, asks ? t.t2 : t.t1, Face::Regular, 0,
            setting == Setting::Open ? 1.5f : 1.4f);
  flow.gap(gap);
  if (!desk.problem().empty()) {
    flow.text(tr("lesson.place_problem"), 14, t.stall_text, Face::Bold);
    flow.text(desk.problem(), 14, t.t1);
    flow.gap(gap);
  }
  std::optional<QuestionPlace> place;
  if (asks) {
    place = draw_question(flow, desk, state, setting, ahead);
    flow.gap(gap);
  }
  if (desk.question_open()) return place;
  if (!step.until.empty()) {
    draw_task(flow, desk, state);
    flow.gap(gap);
  }
  if (step.card && desk.fulfilled()) {
    draw_card(flow, *step.card);
    flow.gap(gap);
  }
  draw_words(flow, desk);
  return place;
}

/// The column of one setting, without drawing it: how high it is, and where its question lies.
struct Measured {
  float height = 0;
  std::optional<QuestionPlace> question;
};

Measured measure(const Flow& flow, const LessonDesk& desk, PanelState& state, Setting setting, bool ahead) {
  Flow dry = flow.measure();
  dry.y = 0;
  Measured out;
  out.question = draw_body(dry, desk, state, setting, ahead);
  out.height = dry.y - 14;
  return out;
}

/// The first setting in which the step fits (up to its question's end, if it asks), and not a looser one than
/// before the answer: an answer is not to set the text anew.
Measured choose_setting(const Flow& flow, const LessonDesk& desk, PanelState& state, bool ahead, float room) {
  const Vec2 now{flow.w, room};
  if (state.room != now) state.setting = Setting::Open;
  state.room = now;
  for (;;) {
    Measured out = measure(flow, desk, state, state.setting, ahead);
    const float needed = out.question ? out.question->bottom : out.height;
    if (needed <= room || state.setting == Setting::Tight) return out;
    state.setting = static_cast<Setting>(static_cast<int>(state.setting) + 1);
  }
}

/// Where the column has to stand so that a question is seen to its last choice, or an answer to the end of
/// its explanation.
float place_of_question(const QuestionPlace& place, float room, float most, bool answered) {
  const auto to_show = [&](float bottom) {
    const float end = bottom + 4 - room;
    return end < most - 1 ? end + kMoreRow : end;  // the mark takes its row
  };
  float wanted = to_show(place.bottom);
  const float first = answered ? place.why : place.top;
  if (wanted > first - kMoreRow) wanted = std::min(to_show(place.explained), first - kMoreRow);
  return std::clamp(wanted, 0.0f, most);
}

/// Goes where it wants to go by itself, over a short time.
void glide(View& view, PanelState& state, float most) {
  const double dt = std::clamp(view.ctx.now - state.last_now, 0.0, .05);
  state.last_now = view.ctx.now;
  if (state.wanted < 0) return;
  const float wanted = std::min(state.wanted, most), rest = wanted - state.scroll;
  const bool at_once = view.ctx.reduced_motion || view.ctx.now <= 0 || std::abs(rest) < 1;
  // An exponential approach: what is left after kScrollSeconds is 2 %.
  state.scroll =
      at_once ? wanted : state.scroll + rest * static_cast<float>(1 - std::exp(-4 * dt / kScrollSeconds));
  if (at_once)
    state.wanted = -1;
  else
    view.ui.keep_moving();
}

/// Where the column is cut it fades, and says that it goes on; a click shows the rest.
void draw_cut(Flow& flow, PanelState& state, Rect row, bool below, float page, float most) {
  Canvas& c = flow.canvas();
  const Theme& t = flow.theme();
  const float fade_height = 18;
  const Color none = fade(t.panel, 0);
  c.rect(row, {.fill = t.panel});
  if (below)
    c.gradient({row.x, row.y - fade_height, row.w, fade_height}, none, t.panel);
  else
    c.gradient({row.x, row.bottom(), row.w, fade_height}, t.panel, none);
  const std::string& words = tr(below ? "lesson.more" : "lesson.above");
  const float w = c.width(words, 14, Face::Bold) + 26;
  const Rect pill{row.center().x - w / 2 - 10, row.y, w + 20, row.h};
  const Hit hit = flow.view.ui.hit(below ? "lesson.more" : "lesson.above", pill);
  const Color color = hit.hovered ? t.t1 : t.t2;
  c.glyph(below ? Glyph::Down : Glyph::Up, {row.center().x - w / 2 + 7, row.center().y}, 11, color, 2);
  c.text({row.center().x - w / 2 + 22, row.center().y}, words,
         {.size = 14, .color = color, .face = Face::Bold});
  if (hit.clicked) {
    state.wanted = std::clamp(state.scroll + (below ? page : -page), 0.0f, most);
    flow.view.ui.keep_moving();
  }
}

/// Back, Skip, Next: each always at its own place, whatever the step is waiting for.
void draw_footer(View& view, const LessonDesk& desk, Rect box) {
  constexpr float kBack = 72, kSkip = 60, kGap = 6, kHeight = 40;
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  c.line({box.x - 24, box.y}, {box.right() + 24, box.y}, t.line);
  const float y = box.y + 12;
  if (view.ui.button("lesson.back", {box.x, y, kBack, kHeight}, tr("lesson.back"),
                     {.enabled = desk.step_index() > 0}))
    view.emit(go(-1));
  const bool free = desk.may_go_on();
  if (!free) {
    const Rect skip{box.x + kBack + kGap, y, kSkip, kHeight};
    const Hit hit = view.ui.hit("lesson.skip", skip, {.explain = tr("lesson.skip_explain")});
    c.text(skip.center(), tr("lesson.skip"),
           {.size = 14, .color = hit.hovered ? t.t1 : t.t2, .align = Align::Center});
    if (hit.clicked) view.emit(go(1, true));
  }
  const bool last = desk.step_index() + 1 == static_cast<int>(desk.lesson()->steps.size());
  const std::string& words = desk.question_open() ? tr("lesson.choose_first")
                             : !free              ? tr("lesson.waits")
                             : last               ? tr("lesson.finish")
                                                  : tr("lesson.next");
  const float left = box.x + kBack + kSkip + 2 * kGap, room = box.right() - left;
  const float size = size_that_fits(c.fonts(), words, room - 18, {15, 14, 13}, Face::Bold);
  if (view.ui.button("lesson.next", {left, y, room, kHeight}, words,
                     {.primary = true, .size = size, .enabled = free}))
    view.emit(go(1));
}

}  // namespace

float column_width(float page) {
  constexpr float kWide = 1400, kNarrow = 1000;
  return page > kWide ? 460.0f : page > kNarrow ? 360.0f : 336.0f;
}

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
  if (state.visit != desk.visit())
    state = {.visit = desk.visit(),
             .begin = state.begin,
             .past = state.past,
             .has_inspector = state.has_inspector};
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
  const Rect window{box.x, flow.y, box.w, box.bottom() - kFooter - 6 - flow.y};
  flow.top = window.y;
  flow.bottom = window.bottom();
  const float room = window.h;
  const Measured measured = choose_setting(flow, desk, state, ahead, room);
  const float most = std::max(0.0f, measured.height - room);
  const bool open = desk.question_open();
  if (measured.question && (!state.seen ? open : state.was_open && !open)) {
    // A question comes with all its choices in sight, an answer with its explanation.
    state.wanted = place_of_question(*measured.question, room, most, !open);
    if (!state.seen) state.scroll = state.wanted;
  }
  state.seen = true;
  state.was_open = open;
  if (const float wheel = view.ui.wheel(box); wheel != 0) {
    state.scroll -= wheel * 48;
    state.wanted = -1;
  }
  glide(view, state, most);
  state.scroll = std::clamp(state.scroll, 0.0f, most);
  const bool above = state.scroll > 1, below = state.scroll < most - 1;
  if (above) flow.top += kMoreRow;
  if (below) flow.bottom -= kMoreRow;
  flow.y = window.y - state.scroll;
  draw_body(flow, desk, state, state.setting, ahead);
  const float page = std::max(60.0f, room - 2 * kMoreRow - 20);
  const Rect inside{flow.x, window.y, flow.w, window.h};
  if (above) draw_cut(flow, state, {inside.x, inside.y, inside.w, kMoreRow}, false, page, most);
  if (below)
    draw_cut(flow, state, {inside.x, inside.bottom() - kMoreRow, inside.w, kMoreRow}, true, page, most);
  if (most > 0) {
    const float bar = room * room / measured.height;
    c.rect({box.right() - 9, window.y + (room - bar) * state.scroll / most, 4, bar},
           {.fill = t.edge, .radius = 2});
  }
  draw_footer(view, desk, {flow.x, box.bottom() - kFooter, flow.w, kFooter});
}

}  // namespace ringside::app::lesson
