#include "backend/live/measure.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <thread>

#include "backend/live/process.hpp"

namespace ringside::backend {
namespace {

/// Takes the next word off `rest`.
std::string_view word(std::string_view& rest) {
  const std::size_t end = std::min(rest.find(' '), rest.size());
  const std::string_view out = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return out;
}

template <class T>
bool number(std::string_view text, T& value) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failed == std::errc{} && end == text.data() + text.size();
}

double* constant(sim::MeasuredMachine& machine, std::string_view name) {
  if (name == "alpha_us") return &machine.machine.alpha_us;
  if (name == "bytes_per_us") return &machine.machine.bytes_per_us;
  if (name == "reduce_per_us") return &machine.machine.reduce_per_us;
  return name == "library_reduce_per_us" ? &machine.library_reduce_per_us : nullptr;
}

void predict(Measurement& m) {
  std::array<std::vector<double>, sim::kMpiWays> errors;
  for (MeasuredAllReduce& row : m.rows) {
    row.algorithm = sim::algorithm_of(row.way, m.machine.ranks, row.bytes);
    row.predicted_us = sim::predict_us(m.machine, row.way, m.machine.ranks, row.bytes);
    errors[static_cast<std::size_t>(row.way)].push_back(std::abs(row.error_percent()));
  }
  for (std::size_t way = 0; way < errors.size(); ++way) {
    if (errors[way].empty()) continue;
    std::sort(errors[way].begin(), errors[way].end());
    m.machine.error_percent[way] = errors[way][errors[way].size() / 2];
  }
}

}  // namespace

sim::Result<Measurement> read_measurement(const std::vector<std::string>& lines, int ranks) {
  Measurement m;
  m.machine.ranks = ranks;
  m.machine.cores = static_cast<std::int32_t>(std::thread::hardware_concurrency());
  int constants = 0;
  for (const std::string& line : lines) {
    std::string_view rest = line;
    const std::string_view key = word(rest);
    bool good = true;
    if (key == "library") {
      m.machine.library = rest.substr(0, 200);
    } else if (double* value = constant(m.machine, key)) {
      good = number(rest, *value) && *value > 0;
      ++constants;
    } else if (key == "stepped" || key == "fused" || key == "library_call") {
      MeasuredAllReduce row;
      row.way = key == "stepped" ? sim::MpiWay::Stepped
                : key == "fused" ? sim::MpiWay::Fused
                                 : sim::MpiWay::Library;
      good = number(word(rest), row.bytes) && number(rest, row.measured_us) && row.bytes > 0 &&
             row.measured_us > 0;
      m.rows.push_back(row);
    }
    if (!good)
      return sim::Error{.what = "a rank measured something that is no number", .text = line.substr(0, 80)};
  }
  if (constants != 4 || m.rows.empty())
    return sim::Error{.what = "the ranks did not measure everything",
                      .hint = "Read what they printed above."};
  predict(m);
  return m;
}

sim::Result<Measurement> measure_machine(const MeasureOptions& options) {
  std::vector<std::string> argv{"mpirun", "-n", std::to_string(options.ranks), "--oversubscribe"};
  if (::geteuid() == 0) argv.push_back("--allow-run-as-root");
  argv.insert(argv.end(), {options.program_folder + "/ringside-rank", "--measure",
                           std::to_string(options.from_bytes), std::to_string(options.to_bytes)});
  auto mpirun = Child::start(argv, {}, true);
  if (!mpirun) {
    sim::Error error = mpirun.error();
    error.hint = "Install it: apt-get install openmpi-bin";
    return error;
  }
  constexpr int kLongestSilenceMs = 120'000;
  std::vector<std::string> lines;
  while (true) {
    auto line = mpirun->read_line(kLongestSilenceMs);
    if (!line) break;
    lines.push_back(std::move(*line));
  }
  mpirun->end(5'000);
  auto measurement = read_measurement(lines, options.ranks);
  if (!measurement) return measurement.error();
  char host[128] = {};
  ::gethostname(host, sizeof host - 1);
  measurement->machine.name = host;
  return measurement;
}

}  // namespace ringside::backend
