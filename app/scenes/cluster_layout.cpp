#include "app/scenes/cluster_layout.hpp"

#include <algorithm>
#include <cmath>

namespace ringside::app {
namespace {

constexpr float kLeastRank = 5, kLeastNode = 2.5f;

int inner_columns_for(int per_box) {
  if (per_box <= 2) return per_box;
  if (per_box <= 4) return 2;
  if (per_box <= 8) return 4;
  return static_cast<int>(std::ceil(std::sqrt(2.0 * per_box)));
}

void set_size(GridLayout& g, float square) {
  g.square = square;
  g.gap = std::max(1.0f, std::round(square * .25f));
  g.pad = std::max(2.0f, std::round(square * .33f));
  g.box_gap = std::max(2.0f, std::round(square * .6f));
}

/// Chooses the columns; true if everything fits. `round`: a power of two of them, so that names are easy to
/// find (n0, n8, n16 …).
bool fits(GridLayout& g, Rect area, bool round) {
  const float w = area.w - g.label;
  const int most =
      std::min(g.boxes, std::max(1, static_cast<int>((w + g.box_gap) / (g.box_w() + g.box_gap))));
  g.columns = most;
  if (round)
    for (g.columns = 1; g.columns * 2 <= most;) g.columns *= 2;
  return static_cast<float>(g.rows()) * (g.box_h() + g.box_gap) - g.box_gap <= area.h;
}

GridLayout grid_of(int squares, int per_box, bool by_node) {
  GridLayout g;
  g.by_node = by_node;
  g.squares = squares;
  g.per_box = per_box;
  g.boxes = (squares + per_box - 1) / per_box;
  g.inner_columns = inner_columns_for(std::min(per_box, squares));
  g.inner_rows = (std::min(per_box, squares) + g.inner_columns - 1) / g.inner_columns;
  return g;
}

bool shrink(GridLayout& g, Rect area, float most, float least, bool round) {
  for (float s = most; s >= least; s -= s > 8 ? 1.0f : .5f) {
    set_size(g, s);
    if (fits(g, area, round)) return true;
  }
  return false;
}

/// Round numbers of columns, unless they cost much of the size.
bool shrink_to_fit(GridLayout& g, Rect area, float most, float least) {
  constexpr float kWorth = 1.25f;
  if (g.boxes > 100 && g.by_node && g.label > 0) g.label = 42;
  GridLayout any = g;
  const bool round_fits = shrink(g, area, most, least, true),
             any_fits = shrink(any, area, most, least, false);
  if (any_fits && (!round_fits || any.square > g.square * kWorth)) g = any;
  return any_fits || round_fits;
}

}  // namespace

Rect GridLayout::box_at(int box) const {
  return {origin.x + label + static_cast<float>(box % columns) * (box_w() + box_gap),
          origin.y + static_cast<float>(box / columns) * (box_h() + box_gap), box_w(), box_h()};
}

Rect GridLayout::square_at(int index) const {
  const Rect box = box_at(index / per_box);
  const int i = index % per_box;
  return {box.x + pad + static_cast<float>(i % inner_columns) * (square + gap),
          box.y + pad + static_cast<float>(i / inner_columns) * (square + gap), square, square};
}

int GridLayout::square_of(Vec2 p) const {
  const float px = box_w() + box_gap, py = box_h() + box_gap;
  const float x = p.x - origin.x - label + box_gap / 2, y = p.y - origin.y + box_gap / 2;
  if (x < 0 || y < 0) return -1;
  const int column = static_cast<int>(x / px), row = static_cast<int>(y / py), box = row * columns + column;
  if (column >= columns || box >= boxes) return -1;
  const Rect at = box_at(box);
  const float pitch = square + gap;
  const int i = std::clamp(static_cast<int>((p.x - at.x - pad + gap / 2) / pitch), 0, inner_columns - 1);
  const int j = std::clamp(static_cast<int>((p.y - at.y - pad + gap / 2) / pitch), 0, inner_rows - 1);
  const int index = box * per_box + j * inner_columns + i;
  return j * inner_columns + i < per_box && index < squares ? index : -1;
}

Rect GridLayout::bounds() const {
  return {origin.x, origin.y, label + static_cast<float>(columns) * (box_w() + box_gap) - box_gap,
          static_cast<float>(rows()) * (box_h() + box_gap) - box_gap};
}

GridLayout make_grid(const ClusterView& view, Rect area, float most, bool presenter) {
  GridLayout g;
  if (presenter) most = 96;  // as large as the stage has room for
  bool done = false;
  if (view.ranks_listed) {
    g = grid_of(view.world, view.per_node, false);
    if (presenter) g.label = 0;
    const float largest = view.world <= 64 ? most * 3 : most;
    done = shrink_to_fit(g, area, largest, kLeastRank);
  }
  if (!done) {
    g = grid_of(view.nodes, std::min(view.nodes_per_rack, view.nodes), true);
    if (presenter) g.label = 0;
    if (!shrink_to_fit(g, area, most,
                       kLeastNode)) {  // even so too many: it starts at the left top, zoom and pan
      set_size(g, kLeastNode);
      g.columns = std::max(1, static_cast<int>((area.w - g.label + g.box_gap) / (g.box_w() + g.box_gap)));
    }
  }
  // Left in its room (a presenter's in the middle), in the middle of its height.
  const float h = static_cast<float>(g.rows()) * (g.box_h() + g.box_gap) - g.box_gap;
  const float left = presenter ? std::max(0.0f, std::floor((area.w - g.bounds().w) / 2)) : 0;
  g.origin = {area.x + left, area.y + std::max(0.0f, std::floor((area.h - h) / 2))};
  return g;
}

Vec2 Zoom::to_stage(Vec2 p, Rect area) const {
  return {area.x + (p.x - area.x) * k + shift.x, area.y + (p.y - area.y) * k + shift.y};
}

Vec2 Zoom::to_grid(Vec2 p, Rect area) const {
  return {area.x + (p.x - area.x - shift.x) / k, area.y + (p.y - area.y - shift.y) / k};
}

Rect Zoom::to_stage(Rect r, Rect area) const {
  const Vec2 p = to_stage(Vec2{r.x, r.y}, area);
  return {p.x, p.y, r.w * k, r.h * k};
}

void Zoom::by(float factor, Vec2 about, Rect area, float most) {
  const Vec2 fixed = to_grid(about, area);
  k = std::clamp(k * factor, 1.0f, most);
  const Vec2 now = to_stage(fixed, area);
  pan(about - now, area);
}

void Zoom::pan(Vec2 delta, Rect area) {
  shift = shift + delta;
  shift.x = std::clamp(shift.x, area.w * (1 - k), 0.0f);
  shift.y = std::clamp(shift.y, area.h * (1 - k), 0.0f);
}

ClusterLayout layout_cluster(Rect stage, bool presenter) {
  ClusterLayout out;
  out.wide = stage.w > 1100;
  const float margin = out.wide ? 32 : 22, head = presenter ? 92 : out.wide ? 84 : 66, gap = out.wide ? 24 : 20;
  // In half a low window (two branches, large type) the log gives way to the ranks.
  const float log = presenter  ? 0
                    : out.wide ? std::min(300.0f, stage.h * .3f)
                               : std::clamp(stage.h * .36f, 100.0f, 158.0f);
  const float panel = presenter ? 0 : out.wide ? 208 : 166;
  const Rect in{stage.x + margin, stage.y, stage.w - 2 * margin, stage.h - (out.wide ? 24.0f : 12.0f)};
  out.counts = {in.x, in.y, in.w, head};
  out.log = {in.x, in.bottom() - log, in.w, log};
  const float top = in.y + head, bottom = presenter ? in.bottom() : out.log.y - gap;
  out.panel = {in.right() - panel, top, panel, bottom - top};
  out.grid = {in.x, top, in.w - panel - (presenter ? 0 : 30), bottom - top};
  return out;
}

}  // namespace ringside::app
