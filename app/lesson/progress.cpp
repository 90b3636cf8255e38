#include "app/lesson/progress.hpp"

#include <charconv>
#include <cstdlib>
#include <sstream>

#include "sim/base/toml.hpp"

namespace ringside::app {
namespace {

constexpr std::int64_t kMostSteps = 10'000;

sim::Error wrong(const toml::node& where, std::string_view file, std::string what) {
  return sim::Error{.what = std::move(what),
                    .file = std::string(file),
                    .line = static_cast<int>(where.source().begin.line),
                    .column = static_cast<int>(where.source().begin.column)};
}

/// A count from 1 as an index from 0.
bool read_index(const toml::node& node, int& out) {
  const auto value = node.value_exact<std::int64_t>();
  if (!value || *value < 1 || *value > kMostSteps) return false;
  out = static_cast<int>(*value - 1);
  return true;
}

sim::Result<LessonProgress> read_one(const toml::table& table, std::string_view file) {
  LessonProgress out;
  if (const toml::node* step = table.get("step"); step != nullptr && !read_index(*step, out.step))
    return wrong(*step, file, "step must be an integer from 1");
  out.done = table["done"].value_or(false);
  const toml::node* answers = table.get("answers");
  if (answers == nullptr) return out;
  if (!answers->is_table()) return wrong(*answers, file, "answers must be a table");
  for (const auto& [key, value] : *answers->as_table()) {
    int step = 0, choice = 0;
    const std::string_view name = key.str();
    const auto read = std::from_chars(name.data(), name.data() + name.size(), step);
    if (read.ec != std::errc{} || read.ptr != name.data() + name.size() || step < 1 ||
        !read_index(value, choice))
      return wrong(value, file, "an answer is step = choice, both from 1");
    out.answers[step - 1] = choice;
  }
  return out;
}

}  // namespace

const LessonProgress* Progress::of(std::string_view id) const {
  const auto found = lessons.find(id);
  return found == lessons.end() ? nullptr : &found->second;
}

int score_of(const sim::Lesson& lesson, const LessonProgress& progress) {
  int right = 0;
  for (const auto& [step, choice] : progress.answers) {
    if (step < 0 || static_cast<std::size_t>(step) >= lesson.steps.size()) continue;
    const auto& question = lesson.steps[static_cast<std::size_t>(step)].question;
    if (question && static_cast<std::size_t>(choice) == question->answer) ++right;
  }
  return right;
}

sim::Result<Progress> parse_progress(std::string_view text, std::string_view file) {
  const auto parsed = sim::parse_toml(text, file);
  if (!parsed) return parsed.error();
  const toml::table& table = *parsed;
  Progress out;
  out.last = table["last"].value_or(std::string());
  const toml::node* lessons = table.get("lesson");
  if (lessons == nullptr) return out;
  if (!lessons->is_table()) return wrong(*lessons, file, "lesson must be a table");
  for (const auto& [id, node] : *lessons->as_table()) {
    if (!node.is_table()) return wrong(node, file, "a lesson must be a table");
    auto one = read_one(*node.as_table(), file);
    if (!one) return one.error();
    out.lessons[std::string(id.str())] = std::move(*one);
  }
  return out;
}

std::string to_toml(const Progress& progress) {
  toml::table lessons;
  for (const auto& [id, one] : progress.lessons) {
    toml::table answers;
    for (const auto& [step, choice] : one.answers)
      answers.insert(std::to_string(step + 1), std::int64_t{choice} + 1);
    lessons.insert(
        id, toml::table{{"step", std::int64_t{one.step} + 1}, {"done", one.done}, {"answers", answers}});
  }
  std::ostringstream out;
  out << "# How far each lesson has been read. Delete this file to start over.\n"
      << toml::table{{"last", progress.last}, {"lesson", lessons}} << "\n";
  return out.str();
}

std::string state_folder() {
  const auto environment = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  const std::string state = environment("XDG_STATE_HOME"), home = environment("HOME");
  if (!state.empty()) return state + "/ringside";
  return home.empty() ? "" : home + "/.local/state/ringside";
}

}  // namespace ringside::app
