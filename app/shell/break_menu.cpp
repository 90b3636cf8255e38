#include "app/shell/break_menu.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "app/draw/parts.hpp"
#include "app/scenes/tensor_model.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

constexpr const char* kPopup = "break.menu";
constexpr float kColumn = 326, kRow = 44, kHeading = 28, kHeader = 66, kPad = 12;
constexpr std::array kDTypes = {sim::DType::Float64,  sim::DType::Float32, sim::DType::Float16,
                                sim::DType::BFloat16, sim::DType::Int32,   sim::DType::Int64};
constexpr std::array kOps = {sim::ReduceOp::Sum,  sim::ReduceOp::Avg, sim::ReduceOp::SumThenDivide,
                             sim::ReduceOp::Prod, sim::ReduceOp::Min, sim::ReduceOp::Max};

std::string_view heading_key(BreakGroup group) {
  switch (group) {
    case BreakGroup::Numbers:
      return "break.numbers";
    case BreakGroup::Process:
      return "break.process";
    case BreakGroup::Calls:
      return "break.calls";
    case BreakGroup::Hardware:
      return "break.hardware";
    case BreakGroup::Link:
      return "break.link";
  }
  return "break.link";
}

/// Kinds whose strength, length or value is a person's choice.
bool asks(sim::FaultKind kind) {
  constexpr std::uint32_t kAsked = sim::kFieldFactor | sim::kFieldDuration | sim::kFieldShape |
                                   sim::kFieldDType | sim::kFieldOp | sim::kFieldBit;
  return (sim::rule_of(kind).allowed & kAsked) != 0;
}

constexpr std::int64_t kMostElements = std::int64_t{1} << 30;

/// A shape as it is typed, of at most 2^30 elements and of at least one for each of the job's buckets.
sim::Result<sim::Shape> read_shape(std::string_view text, std::int64_t least) {
  auto extents = parse_shape_text(text);
  auto shape = extents ? sim::checked_shape(std::move(*extents)) : sim::Result<sim::Shape>(extents.error());
  if (shape && (shape->count() < least || shape->count() > kMostElements))
    return sim::Error{.what = "too few or too many elements"};
  return shape;
}

/// A group after the other in the first column until half of the rows are placed.
struct Column {
  float height = 0;
  std::vector<std::size_t> rows;
};

/// Rows are as high as the window has room for.
float row_height(const std::vector<BreakChoice>& choices, float window) {
  const auto first_rows = static_cast<float>(
      std::max<std::ptrdiff_t>(8, std::count_if(choices.begin(), choices.end(), [](const BreakChoice& c) {
                                 return c.group == BreakGroup::Calls || c.group == BreakGroup::Hardware;
                               })));
  return std::clamp((window - 24 - kHeader - kPad - 2 * kHeading) / first_rows, 38.0f, kRow);
}

std::array<Column, 2> columns_of(const std::vector<BreakChoice>& choices, float row) {
  std::array<Column, 2> out;
  const auto first_column = [](BreakGroup group) {
    return group == BreakGroup::Numbers || group == BreakGroup::Process || group == BreakGroup::Link;
  };
  for (std::size_t i = 0; i < choices.size(); ++i) {
    Column& column = out[first_column(choices[i].group) ? 0 : 1];
    const bool heads = column.rows.empty() || choices[column.rows.back()].group != choices[i].group;
    column.height += row + (heads ? kHeading : 0);
    column.rows.push_back(i);
  }
  return out;
}

}  // namespace

void BreakMenu::open(Session& session, Ui& ui, const Selection& target, Vec2 at) {
  const std::string why_not = session.fork_why_not();
  if (!session.has_trace() || !why_not.empty()) {
    if (session.has_trace()) session.notices.push_back({NoticeKind::Warning, why_not});
    return;
  }
  target_ = target;
  at_ = at;
  page_ = -1;
  const sim::Scenario& scenario = *session.scenario();
  if (target_.link_from < 0 && target_.rank < 0 && target_.node < 0) target_.rank = 0;
  world_ = scenario.world_size();
  nodes_ = scenario.cluster.nodes;
  dtype_ = scenario.tensor.dtype;
  count_ = scenario.tensor.shape.count();
  buckets_ = scenario.training.buckets;
  may_step_ = world_ > 1;
  session.playhead().mode = sim::PlayMode::Paused;
  choices_ = session.break_choices(target_);
  moment_ = sim::format_duration(session.playhead().t);
  ui.open_popup(kPopup);
}

