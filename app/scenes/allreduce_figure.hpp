// Draws the prepared AllReduce figure, and registers what can be clicked or explained in it.
#pragma once

#include <optional>
#include <string>

#include "app/scenes/allreduce_layout.hpp"
#include "app/scenes/scene.hpp"

namespace ringside::app {

/// What a person did in the figure in this frame.
struct FigureAnswer {
  int clicked_rank = -1;
  std::int64_t clicked_chunk = -1;   // with clicked_rank; -1 = the rank itself
  int link_from = -1, link_to = -1;  // a clicked link
  std::optional<Rect> clicked_box;   // of the cell, in the window
  std::optional<Selection> menu;     // what was right-clicked
  std::optional<bool> tensor, row;   // the toggles
};

struct FigureState {
  bool tensor = false, row = false;
  std::int64_t followed_chunk = -1;
};

FigureAnswer draw_figure(View& view, const RingView& ring, const RingLayout& layout,
                         const FigureState& state);

// Shared with the inspector.
std::string sentence_text(const Sentence& sentence);
/// "3.4 μs", "300 ns", "1.2 ms".
std::string time_text(std::int64_t ns);
/// "240 GB/s", in 10⁹ bytes.
std::string rate_text(std::int64_t bytes_per_s);
std::string chunk_name(std::uint32_t chunk);
/// "70", or "70, 71, 72, 73 …": at most four numbers.
std::string numbers_text(const Numbers& numbers);
/// A colour between the surfaces that tells a number's place between -most and +most.
Color heat_color(const Theme& theme, double value, double most);
/// Whose numbers are in: segments up to 8 ranks, a share above.
void draw_contributions(Canvas& canvas, Rect box, std::uint64_t have, int world, float alpha = 1);
/// Text that a cell's box holds: numbers, a heat map, a range.
void draw_content(Canvas& canvas, const CellContent& content, const Numbers& numbers, Rect box, double most,
                  Color color, Face face);
/// The largest magnitude among all shown numbers: the scale of the heat map.
double heat_scale(const RingView& ring);

}  // namespace ringside::app
