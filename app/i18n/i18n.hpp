// Every text on screen comes from tr(key). Languages are TOML files with nested tables; a key missing in one
// language falls back to English, and then to the key itself (which a test refuses).
//
// Arguments are positional: "{0} adds {1}". Korean particles follow the last sound of an argument:
// "{0:이/가}",
// "{0:을/를}", "{0:은/는}", "{0:과/와}", "{0:으로/로}", "{0:이/}" give the argument with the right one.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "sim/base/result.hpp"

namespace ringside::app {

enum class Lang : std::uint8_t { En, Ko };
/// "en", "ko".
std::string_view to_word(Lang lang);

using TextTable = std::map<std::string, std::string, std::less<>>;

/// Parses one language file. `file` is for messages.
sim::Result<TextTable> parse_language(std::string_view toml, std::string_view file);
/// Loads every .toml of the folders en/ and ko/ (one file a scene; a key may stand in one file only) and makes
/// them current.
sim::Status load_languages(const std::string& folder);
/// For tests, and for the two languages separately.
void set_text_table(Lang lang, TextTable table);
const TextTable& text_table(Lang lang);

void set_language(Lang lang);
Lang language();
/// The language that LC_ALL, LC_MESSAGES or LANG ask for; Korean if they ask for nothing.
Lang language_of_environment();

/// The text of a key in the current language.
const std::string& tr(std::string_view key);
/// With its arguments put in.
std::string tr(std::string_view key, std::initializer_list<std::string_view> arguments);
/// A word of the model ("reduce_scatter", "sum") as people read it: the key `table`.`word`. The lint takes
/// every key of that table as used.
const std::string& tr_word(std::string_view table, std::string_view word);
/// True if the key exists in English.
bool has_text(std::string_view key);

/// Puts arguments into a pattern (what tr does after looking up).
std::string fill_pattern(std::string_view pattern, std::initializer_list<std::string_view> arguments);
/// "이/가" → the particle that fits after `word`: the first form after a consonant.
std::string_view josa(std::string_view forms, std::string_view word);

}  // namespace ringside::app
