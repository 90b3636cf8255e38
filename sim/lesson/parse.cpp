#include <algorithm>
#include <array>

#include "sim/base/nearest.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/toml.hpp"
#include "sim/lesson/lesson.hpp"

namespace ringside::sim {
namespace {

using Names = std::vector<std::string_view>;

/// Keeps the first problem; reading goes on with defaults.
class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}
  const std::optional<Error>& error() const { return error_; }

  void fail(const toml::node& where, std::string what, std::string text = {}, std::string legal = {},
            std::string hint = {}) {
    if (error_) return;
    const auto begin = where.source().begin;
    error_ = Error{std::move(what),
                   std::string(file_),
                   static_cast<int>(begin.line),
                   static_cast<int>(begin.column),
                   std::move(text),
                   std::move(legal),
                   std::move(hint)};
  }

  void only(const toml::table& table, const Names& keys) {
    for (const auto& [key, node] : table) {
      const std::string_view name = key.str();
      if (std::find(keys.begin(), keys.end(), name) != keys.end()) continue;
      if (error_) return;
      const auto begin = key.source().begin;
      error_ = Error{
          "unknown key",     std::string(file_), static_cast<int>(begin.line), static_cast<int>(begin.column),
          std::string(name), join_words(keys),   did_you_mean(name, keys)};
    }
  }

  std::string string(const toml::table& table, std::string_view key, bool required = false) {
    const toml::node* node = table.get(key);
    if (node == nullptr) {
      if (required) fail(table, "missing key \"" + std::string(key) + "\"");
      return {};
    }
    const auto text = node->value_exact<std::string>();
    if (!text) fail(*node, "must be a string", std::string(key));
    return text.value_or("");
  }

  std::string word(const toml::table& table, std::string_view key, const Names& legal) {
    const std::string text = string(table, key);
    if (!text.empty() && std::find(legal.begin(), legal.end(), text) == legal.end()) {
      fail(*table.get(key), "unknown value", text, join_words(legal), did_you_mean(text, legal));
    }
    return text;
  }

  std::int64_t integer(const toml::table& table, std::string_view key, std::int64_t fallback,
                       std::int64_t low, std::int64_t high) {
    const toml::node* node = table.get(key);
    if (node == nullptr) return fallback;
    const auto value = node->value_exact<std::int64_t>();
    if (!value || *value < low || *value > high) {
      fail(*node, "must be an integer", std::string(key), std::to_string(low) + " … " + std::to_string(high));
      return fallback;
    }
    return *value;
  }

  LocalText text(const toml::table& table, std::string_view key, bool required = false) {
    const toml::node* node = table.get(key);
    if (node == nullptr) {
      if (required) fail(table, "missing key \"" + std::string(key) + "\"", {}, "{ en = \"…\", ko = \"…\" }");
      return {};
    }
    return text_of(*node, key);
  }

  LocalText text_of(const toml::node& node, std::string_view key) {
    const toml::table* both = node.as_table();
    if (both == nullptr) {
      fail(node, "must be a text in both languages", std::string(key), "{ en = \"…\", ko = \"…\" }");
      return {};
    }
    only(*both, {"en", "ko"});
    return {string(*both, "en", true), string(*both, "ko")};
  }

  std::vector<const toml::table*> tables(const toml::table& table, std::string_view key) {
    std::vector<const toml::table*> out;
    const toml::node* node = table.get(key);
    if (node == nullptr) return out;
    const toml::array* list = node->as_array();
    if (list == nullptr) {
      fail(*node, "must be a list", std::string(key));
      return out;
    }
    for (const toml::node& item : *list) {
      if (const toml::table* entry = item.as_table()) {
        out.push_back(entry);
      } else {
        fail(item, "must be a table", std::string(key));
      }
    }
    return out;
  }

 private:
  std::string_view file_;
  std::optional<Error> error_;
};

