// What `ringside-cli run` prints: one JSON object, or some lines for people.
#pragma once

#include <optional>
#include <string>

#include "sim/diagnosis/diagnosis.hpp"
#include "sim/job/simulate.hpp"

namespace ringside::app {

/// Everything that is said of a finished run.
struct RunReport {
  const sim::Scenario& scenario;
  const sim::Simulation& simulation;
  const sim::Diagnosis& diagnosis;
  std::string trace_hash;
};

/// One JSON object with a line feed. `result` stands at the last collective only: per rank a flat list of its
/// numbers, or {min, max, sum, digest} where all ranks together have more than 65,536.
std::string run_json(const RunReport& report);
/// The same for people: about a dozen lines, numbers with units.
std::string run_text(const RunReport& report);

/// A verdict for people: kind, culprit, victims, evidence, next steps. Empty for a clean job.
std::string diagnosis_text(const sim::Diagnosis& diagnosis);

/// nccl-tests' figures of one collective, in 10^9 bytes a second; nothing for one that never finished or took
/// no time.
struct Bandwidth {
  double algbw = 0, busbw = 0;
};
std::optional<Bandwidth> bandwidth_of(const sim::Trace& trace, const sim::CollectiveOutcome& collective);

}  // namespace ringside::app
