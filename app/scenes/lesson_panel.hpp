// The side of the lesson page that speaks: the author's text, the question, the task, what the real stack
// does.
#pragma once

#include <cstdint>

#include "app/lesson/desk.hpp"
#include "app/scenes/lesson_flow.hpp"

namespace ringside::app::lesson {

/// How wide the column is on a page of this width: the same at every step, so that the figure stays put.
float column_width(float page);
/// What the column leaves free below it where the scene has no transport bar, so that Next is at one place in
/// all scenes: the height of that bar.
inline constexpr float kBelowColumn = 84;

/// How tightly a step is set: the first of these in which it fits.
enum class Setting : std::uint8_t { Open, Close, Tight };

struct PanelState {
  std::uint64_t visit = 0;  // of the desk: another step forgets the rest
  float scroll = 0;
  float wanted = -1;  // where the column scrolls to by itself; < 0 = nowhere
  int cursor = -1;    // the choice that the arrow keys are on; none before they were used
  Setting setting = Setting::Open;
  Vec2 room{};            // that the setting was found for
  bool seen = false;      // the step has been drawn
  bool was_open = false;  // its question was, in the last frame
  double last_now = 0;
  std::int64_t begin = 0;  // the moment at which the step begins
  bool past = false;       // what the step waits for was true earlier, and is not at the end
  // The page says whether there is an inspector to show or hide; the panel says that it is wanted otherwise.
  bool has_inspector = false, turn_inspector = false;
};

/// Draws the column into view.box. `ahead`: something lies behind the playhead that can be played.
void draw_panel(View& view, const LessonDesk& desk, PanelState& state, bool ahead);

/// Where the parts of a question came to lie, in the flow's y.
struct QuestionPlace {
  float top = 0, why = 0, explained = 0, bottom = 0;
};

/// The question with its choices, or its answer: then only what was chosen and what is right are left of the
/// choices. Moves the flow on.
QuestionPlace draw_question(Flow& flow, const LessonDesk& desk, PanelState& state, Setting setting,
                            bool ahead);

/// Actions of the page, by name, so that tests can read them in the log.
Action go(int direction, bool skip = false);
Action answer(int choice);

}  // namespace ringside::app::lesson
