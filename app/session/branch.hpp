// A branch: one way a job can go. A fault given by hand makes another one from the same past; the old future
// is kept, so both can be looked at and compared.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/job/simulate.hpp"

namespace ringside::app {

struct Branch {
  sim::Scenario scenario;
  std::vector<sim::Command> commands;  // in the order in which they were given
  int parent = -1;                     // index of the branch it was forked from; -1 = none
  std::int64_t forked_at = 0;
  /// Null while it is simulated for the first time, or when it was put away to save memory: scenario and
  /// commands give the same bytes again.
  std::shared_ptr<const sim::Simulation> simulation;
};

/// 16 hex digits: the hash of scenario and command list (CONTRACTS). Big lists of numbers count by their
/// digest.
std::string branch_id(const sim::Scenario& scenario, const std::vector<sim::Command>& commands);

/// The faults of a branch: those of its scenario, then the commands with their times.
std::vector<sim::Fault> faults_of(const sim::Scenario& scenario, const std::vector<sim::Command>& commands);

/// The branch as a scenario of its own: its commands as [[fault]]s with a time. Gives the same trace.
sim::Scenario with_commands(sim::Scenario scenario, const std::vector<sim::Command>& commands);

/// Until when two branches share their past: the first fork after which their ways are apart.
std::int64_t divergence(const std::vector<Branch>& branches, int a, int b);

}  // namespace ringside::app
