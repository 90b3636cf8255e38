// The break menu: everything that can be broken on a thing at this moment, each with one sentence; what
// cannot happen stays and says why. A kind that needs more (how slow, which bit) asks on a second page.
#pragma once

#include <string>
#include <vector>

#include "app/scenes/scene.hpp"
#include "app/session/session.hpp"

namespace ringside::app {

class BreakMenu {
 public:
  /// Opens it near `at` (logical pixels of the window). Called between frames. Pauses.
  void open(Session& session, Ui& ui, const Selection& target, Vec2 at);
  /// Call every frame; draws while it is open, and gives what was decided as Actions.
  void frame(View& view);

 private:
  void draw_list(View& view, Rect box);
  void draw_row(View& view, Rect row, std::size_t index);
  void draw_header(View& view, Rect box, const std::string& title);
  void draw_details(View& view, Rect box);
  void step_target(View& view, int direction);
  void inject(View& view, const sim::Fault& fault);
  bool number(View& view, float& y, Rect box, std::string_view id, std::string_view label, double& value,
              double least, double most, double step, std::string_view unit);

  Selection target_;
  Vec2 at_{};
  std::string moment_;
  std::vector<BreakChoice> choices_;
  int world_ = 0, nodes_ = 0;
  sim::DType dtype_ = sim::DType::Float32;
  std::int64_t count_ = 1;
  int buckets_ = 1;        // a shape has at least one element for each
  bool may_step_ = false;  // the target is a rank or a link, so its neighbours can be reached
  int page_ = -1;          // index of the choice that asks for more; -1 = the list
  std::string shape_text_;
  bool bad_shape_ = false;
};

}  // namespace ringside::app
