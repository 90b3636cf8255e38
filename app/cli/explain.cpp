// `ringside-cli explain`: what one line of a log means.
#include <cstdio>
#include <memory>

#include "app/cli/command.hpp"
#include "backend/import/explain.hpp"

namespace ringside::app {
namespace {

struct ExplainOptions {
  std::string line, language = "en";
  bool json = false;
};

/// The first line of standard input, for `… | ringside-cli explain -`.
std::string line_from_stdin() {
  constexpr std::size_t kLongest = std::size_t{64} << 10;
  std::string line;
  for (int c = std::getchar(); c != EOF && c != '\n' && line.size() < kLongest; c = std::getchar())
    line += static_cast<char>(c);
  return line;
}

int explain(const ExplainOptions& options) {
  const std::string line = options.line == "-" ? line_from_stdin() : options.line;
  const backend::Explanation explanation = backend::explain_line(line);
  std::string out;
  if (options.json) {
    backend::append_json(out, explanation);
  } else {
    out = backend::to_text(explanation, options.language);
  }
  if (out.empty() || out.back() != '\n') out += '\n';
  return print(out) ? kDone : kCouldNot;
}

}  // namespace

void add_explain(CLI::App& program, ExitCode& exit) {
  auto* command =
      program.add_subcommand("explain", "Explain one line of a log: who printed it, why, what to do");
  const auto options = std::make_shared<ExplainOptions>();
  command->add_option("LINE", options->line, "The line in quotes; - reads it from standard input")
      ->required();
  command->add_option("--lang", options->language, "Language of the text")
      ->check(CLI::IsMember({"en", "ko"}))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print one JSON object on stdout and nothing else");
  command->footer(
      "Example:\n  ringside-cli explain \"Watchdog caught collective operation timeout: WorkNCCL(SeqNum=133, "
      "OpType=ALLREDUCE)\"");
  command->callback([options, &exit] { exit.value = explain(*options); });
}

}  // namespace ringside::app
