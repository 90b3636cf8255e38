#include "app/shell/format.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "app/i18n/i18n.hpp"

namespace ringside::app {
namespace {

constexpr std::int64_t kMicro = 1'000, kMilli = 1'000'000, kSecond = 1'000'000'000;

/// Tenths, cut, not rounded: a clock never shows a time that has not come.
std::string tenths(std::int64_t t, std::int64_t unit, const char* name) {
  const std::int64_t n = t / (unit / 10);
  return fmt::format("{}.{} {}", n / 10, n % 10, name);
}

}  // namespace

std::string format_clock(std::int64_t t, std::int64_t total) {
  if (total < 10 * kMicro) return fmt::format("{} ns", t);
  if (total < 10 * kMilli) return tenths(t, kMicro, "μs");
  if (total < 10 * kSecond) return tenths(t, kMilli, "ms");
  if (total < 600 * kSecond) return tenths(t, kSecond, "s");
  const std::int64_t s = t / kSecond;
  return total < 3600 * kSecond ? fmt::format("{}:{:02}", s / 60, s % 60)
                                : fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

std::string format_speed(double simulated_ns_per_s) {
  struct Unit {
    double ns;
    const char* name;
  };
  constexpr std::array kUnits = {Unit{1, "1 ns"},     Unit{1e3, "1 μs"},   Unit{1e6, "1 ms"},
                                 Unit{1e9, "1 s"},    Unit{60e9, "1 min"}, Unit{3600e9, "1 h"},
                                 Unit{86400e9, "1 d"}};
  for (const Unit& unit : kUnits) {
    const double wall = unit.ns / simulated_ns_per_s;
    if (wall < 0.05 && &unit != &kUnits.back()) continue;
    const std::string seconds =
        wall >= 10 ? fmt::format("{:.0f}", wall) : fmt::format("{:g}", std::round(wall * 100) / 100);
    return tr("transport.speed_value", {unit.name, seconds});
  }
  return {};
}

}  // namespace ringside::app
