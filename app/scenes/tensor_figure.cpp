// The figure of the tensor scene: sheets and cells where they are at this moment, pictures instead of
// numbers, dimension lines with handles, offsets and strides when it is laid out flat.
#include <algorithm>
#include <cmath>

#include "app/draw/parts.hpp"
#include "app/scenes/allreduce_numbers.hpp"
#include "app/scenes/tensor_bits.hpp"
#include "app/scenes/tensor_scene.hpp"
#include "app/text/layout.hpp"

namespace ringside::app {
namespace {

constexpr float kLeastText = 13;

bool overlaps(Rect a, Rect b) {
  return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
}

/// The number as it fits: whole, then with fewer digits; nothing where no legible size fits.
void cell_number(Canvas& c, Rect box, sim::Scalar value, Color color, Face face, bool moving) {
  const float room = box.w - 4, most = std::min(60.0f, box.h * .5f);
  if (most < kLeastText * .85f) return;
  const auto draw = [&](const std::string& text, float size) {
    c.text(box.center(), text,
           {.size = size,
            .color = color,
            .face = face,
            .align = Align::Center,
            .max_width = box.w,
            .on_shape = moving});
  };
  const std::string whole = number_text(value);
  for (const float k : {1.0f, .8f, .64f}) {
    const float size = std::max(kLeastText, most * k);
    if (c.width(whole, size, face) <= room) return draw(whole, size);
  }
  for (const int digits : {4, 3, 2}) {
    const std::string text = short_number(sim::to_double(value), digits);
    const float size = std::max(kLeastText, most * .64f);
    if (c.width(text, size, face) <= room) return draw(text, size);
  }
}

}  // namespace

std::shared_ptr<const sim::Tensor> small_pictures() {
  // 0 … 9 a pixel: a five, a ring, an arrow. Drawn for this program.
  static const char* const kRows[3][8] = {
      {"........", ".999999.", ".9......", ".99999..", "......9.", "......9.", ".99999..", "........"},
      {"..4994..", ".97..79.", "47....74", "9......9", "9......9", "47....74", ".97..79.", "..4994.."},
      {"........", "....9...", "....99..", "1357999.", "13579999", "....99..", "....9...", "........"}};
  static const auto kPictures = [] {
    auto tensor = std::make_shared<sim::Tensor>(sim::DType::Int64, sim::Shape{{3, 8, 8}});
    std::int64_t at = 0;
    for (const auto& sheet : kRows)
      for (const char* row : sheet)
        for (int i = 0; i < 8; ++i)
          tensor->set(at++, sim::make_scalar(sim::DType::Int64, row[i] == '.' ? 0 : row[i] - '0'));
    return tensor;
  }();
  return kPictures;
}

void TensorScene::draw_figure(View& view) {
  draw_leaving(view.canvas);
  draw_sheets(view);
  const Theme& t = view.canvas.theme();
  for (const Vec2 gap : layout_.gaps)
    for (const float d : {-7.0f, 0.0f, 7.0f}) view.canvas.circle({gap.x + d, gap.y}, 2, t.t3);
  if (page_ == Page::Flat) {
    if (motion_ >= 1) {
      draw_offsets(view.canvas);
      draw_groups(view.canvas);
      draw_strides(view.canvas);
    }
    return;
  }
  draw_lines(view);
}

void TensorScene::draw_leaving(Canvas& c) const {
  if (motion_ >= 1) return;
  for (const auto& [key, m] : moving_) {
    if (m.alpha_to != 0) continue;
    const float k = 1 - motion_, x = m.from.x + (m.to.x - m.from.x) * (1 - k),
                y = m.from.y + (m.to.y - m.from.y) * (1 - k);
    c.rect({x, y, m.from.w, m.from.h}, {.fill = fade(c.theme().raised, m.alpha_from * k), .radius = 6});
  }
}

void TensorScene::draw_sheets(View& view) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  // A sheet's frame follows its cells.
  std::vector<Rect> frames(layout_.sheets.size(), Rect{1e9f, 1e9f, -2e9f, -2e9f});
  std::vector<float> alphas(layout_.sheets.size(), 0);
  const TensorCell* selected = nullptr;
  for (const TensorCell& cell : layout_.cells) {
    const Rect r = rect_of(cell);
    Rect& f = frames[cell.sheet];
    const float x1 = std::max(f.right(), r.right()), y1 = std::max(f.bottom(), r.bottom());
    f.x = std::min(f.x, r.x);
    f.y = std::min(f.y, r.y);
    f.w = x1 - f.x;
    f.h = y1 - f.y;
    alphas[cell.sheet] = std::max(alphas[cell.sheet], alpha_of(cell));
    if (cell.index == model_.selected()) selected = &cell;
  }
  const float pad = std::max(3.0f, layout_.pitch * .09f);
  for (Rect& frame : frames) frame = frame.inset(-pad);
  // Sheets that stand before the chosen number are only outlined, so that it can be seen.
  const auto ghost = [&](std::size_t s) {
    if (selected == nullptr) return false;
    const TensorSheet &mine = layout_.sheets[selected->sheet], &other = layout_.sheets[s];
    return other.stack == mine.stack && other.depth < mine.depth && overlaps(frames[s], rect_of(*selected));
  };
  const auto covered = [&](std::size_t sheet, Rect box) {
    for (std::size_t s = 0; s < frames.size(); ++s)
      if (layout_.sheets[s].stack == layout_.sheets[sheet].stack &&
          layout_.sheets[s].depth < layout_.sheets[sheet].depth && !ghost(s) &&
          overlaps(frames[s], box.inset(box.w * .2f)))
        return true;
    return false;
  };
  const bool flat = page_ == Page::Flat;
  std::size_t i = 0;
  for (std::size_t s = 0; s < frames.size(); ++s) {
    const bool mine = selected != nullptr && selected->sheet == s;
    const bool outline = ghost(s);
    const float a = alphas[s];
    if (!flat) {
      if (!outline) c.rect(frames[s], {.fill = fade(t.card, a), .radius = 10});
      c.rect(frames[s], {.stroke = fade(mine ? t.t1 : t.edge, outline ? .6f * a : a),
                         .radius = 10,
                         .width = mine && layout_.sheets.size() > 1 ? 2.0f : 1.25f});
    }
    if (shows_pictures()) draw_picture(c, layout_.sheets[s], s);
    for (; i < layout_.cells.size() && layout_.cells[i].sheet == s; ++i) {
      if (outline) continue;
      const Rect box = rect_of(layout_.cells[i]);
      draw_cell(view, layout_.cells[i], box, alpha_of(layout_.cells[i]), !flat && covered(s, box));
    }
  }
}

