// The path of lessons at the foot of home: numbered, done, next, to come; a file with a mistake says so.
#pragma once

#include <string>

#include "app/lesson/desk.hpp"
#include "app/scenes/scene.hpp"

namespace ringside::app {

/// Opens a lesson where the reader left off.
Action resume_lesson(const std::string& id);

class LessonPath {
 public:
  void draw(View& view, Rect box, float margin, const LessonDesk& desk);

 private:
  void draw_node(View& view, Rect cell, const LessonFile& file, const LessonDesk& desk, bool next,
                 int number) const;
  int page_ = -1;  // -1: the page of the next lesson
};

}  // namespace ringside::app
