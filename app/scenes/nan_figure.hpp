// Inside of the NaN scene: its figure and its inspector.
#pragma once

#include <optional>

#include "app/scenes/allreduce_figure.hpp"
#include "app/scenes/nan_view.hpp"

namespace ringside::app {

struct PoisonAnswer {
  int clicked_rank = -1;
  std::int64_t clicked_chunk = -1;
};

/// The ring of GPUs with the followed chunk large on each, its way in magenta, the counts in the middle.
/// `layout` gives the places of cards and links (that of the AllReduce scene, without its sums).
PoisonAnswer draw_poison_figure(View& view, const PoisonView& poison, const RingView& ring,
                                const RingLayout& layout);

/// Now, how the chunk goes bad, how far it has spread, and what to do about it.
void draw_poison_inspector(View& view, const PoisonView& poison, const RingView& ring);

}  // namespace ringside::app
