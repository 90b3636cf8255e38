// Inside of the AllReduce figure: one frame's pen, and what its files draw with it.
#pragma once

#include <string>
#include <vector>

#include "app/scenes/allreduce_figure.hpp"

namespace ringside::app::figure {

/// One frame's drawing.
struct Pen {
  View& view;
  Canvas& c;
  const Theme& t;
  const RingView& ring;
  const RingLayout& layout;
  const FigureState& state;
  double most = 1;  // scale of heat maps
  /// The person follows one number, and it is in this chunk.
  bool follows(std::uint32_t chunk) const {
    const std::int64_t element = view.ctx.selection.element;
    const sim::Chunk& part = ring.info.chunks.chunks[chunk];
    return element >= part.offset && element < part.offset + part.count;
  }
  bool colours() const { return ring.world <= kRankColors; }
  float smallest() const { return (view.ctx.presenter ? 28.0f : 13.0f) / layout.k; }
  /// A label size, or 0 if it would be too small to be text.
  float label(float size) const {
    return size + .01f >= smallest() ? size : view.ctx.presenter ? smallest() : 0;
  }
};

/// How a cell looks in a state.
struct Look {
  Color fill{}, stroke{}, number{}, label{};
  float width = 1, alpha = 1;
  Dash dash{};
  Face face = Face::Bold;
  Glyph glyph = Glyph::None;
  Color glyph_color{};
  bool dots = false;
};
Look look_of(const Theme& theme, const CellView& cell);
bool is_poisoned(const CellView& cell);
void draw_cell(const Pen& p, const CellBox& box, int rank, std::size_t shown);
/// A chunk of a rank as what a menu is about: its first element stands for its numbers.
Selection chunk_selection(const RingView& ring, int rank, std::uint32_t chunk);
/// What hovering a cell says.
std::string cell_sentence(const RingView& ring, int rank, std::size_t shown, bool tensor);

/// What a rank does, in a word or two with its glyphs.
struct Note {
  std::string text;
  std::vector<Glyph> glyphs;
  bool waits = false, hot = false;
  Color color{};
};
Note trouble_note(const Theme& theme, sim::RankStatus status);
/// Something is being added into this rank.
bool is_hot(const Pen& p, int rank);
void draw_header(const Pen& p, const CardBox& card);
void draw_card(const Pen& p, const CardBox& card, FigureAnswer& answer);

void draw_square(const Pen& p, const CardBox& card, FigureAnswer& answer);
/// The light from the chosen square to its close-up, under everything else.
void draw_beam(const Pen& p);
void draw_close_up(const Pen& p, FigureAnswer& answer);

void draw_link(const Pen& p, const LinkBox& link, FigureAnswer& answer);
void draw_link_names(const Pen& p);
void draw_tile(const Pen& p, const FlightView& flight, const TileBox& tile);
void draw_sum(const Pen& p, const SumView& sum, const SumBox& box);

void draw_dial(const Pen& p);
/// The dial unrolled, where the middle of the figure is taken.
void draw_progress(const Pen& p);
/// Legend and toggles.
void draw_controls(const Pen& p, FigureAnswer& answer);
void draw_message(const Pen& p);

}  // namespace ringside::app::figure
