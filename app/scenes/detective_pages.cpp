// Before and after the desk: the start page with the brief, the verdict with score and true story.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/detective_view.hpp"
#include "app/text/layout.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

/// One of the three things to do, with its number.
float draw_how(Canvas& c, Vec2 at, float width, int number, std::string_view title, std::string_view text) {
  const Theme& t = c.theme();
  c.circle({at.x + 16, at.y + 8}, 15, t.raised);
  c.text({at.x + 16, at.y + 8}, std::to_string(number),
         {.size = 15, .face = Face::Bold, .align = Align::Center, .on_shape = true});
  c.text({at.x + 46, at.y}, fit(c.fonts(), title, width - 46, 17, Face::Bold), {.size = 17, .face = Face::Bold});
  return parts::paragraph(c, {at.x + 46, at.y + 24}, width - 46, text,
                          {.size = 15, .line_height = 1.4f, .color = t.t2, .max_lines = 3}) +
         14;
}

// --- the verdict
// -----------------------------------------------------------------------------------------------------------

struct ScoreRow {
  std::string text;
  int points = 0;
  bool right = true;
};

std::vector<ScoreRow> score_rows(const DetectiveGame& game) {
  const sim::Score& s = game.score();
  const sim::Accusation& a = game.accusation();
  std::vector<ScoreRow> rows;
  rows.push_back({tr("detective.score.kind", {tr_word("detective.kind", sim::to_word(a.kind))}),
                  s.kind_right ? sim::kKindPoints : 0, s.kind_right});
  rows.push_back({tr("detective.score.rank", {parts::rank_name(a.rank)}), s.rank_right ? sim::kRankPoints : 0,
                  s.rank_right});
  rows.push_back({tr("detective.score.node", {"n" + std::to_string(a.node)}),
                  s.node_right ? sim::kNodePoints : 0, s.node_right});
  rows.push_back({tr("detective.score.minutes", {std::to_string(s.minutes)}), -s.minutes_cost(), true});
  if (!s.node_right)
    rows.push_back({tr("detective.score.innocent", {"n" + std::to_string(a.node)}), -sim::kInnocentCost, false});
  return rows;
}

void draw_score(View& view, const DetectiveGame& game, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const sim::Score& s = game.score();
  c.rect(box, {.fill = t.card, .radius = 12});
  const float x = box.x + 20, right = box.right() - 20;
  const float w = c.text({x, box.y + 48}, std::to_string(s.points), {.size = 56, .face = Face::Bold});
  c.text({x + w + 10, box.y + 58}, tr("detective.score.of"), {.size = 16, .color = t.t2});
  float y = box.y + 106;
  int sum = 0;
  for (const ScoreRow& row : score_rows(game)) {
    const bool cost = row.points < 0 || (row.points == 0 && row.right);
    c.glyph(cost ? Glyph::Clock : row.right ? Glyph::Check : Glyph::Cross, {x + 7, y}, 13,
            row.right ? t.t1 : t.fail_text, 2);
    const std::string points = row.points > 0 ? "+ " + std::to_string(row.points)
                               : row.points < 0 ? "- " + std::to_string(-row.points)
                                                : "0";
    c.text({x + 24, y}, fit(c.fonts(), row.text, right - x - 78, 15), {.size = 15});
    c.text({right, y}, points, {.size = 15, .face = Face::Bold, .align = Align::Right});
    view.ui.explain({x, y - 13, right - x, 26}, row.text);
    sum += row.points;
    y += 28;
  }
  c.line({x, y - 12}, {right, y - 12}, t.line);
  const std::string& total = tr(sum < 0 ? "detective.score.floor" : "detective.score.sum");
  c.text({x, y + 6}, fit(c.fonts(), total, right - x - 60, 15), {.size = 15, .color = t.t2});
  c.text({right, y + 6}, std::to_string(s.points), {.size = 15, .face = Face::Bold, .align = Align::Right});
  if (y + 60 < box.bottom())
    parts::paragraph(c, {x, y + 36}, right - x,
                     tr("detective.score.hours", {hours_text(s.gpu_hours), hours_text(s.least_gpu_hours)}),
                     {.size = 14,
                      .line_height = 1.4f,
                      .color = t.t2,
                      .max_lines = std::max(1, static_cast<int>((box.bottom() - y - 40) / 20))});
}

