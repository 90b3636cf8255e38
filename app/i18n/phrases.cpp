#include "app/i18n/phrases.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "app/i18n/i18n.hpp"

namespace ringside::app {
namespace {

constexpr std::string_view kSection = "phrase.";
constexpr std::size_t kSlots = 10;

struct Match {
  std::array<std::string, kSlots> slots;
  std::size_t count = 0;
};

/// Matches `text` against "{0} ended by {1}.": literals in order, each slot as short as possible, the last
/// literal at the end. Slots are never empty.
std::optional<Match> match(std::string_view pattern, std::string_view text) {
  Match out;
  std::size_t at = 0, p = 0;
  std::optional<std::size_t> open;  // the slot that waits for its end
  std::size_t slot_begin = 0;
  while (p <= pattern.size()) {
    const std::size_t brace = std::min(pattern.find('{', p), pattern.size());
    const std::string_view literal = pattern.substr(p, brace - p);
    const bool last = brace == pattern.size();
    std::size_t found = at;
    if (open) {
      if (last) {
        if (text.size() < slot_begin + 1 + literal.size() || !text.ends_with(literal)) return std::nullopt;
        found = text.size() - literal.size();
      } else {
        found = text.find(literal, slot_begin + 1);
        if (found == std::string_view::npos) return std::nullopt;
      }
      out.slots[*open] = std::string(text.substr(slot_begin, found - slot_begin));
      out.count = std::max(out.count, *open + 1);
      open.reset();
    } else if (text.substr(at, literal.size()) != literal || (last && at + literal.size() != text.size())) {
      return std::nullopt;
    }
    at = found + literal.size();
    if (last) break;
    const auto slot = static_cast<std::size_t>(pattern[brace + 1] - '0');
    if (slot >= kSlots) return std::nullopt;
    open = slot;
    slot_begin = at;
    p = std::min(pattern.find('}', brace), pattern.size()) + 1;
  }
  return out;
}

/// "R1, R2 and R5", "R1 … R6 and 12 more": lists of ranks.
std::string list_in_language(std::string text) {
  if (text.empty() || text.front() != 'R') return text;
  const std::size_t more = text.rfind(" more"), last = text.rfind(" and ");
  if (last == std::string::npos) return text;
  const std::string_view all = text, before = all.substr(0, last), after = all.substr(last + 5);
  if (more != std::string::npos && more >= last + 5 && more + 5 == text.size())
    return tr("list.and_more", {before, after.substr(0, more - last - 5)});
  return tr("list.and", {before, after});
}

struct Found {
  std::string key;
  Match match;
};

std::optional<Found> find(std::string_view text) {
  const TextTable& english = text_table(Lang::En);
  std::optional<Found> best;
  std::size_t best_literals = 0;
  for (auto at = english.lower_bound(kSection); at != english.end() && at->first.starts_with(kSection);
       ++at) {
    auto matched = match(at->second, text);
    if (!matched) continue;
    // The pattern that says most itself is the right one.
    std::size_t taken = 0;
    for (const std::string& slot : matched->slots) taken += slot.size();
    const std::size_t literals = text.size() - taken + 1;
    if (literals <= best_literals) continue;
    best_literals = literals;
    best = Found{at->first, std::move(*matched)};
  }
  return best;
}

}  // namespace

std::string known_phrase(std::string_view text) {
  if (language() == Lang::En) return std::string(text);
  const auto found = find(text);
  if (!found) return std::string(text);
  std::array<std::string, kSlots> slots = found->match.slots;
  for (std::string& slot : slots) slot = list_in_language(std::move(slot));
  return fill_pattern(tr_word("phrase", std::string_view(found->key).substr(kSection.size())),
                      {slots[0], slots[1], slots[2], slots[3], slots[4], slots[5], slots[6], slots[7]});
}

bool is_known_phrase(std::string_view text) {
  return find(text).has_value();
}

}  // namespace ringside::app
