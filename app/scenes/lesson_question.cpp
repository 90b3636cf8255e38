// A prediction: asked before it is shown. Wrong is fine; the answer always says why.
#include "app/i18n/i18n.hpp"
#include "app/scenes/lesson_panel.hpp"
#include "app/session/session.hpp"

namespace ringside::app::lesson {
namespace {

constexpr float kPad = 18;

/// How a choice looks: open, or after the answer.
struct ChoiceLook {
  Color fill{}, stroke{}, text{};
  float width = 1;
  Glyph mark = Glyph::None;
  Face face = Face::Regular;
};

ChoiceLook look_of(const Theme& t, int index, int answer, std::optional<int> chosen, bool under_cursor) {
  if (!chosen)
    return {.fill = t.card,
            .stroke = under_cursor ? t.accent : t.edge,
            .text = t.t1,
            .width = under_cursor ? 2.0f : 1.0f,
            .face = Face::Bold};
  if (index == answer)
    return {.fill = t.strong(),
            .stroke = t.accent,
            .text = t.t1,
            .width = 1.5f,
            .mark = Glyph::Check,
            .face = Face::Bold};
  if (index == *chosen) return {.stroke = t.edge, .text = t.t2, .mark = Glyph::Cross};
  return {.stroke = t.line, .text = t.t3};
}

constexpr float kChoiceSize = 16, kChoiceLine = 22, kChoiceMark = 44;

/// Sizes of a question in each setting.
struct Measures {
  float question, question_line, choice, choice_pad, gap, pad;
};

Measures measures_of(Setting setting) {
  switch (setting) {
    case Setting::Open:
      return {22, 1.35f, 44, 20, 8, 16};
    case Setting::Close:
      return {19, 1.35f, 40, 16, 6, 12};
    case Setting::Tight:
      break;
  }
  return {17, 1.35f, 34, 12, 5, 8};
}

/// The lines of a choice, as wide as its box lets them be: bold while it can be chosen, and if it is right.
std::vector<std::string> choice_lines(const Flow& flow, const sim::Question& question, std::size_t index,
                                      bool chosen, bool korean) {
  const Face face = !chosen || index == question.answer ? Face::Bold : Face::Regular;
  return wrap(flow.view.canvas.fonts(), question.choices[index].in(korean),
              flow.w - 2 * kPad - kChoiceMark - 14, kChoiceSize, face);
}

float choice_height(const std::vector<std::string>& lines, const Measures& m) {
  return std::max(m.choice, kChoiceLine * static_cast<float>(lines.size()) + m.choice_pad);
}

/// After the answer the other wrong choices fold away: they say nothing any more.
bool in_sight(const sim::Question& question, int index, std::optional<int> chosen) {
  return !chosen || index == *chosen || static_cast<std::size_t>(index) == question.answer;
}

void draw_choice(Flow& flow, const sim::Question& question, int index, std::optional<int> chosen,
                 PanelState& state, const Measures& m, bool korean) {
  Canvas& c = flow.canvas();
  const Theme& t = flow.theme();
  const ChoiceLook look = look_of(t, index, static_cast<int>(question.answer), chosen, index == state.cursor);
  const float x = flow.x + kPad, w = flow.w - 2 * kPad;
  const auto lines =
      choice_lines(flow, question, static_cast<std::size_t>(index), chosen.has_value(), korean);
  const float h = choice_height(lines, m);
  const Rect box{x, flow.y, w, h};
  flow.y += h + m.gap;
  if (!flow.visible(box.y, box.bottom())) return;
  Hit hit;
  if (!chosen) hit = flow.view.ui.hit("lesson.choice." + std::to_string(index), box);
  c.rect(
      box,
      {.fill = hit.hovered ? t.raised : look.fill, .stroke = look.stroke, .radius = 8, .width = look.width});
  const Vec2 mark{box.x + 22, box.center().y};
  if (look.mark != Glyph::None) {
    c.glyph(look.mark, mark, 14, look.text, 2.2f);
  } else {
    c.circle(mark, 8, {}, chosen ? t.line : t.edge, 1.5f);
  }
  float y = box.center().y - kChoiceLine * static_cast<float>(lines.size() - 1) / 2;
  for (const std::string& line : lines) {
    c.text({box.x + kChoiceMark, y}, line, {.size = kChoiceSize, .color = look.text, .face = look.face});
    y += kChoiceLine;
  }
  if (hit.clicked) flow.view.emit(answer(index));
}

/// Right or not, and why: below the choices, in the reader's time.
void draw_why(Flow& inner, const sim::Question& question, int chosen, bool korean) {
  const bool right = static_cast<std::size_t>(chosen) == question.answer;
  inner.gap(6);
  inner.text(right ? tr("lesson.right") : tr("lesson.other"), 17, inner.theme().t1, Face::Bold, 0, 1.4f);
  inner.gap(2);
  inner.text(question.why.in(korean), 16, inner.theme().t1, Face::Regular, 0, 1.45f);
}

/// What the keys do while the question is open.
void draw_hint(Flow& inner) {
  if (inner.visible(inner.y + 4, inner.y + 28)) {
    Canvas& c = inner.canvas();
    float x = inner.x;
    const float y = inner.y + 14;
    x += parts::key_cap(c, {x, y}, tr("lesson.arrows")) + 8;
    x += parts::key_cap(c, {x, y}, "Enter") + 12;
    c.text({x, y}, fit(c.fonts(), tr("lesson.wrong_is_fine"), inner.x + inner.w - x, 14),
           {.size = 14, .color = inner.theme().t2});
  }
  inner.gap(34);
}

/// Everything inside the frame, from its upper edge on; the frame's lower edge is where `flow` ends.
QuestionPlace draw_inside(Flow& flow, const LessonDesk& desk, PanelState& state, Setting setting,
                          bool ahead) {
  const Theme& t = flow.theme();
  const bool korean = language() == Lang::Ko;
  const sim::Question& question = *desk.step()->question;
  const std::optional<int> chosen = desk.choice();
  const Measures m = measures_of(setting);
  QuestionPlace place{.top = flow.y};
  Flow inner{flow.view, flow.x + kPad, flow.w - 2 * kPad, flow.y + m.pad, flow.top, flow.bottom};
  const std::string& words = question.text.in(korean);
  const bool long_one = inner.height_of(words, m.question, Face::Bold, 0, m.question_line) > 4 * 30;
  inner.text(tr("lesson.predict"), 14, t.t3, Face::Bold, 0, 22.0f / 14);
  inner.text(words, long_one ? std::min(m.question, 19.0f) : m.question, t.t1, Face::Bold, 0,
             m.question_line);
  flow.y = inner.y + m.gap + 2;
  for (int i = 0; i < static_cast<int>(question.choices.size()); ++i)
    if (in_sight(question, i, chosen)) draw_choice(flow, question, i, chosen, state, m, korean);
  inner.y = place.why = flow.y;
  if (chosen) {
    draw_why(inner, question, *chosen, korean);
    place.explained = inner.y + 6;
    if (ahead) {
      if (inner.visible(inner.y + 8, inner.y + 48) &&
          flow.view.ui.button("lesson.show", {inner.x, inner.y + 8, inner.w, 40}, tr("lesson.show"),
                              {.icon = Glyph::Play, .explain = tr("lesson.show_explain")}))
        flow.view.emit(action::Custom{"lesson.show", [](Session& s) { s.lessons.show_what_happens(s); }});
      inner.gap(50);
    }
    inner.gap(8);
  } else if (setting == Setting::Open) {
    draw_hint(inner);
  } else {
    inner.gap(m.pad - m.gap);
  }
  flow.y = place.bottom = inner.y;
  if (!chosen) place.explained = place.bottom;
  return place;
}

}  // namespace

QuestionPlace draw_question(Flow& flow, const LessonDesk& desk, PanelState& state, Setting setting,
                            bool ahead) {
  // The frame lies below what it holds, so its height is measured first.
  Flow dry = flow.measure();
  const QuestionPlace place = draw_inside(dry, desk, state, setting, ahead);
  const Theme& t = flow.theme();
  const bool chosen = desk.choice().has_value();
  const float from = std::max(place.top, flow.top), to = std::min(place.bottom, flow.bottom);
  if (to - from > 20)
    flow.canvas().rect({flow.x, from, flow.w, to - from}, {.fill = chosen ? Color{} : t.stage,
                                                           .stroke = chosen ? t.edge : t.accent,
                                                           .radius = 12,
                                                           .width = chosen ? 1.0f : 2.0f});
  return draw_inside(flow, desk, state, setting, ahead);
}

}  // namespace ringside::app::lesson
