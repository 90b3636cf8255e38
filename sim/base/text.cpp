#include "sim/base/text.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace ringside::sim {
namespace {

template <class T>
void append_chars(std::string& out, T value) {
  std::array<char, 40> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  out.append(buffer.data(), end);
}

template <class T>
void append_floating(std::string& out, T value) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value > 0 ? "Infinity" : "-Infinity";
  } else {
    append_chars(out, value);
  }
}

/// One code point of UTF-8 text. Invalid bytes give U+FFFD and length 1, so a reader always moves on.
struct CodePoint {
  std::uint32_t value;
  std::size_t length;
};

CodePoint decode(std::string_view text, std::size_t at) {
  constexpr CodePoint kBad{0xFFFD, 1};
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || at + length > text.size()) return kBad;
  std::uint32_t value = lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return kBad;
    value = (value << 6) | (byte(at + i) & 0x3Fu);
  }
  const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  if (overlong || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return kBad;
  return {value, length};
}

/// Characters that can forge or hide text: C0, DEL, C1, line/paragraph separators, bidirectional controls,
/// zero-width ones.
bool is_dangerous(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0x061C || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x2069) || c == 0xFEFF;
}

void append_hex(std::string& out, std::uint32_t value, int digits) {
  constexpr char kHex[] = "0123456789abcdef";
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += kHex[(value >> shift) & 0xF];
}

}  // namespace

void append_int(std::string& out, std::int64_t value) {
  append_chars(out, value);
}
void append_uint(std::string& out, std::uint64_t value) {
  append_chars(out, value);
}
void append_double(std::string& out, double value) {
  append_floating(out, value);
}
void append_float(std::string& out, float value) {
  append_floating(out, value);
}

void append_hex64(std::string& out, std::uint64_t value) {
  append_hex(out, static_cast<std::uint32_t>(value >> 32), 8);
  append_hex(out, static_cast<std::uint32_t>(value), 8);
}

namespace {

/// Length of the run of ASCII at `at` that JSON takes as it is.
std::size_t plain_run(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && text[end] >= 0x20 && text[end] < 0x7F && text[end] != '"' && text[end] != '\\')
    ++end;
  return end - at;
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    // Nearly all text is plain: a trace of millions of events consists of it.
    if (const std::size_t plain = plain_run(text, at); plain > 0) {
      out.append(text, at, plain);
      at += plain;
      continue;
    }
    const CodePoint c = decode(text, at);
    if (c.value == '"' || c.value == '\\') {
      out += '\\';
      out += static_cast<char>(c.value);
    } else if (c.value == '\n') {
      out += "\\n";
    } else if (c.value == '\t') {
      out += "\\t";
    } else if (is_dangerous(c.value)) {
      out += "\\u";
      append_hex(out, c.value, 4);
    } else if (c.value == 0xFFFD) {
      out += "\xEF\xBF\xBD";
    } else {
      out.append(text.substr(at, c.length));
    }
    at += c.length;
  }
  out += '"';
}

std::string escape_for_display(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode(text, at);
    if (c.value == '\t') {
      out += "    ";
    } else if (is_dangerous(c.value)) {
      out += c.value < 0x100 ? "\\x" : "\\u";
      append_hex(out, c.value, c.value < 0x100 ? 2 : 4);
    } else if (c.value == 0xFFFD) {
      out += "\xEF\xBF\xBD";
    } else {
      out.append(text.substr(at, c.length));
    }
    at += c.length;
  }
  return out;
}

bool is_safe_host_name(std::string_view name) {
  if (name.empty() || name.front() == '-') return false;
  for (const char c : name) {
    const bool legal = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == '-';
    if (!legal) return false;
  }
  return true;
}

std::string with_commas(std::int64_t value) {
  std::string digits;
  append_int(digits, value);
  const std::size_t start = value < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > start + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

namespace {
/// value / unit with at most `decimals` decimals, trailing zeros cut, rounded half up. Integers only: no
/// locale, no printf.
std::string scaled(std::int64_t value, std::int64_t unit, int decimals, std::string_view suffix) {
  std::int64_t power = 1;
  for (int i = 0; i < decimals; ++i) power *= 10;
  const bool negative = value < 0;
  const auto magnitude = static_cast<__int128>(negative ? -value : value);
  const auto fixed = static_cast<std::int64_t>((magnitude * power + unit / 2) / unit);
  std::string out = negative ? "-" : "";
  out += with_commas(fixed / power);
  std::int64_t fraction = fixed % power;
  if (fraction != 0) {
    std::string digits = std::to_string(fraction);
    digits.insert(0, static_cast<std::size_t>(decimals) - digits.size(), '0');
    while (digits.back() == '0') digits.pop_back();
    out += '.' + digits;
  }
  return out + std::string(suffix);
}
}  // namespace

std::string format_duration(std::int64_t ns) {
  const std::int64_t magnitude = ns < 0 ? -ns : ns;
  if (magnitude < 1'000) return scaled(ns, 1, 0, " ns");
  if (magnitude < 1'000'000) return scaled(ns, 1'000, magnitude < 100'000 ? 2 : 1, " μs");
  if (magnitude < 1'000'000'000) return scaled(ns, 1'000'000, magnitude < 100'000'000 ? 2 : 1, " ms");
  if (magnitude < 60'000'000'000) return scaled(ns, 1'000'000'000, 2, " s");
  if (magnitude < 3'600'000'000'000) return scaled(ns, 60'000'000'000, 2, " min");
  return scaled(ns, 3'600'000'000'000, 2, " h");
}

std::string format_bytes(std::int64_t bytes) {
  constexpr std::int64_t kKi = 1024;
  if (bytes < kKi) return scaled(bytes, 1, 0, " B");
  if (bytes < kKi * kKi) return scaled(bytes, kKi, 2, " KiB");
  if (bytes < kKi * kKi * kKi) return scaled(bytes, kKi * kKi, 2, " MiB");
  return scaled(bytes, kKi * kKi * kKi, 2, " GiB");
}

}  // namespace ringside::sim
