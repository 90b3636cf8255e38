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
  std::string size = "1K..64M", output;
  bool json = false;
};

/// What the steps cost, as bytes a second: how far they are from one constant is what the reader should see.
std::string parts_text(const sim::MeasuredMachine& machine) {
  std::string out = fmt::format("all ranks at once, GB/s of a step:\n{:>10}", "size");
  for (std::size_t part = 0; part < sim::kMpiParts; ++part)
    out += fmt::format(" {:>20}", sim::to_word(static_cast<sim::MpiPart>(part)));
  out += "\n";
  const auto& knots = machine.parts[0].knots();
  for (std::size_t i = 0; i < knots.size(); ++i) {
    out += fmt::format("{:>10}", sim::format_bytes(static_cast<std::int64_t>(knots[i].bytes)));
    for (const sim::CostCurve& part : machine.parts)
      out += fmt::format(" {:>20.3g}", knots[i].bytes / std::max(part.knots()[i].us, 1e-3) / 1e3);
    out += "\n";
  }
  return out + fmt::format("a ring step of {} bytes takes {:.3g} us, MPI's {:.3g} us\n\n",
                           knots.front().bytes, machine.part(sim::MpiPart::CopyStep).knots().front().us,
                           machine.part(sim::MpiPart::LibraryPassStep).knots().front().us);
}

std::string errors_text(const sim::MeasuredMachine& machine) {
  std::string out = "\nmedian absolute error by size:\n";
  for (std::size_t way = 0; way < sim::kMpiWays; ++way) {
    out += fmt::format("  {:<8}", sim::to_word(static_cast<sim::MpiWay>(way)));
    for (std::size_t band = 0; band < sim::kSizeBands; ++band)
      if (machine.errors[way][band])
        out += fmt::format("  {}: {:.0f} %", sim::size_band_name(band), *machine.errors[way][band]);
    out += "\n";
  }
  return out;
}

std::string as_text(const backend::Measurement& m) {
  const sim::MeasuredMachine& machine = m.machine;
  std::string out = fmt::format("{}: {}, {} ranks on {} cores\n", sim::escape_for_display(machine.name),
                                sim::escape_for_display(machine.library), machine.ranks, machine.cores);
  out += parts_text(machine);
  out += fmt::format("{:>10}  {:<8} {:<19} {:>12} {:>12} {:>9} {:>9}\n", "size", "way", "algorithm",
                     "measured us", "predicted us", "error", "unsteady");
  for (const backend::MeasuredAllReduce& row : m.rows)
    out += fmt::format("{:>10}  {:<8} {:<19} {:>12.1f} {:>12.1f} {:>+8.0f}% {:>8.0f}%\n",
                       sim::format_bytes(row.bytes), sim::to_word(row.way), sim::to_word(row.algorithm),
                       row.measured_us, row.predicted_us, row.error_percent, row.spread_percent);
  out += errors_text(machine);
  out +=
      "Predictions come from the steps above, never from AllReduces. Everything is timed once a round; an "
      "error is "
      "the\nmedian over rounds of what the steps of that round predict. unsteady: half of the distance "
      "between the "
      "quartiles\nof the measured times; a prediction for another minute cannot be better than that.\n"
      "stepped: ringside-cli live; fused: live --fused; library: MPI_Allreduce.\n";
  if (machine.cores > 0 && machine.ranks > machine.cores)
    out += "More ranks than cores: they take turns, and a message waits for its receiver's turn.\n";
  return out;
}

void errors_json(sim::JsonWriter& json, const sim::MeasuredMachine& machine) {
  json.key("median_abs_error_percent").begin_object();
  for (std::size_t way = 0; way < sim::kMpiWays; ++way) {
    json.key(sim::to_word(static_cast<sim::MpiWay>(way))).begin_object();
    for (std::size_t band = 0; band < sim::kSizeBands; ++band)
      if (machine.errors[way][band]) json.field(sim::size_band_name(band), *machine.errors[way][band]);
    json.end_object();
  }
  json.end_object();
}

std::string as_json(const backend::Measurement& m) {
  std::string out;
  sim::JsonWriter json(out);
  const sim::MeasuredMachine& machine = m.machine;
  json.begin_object()
      .field("name", machine.name)
      .field("library", machine.library)
      .field("ranks", machine.ranks)
      .field("cores", machine.cores);
  json.key("parts").begin_array();
  for (std::size_t part = 0; part < sim::kMpiParts; ++part)
    for (const sim::CostKnot& knot : machine.parts[part].knots())
      json.begin_object()
          .field("part", sim::to_word(static_cast<sim::MpiPart>(part)))
          .field("size_bytes", static_cast<std::int64_t>(knot.bytes))
          .field("us", knot.us)
          .end_object();
  json.end_array().key("rows").begin_array();
  for (const backend::MeasuredAllReduce& row : m.rows)
    json.begin_object()
        .field("size_bytes", row.bytes)
        .field("way", sim::to_word(row.way))
        .field("algorithm", sim::to_word(row.algorithm))
        .field("measured_us", row.measured_us)
        .field("predicted_us", row.predicted_us)
        .field("error_percent", row.error_percent)
        .field("unsteady_percent", row.spread_percent)
        .end_object();
  json.end_array();
  errors_json(json, machine);
  if (machine.unsteady_percent) json.field("unsteady_percent", *machine.unsteady_percent);
  json.end_object();
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
  auto* command = program.add_subcommand("measure",
                                         "Measure this machine (the steps of AllReduces, by size) and check "
                                         "predictions against live AllReduces");
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
