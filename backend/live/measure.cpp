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

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}
/// Half of the distance between the quartiles, against the median, in percent.
double spread_percent(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t quarter = values.size() / 4;
  return (values[values.size() - 1 - quarter] - values[quarter]) / 2 / median(values) * 100;
}

/// One line of the ranks: what was timed, and its µs by round.
struct Timed {
  std::string_view key;
  std::int64_t bytes = 0;
  std::vector<double> us;
};

std::optional<Timed> timed(std::string_view line) {
  Timed out{.key = word(line), .us = {}};
  if (!number(word(line), out.bytes) || out.bytes <= 0) return std::nullopt;
  while (!line.empty()) {
    double us = 0;
    if (!number(word(line), us) || !(us >= 0) || us > 1e12) return std::nullopt;
    out.us.push_back(us);
  }
  if (out.us.empty()) return std::nullopt;
  return out;
}

template <std::size_t N, class Word>
std::optional<std::size_t> index_of(std::string_view key) {
  for (std::size_t i = 0; i < N; ++i)
    if (sim::to_word(static_cast<Word>(i)) == key) return i;
  return std::nullopt;
}

using Parts = std::array<std::vector<Timed>, sim::kMpiParts>;

/// The machine as it was in that round, or by the median of all rounds.
void set_costs(sim::MeasuredMachine& machine, const Parts& parts, std::optional<std::size_t> round) {
  for (std::size_t part = 0; part < parts.size(); ++part) {
    std::vector<sim::CostKnot> knots;
    for (const Timed& at : parts[part])
      knots.push_back({static_cast<double>(at.bytes), round ? at.us[*round] : median(at.us)});
    machine.parts[part] = sim::CostCurve(std::move(knots));
  }
}

/// Each AllReduce against the parts as they were in the same round: what remains is the model's error.
void check(Measurement& m, const Parts& parts, const std::vector<Timed>& checks) {
  std::vector<std::vector<double>> errors(checks.size());
  const std::size_t rounds = checks.front().us.size();
  sim::MeasuredMachine then = m.machine;
  for (std::size_t round = 0; round < rounds; ++round) {
    set_costs(then, parts, round);
    for (std::size_t i = 0; i < checks.size(); ++i)
      errors[i].push_back(
          (sim::predict_us(then, m.rows[i].way, then.ranks, checks[i].bytes) / checks[i].us[round] - 1) *
          100);
  }
  for (std::size_t i = 0; i < checks.size(); ++i) m.rows[i].error_percent = median(errors[i]);
}

void sum_up(Measurement& m) {
  std::array<std::array<std::vector<double>, sim::kSizeBands>, sim::kMpiWays> errors;
  std::vector<double> spreads;
  for (const MeasuredAllReduce& row : m.rows) {
    errors[static_cast<std::size_t>(row.way)][sim::size_band(row.bytes)].push_back(
        std::abs(row.error_percent));
    spreads.push_back(row.spread_percent);
  }
  for (std::size_t way = 0; way < sim::kMpiWays; ++way)
    for (std::size_t band = 0; band < sim::kSizeBands; ++band)
      if (!errors[way][band].empty()) m.machine.errors[way][band] = median(errors[way][band]);
  m.machine.unsteady_percent = median(spreads);
}

/// Everything was timed in every round, each part at the same rising sizes.
bool complete(const Parts& parts, const std::vector<Timed>& checks) {
  if (checks.empty()) return false;
  const std::size_t rounds = checks.front().us.size();
  const auto same_rounds = [&](const Timed& t) { return t.us.size() == rounds; };
  if (!std::all_of(checks.begin(), checks.end(), same_rounds)) return false;
  for (const auto& part : parts) {
    if (part.empty() || part.size() != parts[0].size()) return false;
    for (std::size_t i = 0; i < part.size(); ++i)
      if (!same_rounds(part[i]) || part[i].bytes != parts[0][i].bytes ||
          (i > 0 && part[i].bytes <= part[i - 1].bytes))
        return false;
  }
  return true;
}

}  // namespace

sim::Result<Measurement> read_measurement(const std::vector<std::string>& lines, int ranks) {
  Measurement m;
  m.machine.ranks = ranks;
  m.machine.cores = static_cast<std::int32_t>(std::thread::hardware_concurrency());
  Parts parts;
  std::vector<Timed> checks;
  for (const std::string& line : lines) {
    const std::string_view key = std::string_view(line).substr(0, line.find(' '));
    if (key == "version") {
      m.machine.library = line.substr(std::min(line.size(), key.size() + 1), 200);
      continue;
    }
    const auto part = index_of<sim::kMpiParts, sim::MpiPart>(key);
    const auto way = index_of<sim::kMpiWays, sim::MpiWay>(key);
    if (!part && !way) continue;  // mpirun says things too
    auto read = timed(line);
    if (!read || (way && *std::min_element(read->us.begin(), read->us.end()) <= 0))
      return sim::Error{.what = "a rank measured something that is no number", .text = line.substr(0, 80)};
    if (part) {
      parts[*part].push_back(std::move(*read));
      continue;
    }
    m.rows.push_back({.way = static_cast<sim::MpiWay>(*way),
                      .bytes = read->bytes,
                      .measured_us = median(read->us),
                      .spread_percent = spread_percent(read->us)});
    checks.push_back(std::move(*read));
  }
  if (!complete(parts, checks))
    return sim::Error{.what = "the ranks did not measure everything",
                      .hint = "Read what they printed above."};
  check(m, parts, checks);
  set_costs(m.machine, parts, std::nullopt);
  for (MeasuredAllReduce& row : m.rows) {
    row.algorithm = sim::algorithm_of(row.way, ranks, row.bytes);
    row.predicted_us = sim::predict_us(m.machine, row.way, ranks, row.bytes);
  }
  sum_up(m);
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
  constexpr int kLongestSilenceMs = 300'000;
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