Condition read_condition(Reader& reader, const toml::table& table) {
  Names facts;
  for (const FactInfo& info : lesson_facts()) facts.push_back(info.name);
  reader.only(table, {"fact", "is", "is_not", "at_least", "at_most", "rank", "element"});
  Condition condition;
  condition.line = static_cast<int>(table.source().begin.line);
  condition.fact = reader.word(table, "fact", facts);
  if (condition.fact.empty()) reader.fail(table, "a condition names a fact", {}, join_words(facts));
  condition.rank = reader.integer(table, "rank", -1, 0, 1'048'575);
  condition.element = reader.integer(table, "element", -1, 0, INT64_MAX);
  constexpr std::array<std::string_view, 4> kComparisons{"is", "is_not", "at_least", "at_most"};
  int found = 0;
  for (std::size_t i = 0; i < kComparisons.size(); ++i) {
    const toml::node* node = table.get(kComparisons[i]);
    if (node == nullptr) continue;
    ++found;
    condition.comparison = static_cast<Comparison>(i);
    if (const auto word = node->value_exact<std::string>()) {
      condition.value = *word;
    } else if (const auto number = node->value<double>()) {
      condition.value = *number;
    } else {
      reader.fail(*node, "must be a number or a word");
    }
  }
  if (found != 1)
    reader.fail(table, "a condition has exactly one comparison", {}, "is, is_not, at_least, at_most");
  for (const FactInfo& info : lesson_facts()) {
    if (info.name != condition.fact) continue;
    if (info.is_word != std::holds_alternative<std::string>(condition.value))
      reader.fail(table, info.is_word ? "this fact is a word" : "this fact is a number", condition.fact);
    if (info.is_word && condition.comparison >= Comparison::AtLeast)
      reader.fail(table, "words are compared with is or is_not", condition.fact);
    if (info.needs_rank && condition.rank < 0) reader.fail(table, "this fact needs rank = …", condition.fact);
    if (info.needs_element && condition.element < 0)
      reader.fail(table, "this fact needs element = …", condition.fact);
  }
  return condition;
}

Question read_question(Reader& reader, const toml::table& table) {
  reader.only(table, {"text", "choices", "answer", "why"});
  Question question;
  question.text = reader.text(table, "text", true);
  question.why = reader.text(table, "why", true);
  for (const toml::table* choice : reader.tables(table, "choices"))
    question.choices.push_back(reader.text_of(*choice, "choices"));
  if (question.choices.size() < 2) reader.fail(table, "a question has at least two choices");
  const auto last = static_cast<std::int64_t>(std::max<std::size_t>(1, question.choices.size()));
  if (table.get("answer") == nullptr)
    reader.fail(table, "missing key \"answer\"", {}, "1 … " + std::to_string(last));
  question.answer = static_cast<std::size_t>(reader.integer(table, "answer", 1, 1, last) - 1);
  return question;
}

bool has_number(std::string_view at, std::string_view prefix) {
  if (!at.starts_with(prefix)) return false;
  const std::string_view number = at.substr(prefix.size());
  return !number.empty() && number.size() < 10 &&
         number.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Places that belong to a scene and not to a trace; "+" joins several.
constexpr std::array<std::string_view, 20> kOwnPlaces{
    "flat",       "pictures",    "model", "linear",                                            // tensor
    "nccl",       "detail",      "gloo",  "mpi",   "all",       "half", "absent",              // same-shape
    "other_count", "tail",       "same_count", "same_width", "other_width", "op", "order", "skip", "construction"};

/// The duel's: "source:model,preset:dgx-h100,nodes:2,bytes:65536,sides:Ring+Tree"; the scene judges the values.
bool is_duel_place(std::string_view at) {
  constexpr std::array<std::string_view, 8> kKeys{"source", "preset", "nodes", "bytes", "sides", "clock", "x", "y"};
  while (true) {
    const std::size_t comma = at.find(',');
    const std::string_view part = at.substr(0, comma);
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos || colon + 1 == part.size() ||
        std::find(kKeys.begin(), kKeys.end(), part.substr(0, colon)) == kKeys.end())
      return false;
    if (comma == std::string_view::npos) return true;
    at.remove_prefix(comma + 1);
  }
}

bool is_own_place(std::string_view at) {
  if (is_duel_place(at)) return true;
  while (true) {
    const std::size_t plus = at.find('+');
    const std::string_view word = at.substr(0, plus);
    const bool shape = word.starts_with("shape:") && word.size() > 6 &&
                       word.find_first_not_of("0123456789x", 6) == std::string_view::npos;
    if (!shape && !has_number(word, "rung:") && !has_number(word, "part:") && std::find(kOwnPlaces.begin(), kOwnPlaces.end(), word) == kOwnPlaces.end())
      return false;
    if (plus == std::string_view::npos) return true;
    at.remove_prefix(plus + 1);
  }
}

