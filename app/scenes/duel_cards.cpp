// The contenders: a picture of how each moves its data, its time and what the time is made of, how far it is.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/duel_figure.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

enum class Picture : std::uint8_t { Ring, Tree, Switch, Pairs, Rings, Star };

Picture picture_of(const std::string& word) {
  if (word == "Tree" || word == "NVLSTree" || word == "tree" || word == "binomial_tree")
    return Picture::Tree;
  if (word == "NVLS" || word == "nvls") return Picture::Switch;
  if (word == "recursive_doubling" || word == "rabenseifner") return Picture::Pairs;
  if (word == "hierarchical") return Picture::Rings;
  return word == "naive" ? Picture::Star : Picture::Ring;
}

Vec2 around(Vec2 m, float r, float turn) {
  const float a = turn * 2 * std::numbers::pi_v<float>;
  return {m.x + r * std::sin(a), m.y - r * std::cos(a)};
}

void picture_ring(Canvas& c, Vec2 m, float r, Color color, float share, int ranks) {
  const Theme& t = c.theme();
  c.arc(m, r * .78f, 0, 360, t.raised, r * .16f);
  if (share > 0) c.arc(m, r * .78f, 0, 360 * share, color, r * .16f);
  const int dots = std::min(ranks, 64);
  for (int i = 0; i < dots; ++i) {
    const float turn = static_cast<float>(i) / static_cast<float>(dots);
    c.circle(around(m, r, turn), dots > 24 ? 1.8f : 3.2f, turn < share ? t.t1 : t.t3);
  }
  c.text({m.x, m.y - r * .1f}, std::to_string(ranks), {.size = r * .36f, .align = Align::Center});
  c.text({m.x, m.y + r * .24f}, "GPU",
         {.size = std::max(13.0f, r * .19f), .color = t.t2, .align = Align::Center});
}

/// A binary tree of seven nodes: up (reduce) in the first half of the time, down (broadcast) in the second.
void picture_tree(Canvas& c, Vec2 m, float r, Color color, float share) {
  const Theme& t = c.theme();
  const Vec2 root{m.x, m.y - r * .8f}, mid[2] = {{m.x - r * .5f, m.y}, {m.x + r * .5f, m.y}};
  const auto lit = [&](int level) {  // edges below the root (1) and above the leaves (2)
    const float up = level == 2 ? 0 : .25f, down = level == 2 ? .75f : .5f;
    return share >= down ? 1.0f : share >= up ? .75f : .35f;
  };
  for (int i = 0; i < 2; ++i) {
    c.line(root, mid[i], fade(color, lit(1)), 3);
    for (int j = 0; j < 2; ++j)
      c.line(mid[i], {mid[i].x + (j == 0 ? -.26f : .26f) * r, m.y + r * .8f}, fade(color, lit(2)), 3);
  }
  const auto node = [&](Vec2 p) { c.circle(p, r * .115f, color, t.card, 2); };
  node(root);
  for (int i = 0; i < 2; ++i) {
    node(mid[i]);
    for (int j = 0; j < 2; ++j) node({mid[i].x + (j == 0 ? -.26f : .26f) * r, m.y + r * .8f});
  }
}

void picture_switch(Canvas& c, Vec2 m, float r, Color color, float share) {
  const Theme& t = c.theme();
  const Rect box{m.x - r * .8f, m.y - r * .6f, r * 1.6f, r * .42f};
  for (int i = 0; i < 4; ++i) {
    const float x = m.x + (static_cast<float>(i) - 1.5f) * r * .44f;
    c.line({x, box.bottom()}, {x, m.y + r * .6f}, fade(color, share > 0 ? 1.0f : .4f), 3);
    c.circle({x, m.y + r * .66f}, r * .13f, color, t.card, 2);
  }
  c.rect(box, {.fill = color, .radius = 6});
  c.glyph(Glyph::Plus, box.center(), r * .2f, t.on(color), 2.5f);
}

