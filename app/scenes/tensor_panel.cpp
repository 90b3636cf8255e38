// The inspector of the tensor scene: what this is now, its shape to edit, the chosen number and its place in
// memory, and what each float dtype makes of it.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "app/draw/parts.hpp"
#include "app/scenes/allreduce_numbers.hpp"
#include "app/scenes/tensor_bits.hpp"
#include "app/scenes/tensor_scene.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

constexpr float kGap = 10, kPad = 14;

/// A number that a person typed: "0.1", "-3", "1e5", "nan", "inf".
std::optional<double> typed_number(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == ','; });
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (lower == "inf" || lower == "infinity") return std::numeric_limits<double>::infinity();
  if (lower == "-inf" || lower == "-infinity") return -std::numeric_limits<double>::infinity();
  const char* first = text.c_str() + (text.starts_with('+') ? 1 : 0);
  double value = 0;
  const auto read = std::from_chars(first, text.c_str() + text.size(), value);
  if (read.ec != std::errc{} || read.ptr != text.c_str() + text.size()) return std::nullopt;
  return value;
}

/// "1×6 + 0×3 + 2×1 = 8".
std::string offset_text(const TensorModel& model) {
  std::string out;
  const auto strides = model.shape().strides();
  for (std::size_t d = 0; d < strides.size(); ++d) {
    if (strides.size() > 4 && model.selected()[d] == 0) continue;  // long: only what adds something
    out +=
        (out.empty() ? "" : " + ") + std::to_string(model.selected()[d]) + "×" + std::to_string(strides[d]);
  }
  return (out.empty() ? "" : out + " = ") + std::to_string(model.offset(model.selected()));
}

std::string now_text(const TensorModel& model) {
  const int dims = model.dims();
  const auto& e = model.shape().extents;
  if (dims == 0) return tr("tensor.now.scalar");
  const auto at = [&](int from_last) {
    return sim::with_commas(e[e.size() - 1 - static_cast<std::size_t>(from_last)]);
  };
  if (dims == 1) return tr("tensor.now.vector", {at(0)});
  if (dims == 2) return tr("tensor.now.matrix", {at(1), at(0)});
  if (dims == 3) return tr("tensor.now.stack", {at(2)});
  if (dims == 4) return tr("tensor.now.four", {at(3)});
  return tr("tensor.now.more", {sim::with_commas(e.front()), std::to_string(dims)});
}

/// One dtype's row: its name, what it holds, its bits, what was lost.
void bits_row(Canvas& c, Rect box, sim::DType dtype, double given, bool current) {
  const Theme& t = c.theme();
  const FloatBits bits = float_bits(dtype, given);
  if (current) c.rect(box.inset(-8, -1), {.fill = t.raised, .radius = 6});
  c.text({box.x, box.y + 11}, sim::to_word(dtype),
         {.size = 14, .face = current ? Face::Bold : Face::Regular});
  c.text({box.right(), box.y + 11}, short_number(bits.value, 8),
         {.size = 15, .face = Face::Bold, .align = Align::Right});
  // Always on a scale of 32: a half has half the length.
  const float pitch = (box.w - 12) / 32;
  float x = box.x;
  for (int i = 0; i < bits.layout.bits(); ++i) {
    if (i == 1 || i == 1 + bits.layout.exponent) x += 6;
    const Rect square{x, box.y + 21, pitch - 1.5f, 10};
    if (bits.bits[static_cast<std::size_t>(i)]) {
      c.rect(square, {.fill = i == 0 || i > bits.layout.exponent ? t.t1 : t.t2});
    } else {
      c.rect(square, {.stroke = t.edge});
    }
    x += pitch;
  }
  std::string lost;
  bool trouble = true;
  if (bits.overflow) {
    lost = tr("tensor.lost.overflow");
  } else if (bits.to_zero) {
    lost = tr("tensor.lost.zero");
  } else if (bits.lost != 0) {
    lost = tr("tensor.lost.some", {short_number(std::abs(bits.lost), 3)});
    trouble = false;
  } else {
    lost = bits.kind == FloatClass::Nan ? tr("tensor.lost.nan") : tr("tensor.lost.nothing");
    trouble = false;
  }
  const std::string power = bits.kind == FloatClass::Normal || bits.kind == FloatClass::Subnormal
                                ? short_number(bits.fraction, 5) + " × 2^" + std::to_string(bits.exponent)
                                : "";
  const float w = c.text({box.x, box.y + 42}, fit(c.fonts(), lost, box.w, 13),
                         {.size = 13, .color = trouble ? t.stall_text : t.t3});
  if (!power.empty() && w + c.width(power, 13) + 14 < box.w)
    c.text({box.right(), box.y + 42}, power, {.size = 13, .color = t.t3, .align = Align::Right});
}

}  // namespace