void TensorScene::draw_cell(View& view, const TensorCell& cell, Rect box, float alpha, bool covered) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const bool chosen = cell.index == model_.selected();
  const bool picture = shows_pictures();
  const sim::Scalar value = model_.stored(cell.index);
  const bool nan = sim::is_nan(value);
  const Hit h = view.ui.hit("tensor.cell." + std::to_string(cell.flat), box, {.focusable = false});
  const float radius = std::min(6.0f, layout_.pitch * .16f);
  const bool front = layout_.sheets[cell.sheet].depth == 0;
  if (!picture) {
    Color fill = chosen      ? t.accent
                 : h.hovered ? mix(t.raised, t.t1, .22f)
                 : front     ? mix(t.raised, t.t1, .11f)
                             : t.raised;
    if (nan && !chosen) fill = mix(t.card, t.nan, .24f);
    c.rect(box, {.fill = fade(fill, alpha), .radius = radius});
    if (nan) {
      c.dots(box.inset(2), fade(t.nan, .35f), 6, 1.2f);
      c.rect(box, {.stroke = t.nan, .radius = radius, .width = 1.5f});
    }
    if (!covered && alpha > .5f)
      cell_number(c, box, value, chosen ? t.ink : t.t1, chosen ? Face::Bold : Face::Regular, motion_ < 1);
  } else if (chosen) {
    c.rect(box, {.stroke = t.stage, .radius = 2, .width = 4});
    c.rect(box.inset(-1), {.stroke = t.t1, .radius = 2, .width = 2});
  }
  if (h.clicked) model_.select(cell.index);
}

