#include "app/i18n/titles.hpp"

#include "app/i18n/i18n.hpp"

namespace ringside::app {

std::string known_title(const std::string& title) {
  constexpr std::string_view kSection = "title.";
  const auto& english = text_table(Lang::En);
  for (auto at = english.lower_bound(std::string(kSection));
       at != english.end() && at->first.starts_with(kSection); ++at)
    if (at->second == title) return tr_word("title", at->first.substr(kSection.size()));
  return title;
}

}  // namespace ringside::app
