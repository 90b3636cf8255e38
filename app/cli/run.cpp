// `ringside-cli run`: simulates a scenario and says what came out.
#include <filesystem>
#include <future>
#include <memory>

#include "app/cli/command.hpp"
#include "app/cli/run_report.hpp"
#include "backend/files.hpp"
#include "backend/perfetto.hpp"
#include "backend/trace_file.hpp"
#include "sim/diagnosis/from_trace.hpp"

namespace ringside::app {
namespace {

struct RunOptions {
  std::string file, trace, perfetto, machine;
  bool json = false, allow_outside = false;
};

bool same_file(const std::string& a, const std::string& b) {
  namespace fs = std::filesystem;
  std::error_code failed;
  if (fs::equivalent(a, b, failed)) return true;
  return fs::absolute(a, failed).lexically_normal() == fs::absolute(b, failed).lexically_normal();
}

/// Outputs that would overwrite the input or each other.
std::optional<sim::Error> clash(const RunOptions& options) {
  sim::Error error;
  const auto refuse = [&](const std::string& file, const char* what) {
    error.file = file;
    error.what = what;
    return error;
  };
  if (!options.trace.empty() && same_file(options.trace, options.file))
    return refuse(options.trace, "--trace would overwrite the scenario");
  if (!options.perfetto.empty() && same_file(options.perfetto, options.file))
    return refuse(options.perfetto, "--perfetto would overwrite the scenario");
  if (!options.trace.empty() && !options.perfetto.empty() && same_file(options.trace, options.perfetto))
    return refuse(options.perfetto, "--trace and --perfetto name the same file");
  return std::nullopt;
}

/// Both files are complete before either appears.
sim::Status write_outputs(const RunOptions& options, const sim::Trace& trace) {
  std::optional<backend::AtomicFile> events, perfetto;
  const auto open = [](const std::string& path, std::optional<backend::AtomicFile>& file) -> sim::Status {
    if (path.empty()) return sim::ok();
    auto created = backend::AtomicFile::create(path);
    if (!created) return created.error();
    file = std::move(*created);
    return sim::ok();
  };
  if (auto done = open(options.trace, events); !done) return done;
  if (auto done = open(options.perfetto, perfetto); !done) return done;
  if (events) {
    if (auto done = backend::write_trace(trace, [&](std::string_view bytes) { return events->write(bytes); });
        !done)
      return done;
  }
  if (perfetto) {
    const auto sink = [&](std::string_view bytes) { return perfetto->write(bytes); };
    if (auto done = backend::write_perfetto(trace, sink); !done) return done;
  }
  if (events) {
    if (auto done = events->commit(); !done) return done;
  }
  return perfetto ? perfetto->commit() : sim::ok();
}

int run(const RunOptions& options) {
  if (const auto error = clash(options)) return report(*error, options.json, kBadInput);
  auto scenario = backend::load_scenario(options.file, options.allow_outside);
  if (!scenario) return report(scenario.error(), options.json, kBadInput);
  if (!options.machine.empty()) {
    const auto machine = load_machine(options.machine);
    if (!machine) return report(machine.error(), options.json, kBadInput);
    sim::put_on_machine(*scenario, *machine);
  }
  const sim::Simulation simulation = sim::simulate(*scenario);
  if (auto written = write_outputs(options, simulation.trace); !written)
    return report(written.error(), options.json, kCouldNot);
  // Both only read the trace: the hash goes through every byte of it while the diagnosis is made.
  auto hash = std::async(std::launch::async, [&] { return backend::trace_hash(simulation.trace); });
  const sim::Diagnosis diagnosis = sim::diagnose(simulation.trace);
  const RunReport result{*scenario, simulation, diagnosis, hash.get()};
  return print(options.json ? run_json(result) : run_text(result)) ? kDone : kCouldNot;
}

}  // namespace

void add_run(CLI::App& program, ExitCode& exit) {
  auto* command = program.add_subcommand("run", "Simulate a scenario: outcome, numbers, time, diagnosis");
  const auto options = std::make_shared<RunOptions>();
  command->add_option("FILE", options->file, "The scenario, a .toml file")->required();
  command->add_flag("--json", options->json, "Print one JSON object on stdout and nothing else");
  command
      ->add_option("--machine", options->machine,
                   "Links and reductions of a machine that measure found, instead of the scenario's")
      ->type_name("FILE.toml");
  command->add_option("--trace", options->trace, "Write every event, one JSON object a line")
      ->type_name("OUT.jsonl");
  command->add_option("--perfetto", options->perfetto, "Write a timeline for ui.perfetto.dev")
      ->type_name("OUT.json");
  command->add_flag("--allow-outside", options->allow_outside,
                    "Let the scenario name files outside its own folder");
  command->footer(
      "Example:\n  ringside-cli run assets/scenarios/four-gpus.toml --json --trace events.jsonl\n\n"
      "Exit status 0 also when the simulated job fails: that is the result.");
  command->callback([options, &exit] { exit.value = run(*options); });
}

}  // namespace ringside::app
