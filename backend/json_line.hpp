// One line of JSON, read without copies: the raw text of every value is kept, so that numbers are read in
// their own type (a float32 as a float32, "-0" with its sign), which a general document would lose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ringside::backend {

struct JsonValue {
  enum class Kind : std::uint8_t { Null, Boolean, Number, String, Array, Object };
  Kind kind = Kind::Null;
  std::string_view raw;  // the value's text; of a string: between the quotes, escapes in place
};

struct JsonField {
  std::string_view key;  // between the quotes, escapes in place: no key of ours has any
  JsonValue value;
};

/// Where and why a text is no JSON. `at` counts bytes from 0.
struct JsonProblem {
  std::size_t at = 0;
  const char* what = nullptr;
};

/// The fields of one object that fills the whole text. Values inside are checked to a depth of 16.
std::optional<JsonProblem> parse_json_object(std::string_view text, std::vector<JsonField>& fields);
/// The elements of one array that fills the whole text.
std::optional<JsonProblem> parse_json_array(std::string_view text, std::vector<JsonValue>& elements);

/// The text of a string value; nothing for a bad escape.
std::optional<std::string> decode_json_string(const JsonValue& value);

}  // namespace ringside::backend
