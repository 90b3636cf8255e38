#include "sim/model/health.hpp"

#include <algorithm>
#include <cstddef>

#include "sim/base/text.hpp"

namespace ringside::sim {
namespace {

constexpr std::int64_t kKiB = 1024, kMiB = 1024 * kKiB;

// "As fast as it should be" is predicted / measured near 1. What may be healthy grows with what the model
// does not know.
constexpr double kLevelHuge = 0.72;    // at >= 256 MiB, where held-out machines are within a few percent
constexpr double kLevelLarge = 0.6;    // at >= 64 MiB
constexpr double kLevelMiddle = 0.45;  // smaller: old software is that much slower and healthy
constexpr double kLevelUnfitted = 0.6;
constexpr double kRingGrace =
    1.4;  // how far a ring may lie behind the model's best and still be judged as a ring
constexpr double kLatencyOnly = 0.25;  // tables of small sizes only
constexpr double kCollapsed = 0.3;
constexpr std::size_t kCollapsedRows = 4;
constexpr double kSocketGBps = 6.5;  // what one node reaches through sockets, as reports go

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// What the rules look at.
struct Shape {
  std::vector<double> speed;       // predicted / measured, row by row
  std::vector<double> ring_ratio;  // measured / best ring
  std::vector<std::size_t> level_rows;
  double level = 1;         // median speed at the largest sizes
  double judged = 1;        // the same against what a plain ring would do, if that is less
  double level_busbw = 0;   // GB/s there
  double level_limit = 0;   // below it the table is sick
  double network_GBps = 0;  // all NICs of a node in use; 0 on one node
  double nic_GBps = 0;
  std::int32_t nics = 0;
  bool slow_latency = false;     // sizes below 64 KiB take twice as long as they should
  bool switch_expected = false;  // the model's best is NVLS at the largest sizes
};

std::string number(double value) {
  // Two digits after the point below 10, one below 100, none above: enough for GB/s and ratios.
  const std::int64_t scale = value < 10 ? 100 : value < 100 ? 10 : 1;
  const auto scaled = static_cast<std::int64_t>(value * static_cast<double>(scale) + 0.5);
  std::string out = std::to_string(scaled / scale);
  if (scale == 1) return out;
  std::string digits = std::to_string(scaled % scale);
  if (scale == 100 && digits.size() < 2) digits.insert(0, "0");
  return out + "." + digits;
}

std::string percent(double share) {
  return number(share * 100) + " %";
}

/// The rows that tell the level: all from 256 MiB on, but at least the last five from 1 MiB on. Fewer than
/// three, all of them short messages, tell nothing.
void find_level(const TableComparison& compared, bool fitted, Shape& shape) {
  for (std::size_t i = compared.rows.size(); i-- > 0;) {
    const std::int64_t bytes = compared.rows[i].bytes;
    if (bytes < kMiB || (bytes < 256 * kMiB && shape.level_rows.size() >= 5)) break;
    shape.level_rows.push_back(i);
  }
  if (shape.level_rows.size() < 3 && compared.rows.back().bytes < 64 * kMiB) shape.level_rows.clear();
  if (shape.level_rows.empty()) return;
  std::vector<double> speed, busbw, judged;
  for (const std::size_t i : shape.level_rows) {
    speed.push_back(shape.speed[i]);
    busbw.push_back(compared.rows[i].measured_busbw_GBps);
    // A run that keeps up with a plain ring has no broken link, even if a better algorithm was to be
    // expected.
    judged.push_back(
        std::max(shape.speed[i], std::min(1 / shape.ring_ratio[i], kRingGrace * shape.speed[i])));
  }
  shape.level = median(speed);
  shape.level_busbw = median(busbw);
  shape.judged = median(judged);
  const std::int64_t typical = compared.rows[shape.level_rows[shape.level_rows.size() / 2]].bytes;
  shape.level_limit = typical >= 256 * kMiB ? kLevelHuge : typical >= 64 * kMiB ? kLevelLarge : kLevelMiddle;
  if (!fitted) shape.level_limit = std::min(shape.level_limit, kLevelUnfitted);
}

/// The bus bandwidth falls to less than half of an earlier peak and stays there.
std::optional<HealthFinding> large_size_collapse(const TableComparison& compared) {
  double peak = 0;
  std::int64_t peak_bytes = 0;
  std::size_t low = 0;
  double last = 0;
  for (const ComparedRow& row : compared.rows) {
    if (row.bytes < kMiB) continue;
    if (row.measured_busbw_GBps > peak) {
      peak = row.measured_busbw_GBps;
      peak_bytes = row.bytes;
    }
    low = row.measured_busbw_GBps < 0.5 * peak ? low + 1 : 0;
    last = row.measured_busbw_GBps;
  }
  if (low < 3) return std::nullopt;
  return HealthFinding{HealthCause::LargeSizeCollapse,
                       "busbw rises to " + number(peak) + " GB/s at " + format_bytes(peak_bytes) +
                           " and falls to " + number(last) +
                           " GB/s beyond: congestion or bad routes once messages are long"};
}

/// Four neighbouring middle sizes at less than a third of the speed, while large sizes are well.
std::optional<HealthFinding> mid_size_collapse(const TableComparison& compared, const Shape& shape) {
  std::size_t run = 0, longest = 0, worst = 0;
  std::int64_t first = 0, from = 0, to = 0;
  for (std::size_t i = 0; i < compared.rows.size(); ++i) {
    const std::int64_t bytes = compared.rows[i].bytes;
    const bool slow = bytes >= 8 * kKiB && bytes <= 256 * kMiB && shape.speed[i] < kCollapsed;
    if (slow && run == 0) first = bytes;
    run = slow ? run + 1 : 0;
    if (run > longest) {
      longest = run;
      from = first;
      to = bytes;
    }
    if (slow && shape.speed[i] < shape.speed[worst]) worst = i;
  }
  const bool large_well = !shape.level_rows.empty() && shape.judged >= shape.level_limit &&
                          compared.rows[shape.level_rows.front()].bytes > to;
  if (longest < kCollapsedRows || !large_well) return std::nullopt;
  return HealthFinding{HealthCause::MidSizeCollapse,
                       format_bytes(from) + " to " + format_bytes(to) + " take up to " +
                           number(1 / shape.speed[worst]) +
                           " times as long as they should, while large sizes reach " + percent(shape.level)};
}

/// Only from 1 GiB on, where ramps are over and both levels are known within a few percent.
std::optional<HealthFinding> ring_limited(const TableComparison& compared, const Shape& shape) {
  std::vector<double> speed, ratios;
  for (const std::size_t i : shape.level_rows) {
    if (compared.rows[i].bytes < 1024 * kMiB) continue;
    speed.push_back(shape.speed[i]);
    ratios.push_back(shape.ring_ratio[i]);
  }
  if (!shape.switch_expected || speed.size() < 2 || median(speed) >= 0.9) return std::nullopt;
  const double ratio = median(ratios);
  if (ratio < 0.88 || ratio > 1.08) return std::nullopt;
  std::string why = number(shape.level_busbw) + " GB/s is what a ring reaches here";
  if (shape.nics > 1)
    why += " (" + std::to_string(shape.nics) + " NICs x " + number(shape.nic_GBps) + " GB/s)";
  return HealthFinding{HealthCause::RingLimited,
                       why + "; reduction in the switch (NVLS, NVLSTree) is not in use"};
}

/// Rows from the largest down that stay within 30 % of the largest's bandwidth.
template <class Busbw>
std::size_t flat_run(const TableComparison& compared, Busbw busbw) {
  std::size_t run = 0;
  const double plateau = busbw(compared.rows.back());
  for (std::size_t i = compared.rows.size(); i-- > 0 && busbw(compared.rows[i]) >= 0.7 * plateau;) ++run;
  return run;
}

/// The level is reached at far smaller sizes than it should be: a pure link limit.
bool is_flat(const TableComparison& compared) {
  const std::size_t measured =
      flat_run(compared, [](const ComparedRow& row) { return row.measured_busbw_GBps; });
  const std::size_t expected =
      flat_run(compared, [](const ComparedRow& row) { return row.predicted_busbw_GBps; });
  return measured >= 4 && measured >= expected + 2;
}

void low_level_between_nodes(const TableComparison& compared, const Shape& shape,
                             std::vector<HealthFinding>& causes) {
  const double share = shape.level_busbw / shape.network_GBps;
  const bool flat = is_flat(compared), few_rows = compared.rows.size() < 4;
  const std::string level = number(shape.level_busbw) + " GB/s is " + percent(share) + " of the node's " +
                            number(shape.network_GBps) + " GB/s of network";
  const bool half = share > 0.3 && share < 0.7;
  const bool socket = shape.level_busbw <= kSocketGBps && share < 0.6 && shape.network_GBps > kSocketGBps;
  if (half) {
    causes.push_back({HealthCause::NoGpuDirect, level + ": about half, as when data go through host memory"});
    causes.push_back(
        {HealthCause::Acs, level + ": about half, as when PCIe peer traffic is sent over the root complex"});
  }
  if (socket)
    causes.push_back(
        {HealthCause::TcpFallback, level + "; sockets reach no more than " + number(kSocketGBps)});
  if (flat || (few_rows && share < 0.7) || share <= 0.3) {
    std::string why = level;
    if (flat) why += ", and nearly the same at every size: one link limits all";
    if (shape.nics > 1 && shape.level_busbw < 1.15 * shape.nic_GBps)
      why += "; one NIC alone has " + number(shape.nic_GBps);
    const HealthFinding finding = {HealthCause::SlowLink, why};
    // A level below a third is more than a halving; sockets come first only where short messages are slow
    // too.
    if (!half && !(socket && shape.slow_latency))
      causes.insert(causes.begin(), finding);
    else
      causes.push_back(finding);
  }
  if (!half && share <= 0.3)
    causes.push_back(
        {HealthCause::NoGpuDirect, level + "; a host-memory path on a narrow NIC looks the same"});
}

void judge_level(const TableComparison& compared, const Shape& shape, std::vector<HealthFinding>& causes) {
  if (shape.level_rows.empty() || shape.judged >= shape.level_limit) return;
  if (shape.network_GBps > 0) {
    low_level_between_nodes(compared, shape, causes);
    if (!causes.empty()) return;
  }
  causes.push_back({HealthCause::SlowLink,
                    number(shape.level_busbw) + " GB/s is " + percent(shape.level) +
                        " of what the preset reaches" +
                        (shape.network_GBps > 0 ? "" : ": a path leaves NVLink, or a link is slow")});
}

/// Tables of small sizes only: the latency is all there is to judge.
void judge_latency(const Shape& shape, std::vector<HealthFinding>& causes) {
  if (!shape.level_rows.empty()) return;
  const double speed = median(shape.speed);
  if (speed >= kLatencyOnly) return;
  const std::string why = "small sizes take " + number(1 / speed) + " times as long as they should";
  causes.push_back({shape.network_GBps > 0 ? HealthCause::TcpFallback : HealthCause::SlowLink, why});
}

void judge(const Shape& shape, TableComparison& compared) {
  if (const auto ring = ring_limited(compared, shape)) compared.causes.push_back(*ring);
  if (const auto large = large_size_collapse(compared)) compared.causes.push_back(*large);
  if (const auto mid = mid_size_collapse(compared, shape)) compared.causes.push_back(*mid);
  if (compared.causes.empty()) {
    judge_level(compared, shape, compared.causes);
    judge_latency(shape, compared.causes);
  }
  compared.healthy = compared.causes.empty();
  if (!compared.healthy) {
    compared.summary = "not healthy: " + std::string(to_word(compared.causes[0].cause));
    for (std::size_t i = 1; i < compared.causes.size(); ++i)
      compared.summary +=
          (i + 1 == compared.causes.size() ? " or " : ", ") + std::string(to_word(compared.causes[i].cause));
    return;
  }
  compared.summary = "healthy";
  if (shape.level_rows.empty())
    compared.summary += " as far as small sizes tell";
  else
    compared.summary += ": large sizes reach " + percent(shape.level) + " of the predicted speed";
}

double best_ring_us(const Prediction& prediction) {
  double best = 0;
  for (const PredictedRow& row : prediction.rows)
    if (row.algorithm == NcclAlgorithm::Ring && (best == 0 || row.time_us < best)) best = row.time_us;
  return best > 0 ? best : prediction.time_us;
}

void count_bands(TableComparison& compared) {
  for (std::size_t band = 0; band < kSizeBands; ++band) {
    std::vector<double> errors;
    for (const ComparedRow& row : compared.rows) {
      if (size_band(row.bytes) != band) continue;
      const double error = row.predicted_us / row.measured_us - 1;
      errors.push_back(100 * (error < 0 ? -error : error));
    }
    compared.bands[band].points = errors.size();
    if (!errors.empty()) compared.bands[band].median_abs_percent = median(std::move(errors));
  }
}

}  // namespace

std::string_view to_word(HealthCause cause) {
  switch (cause) {
    case HealthCause::SlowLink:
      return "one slow link";
    case HealthCause::NoGpuDirect:
      return "no GPUDirect";
    case HealthCause::Acs:
      return "ACS";
    case HealthCause::TcpFallback:
      return "TCP fallback";
    case HealthCause::MidSizeCollapse:
      return "mid-size collapse";
    case HealthCause::LargeSizeCollapse:
      return "large-size collapse";
    case HealthCause::RingLimited:
      return "ring-limited";
  }
  return "?";
}

Result<TableComparison> compare_with_model(const TimeModel& model, const Preset& preset, std::int32_t nodes,
                                      std::int32_t gpus_per_node, Collective collective,
                                      const std::vector<MeasuredPoint>& points) {
  TableComparison compared;
  Shape shape;
  const std::int32_t gpus = gpus_per_node == 0 ? preset.links.gpus_per_node : gpus_per_node;
  for (const MeasuredPoint& point : points) {
    const auto prediction = predict(model, preset, {nodes, gpus, point.bytes, collective});
    if (!prediction) return prediction.error();
    ComparedRow row = {point.bytes, point.time_us, prediction->time_us, 0, prediction->busbw_GBps};
    row.measured_busbw_GBps = prediction->busbw_GBps * prediction->time_us / point.time_us;
    compared.rows.push_back(row);
    shape.speed.push_back(prediction->time_us / point.time_us);
    shape.ring_ratio.push_back(point.time_us / best_ring_us(*prediction));
    compared.fitted = prediction->fitted;
    shape.switch_expected =
        prediction->algorithm == NcclAlgorithm::Nvls || prediction->algorithm == NcclAlgorithm::NvlsTree;
  }
  if (points.empty()) {
    Error error;
    error.what = "the table has no rows";
    return error;
  }
  if (tuner_job(preset, nodes, gpus).nodes > 1) {
    shape.nics = nics_in_use(preset, gpus);
    shape.nic_GBps = static_cast<double>(preset.links.inter_bytes_per_s) / 1e9;
    shape.network_GBps = shape.nics * shape.nic_GBps;
  }
  std::vector<double> small;
  for (std::size_t i = 0; i < compared.rows.size(); ++i)
    if (size_band(compared.rows[i].bytes) == 0) small.push_back(shape.speed[i]);
  shape.slow_latency = !small.empty() && median(small) < 0.5;
  find_level(compared, compared.fitted, shape);
  count_bands(compared);
  judge(shape, compared);
  return compared;
}

}  // namespace ringside::sim