/// Pairs at distance 1, 2, 4: who talks to whom in recursive doubling.
void picture_pairs(Canvas& c, Vec2 m, float r, Color color, float share) {
  const Theme& t = c.theme();
  const float step = r * .5f, left = m.x - step * 1.75f;
  for (int level = 0; level < 3; ++level) {
    const float y = m.y - r * .6f + static_cast<float>(level) * r * .6f;
    for (int i = 0; i < 8; ++i) {
      const int other = i ^ (1 << level);
      const float x = left + static_cast<float>(i) * step * .5f,
                  to = left + static_cast<float>(other) * step * .5f;
      if (other > i)
        c.bezier({x, y}, {x, y - r * .22f}, {to, y - r * .22f}, {to, y},
                 fade(color, share * 3 > static_cast<float>(level) ? 1.0f : .4f), 2);
      c.circle({x, y}, r * .055f, color, t.card, 1);
    }
  }
}

void picture_rings(Canvas& c, Vec2 m, float r, Color color, float share) {
  const Theme& t = c.theme();
  c.circle(m, r * .52f, {}, fade(color, share > .33f && share < .67f ? 1.0f : .5f), 2.5f);
  for (int i = 0; i < 4; ++i) {
    const Vec2 p = around(m, r * .68f, static_cast<float>(i) / 4 + .125f);
    c.circle(p, r * .27f, t.card, fade(color, share < .33f || share > .67f ? 1.0f : .5f), 3);
    for (int j = 0; j < 4; ++j) c.circle(around(p, r * .27f, static_cast<float>(j) / 4), r * .055f, color);
  }
}

void picture_star(Canvas& c, Vec2 m, float r, Color color, float share) {
  const Theme& t = c.theme();
  for (int i = 0; i < 8; ++i)
    c.line(m, around(m, r * .86f, static_cast<float>(i) / 8),
           fade(color, share > static_cast<float>(i) / 8 ? 1.0f : .4f), 2.5f);
  for (int i = 0; i < 8; ++i)
    c.circle(around(m, r * .86f, static_cast<float>(i) / 8), r * .1f, color, t.card, 2);
  c.circle(m, r * .2f, color, t.card, 2);
}

void draw_picture(Canvas& c, const std::string& word, Vec2 m, float r, Color color, float share, int ranks) {
  switch (picture_of(word)) {
    case Picture::Ring:
      return picture_ring(c, m, r, color, share, ranks);
    case Picture::Tree:
      return picture_tree(c, m, r, color, share);
    case Picture::Switch:
      return picture_switch(c, m, r, color, share);
    case Picture::Pairs:
      return picture_pairs(c, m, r, color, share);
    case Picture::Rings:
      return picture_rings(c, m, r, color, share);
    case Picture::Star:
      return picture_star(c, m, r, color, share);
  }
}

struct Fact {
  std::string label, value;
};

std::vector<Fact> facts_of(const DuelView& duel, const DuelSide& side) {
  if (duel.setup.source == DuelSource::Model)
    return {{tr("duel.part.latency"), microseconds_text(side.parts.latency_us)},
            {tr("duel.part.hops"), microseconds_text(side.parts.hops_us)},
            {tr("duel.part.fill"), microseconds_text(side.parts.fill_us)},
            {tr("duel.part.bytes"), microseconds_text(side.parts.wire_us)}};
  std::vector<Fact> out{{tr("duel.fact.steps"), std::to_string(side.steps)},
                        {tr("duel.fact.sent"), sim::format_bytes(side.bytes_sent)},
                        {tr("duel.fact.busiest"), parts::rank_name(side.busiest.from) + " - " +
                                                      parts::rank_name(side.busiest.to) + "  " +
                                                      sim::format_bytes(side.busiest.bytes)}};
  if (side.has_numbers)
    out.push_back({tr("duel.fact.rounding"), side.differing == 0
                                                 ? tr("duel.fact.same_bits")
                                                 : tr("duel.fact.differ", {std::to_string(side.differing)})});
  return out;
}

