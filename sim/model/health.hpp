// "What is wrong with my cluster?": compares a measured table with the time model of the preset it should be,
// and says whether it is healthy and, if not, which known causes its shape fits. Reasons from levels and
// shape only: where two causes look alike (no GPUDirect and ACS both halve a NIC), both are named.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/result.hpp"
#include "sim/model/time_model.hpp"

namespace ringside::sim {

enum class HealthCause : std::uint8_t {
  SlowLink,           // a flat line: one link limits every size
  NoGpuDirect,        // network traffic takes the way through host memory
  Acs,                // PCIe access control sends peer traffic over the root complex: about half the rate
  TcpFallback,        // no RDMA: sockets
  MidSizeCollapse,    // large sizes well, middle ones slower by far
  LargeSizeCollapse,  // good up to a size, then a fraction: congestion or routing between racks
  RingLimited,        // as fast as a ring on this network or NVLink, without reduction in the switch (NVLS)
};
/// "one slow link", "no GPUDirect", "ACS", "TCP fallback", "mid-size collapse", "large-size collapse",
/// "ring-limited"
std::string_view to_word(HealthCause cause);

struct ComparedRow {
  std::int64_t bytes = 0;
  double measured_us = 0, predicted_us = 0;
  double measured_busbw_GBps = 0, predicted_busbw_GBps = 0;
};

struct ComparedBand {
  std::size_t points = 0;
  std::optional<double> median_abs_percent;  // |predicted / measured - 1|
};

struct HealthFinding {
  HealthCause cause;
  std::string why;  // one sentence with the numbers that it rests on
};

struct TableComparison {
  std::vector<ComparedRow> rows;
  std::array<ComparedBand, kSizeBands> bands;
  bool fitted = false;
  bool healthy = true;
  std::vector<HealthFinding> causes;  // likeliest first; empty when healthy
  std::string summary;                // one sentence
};

struct MeasuredPoint {
  std::int64_t bytes = 0;
  double time_us = 0;
};

/// `points` by ascending size. Error: as predict, or no points.
Result<TableComparison> compare_with_model(const TimeModel& model, const Preset& preset, std::int32_t nodes,
                                      std::int32_t gpus_per_node, Collective collective,
                                      const std::vector<MeasuredPoint>& points);

}  // namespace ringside::sim
