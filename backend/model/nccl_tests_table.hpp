// Reads what nccl-tests measured: its plain output (also of old versions), its JSON (-J), and the project's
// CSV.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/result.hpp"
#include "sim/collective/schedule.hpp"

namespace ringside::backend {

struct MeasuredRow {
  std::int64_t bytes = 0;
  double time_us = 0;  // out of place; the median where a size was measured more than once
};

struct MeasuredTable {
  std::vector<MeasuredRow> rows;  // by ascending size, each size once
  sim::Collective collective = sim::Collective::AllReduce;
  std::int32_t nodes = 0;          // 0: the text does not say
  std::int32_t gpus_per_node = 0;  // 0: the text does not say
  std::string verdict;             // the CSV's `verdict=`, as written
};

/// The table in the text. Lines that are no rows (logs around the table, launcher prefixes) are passed over.
/// Error: no row found, or more than 100,000 rows.
sim::Result<MeasuredTable> read_nccl_tests(std::string_view text, std::string_view file_name);

}  // namespace ringside::backend
