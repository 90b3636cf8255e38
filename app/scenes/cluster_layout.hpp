// Where everything of the cluster scene lies. A box holds squares: a node and its ranks, or, where a rank
// would be too small to be seen, a rack and its nodes.
#pragma once

#include <optional>

#include "app/scenes/cluster_view.hpp"

namespace ringside::app {

/// The grid at zoom 1: boxes in rows, squares in boxes.
struct GridLayout {
  bool by_node = false;  // a square is a node, a box is a rack
  int boxes = 0, squares = 0, per_box = 1;
  int columns = 1, inner_columns = 1, inner_rows = 1;
  float square = 12, gap = 3, pad = 4, box_gap = 8, label = 34;
  Vec2 origin{};

  float box_w() const { return static_cast<float>(inner_columns) * (square + gap) - gap + 2 * pad; }
  float box_h() const { return static_cast<float>(inner_rows) * (square + gap) - gap + 2 * pad; }
  int rows() const { return (boxes + columns - 1) / columns; }
  Rect box_at(int box) const;
  Rect square_at(int index) const;
  /// The square whose pitch holds the point; -1 = none.
  int square_of(Vec2 p) const;
  Rect bounds() const;
};

/// The largest squares with which the whole cluster fits into `area`. `most` = how large a square may be.
GridLayout make_grid(const ClusterView& view, Rect area, float most, bool presenter = false);

/// Zoom and pan of a person: zoom 1 shows all.
struct Zoom {
  float k = 1;
  Vec2 shift{};  // of the origin, in the coordinates of the stage
  Vec2 to_stage(Vec2 p, Rect area) const;
  Vec2 to_grid(Vec2 p, Rect area) const;
  Rect to_stage(Rect r, Rect area) const;
  /// Zooms about a point of the stage and keeps the grid in sight.
  void by(float factor, Vec2 about, Rect area, float most);
  void pan(Vec2 delta, Rect area);
};

/// The parts of the stage.
struct ClusterLayout {
  Rect counts, grid, panel, log;
  bool wide = false;
};
ClusterLayout layout_cluster(Rect stage, bool presenter);

}  // namespace ringside::app