void TensorScene::inspector(View& view) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const Rect box{view.box.x + 16, view.box.y, view.box.w - 32, view.box.h};
  float y = box.y + 22;
  c.text({box.x, y}, tr("tensor.now.title"), {.size = 14, .color = t.t3, .face = Face::Bold});
  const float end = parts::paragraph(c, {box.x, y + 26}, box.w,
                                     page_ == Page::Model ? tr("tensor.now.model") : now_text(model_),
                                     {.size = 17, .line_height = 1.42f, .face = Face::Bold, .max_lines = 3});
  places_["now"] = {box.x, y - 10, box.w, end - y};
  y = end - 2;
  if (page_ == Page::Model) return tensor_table(view, {box.x, y, box.w, view.box.bottom() - 16 - y});
  y = shape_card(view, {box.x, y, box.w, 0}) + kGap;
  y = number_card(view, {box.x, y, box.w, 0}) + kGap;
  const float room = view.box.bottom() - 12 - y;
  if (room >= 150) y = bits_card(view, {box.x, y, box.w, std::min(room, 226.0f)}) + kGap;
  if (view.box.bottom() - y >= 100) source_card(view, {box.x, y, box.w, view.box.bottom() - 12 - y});
}

float TensorScene::shape_card(View& view, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const int dims = model_.dims();
  const float row = dims >= 5 ? 28 : 33;
  box.h = 52 + row * static_cast<float>(dims) + 48;
  parts::card(c, box);
  places_["edit"] = box;
  const float x = box.x + kPad, w = box.w - 2 * kPad;
  c.text({x, box.y + 28}, tr("tensor.shape"), {.size = 14, .color = t.t3, .face = Face::Bold});
  std::string shape = model_.shape().text();
  if (view.ui.text_field("tensor.shape", {x + w - 176, box.y + 12, 176, 32}, shape, 16,
                         tr("tensor.shape_explain"))) {
    auto extents = parse_shape_text(shape);
    refuse(view, extents ? model_.set_shape(std::move(*extents)) : sim::Status(extents.error()));
  }
  constexpr std::string_view kNames[] = {"tensor.name.columns", "tensor.name.rows", "tensor.name.sheets",
                                         "tensor.name.stacks", "tensor.name.shelves"};
  const float half = (w - 12) / 2;
  for (int axis = 0; axis < dims; ++axis) {
    const int level = dims - 1 - axis;
    const Rect cell{x, box.y + 50 + row * static_cast<float>(axis), w, row};
    const auto extent = model_.shape().extents[static_cast<std::size_t>(axis)];
    const std::string name = level < 5 ? tr(kNames[level]) : tr("tensor.name.more", {std::to_string(axis)});
    c.text({cell.x, cell.y + row / 2}, fit(c.fonts(), name, w - 150, 15),
           {.size = 15, .color = axis == 0 && dims > 1 ? t.t1 : t.t2});
    const std::string id = "tensor.axis." + std::to_string(axis), number = std::to_string(extent);
    const float y = cell.y + row / 2;
    if (view.ui.icon_button(id + ".less", {cell.right() - 118, y}, Glyph::Minus, 12, tr("tensor.less"),
                            extent > 1))
      refuse(view, model_.grow(axis, -1));
    c.text({cell.right() - 66, y}, number,
           {.size = size_that_fits(c.fonts(), number, 62, {17, 15, 13}, Face::Bold),
            .face = Face::Bold,
            .align = Align::Center});
    if (view.ui.icon_button(id + ".more", {cell.right() - 14, y}, Glyph::Plus, 12, tr("tensor.more")))
      refuse(view, model_.grow(axis, 1));
  }
  const float y = box.bottom() - 44;
  if (view.ui.button("tensor.add_axis", {x, y, half + 4, 34}, tr("tensor.add_axis"),
                     {.icon = Glyph::Plus,
                      .size = 14,
                      .enabled = dims < kMostDims,
                      .explain = tr("tensor.add_axis_explain")}))
    refuse(view, model_.add_axis());
  if (view.ui.button(
          "tensor.drop_axis", {x + half + 8, y, half + 4, 34}, tr("tensor.drop_axis"),
          {.icon = Glyph::Minus, .size = 14, .enabled = dims > 0, .explain = tr("tensor.drop_axis_explain")}))
    refuse(view, model_.drop_axis());
  return box.bottom();
}

