// `ringside-cli check`: says whether a scenario or a lesson is valid, and where it is not.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "app/cli/assets.hpp"
#include "app/cli/command.hpp"
#include "backend/files.hpp"
#include "sim/base/json_writer.hpp"
#include "sim/base/text.hpp"
#include "sim/lesson/lesson.hpp"
#include "sim/model/preset.hpp"

namespace ringside::app {
namespace {

struct CheckOptions {
  std::string file;
  bool json = false, allow_outside = false;
};

/// A lesson has steps, a scenario never.
bool is_lesson(const std::string& text) {
  return text.find("[[step]]") != std::string::npos;
}

/// The first scenario that a lesson names and that is neither among the shipped ones beside its folder nor
/// beside the lesson itself.
std::optional<sim::Error> missing_scenario(const sim::Lesson& lesson, const std::string& file) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::absolute(file).parent_path();
  for (const sim::LessonStep& step : lesson.steps) {
    std::error_code none;
    if (step.scenario.empty() || fs::exists(folder / ".." / "scenarios" / step.scenario, none) ||
        fs::exists(folder / step.scenario, none))
      continue;
    if (read_asset({}, "scenarios/" + step.scenario)) continue;
    return sim::Error{.what = "there is no scenario of this name",
                      .file = file,
                      .line = step.line,
                      .text = step.scenario,
                      .legal = "a file of assets/scenarios, or one beside the lesson"};
  }
  return std::nullopt;
}

int check_lesson(const CheckOptions& options, const std::string& text) {
  const auto lesson = sim::parse_lesson(text, options.file);
  if (!lesson) return report(lesson.error(), options.json, kBadInput);
  if (const auto missing = missing_scenario(*lesson, options.file))
    return report(*missing, options.json, kBadInput);
  const auto count = [&](auto has) {
    return static_cast<std::int64_t>(std::count_if(lesson->steps.begin(), lesson->steps.end(), has));
  };
  const std::int64_t questions = count([](const sim::LessonStep& step) { return step.question.has_value(); });
  const std::int64_t tasks = count([](const sim::LessonStep& step) { return !step.until.empty(); });
  std::string out;
  if (options.json) {
    sim::JsonWriter json(out);
    json.begin_object().field("file", options.file).field("valid", true).field("lesson", lesson->id);
    json.field("title", lesson->title.en).field("steps", static_cast<std::int64_t>(lesson->steps.size()));
    json.field("questions", questions).field("tasks", tasks).end_object();
  } else {
    out = fmt::format("{}: valid. Lesson \"{}\", {} steps, {} questions, {} tasks",
                      sim::escape_for_display(options.file), sim::escape_for_display(lesson->title.en),
                      lesson->steps.size(), questions, tasks);
  }
  return print(out + "\n") ? kDone : kCouldNot;
}

int check(const CheckOptions& options) {
  constexpr std::int64_t kMaxLesson = std::int64_t{1} << 20;
  if (const auto text = backend::read_file(options.file, kMaxLesson); text && is_lesson(*text))
    return check_lesson(options, *text);
  const auto scenario = backend::load_scenario(options.file, options.allow_outside);
  if (!scenario) return report(scenario.error(), options.json, kBadInput);
  const std::int64_t count = scenario->tensor.shape.count();
  std::string out;
  if (options.json) {
    sim::JsonWriter json(out);
    json.begin_object().field("file", options.file).field("valid", true).field("title", scenario->title);
    json.field("world_size", scenario->world_size()).field("steps", scenario->training.steps);
    json.field("dtype", sim::to_word(scenario->tensor.dtype)).field("count", count);
    json.field("faults", static_cast<std::int64_t>(scenario->faults.size())).end_object();
  } else {
    out = fmt::format("{}: valid. {} ranks, {} {}, {} training steps, {} faults",
                      sim::escape_for_display(options.file), sim::with_commas(scenario->world_size()),
                      sim::to_word(scenario->tensor.dtype), scenario->tensor.shape.text(),
                      sim::with_commas(scenario->training.steps), scenario->faults.size());
  }
  return print(out + "\n") ? kDone : kCouldNot;
}

}  // namespace

void add_check(CLI::App& program, ExitCode& exit) {
  auto* command = program.add_subcommand("check", "Check a scenario or a lesson without running it");
  const auto options = std::make_shared<CheckOptions>();
  command->add_option("FILE", options->file, "The scenario or lesson, a .toml file")->required();
  command->add_flag("--json", options->json, "Print one JSON object on stdout and nothing else");
  command->add_flag("--allow-outside", options->allow_outside,
                    "Let the scenario name files outside its own folder");
  command->footer("Presets: " + sim::preset_names() +
                  ".\n\nExample:\n  ringside-cli check assets/scenarios/reference.toml\n\n"
                  "Exit status 0 if it is valid, else 2 and a message with line and column.");
  command->callback([options, &exit] { exit.value = check(*options); });
}

}  // namespace ringside::app
