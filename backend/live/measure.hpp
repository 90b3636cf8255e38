// Measures this machine: what messages, reductions and copies cost by size between so many local ranks, and
// how long AllReduces take in the three ways of live ranks and Open MPI. Predictions come from the former
// alone; the latter check them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/result.hpp"
#include "sim/model/mpi_machine.hpp"

namespace ringside::backend {

struct MeasureOptions {
  int ranks = 4;
  std::int64_t from_bytes = 1 << 10, to_bytes = 64 << 20;  // of the AllReduces: from, four times that … to
  std::string program_folder;                              // where ringside-rank is
};

struct MeasuredAllReduce {
  sim::MpiWay way = sim::MpiWay::Stepped;
  std::int64_t bytes = 0;
  double measured_us = 0, predicted_us = 0;  // medians of all rounds
  sim::MpiAlgorithm algorithm = sim::MpiAlgorithm::Ring;
  /// (predicted - measured) / measured in percent, each round by itself; the median.
  double error_percent = 0;
  /// Half of the distance between the quartiles of the measured times, in percent of their median.
  double spread_percent = 0;
};

struct Measurement {
  sim::MeasuredMachine machine;  // with the errors of its own predictions
  std::vector<MeasuredAllReduce> rows;
};

/// Runs mpirun and ringside-rank --measure on this machine alone. Errors: mpirun missing, ranks that fail.
sim::Result<Measurement> measure_machine(const MeasureOptions& options);

/// What `ringside-rank --measure` printed, line by line, with predictions beside it. Separate for tests.
sim::Result<Measurement> read_measurement(const std::vector<std::string>& lines, int ranks);

/// The rank's side (ringside-rank alone links MPI): every rank runs it, rank 0 prints. The exit status.
int measure_ranks(std::int64_t from_bytes, std::int64_t to_bytes, int* argc, char*** argv);

}  // namespace ringside::backend