void draw_story(View& view, const DetectiveGame& game, const DetectiveTale& tale, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  c.rect(box, {.fill = t.card, .radius = 12});
  const float x = box.x + 20, w = box.w - 40;
  c.text({x, box.y + 24}, tr("detective.story.title"), {.size = 14, .color = t.t3, .face = Face::Bold});
  const float size = size_that_fits(c.fonts(), tale.headline, w, {26, 22, 20}, Face::Bold);
  float y = parts::paragraph(c, {x, box.y + 58}, w, tale.headline,
                             {.size = size, .line_height = 1.3f, .face = Face::Bold, .max_lines = 2});
  y = parts::paragraph(c, {x, y + 2}, w, tale.cause,
                       {.size = 15, .line_height = 1.4f, .color = t.t2, .max_lines = 2}) +
      14;
  constexpr float kPitch = 28;
  const std::int64_t begin = game.engine().story().struck_ns;
  float last = -1;
  for (const DetectiveTale::Beat& beat : tale.beats) {
    if (y + kPitch / 2 > box.bottom() - 6) break;
    const float dot = x + 86;
    if (last >= 0) c.line({dot, last + 6}, {dot, y - 6}, t.edge, 2);
    c.circle({dot, y}, 4, t.t1);
    c.text({dot - 16, y}, "+ " + minutes_text(std::max<std::int64_t>(0, beat.t - begin)),
           {.size = 14, .color = t.t2, .align = Align::Right});
    c.text({dot + 16, y}, fit(c.fonts(), beat.text, box.right() - 20 - dot - 16, 15), {.size = 15});
    last = y;
    y += kPitch;
  }
  y += 14;
  if (tale.evidence.empty() || y + 46 > box.bottom()) return;
  c.text({x, y}, tr("detective.story.evidence"), {.size = 14, .color = t.t3, .face = Face::Bold});
  y += 26;
  for (const std::string& evidence : tale.evidence) {
    const auto lines = wrap(c.fonts(), evidence, w - 18, 14, Face::Regular, 2);
    if (y + 20 * static_cast<float>(lines.size()) > box.bottom()) return;
    c.circle({x + 4, y}, 2.5f, t.t2);
    for (const std::string& line : lines) {
      c.text({x + 18, y}, line, {.size = 14, .color = t.t2});
      y += 20;
    }
    y += 4;
  }
}

/// The case in time: fault, call, looks, name, and when the watchdog would have struck.
void draw_case_line(View& view, const DetectiveGame& game, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const sim::Story& story = game.engine().story();
  const std::int64_t begin = story.struck_ns;
  const std::int64_t end = std::max(story.named_ns, story.watchdog_ns.value_or(0));
  const float left = box.x + 12, width = box.w - 24, y = box.center().y;
  const auto at = [&](std::int64_t time) {
    return left + width * static_cast<float>(static_cast<double>(time - begin) /
                                             static_cast<double>(std::max<std::int64_t>(1, end - begin)));
  };
  c.line({left, y}, {left + width, y}, t.edge, 2);
  // The minutes that the looks took.
  for (const sim::ToolReport& report : game.engine().reports()) {
    const float from = at(report.t_ns - sim::cost_ns(report.tool)), to = at(report.t_ns);
    const Rect bar{from + 1, y - 7, std::max(2.0f, to - from - 2), 14};
    c.rect(bar, {.fill = t.t2, .radius = 3});
    view.ui.explain({from, y - 14, std::max(8.0f, to - from), 28},
                    report_title(report) + ", " + cost_text(sim::cost_ns(report.tool)));
  }
  struct Mark {
    std::int64_t t;
    Glyph glyph;
    std::string text;
    bool above;
  };
  std::vector<Mark> marks{{story.struck_ns, Glyph::Cross, tr("detective.line.struck"), true},
                          {story.called_ns, Glyph::Warning, tr("detective.line.called"), false},
                          {story.named_ns, Glyph::Flag, tr("detective.line.named"), true}};
  if (story.watchdog_ns)
    marks.push_back({*story.watchdog_ns, Glyph::Clock, tr("detective.line.watchdog"), false});
  for (const Mark& mark : marks) {
    const float x = at(mark.t);
    const std::string text = mark.text + " " + minutes_text(mark.t - begin);
    c.circle({x, y}, 11, t.stage, t.t1, 1.5f);
    c.glyph(mark.glyph, {x, y}, 10, t.t1, 1.8f);
    const float w = c.width(text, 14);
    const float tx = std::clamp(x - w / 2, box.x, box.right() - w);
    c.text({tx, mark.above ? y - 25 : y + 25}, text, {.size = 14, .color = t.t2});
  }
}

}  // namespace

