// The two cards of the same-shape scene: what adds, element by element; and what the odd rank brings: shapes
// laid over each other, a tail, values, or calls.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/draw/parts.hpp"
#include "app/scenes/allreduce_numbers.hpp"
#include "app/scenes/same_shape_scene.hpp"
#include "app/scenes/tensor_bits.hpp"
#include "app/scenes/tensor_model.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

constexpr double kAddSeconds = .8;  // a place of the sum
constexpr double kLaySeconds = .6;  // one shape onto the other

float ease(double t) {
  const double x = std::clamp(t, 0.0, 1.0);
  return static_cast<float>(x < .5 ? 4 * x * x * x : 1 - std::pow(-2 * x + 2, 3) / 2);
}

void card_head(Canvas& c, Rect box, Glyph glyph, Color color, const std::string& title, float reserve = 0) {
  c.glyph(glyph, {box.x + 25, box.y + 26}, 15, color, 2.5f);
  const float room = box.w - 44 - 14 - reserve;
  const float size = size_that_fits(c.fonts(), title, room, {18, 17, 16, 15, 14}, Face::Bold);
  c.text({box.x + 42, box.y + 26}, fit(c.fonts(), title, room, size, Face::Bold),
         {.size = size, .face = Face::Bold});
}

/// Whole numbers in full, others with seven digits.
std::string value_text(double value) {
  const bool whole = std::isfinite(value) && value == std::floor(value) && std::abs(value) < 1e15;
  return whole ? sim::with_commas(static_cast<std::int64_t>(value)) : short_number(value);
}

/// A tile without a partner.
void alone(Canvas& c, Rect box) {
  const Theme& t = c.theme();
  c.rect(box, {.fill = mix(t.card, t.stall, .10f), .stroke = t.stall, .radius = 4, .width = 1.5f});
  if (box.h >= 15)
    c.text(box.center(), "?",
           {.size = std::min(16.0f, box.h * .62f) < 13 ? 13 : std::min(16.0f, box.h * .62f),
            .color = t.stall_text,
            .align = Align::Center,
            .on_shape = true});
}

}  // namespace

void SameShapeScene::draw_equal_card(View& view, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  places_["goal"] = box;
  const bool hero = part_ == 0;
  c.rect(box, {.fill = t.card, .stroke = hero ? t.t1 : Color{}, .radius = 10, .width = 1.75f});
  const std::vector<std::string> worlds{"2", "4"};
  const int world = shapes().world;
  float toggle = 0;
  if (!view.ctx.presenter)
    if (const auto chosen = view.ui.toggle("same.world", {box.right() - 14, box.y + 26}, worlds,
                                           world == 2 ? 0 : 1, Align::Right, &toggle, 28)) {
      Shapes next = shapes();
      next.world = *chosen == 0 ? 2 : 4;
      table_.set_shapes(next);
    }
  view.ui.explain({box.right() - 14 - toggle, box.y + 12, toggle, 28}, tr("same.world"));
  card_head(c, box, Glyph::Check, t.t1, tr("same.equal.title"), toggle + 12);

  // n gradients and their sum; one place after the other is added. Four of them show a corner, so that it
  // stays large.
  const int grids = world + 1, side = world == 2 ? 3 : 2, places = side * side;
  const float sign = world == 2 ? 30 : 18, n = static_cast<float>(side);
  const float room = box.w - 32 - sign * static_cast<float>(world), high = box.h - 120;
  const float cell =
      std::min({box.h > 300 ? 60.0f : 42.0f, room / (n * static_cast<float>(grids)), high / n});
  const float width = cell * n * static_cast<float>(grids) + sign * static_cast<float>(world);
  const float top = box.y + 76 + std::max(0.0f, (high - cell * n) / 2);
  float x = box.x + (box.w - width) / 2;
  const int hot = part_ == 0 && !still_ ? static_cast<int>(now_ / kAddSeconds) % places : side + 1;  // [1, 1]
  const sim::Tensor sum = sum_of_gradients(world);
  std::string equation;
  for (int g = 0; g < grids; ++g) {
    const bool is_sum = g == world;
    const sim::Tensor values = is_sum ? sum : example_gradient(g);
    const Vec2 tag{x + cell * n / 2, top - 18};
    if (is_sum) {
      c.text(tag, tr("same.equal.sum"), {.size = 14, .color = t.t2, .align = Align::Center});
    } else {
      parts::rank_tag(c, tag, g, {.width = 34, .height = 20, .size = 13, .align = Align::Center});
    }
    for (int i = 0; i < places; ++i) {
      const Rect r{x + cell * static_cast<float>(i % side) + 1.5f,
                   top + cell * static_cast<float>(i / side) + 1.5f, cell - 3, cell - 3};
      const bool lit = i == hot;
      // What has not been added yet is not there yet, while it runs.
      const bool known = !is_sum || part_ != 0 || still_ || i <= hot;
      c.rect(r, {.fill = lit && is_sum ? t.accent
                         : lit         ? t.strong(.22f)
                                       : t.raised,
                 .stroke = lit && !is_sum ? t.t1 : Color{},
                 .radius = 5,
                 .width = 1.75f});
      if (!known) continue;
      const std::string text = number_text(values.at(i / side * 3 + i % side));
      c.text(r.center(), text,
             {.size = std::max(13.0f, cell * .44f),
              .color = lit && is_sum ? t.ink
                       : lit         ? t.t1
                                     : t.t2,
              .face = lit ? Face::Bold : Face::Regular,
              .align = Align::Center});
      if (lit)
        equation += (g == 0   ? ""
                     : is_sum ? " = "
                              : " + ") +
                    (g > 0 && !is_sum ? operand_text(values.at(i / side * 3 + i % side)) : text);
    }
    x += cell * n;
    if (g < world)
      c.text({x + sign / 2, top + cell * n / 2}, g + 1 == world ? "=" : "+",
             {.size = 20, .color = t.t2, .align = Align::Center});
    x += sign;
  }
  const float y = box.bottom() - 22;
  const std::string place = "[" + std::to_string(hot / side) + ", " + std::to_string(hot % side) + "]";
  float at = box.x + 16;
  at += c.text({at, y}, place, {.size = 15, .color = t.t2, .face = Face::Mono}) + 14;
  at += c.text({at, y}, equation, {.size = 16, .face = Face::Bold}) + 14;
  if (c.width(tr("same.equal.place"), 14) < box.right() - 16 - at)
    c.text({at, y}, tr("same.equal.place"), {.size = 14, .color = t.t2});
}

