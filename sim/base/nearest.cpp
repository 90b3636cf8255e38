#include "sim/base/nearest.hpp"

#include <algorithm>
#include <cstddef>

namespace ringside::sim {
namespace {

/// Levenshtein's distance, with upper and lower case, '-' and '_' taken as equal.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  const auto fold = [](char c) {
    if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
    return c == '-' ? '_' : c;
  };
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t up = row[j];
      const std::size_t change = fold(a[i - 1]) == fold(b[j - 1]) ? 0U : 1U;
      row[j] = std::min({row[j - 1] + 1, up + 1, diagonal + change});
      diagonal = up;
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string_view> nearest_word(std::string_view typed,
                                             const std::vector<std::string_view>& words) {
  constexpr std::size_t kLongest = 64;  // nothing longer is a word of ours
  if (typed.empty() || typed.size() > kLongest) return std::nullopt;
  std::optional<std::string_view> best;
  std::size_t best_distance = std::max<std::size_t>(typed.size() / 3, 1) + 1;
  for (const std::string_view word : words) {
    const std::size_t distance = edit_distance(typed, word);
    if (distance < best_distance) {
      best = word;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view typed, const std::vector<std::string_view>& words) {
  const auto word = nearest_word(typed, words);
  return word ? "did you mean \"" + std::string(*word) + "\"?" : std::string();
}

std::string join_words(const std::vector<std::string_view>& words) {
  std::string out;
  for (const std::string_view word : words) {
    if (!out.empty()) out += ", ";
    out += word;
  }
  return out;
}

}  // namespace ringside::sim
