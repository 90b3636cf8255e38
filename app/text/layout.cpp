#include "app/text/layout.hpp"

#include "app/text/utf8.hpp"

namespace ringside::app {
namespace {

// NanumSquare draws U+2026 at mid-height, as Korean typography has it; three full stops read right in both
// languages.
constexpr std::string_view kEllipsis = "...";

/// Bytes of the longest beginning that is no wider than `width`; at least one character.
std::size_t longest_prefix(const TextMeasurer& measure, std::string_view text, float width, float size,
                           Face face) {
  std::size_t end = 0;
  float sum = 0;
  while (end < text.size()) {
    std::size_t next = end;
    next_code_point(text, next);
    sum += measure.width(text.substr(end, next - end), size, face);
    if (sum > width && end > 0) break;
    end = next;
    if (sum > width) break;
  }
  return end;
}

}  // namespace

std::string fit(const TextMeasurer& measure, std::string_view text, float width, float size, Face face) {
  if (measure.width(text, size, face) <= width) return std::string(text);
  const float room = width - measure.width(kEllipsis, size, face);
  std::string out(text.substr(0, room > 0 ? longest_prefix(measure, text, room, size, face) : 0));
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out + std::string(kEllipsis);
}

std::vector<std::string> wrap(const TextMeasurer& measure, std::string_view text, float width, float size,
                              Face face, int max_lines) {
  std::vector<std::string> lines;
  std::string line;
  const auto flush = [&] {
    lines.push_back(line);
    line.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\n') {
      flush();
      ++at;
      continue;
    }
    std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    if (text.substr(end).starts_with(" %"))  // "73 %" stays together
      end = std::min(text.find_first_of(" \n", end + 1), text.size());
    std::string_view word = text.substr(at, end - at);
    const std::string joined = line.empty() ? std::string(word) : line + " " + std::string(word);
    if (measure.width(joined, size, face) <= width) {
      line = joined;
    } else {
      if (!line.empty()) flush();
      while (measure.width(word, size, face) > width && word.size() > 1) {
        const std::size_t cut = longest_prefix(measure, word, width, size, face);
        if (cut >= word.size()) break;
        lines.emplace_back(word.substr(0, cut));
        word.remove_prefix(cut);
      }
      line = std::string(word);
    }
    at = end < text.size() && text[end] == ' ' ? end + 1 : end;
  }
  if (!line.empty() || lines.empty()) flush();
  if (max_lines > 0 && lines.size() > static_cast<std::size_t>(max_lines)) {
    std::string rest =
        lines[static_cast<std::size_t>(max_lines) - 1] + " " + lines[static_cast<std::size_t>(max_lines)];
    lines.resize(static_cast<std::size_t>(max_lines));
    lines.back() = fit(measure, rest + std::string(kEllipsis), width, size, face);
  }
  return lines;
}

float size_that_fits(const TextMeasurer& measure, std::string_view text, float width,
                     std::initializer_list<float> sizes, Face face) {
  float chosen = 0;
  for (const float size : sizes) {
    chosen = size;
    if (measure.width(text, size, face) <= width) break;
  }
  return chosen;
}

}  // namespace ringside::app
