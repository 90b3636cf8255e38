// ringside-cli: the engine without a display. One file a command; this one only gathers them.
#include <fmt/core.h>

#include <csignal>
#include <cstdio>
#include <exception>

#include "app/cli/command.hpp"

namespace {

int run_program(int argc, char** argv) {
  using namespace ringside::app;
  CLI::App program("Ringside: watch, break and diagnose distributed training. Without a display.",
                   "ringside-cli");
  program.footer(
      "Example:\n  ringside-cli run assets/scenarios/four-gpus.toml\n\n"
      "Exit status: 0 done (also when the simulated job fails: that is the result),\n"
      "             1 the request could not be done, 2 bad usage or bad input.");
  program.require_subcommand(1);
  ExitCode exit;
  for (const AddCommand add : {add_run, add_check, add_diagnose, add_explain, add_live, add_hub, add_measure,
                               add_predict, add_compare, add_reliability, add_scenes, add_version})
    add(program, exit);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    if (problem.get_exit_code() == 0) {  // --help
      program.exit(problem);
      return kDone;
    }
    fmt::print(stderr, "ringside-cli: {}\nTry ringside-cli --help, or --help after a command.\n",
               problem.what());
    return kBadInput;
  }
  return exit.value;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of that write, not the end of us
  try {
    return run_program(argc, argv);
  } catch (const std::exception& problem) {  // out of memory, above all
    std::fprintf(stderr, "ringside-cli: %s\n", problem.what());
    return ringside::app::kCouldNot;
  }
}