/// The same sheet, each number as the lightness of a pixel: least = black, greatest = white.
void TensorScene::draw_picture(Canvas& c, const TensorSheet& sheet, std::size_t id) const {
  static_cast<void>(sheet);
  const double span = high_ > low_ ? high_ - low_ : 1;
  const Theme& t = c.theme();
  for (const TensorCell& cell : layout_.cells) {
    if (cell.sheet != id) continue;
    const Rect box = rect_of(cell);
    const sim::Scalar value = model_.stored(cell.index);
    const double x = sim::to_double(value);
    if (sim::is_nan(value)) {
      c.rect(box, {.fill = mix(t.card, t.nan, .3f)});
      c.dots(box, t.nan, 6, 1.2f);
      continue;
    }
    const auto k = static_cast<float>(std::clamp((x - low_) / span, 0.0, 1.0));
    const float grow = layout_.pitch * .06f;  // pixels touch
    c.rect({box.x, box.y, box.w + grow, box.h + grow},
           {.fill = fade(mix(rgb(0x05080C), rgb(0xFFFFFF), k), alpha_of(cell))});
  }
}

// --- the edges

void TensorScene::draw_lines(View& view) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const float arrive = motion_ >= 1 ? 1.0f : std::max(0.0f, motion_ * 2 - 1);
  constexpr std::string_view kMany[] = {"tensor.axis.columns", "tensor.axis.rows", "tensor.axis.sheets",
                                        "tensor.axis.stacks", "tensor.axis.shelves"};
  constexpr std::string_view kOne[] = {"tensor.axis.column", "tensor.axis.row", "tensor.axis.sheet",
                                       "tensor.axis.stack", "tensor.axis.shelf"};
  bool dragging = false;
  for (const DimensionLine& line : layout_.lines) {
    const auto extent = model_.shape().extents[static_cast<std::size_t>(line.axis)];
    const int level = model_.dims() - 1 - line.axis;
    const std::string count = std::to_string(extent);
    const std::string label = level > 4     ? tr("tensor.axis.more", {count, std::to_string(line.axis)})
                              : extent == 1 ? tr(kOne[level], {count})
                                            : tr(kMany[level], {count});
    const float length = std::max(1.0f, std::hypot(line.b.x - line.a.x, line.b.y - line.a.y));
    const Vec2 u = (line.b - line.a) * (1 / length), n{-u.y, u.x};
    const bool outer = line.axis == 0 && model_.dims() > 1;
    const Color color = fade(outer ? t.t1 : t.t2, arrive);
    c.line(line.a, line.b, color, 1.75f);
    for (const Vec2 end : {line.a, line.b}) c.line(end - n * 5, end + n * 5, color, 1.75f);
    const bool right = line.side == DimensionLine::Side::Right || line.side == DimensionLine::Side::Diagonal;
    if (arrive > .5f)
      c.text(line.label, label,
             {.size = 16,
              .color = outer ? t.t1 : t.t2,
              .face = outer ? Face::Bold : Face::Regular,
              .align = right ? Align::Left : Align::Center});
    const Rect handle{line.b.x - 9, line.b.y - 9, 18, 18};
    const Hit h = view.ui.hit("tensor.edge." + std::to_string(line.axis), handle,
                              {.focusable = false, .least = 28, .explain = tr("tensor.drag")});
    const bool mine = drag_ && drag_->axis == line.axis;
    c.circle(line.b, h.hovered || mine ? 7.5f : 5.5f, t.stage, color, h.hovered || mine ? 2.5f : 2.0f);
    if (h.pressed) drag_ = Drag{line.axis, extent, h.mouse, u, line.pitch, layout_};
    if (drag_ && drag_->axis == line.axis && h.held) {
      dragging = true;
      const Vec2 d = h.mouse - drag_->from;
      const float along = d.x * drag_->along.x + d.y * drag_->along.y;
      const auto wanted = std::max<std::int64_t>(
          1, drag_->extent + static_cast<std::int64_t>(std::lround(along / drag_->pitch)));
      refuse(view, model_.grow(line.axis, wanted - extent, "drag." + std::to_string(line.axis)));
    }
  }
  if (drag_ && !dragging) {
    drag_.reset();
    laid_out_version_ = 0;  // fit again
  }
}

// --- memory

void TensorScene::draw_offsets(Canvas& c) const {
  const Theme& t = c.theme();
  const float widest = c.width(std::to_string(model_.count()), 13);
  const bool every = widest + 6 <= layout_.pitch;
  for (const TensorCell& cell : layout_.cells) {
    const bool chosen = cell.index == model_.selected();
    if (!every && !chosen) continue;
    c.text({cell.box.center().x, cell.box.bottom() + 12}, std::to_string(cell.flat),
           {.size = 13,
            .color = chosen ? t.t1 : t.t3,
            .face = chosen ? Face::Bold : Face::Regular,
            .align = Align::Center});
  }
}

