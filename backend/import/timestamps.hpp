// Reads the time stamps of a dozen loggers into one number, without a date library: the year is dropped,
// since c10 has none.
#pragma once

#include <cstdint>
#include <string_view>

namespace ringside::backend {

inline constexpr std::int64_t kSecondNs = 1'000'000'000;
inline constexpr std::int64_t kDayNs = 86'400 * kSecondNs;

inline constexpr std::int32_t kNoZone = INT32_MIN;

struct Stamp {
  std::int64_t t_ns = -1;  // from 1 January of its year if dated, otherwise from midnight
  bool dated = false;
  std::int32_t zone_s = kNoZone;  // what the stamp is ahead of UTC, if it says so; t_ns stays as printed
  std::size_t length = 0;         // characters read; 0 = no stamp here
};

/// "02:07:08", "02:07:08.408271257", "02:07:08,111" at the start of `text`.
Stamp read_clock(std::string_view text);
/// "2025-03-08T14:10:04.087Z", "2024-07-23 20:00:05,101", "2024-04-04_23:19:02", "12/14/2024 13:02:05".
Stamp read_date_clock(std::string_view text);
/// "Mon Nov 17 23:42:09 2025", "Nov 17 23:42:09", "Feb20 21:58" (kernel logs).
Stamp read_month_name(std::string_view text);
/// c10 and glog: "E321 02:07:08.408271257", "E0612 01:14:57.061000", "E20261130 10:45:05.335404". In the c10
/// form the last two digits are the day and the month is not padded. Sets `severity`.
Stamp read_c10(std::string_view text, char& severity);

/// Nanoseconds from 1 January, in a calendar where February has 29 days.
std::int64_t of_year(int month, int day, std::int64_t of_day_ns);

}  // namespace ringside::backend
