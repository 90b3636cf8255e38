// `ringside-cli diagnose`: logs, dumps or a recording go in, a verdict comes out.
#include <fmt/core.h>

#include <memory>

#include "app/cli/command.hpp"
#include "app/cli/run_report.hpp"
#include "backend/import/diagnose.hpp"
#include "backend/trace_reader.hpp"
#include "sim/base/text.hpp"
#include "sim/diagnosis/from_trace.hpp"

namespace ringside::app {
namespace {

struct DiagnoseOptions {
  std::vector<std::string> paths;
  bool json = false;
};

int diagnose_trace(const std::string& path, bool json) {
  const auto read = backend::read_trace_file(path);
  if (!read) return report(read.error(), json, kBadInput);
  if (read->problem)
    fmt::print(stderr, "ringside-cli: {}\n", sim::escape_for_display(read->problem->message()));
  const sim::Diagnosis diagnosis = sim::diagnose(read->trace);
  std::string out;
  if (json) {
    sim::append_diagnosis_json(out, diagnosis);
    out += '\n';
  } else {
    out = fmt::format("{}: {} events of {} ranks\n", sim::escape_for_display(path),
                      sim::with_commas(static_cast<std::int64_t>(read->trace.size())),
                      read->trace.header.world_size);
    out += diagnosis.kind == sim::DiagnosisKind::None ? std::string("\nnothing failed\n")
                                                      : diagnosis_text(diagnosis);
  }
  return print(out) ? kDone : kCouldNot;
}

int diagnose(const DiagnoseOptions& options) {
  if (const auto trace = backend::only_a_trace(options.paths)) return diagnose_trace(*trace, options.json);
  backend::DiagnoseInput input;
  input.paths = options.paths;
  const auto incident = backend::diagnose_paths(input);
  if (!incident) return report(incident.error(), options.json, kBadInput);
  for (const sim::Error& problem : incident->problems)
    fmt::print(stderr, "ringside-cli: {}\n", sim::escape_for_display(problem.message()));
  std::string out;
  if (options.json) {
    backend::append_json(out, *incident);
    out += '\n';
  } else {
    out = backend::to_text(*incident);
  }
  return print(out) ? kDone : kCouldNot;
}

}  // namespace

void add_diagnose(CLI::App& program, ExitCode& exit) {
  auto* command = program.add_subcommand("diagnose", "Say what stopped a job: logs, dumps or a recording");
  const auto options = std::make_shared<DiagnoseOptions>();
  command->add_option("PATH", options->paths, "Files and folders, also .gz and .zst")->required();
  command->add_flag("--json", options->json, "Print one JSON object on stdout and nothing else");
  command->footer("Example:\n  ringside-cli diagnose logs/ nccl_trace_rank_*");
  command->callback([options, &exit] { exit.value = diagnose(*options); });
}

}  // namespace ringside::app
