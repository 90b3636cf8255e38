// Places for everything of the AllReduce figure: a pure function of the view, the room and measured text. No
// ImGui.
//
// Coordinates are those of the figure: at least 880 × 588, scaled evenly by `k` into the stage. Text that
// would be smaller than 13 pixels is left out: labels first, numbers last.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/draw/geometry.hpp"
#include "app/scenes/allreduce_view.hpp"
#include "app/text/fonts.hpp"

namespace ringside::app {

enum class Form : std::uint8_t {
  Message,    // nothing to draw but a sentence
  OneNumber,  // one number a GPU, up to four GPUs: the first lesson
  Cards,      // a ring of cards with cells, up to 8 ranks
  Star,       // not a ring: the root in the middle, up to 9 ranks
  Squares,    // 9 to 64 ranks: squares on the ring, one rank close up
  Columns,    // the row: a GPU is a column, a chunk keeps its height
};

struct LayoutOptions {
  bool row = false;
  bool presenter = false;
  int close_up = 0;       // Squares: the rank whose numbers are shown
  bool show_sums = true;  // false while it plays too fast to read
};

/// Where a chunk goes: from the edge of the sender to the edge of the receiver.
struct Path {
  std::vector<Vec2> points;
  float length() const;
  Vec2 at(float p) const;         // p = 0 … 1 of the length
  Vec2 direction(float p) const;  // unit vector
};

struct PlacedText {
  Vec2 middle;
  std::string text;
  float size = 14;
  bool cut = false;  // ends in "…": the whole is in the hover
};

/// The inside of a cell: one number, several, a heat map, or only their range.
struct CellContent {
  std::vector<PlacedText> texts{};
  bool heat = false;
  int heat_columns = 0, heat_rows = 0;
};

struct CellBox {
  Rect box{};
  bool label = false, bar = false, glyph = false;  // room for the chunk's name, the contributions, the state
  CellContent content{};
};

struct CardBox {
  int rank = 0;
  Rect box{};
  bool header = false;  // room for the tag and what the rank does
  float tag_size = 14;
  std::vector<CellBox> cells{};  // over view.chunks; empty in Squares
};

struct LinkBox {
  int src = 0, dst = 0;
  Path path{};
  float width = 4;
  int chevrons = 0;
  Rect label{};  // room for "NVLink · 3.4 μs"; w = 0: none
};

/// Keys of the captions under a sum: arrived, own, new.
inline constexpr std::string_view kSumCaptions[3] = {"allreduce.sum.arrived", "allreduce.sum.own",
                                                     "allreduce.sum.new"};

enum class Heading : std::uint8_t { None, Right, Left, Down, Up };

struct SumBox {
  Rect box{};           // w = 0: not drawn (no room, or too fast)
  bool column = false;  // written one under the other
  bool captions = false, bars = false;
  float size = 25;  // of the numbers
  float segment_width = 42, segment_height = 8, pad = 14;
  float widths[3] = {};  // arrived, own, new
  Heading points = Heading::None;
  std::string texts[3]{};
  bool cut = false;
  std::string op{};  // "+", "×", "min", "max"
};

struct TileBox {
  Rect box{};  // w = 0: a sum lies over it
  CellContent content{};
  bool label = false, bar = false;
  Vec2 direction{};
  float tail = 0;  // its length
  Rect note{};     // "67 %": beside the tile; w = 0: none
  bool note_right_aligned = false;
};

struct RingLayout {
  Form form = Form::Message;
  float k = 1;
  Vec2 origin;  // of the figure, in the stage's coordinates
  Vec2 size;    // of the figure
  std::vector<CardBox> cards;
  std::vector<LinkBox> links;
  std::vector<TileBox> tiles;  // as view.flights
  std::vector<SumBox> sums;    // as view.sums
  Vec2 dial;
  float dial_radius = 0;  // 0: no dial, then `progress` is a bar
  Rect progress;
  Rect close_up;  // Squares
  int close_up_rank = -1;
  std::vector<CellBox> close_up_cells;
  float legend_y = 0;

  const LinkBox* link(int src, int dst) const;
};

RingLayout make_layout(const RingView& view, Rect stage, const TextMeasurer& measure,
                       const LayoutOptions& options);

/// Where a part of the figure is, by the name that a lesson's highlight has ("rank:2", "chunk:1", "link:0-1", "dial",
/// "legend"), in the figure's coordinates. A chunk is in one place on every rank.
std::vector<Rect> places_in_figure(const RingLayout& layout, const RingView& view, std::string_view what);

/// The path of a transfer of `chunk` (its place among the shown ones) from src to dst, also where no link is
/// drawn.
Path transfer_path(const RingLayout& layout, int src, int dst, std::size_t shown);

/// Numbers in a box: the largest size from `largest` down at which all fit; two lines for one long number; a
/// heat map or nothing for many.
CellContent fit_numbers(const Numbers& numbers, Rect box, float largest, float smallest,
                        const TextMeasurer& measure);

/// The addition as a card no wider and higher than the room, around `center`.
SumBox fit_sum(const RingView& view, const SumView& sum, Vec2 center, Vec2 room, float largest,
               float smallest, const TextMeasurer& measure);

}  // namespace ringside::app
