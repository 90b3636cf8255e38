// The glossary over the window: search at the top left, words below it, the chosen one at the right with the
// way to the place that shows it. A popup of Ui: Esc or a click outside closes it.
#pragma once

#include <string>

#include "app/lesson/glossary.hpp"
#include "app/scenes/scene.hpp"

namespace ringside::app {

class GlossaryPanel {
 public:
  /// Opens it in the next frame, at this word (its English name; "" = where it was).
  void open(const Glossary& glossary, std::string_view word);
  /// Call every frame; draws while it is open. `view.box` = the window.
  void draw(View& view, const Glossary& glossary, const class LessonDesk& lessons);

 private:
  void content(View view, Rect box, const Glossary& glossary, const LessonDesk& lessons);
  void draw_list(View& view, Rect box, const std::vector<const GlossaryWord*>& found);
  void draw_word(View& view, Rect box, const GlossaryWord& word, const LessonDesk& lessons);
  void move(const std::vector<const GlossaryWord*>& found, int by);

  bool wanted_ = false;
  std::string query_;
  std::string chosen_;  // English name
  float scroll_ = 0;    // in rows
};

}  // namespace ringside::app
