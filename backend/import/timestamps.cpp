#include "backend/import/timestamps.hpp"

#include <array>

namespace ringside::backend {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// `count` digits at `at`, or -1.
int digits(std::string_view text, std::size_t at, std::size_t count) {
  if (at + count > text.size()) return -1;
  int value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (!is_digit(text[i])) return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

int month_from_name(std::string_view text) {
  static constexpr std::array<std::string_view, 12> kNames = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                              "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (text.substr(0, 3) == kNames[i]) return static_cast<int>(i) + 1;
  return -1;
}

bool is_date(int month, int day) {
  return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

}  // namespace

std::int64_t of_year(int month, int day, std::int64_t of_day_ns) {
  static constexpr std::array<int, 12> kBefore = {0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335};
  return (kBefore[static_cast<std::size_t>(month - 1)] + day - 1) * kDayNs + of_day_ns;
}

Stamp read_clock(std::string_view text) {
  const int hour = digits(text, 0, 2);
  const int minute = digits(text, 3, 2);
  const int second = digits(text, 6, 2);
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) return {};
  if (text[2] != ':' || text[5] != ':') return {};
  Stamp stamp;
  stamp.length = 8;
  std::int64_t fraction = 0;
  if (text.size() > 9 && (text[8] == '.' || text[8] == ',') && is_digit(text[9])) {
    std::int64_t unit = 100'000'000;
    std::size_t at = 9;
    for (; at < text.size() && is_digit(text[at]); ++at) {
      fraction += unit * (text[at] - '0');
      unit /= 10;
    }
    stamp.length = at;
  }
  stamp.t_ns = (hour * 3600 + minute * 60 + second) * kSecondNs + fraction;
  return stamp;
}

Stamp read_date_clock(std::string_view text) {
  if (text.size() < 19) return {};
  int month = -1;
  int day = -1;
  if (text[4] == '-' && text[7] == '-' && digits(text, 0, 4) >= 0) {
    month = digits(text, 5, 2);
    day = digits(text, 8, 2);
  } else if (text[4] == '/' && text[7] == '/' && digits(text, 0, 4) >= 0) {
    month = digits(text, 5, 2);
    day = digits(text, 8, 2);
  } else if (text[2] == '/' && text[5] == '/' && digits(text, 6, 4) >= 0) {
    month = digits(text, 0, 2);
    day = digits(text, 3, 2);
  }
  if (!is_date(month, day)) return {};
  const char between = text[10];
  if (between != ' ' && between != 'T' && between != '_') return {};
  Stamp stamp = read_clock(text.substr(11));
  if (stamp.length == 0) return {};
  stamp.t_ns = of_year(month, day, stamp.t_ns);
  stamp.dated = true;
  stamp.length += 11;
  // A zone is kept beside the time: two stamps are compared by it only if both have one.
  std::size_t at = stamp.length;
  if (at < text.size() && text[at] == 'Z') {
    ++at;
    stamp.zone_s = 0;
  } else if (at + 5 <= text.size() && (text[at] == '+' || text[at] == '-') && digits(text, at + 1, 2) >= 0) {
    const bool colon = text[at + 3] == ':';
    const int minutes = digits(text, at + (colon ? 4 : 3), 2);
    if (minutes >= 0) {
      const std::int32_t ahead = (digits(text, at + 1, 2) * 60 + minutes) * 60;
      stamp.zone_s = text[at] == '-' ? -ahead : ahead;
      at += colon ? 6 : 5;
    }
  }
  stamp.length = at;
  return stamp;
}

Stamp read_month_name(std::string_view text) {
  std::size_t at = 0;
  static constexpr std::array<std::string_view, 7> kDays = {"Mon ", "Tue ", "Wed ", "Thu ",
                                                            "Fri ", "Sat ", "Sun "};
  for (const std::string_view day_name : kDays)
    if (text.substr(0, 4) == day_name) at = 4;
  const int month = month_from_name(text.substr(at < text.size() ? at : 0));
  if (month < 0) return {};
  at += 3;
  const bool glued = at < text.size() && is_digit(text[at]);  // "Feb20 21:58", dmesg -H
  while (at < text.size() && text[at] == ' ') ++at;
  int day = digits(text, at, 2);
  std::size_t width = 2;
  if (day < 0) {
    day = digits(text, at, 1);
    width = 1;
  }
  if (!is_date(month, day)) return {};
  at += width;
  if (at >= text.size() || text[at] != ' ') return {};
  ++at;
  Stamp stamp;
  if (glued && digits(text, at, 2) >= 0 && digits(text, at + 3, 2) >= 0 && text[at + 2] == ':' &&
      (at + 5 >= text.size() || text[at + 5] != ':')) {
    stamp.t_ns = (digits(text, at, 2) * 60 + digits(text, at + 3, 2)) * 60 * kSecondNs;
    stamp.length = 5;
  } else {
    stamp = read_clock(text.substr(at));
    if (stamp.length == 0) return {};
  }
  stamp.t_ns = of_year(month, day, stamp.t_ns);
  stamp.dated = true;
  stamp.length += at;
  if (stamp.length + 5 <= text.size() && text[stamp.length] == ' ' &&
      digits(text, stamp.length + 1, 4) > 1990)
    stamp.length += 5;
  return stamp;
}

Stamp read_c10(std::string_view text, char& severity) {
  if (text.size() < 12) return {};
  const char letter = text[0];
  if (letter != 'I' && letter != 'W' && letter != 'E' && letter != 'F' && letter != 'V') return {};
  std::size_t at = 1;
  while (at < text.size() && is_digit(text[at])) ++at;
  const std::size_t count = at - 1;
  if ((count != 3 && count != 4 && count != 8) || at >= text.size() || text[at] != ' ') return {};
  const int day = digits(text, at - 2, 2);
  const int month = count == 3 ? digits(text, 1, 1) : digits(text, at - 4, 2);
  if (!is_date(month, day)) return {};
  Stamp stamp = read_clock(text.substr(at + 1));
  if (stamp.length == 0) return {};
  stamp.t_ns = of_year(month, day, stamp.t_ns);
  stamp.dated = true;
  stamp.length += at + 1;
  severity = letter;
  return stamp;
}

}  // namespace ringside::backend
