// The same thing with paper: everybody brings a sheet of 100 numbers; one brings 50; one never comes.
#include <algorithm>
#include <cmath>

#include "app/draw/parts.hpp"
#include "app/scenes/same_shape_scene.hpp"
#include "app/text/layout.hpp"

namespace ringside::app {
namespace {

constexpr int kSide = 10;  // 10 × 10 numbers a sheet

float ease(float t) {
  t = std::clamp(t, 0.0f, 1.0f);
  return t < .5f ? 4 * t * t * t : 1 - std::pow(-2 * t + 2, 3.0f) / 2;
}

/// A sheet: `numbers` of 100 places are written, those from `alone` on have no partner.
void sheet(Canvas& c, Rect box, Color ink, int numbers, int alone_from, bool paper) {
  const Theme& t = c.theme();
  if (paper) {
    c.rect(box, {.fill = t.card, .stroke = t.edge, .radius = 4, .width = 1.25f});
  } else {
    c.rect(box, {.stroke = t.edge, .radius = 4, .width = 1.25f, .dash = {4, 4}});
  }
  const float pad = box.w * .09f, pitch = (box.w - 2 * pad) / kSide, rise = (box.h - 2 * pad) / kSide;
  for (int i = 0; i < numbers; ++i) {
    const Rect r{box.x + pad + pitch * static_cast<float>(i % kSide) + pitch * .14f,
                 box.y + pad + rise * static_cast<float>(i / kSide) + rise * .2f, pitch * .72f, rise * .6f};
    if (i >= alone_from) {
      c.rect(r, {.stroke = t.stall, .radius = 1.5f, .width = 1.25f});
    } else {
      c.rect(r, {.fill = ink, .radius = 1.5f});
    }
  }
}

/// A sheet between its seat and the table.
struct Flight {
  Rect box;
  int rank = 0, numbers = 0;
};

}  // namespace

void SameShapeScene::draw_paper(View& view, Rect box) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  places_["goal"] = box;
  const PaperStory story = paper_at(paper_, paper_share_);
  constexpr int n = PaperStory::kPeople;
  constexpr int kOdd = 2;
  c.text({box.x, box.y + 22}, tr("same.paper.title"), {.size = 28, .face = Face::Bold});
  c.text({box.x, box.y + 54}, fit(c.fonts(), tr("same.paper.text"), box.w, 16), {.size = 16, .color = t.t2});

  // Four seats above, the table with the sum below.
  const float area = box.h - 80 - 66;
  const float h = std::min(area * .40f, 230.0f), w = h * .78f, gap = (box.w - w * n) / (n + 1);
  const float top = box.y + 118, table = top + h + area * .14f;
  const Rect sum{box.x + box.w / 2 - w / 2, table, w, h};
  const float moment = static_cast<float>(paper_share_) * 4;
  std::vector<Flight> flights;  // drawn last: they lie on top of the table
  for (int r = 0; r < n; ++r) {
    const Rect seat{box.x + gap + (w + gap) * static_cast<float>(r), top, w, h};
    const bool odd = r == kOdd && paper_ != Paper::All;
    const bool absent = odd && paper_ == Paper::Absent, half = odd && paper_ == Paper::Half;
    parts::rank_tag(c, {seat.center().x, seat.y - 20}, r,
                    {.width = 40, .height = 22, .size = 14, .align = Align::Center});
    if (absent) {
      c.rect(seat, {.stroke = t.stall, .radius = 6, .width = 1.5f, .dash = {5, 5}});
      c.text({seat.center().x, seat.center().y}, tr("same.paper.not_here"),
             {.size = 15, .color = t.stall_text, .align = Align::Center, .max_width = seat.w - 4});
      continue;
    }
    // The order of the table: R0, R1, then the third, then R3.
    const bool in = r < story.added;
    const float flying =
        ease(paper_ == Paper::All ? static_cast<float>(paper_share_) * (n + .25f) - static_cast<float>(r)
                                  : moment - static_cast<float>(r));
    const bool moves = !still_ && flying > 0 && flying < 1 && r < (paper_ == Paper::All ? n : 3) && !(absent);
    const int numbers = half ? PaperStory::kNumbers / 2 : PaperStory::kNumbers;
    if (in && !moves) {
      c.rect(seat, {.stroke = t.line, .radius = 6, .dash = {4, 4}});
      c.glyph(Glyph::Check, seat.center(), 22, t.t3, 2.5f);
      continue;
    }
    // The short sheet goes to the table, does not fit, and comes back.
    float way = moves && (paper_ == Paper::All || r < 2 || half) ? flying : 0;
    if (half && story.stuck_at >= 0)
      way = still_ ? 0 : 1 - ease((static_cast<float>(paper_share_) - .75f) / .2f);
    if (way > 0) {
      flights.push_back(
          {{seat.x + (sum.x - seat.x) * way, seat.y + (sum.y - seat.y) * way, w, h}, r, numbers});
      continue;
    }
    sheet(c, seat, t.rank(r), numbers, PaperStory::kNumbers, true);
    if (half)
      c.text({seat.center().x, seat.y + h * .75f}, "50",
             {.size = 26, .color = t.stall_text, .face = Face::Bold, .align = Align::Center});
    if (story.waiting && r > kOdd) parts::wait_box(c, {seat.right() - 24, seat.y - 28, 18, 18}, t.t2, 5);
  }
  if (story.waiting)
    for (const int r : {0, 1}) {
      const float x = box.x + gap + (w + gap) * static_cast<float>(r);
      parts::wait_box(c, {x + w - 24, top - 28, 18, 18}, t.t2, 5);
    }

  // The sum: as many numbers as all who came have.
  const bool any = story.added > 0;
  sheet(c, sum, t.t1, any ? PaperStory::kNumbers : 0,
        story.stuck_at >= 0 ? story.stuck_at : PaperStory::kNumbers, any);
  for (const Flight& f : flights) sheet(c, f.box, t.rank(f.rank), f.numbers, PaperStory::kNumbers, true);
  c.text({sum.x - 22, sum.center().y - 12}, tr("same.paper.sum"),
         {.size = 16, .color = t.t2, .align = Align::Right});
  c.text({sum.x - 22, sum.center().y + 12},
         tr("same.paper.sheets", {std::to_string(story.added), std::to_string(n)}),
         {.size = 16, .face = Face::Bold, .align = Align::Right});
  std::string end;
  Color color = t.t1;
  if (paper_ == Paper::All && story.added == n) end = tr("same.paper.all_end");
  if (story.stuck_at >= 0) end = tr("same.paper.half_end"), color = t.stall_text;
  if (story.waiting) end = tr("same.paper.absent_end"), color = t.stall_text;
  if (!end.empty()) {
    const float x = sum.right() + 24;
    parts::paragraph(c, {x, sum.center().y - 14}, box.right() - x, end,
                     {.size = 17, .line_height = 1.4f, .color = color, .face = Face::Bold, .max_lines = 4});
  }
}

}  // namespace ringside::app
