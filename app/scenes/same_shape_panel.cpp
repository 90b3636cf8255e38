// The three-part card, the same everywhere: in the lesson, in the real stack, try it.
#include <algorithm>

#include "app/draw/parts.hpp"
#include "app/scenes/same_shape_scene.hpp"
#include "app/scenes/tensor_model.hpp"
#include "app/session/session.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

constexpr float kPad = 16;

float heading(Canvas& c, Rect box, float y, const std::string& text) {
  c.text({box.x + kPad, y}, text, {.size = 14, .color = c.theme().t3, .face = Face::Bold});
  return y + 26;
}

float rule(Canvas& c, Rect box, float y) {
  c.line({box.x + kPad, y}, {box.right() - kPad, y}, c.theme().line);
  return y + 20;
}

}  // namespace

void SameShapeScene::inspector(View& view) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const Rect box{view.box.x + 14, view.box.y + 14, view.box.w - 28, view.box.h - 28};
  parts::card(c, box);
  places_["now"] = box;
  const float w = box.w - 2 * kPad;
  const bool paper = part_ == kPaperPart;
  const std::string key(paper        ? paper_ == Paper::All      ? "paper_all"
                                       : paper_ == Paper::Absent ? "paper_absent"
                                                                 : "paper"
                        : part_ == 0 ? "none"
                                     : to_word(row_));
  // With large type there is no room for all three parts: the lesson's own words are on the stage already.
  const bool tight = box.h < 500;
  float y = tight ? box.y + 22 : heading(c, box, box.y + 22, tr("same.card.lesson"));
  if (!tight && !paper && part_ <= 2 && row_ != Mismatch::Tail &&
      row_ != Mismatch::Construction) {  // four gradients, the third one smaller: as the lesson draws it
    const float s = 38;
    const int odd = shapes().odd_rank();
    const bool differ = part_ != 0;
    for (int r = 0; r < shapes().world; ++r) {
      const float x = box.x + kPad + 46 * static_cast<float>(r);
      parts::rank_tag(c, {x, y}, r, {.width = s, .height = 18, .size = 13});
      const Rect square{x, y + 16, s, s};
      if (differ && r == odd) {
        c.rect(square.inset(s * .25f), {.stroke = t.stall, .radius = 4, .width = 1.75f, .dash = {4, 3}});
      } else {
        c.rect(square, {.fill = t.raised, .radius = 5});
      }
    }
    // The lesson's own pair, to be taken over.
    if (differ) {
      const float x = box.x + kPad + 46 * static_cast<float>(shapes().world) + 2;
      const Rect area{x, y + 14, box.right() - kPad - x, 42};
      const Hit h = view.ui.hit("same.lesson_pair", area, {.explain = tr("same.try.pair_explain")});
      c.rect(area, {.fill = h.hovered ? t.raised : Color{}, .stroke = t.edge, .radius = 6});
      c.text({area.center().x, area.y + 13}, "1024²", {.size = 13, .color = t.t2, .align = Align::Center});
      c.text({area.center().x, area.y + 30}, parts::rank_name(odd) + ": 512²",
             {.size = 13, .color = t.stall_text, .align = Align::Center, .max_width = area.w});
      if (h.clicked) {
        Shapes pair = shapes();
        pair.all = sim::Shape{{1024, 1024}};
        pair.odd = sim::Shape{{512, 512}};
        set_shapes(pair);
      }
    }
    y += 76;
  }
  if (!tight) {
    y = parts::paragraph(c, {box.x + kPad, y}, w, tr_word("same.lesson", key),
                         {.size = 15, .line_height = 1.45f, .max_lines = 4});
    y = rule(c, box, y - 4);
  }
  y = heading(c, box, y, tr("same.card.real"));
  y = parts::paragraph(c, {box.x + kPad, y}, w, tr_word("same.real", key),
                       {.size = 15, .line_height = 1.45f, .color = t.t2, .max_lines = tight ? 2 : 8});
  y = rule(c, box, y - 4);
  y = heading(c, box, y, tr("same.card.try"));
  if (paper) {
    const std::vector<std::string> choices{tr("same.paper.all"), tr("same.paper.half"),
                                           tr("same.paper.absent")};
    for (int i = 0; i < 3; ++i) {
      const std::string& label = choices[static_cast<std::size_t>(i)];
      if (view.ui.button("same.paper." + std::to_string(i), {box.x + kPad, y - 8, w, 38}, label,
                         {.primary = i == static_cast<int>(paper_), .size = 15})) {
        paper_ = static_cast<Paper>(i);
        paper_since_ = now_;
      }
      y += 46;
    }
    return;
  }
  try_it(view, {box.x + kPad, y - 10, w, box.bottom() - 14 - y + 10});
}