float TensorScene::number_card(View& view, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  box.h = 94;
  parts::card(c, box);
  const float x = box.x + kPad, w = box.w - 2 * kPad;
  const std::string name = index_text(model_.selected());
  const float name_size = size_that_fits(c.fonts(), name, w - 110, {17, 15, 14, 13}, Face::MonoBold);
  c.text({x, box.y + 26}, fit(c.fonts(), name, w - 110, name_size, Face::MonoBold),
         {.size = name_size, .face = Face::MonoBold});
  std::string value = short_number(model_.given(model_.selected()), 17);
  if (view.ui.text_field("tensor.value", {x + w - 102, box.y + 10, 102, 32}, value, 16,
                         tr("tensor.value_explain"))) {
    if (const auto number = typed_number(value)) {
      model_.set_number(model_.selected(), *number);
    } else {
      view.emit(action::ShowNotice{{NoticeKind::Warning, tr("tensor.not_a_number")}});
    }
  }
  const std::string offset = offset_text(model_);
  c.text({x, box.y + 57}, tr("tensor.offset"), {.size = 14, .color = t.t3});
  const float label = std::max(c.width(tr("tensor.offset"), 14), c.width(tr("tensor.in_memory"), 14)) + 12;
  c.text({x + w, box.y + 57},
         fit(c.fonts(), offset, w - label, size_that_fits(c.fonts(), offset, w - label, {15, 14, 13})),
         {.size = size_that_fits(c.fonts(), offset, w - label, {15, 14, 13}), .align = Align::Right});
  const std::int64_t size = sim::size_of(model_.state().dtype), at = model_.offset(model_.selected()) * size;
  c.text({x, box.y + 79}, tr("tensor.in_memory"), {.size = 14, .color = t.t3});
  c.text({x + w, box.y + 79},
         tr("tensor.byte_range", {sim::with_commas(at), sim::with_commas(at + size - 1)}),
         {.size = 14, .color = t.t2, .align = Align::Right, .max_width = w - label});
  places_["element"] = box;
  return box.bottom();
}

float TensorScene::bits_card(View& view, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  parts::card(c, box);
  places_["bits"] = box;
  places_["dtype"] = {box.x, box.y, box.w, 46};
  const float x = box.x + kPad, w = box.w - 2 * kPad;
  c.text({x, box.y + 25}, "dtype", {.size = 14, .color = t.t3, .face = Face::Bold});
  std::vector<MenuItem> items;
  int current = 0;
  for (std::size_t i = 0; i < sim::kAllDTypes.size(); ++i) {
    items.push_back({.label = std::string(sim::to_word(sim::kAllDTypes[i])),
                     .detail = tr("tensor.bytes_each", {std::to_string(sim::size_of(sim::kAllDTypes[i]))})});
    if (sim::kAllDTypes[i] == model_.state().dtype) current = static_cast<int>(i);
  }
  if (const auto chosen = view.ui.select("tensor.dtype", {x + w - 150, box.y + 9, 150, 32}, items, current,
                                         tr("tensor.dtype_explain")))
    model_.set_dtype(sim::kAllDTypes[static_cast<std::size_t>(*chosen)]);
  const double given = model_.given(model_.selected());
  float y = box.y + 50;
  // Where there is no room for three, the two that lose most.
  const int rows = std::clamp(static_cast<int>((box.h - 50) / 50), 0, 3);
  if (rows == 0) return box.bottom();
  const float pitch = std::min(57.0f, (box.h - 52) / static_cast<float>(rows));
  constexpr sim::DType kRows[] = {sim::DType::Float32, sim::DType::Float16, sim::DType::BFloat16};
  for (int i = 3 - rows; i < 3; ++i) {
    bits_row(c, {x, y, w, 50}, kRows[i], given, kRows[i] == model_.state().dtype);
    y += pitch;
  }
  view.ui.explain({box.x, box.y + 48, box.w, box.h - 48}, tr("tensor.bits_explain"));
  return box.bottom();
}

/// Where the numbers come from, and what the real stack makes of this.
float TensorScene::source_card(View& view, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  float y = box.y + 16;
  c.text({box.x, y}, tr("tensor.real.title"), {.size = 14, .color = t.t3, .face = Face::Bold});
  const std::string& text =
      sim::is_floating(model_.state().dtype) ? tr("tensor.real.floating") : tr("tensor.real.integer");
  y = parts::paragraph(c, {box.x, y + 25}, box.w, text, {.size = 14, .color = t.t2, .max_lines = 3});
  const sim::Scenario* scenario = view.ctx.scenario;
  if (scenario != nullptr && !scenario->tensor.list.empty() && box.bottom() - y > 50) {
    if (view.ui.button("tensor.take", {box.x, y + 2, box.w, 36}, tr("tensor.take"),
                       {.size = 14, .explain = tr("tensor.take_explain")})) {
      const auto r = static_cast<std::size_t>(std::max(0, view.ctx.selection.rank));
      std::string name = scenario->tensor.file_pattern;  // "grads/rank{rank}.npy", if they come from files
      if (const std::size_t at = name.find("{rank}"); at != std::string::npos)
        name.replace(at, 6, std::to_string(r));
      model_.take(scenario->tensor.list[std::min(r, scenario->tensor.list.size() - 1)], std::move(name));
    }
    y += 46;
  }
  if (box.bottom() - y > 50 &&
      view.ui.button("tensor.pictures", {box.x, y + 2, box.w, 36}, tr("tensor.pictures"),
                     {.size = 14, .explain = tr("tensor.pictures_explain")})) {
    model_.take(small_pictures(), "");
    pictures_ = true;
    page_ = Page::Box;
  }
  if (box.bottom() - y > 70)
    parts::paragraph(c, {box.x, y + 62}, box.w, tr("tensor.drop"),
                     {.size = 14, .color = t.t3, .max_lines = 2});
  return box.bottom();
}

}  // namespace ringside::app