void BreakMenu::frame(View& view) {
  if (!view.ui.popup_open(kPopup)) return;
  const auto columns = columns_of(choices_, row_height(choices_, view.canvas.size().y));
  const bool two = !columns[0].rows.empty() && !columns[1].rows.empty();
  Vec2 size{two ? 2 * kColumn + 3 * kPad : kColumn + 2 * kPad,
            kHeader + std::max(columns[0].height, columns[1].height) + kPad};
  if (page_ >= 0) {
    int fields = 0;
    const std::uint32_t allowed = sim::rule_of(choices_[static_cast<std::size_t>(page_)].fault.kind).allowed;
    for (const std::uint32_t bit : {sim::kFieldFactor, sim::kFieldDuration, sim::kFieldShape,
                                    sim::kFieldDType, sim::kFieldOp, sim::kFieldBit, sim::kFieldElement})
      fields += (allowed & bit) != 0 ? 1 : 0;
    size = {470, kHeader + 34 + 52 * static_cast<float>(fields) + 60};
  }
  view.ui.popup(kPopup, {at_.x, at_.y, 1, 1}, size, [this, view](Rect box) mutable {
    if (page_ >= 0)
      draw_details(view, box);
    else
      draw_list(view, box);
  });
}

void BreakMenu::step_target(View& view, int direction) {
  Selection next = target_;
  if (next.link_from >= 0) {
    next.link_from = (next.link_from + direction + world_) % world_;
    next.link_to = (next.link_from + 1) % world_;
  } else if (next.rank >= 0) {
    next.rank = (next.rank + direction + world_) % world_;
  } else {
    next.node = (next.node + direction + nodes_) % nodes_;
  }
  view.emit(action::OpenBreakMenu{next, at_});
  view.ui.keep_moving();
}

void BreakMenu::draw_header(View& view, Rect box, const std::string& title) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const float y = box.y + 28;
  float x = box.x + kPad + 8;
  c.glyph(Glyph::Bolt, {x + 7, y}, 16, t.t1);
  x += 26;
  x += c.text({x, y}, title, {.size = 17, .face = Face::Bold}) + 12;
  const bool steps = page_ < 0 && may_step_;
  const float end = box.right() - kPad - (steps ? 76.0f : 4.0f);
  c.text({x, y}, fit(c.fonts(), tr("break.at", {moment_}), end - x, 14), {.size = 14, .color = t.t2});
  c.text({box.x + kPad + 8, y + 24}, fit(c.fonts(), tr("break.keeps"), box.w - 2 * kPad - 16, 13),
         {.size = 13, .color = t.t3});
  if (!steps) return;
  if (view.ui.icon_button("break.previous", {box.right() - kPad - 50, y}, Glyph::Left, 13,
                          tr("break.previous")))
    step_target(view, -1);
  if (view.ui.icon_button("break.next", {box.right() - kPad - 14, y}, Glyph::Right, 13, tr("break.next")))
    step_target(view, 1);
}

void BreakMenu::draw_row(View& view, Rect row, std::size_t index) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const BreakChoice& choice = choices_[index];
  const bool can = choice.why_not.empty();
  const std::string id = "break." + std::string(sim::to_word(choice.fault.kind));
  const Hit h =
      view.ui.hit(id, row, {.focusable = can, .explain = can ? std::string_view() : choice.why_not});
  if (can && (h.hovered || h.focused)) c.rect(row.inset(0, 1), {.fill = t.raised, .radius = 6});
  const float x = row.x + 8, room = row.w - 34;
  c.text({x, row.center().y - 9}, fault_title(choice.fault.kind),
         {.size = 15, .color = can ? t.t1 : t.t3, .face = can ? Face::Bold : Face::Regular});
  const std::string& says = can ? tr_word("fault_says", sim::to_word(choice.fault.kind)) : choice.why_not;
  c.text({x, row.center().y + 9}, fit(c.fonts(), says, room, 13), {.size = 13, .color = can ? t.t2 : t.t3});
  if (can && asks(choice.fault.kind))
    c.glyph(Glyph::Right, {row.right() - 14, row.center().y}, 10, t.t3, 1.75f);
  if (!can || !h.clicked) return;
  if (asks(choice.fault.kind)) {
    page_ = static_cast<int>(index);
    bad_shape_ = false;
    shape_text_ = choice.fault.shape ? choice.fault.shape->text() : "";
    view.ui.focus("break.go");
    view.ui.keep_moving();
  } else {
    inject(view, choice.fault);
  }
}

void BreakMenu::draw_list(View& view, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  std::string title;
  if (!choices_.empty()) title = target_name(choices_.front().fault);
  if (target_.link_from < 0 && target_.chunk >= 0) title += ", c" + std::to_string(target_.chunk);
  draw_header(view, box, title);
  const float row = row_height(choices_, view.canvas.size().y);
  const auto columns = columns_of(choices_, row);
  float x = box.x + kPad;
  for (const Column& column : columns) {
    if (column.rows.empty()) continue;
    float y = box.y + kHeader;
    const BreakChoice* last = nullptr;
    for (const std::size_t index : column.rows) {
      const BreakChoice& choice = choices_[index];
      if (last == nullptr || last->group != choice.group) {
        c.text({x + 8, y + kHeading / 2 + 2}, tr(heading_key(choice.group)),
               {.size = 13, .color = t.t3, .face = Face::Bold});
        y += kHeading;
      }
      draw_row(view, {x, y, kColumn, row}, index);
      y += row;
      last = &choice;
    }
    x += kColumn + kPad;
  }
}

