// Inside of the AllReduce layout: what its forms and the placing of what moves share.
#pragma once

#include "app/scenes/allreduce_layout.hpp"

namespace ringside::app::layout {

/// The most ranks that get cards.
inline constexpr int kMaxCards = 8;

/// What a form works with.
struct Making {
  const RingView& view;
  const LayoutOptions& options;
  const TextMeasurer& measure;
  RingLayout& out;
  Rect area;            // without the legend
  float smallest = 13;  // 13 pixels in the units of the figure
  std::size_t chunks() const { return view.chunks.size(); }
};

/// Chunks on their way, and additions: after the cards and links are placed.
void place_tiles(Making& m);
void place_sums(Making& m);

}  // namespace ringside::app::layout
