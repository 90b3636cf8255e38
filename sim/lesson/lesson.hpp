// A lesson: a text file (TOML) that a teacher can write without touching C++. Steps with text, what to show,
// what to look at, a prediction asked before it is shown, and a condition on what happened (never "a button
// was clicked").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/base/result.hpp"

namespace ringside::sim {

/// The same sentence in both languages. English is required; Korean falls back to it.
struct LocalText {
  std::string en, ko;
  const std::string& in(bool korean) const { return korean && !ko.empty() ? ko : en; }
  bool empty() const { return en.empty(); }
};

/// A number or a word.
using FactValue = std::variant<double, std::string>;

enum class Comparison : std::uint8_t { Is, IsNot, AtLeast, AtMost };

/// "ring_step at least 3", "value of element 0 on rank 2 is 20".
struct Condition {
  std::string fact;
  Comparison comparison = Comparison::Is;
  FactValue value;
  std::int64_t rank = -1, element = -1;  // what the fact is about, where it is about something
  int line = 0;
};

struct Question {
  LocalText text;
  std::vector<LocalText> choices;
  std::size_t answer = 0;  // index into choices
  LocalText why;           // shown after the choice, right or wrong
};

/// "In the lesson · In the real stack · Try it": never calls the lesson wrong.
struct RealStackCard {
  LocalText lesson, real, attempt;
};

struct LessonStep {
  LocalText text;
  std::string scene;     // scene id; empty = stay
  std::string scenario;  // file in assets/scenarios; empty = stay
  std::string at;        // "start", "end", "ring:N", "step:N", a duration, or a scene's own; empty = stay
  std::vector<std::string>
      highlight;  // "rank:2", "chunk:1", "link:0-1", "goal", "dial", "log", "transport", "shape" …
  std::optional<Question> question;
  std::vector<std::string> cover;  // named as in highlight: hidden while the question is open
  std::vector<Condition> until;  // all must hold; empty = the reader goes on when ready
  LocalText task;                // what to do so that `until` comes true; required with it
  std::optional<RealStackCard> card;
  int line = 0;
};

struct Lesson {
  std::string id;  // letters, digits, hyphens: also the key of its progress
  LocalText title;
  std::int64_t order = 0;
  std::vector<LessonStep> steps;
  std::string file;
};

/// Parses and checks a lesson. Unknown keys, scenes, facts, highlights, places and answers out of range are
/// Errors with line, column and what is legal.
Result<Lesson> parse_lesson(std::string_view toml_text, std::string_view file_name);

/// A fact that conditions may ask for.
struct FactInfo {
  std::string_view name;
  bool is_word = false;
  bool needs_rank = false, needs_element = false;
  std::string_view meaning;
};
const std::vector<FactInfo>& lesson_facts();
const std::vector<std::string_view>& lesson_scenes();
/// True for places in a trace: "start", "end", "ring:N", "step:N", "event:N", a duration. Others belong to a scene.
bool is_time_place(std::string_view at);

}  // namespace ringside::sim
