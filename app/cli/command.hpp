// What every command of ringside-cli has in common: how it is added, how it fails, what it prints.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "sim/base/result.hpp"
#include "sim/model/mpi_machine.hpp"

namespace ringside::app {

// Exit codes: a simulated job that fails is a result, not a failure of the command.
inline constexpr int kDone = 0;
inline constexpr int kCouldNot = 1;  // the request could not be done
inline constexpr int kBadInput = 2;  // bad usage or bad input

/// The exit code of the command that ran; set by its callback.
struct ExitCode {
  int value = kDone;
};

/// A command's adder: gives it options, help with an example, and a callback.
using AddCommand = void (*)(CLI::App& program, ExitCode& exit);

void add_run(CLI::App& program, ExitCode& exit);
void add_check(CLI::App& program, ExitCode& exit);
void add_scenes(CLI::App& program, ExitCode& exit);
void add_version(CLI::App& program, ExitCode& exit);
void add_diagnose(CLI::App& program, ExitCode& exit);
void add_explain(CLI::App& program, ExitCode& exit);
void add_live(CLI::App& program, ExitCode& exit);
void add_hub(CLI::App& program, ExitCode& exit);
void add_measure(CLI::App& program, ExitCode& exit);
void add_predict(CLI::App& program, ExitCode& exit);
void add_compare(CLI::App& program, ExitCode& exit);
void add_reliability(CLI::App& program, ExitCode& exit);

/// Prints the message on stderr, and with `json` {"error":{…}} on stdout. Gives `code`.
int report(const sim::Error& error, bool json, int code);

/// Reads a preset file that `measure` wrote.
sim::Result<sim::MeasuredMachine> load_machine(const std::string& path);

/// Writes to stdout and says whether all of it went out.
bool print(std::string_view text);

}  // namespace ringside::app
