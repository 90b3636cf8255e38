// The keys that Ringside knows: those that every ImGui version and every keyboard layout has.
#pragma once

#include <cstdint>

namespace ringside::app {

/// Keys by position, never by letter: under a Hangul input mode a letter key is not that letter. Z, Y, C, A,
/// V, S, W are for Ctrl combinations, by key code.
enum class Key : std::uint8_t {
  Space,
  Left,
  Right,
  Up,
  Down,
  Home,
  End,
  PageUp,
  PageDown,
  Enter,
  Delete,
  Insert,
  Tab,
  Escape,
  Backspace,
  F1,
  F2,
  F11,
  Z,
  Y,
  C,
  A,
  V,
  S,
  W,
  Menu,
};
inline constexpr int kKeyCount = 26;

}  // namespace ringside::app
