// Runs a scenario: a whole job of ranks, in virtual time, on real numbers, into a Trace.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "sim/trace/trace.hpp"

namespace ringside::sim {

/// What ended a job or a collective, first that applies.
enum class Outcome : std::uint8_t { Error, Timeout, Hang, WrongResult, Nan, Completed };
std::string_view to_word(Outcome outcome);

struct CollectiveOutcome {
  std::uint32_t coll = 0;  // Trace::collectives
  Outcome outcome = Outcome::Completed;
  std::int64_t transfers = 0;
  std::int64_t bytes_sent_per_rank = 0;               // the largest over ranks
  std::int64_t enqueued_ns = 0, finished_ns = 0;      // last enqueue, last finish; time_ns is the difference
  std::vector<std::shared_ptr<const Tensor>> result;  // per rank; kept for the last collective only
};

struct Simulation {
  Trace trace;
  Outcome outcome = Outcome::Completed;
  std::int64_t time_ns = 0;  // end of the job
  std::vector<CollectiveOutcome> collectives;
};

/// A fault given by hand at a time, as a scenario's [[fault]] would be. Same bytes as from the start
/// (tested).
struct Command {
  std::int64_t t = 0;
  Fault fault;
};

/// Deterministic: the same scenario and commands give the same trace on every machine.
Simulation simulate(const Scenario& scenario, const std::vector<Command>& commands = {});

/// How far a simulation has come.
struct SimulationProgress {
  std::int64_t step = 0, steps = 0;  // training steps: begun by rank 0, of all
  std::int64_t t_ns = 0;             // virtual time
  std::int64_t events = 0;           // written so far
};
/// True = go on.
using SimulationWatch = std::function<bool(const SimulationProgress&)>;
/// As simulate, and `watch` is asked now and then whether to go on: between a few thousand things that
/// happen, or between training steps above 4,096 ranks. Nothing if it said no.
std::optional<Simulation> simulate_watched(const Scenario& scenario, const std::vector<Command>& commands,
                                           const SimulationWatch& watch);

}  // namespace ringside::sim
