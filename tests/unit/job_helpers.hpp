// Scenarios as text, run, with the invariants checked on the way.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/job/invariants.hpp"
#include "sim/job/simulate.hpp"
#include "sim/job/simulator.hpp"

namespace ringside::sim::test {

/// What differs from case to case; the rest is a job of a few steps with short phases.
struct JobText {
  int nodes = 1, gpus_per_node = 4, steps = 1, buckets = 1;
  std::string shape = "[8]", dtype = "float32", values = "\"index\"", op = "sum", chunking = "even";
  std::string library = "nccl", transport = "nvlink", launcher = "torchrun", watchdog = "600s", debug = "off";
  std::string on_nan = "continue", jitter = "0.02", reduce = "0ns", more_training, more_collective, faults;
};

inline std::string to_text(const JobText& j) {
  const bool phases = j.steps > 1;
  const bool network = j.more_training.find("[training.network]") != std::string::npos;
  return "[cluster]\nnodes = " + std::to_string(j.nodes) +
         "\ngpus_per_node = " + std::to_string(j.gpus_per_node) + "\n[tensor]\ndtype = \"" + j.dtype +
         "\"\n" + (network ? "" : "shape = " + j.shape + "\nvalues = " + j.values) +
         "\n[training]\nsteps = " + std::to_string(j.steps) + "\nbuckets = " + std::to_string(j.buckets) +
         "\non_nan = \"" + j.on_nan + "\"\n" +
         (phases ? "forward = \"30ms\"\nbackward = \"60ms\"\noptimizer = \"5ms\"\njitter = " + j.jitter + "\n"
                 : "") +
         j.more_training + "\n[collective]\nop = \"" + j.op + "\"\nchunking = \"" + j.chunking +
         "\"\nreduce = \"" + j.reduce + "\"\n" + j.more_collective + "\n[stack]\nlibrary = \"" + j.library +
         "\"\ntransport = \"" + j.transport + "\"\nlauncher = \"" + j.launcher + "\"\nwatchdog = \"" +
         j.watchdog + "\"\ndebug = \"" + j.debug + "\"\n" + j.faults;
}

inline Scenario scenario_of(const JobText& text) {
  auto scenario = parse_scenario(to_text(text), "test.toml");
  if (!scenario) ADD_FAILURE() << scenario.error().message();
  return scenario ? *scenario : Scenario{};
}

inline Simulation run(const JobText& text, const std::vector<Command>& commands = {}) {
  Simulation result = simulate(scenario_of(text), commands);
  const auto broken = broken_invariant(result.trace);
  EXPECT_FALSE(broken.has_value()) << *broken;
  return result;
}

inline std::string fault(const std::string& body) {
  std::string lines = "[[fault]]\n" + body + "\n";
  for (char& c : lines)
    if (c == ';') c = '\n';
  return lines;
}

inline std::string bytes_of(const Trace& trace) {
  std::string out;
  for (const Event& e : trace.events()) {
    append_event_json(out, trace, e);
    out += '\n';
  }
  return out;
}

inline std::vector<Event> events_of(const Trace& trace, EventType type, int rank = -1) {
  std::vector<Event> found;
  for (const Event& e : trace.events())
    if (e.type == type && (rank < 0 || e.rank() == rank)) found.push_back(e);
  return found;
}

/// "signal 9", "code 0", or "alive".
inline std::string end_of(const Trace& trace, int rank) {
  const auto exits = events_of(trace, EventType::Exit, rank);
  if (exits.empty()) return "alive";
  return (exits.front().aux8 ? "signal " : "code ") + std::to_string(exits.front().text.code);
}
inline std::int64_t end_time_of(const Trace& trace, int rank) {
  const auto exits = events_of(trace, EventType::Exit, rank);
  return exits.empty() ? -1 : exits.front().t;
}

/// True if a log line (or error) of that source holds the text.
inline bool says(const Trace& trace, Source source, std::string_view text) {
  return std::any_of(trace.events().begin(), trace.events().end(), [&](const Event& e) {
    const bool line = e.type == EventType::LogLine || e.type == EventType::Error;
    return line && e.source() == source && trace.string(e.text.text).find(text) != std::string::npos;
  });
}

inline std::vector<double> numbers_of(const Tensor& tensor) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < tensor.count(); ++i) out.push_back(to_double(tensor.at(i)));
  return out;
}

constexpr std::int64_t kSecond = 1'000'000'000;

}  // namespace ringside::sim::test
