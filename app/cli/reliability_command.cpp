// `ringside-cli reliability`: the options of the reliability model (reliability.hpp prints it).
#include <memory>
#include <optional>

#include "app/cli/command.hpp"
#include "app/cli/reliability.hpp"
#include "sim/base/quantity.hpp"

namespace ringside::app {
namespace {

constexpr double kNsPerMinute = 60e9;

struct ReliabilityOptions {
  sim::ReliabilitySpec spec;
  std::string checkpoint, write, restart, run;
  bool json = false;
};

/// A duration of the command line in units of `unit_ns`; the error names the option.
std::optional<sim::Error> read_duration(const std::string& text, const char* option, double unit_ns,
                                        double& target) {
  if (text.empty()) return std::nullopt;
  const auto ns = sim::parse_duration(text);
  if (!ns) {
    sim::Error error = ns.error();
    error.what = std::string(option) + ": " + error.what;
    return error;
  }
  target = static_cast<double>(*ns) / unit_ns;
  return std::nullopt;
}

int run(ReliabilityOptions& options) {
  sim::ReliabilitySpec& spec = options.spec;
  for (const auto& problem :
       {read_duration(options.checkpoint, "--checkpoint", kNsPerMinute, spec.checkpoint_minutes),
        read_duration(options.write, "--write", kNsPerMinute, spec.write_minutes),
        read_duration(options.restart, "--restart", kNsPerMinute, spec.restart_minutes),
        read_duration(options.run, "--run", 60 * kNsPerMinute, spec.run_hours)}) {
    if (problem) return report(*problem, options.json, kBadInput);
  }
  if (const auto problem = sim::reliability_problem(spec); !problem.empty()) {
    sim::Error error;
    error.what = std::string(problem);
    return report(error, options.json, kBadInput);
  }
  return print(options.json ? reliability_json(spec) + "\n" : reliability_text(spec)) ? kDone : kCouldNot;
}

}  // namespace

void add_reliability(CLI::App& program, ExitCode& exit) {
  auto* command =
      program.add_subcommand("reliability", "Odds of a failure, mean time to failure, share of useful time");
  const auto options = std::make_shared<ReliabilityOptions>();
  sim::ReliabilitySpec& spec = options->spec;
  command->add_option("--gpus", spec.gpus, "GPUs of the job")->capture_default_str();
  command->add_option("--gpus-per-node", spec.gpus_per_node, "GPUs of a node")->capture_default_str();
  command->add_option("--rate", spec.failures_per_1000_node_days, "Failures in 1000 days of a node")
      ->capture_default_str();
  command->add_option("--run", options->run, "How long the job runs [24h]")->type_name("DURATION");
  command->add_option("--checkpoint", options->checkpoint, "Work between two checkpoints [60min]")
      ->type_name("DURATION");
  command->add_option("--write", options->write, "Time to write a checkpoint [0min]")->type_name("DURATION");
  command->add_option("--restart", options->restart, "Time from a failure to working again [5min]")
      ->type_name("DURATION");
  command->add_option("--runs", spec.runs, "Runs of the Monte Carlo")->capture_default_str();
  command->add_option("--seed", spec.seed, "Seed of the Monte Carlo")->capture_default_str();
  command->add_flag("--json", options->json, "Print one JSON object on stdout and nothing else");
  command->footer("Example:\n  ringside-cli reliability --gpus 16384 --rate 6.5 --checkpoint 60min");
  command->callback([options, &exit] { exit.value = run(*options); });
}

}  // namespace ringside::app
