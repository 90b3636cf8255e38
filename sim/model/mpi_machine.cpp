#include "sim/model/mpi_machine.hpp"

#include <algorithm>

#include "sim/base/text.hpp"
#include "sim/base/toml.hpp"

namespace ringside::sim {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}

  void number(const toml::table& table, std::string_view key, double low, double high, double& value) {
    const toml::node* node = table.get(key);
    const auto read = node == nullptr ? std::optional<double>{} : node->value<double>();
    if (read && *read >= low && *read <= high) {
      value = *read;
      return;
    }
    std::string legal = "a number from ";
    append_double(legal, low);
    append_double(legal += " to ", high);
    fail("\"" + std::string(key) + "\" is missing or out of range", node == nullptr ? &table : node,
         std::move(legal));
  }
  void text(const toml::table& table, std::string_view key, std::string& value) {
    const toml::node* node = table.get(key);
    const auto read = node == nullptr ? std::optional<std::string>{} : node->value<std::string>();
    if (!read || read->size() > 200)
      return fail("\"" + std::string(key) + "\" must be a text", node, "a string");
    value = *read;
  }
  void fail(std::string what, const toml::node* at, std::string legal) {
    if (error_) return;
    error_ = Error{.what = std::move(what),
                   .file = std::string(file_),
                   .legal = std::move(legal),
                   .hint = "write the file anew with ringside-cli measure --output FILE"};
    if (at == nullptr) return;
    error_->line = static_cast<int>(at->source().begin.line);
    error_->column = static_cast<int>(at->source().begin.column);
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  std::string_view file_;
  std::optional<Error> error_;
};

/// More would pretend a precision that a measurement does not have. Values are not negative.
double five_digits(double value) {
  if (!(value > 0) || value > 1e12) return value > 0 ? value : 0;
  double scale = 1;
  while (value * scale < 10'000 && scale < 1e12) scale *= 10;
  while (value * scale >= 100'000) scale /= 10;
  return static_cast<double>(static_cast<std::int64_t>(value * scale + 0.5)) / scale;
}

void line(std::string& out, std::string_view key, double value) {
  out += key;
  out += " = ";
  append_double(out, five_digits(value));
  out += '\n';
}

std::int64_t rounded(double value) {
  return static_cast<std::int64_t>(value + 0.5);
}

constexpr double kLowRate = 0.001, kHighRate = 1e9;  // bytes in a µs: 1 kB/s to 1 PB/s

}  // namespace

std::string_view to_word(MpiWay way) {
  switch (way) {
    case MpiWay::Stepped:
      return "stepped";
    case MpiWay::Fused:
      return "fused";
    case MpiWay::Library:
      return "library";
  }
  return "?";
}

MpiAlgorithm algorithm_of(MpiWay way, std::int64_t ranks, std::int64_t bytes) {
  switch (way) {
    case MpiWay::Stepped:
      return MpiAlgorithm::Ring;
    case MpiWay::Fused:
      return MpiAlgorithm::NonOverlapping;
    case MpiWay::Library:
      break;
  }
  return open_mpi_choice(ranks, bytes);
}

MpiMachine machine_for(const MeasuredMachine& measured, MpiWay way) {
  MpiMachine machine = measured.machine;
  if (way == MpiWay::Library) machine.reduce_per_us = measured.library_reduce_per_us;
  return machine;
}

double predict_us(const MeasuredMachine& measured, MpiWay way, std::int64_t ranks, std::int64_t bytes) {
  return mpi_allreduce_us(algorithm_of(way, ranks, bytes), machine_for(measured, way), ranks, bytes);
}

std::string write_measured_machine(const MeasuredMachine& measured) {
  std::string out =
      "# One machine, as ringside-cli measure found it (docs/time-model.md).\nformat = 1\n\n[machine]\nname "
      "= ";
  append_json_string(out, measured.name);
  out += "\nlibrary = ";
  append_json_string(out, measured.library);
  out += "\nranks = " + std::to_string(measured.ranks) + "\ncores = " + std::to_string(measured.cores) + "\n";
  line(out, "alpha_us", measured.machine.alpha_us);
  line(out, "bytes_per_us", measured.machine.bytes_per_us);
  line(out, "reduce_per_us", measured.machine.reduce_per_us);
  line(out, "library_reduce_per_us", measured.library_reduce_per_us);
  out += "\n# Median absolute error of the predictions in percent, on the machine itself.\n[error]\n";
  for (std::size_t way = 0; way < kMpiWays; ++way)
    if (measured.error_percent[way])
      line(out, to_word(static_cast<MpiWay>(way)), *measured.error_percent[way]);
  return out;
}

Result<MeasuredMachine> parse_measured_machine(std::string_view text, std::string_view file_name) {
  const auto root = parse_toml(text, file_name);
  if (!root) return root.error();
  Reader reader(file_name);
  MeasuredMachine out;
  double format = 0, ranks = 0, cores = 0;
  reader.number(*root, "format", 1, 1, format);
  const toml::table* machine = root->get("machine") == nullptr ? nullptr : root->get("machine")->as_table();
  if (machine == nullptr) {
    reader.fail("no table \"machine\"", nullptr, "a file that ringside-cli measure wrote");
    return *reader.error();
  }
  reader.text(*machine, "name", out.name);
  reader.text(*machine, "library", out.library);
  reader.number(*machine, "ranks", 2, 1'048'576, ranks);
  reader.number(*machine, "cores", 0, 1'048'576, cores);
  reader.number(*machine, "alpha_us", 0, 1e9, out.machine.alpha_us);
  reader.number(*machine, "bytes_per_us", kLowRate, kHighRate, out.machine.bytes_per_us);
  reader.number(*machine, "reduce_per_us", kLowRate, kHighRate, out.machine.reduce_per_us);
  reader.number(*machine, "library_reduce_per_us", kLowRate, kHighRate, out.library_reduce_per_us);
  out.ranks = static_cast<std::int32_t>(ranks);
  out.cores = static_cast<std::int32_t>(cores);
  if (const toml::node* node = root->get("error"); node != nullptr && node->as_table() != nullptr)
    for (std::size_t way = 0; way < kMpiWays; ++way) {
      const std::string_view key = to_word(static_cast<MpiWay>(way));
      if (!node->as_table()->contains(key)) continue;
      double value = 0;
      reader.number(*node->as_table(), key, 0, 1e9, value);
      out.error_percent[way] = value;
    }
  if (reader.error()) return *reader.error();
  return out;
}

void put_on_machine(Scenario& scenario, const MpiMachine& machine) {
  const LinkSpec link{rounded(machine.alpha_us * 1'000),
                      std::max<std::int64_t>(1, rounded(machine.bytes_per_us * 1e6))};
  scenario.cluster.preset.clear();
  Topology& topology = scenario.cluster.topology;
  topology.intra = link;
  topology.inter = link;
  topology.overrides.clear();
  topology.shared = {};
  const std::int64_t world = std::max(1, scenario.world_size());
  const std::int64_t chunk =
      (scenario.tensor.shape.count() + world - 1) / world * size_of(scenario.tensor.dtype);
  scenario.collective.reduce_ns = rounded(static_cast<double>(chunk) / machine.reduce_per_us * 1'000);
}

}  // namespace ringside::sim
