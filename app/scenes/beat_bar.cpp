#include "app/scenes/beat_bar.hpp"

#include <algorithm>

#include "app/i18n/i18n.hpp"
#include "app/text/layout.hpp"

namespace ringside::app {
namespace {

constexpr float kButtons = 154, kTitle = 112;

void draw_beat(View& view, Rect box, const BeatBar& bar, int i, bool named, BeatAnswer& answer) {
  Canvas& c = view.canvas;
  const Theme& t = c.theme();
  const Beat& beat = bar.beats[static_cast<std::size_t>(i)];
  const bool here = i == bar.current;
  const Hit h = view.ui.hit(std::string(bar.id) + "." + std::to_string(i), box,
                            {.explain = named ? std::string_view() : beat.label});
  if (here || h.hovered) c.rect(box, {.fill = here ? t.raised : t.card, .radius = 8});
  const Color text = here ? t.t1 : t.t2;
  const Face face = here ? Face::Bold : Face::Regular;
  const std::string label = fit(c.fonts(), beat.label, box.w - 8, 13, face);
  if (beat.picture) {
    const float below = named ? 34.0f : 16.0f;
    beat.picture(c, {box.x + 6, box.y + 8, box.w - 12, box.h - below}, here || i < bar.current);
    if (named)
      c.text({box.x + box.w / 2, box.bottom() - 13}, label,
             {.size = 13, .color = text, .face = face, .align = Align::Center});
  } else {
    const Rect band{box.x + 6, box.y + box.h / 2, box.w - 12, 20};
    const bool past = i <= bar.current;
    c.text({band.x + 2, box.y + box.h / 2 - 15}, label, {.size = 13, .color = text, .face = face});
    c.rect(band,
           {.fill = past ? t.edge : t.raised, .stroke = here ? t.t1 : Color{}, .radius = 4, .width = 1.5f});
    c.text({band.x + band.w / 2, band.y + 10}, std::to_string(i + 1),
           {.size = 13,
            .color = past ? (t.dark ? t.ink : rgb(0xFFFFFF)) : t.t2,
            .align = Align::Center,
            .on_shape = true});
  }
  if (h.clicked) answer.go_to = i;
}

}  // namespace

BeatAnswer beat_bar(View& view, Rect box, const BeatBar& bar) {
  Canvas& c = view.canvas;
  Ui& ui = view.ui;
  const Theme& t = c.theme();
  BeatAnswer answer;
  const auto count = static_cast<int>(bar.beats.size());
  const std::string id(bar.id);
  c.rect(box, {.fill = t.panel});
  c.line({box.x, box.y}, {box.right(), box.y}, t.line);
  const float y = box.y + box.h / 2;
  float x = box.x + 16;
  if (ui.icon_button(id + ".back", {x + 14, y}, Glyph::StepBack, 20, tr("beats.back"), bar.current > 0))
    answer.go_to = bar.current - 1;
  x += 40;
  const Rect play{x, y - 23, 46, 46};
  const Hit h = ui.hit(id + ".play", play, {.explain = bar.playing ? tr("beats.pause") : tr("beats.play")});
  c.circle(play.center(), 23, h.hovered ? mix(t.accent, t.stage, .12f) : t.accent);
  c.glyph(bar.playing ? Glyph::Pause : Glyph::Play, {play.center().x + (bar.playing ? 0 : 1.5f), y}, 20,
          t.ink);
  if (h.clicked) answer.toggle_play = true;
  x += 56;
  if (ui.icon_button(id + ".on", {x + 14, y}, Glyph::StepOn, 20, tr("beats.on"), bar.current < count - 1))
    answer.go_to = bar.current + 1;
  x = box.x + kButtons;
  c.text({x, y - 10}, bar.title,
         {.size = size_that_fits(c.fonts(), bar.title, kTitle - 8, {22, 19, 16}, Face::Bold),
          .face = Face::Bold});
  c.text({x, y + 14}, bar.detail, {.size = 14, .color = t.t2});
  x += kTitle;
  const float w = (box.right() - 12 - x) / static_cast<float>(std::max(1, count));
  // Pictures speak for themselves where one of the names would be cut.
  const bool named = std::all_of(bar.beats.begin(), bar.beats.end(), [&](const Beat& beat) {
    return beat.picture == nullptr || c.width(beat.label, 13, Face::Bold) <= w - 12;
  });
  for (int i = 0; i < count; ++i)
    draw_beat(view, {x + w * static_cast<float>(i) + 2, box.y + 6, w - 4, box.h - 12}, bar, i, named, answer);
  return answer;
}

}  // namespace ringside::app