/// Name and value of each on a line; a value too long for that has a line of its own.
void draw_facts(Canvas& c, const std::vector<Fact>& facts, float left, float right, float y, float last) {
  const auto on_one_line = [&](const Fact& fact) {
    return c.width(fact.label, 14) + c.width(fact.value, 14, Face::Bold) + 10 <= right - left;
  };
  const auto lines = static_cast<float>(2 * facts.size()) -
                     static_cast<float>(std::count_if(facts.begin(), facts.end(), on_one_line));
  const float pitch = std::clamp((last - y) / std::max(1.0f, lines - 1), 18.0f, 22.0f);
  for (const Fact& fact : facts) {
    const bool one = on_one_line(fact);
    if (y + (one ? 0 : pitch) > last) return;
    c.text({left, y}, fit(c.fonts(), fact.label, right - left, 14), {.size = 14, .color = c.theme().t2});
    if (!one) y += pitch;
    c.text({right, y}, fit(c.fonts(), fact.value, right - left, 14, Face::Bold),
           {.size = 14, .face = Face::Bold, .align = Align::Right});
    y += pitch;
  }
}

void draw_bar(Canvas& c, Rect box, float share, Color color) {
  const Theme& t = c.theme();
  c.rect(box, {.fill = t.raised, .radius = box.h / 2});
  const float w = std::max(box.h, box.w * share);
  c.rect({box.x, box.y, w, box.h}, {.fill = color, .radius = box.h / 2});
  if (share < 1) c.rect({box.x + w - 1.5f, box.y - 4, 3, box.h + 8}, {.fill = t.t1});
}

/// The name is a field that opens the list of algorithms.
void draw_name(View& view, const DuelView& duel, std::size_t i, Rect box, DuelAnswer& answer) {
  std::vector<MenuItem> items;
  const auto choices = duel_choices(duel.setup.source);
  int current = 0;
  for (std::size_t k = 0; k < choices.size(); ++k) {
    const bool taken =
        std::find(duel.setup.sides.begin(), duel.setup.sides.end(), choices[k]) != duel.setup.sides.end();
    items.push_back(
        {.label = duel.setup.source == DuelSource::Model ? choices[k] : tr_word("algorithm", choices[k]),
         .enabled = !taken || choices[k] == duel.sides[i].word});
    if (choices[k] == duel.sides[i].word) current = static_cast<int>(k);
  }
  if (const auto chosen =
          view.ui.select("duel.side" + std::to_string(i), box, items, current, tr("duel.explain.side"))) {
    answer.setup = duel.setup;
    answer.setup->sides[i] = choices[static_cast<std::size_t>(*chosen)];
  }
}

