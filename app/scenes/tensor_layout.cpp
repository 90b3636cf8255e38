// Directions nest. The last two span a sheet: columns to the right, rows down. The third from the end puts
// sheets behind each other (a step right and up, so that one row and one column of each stays in sight). From
// there on copies stand side by side and below each other in turn, a wider gap each time. So every direction
// does the same thing to what was there: the same once more, somewhere else. Sizes are found inside out,
// positions outside in.
#include "app/scenes/tensor_layout.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace ringside::app {
namespace {

constexpr float kFill = .94f;                           // of a pitch that a cell fills
constexpr float kSkip = .55f;                           // width of a gap, in pitches
constexpr float kSheetPad = .09f;                       // around the cells of a sheet
constexpr std::array kMost = {8, 8, 4, 3, 3, 2, 2, 2};  // shown places by direction, from the last

/// One direction: its shown places and where each begins, in pitches of its own step.
struct Direction {
  std::vector<std::int64_t> places;
  std::vector<float> at;
  float length = 0;
};

Direction direction(std::vector<std::int64_t> places) {
  Direction out;
  out.places = std::move(places);
  for (const std::int64_t place : out.places) {
    out.at.push_back(out.length);
    out.length += place < 0 ? kSkip : 1;
  }
  return out;
}

/// A block: what the directions from some level inwards span, in pitches of a cell.
struct Block {
  Vec2 size;
};

class Builder {
 public:
  Builder(const TensorModel& model, TensorView view) : model_(model), view_(view) {
    const auto& extents = model.shape().extents;
    const std::size_t n = extents.size();
    for (std::size_t level = 0; level < std::max<std::size_t>(n, 2); ++level) {
      const bool there = level < n;
      const std::int64_t extent = there ? extents[n - 1 - level] : 1;
      const std::int64_t selected = there ? model.selected()[n - 1 - level] : 0;
      directions_.push_back(
          direction(shown_places(extent, kMost[std::min<std::size_t>(level, kMost.size() - 1)], selected)));
    }
    measure();
  }

  Vec2 size() const { return sizes_.back(); }
  /// From the top of the first stack down to its front sheet.
  float drop() const { return sizes_.size() > 2 ? sizes_[2].y - sizes_[1].y : 0; }

  void place(TensorLayout& out, Vec2 origin, float pitch) {
    out_ = &out;
    origin_ = origin;
    pitch_ = pitch;
    out.pitch = pitch;
    walk(static_cast<int>(directions_.size()) - 1, {0, 0});
    lines();
  }

 private:
  Vec2 step_of_sheets() const {
    if (view_ == TensorView::Pictures) return {sizes_[1].x + .6f, 0};
    return {1.05f, 1.05f};
  }
  static float gap_of(int level) { return .55f + .55f * static_cast<float>(level - 3); }

  void measure() {
    sizes_.push_back({directions_[0].length, 1});
    sizes_.push_back({directions_[0].length, directions_[1].length});
    for (std::size_t level = 2; level < directions_.size(); ++level) {
      const Direction& d = directions_[level];
      Vec2 size = sizes_.back();
      const float steps = d.at.empty() ? 0 : d.at.back();
      if (level == 2) {
        const Vec2 step = step_of_sheets();
        size = {size.x + steps * step.x, size.y + steps * step.y};
      } else {
        const float gap = gap_of(static_cast<int>(level));
        if (level % 2 == 1) size.x += steps * (size.x + gap);
        if (level % 2 == 0) size.y += steps * (size.y + gap);
      }
      sizes_.push_back(size);
    }
  }

  /// Where the i-th shown place of a level begins inside its block.
  Vec2 corner(int level, std::size_t i) const {
    const Direction& d = directions_[static_cast<std::size_t>(level)];
    if (level == 2) {  // the front sheet stands at the bottom left
      const Vec2 step = step_of_sheets();
      return {d.at[i] * step.x, (d.at.back() - d.at[i]) * step.y};
    }
    const Vec2 inner = sizes_[static_cast<std::size_t>(level) - 1];
    const float gap = gap_of(level);
    return level % 2 == 1 ? Vec2{d.at[i] * (inner.x + gap), 0} : Vec2{0, d.at[i] * (inner.y + gap)};
  }

  Vec2 px(Vec2 at) const { return origin_ + at * pitch_; }

  void walk(int level, Vec2 at) {
    if (level == 1) return sheet(at);
    if (level == 2) ++stack_;
    const Direction& d = directions_[static_cast<std::size_t>(level)];
    const std::size_t n = d.places.size();
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t i = level == 2 ? n - 1 - k : k;  // sheets from the back to the front
      const Vec2 here = at + corner(level, i);
      if (d.places[i] < 0) {
        const Vec2 inner = sizes_[static_cast<std::size_t>(level) - 1];
        if (level != 2)
          out_->gaps.push_back(px(level % 2 == 1 ? Vec2{here.x - .1f, here.y + inner.y / 2}
                                                 : Vec2{here.x + inner.x / 2, here.y - .1f}));
        continue;
      }
      outer_.push_back(d.places[i]);
      if (level == 2) depth_ = d.places[i];
      walk(level - 1, here);
      outer_.pop_back();
    }
  }

