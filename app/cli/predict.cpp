#include "app/cli/predict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "backend/model/nccl_tests_table.hpp"
#include "sim/base/json_writer.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/text.hpp"
#include "sim/model/health.hpp"

namespace ringside::app {
namespace {

/// Five significant digits: more would pretend a precision that the model does not have.
double five_digits(double value) {
  return std::strtod(fmt::format("{:.5g}", value).c_str(), nullptr);
}

void optional_field(sim::JsonWriter& json, const char* key, const std::optional<double>& value) {
  json.key(key);
  if (value)
    json.number(five_digits(*value));
  else
    json.null();
}

std::string us_text(double microseconds) {
  return sim::format_duration(static_cast<std::int64_t>(microseconds * 1000 + 0.5));
}

struct PredictedSize {
  std::int64_t bytes = 0;
  sim::Prediction prediction;
};

sim::Result<std::vector<PredictedSize>> predict_all(const PredictOptions& options, const sim::Preset& preset,
                                                    const sim::TimeModel& model) {
  std::vector<PredictedSize> all;
  for (std::int64_t bytes = options.sizes.from;; bytes *= 2) {
    const auto prediction =
        sim::predict(model, preset, {options.nodes, options.gpus_per_node, bytes, options.collective});
    if (!prediction) return prediction.error();
    all.push_back({bytes, *prediction});
    if (bytes > options.sizes.to / 2) break;
  }
  return all;
}

std::string predict_json(const PredictOptions& options, const sim::Preset& preset, std::int32_t gpus,
                         const std::vector<PredictedSize>& all) {
  std::string out;
  sim::JsonWriter json(out);
  json.begin_object().field("preset", preset.name).field("title", preset.title).field("nodes", options.nodes);
  json.field("gpus_per_node", gpus).field("ranks", std::int64_t{options.nodes} * gpus);
  json.field("collective", sim::to_word(options.collective)).field("fitted", all[0].prediction.fitted);
  json.key("rows").begin_array();
  for (const PredictedSize& row : all) {
    const sim::Prediction& p = row.prediction;
    json.begin_object().field("size_bytes", row.bytes).field("time_us", five_digits(p.time_us));
    json.field("time_ns", p.time_ns).field("algbw_GBps", five_digits(p.algbw_GBps));
    json.field("busbw_GBps", five_digits(p.busbw_GBps)).field("algorithm", sim::to_word(p.algorithm));
    json.field("protocol", sim::to_word(p.protocol)).field("channels", p.channels);
    optional_field(json, "expected_error_percent", p.error_percent);
    json.key("nccl_choice").begin_object().field("algorithm", sim::to_word(p.nccl_choice.algorithm));
    json.field("protocol", sim::to_word(p.nccl_choice.protocol));
    json.field("time_us", five_digits(p.nccl_choice.time_us)).end_object().end_object();
  }
  json.end_array().end_object();
  return out + "\n";
}

std::string predict_text(const PredictOptions& options, const sim::Preset& preset, std::int32_t gpus,
                         const std::vector<PredictedSize>& all) {
  std::string out = fmt::format("{}\n{} on {} x {} GPUs\n", preset.title, sim::to_word(options.collective),
                                options.nodes, gpus);
  out += fmt::format("{:>10} {:>11} {:>9} {:>9}  {:<9} {:<8} {:>8}  {}\n", "size", "time", "algbw", "busbw",
                     "algorithm", "protocol", "channels", "expected error");
  for (const PredictedSize& row : all) {
    const sim::Prediction& p = row.prediction;
    const std::string error = p.error_percent ? fmt::format("{:.1f} %", *p.error_percent)
                              : p.fitted      ? "not measured"
                                              : "not fitted";
    // μ takes two bytes: pad by what people see.
    const std::string time = us_text(p.time_us);
    const std::size_t width = time.find("μ") == std::string::npos ? 11 : 12;
    out += fmt::format("{:>10} {:>{}} {:>9.2f} {:>9.2f}  {:<9} {:<8} {:>8}  {}\n",
                       sim::format_bytes(row.bytes), time, width, p.algbw_GBps, p.busbw_GBps,
                       sim::to_word(p.algorithm), sim::to_word(p.protocol), p.channels, error);
  }
  out += "algbw and busbw in GB/s (10^9 bytes/s).";
  if (!all[0].prediction.fitted)
    out += " This preset is not fitted: no measured table of it is known, so no error is shown.\n";
  else
    out += " The expected error is the median on machines that were held out of the fit.\n";
  return out;
}

std::string compare_json(const sim::Preset& preset, std::int32_t nodes, std::int32_t gpus,
                         sim::Collective collective, const sim::TimeModel& model,
                         const sim::TableComparison& compared) {
  std::string out;
  sim::JsonWriter json(out);
  json.begin_object().field("preset", preset.name).field("nodes", nodes).field("gpus_per_node", gpus);
  json.field("collective", sim::to_word(collective))
      .field("fitted", compared.fitted)
      .key("rows")
      .begin_array();
  for (const sim::ComparedRow& row : compared.rows) {
    json.begin_object().field("size_bytes", row.bytes).field("measured_us", row.measured_us);
    json.field("predicted_us", five_digits(row.predicted_us));
    json.field("measured_busbw_GBps", five_digits(row.measured_busbw_GBps));
    json.field("predicted_busbw_GBps", five_digits(row.predicted_busbw_GBps)).end_object();
  }
  json.end_array().key("bands").begin_array();
  for (std::size_t band = 0; band < sim::kSizeBands; ++band) {
    json.begin_object().field("band", sim::size_band_name(band));
    json.field("points", static_cast<std::int64_t>(compared.bands[band].points));
    optional_field(json, "median_abs_error_percent", compared.bands[band].median_abs_percent);
    optional_field(json, "expected_error_percent", model.expected_error(preset.name, band));
    json.end_object();
  }
  json.end_array()
      .key("verdict")
      .begin_object()
      .field("healthy", compared.healthy)
      .key("causes")
      .begin_array();
  for (const sim::HealthFinding& finding : compared.causes) json.string(sim::to_word(finding.cause));
  json.end_array().key("evidence").begin_array();
  for (const sim::HealthFinding& finding : compared.causes) json.string(finding.why);
  json.end_array().field("summary", compared.summary).end_object().end_object();
  return out + "\n";
}

std::string compare_text(const sim::Preset& preset, std::int32_t nodes, std::int32_t gpus,
                         const sim::TableComparison& compared) {
  std::string out = fmt::format("{}\n{} x {} GPUs{}\n", preset.title, nodes, gpus,
                                compared.fitted ? "" : " (this preset is not fitted)");
  out += fmt::format("{:>10} {:>12} {:>12} {:>10} {:>10}  {}\n", "size", "measured us", "predicted us",
                     "busbw", "predicted", "predicted / measured");
  for (const sim::ComparedRow& row : compared.rows)
    out += fmt::format("{:>10} {:>12.1f} {:>12.1f} {:>10.2f} {:>10.2f}  {:.2f}\n",
                       sim::format_bytes(row.bytes), row.measured_us, row.predicted_us,
                       row.measured_busbw_GBps, row.predicted_busbw_GBps, row.predicted_us / row.measured_us);
  out += "median absolute error:";
  for (std::size_t band = 0; band < sim::kSizeBands; ++band)
    if (compared.bands[band].median_abs_percent)
      out +=
          fmt::format("  {}: {:.1f} %", sim::size_band_name(band), *compared.bands[band].median_abs_percent);
  out += "\nverdict: " + compared.summary + "\n";
  for (const sim::HealthFinding& finding : compared.causes)
    out += fmt::format("  {}: {}\n", sim::to_word(finding.cause), finding.why);
  return out;
}

}  // namespace

sim::Result<SizeRange> parse_size_range(std::string_view text) {
  const std::size_t dots = text.find("..");
  const auto from = sim::parse_size(text.substr(0, dots));
  const auto to = dots == std::string_view::npos ? from : sim::parse_size(text.substr(dots + 2));
  if (from && to && *from >= 1 && *from <= *to) return SizeRange{*from, *to};
  sim::Error error = !from ? from.error() : !to ? to.error() : sim::Error{};
  if (from && to)
    error.what = *from < 1 ? "a size must be at least 1 byte" : "the range of sizes runs backwards";
  error.text = std::string(text.substr(0, 64));
  error.legal = "8M, 8M..8G";
  return error;
}

sim::Result<std::string> run_predict(const PredictOptions& options, const sim::TimeModel& model) {
  const auto preset = sim::find_preset(options.preset);
  if (!preset) return preset.error();
  const auto all = predict_all(options, *preset, model);
  if (!all) return all.error();
  const std::int32_t gpus = options.gpus_per_node == 0 ? preset->links.gpus_per_node : options.gpus_per_node;
  return options.json ? predict_json(options, *preset, gpus, *all)
                      : predict_text(options, *preset, gpus, *all);
}

namespace {

/// algbw in GB/s; busbw of an AllReduce on so many ranks.
double algbw(std::int64_t bytes, double us) {
  return us > 0 ? static_cast<double>(bytes) / us / 1e3 : 0;
}
double bus_factor(std::int64_t ranks) {
  return 2 * static_cast<double>(ranks - 1) / static_cast<double>(ranks);
}

std::string measured_json(const PredictOptions& options, const sim::MeasuredMachine& machine,
                          std::int64_t ranks) {
  std::string out;
  sim::JsonWriter json(out);
  json.begin_object()
      .field("preset", machine.name)
      .field("title", machine.library)
      .field("nodes", std::int64_t{1});
  json.field("gpus_per_node", ranks)
      .field("ranks", ranks)
      .field("collective", sim::to_word(options.collective));
  json.field("fitted", true).key("rows").begin_array();
  for (std::int64_t bytes = options.sizes.from;; bytes *= 2) {
    const sim::MpiAlgorithm algorithm = sim::algorithm_of(sim::MpiWay::Library, ranks, bytes);
    const double us = sim::predict_us(machine, sim::MpiWay::Library, ranks, bytes);
    json.begin_object().field("size_bytes", bytes).field("time_us", five_digits(us));
    json.field("time_ns", static_cast<std::int64_t>(us * 1000 + 0.5));
    json.field("algbw_GBps", five_digits(algbw(bytes, us)));
    json.field("busbw_GBps", five_digits(algbw(bytes, us) * bus_factor(ranks)));
    json.field("algorithm", sim::to_word(algorithm))
        .field("protocol", "mpi")
        .field("channels", std::int64_t{1});
    optional_field(json, "expected_error_percent", sim::expected_error(machine, sim::MpiWay::Library, bytes));
    json.key("ways").begin_object();
    for (std::size_t way = 0; way < sim::kMpiWays; ++way) {
      const auto which = static_cast<sim::MpiWay>(way);
      json.key(sim::to_word(which)).begin_object();
      json.field("time_us", five_digits(sim::predict_us(machine, which, ranks, bytes)));
      json.field("algorithm", sim::to_word(sim::algorithm_of(which, ranks, bytes)));
      optional_field(json, "expected_error_percent", sim::expected_error(machine, which, bytes));
      json.end_object();
    }
    json.end_object();
    json.key("nccl_choice").null();
    json.end_object();
    if (bytes > options.sizes.to / 2) break;
  }
  json.end_array();
  optional_field(json, "unsteady_percent", machine.unsteady_percent);
  json.end_object();
  return out + "\n";
}

std::string with_error(double us, const std::optional<double>& error) {
  return us_text(us) + (error ? fmt::format(" ±{:.0f} %", *error) : std::string(" (not checked)"));
}
/// Right-aligned by what people see: μ and ± take two bytes.
std::string padded(const std::string& text, std::size_t width) {
  const auto seen = static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
  return std::string(width - std::min(width, seen), ' ') + text;
}

std::string measured_text(const PredictOptions& options, const sim::MeasuredMachine& machine,
                          std::int64_t ranks) {
  std::string out =
      fmt::format("{}: {}\n{} on {} ranks of one machine\n", sim::escape_for_display(machine.name),
                  sim::escape_for_display(machine.library), sim::to_word(options.collective), ranks);
  out += fmt::format("{:>10} {:>20} {:>8} {:>8}  {:<19} {:>20} {:>20}\n", "size", "MPI_Allreduce", "algbw",
                     "busbw", "algorithm", "live (stepped)", "live --fused");
  for (std::int64_t bytes = options.sizes.from;; bytes *= 2) {
    const auto told = [&](sim::MpiWay way) {
      return padded(
          with_error(sim::predict_us(machine, way, ranks, bytes), sim::expected_error(machine, way, bytes)),
          20);
    };
    const double us = sim::predict_us(machine, sim::MpiWay::Library, ranks, bytes);
    out += fmt::format("{:>10} {} {:>8.3f} {:>8.3f}  {:<19} {} {}\n", sim::format_bytes(bytes),
                       told(sim::MpiWay::Library), algbw(bytes, us), algbw(bytes, us) * bus_factor(ranks),
                       sim::to_word(sim::algorithm_of(sim::MpiWay::Library, ranks, bytes)),
                       told(sim::MpiWay::Stepped), told(sim::MpiWay::Fused));
    if (bytes > options.sizes.to / 2) break;
  }
  out +=
      "algbw and busbw of MPI_Allreduce in GB/s (10^9 bytes/s). ±: the median error at sizes of that band on "
      "this "
      "machine,\nwhen it was measured";
  if (ranks != machine.ranks) out += fmt::format(" with {} ranks", machine.ranks);
  out += ".";
  if (machine.unsteady_percent)
    out += fmt::format(" Its own speed changed by {:.0f} % meanwhile.", *machine.unsteady_percent);
  return out + "\n";
}

}  // namespace

sim::Result<std::string> run_predict_measured(const PredictOptions& options,
                                              const sim::MeasuredMachine& machine) {
  if (options.nodes != 1 || options.collective != sim::Collective::AllReduce) {
    sim::Error error;
    error.what = options.nodes != 1 ? "a measured machine is one machine"
                                    : "only AllReduce is predicted for a measured machine";
    error.legal = options.nodes != 1 ? "--nodes 1" : "--collective all_reduce";
    return error;
  }
  const std::int64_t ranks = options.gpus_per_node > 0 ? options.gpus_per_node : machine.ranks;
  if (ranks < 2)
    return sim::Error{.what = "one rank has nobody to reduce with", .legal = "--gpus-per-node 2 …"};
  return options.json ? measured_json(options, machine, ranks) : measured_text(options, machine, ranks);
}

sim::Result<std::string> run_compare(const CompareOptions& options, std::string_view text,
                                     const sim::TimeModel& model) {
  const auto preset = sim::find_preset(options.preset);
  if (!preset) return preset.error();
  const auto table = backend::read_nccl_tests(text, options.table_name);
  if (!table) return table.error();
  const auto first_of = [](std::int32_t given, std::int32_t read, std::int32_t fallback) {
    return given != 0 ? given : read != 0 ? read : fallback;
  };
  const std::int32_t nodes = first_of(options.nodes, table->nodes, 1);
  const std::int32_t gpus =
      first_of(options.gpus_per_node, table->gpus_per_node, preset->links.gpus_per_node);
  std::vector<sim::MeasuredPoint> points;
  for (const backend::MeasuredRow& row : table->rows) points.push_back({row.bytes, row.time_us});
  const auto compared = sim::compare_with_model(model, *preset, nodes, gpus, table->collective, points);
  if (!compared) return compared.error();
  return options.json ? compare_json(*preset, nodes, gpus, table->collective, model, *compared)
                      : compare_text(*preset, nodes, gpus, *compared);
}

}  // namespace ringside::app
