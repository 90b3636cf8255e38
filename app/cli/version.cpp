// `ringside-cli version`: what this build is.
#include <fmt/core.h>

#include <memory>

#include "app/cli/command.hpp"
#include "sim/base/json_writer.hpp"

namespace ringside::app {

void add_version(CLI::App& program, ExitCode& exit) {
  auto* command = program.add_subcommand("version", "Print the version and what this build was made with");
  const auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "Print one JSON object on stdout and nothing else");
  command->footer("Example:\n  ringside-cli version");
  command->callback([as_json, &exit] {
    std::string out;
    if (*as_json) {
      sim::JsonWriter json(out);
      json.begin_object().field("ringside", RINGSIDE_VERSION).field("build", RINGSIDE_BUILD_TYPE);
      json.field("compiler", RINGSIDE_COMPILER).end_object();
      out += '\n';
    } else {
      out = fmt::format("Ringside {} ({}, {})\n", RINGSIDE_VERSION, RINGSIDE_BUILD_TYPE, RINGSIDE_COMPILER);
    }
    exit.value = print(out) ? kDone : kCouldNot;
  });
}

}  // namespace ringside::app
