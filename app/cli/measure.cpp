// `ringside-cli measure`: this machine as a preset file, and what predictions from it are worth.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "app/cli/command.hpp"
#include "app/cli/predict.hpp"
#include "backend/files.hpp"
#include "backend/live/measure.hpp"
#include "sim/base/json_writer.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

struct MeasureArguments {
  backend::MeasureOptions options;
  std::string size = "1K..4M", output;
  bool json = false;
};

std::string as_text(const backend::Measurement& m) {
  const sim::MeasuredMachine& machine = m.machine;
  std::string out = fmt::format("{}: {}, {} ranks on {} cores\n", sim::escape_for_display(machine.name),
                                sim::escape_for_display(machine.library), machine.ranks, machine.cores);
  out += fmt::format(
      "all ranks at once: a message {:.3g} us, {:.3g} GB/s on the way, {:.3g} GB/s reduced by us, {:.3g} by "
      "MPI\n\n",
      machine.machine.alpha_us, machine.machine.bytes_per_us / 1e3, machine.machine.reduce_per_us / 1e3,
      machine.library_reduce_per_us / 1e3);
  out += fmt::format("{:>10}  {:<8} {:<19} {:>12} {:>12} {:>9}\n", "size", "way", "algorithm", "measured us",
                     "predicted us", "error");
  for (const backend::MeasuredAllReduce& row : m.rows)
    out += fmt::format("{:>10}  {:<8} {:<19} {:>12.1f} {:>12.1f} {:>+8.0f}%\n", sim::format_bytes(row.bytes),
                       sim::to_word(row.way), sim::to_word(row.algorithm), row.measured_us, row.predicted_us,
                       row.error_percent());
  out += "\nmedian absolute error:";
  for (std::size_t way = 0; way < sim::kMpiWays; ++way)
    if (machine.error_percent[way])
      out += fmt::format("  {} {:.0f} %", sim::to_word(static_cast<sim::MpiWay>(way)),
                         *machine.error_percent[way]);
  out += "\nstepped: ringside-cli live; fused: live --fused; library: MPI_Allreduce.\n";
  if (machine.cores > 0 && machine.ranks > machine.cores)
    out += "More ranks than cores: they take turns, and a message waits for its receiver's turn.\n";
  return out;
}

std::string as_json(const backend::Measurement& m) {
  std::string out;
  sim::JsonWriter json(out);
  const sim::MeasuredMachine& machine = m.machine;
  json.begin_object()
      .field("name", machine.name)
      .field("library", machine.library)
      .field("ranks", machine.ranks);
  json.field("cores", machine.cores).field("alpha_us", machine.machine.alpha_us);
  json.field("bytes_per_us", machine.machine.bytes_per_us)
      .field("reduce_per_us", machine.machine.reduce_per_us);
  json.field("library_reduce_per_us", machine.library_reduce_per_us);
  json.key("rows").begin_array();
  for (const backend::MeasuredAllReduce& row : m.rows)
    json.begin_object()
        .field("size_bytes", row.bytes)
        .field("way", sim::to_word(row.way))
        .field("algorithm", sim::to_word(row.algorithm))
        .field("measured_us", row.measured_us)
        .field("predicted_us", row.predicted_us)
        .field("error_percent", row.error_percent())
        .end_object();
  json.end_array().key("median_abs_error_percent").begin_object();
  for (std::size_t way = 0; way < sim::kMpiWays; ++way)
    if (machine.error_percent[way])
      json.field(sim::to_word(static_cast<sim::MpiWay>(way)), *machine.error_percent[way]);
  json.end_object().end_object();
  return out + "\n";
}

int measure(MeasureArguments& given) {
  const auto sizes = parse_size_range(given.size);
  if (!sizes) return report(sizes.error(), given.json, kBadInput);
  if (sizes->from < 64 || sizes->to > (std::int64_t{1} << 30)) {
    sim::Error error;
    error.what = "an AllReduce is measured from 64 bytes to 1 GiB";
    error.text = given.size;
    error.legal = "64 … 1G";
    return report(error, given.json, kBadInput);
  }
  given.options.from_bytes = sizes->from / 4 * 4;
  given.options.to_bytes = sizes->to;
  std::error_code failed;
  given.options.program_folder =
      std::filesystem::read_symlink("/proc/self/exe", failed).parent_path().string();
  const auto measurement = backend::measure_machine(given.options);
  if (!measurement) return report(measurement.error(), given.json, kCouldNot);
  if (!given.output.empty()) {
    auto file = backend::AtomicFile::create(given.output);
    if (!file) return report(file.error(), given.json, kCouldNot);
    auto written = file->write(sim::write_measured_machine(measurement->machine));
    if (written) written = file->commit();
    if (!written) return report(written.error(), given.json, kCouldNot);
  }
  return print(given.json ? as_json(*measurement) : as_text(*measurement)) ? kDone : kCouldNot;
}

}  // namespace

void add_measure(CLI::App& program, ExitCode& exit) {
  auto* command = program.add_subcommand(
      "measure",
      "Measure this machine (message, byte, reduction) and check predictions against live AllReduces");
  const auto given = std::make_shared<MeasureArguments>();
  command->add_option("-n,--ranks", given->options.ranks, "Ranks that run at once")
      ->capture_default_str()
      ->check(CLI::Range(2, 1024));
  command->add_option("--size", given->size, "Bytes of the AllReduces: from, four times that, up to")
      ->capture_default_str();
  command->add_option("--output", given->output, "Write a preset file for predict --preset and run --machine")
      ->type_name("OUT.toml");
  command->add_flag("--json", given->json, "Print one JSON object on stdout and nothing else");
  command->footer(
      "Example:\n  ringside-cli measure -n 4 --output here.toml\n  ringside-cli predict --preset here.toml "
      "--size "
      "1K..64M");
  command->callback([given, &exit] { exit.value = measure(*given); });
}

}  // namespace ringside::app