  void sheet(Vec2 at) {
    const Direction &columns = directions_[0], &rows = directions_[1];
    const std::size_t dims = model_.shape().extents.size();
    const Vec2 p = px(at);
    const float pad = kSheetPad * pitch_, trim = (1 - kFill) * pitch_;
    out_->sheets.push_back(
        {Rect{p.x, p.y, sizes_[1].x * pitch_ - trim, sizes_[1].y * pitch_ - trim}.inset(-pad), depth_, stack_});
    for (std::size_t r = 0; r < rows.places.size(); ++r) {
      if (rows.places[r] < 0) {
        out_->gaps.push_back(px({at.x + sizes_[1].x / 2, at.y + rows.at[r] + kSkip / 2 - .03f}));
        continue;
      }
      for (std::size_t c = 0; c < columns.places.size(); ++c) {
        const Vec2 q = px({at.x + columns.at[c], at.y + rows.at[r]});
        if (columns.places[c] < 0) {
          out_->gaps.push_back({q.x + (kSkip / 2 - .03f) * pitch_, q.y + kFill / 2 * pitch_});
          continue;
        }
        TensorCell cell;
        cell.index = outer_;
        if (dims >= 2) cell.index.push_back(rows.places[r]);
        if (dims >= 1) cell.index.push_back(columns.places[c]);
        cell.flat = model_.offset(cell.index);
        cell.box = {q.x, q.y, kFill * pitch_, kFill * pitch_};
        cell.sheet = out_->sheets.size() - 1;
        out_->cells.push_back(std::move(cell));
      }
    }
  }

  /// Columns and rows are measured at the last block, sheets from its front to its back, the others below and
  /// beside everything.
  void lines() {
    const auto dims = static_cast<int>(model_.shape().extents.size());
    if (dims == 0) return;
    Vec2 at{0, 0};  // the last block of sheets
    for (int level = static_cast<int>(directions_.size()) - 1; level > 2; --level)
      at = at + corner(level, directions_[static_cast<std::size_t>(level)].places.size() - 1);
    const Vec2 whole = size(), stack = sizes_[std::min<std::size_t>(2, sizes_.size() - 1)], sheet = sizes_[1];
    const float off = 16, trim = (1 - kFill) * pitch_;
    const auto add = [&](int level, Vec2 a, Vec2 b, DimensionLine::Side side, Vec2 label) {
      const Direction& d = directions_[static_cast<std::size_t>(level)];
      const float length = std::hypot(b.x - a.x, b.y - a.y);
      out_->lines.push_back({.axis = dims - 1 - level,
                             .a = a,
                             .b = b,
                             .label = label,
                             .side = side,
                             .pitch = length / std::max(1.0f, d.length - (level == 2 ? 1 : 0))});
    };
    const Vec2 front = px({at.x, at.y + stack.y - sheet.y}),
               front_end = front + sheet * pitch_ - Vec2{trim, trim};
    const bool diagonal = dims >= 3 && directions_[2].places.size() > 1 && view_ == TensorView::Box;
    add(0, {front.x, front_end.y + off}, {front_end.x, front_end.y + off}, DimensionLine::Side::Below,
        {(front.x + front_end.x) / 2, front_end.y + off + 17});
    if (dims >= 2) {
      const Vec2 back = px({at.x + stack.x - sheet.x, at.y});
      const float x = back.x + sheet.x * pitch_ - trim + (diagonal ? 30 : off), h = sheet.y * pitch_ - trim;
      add(1, {x, back.y}, {x, back.y + h}, DimensionLine::Side::Right, {x + 12, back.y + h / 2});
    }
    if (diagonal) {
      const Vec2 a{front_end.x + 10, front_end.y + 2};
      const Vec2 reach = step_of_sheets() * (directions_[2].at.back() * pitch_);
      const Vec2 b{a.x + reach.x, a.y - reach.y};
      add(2, a, b, DimensionLine::Side::Diagonal, {(a.x + b.x) / 2 + 14, (a.y + b.y) / 2 + 14});
    } else if (dims >= 3) {
      const Vec2 from = px({at.x, at.y}), to = px({at.x + stack.x, at.y});
      add(2, {from.x, from.y - off - 4}, {to.x - trim, from.y - off - 4}, DimensionLine::Side::Below,
          {(from.x + to.x) / 2, from.y - off - 22});
    }
    float below = front_end.y + off + 40, beside = px(whole).x + (dims >= 2 ? 96 : 24);
    for (int level = 3; level < dims; ++level) {
      const Vec2 a = px({0, 0}), b = px(whole);
      if (level % 2 == 1) {
        add(level, {a.x, below}, {b.x - trim, below}, DimensionLine::Side::Below,
            {(a.x + b.x) / 2, below + 17});
        below += 40;
      } else {
        add(level, {beside, a.y}, {beside, b.y - trim}, DimensionLine::Side::Right,
            {beside + 12, (a.y + b.y) / 2});
        beside += 96;
      }
    }
  }

