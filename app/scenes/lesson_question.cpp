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

/// The lines of a choice, as wide as its box lets them be: bold while it can be chosen, and if it is right.
std::vector<std::string> choice_lines(const Flow& flow, const sim::Question& question, std::size_t index,
                                      bool chosen, bool korean) {
  const Face face = !chosen || index == question.answer ? Face::Bold : Face::Regular;
  return wrap(flow.view.canvas.fonts(), question.choices[index].in(korean),
              flow.w - 2 * kPad - kChoiceMark - 14, kChoiceSize, face);
}

float choice_height(const std::vector<std::string>& lines) {
  return std::max(44.0f, kChoiceLine * static_cast<float>(lines.size()) + 20);
}

void draw_choice(Flow& flow, const sim::Question& question, int index, std::optional<int> chosen,
                 PanelState& state, bool korean) {
  Canvas& c = flow.canvas();
  const Theme& t = flow.theme();
  const ChoiceLook look = look_of(t, index, static_cast<int>(question.answer), chosen, index == state.cursor);
  const float x = flow.x + kPad, w = flow.w - 2 * kPad;
  const auto lines =
      choice_lines(flow, question, static_cast<std::size_t>(index), chosen.has_value(), korean);
  const float h = choice_height(lines);
  const Rect box{x, flow.y, w, h};
  flow.y += h + 8;
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
    if (!chosen && index == state.cursor) c.circle(mark, 4, t.accent);
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
  inner.text(right ? tr("lesson.right") : tr("lesson.other", {question.choices[question.answer].in(korean)}),
             17, inner.theme().t1, Face::Bold);
  inner.gap(2);
  inner.text(question.why.in(korean), 16, inner.theme().t1);
}

}  // namespace

void draw_question(Flow& flow, const LessonDesk& desk, PanelState& state, bool ahead) {
  Canvas& c = flow.canvas();
  const Theme& t = flow.theme();
  const bool korean = language() == Lang::Ko;
  const sim::Question& question = *desk.step()->question;
  const std::optional<int> chosen = desk.choice();
  const float top = flow.y;
  Flow inner{flow.view, flow.x + kPad, flow.w - 2 * kPad, flow.y + 16, flow.top, flow.bottom};
  const std::string& words = question.text.in(korean);
  const float size = inner.height_of(words, 22, Face::Bold, 0, 1.35f) > 4 * 30 ? 19.0f : 22.0f;
  // The frame goes below what it holds, so its height is known from the last frame's walk: measured here.
  float h = 16 + 22 + inner.height_of(words, size, Face::Bold, 0, 1.35f) + 10;
  for (std::size_t i = 0; i < question.choices.size(); ++i)
    h += choice_height(choice_lines(flow, question, i, chosen.has_value(), korean)) + 8;
  if (chosen) {
    const bool right = static_cast<std::size_t>(*chosen) == question.answer;
    h += 6 +
         inner.height_of(
             right ? tr("lesson.right") : tr("lesson.other", {question.choices[question.answer].in(korean)}),
             17, Face::Bold) +
         2 + inner.height_of(question.why.in(korean), 16) + (ahead ? 58 : 8);
  } else {
    h += 34;
  }
  const Rect card{flow.x, top, flow.w, h};
  const Rect shown{card.x, std::max(card.y, flow.top), card.w,
                   std::min(card.bottom(), flow.bottom) - std::max(card.y, flow.top)};
  if (shown.h > 20)
    c.rect(shown, {.fill = chosen ? Color{} : t.stage,
                   .stroke = chosen ? t.edge : t.accent,
                   .radius = 12,
                   .width = chosen ? 1.0f : 2.0f});
  inner.text(tr("lesson.predict"), 14, t.t3, Face::Bold, 0, 22.0f / 14);
  inner.text(words, size, t.t1, Face::Bold, 0, 1.35f);
  flow.y = inner.y + 10;
  for (int i = 0; i < static_cast<int>(question.choices.size()); ++i)
    draw_choice(flow, question, i, chosen, state, korean);
  inner.y = flow.y;
  if (chosen) {
    draw_why(inner, question, *chosen, korean);
    if (ahead && inner.visible(inner.y + 8, inner.y + 48) &&
        flow.view.ui.button("lesson.show", {inner.x, inner.y + 8, inner.w, 40}, tr("lesson.show"),
                            {.icon = Glyph::Play, .explain = tr("lesson.show_explain")}))
      flow.view.emit(action::Custom{"lesson.show", [](Session& s) { s.lessons.show_what_happens(s); }});
  } else if (inner.visible(inner.y + 4, inner.y + 28)) {
    float x = inner.x;
    const float y = inner.y + 14;
    x += parts::key_cap(c, {x, y}, tr("lesson.arrows")) + 8;
    x += parts::key_cap(c, {x, y}, "Enter") + 12;
    c.text({x, y}, fit(c.fonts(), tr("lesson.wrong_is_fine"), inner.x + inner.w - x, 14),
           {.size = 14, .color = t.t2});
  }
  flow.y = card.bottom();
}

}  // namespace ringside::app::lesson