void SameShapeScene::draw_odd_card(View& view, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  places_["shape"] = box;
  const Mismatch m = row_;
  const bool equal = shapes().all == shapes().odd && part_ == 0;
  c.rect(box, {.fill = t.card, .stroke = part_ == 0 ? t.line : t.stall, .radius = 10, .width = 1.75f});
  const sim::Shape all = all_shape_of(m, shapes()), odd = equal ? all : odd_shape_of(m, shapes());
  const Rect figure{box.x + 16, box.y + 46, box.w - 32, box.h - 46 - 40};
  std::string title, note;
  bool lay = false;
  switch (m) {
    case Mismatch::None:
    case Mismatch::OtherCount:
    case Mismatch::SameCount:
    case Mismatch::Construction: {
      const Overlay o = overlay_of(all, odd);
      const int common = o.common_rows() * o.common_columns();
      const int larger = std::max(o.all_rows * o.all_columns, o.odd_rows * o.odd_columns);
      const int share = 100 - 100 * common / larger;
      title = equal                         ? tr("same.odd.equal")
              : m == Mismatch::SameCount    ? tr("same.odd.position")
              : m == Mismatch::Construction ? tr("same.odd.construction")
              : share == 50                 ? tr("same.odd.half")
                                            : tr("same.odd.share", {std::to_string(share)});
      const std::int64_t a = all.count(), b = odd.count();
      note = tr("same.odd.counts", {sim::with_commas(a), sim::with_commas(b)});
      if (o.tile > 1) {
        const std::string both = tr("same.odd.tile", {sim::with_commas(o.tile)}) + " " + note;
        if (c.width(both, 14) <= box.w - 32) note = both;
      }
      // Counted through, the first number of the odd rank that lies outside the others' columns meets another
      // place.
      const std::int64_t at = all.extents.empty() ? 0 : all.extents.back();
      if (m == Mismatch::SameCount && !equal && at < odd.count())
        note = tr("same.odd.meets",
                  {parts::rank_name(shapes().odd_rank()) + index_text(odd.index_of(at)).substr(1),
                   parts::rank_name(0) + index_text(all.index_of(at)).substr(1), sim::with_commas(at)});
      lay = true;
      break;
    }
    case Mismatch::Tail:
      title = tr("same.odd.tail");
      note = tr("same.odd.counts", {sim::with_commas(all.count()), sim::with_commas(odd.count())});
      break;
    case Mismatch::SameWidth:
    case Mismatch::OtherWidth:
      title = tr("same.odd.dtype");
      note = tr("same.values.note", {tr_word("same.stack", to_word(stack_))});
      break;
    case Mismatch::Op:
      title = tr("same.odd.op");
      note = tr("same.values.note", {tr_word("same.stack", to_word(stack_))});
      break;
    case Mismatch::Order:
      title = tr("same.odd.order");
      note = tr("same.odd.calls");
      break;
    case Mismatch::Skip:
      title = tr("same.odd.skip");
      note = tr("same.odd.calls");
      break;
  }
  float reserve = 0;
  if (lay && !view.ctx.presenter) {
    reserve = 104;
    if (view.ui.button("same.lay", {box.right() - 108, box.y + 11, 94, 30},
                       overlaid_ ? tr("same.odd.apart") : tr("same.odd.lay"),
                       {.size = 13, .explain = tr("same.odd.lay_explain")})) {
      overlaid_ = !overlaid_;
      overlaid_since_ = now_;
    }
  }
  card_head(c, box, equal ? Glyph::Check : Glyph::Cross, equal ? t.t1 : t.stall, title, reserve);
  if (lay) {
    draw_overlay(view, figure, all, odd);
  } else if (m == Mismatch::Tail) {
    draw_tail(c, figure);
  } else if (m == Mismatch::Order || m == Mismatch::Skip) {
    draw_calls(c, figure);
  } else {
    draw_values(c, figure);
  }
  if (!note.empty())
    c.text({box.x + 16, box.bottom() - 20}, fit(c.fonts(), note, box.w - 32, 14),
           {.size = 14, .color = t.t2});
}