  const TensorModel& model_;
  TensorView view_;
  std::vector<Direction> directions_;  // from the last
  std::vector<Vec2> sizes_;            // of the block of each level
  TensorLayout* out_ = nullptr;
  Vec2 origin_{};
  float pitch_ = 1;
  Index outer_;
  std::int64_t depth_ = 0;
  std::size_t stack_ = 0;
};

/// Memory: one row, broken where the box ends, at a multiple of the last extent if that fits.
TensorLayout lay_out_flat(const TensorModel& model, Rect box) {
  constexpr float kLabel = 22;  // the offsets below a row
  constexpr int kMostShown = 62;
  TensorLayout out;
  const auto places = shown_places(model.count(), kMostShown, model.offset(model.selected()));
  const std::int64_t last = model.shape().extents.empty() ? 1 : model.shape().extents.back();
  constexpr float kLeastPitch = 33;
  std::int64_t columns =
      std::min<std::int64_t>(std::max<std::int64_t>(1, static_cast<std::int64_t>(box.w / kLeastPitch)),
                             static_cast<std::int64_t>(places.size()));
  if (model.count() <= kMostShown && last < columns && model.count() > columns)
    columns = columns / last * last;
  const std::int64_t rows = (static_cast<std::int64_t>(places.size()) + columns - 1) / columns;
  const float pitch = std::min(
      {52.0f, box.w / static_cast<float>(columns), (box.h - 16) / static_cast<float>(rows) - kLabel});
  const float w = pitch * static_cast<float>(columns), h = (pitch + kLabel) * static_cast<float>(rows);
  const Vec2 origin{box.x + (box.w - w) / 2, box.y + (box.h - h) / 2};
  out.pitch = pitch;
  out.bounds = {origin.x, origin.y, w, h};
  out.sheets.push_back({out.bounds, 0, 0});
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto column = static_cast<std::int64_t>(i) % columns, row = static_cast<std::int64_t>(i) / columns;
    const Vec2 p{origin.x + static_cast<float>(column) * pitch,
                 origin.y + static_cast<float>(row) * (pitch + kLabel)};
    if (places[i] < 0) {
      out.gaps.push_back({p.x + pitch / 2, p.y + pitch / 2});
      continue;
    }
    out.cells.push_back(
        {model.shape().index_of(places[i]), places[i], {p.x, p.y, pitch * kFill, pitch * kFill}, 0});
  }
  out.shown = static_cast<std::int64_t>(out.cells.size());
  return out;
}

}  // namespace

std::vector<std::int64_t> shown_places(std::int64_t extent, int most, std::int64_t selected) {
  std::vector<std::int64_t> out;
  if (extent <= most) {
    for (std::int64_t i = 0; i < extent; ++i) out.push_back(i);
    return out;
  }
  // The first, the last, and a window around the selection that takes the rest.
  const std::int64_t window = std::max(1, most - 2);
  const std::int64_t from = std::clamp<std::int64_t>(selected - window / 2, 0, extent - window);
  if (from > 0) out.push_back(0);
  if (from > 1) out.push_back(-1);
  for (std::int64_t i = from; i < from + window; ++i) out.push_back(i);
  if (from + window < extent - 1) out.push_back(-1);
  if (from + window < extent) out.push_back(extent - 1);
  return out;
}

TensorLayout lay_out(const TensorModel& model, TensorView view, Rect box, float most_pitch,
                     const TensorLayout* held) {
  if (view == TensorView::Flat) return lay_out_flat(model, box);
  const int dims = model.dims();
  Builder builder(model, view);
  const Vec2 size = builder.size();
  // Room for lines and their labels: right for rows (and every second direction further out), below for
  // columns.
  const float right = dims < 2 ? 24 : 116 + 96 * static_cast<float>(std::max(0, (dims - 3) / 2));
  const float below = dims < 1 ? 10 : 44 + 40 * static_cast<float>(std::max(0, (dims - 2) / 2));
  const float above = view == TensorView::Pictures && dims >= 3 ? 44 : 28;
  float pitch = std::min({most_pitch, (box.w - right - 12) / size.x, (box.h - below - above) / size.y});
  if (held != nullptr) pitch = held->pitch;
  Vec2 origin{box.x + (box.w - size.x * pitch - (dims >= 2 ? right - 24 : 0)) / 2,
              box.y + above + (box.h - below - above - size.y * pitch) / 2};
  if (held != nullptr) origin = {held->anchor.x, held->anchor.y - builder.drop() * pitch};
  TensorLayout out;
  builder.place(out, origin, pitch);
  out.bounds = {origin.x, origin.y, size.x * pitch, size.y * pitch};
  out.anchor = {origin.x, origin.y + builder.drop() * pitch};
  out.shown = static_cast<std::int64_t>(out.cells.size());
  return out;
}

}  // namespace ringside::app
