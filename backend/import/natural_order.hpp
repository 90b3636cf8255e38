// Order of file names as a person expects it: rank_2 before rank_10.
#pragma once

#include <string_view>

namespace ringside::backend {

/// Runs of digits compare as numbers of any length; names that differ only in leading zeros compare byte by
/// byte, so the order is total.
inline bool natural_less(std::string_view a, std::string_view b) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      while (i < a.size() && a[i] == '0') ++i;
      while (j < b.size() && b[j] == '0') ++j;
      std::size_t m = i;
      std::size_t n = j;
      while (m < a.size() && digit(a[m])) ++m;
      while (n < b.size() && digit(b[n])) ++n;
      if (m - i != n - j) return m - i < n - j;
      const int order = a.substr(i, m - i).compare(b.substr(j, n - j));
      if (order != 0) return order < 0;
      i = m;
      j = n;
    } else {
      if (a[i] != b[j]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
      ++i;
      ++j;
    }
  }
  if (a.size() - i != b.size() - j) return a.size() - i < b.size() - j;
  return a < b;
}

}  // namespace ringside::backend
