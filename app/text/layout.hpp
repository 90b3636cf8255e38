// Text that fits: wrapped at spaces, shortened with an ellipsis. Layout comes from measured text only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/text/fonts.hpp"

namespace ringside::app {

/// Lines no wider than `width`: broken at spaces; a single word that is too long is broken inside. At most
/// `max_lines` (0 = no limit); then the last line ends in an ellipsis.
std::vector<std::string> wrap(const TextMeasurer& measure, std::string_view text, float width, float size,
                              Face face = Face::Regular, int max_lines = 0);

/// The text, or its beginning and an ellipsis if it is wider than `width`.
std::string fit(const TextMeasurer& measure, std::string_view text, float width, float size,
                Face face = Face::Regular);

/// The largest of the sizes (largest first) at which the text is no wider than `width`; the last one
/// otherwise.
float size_that_fits(const TextMeasurer& measure, std::string_view text, float width,
                     std::initializer_list<float> sizes, Face face = Face::Regular);

}  // namespace ringside::app