void draw_start_page(View& view, const DetectiveGame* game, DetectiveMemory& memory,
                     DetectiveAnswer& answer) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const Rect s = view.box;
  const float w = std::min(760.0f, s.w - 80), x = s.center().x - w / 2;
  const float block = 486;
  float y = s.y + std::max(26.0f, (s.h - block) / 2 + 10);
  c.text({x, y}, tr("detective.start.title"), {.size = 32, .face = Face::Bold});
  y = parts::paragraph(c, {x, y + 42}, w, tr("detective.start.brief"),
                       {.size = 18, .line_height = 1.45f, .color = t.t1, .max_lines = 3}) +
      20;
  for (int i = 1; i <= 3; ++i)
    y = draw_how(c, {x, y}, w, i, tr_word("detective.how_title", std::to_string(i)),
                 tr_word("detective.how", std::to_string(i)));
  y += 2;
  const bool making = memory.made_for_s >= 0;
  c.text({x, y + 6}, tr("detective.start.seed"), {.size = 14, .color = t.t2});
  y += 20;
  constexpr float kField = 190, kHeight = 46;
  if (view.ui.number_field("detective.seed", {x, y, kField, kHeight}, memory.seed, 0,
                           static_cast<double>(kMostDetectiveSeed), 1, {}, tr("detective.start.seed_explain")))
    memory.seed = std::isfinite(memory.seed) ? std::floor(memory.seed) : 1;
  const auto seed = static_cast<std::uint64_t>(memory.seed);
  const bool open = game != nullptr && !game->closed();
  const float resume = open ? 200.0f : 0;
  const Rect go{x + kField + 12, y, w - kField - 12 - (open ? resume + 12 : 0), kHeight};
  const std::string label = making
                                ? tr("detective.start.making", {std::to_string(static_cast<int>(memory.made_for_s))})
                                : tr("detective.start.take", {std::to_string(seed)});
  if (view.ui.button("detective.take", go, label,
                     {.primary = true, .icon = Glyph::Play, .size = 16, .enabled = !making}))
    answer.start = seed;
  if (open && view.ui.button("detective.resume", {go.right() + 12, y, resume, kHeight},
                             tr("detective.start.resume", {std::to_string(game->seed())}), {.size = 15}))
    answer.resume = true;
  parts::paragraph(c, {x, y + kHeight + 22}, w, tr("detective.start.same"),
                   {.size = 14, .color = t.t3, .max_lines = 2});
}

void draw_verdict_page(View& view, const DetectiveGame& game, const DetectiveTale& tale,
                       DetectiveAnswer& answer) {
  Canvas& c = view.canvas;
  const Rect s = view.box;
  const bool small = s.h < 560;
  const float margin = small ? 18 : 28, gap = 16, button = 44, line = small ? 76.0f : 92.0f;
  const float x = s.x + margin, w = s.w - 2 * margin;
  float y = s.y + (small ? 20.0f : 34.0f);
  const std::string title = tr("detective.verdict.title", {std::to_string(game.seed())});
  const float title_w = c.text({x, y}, title, {.size = 20, .face = Face::Bold});
  if (view.ui.icon_button("detective.copy", {x + title_w + 24, y}, Glyph::Copy, 15,
                          tr("detective.copy_explain")))
    answer.copy = true;
  y += small ? 18 : 26;
  const float bottom = s.bottom() - margin - button, score_w = s.w > 1400 ? 420 : small ? 320 : 360;
  const Rect score{x, y, score_w, bottom - gap - line - y};
  draw_score(view, game, score);
  draw_story(view, game, tale, {score.right() + gap, y, w - score_w - gap, score.h});
  draw_case_line(view, game, {x, score.bottom() + gap / 2, w, line});
  const float bw = (w - 2 * gap) / 3;
  if (view.ui.button("detective.replay", {x, bottom, bw, button}, tr("detective.verdict.replay"),
                     {.primary = true, .icon = Glyph::Play, .explain = tr("detective.verdict.replay_explain")}))
    answer.replay = true;
  const std::uint64_t next = game.seed() >= kMostDetectiveSeed ? 0 : game.seed() + 1;
  if (view.ui.button("detective.next", {x + bw + gap, bottom, bw, button},
                     tr("detective.verdict.next", {std::to_string(next)}), {.icon = Glyph::Right}))
    answer.start = next;
  if (view.ui.button("detective.leave", {x + 2 * (bw + gap), bottom, bw, button},
                     tr("detective.verdict.other"), {}))
    answer.leave = true;
}

}  // namespace ringside::app
