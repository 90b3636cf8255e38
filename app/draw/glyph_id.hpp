// The drawn glyphs (never typed: the fonts lack most of them), all inside a box around a centre.
#pragma once

#include <cstdint>

namespace ringside::app {

enum class Glyph : std::uint8_t {
  None,
  // player
  Play,
  Pause,
  StepOn,
  StepBack,
  First,
  Last,
  Loop,
  // marks
  Check,
  Cross,
  Plus,
  Minus,
  Send,
  Receive,
  Hourglass,
  Clock,
  Stop,
  Forward,
  Backward,
  Right,
  Left,
  Down,
  Up,
  Arrow,
  ArrowDown,
  Flag,
  Bolt,
  Victim,
  Warning,
  // how we know
  Measured,
  Inferred,
  Hidden,
  // scenes
  Home,
  Tensor,
  SameShape,
  Ring,
  Lanes,
  Failures,
  Duel,
  Live,
  Logs,
  Poison,
  Lesson,
  // chrome
  Gear,
  Screen,
  Sun,
  Moon,
  Help,
  Copy,
  Panel,
  Undo,
  Redo,
  Folder,
  Pin,
  Fork,
  Share,
};
inline constexpr int kGlyphCount = static_cast<int>(Glyph::Share) + 1;

}  // namespace ringside::app
