#include "sim/base/quantity.hpp"

#include <array>
#include <limits>

#include "sim/base/text.hpp"

namespace ringside::sim {
namespace {

struct Unit {
  std::string_view word;
  std::int64_t factor;
};

constexpr std::array<Unit, 6> kDurations{{{"h", 3'600'000'000'000},
                                          {"min", 60'000'000'000},
                                          {"s", 1'000'000'000},
                                          {"ms", 1'000'000},
                                          {"us", 1'000},
                                          {"ns", 1}}};
constexpr std::string_view kDurationLegal = "a whole number with ns, us, ms, s, min or h, such as \"30ms\"";
constexpr std::string_view kSizeLegal =
    "a whole number, alone or with K, M or G (powers of 2^10), such as \"64M\"";
constexpr std::string_view kRateLegal =
    "a number with B/s, KB/s … TB/s (10^3), KiB/s … TiB/s (2^10) or Kb/s … Tb/s (bits), such as \"240GB/s\"";

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

/// A decimal number split from what follows it. `fraction_digits` of `digits` stand behind the point.
struct Number {
  bool ok = false;
  bool too_big = false;
  bool negative = false;
  bool decimal = false;
  std::int64_t digits = 0;
  int fraction_digits = 0;
  std::string_view rest;
};

Number read_number(std::string_view text) {
  Number number;
  std::size_t at = 0;
  if (at < text.size() && text[at] == '-') {
    number.negative = true;
    ++at;
  }
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '.' && !number.decimal && number.ok) {
      number.decimal = true;
      continue;
    }
    if (c == '_' && number.ok) continue;  // TOML's digit separator
    if (c < '0' || c > '9') break;
    number.ok = true;
    if (number.digits > (kMax - (c - '0')) / 10) {
      number.too_big = true;
      continue;
    }
    number.digits = number.digits * 10 + (c - '0');
    if (number.decimal) ++number.fraction_digits;
  }
  number.rest = text.substr(at);
  while (!number.rest.empty() && number.rest.front() == ' ') number.rest.remove_prefix(1);
  return number;
}

Error problem(std::string what, std::string_view text, std::string_view legal, std::string hint = {}) {
  Error error;
  error.text = escape_for_display(text.substr(0, 48));
  error.what = std::move(what) + ": \"" + error.text + "\"";
  error.legal = std::string(legal);
  error.hint = std::move(hint);
  return error;
}

/// "3.4us" → "3400ns": the same duration in a unit that makes it whole, or empty.
std::string as_whole_duration(const Number& number, std::int64_t factor) {
  std::int64_t power = 1;
  for (int i = 0; i < number.fraction_digits && i < 18; ++i) power *= 10;
  const auto scaled = static_cast<__int128>(number.digits) * factor;
  if (scaled % power != 0 || scaled / power > kMax) return {};
  return "write \"" + duration_text(static_cast<std::int64_t>(scaled / power)) + "\"";
}

}  // namespace

Result<std::int64_t> parse_duration(std::string_view text) {
  const Number number = read_number(text);
  if (!number.ok) return problem("not a duration", text, kDurationLegal);
  if (number.rest.empty()) return problem("a duration needs a unit", text, kDurationLegal);
  for (const Unit& unit : kDurations) {
    if (number.rest != unit.word) continue;
    if (number.negative) return problem("a duration cannot be negative", text, kDurationLegal);
    if (number.too_big || number.digits > kMax / unit.factor)
      return problem("the duration is too long", text, "at most 292 years");
    if (number.decimal)
      return problem("a duration is a whole number", text, kDurationLegal,
                     as_whole_duration(number, unit.factor));
    return number.digits * unit.factor;
  }
  return problem("unknown unit of time", text, kDurationLegal);
}

std::string duration_text(std::int64_t ns) {
  std::string out;
  for (const Unit& unit : kDurations) {
    if (ns % unit.factor != 0 || (ns == 0 && unit.factor != 1)) continue;
    append_int(out, ns / unit.factor);
    out += unit.word;
    return out;
  }
  return out;
}

Result<std::int64_t> parse_size(std::string_view text) {
  const Number number = read_number(text);
  if (!number.ok || number.decimal) return problem("not a size", text, kSizeLegal);
  if (number.negative) return problem("a size cannot be negative", text, kSizeLegal);
  int shift = -1;
  if (number.rest.empty()) shift = 0;
  if (number.rest == "K") shift = 10;
  if (number.rest == "M") shift = 20;
  if (number.rest == "G") shift = 30;
  if (shift < 0) return problem("unknown unit of size", text, kSizeLegal);
  if (number.too_big || number.digits > (kMax >> shift))
    return problem("the size is too big", text, "below 2^63");
  return number.digits << shift;
}

Result<std::int64_t> parse_rate(std::string_view text) {
  constexpr std::array<Unit, 13> kRates{{{"B/s", 8},
                                         {"KB/s", 8'000},
                                         {"MB/s", 8'000'000},
                                         {"GB/s", 8'000'000'000},
                                         {"TB/s", 8'000'000'000'000},
                                         {"KiB/s", 8LL << 10},
                                         {"MiB/s", 8LL << 20},
                                         {"GiB/s", 8LL << 30},
                                         {"TiB/s", 8LL << 40},
                                         {"Kb/s", 1'000},
                                         {"Mb/s", 1'000'000},
                                         {"Gb/s", 1'000'000'000},
                                         {"Tb/s", 1'000'000'000'000}}};  // in bits
  const Number number = read_number(text);
  if (!number.ok) return problem("not a rate", text, kRateLegal);
  if (number.rest.empty()) return problem("a rate needs a unit", text, kRateLegal);
  for (const Unit& unit : kRates) {
    if (number.rest != unit.word) continue;
    if (number.negative || number.digits == 0)
      return problem("a rate must be above 0", text, kRateLegal,
                     "a link without any flow is the fault link_down");
    __int128 power = 8;
    for (int i = 0; i < number.fraction_digits && i < 18; ++i) power *= 10;
    const __int128 bits = static_cast<__int128>(number.digits) * unit.factor;
    if (number.too_big || bits / power > kMax)
      return problem("the rate is too big", text, "below 2^63 bytes/s");
    if (bits % power != 0) return problem("a rate is a whole number of bytes a second", text, kRateLegal);
    return static_cast<std::int64_t>(bits / power);
  }
  return problem("unknown unit of rate", text, kRateLegal);
}

std::string rate_text(std::int64_t bytes_per_s) {
  constexpr std::int64_t kGiga = 1'000'000'000;
  std::string out;
  append_int(out, bytes_per_s / kGiga);
  if (bytes_per_s % kGiga != 0) {
    std::string digits = std::to_string(bytes_per_s % kGiga);
    digits.insert(0, 9 - digits.size(), '0');
    while (digits.back() == '0') digits.pop_back();
    out += '.' + digits;
  }
  return out + "GB/s";
}

}  // namespace ringside::sim
