// Walking UTF-8 text by code points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ringside::app {

/// Reads the code point at `at` and moves `at` behind it. A broken byte gives U+FFFD and moves by one.
inline char32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(at);
  const int length = lead < 0x80         ? 1
                     : (lead >> 5) == 6  ? 2
                     : (lead >> 4) == 14 ? 3
                     : (lead >> 3) == 30 ? 4
                                         : 0;
  if (length == 0 || at + static_cast<std::size_t>(length) > text.size()) {
    ++at;
    return 0xFFFD;
  }
  char32_t value = length == 1 ? lead : static_cast<char32_t>(lead & (0xFF >> (length + 1)));
  for (int i = 1; i < length; ++i) {
    const std::uint8_t next = byte(at + static_cast<std::size_t>(i));
    if ((next & 0xC0) != 0x80) {
      ++at;
      return 0xFFFD;
    }
    value = (value << 6) | (next & 0x3F);
  }
  at += static_cast<std::size_t>(length);
  return value;
}

}  // namespace ringside::app