void check_place(Reader& reader, const toml::table& table, const std::string& at) {
  if (at.empty() || is_time_place(at) || is_own_place(at)) return;
  reader.fail(*table.get("at"), "not a place", at,
              "start, end, ring:N, step:N, event:N, a duration such as 30ms; tensor scene: rung:N, shape:2x3, flat, pictures, "
              "model, linear; same-shape scene: part:N, all, half, absent, or a row and a library such as "
              "other_count+nccl; duel: source:model,preset:dgx-h100,nodes:2,bytes:65536,sides:Ring+Tree");
}

constexpr std::array<std::string_view, 16> kHighlights{
    "rank",   "chunk", "link",      "element", "goal",    "dial", "log",  "now",
    "legend", "edit",  "transport", "shape",   "strides", "bits", "loss", "weights"};

void read_places(Reader& reader, const toml::table& table, std::string_view key, std::vector<std::string>& out) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return;
  const toml::array* list = node->as_array();
  if (list == nullptr) return reader.fail(*node, "must be a list of strings", std::string(key));
  for (const toml::node& item : *list) {
    const std::string name = item.value_exact<std::string>().value_or("");
    const std::string head = name.substr(0, name.find(':'));
    if (std::find(kHighlights.begin(), kHighlights.end(), head) == kHighlights.end())
      return reader.fail(
          item, "unknown place", name,
          join_words(Names(kHighlights.begin(), kHighlights.end())) + " (rank:N, chunk:N, link:A-B)");
    out.push_back(name);
  }
}

LessonStep read_step(Reader& reader, const toml::table& table) {
  reader.only(table, {"text", "scene", "scenario", "at", "highlight", "cover", "question", "until", "task", "card"});
  LessonStep step;
  step.line = static_cast<int>(table.source().begin.line);
  step.text = reader.text(table, "text", true);
  step.scene = reader.word(table, "scene", lesson_scenes());
  step.scenario = reader.string(table, "scenario");
  if (step.scenario.find("..") != std::string::npos || step.scenario.starts_with("/"))
    reader.fail(*table.get("scenario"), "a scenario of a lesson lies in assets/scenarios", step.scenario);
  step.at = reader.string(table, "at");
  check_place(reader, table, step.at);
  read_places(reader, table, "highlight", step.highlight);
  read_places(reader, table, "cover", step.cover);
  if (const toml::node* node = table.get("question")) {
    if (const toml::table* question = node->as_table()) {
      step.question = read_question(reader, *question);
    } else {
      reader.fail(*node, "must be a table", "question");
    }
  } else if (const toml::node* cover = table.get("cover")) {
    reader.fail(*cover, "cover hides what a question asks for", "cover", {}, "add a question");
  }
  for (const toml::table* condition : reader.tables(table, "until"))
    step.until.push_back(read_condition(reader, *condition));
  step.task = reader.text(table, "task", !step.until.empty());
  if (const toml::node* node = table.get("card")) {
    if (const toml::table* card = node->as_table()) {
      reader.only(*card, {"lesson", "real", "try"});
      step.card = RealStackCard{reader.text(*card, "lesson", true), reader.text(*card, "real", true),
                                reader.text(*card, "try", true)};
    } else {
      reader.fail(*node, "must be a table", "card");
    }
  }
  return step;
}

}  // namespace

bool is_time_place(std::string_view at) {
  return at == "start" || at == "end" || has_number(at, "ring:") || has_number(at, "step:") ||
         has_number(at, "event:") || parse_duration(at);
}

Result<Lesson> parse_lesson(std::string_view toml_text, std::string_view file_name) {
  const auto parsed = parse_toml(toml_text, file_name);
  if (!parsed) return parsed.error();
  const toml::table& table = *parsed;
  Reader reader(file_name);
  reader.only(table, {"id", "title", "order", "step"});
  Lesson lesson;
  lesson.file = file_name;
  lesson.id = reader.string(table, "id", true);
  if (lesson.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != std::string::npos)
    reader.fail(*table.get("id"), "not an id", lesson.id, "lower-case letters, digits and hyphens");
  lesson.title = reader.text(table, "title", true);
  lesson.order = reader.integer(table, "order", 0, 0, 1'000'000);
  for (const toml::table* step : reader.tables(table, "step"))
    lesson.steps.push_back(read_step(reader, *step));
  if (lesson.steps.empty()) reader.fail(table, "a lesson has at least one [[step]]");
  if (reader.error()) return *reader.error();
  return lesson;
}

}  // namespace ringside::sim
