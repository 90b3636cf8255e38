// A duel: two to four algorithms on the same message and the same machine. Two ways to time them, never mixed
// on one plot: the time model of NCCL on a named node (predicted, with its measured error), and the schedules
// of this program on the open scenario (a teaching clock: links and reductions only). No ImGui.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/model/time_model.hpp"
#include "sim/scenario/scenario.hpp"

namespace ringside::app {

enum class DuelSource : std::uint8_t { Model, Scenario };

/// What a person chose. Sides are words: NCCL's names ("Ring", "Tree", "NVLS" …) for the model, the
/// scenario's algorithm words ("ring", "tree" …) for the scenario.
struct DuelSetup {
  DuelSource source = DuelSource::Model;
  std::string preset = "dgx-h100";
  int nodes = 8;
  std::int64_t bytes = std::int64_t{8} << 20;
  std::vector<std::string> sides{"Ring", "Tree"};
  bool over_nodes = false;  // the plot's axis: nodes instead of message size
  bool busbw = false;       // the plot's value: bus bandwidth instead of time
  bool operator==(const DuelSetup&) const = default;
};
inline constexpr std::size_t kMostSides = 4;

struct DuelSide {
  std::string word;
  bool available = true;
  std::string why_not = {};  // a text that says why it cannot run here
  double time_us = 0, algbw_GBps = 0, busbw_GBps = 0;
  // The model's.
  std::string protocol = {};
  int hops = 0;
  sim::TimeParts parts = {};
  // The schedule's.
  std::int64_t steps = 0, transfers = 0, bytes_sent = 0;  // of the rank that sends most
  sim::LinkLoad busiest = {};
  bool has_numbers = false;
  std::int64_t differing = 0;  // elements of rank 0's result that are not the first side's, bit for bit
  double most_different = 0;   // largest absolute difference
};

struct DuelPoint {
  double x = 0;                                     // bytes or nodes
  std::vector<std::optional<double>> time_us = {};  // per side
  double factor = 1;                                // busbw = bytes / time × factor
  std::int64_t bytes = 0;
};

/// A stretch of the x axis where one side is fastest, or where the two fastest are closer than 20 %.
struct DuelBand {
  double from = 0, to = 0;
  int side = -1;  // -1 = a tie
};

struct DuelMeasured {
  std::string name;
  std::vector<std::pair<std::int64_t, double>> rows = {};  // bytes, microseconds
};

struct DuelView {
  DuelSetup setup;
  std::vector<DuelSide> sides;
  std::vector<DuelPoint> points;  // by x
  std::vector<DuelBand> bands;
  int fastest = -1;
  int ranks = 0;
  double least_x = 0, most_x = 0;
  std::optional<double> error_percent;
  std::string nccl_choice;  // "Tree, LL128": what NCCL's own formula takes among all
  std::optional<sim::Error> problem;
};

inline constexpr double kTie = 0.20;  // the pictures' choice: closer than this is no difference

/// The words that can be chosen as sides.
std::vector<std::string> duel_choices(DuelSource source);
/// Everything for a setup. `scenario` gives topology, dtype, op and inputs of DuelSource::Scenario (null:
/// problem).
DuelView make_duel(const DuelSetup& setup, const sim::TimeModel& model, const sim::Scenario* scenario);

/// "163 μs", "1.24 ms".
std::string microseconds_text(double us);

}  // namespace ringside::app
