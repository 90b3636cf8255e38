// "Did you mean …?": the legal word nearest to a mistyped one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ringside::sim {

/// The word with the smallest edit distance, if it is near enough to be a typing error (at most a third of
/// the length, at least 1). Ties go to the earlier word.
std::optional<std::string_view> nearest_word(std::string_view typed,
                                             const std::vector<std::string_view>& words);

/// `did you mean "ring"?`, or empty.
std::string did_you_mean(std::string_view typed, const std::vector<std::string_view>& words);

/// "ring, naive, tree": a list of words for a message.
std::string join_words(const std::vector<std::string_view>& words);

}  // namespace ringside::sim
