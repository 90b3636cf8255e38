// Colours of the two themes (tokens), and the arithmetic on them. No ImGui here: scenes may be prepared
// without it.
#pragma once

#include <array>
#include <cstdint>

namespace ringside::app {

/// An sRGB colour. Alpha 0 (the default) means "nothing is drawn".
struct Color {
  std::uint8_t r = 0, g = 0, b = 0, a = 0;
  bool operator==(const Color&) const = default;
  bool visible() const { return a != 0; }
};

constexpr Color rgb(std::uint32_t hex) {
  return {static_cast<std::uint8_t>(hex >> 16), static_cast<std::uint8_t>(hex >> 8),
          static_cast<std::uint8_t>(hex), 255};
}
/// a at t = 0, b at t = 1, in sRGB, opaque.
Color mix(Color a, Color b, float t);
/// The colour with its alpha multiplied.
Color fade(Color c, float alpha);
/// WCAG 2 contrast ratio, 1 … 21.
double contrast(Color a, Color b);

inline constexpr int kRankColors = 8;

struct Theme {
  bool dark = true;
  Color stage, panel, card, raised, line, edge;  // surfaces, hairline, outline
  Color t1, t2, t3, ink, accent;                 // text, ink on accent
  Color forward, backward, comm, update;         // activity
  Color stall, fail, nan;                        // trouble: fills and strokes
  Color stall_text, fail_text, nan_text;         // trouble as text
  std::array<Color, kRankColors> ranks;

  /// R0 … R7; larger numbers wrap (views give worlds above 8 pins, not colours).
  Color rank(int r) const { return ranks[static_cast<std::size_t>(r) % kRankColors]; }
  /// Text on a fill: black ink or white, whichever has more contrast.
  Color on(Color fill) const;
  /// Fill of a tile that matters now.
  Color strong(float k = 0.16f) const;
};

const Theme& dark_theme();
const Theme& light_theme();

}  // namespace ringside::app
