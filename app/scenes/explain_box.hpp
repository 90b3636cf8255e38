// A field for one line of a log, and what the line means: on home and where logs are opened.
#pragma once

#include <string>

#include "app/scenes/scene.hpp"
#include "backend/import/explain.hpp"

namespace ringside::app {

class ExplainBox {
 public:
  /// The field with its button; `id` is language-neutral ("home.explain"). True when a line was given now.
  bool field(View& view, std::string_view id, Rect box);
  /// The answer in a box; returns the y below it. Draws nothing before a line was given.
  float answer(View& view, Rect box) const;
  /// The answer as a popup over the field.
  void popup(View& view, std::string_view id, Rect anchor) const;
  bool answered() const { return answered_; }
  const backend::Explanation& explanation() const { return explanation_; }
  const std::string& line() const { return line_; }
  /// Explains a line that was not typed (a test, a line of the evidence).
  void explain(std::string line);

 private:
  std::string line_, typed_;
  backend::Explanation explanation_;
  bool answered_ = false;
};

}  // namespace ringside::app
