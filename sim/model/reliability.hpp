// Why big jobs fail so often: odds of a failure, mean time to failure, and the share of time that is useful,
// in closed form and by a seeded Monte Carlo. These numbers are outside every trace, so they may use libm;
// print at most 4 digits of them.
//
// Words. A node fails as a Poisson process with rate r (failures per node-day); a job of N nodes fails with
// rate λ = N·r, since one node stops all. It writes a checkpoint after every `checkpoint` of work (costing
// `write`), and after a failure it needs `restart` (u0) and works again from the last checkpoint. Failures
// may strike during writing and restarting too.
//   MTTF   = 24 h / (N · r)
//   linear ETTR = (1 − λ·(u0 + dt/2)) / (1 + w/dt)     (Kokolis et al., "Revisiting Reliability", HPCA 2025,
//   arXiv 2410.21680) exact ETTR  = λ·dt / (e^(λ·u0) · (e^(λ·(dt+w)) − 1))  (renewal argument: Daly, "A
//   higher order estimate of the optimum checkpoint interval", FGCS 2006; the linear formula is its first
//   order in λ)
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace ringside::sim {

struct ReliabilitySpec {
  std::int64_t gpus = 512;
  std::int64_t gpus_per_node = 8;
  double failures_per_1000_node_days = 6.5;  // RSC-1
  double run_hours = 24;
  double checkpoint_minutes = 60;  // dt
  double write_minutes = 0;        // w
  double restart_minutes = 5;      // u0
  std::uint64_t seed = 1;
  int runs = 400;  // of the Monte Carlo
};

/// Why a spec cannot be computed ("gpus: 0 (legal: 1 … 1048576)"), or empty.
std::string_view reliability_problem(const ReliabilitySpec& spec);

struct MonteCarlo {
  double mean = 0;
  double low = 0, high = 0;  // 95 % confidence interval of the mean
  double failures_per_run = 0;
};

struct Reliability {
  std::int64_t nodes = 0;
  double mttf_hours = 0;
  double failure_odds = 0;  // at least one failure within run_hours
  double ettr_linear = 0;   // may be negative where the linear formula has left its range
  double ettr_exact = 0;
  MonteCarlo ettr_simulated;
  double best_checkpoint_minutes = 0;  // Daly's first order √(2·w·MTTF) − w; 0 when writing is free
};

/// Nodes are counted whole: ceil(gpus / gpus_per_node). Same spec, same numbers.
Reliability reliability(const ReliabilitySpec& spec);

/// A published measurement or projection, to be shown beside the model.
struct PublishedPoint {
  std::string_view source;
  std::string_view what;
  std::int64_t gpus = 0;
  double hours = 0;       // MTTF or time between interruptions
  bool measured = false;  // false: the source's own projection
  std::string_view note;
};
/// Meta's points (also the measured 1,024-GPU one that does not fit 1/N) and Llama 3's 419 interruptions in
/// 54 days.
const std::vector<PublishedPoint>& published_points();

/// Rates in failures per 1,000 node-days: RSC-1 6.50, RSC-2 2.34, Llama 3 (implied) 3.79.
struct PublishedRate {
  std::string_view name;
  double per_1000_node_days = 0;
};
const std::vector<PublishedRate>& published_rates();

/// One row of Llama 3's table of unexpected interruptions: the counts; percentages are computed (the paper
/// misprints one).
struct InterruptionCause {
  std::string_view cause, category;
  int count = 0;
};
const std::vector<InterruptionCause>& llama3_interruptions();

}  // namespace ringside::sim