/// Tile by tile: what stands at the same place in both, and what has nobody there.
void SameShapeScene::draw_overlay(View& view, Rect box, const sim::Shape& all, const sim::Shape& odd) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const Overlay o = overlay_of(all, odd);
  const int odd_rank = shapes().odd_rank();
  const float phase = still_      ? (overlaid_ ? 1.0f : 0.0f)
                      : overlaid_ ? ease((now_ - overlaid_since_) / kLaySeconds)
                                  : 1 - ease((now_ - overlaid_since_) / kLaySeconds);
  constexpr float kHead = 30, kBetween = 76;
  const int rows = std::max(o.all_rows, o.odd_rows);
  const float tile = std::min({box.h > 260 ? 52.0f : 32.0f, (box.h - kHead) / static_cast<float>(rows),
                               (box.w - kBetween) / static_cast<float>(o.all_columns + o.odd_columns)});
  const float w = tile * static_cast<float>(o.all_columns + o.odd_columns) + kBetween;
  box.y +=
      std::max(0.0f, (box.h - kHead - tile * static_cast<float>(rows)) / 2);  // in the middle of the card
  const Vec2 left{box.x + (box.w - w) / 2, box.y + kHead};
  const Vec2 apart{left.x + tile * static_cast<float>(o.all_columns) + kBetween, left.y};
  const Vec2 right = lerp(apart, {left.x + tile * .22f, left.y + tile * .22f}, phase);
  // Whose they are.
  const auto head = [&](Vec2 at, int rank, const sim::Shape& shape, bool alarm) {
    const float tag = parts::rank_tag(c, {at.x, box.y + 10}, rank, {.width = 34, .height = 20, .size = 13});
    c.text({at.x + tag + 8, box.y + 10}, shape.text(),
           {.size = 14, .color = alarm ? t.stall_text : t.t1, .face = Face::Bold});
  };
  const bool differ = all != odd;
  const float name = c.width(all.text(), 14, Face::Bold) + 46,
              other = c.width(odd.text(), 14, Face::Bold) + 46;
  const float first = std::max(box.x, std::min(left.x, box.right() - name - other - 16));
  head({first, 0}, 0, all, false);
  head({std::clamp(apart.x, first + name + 14, std::max(first + name + 14, box.right() - other)), 0},
       odd_rank, odd, differ);
  const auto tiles = [&](Vec2 at, int own_rows, int own_columns, int other_rows, int other_columns, int rank,
                         bool above) {
    for (int r = 0; r < own_rows; ++r)
      for (int k = 0; k < own_columns; ++k) {
        const Rect box_of{at.x + tile * static_cast<float>(k) + 1, at.y + tile * static_cast<float>(r) + 1,
                          tile - 2, tile - 2};
        if (r < other_rows && k < other_columns) {
          const Color fill = mix(t.card, t.rank(rank), .85f);
          c.rect(above ? box_of.inset(tile * .1f * phase) : box_of,
                 {.fill = fill, .stroke = above && phase > 0 ? t.card : Color{}, .radius = 4});
          if (above && phase > .8f)
            c.glyph(Glyph::Plus, box_of.center(), std::min(16.0f, tile * .5f), t.on(fill), 2.5f);
        } else {
          alone(c, box_of);
        }
      }
  };
  tiles(left, o.all_rows, o.all_columns, o.odd_rows, o.odd_columns, 0, false);
  // Where the odd rank has nothing: dashed places.
  if (phase < .2f)
    for (int r = 0; r < o.all_rows; ++r)
      for (int k = 0; k < o.all_columns; ++k)
        if ((r >= o.odd_rows || k >= o.odd_columns) &&
            apart.x + tile * static_cast<float>(k + 1) < box.right() + 1)
          c.rect({apart.x + tile * static_cast<float>(k) + 1, apart.y + tile * static_cast<float>(r) + 1,
                  tile - 2, tile - 2},
                 {.stroke = fade(t.stall, .8f), .radius = 4, .dash = {3, 4}});
  tiles(right, o.odd_rows, o.odd_columns, o.all_rows, o.all_columns, odd_rank, true);
  if (phase > .2f) return;
  for (int r = 0; r < rows; ++r) {
    const float y = left.y + tile * (static_cast<float>(r) + .5f);
    const float x0 = left.x + tile * static_cast<float>(o.all_columns) + 10, x1 = apart.x - 10,
                mid = (x0 + x1) / 2;
    if (r < o.common_rows()) {
      c.line({x0, y}, {mid - 11, y}, t.edge, 2);
      c.line({mid + 11, y}, {x1, y}, t.edge, 2);
      c.glyph(Glyph::Plus, {mid, y}, 12, t.t1, 2.5f);
    } else {
      const bool from_left = r < o.all_rows;
      c.dashed_line({from_left ? x0 : mid + 11, y}, {from_left ? mid - 11 : x1, y}, t.stall, 2, {4, 4});
      c.glyph(Glyph::Cross, {mid, y}, 11, t.stall, 2.5f);
    }
  }
}

