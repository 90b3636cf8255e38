// `ringside-cli scenes`: the views of the window, by the ids that --scene takes.
#include <fmt/core.h>

#include <array>
#include <memory>

#include "app/cli/command.hpp"
#include "sim/base/json_writer.hpp"

namespace ringside::app {
namespace {

struct SceneRow {
  std::string_view id, what;
};

constexpr std::array<SceneRow, 11> kScenes{{
    {"home", "Where to begin: lessons, scenarios, recordings"},
    {"tensor", "From numbers to tensors: shape, strides, element type"},
    {"same-shape", "Why every rank needs the same shape"},
    {"step", "One training step: forward, loss, backward, AllReduce, optimizer"},
    {"allreduce", "The ring AllReduce, chunk by chunk"},
    {"nan", "How one NaN reaches every rank"},
    {"cluster", "A whole cluster at rank level, and who stopped it"},
    {"detective", "A job has stopped: find out which rank did it, and how"},
    {"duel", "Two algorithms side by side"},
    {"live", "A real job, as its ranks report it"},
    {"incident", "Logs and dumps of a job that died"},
}};

}  // namespace

void add_scenes(CLI::App& program, ExitCode& exit) {
  auto* command = program.add_subcommand("scenes", "List the scenes of the window");
  const auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "Print one JSON object on stdout and nothing else");
  command->footer("Example:\n  ringside-cli scenes --json");
  command->callback([as_json, &exit] {
    std::string out;
    if (*as_json) {
      sim::JsonWriter json(out);
      json.begin_object().key("scenes").begin_array();
      for (const auto& scene : kScenes)
        json.begin_object().field("id", scene.id).field("what", scene.what).end_object();
      json.end_array().end_object();
      out += '\n';
    } else {
      for (const auto& scene : kScenes) out += fmt::format("{:<12} {}\n", scene.id, scene.what);
    }
    exit.value = print(out) ? kDone : kCouldNot;
  });
}

}  // namespace ringside::app
