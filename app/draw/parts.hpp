// The small parts that all scenes share: rank tags, number cells, contributions, links, brackets, badges,
// cards. They only draw; widgets that react are in app/ui/ui.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "app/draw/canvas.hpp"

namespace ringside::app::parts {

/// "R3".
std::string rank_name(int rank);

struct TagStyle {
  float width = 34, height = 22, size = 14;
  bool neutral = false;  // grey: in time scenes, colour is not "whose number"
  Align align = Align::Left;
  std::string_view label = {};  // instead of "R3"; the width grows to hold it
};
/// A rank's tag; `at` = left (or centre), middle. Always carries its number. Returns its width.
float rank_tag(Canvas& c, Vec2 at, int rank, const TagStyle& style = {});

/// Whose numbers are inside: one segment a rank, always at that rank's place. Filled = in, hollow = not yet.
/// Worlds above 8: use share_bar.
void contributions(Canvas& c, Rect box, std::uint64_t have, int world, float alpha = 1, int bad_rank = -1);
/// "37 of 64" as a bar.
void share_bar(Canvas& c, Rect box, int have, int world);

enum class CellLook : std::uint8_t { Own, Partial, Sent, Next, Adding, Done, Poisoned };
struct CellStyle {
  CellLook look = CellLook::Own;
  float number_size = 30;
  std::uint64_t have = 0;
  int world = 4;
  int bad_rank = -1;
  bool bar = true, label = true;
};
/// One chunk on one rank: its label, its number, whose contributions are in.
void number_cell(Canvas& c, Rect box, std::string_view label, std::string_view value, const CellStyle& style);

struct ChipStyle {
  Glyph icon = Glyph::None;
  Color color{}, fill{}, stroke{}, text{};
  float height = 26, size = 13, pad = 10;
  Align align = Align::Left;
  Face face = Face::Regular;
};
/// A pill with an icon and a word; `at` = left (or centre, right), middle. Returns its width.
float chip(Canvas& c, Vec2 at, std::string_view label, const ChipStyle& style = {});
float chip_width(const Canvas& c, std::string_view label, const ChipStyle& style = {});

enum class Truth : std::uint8_t { Measured, Inferred, Hidden };
/// How we know: full disc, half disc, broken ring, with its word. Returns its width.
float truth_badge(Canvas& c, Vec2 at, Truth truth, bool word = true, Align align = Align::Left,
                  float size = 13);

/// Corner brackets: the mark of the culprit.
void brackets(Canvas& c, Rect box, Color color, float arm = 10, float width = 3);
/// A card with a title line.
void card(Canvas& c, Rect box, std::string_view title = {}, Color fill = {}, Color stroke = {},
          float radius = 10);
/// A key cap; returns its width.
float key_cap(Canvas& c, Vec2 at, std::string_view label, Align align = Align::Left);
/// Waiting: hollow, hatched, no hue.
void wait_box(Canvas& c, Rect box, Color color = {}, float gap = 6, float phase = 0);
/// An axis break across a horizontal axis.
void zigzag(Canvas& c, Vec2 center, float height);
/// A link: a line in `edge` with chevrons in text 2, from a to b.
struct LinkStyle {
  float width = 4;
  int chevrons = 4;
  Color color{}, chevron{};
  float arm = 5;
};
void link(Canvas& c, Vec2 from, Vec2 to, const LinkStyle& style = {});
/// The light that ties a close-up to its thing: alpha .13 at the thing, .05 at the panel.
void beam(Canvas& c, Vec2 a0, Vec2 a1, Vec2 b1, Vec2 b0, Color color);
/// Wrapped text; returns the y of the line after the last. `y` = middle of the first line's capitals.
struct ParagraphStyle {
  float size = 14, line_height = 1.5f;
  Color color{};
  Face face = Face::Regular;
  int max_lines = 0;
};
float paragraph(Canvas& c, Vec2 at, float width, std::string_view text, const ParagraphStyle& style = {});
/// The logo: a ring, one chunk crossing it.
void logo(Canvas& c, Vec2 center, float size);

/// What a rank does, as a small box with fill, hatch and glyph (VISUAL §2, state marks).
enum class Mark : std::uint8_t {
  Idle,
  Forward,
  Backward,
  Sending,
  Receiving,
  Reducing,
  Update,
  Waiting,
  Stalled,
  TimedOut,
  Terminated,
  Aborted,
  Dead,
  Poisoned,
  Silent,
};
void state_mark(Canvas& c, Rect box, Mark mark, float phase = 0);

}  // namespace ringside::app::parts
