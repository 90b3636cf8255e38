// Paints the cluster: counts, the grid of marks, the beam and the close-up of one node. Tells what was
// clicked.
#pragma once

#include "app/scenes/cluster_layout.hpp"
#include "app/scenes/scene.hpp"

namespace ringside::app {

struct GridState {
  Zoom zoom;
  bool focused = false;   // the grid has the arrow keys
  int hovered_node = -1;  // of the last frame
  bool dragging = false;
  Vec2 grabbed{};
};

struct GridAnswer {
  int rank = -1, node = -1;  // clicked; a node without a rank where ranks are not drawn
  bool clicked = false;
  bool down = false;  // a second click: go on down to the ring step
  bool menu = false;  // what can be broken here is wanted
};

/// A rank's mark at any size: below 16 px as VISUAL §2 has it for small squares.
void rank_mark(Canvas& c, Rect box, parts::Mark mark, float phase = 0, bool strong = false);

/// What is in which state, in numbers; at the right what a square is.
void draw_counts(View& view, const ClusterView& cluster, const GridLayout& grid, Rect box);
GridAnswer draw_grid(View& view, const ClusterView& cluster, const GridLayout& grid, const ClusterLayout& at,
                     GridState& state, float phase);
/// The ranks of one node with their states; the beam that ties it to its box. node < 0: what the marks mean.
GridAnswer draw_close_up(View& view, const ClusterView& cluster, const GridLayout& grid,
                         const ClusterLayout& at, const GridState& state, int node);

/// GPU time as hours with the digits that mean something: "0.05", "4.1", "104", "9,525".
std::string gpu_hours(double gpu_ns);
/// "12.0 s", "9:48", "2:05:09".
std::string span_text(std::int64_t ns);

}  // namespace ringside::app
