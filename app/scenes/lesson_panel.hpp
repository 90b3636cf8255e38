// The side of the lesson page that speaks: the author's text, the question, the task, what the real stack
// does.
#pragma once

#include <cstdint>

#include "app/lesson/desk.hpp"
#include "app/scenes/lesson_flow.hpp"

namespace ringside::app::lesson {

struct PanelState {
  std::uint64_t visit = 0;  // of the desk: another step forgets the rest
  float scroll = 0, height = 0;
  int cursor = 0;  // the choice that the arrow keys are on
  // The page says whether there is an inspector to show or hide; the panel says that it is wanted otherwise.
  bool has_inspector = false, turn_inspector = false;
};

/// Draws the column into view.box. `ahead`: something lies behind the playhead that can be played.
void draw_panel(View& view, const LessonDesk& desk, PanelState& state, bool ahead);

/// The question with its choices, or its answer. Moves the flow on.
void draw_question(Flow& flow, const LessonDesk& desk, PanelState& state, bool ahead);

/// Actions of the page, by name, so that tests can read them in the log.
Action go(int direction, bool skip = false);
Action answer(int choice);

}  // namespace ringside::app::lesson
