// `ringside-cli predict` and `ringside-cli compare`: the time model for people and as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/base/result.hpp"
#include "sim/collective/schedule.hpp"
#include "sim/model/mpi_machine.hpp"
#include "sim/model/time_model.hpp"

namespace ringside::app {

/// Sizes to predict: from, twice that … to. "8M..8G", "1G".
struct SizeRange {
  std::int64_t from = 0, to = 0;
};
/// Sizes are integers, alone or with K, M, G (2^10, 2^20, 2^30), at least 1 byte.
sim::Result<SizeRange> parse_size_range(std::string_view text);

struct PredictOptions {
  std::string preset;
  std::int32_t nodes = 1;
  std::int32_t gpus_per_node = 0;  // 0: the preset's
  SizeRange sizes;
  sim::Collective collective = sim::Collective::AllReduce;
  bool json = false;
};

struct CompareOptions {
  std::string preset;
  std::int32_t nodes = 0;          // 0: as the table says, else 1
  std::int32_t gpus_per_node = 0;  // 0: as the table says, else the preset's
  std::string table_name;          // for messages
  bool json = false;
};

/// What goes to stdout, one JSON object and a line feed with `json`: {preset, title, nodes, gpus_per_node,
/// ranks, collective, fitted, rows [{size_bytes, time_us, time_ns, algbw_GBps, busbw_GBps, algorithm,
/// protocol, channels, expected_error_percent, nccl_choice {algorithm, protocol, time_us}}]}.
/// expected_error_percent is null when nothing was measured.
sim::Result<std::string> run_predict(const PredictOptions& options, const sim::TimeModel& model);

/// The same for a machine that `ringside-cli measure` found: MPI_Allreduce by Open MPI's own choice of
/// algorithm, in the same JSON (protocol "mpi", nccl_choice null). AllReduce on one machine only.
sim::Result<std::string> run_predict_measured(const PredictOptions& options,
                                              const sim::MeasuredMachine& machine);

/// `table` is the text of an nccl-tests table. JSON: {preset, nodes, gpus_per_node, collective, fitted, rows
/// [{size_bytes, measured_us, predicted_us, measured_busbw_GBps, predicted_busbw_GBps}], bands [{band,
/// points, median_abs_error_percent, expected_error_percent}], verdict {healthy, causes [text], evidence
/// [text], summary}}.
sim::Result<std::string> run_compare(const CompareOptions& options, std::string_view table,
                                     const sim::TimeModel& model);

}  // namespace ringside::app
