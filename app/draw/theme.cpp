#include "app/draw/theme.hpp"

#include <algorithm>
#include <cmath>

namespace ringside::app {
namespace {

std::uint8_t blend(std::uint8_t a, std::uint8_t b, float t) {
  return static_cast<std::uint8_t>(
      std::lround(static_cast<float>(a) * (1.0f - t) + static_cast<float>(b) * t));
}

double linear(std::uint8_t channel) {
  const double c = channel / 255.0;
  return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

double luminance(Color c) {
  return 0.2126 * linear(c.r) + 0.7152 * linear(c.g) + 0.0722 * linear(c.b);
}

}  // namespace

Color mix(Color a, Color b, float t) {
  return {blend(a.r, b.r, t), blend(a.g, b.g, t), blend(a.b, b.b, t), 255};
}

Color fade(Color c, float alpha) {
  c.a = static_cast<std::uint8_t>(std::lround(static_cast<float>(c.a) * std::clamp(alpha, 0.0f, 1.0f)));
  return c;
}

double contrast(Color a, Color b) {
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

Color Theme::on(Color fill) const {
  constexpr Color kInk = rgb(0x0B1016), kWhite = rgb(0xFFFFFF);
  return contrast(kInk, fill) >= contrast(kWhite, fill) ? kInk : kWhite;
}

Color Theme::strong(float k) const {
  return dark ? mix(raised, t1, k) : rgb(0xFFFFFF);
}

const Theme& dark_theme() {
  static const Theme theme = {
      .dark = true,
      .stage = rgb(0x0B1016),
      .panel = rgb(0x121922),
      .card = rgb(0x1A232E),
      .raised = rgb(0x26323F),
      .line = rgb(0x2E3B4A),
      .edge = rgb(0x6B7D91),
      .t1 = rgb(0xF3F6F9),
      .t2 = rgb(0xBAC6D2),
      .t3 = rgb(0x8F9DAD),
      .ink = rgb(0x0B1016),
      .accent = rgb(0xF3F6F9),
      .forward = rgb(0x13ABE7),
      .backward = rgb(0x3C6EDB),
      .comm = rgb(0x47EBBF),
      .update = rgb(0xDCE6F0),
      .stall = rgb(0xFFB340),
      .fail = rgb(0xFF5A4F),
      .nan = rgb(0xFF5FD2),
      .stall_text = rgb(0xFFB340),
      .fail_text = rgb(0xFF7A70),
      .nan_text = rgb(0xFF7FDB),
      .ranks = {rgb(0x7DAEFF), rgb(0xCFF03A), rgb(0x9659F0), rgb(0x22B896), rgb(0xFAECC0), rgb(0xD6F4FC),
                rgb(0x4A9A0A), rgb(0xC8B2D4)},
  };
  return theme;
}

const Theme& light_theme() {
  static const Theme theme = {
      .dark = false,
      .stage = rgb(0xEBEFF3),
      .panel = rgb(0xFFFFFF),
      .card = rgb(0xF6F8FA),
      .raised = rgb(0xDFE5EB),
      .line = rgb(0xCFD7DF),
      .edge = rgb(0x687582),
      .t1 = rgb(0x0F1720),
      .t2 = rgb(0x3D4A58),
      .t3 = rgb(0x566370),
      .ink = rgb(0xFFFFFF),
      .accent = rgb(0x0F1720),
      .forward = rgb(0x108ACB),
      .backward = rgb(0x1B3F9C),
      .comm = rgb(0x0E7C57),
      .update = rgb(0x44505C),
      .stall = rgb(0xB86E00),
      .fail = rgb(0xB5121B),
      .nan = rgb(0xA8128E),
      .stall_text = rgb(0x8A5200),
      .fail_text = rgb(0xB5121B),
      .nan_text = rgb(0xA8128E),
      .ranks = {rgb(0x2A6FE8), rgb(0x7E8E10), rgb(0x5B18B8), rgb(0x097C7A), rgb(0x7A6442), rgb(0x10284A),
                rgb(0x0A4F1A), rgb(0x8A7FA6)},
  };
  return theme;
}

}  // namespace ringside::app
