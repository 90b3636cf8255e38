// The bar of a scene that tells its own story in a few beats: back, play, on; which beat; all of them to jump
// to. Looks like the transport bar, but knows no time.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "app/scenes/scene.hpp"

namespace ringside::app {

inline constexpr float kBeatBarHeight = 92;

struct Beat {
  std::string label;
  /// Draws the beat's small picture into a box; empty = its number in a band.
  std::function<void(Canvas&, Rect, bool lit)> picture = {};
};
struct BeatBar {
  std::string_view id;  // of the widgets: "<id>.play", "<id>.0" …
  std::string title;    // "rung 4"
  std::string detail;   // "of 6"
  std::span<const Beat> beats;
  int current = 0;  // -1 = between them
  bool playing = false;
};
struct BeatAnswer {
  std::optional<int> go_to;
  bool toggle_play = false;
};
/// Draws the bar and tells what was asked for.
BeatAnswer beat_bar(View& view, Rect box, const BeatBar& bar);

}  // namespace ringside::app