bool BreakMenu::number(View& view, float& y, Rect box, std::string_view id, std::string_view label,
                       double& value, double least, double most, double step, std::string_view unit) {
  view.canvas.text({box.x + kPad + 8, y + 18}, label, {.size = 14, .color = view.canvas.theme().t2});
  const bool changed =
      view.ui.number_field(id, {box.right() - kPad - 8 - 200, y, 200, 36}, value, least, most, step, unit);
  y += 52;
  return changed;
}

void BreakMenu::draw_details(View& view, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  sim::Fault& fault = choices_[static_cast<std::size_t>(page_)].fault;
  const std::string_view word = sim::to_word(fault.kind);
  draw_header(view, box, fault_name(fault));
  c.text({box.x + kPad + 8, box.y + kHeader + 12},
         fit(c.fonts(), tr_word("fault_says", word), box.w - 2 * kPad - 16, 14), {.size = 14});
  float y = box.y + kHeader + 34;
  const std::uint32_t allowed = sim::rule_of(fault.kind).allowed;
  if (allowed & sim::kFieldFactor) {
    double percent = static_cast<double>(fault.factor_ppm) / 1e4;
    if (number(view, y, box, "break.factor", tr("break.factor"), percent, 0.1, 99, 5, "%"))
      fault.factor_ppm = static_cast<std::int64_t>(percent * 1e4);
    if (fault.kind == sim::FaultKind::Slow) fault.duration_ns = 0;
  }
  if ((allowed & sim::kFieldDuration) && fault.kind != sim::FaultKind::Slow) {
    double ms = static_cast<double>(fault.duration_ns) / 1e6;
    if (number(view, y, box, "break.duration", tr("break.duration"), ms, 0.001, 3.6e6, 100, "ms"))
      fault.duration_ns = std::max<std::int64_t>(1, static_cast<std::int64_t>(ms * 1e6));
  }
  if (allowed & sim::kFieldShape) {
    c.text({box.x + kPad + 8, y + 18}, tr("break.shape"), {.size = 14, .color = t.t2});
    if (view.ui.text_field("break.shape", {box.right() - kPad - 8 - 200, y, 200, 36}, shape_text_)) {
      auto shape = read_shape(shape_text_, buckets_);
      bad_shape_ = !shape;
      if (shape) {
        fault.shape = std::move(*shape);
        shape_text_ = fault.shape->text();
      }
    }
    y += 52;
  }
  const auto choose = [&](std::string_view id, const auto& values, auto& current) {
    std::vector<std::string> labels;
    int at = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      labels.emplace_back(sim::to_word(values[i]));
      if (current && *current == values[i]) at = static_cast<int>(i);
    }
    // Two rows: six long words do not fit into one.
    const std::span<const std::string> all(labels);
    if (const auto chosen =
            view.ui.toggle(std::string(id) + ".a", {box.x + kPad + 8, y + 2}, all.subspan(0, 3), at))
      current = values[static_cast<std::size_t>(*chosen)];
    if (const auto chosen = view.ui.toggle(std::string(id) + ".b", {box.right() - kPad - 8, y + 2},
                                           all.subspan(3), at - 3, Align::Right))
      current = values[static_cast<std::size_t>(*chosen + 3)];
    y += 52;
  };
  if (allowed & sim::kFieldDType) choose("break.dtype.choice", kDTypes, fault.dtype);
  if (allowed & sim::kFieldOp) choose("break.op.choice", kOps, fault.op);
  if (allowed & sim::kFieldElement) {
    auto element = static_cast<double>(fault.element);
    if (number(view, y, box, "break.element", tr("break.element"), element, 0,
               static_cast<double>(count_ - 1), 1, {}))
      fault.element = static_cast<std::int64_t>(element);
  }
  if (allowed & sim::kFieldBit) {
    auto bit = static_cast<double>(fault.bit);
    const double last = static_cast<double>(8 * sim::size_of(dtype_)) - 1;
    if (number(view, y, box, "break.bit", tr("break.bit"), bit, 0, last, 1, {}))
      fault.bit = static_cast<std::int32_t>(bit);
  }
  const float by = box.bottom() - 52;
  if (bad_shape_)
    c.text({box.x + kPad + 8, by - 12}, tr("break.bad_shape", {std::to_string(buckets_)}), {.size = 13, .color = t.stall_text});
  if (view.ui.button("break.go", {box.x + kPad + 8, by, 200, 40}, tr("break.go"),
                     {.primary = true, .icon = Glyph::Bolt, .enabled = !bad_shape_}))
    inject(view, fault);
  if (view.ui.button("break.back", {box.x + kPad + 220, by, 130, 40}, tr("break.back"))) {
    page_ = -1;
    view.ui.keep_moving();
  }
}

void BreakMenu::inject(View& view, const sim::Fault& fault) {
  view.emit(action::Inject{fault});
  view.ui.close_popup();
  view.ui.keep_moving();
}

}  // namespace ringside::app
