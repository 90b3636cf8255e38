#include "sim/model/mpi_machine.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "sim/base/text.hpp"
#include "sim/base/toml.hpp"

namespace ringside::sim {
namespace {

constexpr std::size_t kMostKnots = 64;

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
  /// Numbers of one line; as many as `count` unless that is 0.
  std::vector<double> numbers(const toml::table& table, std::string_view key, std::size_t count, double low,
                              double high) {
    std::vector<double> out;
    const toml::node* node = table.get(key);
    const toml::array* array = node == nullptr ? nullptr : node->as_array();
    if (array != nullptr && array->size() <= kMostKnots)
      for (const toml::node& one : *array)
        if (const auto read = one.value<double>(); read && *read >= low && *read <= high)
          out.push_back(*read);
    if (array != nullptr && !out.empty() && out.size() == array->size() &&
        (count == 0 || out.size() == count))
      return out;
    std::string legal = count == 0 ? "1 to " + std::to_string(kMostKnots) : std::to_string(count);
    append_double(legal += " numbers from ", low);
    append_double(legal += " to ", high);
    fail("\"" + std::string(key) + "\" is missing or not such a list", node == nullptr ? &table : node,
         std::move(legal));
    return {};
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

void list(std::string& out, std::string_view key, const std::vector<CostKnot>& knots, bool sizes) {
  out += key;
  out += " = [";
  for (const CostKnot& knot : knots) {
    if (&knot != knots.data()) out += ", ";
    if (sizes)
      out += std::to_string(rounded(knot.bytes));
    else
      append_double(out, five_digits(knot.us));
  }
  out += "]\n";
}

constexpr double kLowRate = 0.001, kHighRate = 1e9;  // bytes in a µs: 1 kB/s to 1 PB/s
constexpr double kLongestUs = 1e9, kMostBytes = 1e15;

const toml::table* table_of(const toml::table& root, std::string_view key) {
  const toml::node* node = root.get(key);
  return node == nullptr ? nullptr : node->as_table();
}

/// Format 1: a message, a byte, a reduction, whatever their size.
void read_constants(Reader& reader, const toml::table& machine, MeasuredMachine& out) {
  MpiMachine constants;
  double library_reduce = 1;
  reader.number(machine, "alpha_us", 0, kLongestUs, constants.alpha_us);
  reader.number(machine, "bytes_per_us", kLowRate, kHighRate, constants.bytes_per_us);
  reader.number(machine, "reduce_per_us", kLowRate, kHighRate, constants.reduce_per_us);
  reader.number(machine, "library_reduce_per_us", kLowRate, kHighRate, library_reduce);
  const MpiCosts live = costs_of(constants);
  constants.reduce_per_us = library_reduce;
  const MpiCosts library = costs_of(constants);
  out.part(MpiPart::ReduceStep) = live.reduce_step;
  out.part(MpiPart::CopyStep) = live.pass_step;
  out.part(MpiPart::TreeStep) = live.tree_step;
  out.part(MpiPart::LibraryReduceStep) = library.reduce_step;
  out.part(MpiPart::LibraryPassStep) = library.pass_step;
  for (const MpiPart part : {MpiPart::Copy, MpiPart::Buffer})
    out.part(part) = CostCurve::straight(0, kHighRate);  // was not measured
}

void read_errors_of_all_sizes(Reader& reader, const toml::table& errors, MeasuredMachine& out) {
  for (std::size_t way = 0; way < kMpiWays; ++way) {
    const std::string_view key = to_word(static_cast<MpiWay>(way));
    if (!errors.contains(key)) continue;
    double value = 0;
    reader.number(errors, key, 0, 1e9, value);
    out.errors[way].fill(value);
  }
}

void read_costs(Reader& reader, const toml::table& costs, MeasuredMachine& out) {
  const std::vector<double> bytes = reader.numbers(costs, "bytes", 0, 0, kMostBytes);
  if (!std::is_sorted(bytes.begin(), bytes.end(), std::less_equal<>()))
    return reader.fail("\"bytes\" must rise", costs.get("bytes"), "each size larger than the one before");
  for (std::size_t part = 0; part < kMpiParts && !bytes.empty(); ++part) {
    const std::string key = std::string(to_word(static_cast<MpiPart>(part))) + "_us";
    const std::vector<double> us = reader.numbers(costs, key, bytes.size(), 0, kLongestUs);
    std::vector<CostKnot> knots;
    for (std::size_t i = 0; i < us.size(); ++i) knots.push_back({bytes[i], us[i]});
    out.parts[part] = CostCurve(std::move(knots));
  }
}

void read_errors(Reader& reader, const toml::table& errors, MeasuredMachine& out) {
  for (std::size_t way = 0; way < kMpiWays; ++way) {
    const toml::table* of_way = table_of(errors, to_word(static_cast<MpiWay>(way)));
    if (of_way == nullptr) continue;
    for (std::size_t band = 0; band < kSizeBands; ++band) {
      if (!of_way->contains(size_band_name(band))) continue;
      double value = 0;
      reader.number(*of_way, size_band_name(band), 0, 1e9, value);
      out.errors[way][band] = value;
    }
  }
}

/// What a way copies and allocates besides what its algorithm sends.
double besides_us(const MeasuredMachine& measured, MpiWay way, MpiAlgorithm algorithm, std::int64_t ranks,
                  std::int64_t bytes) {
  const double m = static_cast<double>(bytes), p = static_cast<double>(ranks);
  const double copy = measured.part(MpiPart::Copy).us(m) * measured.turns(p);
  const double buffer = measured.part(MpiPart::Buffer).us(m) * measured.turns(p);
  switch (way) {
    case MpiWay::Stepped:  // in its steps
      return 0;
    case MpiWay::Fused: {  // coll/libnbc saves what is in place when its tree has an odd number of rounds
      int rounds = 0;
      while ((std::int64_t{1} << rounds) < ranks) ++rounds;
      return buffer + (rounds % 2 == 1 ? copy : 0);
    }
    case MpiWay::Library:  // coll/base takes the input to the output first, recursive doubling by a third
                           // buffer
      if (algorithm == MpiAlgorithm::RecursiveDoubling) return 2 * (copy + buffer);
      // Rabenseifner's buffer is as large as the data, and half of it is used; rings have small ones.
      return copy + (algorithm == MpiAlgorithm::Rabenseifner ? buffer / 2 : 0);
  }
  return 0;
}

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

std::string_view to_word(MpiPart part) {
  switch (part) {
    case MpiPart::ReduceStep:
      return "reduce_step";
    case MpiPart::CopyStep:
      return "copy_step";
    case MpiPart::TreeStep:
      return "tree_step";
    case MpiPart::LibraryReduceStep:
      return "library_reduce_step";
    case MpiPart::LibraryPassStep:
      return "library_pass_step";
    case MpiPart::Copy:
      return "copy";
    case MpiPart::Buffer:
      return "buffer";
  }
  return "?";
}

double predict_us(const MeasuredMachine& measured, MpiWay way, std::int64_t ranks, std::int64_t bytes) {
  if (ranks < 2) return 0;
  const bool library = way == MpiWay::Library;
  const MpiCosts costs = {measured.part(library ? MpiPart::LibraryReduceStep : MpiPart::ReduceStep),
                          measured.part(library ? MpiPart::LibraryPassStep : MpiPart::CopyStep),
                          measured.part(MpiPart::TreeStep)};
  const MpiAlgorithm algorithm = algorithm_of(way, ranks, bytes);
  return mpi_allreduce_us(algorithm, costs, ranks, bytes) +
         besides_us(measured, way, algorithm, ranks, bytes);
}

std::optional<double> expected_error(const MeasuredMachine& measured, MpiWay way, std::int64_t bytes) {
  return measured.errors[static_cast<std::size_t>(way)][size_band(bytes)];
}

std::string write_measured_machine(const MeasuredMachine& measured) {
  std::string out =
      "# One machine, as ringside-cli measure found it (docs/time-model.md).\nformat = 2\n\n[machine]\nname "
      "= ";
  append_json_string(out, measured.name);
  out += "\nlibrary = ";
  append_json_string(out, measured.library);
  out += "\nranks = " + std::to_string(measured.ranks) + "\ncores = " + std::to_string(measured.cores) + "\n";
  out += "\n# Microseconds by size: straight lines between these points.\n[costs]\n";
  list(out, "bytes", measured.parts[0].knots(), true);
  for (std::size_t part = 0; part < kMpiParts; ++part)
    list(out, std::string(to_word(static_cast<MpiPart>(part))) + "_us", measured.parts[part].knots(), false);
  out += "\n# Median absolute error of the predictions in percent, on the machine itself, by way and size.\n";
  for (std::size_t way = 0; way < kMpiWays; ++way) {
    out += "[error." + std::string(to_word(static_cast<MpiWay>(way))) + "]\n";
    for (std::size_t band = 0; band < kSizeBands; ++band)
      if (measured.errors[way][band])
        line(out, "\"" + std::string(size_band_name(band)) + "\"", *measured.errors[way][band]);
  }
  if (!measured.unsteady_percent) return out;
  out += "\n# How much the machine's own speed changed meanwhile, in percent.\n[unsteady]\n";
  line(out, "percent", *measured.unsteady_percent);
  return out;
}

Result<MeasuredMachine> parse_measured_machine(std::string_view text, std::string_view file_name) {
  const auto root = parse_toml(text, file_name);
  if (!root) return root.error();
  Reader reader(file_name);
  MeasuredMachine out;
  double format = 0, ranks = 0, cores = 0;
  reader.number(*root, "format", 1, 2, format);
  const toml::table* machine = table_of(*root, "machine");
  if (machine == nullptr) {
    reader.fail("no table \"machine\"", nullptr, "a file that ringside-cli measure wrote");
    return *reader.error();
  }
  reader.text(*machine, "name", out.name);
  reader.text(*machine, "library", out.library);
  reader.number(*machine, "ranks", 2, 1'048'576, ranks);
  reader.number(*machine, "cores", 0, 1'048'576, cores);
  out.ranks = static_cast<std::int32_t>(ranks);
  out.cores = static_cast<std::int32_t>(cores);
  if (format == 1) {
    read_constants(reader, *machine, out);
    if (const toml::table* errors = table_of(*root, "error")) read_errors_of_all_sizes(reader, *errors, out);
  } else if (const toml::table* costs = table_of(*root, "costs")) {
    read_costs(reader, *costs, out);
    if (const toml::table* errors = table_of(*root, "error")) read_errors(reader, *errors, out);
  } else {
    reader.fail("no table \"costs\"", nullptr, "a file that ringside-cli measure wrote");
  }
  if (const toml::table* unsteady = table_of(*root, "unsteady")) {
    out.unsteady_percent = 0;
    reader.number(*unsteady, "percent", 0, 1e9, *out.unsteady_percent);
  }
  if (reader.error()) return *reader.error();
  return out;
}

void put_on_machine(Scenario& scenario, const MeasuredMachine& measured) {
  const std::int64_t world = std::max(1, scenario.world_size());
  const double chunk = static_cast<double>((scenario.tensor.shape.count() + world - 1) / world *
                                           size_of(scenario.tensor.dtype));
  const CostCurve& step = measured.part(MpiPart::CopyStep);
  const double alpha = step.us(0), way = std::max(step.us(chunk) - alpha, 1e-3);
  const LinkSpec link{rounded(alpha * 1'000),
                      std::max<std::int64_t>(1, rounded(std::max(chunk, 1.0) / way * 1e6))};
  scenario.cluster.preset.clear();
  Topology& topology = scenario.cluster.topology;
  topology.intra = link;
  topology.inter = link;
  topology.overrides.clear();
  topology.shared = {};
  scenario.collective.reduce_ns =
      rounded(std::max(0.0, measured.part(MpiPart::ReduceStep).us(chunk) - step.us(chunk)) * 1'000);
}

}  // namespace ringside::sim