/// The last places of 409,598 and 409,600.
void SameShapeScene::draw_tail(Canvas& c, Rect box) const {
  const Theme& t = c.theme();
  constexpr int kShown = 6, kMore = 2;
  const float tag = 44, pitch = std::min(62.0f, (box.w - tag) / kShown),
              h = std::min(40.0f, (box.h - 50) / 2);
  const std::int64_t end = odd_shape_of(Mismatch::Tail, shapes()).count();
  for (int row = 0; row < 2; ++row) {
    const bool odd = row == 0;
    const float y = box.y + 26 + static_cast<float>(row) * (h + 12);
    parts::rank_tag(c, {box.x, y + h / 2}, odd ? 0 : 1, {.width = 34, .height = 20, .size = 13});
    for (int i = 0; i < kShown; ++i) {
      const Rect r{box.x + tag + pitch * static_cast<float>(i) + 1.5f, y, pitch - 3, h};
      const bool more = i >= kShown - kMore;
      if (i == 0) {
        for (const float d : {-7.0f, 0.0f, 7.0f}) c.circle({r.center().x + d, r.center().y}, 2, t.t3);
        continue;
      }
      if (more && odd) {
        alone(c, r);
      } else if (more) {
        c.rect(r, {.stroke = fade(t.stall, .8f), .radius = 4, .dash = {3, 4}});
      } else {
        c.rect(r, {.fill = mix(t.card, t.rank(odd ? 0 : 1), .85f), .radius = 4});
      }
      const bool named = c.width(sim::with_commas(end), 13) + 4 < pitch || i == kShown - kMore;
      if (odd && named)
        c.text({r.center().x, box.y + 10}, sim::with_commas(end - kShown + i),
               {.size = 13, .color = more ? t.stall_text : t.t3, .align = Align::Center});
    }
  }
}

