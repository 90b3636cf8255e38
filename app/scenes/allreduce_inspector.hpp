// The inspector of the AllReduce scene: Now, the goal, the log of transfers (or the way of one number), the
// numbers of one chunk, and the panel that edits the scenario.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "app/scenes/allreduce_figure.hpp"

namespace ringside::app {

struct InspectorState {
  bool editing = false;  // the edit panel is unfolded
  float scroll = 0;      // of the log or the numbers, in rows
  bool tensor = false;
  std::map<std::string, Rect, std::less<>> places;  // what a lesson may point at, as drawn last
};

/// Draws it and changes `state` (folding, scrolling). Edits are emitted as Actions.
void draw_inspector(View& view, const RingView& ring, const TransferTable& table,
                    const ElementReader& element, InspectorState& state);

/// The panel of edits in `box`; returns the y below it.
float draw_edit_panel(View& view, const RingView& ring, Rect box);

}  // namespace ringside::app
