#include "sim/model/reliability.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/base/random.hpp"

namespace ringside::sim {
namespace {

constexpr double kHoursPerDay = 24.0;
constexpr double kMinutesPerHour = 60.0;

/// Exponential with the given mean, by inversion of a 53-bit uniform in (0, 1].
double exponential(const DrawKey& key, std::uint64_t i, double mean) {
  const double uniform = (static_cast<double>(draw_u64(key, i) >> 11) + 1.0) / 9007199254740992.0;
  return -std::log(uniform) * mean;
}

struct RunResult {
  double hours = 0;
  std::int64_t failures = 0;
};

/// One run of the process, in hours, long enough for `segments` checkpoints. Since failures have no memory,
/// the time to the next one is drawn anew at each start; nothing else is random.
RunResult simulate_run(const ReliabilitySpec& spec, double mttf, std::int64_t segments, std::uint64_t run) {
  const DrawKey key{.seed = spec.seed, .rank = run, .step = 0, .purpose = Purpose::MonteCarlo};
  const double segment = (spec.checkpoint_minutes + spec.write_minutes) / kMinutesPerHour;
  const double restart = spec.restart_minutes / kMinutesPerHour;
  double clock = 0;
  std::uint64_t draws = 0;
  std::int64_t failures = 0;
  double to_failure = exponential(key, draws++, mttf);
  for (std::int64_t done = 0; done < segments;) {
    if (to_failure >= segment) {
      clock += segment;
      to_failure -= segment;
      ++done;
      continue;
    }
    clock += to_failure;
    ++failures;
    to_failure = exponential(key, draws++, mttf);
    while (to_failure < restart) {  // it fails again while it restarts
      clock += to_failure;
      ++failures;
      to_failure = exponential(key, draws++, mttf);
    }
    clock += restart;
    to_failure -= restart;
  }
  return {clock, failures};
}

MonteCarlo monte_carlo(const ReliabilitySpec& spec, double mttf, double ettr_exact) {
  // Long enough that a run sees some 200 failures or 200 checkpoints. Bounded, because a job that hardly
  // moves (e^(λ·dt) huge) would never end.
  const double segment = (spec.checkpoint_minutes + spec.write_minutes) / kMinutesPerHour;
  if (ettr_exact < 1e-3) return {};
  const double wanted = std::max(200.0, 200.0 * mttf / segment);
  const auto segments = static_cast<std::int64_t>(std::min(wanted, 4000.0));
  double sum = 0, squares = 0, failures = 0;
  for (int run = 0; run < spec.runs; ++run) {
    const RunResult result = simulate_run(spec, mttf, segments, static_cast<std::uint64_t>(run));
    sum += result.hours;
    squares += result.hours * result.hours;
    failures += static_cast<double>(result.failures);
  }
  // The mean of the hours is what the renewal argument gives exactly; a mean of ratios would be biased.
  const double n = spec.runs;
  const double mean = sum / n;
  const double variance = std::max(0.0, (squares - n * mean * mean) / std::max(1.0, n - 1));
  const double half = 1.96 * std::sqrt(variance / n);
  const double work = static_cast<double>(segments) * spec.checkpoint_minutes / kMinutesPerHour;
  return {work / mean, work / (mean + half), work / (mean - half), failures / n};
}

}  // namespace

std::string_view reliability_problem(const ReliabilitySpec& spec) {
  const auto positive = [](double value) { return std::isfinite(value) && value > 0; };
  const auto not_negative = [](double value) { return std::isfinite(value) && value >= 0; };
  if (spec.gpus < 1 || spec.gpus > 10'000'000) return "--gpus is out of range (legal: 1 … 10000000)";
  if (spec.gpus_per_node < 1 || spec.gpus_per_node > 1024)
    return "--gpus-per-node is out of range (legal: 1 … 1024)";
  if (!positive(spec.failures_per_1000_node_days) || spec.failures_per_1000_node_days > 1e6)
    return "--rate is out of range (legal: above 0, failures per 1,000 node-days)";
  if (!positive(spec.run_hours) || spec.run_hours > 1e6) return "--run is out of range (legal: above 0)";
  if (!positive(spec.checkpoint_minutes) || spec.checkpoint_minutes > 1e6)
    return "--checkpoint is out of range (legal: above 0)";
  if (!not_negative(spec.write_minutes) || spec.write_minutes > 1e6)
    return "--write is out of range (legal: 0 or more)";
  if (!not_negative(spec.restart_minutes) || spec.restart_minutes > 1e6)
    return "--restart is out of range (legal: 0 or more)";
  if (spec.runs < 2 || spec.runs > 100'000) return "--runs is out of range (legal: 2 … 100000)";
  return {};
}

Reliability reliability(const ReliabilitySpec& spec) {
  RINGSIDE_CHECK_EQ(reliability_problem(spec), std::string_view{});
  Reliability out;
  out.nodes = (spec.gpus + spec.gpus_per_node - 1) / spec.gpus_per_node;
  const double per_day = static_cast<double>(out.nodes) * spec.failures_per_1000_node_days / 1000.0;
  out.mttf_hours = kHoursPerDay / per_day;
  out.failure_odds = -std::expm1(-spec.run_hours / out.mttf_hours);
  const double dt =
      spec.checkpoint_minutes / kMinutesPerHour / out.mttf_hours;  // in units of the MTTF, so λ = 1
  const double w = spec.write_minutes / kMinutesPerHour / out.mttf_hours;
  const double u0 = spec.restart_minutes / kMinutesPerHour / out.mttf_hours;
  out.ettr_linear = (1.0 - (u0 + dt / 2)) / (1.0 + w / dt);
  out.ettr_exact = dt / (std::exp(u0) * std::expm1(dt + w));
  out.ettr_simulated = monte_carlo(spec, out.mttf_hours, out.ettr_exact);
  if (spec.write_minutes > 0)
    out.best_checkpoint_minutes = std::max(
        0.0, std::sqrt(2 * spec.write_minutes * out.mttf_hours * kMinutesPerHour) - spec.write_minutes);
  return out;
}

const std::vector<PublishedPoint>& published_points() {
  constexpr std::string_view kMeta = "Kokolis et al., HPCA 2025 (arXiv 2410.21680), RSC-1";
  static const std::vector<PublishedPoint> kPoints{
      {kMeta, "MTTF of 8-GPU jobs", 8, 47.7 * 24, true, ""},
      {kMeta, "MTTF of 1,024-GPU jobs", 1024, 7.9, true,
       "Does not fit 1/N: the paper's own rate of 6.50 gives 28.8 h here. Shown as published."},
      {kMeta, "MTTF at 16,384 GPUs", 16384, 1.8, false, "The paper's projection from its rate."},
      {kMeta, "MTTF at 131,072 GPUs", 131072, 0.23, false, "The paper's projection from its rate."},
      {"Llama 3 (arXiv 2407.21783)", "time between unexpected interruptions", 16384, 54.0 * 24 / 419, true,
       "419 in 54 days."},
  };
  return kPoints;
}

const std::vector<PublishedRate>& published_rates() {
  static const std::vector<PublishedRate> kRates{{"RSC-1 (Meta, A100)", 6.50},
                                                 {"RSC-2 (Meta, A100)", 2.34},
                                                 {"Llama 3 (H100, implied)", 1000.0 * 419 / 54 / 2048}};
  return kRates;
}

const std::vector<InterruptionCause>& llama3_interruptions() {
  static const std::vector<InterruptionCause> kCauses{
      {"Faulty GPU", "GPU", 148},
      {"GPU HBM3 memory", "GPU", 72},
      {"Software bug", "Dependency", 54},
      {"Network switch or cable", "Network", 35},
      {"Host maintenance", "Unplanned maintenance", 32},
      {"GPU SRAM memory", "GPU", 19},
      {"GPU system processor", "GPU", 17},
      {"NIC", "Host", 7},
      {"NCCL watchdog timeouts", "Unknown", 7},
      {"Silent data corruption", "GPU", 6},
      {"GPU thermal interface and sensor", "GPU", 6},
      {"SSD", "Host", 3},
      {"Power supply", "Host", 3},
      {"Server chassis", "Host", 2},
      {"IO expansion board", "Host", 2},
      {"Dependency", "Dependency", 2},
      {"CPU", "Host", 2},
      {"System memory", "Host", 2},
  };
  return kCauses;
}

}  // namespace ringside::sim
