// Sentences that the engine itself writes (a diagnosis, its evidence, the next steps) in the person's
// language.
#pragma once

#include <string>
#include <string_view>

namespace ringside::app {

/// The engine writes English. The section "phrase" of the language files holds every sentence it can write as
/// a pattern ("{0} ended by {1}."); the pattern that matches is filled in in the current language. What
/// matches none (a command, a line of a log) comes back as it is.
std::string known_phrase(std::string_view text);
/// Whether a pattern matches (tests: nothing that the engine says is left untranslated).
bool is_known_phrase(std::string_view text);

}  // namespace ringside::app
