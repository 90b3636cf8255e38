// Paired alternating measurements: what the ratio of two ways is, and how well that is known.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

namespace ringside::bench {

struct Interval {
  double median = 0, low = 0, high = 0;  // 95 %
};

/// Median of the values and its distribution-free 95 % interval by order statistics (of few values: all of them).
inline Interval median_interval(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  const auto half = 1.96 * std::sqrt(n) / 2;
  const auto low = static_cast<std::ptrdiff_t>(std::max(0.0, std::floor(n / 2 - half)));
  const auto high = static_cast<std::ptrdiff_t>(std::min(n - 1, std::ceil(n / 2 + half)));
  const auto at = [&](std::ptrdiff_t i) { return values[static_cast<std::size_t>(i)]; };
  const auto middle = static_cast<std::ptrdiff_t>(values.size() / 2);
  const double median = values.size() % 2 == 1 ? at(middle) : (at(middle - 1) + at(middle)) / 2;
  return {median, at(low), at(high)};
}

/// Ratio of each pair, first over second.
inline Interval ratio_interval(const std::vector<double>& first, const std::vector<double>& second) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i) ratios.push_back(first[i] / second[i]);
  return median_interval(std::move(ratios));
}

}  // namespace ringside::bench