/// Which stretch of the row is which row, sheet, stack …: the shape, laid over memory.
void TensorScene::draw_groups(Canvas& c) const {
  const Theme& t = c.theme();
  const auto strides = model_.shape().strides();
  const int dims = model_.dims();
  if (layout_.cells.empty() || layout_.shown < model_.count()) return;
  const float line = layout_.cells.front().box.y;
  if (layout_.cells.back().box.y != line) return;  // broken into several rows: no stretch is whole
  float y = layout_.cells.front().box.bottom() + 36;
  for (int axis = dims - 2; axis >= 0 && y + 24 < boxes_.figure.bottom(); --axis, y += 38) {
    const std::int64_t length = strides[static_cast<std::size_t>(axis)];
    for (std::int64_t from = 0; from < model_.count(); from += length) {
      const Rect first = layout_.cells[static_cast<std::size_t>(from)].box,
                 last = layout_.cells[static_cast<std::size_t>(from + length - 1)].box;
      Index outer = model_.shape().index_of(from);
      outer.resize(static_cast<std::size_t>(axis) + 1);
      bool mine = true;
      for (std::size_t d = 0; d < outer.size(); ++d) mine = mine && outer[d] == model_.selected()[d];
      const Color color = mine ? t.t1 : t.edge;
      c.stroke({{first.x, y - 6}, {first.x, y}, {last.right(), y}, {last.right(), y - 6}}, color,
               mine ? 2.0f : 1.5f);
      const std::string label = index_text(outer);
      if (c.width(label, 14, Face::Mono) + 8 < last.right() - first.x)
        c.text({(first.x + last.right()) / 2, y + 14}, label,
               {.size = 14, .color = mine ? t.t1 : t.t3, .face = Face::Mono, .align = Align::Center});
    }
  }
}

/// From the chosen number, one step along each direction: how far that is in memory.
void TensorScene::draw_strides(Canvas& c) const {
  const Theme& t = c.theme();
  const auto strides = model_.shape().strides();
  const auto& extents = model_.shape().extents;
  const auto find = [&](std::int64_t flat) -> const TensorCell* {
    for (const TensorCell& cell : layout_.cells)
      if (cell.flat == flat) return &cell;
    return nullptr;
  };
  const std::int64_t at = model_.offset(model_.selected());
  const TensorCell* from = find(at);
  if (from == nullptr) return;
  float lift = 22;
  for (std::size_t k = extents.size(); k-- > 0;) {
    if (extents[k] < 2) continue;
    const bool ahead = model_.selected()[k] + 1 < extents[k];
    const TensorCell* to = find(ahead ? at + strides[k] : at - strides[k]);
    if (to == nullptr || to->box.y != from->box.y) continue;
    if (from->box.y - lift < boxes_.figure.y + 12) break;
    const float x0 = from->box.center().x, x1 = to->box.center().x, y = from->box.y - 4, top = y - lift;
    c.stroke({{x0, y}, {x0, top}, {x1, top}, {x1, y}}, t.t2, 1.75f);
    c.fill({{x1 - 4, y - 6}, {x1 + 4, y - 6}, {x1, y}}, t.t2);
    const std::string step = (ahead ? "+" : "-") + std::to_string(strides[k]);
    const std::string label = tr("tensor.stride_step", {step, std::to_string(k)});
    const float w = c.width(label, 14) + 10;
    if (std::abs(x1 - x0) > w + 16) {
      const float left = (x0 + x1) / 2 - w / 2;
      c.rect({left, top - 10, w, 20}, {.fill = t.stage});
      c.text({left + w / 2, top}, label,
             {.size = 14, .color = t.t1, .align = Align::Center, .on_shape = true});
    } else {  // a short step: its word stands beside it
      const bool room = std::max(x0, x1) + 8 + w < boxes_.figure.right();
      c.text({room ? std::max(x0, x1) + 9 : std::min(x0, x1) - 9, top}, label,
             {.size = 14, .color = t.t1, .align = room ? Align::Left : Align::Right, .on_shape = true});
    }
    lift += 30;
  }
}

}  // namespace ringside::app