/// What each rank brings and gets at place 0, by the chosen library.
void SameShapeScene::draw_values(Canvas& c, Rect box) {
  const Theme& t = c.theme();
  const Verdict& v = table_.at(row_, stack_);
  const int world = shapes().world, odd = shapes().odd_rank();
  const sim::Scenario scenario = scenario_of(row_, stack_, shapes());
  const auto inputs = sim::make_inputs(scenario);
  double wanted = 0;
  for (const auto& input : inputs) wanted += sim::to_double(input->at(0));
  const float pitch = std::min(34.0f, (box.h - 26) / static_cast<float>(world));
  const float x1 = box.x + 54, x2 = box.x + box.w * .40f, x3 = box.right();
  c.text({x1, box.y + 10}, tr("same.values.brings"), {.size = 13, .color = t.t3});
  c.text({x2, box.y + 10}, row_ == Mismatch::Op ? tr("same.values.with") : "dtype",
         {.size = 13, .color = t.t3});
  c.text({x3, box.y + 10}, tr("same.values.gets", {value_text(wanted)}),
         {.size = 13, .color = t.t3, .align = Align::Right});
  for (int r = 0; r < world; ++r) {
    const float y = box.y + 26 + pitch * (static_cast<float>(r) + .5f);
    const bool mine = r == odd;
    parts::rank_tag(c, {box.x, y}, r, {.width = 34, .height = 20, .size = 13});
    c.text({x1, y}, number_text(inputs[static_cast<std::size_t>(r)]->at(0)),
           {.size = 16, .face = Face::Bold});
    std::string how = row_ == Mismatch::Op ? "sum" : "float32";
    for (const sim::Fault& fault : scenario.faults)
      if (fault.rank == r)
        how = fault.op      ? std::string(sim::to_word(*fault.op))
              : fault.dtype ? std::string(sim::to_word(*fault.dtype))
                            : how;
    c.text({x2, y}, how,
           {.size = 15, .color = mine ? t.stall_text : t.t2, .face = mine ? Face::Bold : Face::Regular});
    const bool known = static_cast<std::size_t>(r) < v.first.size();
    const double got = known ? v.first[static_cast<std::size_t>(r)] : 0;
    const bool wrong = known && got != wanted;
    c.text({x3, y}, known ? value_text(got) : tr("same.values.nothing"),
           {.size = 16,
            .color = wrong   ? t.stall_text
                     : known ? t.t1
                             : t.t3,
            .face = known ? Face::Bold : Face::Regular,
            .align = Align::Right});
  }
}

/// Every rank's calls in its own order. Calls pair by their place, whatever they are.
void SameShapeScene::draw_calls(Canvas& c, Rect box) {
  const Theme& t = c.theme();
  const Verdict& v = table_.at(row_, stack_);
  std::size_t most = 1;
  for (const auto& calls : v.calls) most = std::max(most, calls.size());
  const float tag = 48, pitch_x = std::min(84.0f, (box.w - tag) / static_cast<float>(most));
  const float pitch_y =
      std::min(38.0f, (box.h - 22) / static_cast<float>(std::max<std::size_t>(1, v.calls.size())));
  for (std::size_t k = 0; k < most; ++k)
    c.text({box.x + tag + pitch_x * (static_cast<float>(k) + .5f), box.y + 9}, "seq " + std::to_string(k + 1),
           {.size = 13, .color = t.t3, .align = Align::Center});
  for (std::size_t r = 0; r < v.calls.size(); ++r) {
    const float y = box.y + 22 + pitch_y * static_cast<float>(r);
    parts::rank_tag(c, {box.x, y + pitch_y / 2}, static_cast<int>(r),
                    {.width = 34, .height = 20, .size = 13});
    for (std::size_t k = 0; k < most; ++k) {
      const Rect cell{box.x + tag + pitch_x * static_cast<float>(k) + 2, y + 2, pitch_x - 4, pitch_y - 4};
      if (k >= v.calls[r].size()) {
        c.rect(cell, {.stroke = fade(t.stall, .8f), .radius = 4, .dash = {3, 4}});
        continue;
      }
      const CallBox& call = v.calls[r][k];
      c.rect(cell, {.fill = call.agrees ? t.raised : mix(t.card, t.stall, .12f),
                    .stroke = call.agrees ? Color{} : t.stall,
                    .radius = 4,
                    .width = 1.5f});
      const bool other = call.collective != sim::Collective::AllReduce;
      const std::string text = other ? std::string(sim::to_word(call.collective))
                                     : tr("same.calls.step", {std::to_string(call.step)});
      c.text(cell.center(), fit(c.fonts(), text, cell.w - 4, 13),
             {.size = 13, .color = call.agrees ? t.t2 : t.t1, .align = Align::Center});
    }
  }
}

}  // namespace ringside::app