float SameShapeScene::try_it(View& view, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  float y = box.y;
  places_["edit"] = box;
  const bool shapes_matter = part_ <= 2 && row_ != Mismatch::Tail && row_ != Mismatch::Construction;
  if (shapes_matter) {
    // What everybody brings, and what the odd one brings.
    const float half = (box.w - 10) / 2;
    const auto field = [&](std::string_view id, float x, const std::string& label,
                           const sim::Shape& shape) -> std::optional<sim::Shape> {
      c.text({x, y + 9}, label, {.size = 13, .color = t.t3});
      std::string text = shape.text();
      if (!view.ui.text_field(id, {x, y + 20, half, 32}, text, 15, tr("same.try.shape_explain")))
        return std::nullopt;
      auto extents = parse_shape_text(text);
      auto checked =
          extents ? sim::checked_shape(std::move(*extents)) : sim::Result<sim::Shape>(extents.error());
      if (checked && checked->count() > (std::int64_t{1} << 30))
        checked = sim::Error{.what = "too large", .legal = "at most 2^30 numbers"};
      if (!checked) {
        view.emit(action::ShowNotice{{NoticeKind::Warning, tr("tensor.refused", {checked.error().legal})}});
        return std::nullopt;
      }
      return *checked;
    };
    Shapes next = shapes();
    if (const auto shape =
            field("same.all", box.x, tr("same.try.all"), part_ == 0 ? next.all : all_shape_of(row_, next)))
      next.all = *shape;
    if (const auto shape = field("same.odd", box.x + half + 10, parts::rank_name(next.odd_rank()),
                                 part_ == 0 ? next.all : odd_shape_of(row_, next)))
      next.odd = *shape;
    if (next != shapes()) {
      // The fields show the pair of this row: what was not typed stays as shown.
      if (next.all == shapes().all) next.all = part_ == 0 ? next.all : all_shape_of(row_, shapes());
      if (next.odd == shapes().odd) next.odd = part_ == 0 ? shapes().all : odd_shape_of(row_, shapes());
      set_shapes(next);
    }
    y += 62;
  }
  const Mismatch m = part_ == 0 ? Mismatch::None : row_;
  std::vector<std::string> names;
  for (const Stack s : kStacks) names.push_back(tr_word("same.stack_short", to_word(s)));
  if (const auto chosen = view.ui.toggle("same.stack", {box.x, y + 17}, names, static_cast<int>(stack_),
                                         Align::Left, nullptr, 34))
    if (VerdictTable::applies(m, kStacks[static_cast<std::size_t>(*chosen)]))
      stack_ = kStacks[static_cast<std::size_t>(*chosen)];
  y += 48;
  // What the simulator says, and the first line that the stack would print.
  const Verdict& v = table_.at(m, stack_);
  const float button = 46;
  if (y + 22 < box.bottom() - button) draw_verdict(c, {box.x, y + 8}, box.w, m, stack_, 14, true);
  y += 30;
  const float room = box.bottom() - button - 10 - y;
  if (!v.line.empty() && room > 18) {
    const int lines = std::clamp(static_cast<int>(room / 18), 1, 5);
    y = parts::paragraph(
        c, {box.x, y + 4}, box.w, sim::escape_for_display(v.line),
        {.size = 13, .line_height = 1.35f, .color = t.t2, .face = Face::Mono, .max_lines = lines});
  } else if (v.line.empty() && room > 18) {
    parts::paragraph(c, {box.x, y + 4}, box.w, tr("same.try.no_line"),
                     {.size = 13, .line_height = 1.35f, .color = t.t3, .max_lines = 2});
  }
  const std::string label = m == Mismatch::OtherCount || m == Mismatch::SameCount
                                ? tr("same.try.run_shape", {parts::rank_name(shapes().odd_rank()),
                                                            odd_shape_of(m, shapes()).text()})
                                : tr("same.try.run");
  if (view.ui.button(
          "same.run", {box.x, box.bottom() - button, box.w, button}, label,
          {.primary = true, .icon = Glyph::Play, .size = 15, .explain = tr("same.try.run_explain")}))
    run(view);
  return box.bottom();
}

/// Opens the same job in the scene that shows most of it.
void SameShapeScene::run(View& view) {
  const Mismatch m = part_ == 0 ? Mismatch::None : row_;
  if (!VerdictTable::applies(m, stack_)) return;
  sim::Scenario scenario = scenario_of(m, stack_, shapes());
  const std::string title = tr_word("same.row", to_word(m)) + " · " + tr_word("same.stack", to_word(stack_));
  scenario.title = title;
  const Ending ending = table_.at(m, stack_).ending;
  const bool completes = ending == Ending::Fine || ending == Ending::Silent;
  const bool numbers = scenario.tensor.values != sim::ValueSource::None;
  const std::string scene =
      (completes && numbers) || find_scene("cluster") == nullptr ? "allreduce" : "cluster";
  view.emit(action::Custom{"same-shape " + std::string(to_word(m)),
                           [scenario, title](Session& session) { session.open_scenario(scenario, title); }});
  view.emit(action::ShowScene{scene});
}

}  // namespace ringside::app