void draw_card(View& view, const DuelView& duel, const DuelState& state, std::size_t i, Rect b,
               DuelAnswer& answer) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const DuelSide& side = duel.sides[i];
  const Color color = t.rank(static_cast<int>(i));
  const bool ahead = duel.fastest == static_cast<int>(i) && duel.sides.size() > 1;
  c.rect(b, {.fill = t.card, .stroke = ahead ? t.t1 : t.line, .radius = 12, .width = ahead ? 2.0f : 1.0f});
  const bool wide = b.w >= 360;
  parts::rank_tag(c, {b.x + 16, b.y + 32}, static_cast<int>(i),
                  {.width = 30, .height = 28, .size = 17, .label = side_letter(i)});
  const float chip = ahead && wide ? parts::chip_width(c, tr("duel.ahead"), {.icon = Glyph::Flag}) + 12 : 0;
  const bool removable = duel.sides.size() > 2;
  draw_name(view, duel, i,
            {b.x + 56, b.y + 14, std::min(190.0f, b.w - 72 - chip - (removable ? 30.0f : 0)), 36}, answer);
  if (chip > 0)
    parts::chip(c, {b.right() - 14 - (removable ? 30.0f : 0), b.y + 32}, tr("duel.ahead"),
                {.icon = Glyph::Flag, .stroke = t.edge, .align = Align::Right});
  if (removable && view.ui.icon_button("duel.remove" + std::to_string(i), {b.right() - 20, b.y + 32},
                                       Glyph::Cross, 11, tr("duel.explain.remove"))) {
    answer.setup = duel.setup;
    answer.setup->sides.erase(answer.setup->sides.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (!side.available) {
    parts::paragraph(c, {b.x + 18, b.y + 84}, b.w - 36, tr(side.why_not), {.size = 15, .color = t.t2});
    return;
  }
  const double clock = duel_clock(duel, state);
  const float share = side.time_us > 0 ? static_cast<float>(std::clamp(clock / side.time_us, 0.0, 1.0)) : 0;
  const float text_x = wide ? b.x + std::min(b.w * .48f, 206.0f) : b.x + 18;
  if (wide)
    draw_picture(c, side.word, {b.x + (text_x - b.x) / 2 + 2, b.y + 126},
                 std::min(62.0f, (text_x - b.x) * .36f), color, share, duel.ranks);
  const float right = b.right() - 18;
  float y = b.y + 80;
  const std::string time = microseconds_text(side.time_us);
  const float size = size_that_fits(c.fonts(), time, right - text_x, {40, 34, 28, 24}, Face::Bold);
  c.text({text_x, y}, time, {.size = size, .face = Face::Bold});
  draw_facts(c, facts_of(duel, side), text_x, right, y + 34, b.bottom() - 46);
  const std::string percent = std::to_string(static_cast<int>(std::floor(share * 100))) + " %";
  const float label = c.width("100 %", 18, Face::Bold) + 14;
  draw_bar(c, {b.x + 16, b.bottom() - 27, b.w - 32 - label, 12}, share, color);
  c.text({b.right() - 16, b.bottom() - 21}, percent, {.size = 18, .face = Face::Bold, .align = Align::Right});
}

/// For the last row: letter, name, time, bar.
void draw_presenter_card(View& view, const DuelView& duel, const DuelState& state, std::size_t i, Rect b) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const DuelSide& side = duel.sides[i];
  const Color color = t.rank(static_cast<int>(i));
  const bool ahead = duel.fastest == static_cast<int>(i) && duel.sides.size() > 1;
  c.rect(b, {.fill = t.card, .stroke = ahead ? t.t1 : t.line, .radius = 12, .width = ahead ? 3.0f : 1.0f});
  const float tag = parts::rank_tag(
      c, {b.x + 18, b.y + 36}, static_cast<int>(i),
      {.width = 42, .height = 40, .size = 28, .label = side_letter(i)});
  const float x = b.x + 18 + tag + 14, right = b.right() - 18;
  c.text({x, b.y + 36}, fit(c.fonts(), side_name(duel, i), right - x, 28, Face::Bold), {.size = 28, .face = Face::Bold});
  if (!side.available) {
    parts::paragraph(c, {b.x + 18, b.y + 84}, b.w - 36, tr(side.why_not), {.size = 28, .color = t.t2, .max_lines = 2});
    return;
  }
  const double clock = duel_clock(duel, state);
  const float share = side.time_us > 0 ? static_cast<float>(std::clamp(clock / side.time_us, 0.0, 1.0)) : 0;
  const std::string time = microseconds_text(side.time_us);
  c.text({b.x + 18, b.y + 100}, time,
         {.size = size_that_fits(c.fonts(), time, b.w - 36, {60, 52, 44, 36, 28}, Face::Bold), .face = Face::Bold});
  draw_bar(c, {b.x + 18, b.bottom() - 32, b.w - 36, 14}, share, color);
}

}  // namespace

std::string side_letter(std::size_t side) {
  return std::string(1, static_cast<char>('A' + side));
}

std::string side_name(const DuelView& duel, std::size_t side) {
  const std::string& word = duel.sides[side].word;
  return duel.setup.source == DuelSource::Model ? word : tr_word("algorithm", word);
}

double duel_clock(const DuelView& duel, const DuelState& state) {
  if (state.clock_us >= 0) return state.clock_us;
  return duel.fastest >= 0 ? duel.sides[static_cast<std::size_t>(duel.fastest)].time_us : 0;
}

void draw_duel_cards(View& view, const DuelView& duel, const DuelState& state, Rect box, DuelAnswer& answer) {
  const auto n = static_cast<float>(duel.sides.size());
  const float gap = 16, w = (box.w - gap * (n - 1)) / n;
  for (std::size_t i = 0; i < duel.sides.size(); ++i) {
    const Rect card{box.x + static_cast<float>(i) * (w + gap), box.y, w, box.h};
    if (view.ctx.presenter)
      draw_presenter_card(view, duel, state, i, card);
    else
      draw_card(view, duel, state, i, card, answer);
  }
}

}  // namespace ringside::app
