// The words of the field, in both languages, each with the place that shows it. Data, in
// assets/glossary.toml: a teacher can add words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/lesson/place.hpp"
#include "sim/lesson/lesson.hpp"

namespace ringside::app {

struct GlossaryWord {
  sim::LocalText word;            // "chunk", "청크(chunk)"
  std::vector<std::string> also;  // other spellings, for finding it
  sim::LocalText text;            // one or two sentences
  Place place;                    // a scene that shows it; empty if a lesson does
  std::string lesson;             // id of a lesson that shows it
  int step = 0;                   // of that lesson, from 0
  int line = 0;
};

struct Glossary {
  std::vector<GlossaryWord> words;  // in the order of the file: the order in which they are learned

  /// Words that a sentence uses, in the order in which they occur, at most `most`.
  std::vector<const GlossaryWord*> in_text(std::string_view text, std::size_t most) const;
  /// Those that a query finds: in their names first, then in their texts. An empty query finds all.
  std::vector<const GlossaryWord*> search(std::string_view query) const;
};

/// Parses a glossary file. Unknown keys, words without a text or a place are Errors with line and column.
sim::Result<Glossary> parse_glossary(std::string_view toml, std::string_view file);

}  // namespace ringside::app
