// Titles of the scenarios that come with Ringside, in the person's language.
#pragma once

#include <string>

namespace ringside::app {

/// The translation of a shipped scenario's title (section "title" of the language files, found by its English
/// text); any other title as it is.
std::string known_title(const std::string& title);

}  // namespace ringside::app
