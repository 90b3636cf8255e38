// Finish times without a Schedule where that can be had: rings by arrays, symmetric algorithms by one rank.
#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/collective/one_rank_time.hpp"
#include "sim/collective/ring_time.hpp"

namespace ringside::sim {
namespace {

/// A schedule of more transfers than this is not built (it would take some GB).
constexpr std::int64_t kMostTransfers = 16'000'000;

/// Everything that is left for worlds too big for a schedule: each rank sends and receives its part of all
/// the others', one block after the other, and the ring's chains are taken as one channel.
std::vector<std::int64_t> without_schedule(ScheduleRequest request, const Topology& topology,
                                           std::span<const std::int64_t> arrival, std::int64_t reduce_ns) {
  if (request.algorithm == Algorithm::Ring && request.collective != Collective::AllToAll) {
    request.channels = 1;
    return ring_walk(request, topology, arrival, reduce_ns);
  }
  const std::int64_t local = std::min(topology.gpus_per_node, request.world_size) - 1;
  const std::int64_t far = request.world_size - 1 - local;
  const std::int64_t block = request.count / request.world_size * size_of(request.dtype);
  const std::int64_t time = local * wire_ns(block, topology.intra.bytes_per_s) +
                            far * wire_ns(block, topology.inter.bytes_per_s) +
                            std::max(topology.intra.latency_ns, far > 0 ? topology.inter.latency_ns : 0);
  return std::vector<std::int64_t>(arrival.size(), arrival[0] + time);
}

}  // namespace

FinishTimes finish_times(const ScheduleRequest& request, const Topology& topology,
                         std::span<const std::int64_t> arrival, std::int64_t reduce_ns) {
  RINGSIDE_CHECK_EQ(schedule_problem(request).value_or(""), "");
  RINGSIDE_CHECK_EQ(arrival.size(), static_cast<std::size_t>(request.world_size));
  RINGSIDE_CHECK_LE(0, reduce_ns);
  if (has_ring_walk(request) && !topology.shared.on())
    return {ring_walk(request, topology, arrival, reduce_ns), true};
  const auto [first, last] = std::minmax_element(arrival.begin(), arrival.end());
  const bool small = transfer_count(request) <= kMostTransfers;
  if (*first == *last || !small) {
    const auto one = one_rank_times(request, topology, *last, reduce_ns);
    if (one && (!small || one->equal_chunks)) {
      return {std::vector<std::int64_t>(arrival.size(), one->finish), one->equal_chunks && *first == *last};
    }
  }
  if (small)
    return {execute_times(make_schedule(request), request.dtype, topology, arrival, reduce_ns).finish, true};
  Topology plain = topology;
  plain.shared = {};
  const std::vector<std::int64_t> together(arrival.size(), *last);
  if (topology.shared.on()) return {finish_times(request, plain, together, reduce_ns).finish, false};
  return {without_schedule(request, plain, together, reduce_ns), false};
}

std::vector<std::int64_t> ring_finish_times(const ScheduleRequest& request, const Topology& topology,
                                            std::span<const std::int64_t> arrival, std::int64_t reduce_ns) {
  RINGSIDE_CHECK(request.algorithm == Algorithm::Ring && request.collective == Collective::AllReduce);
  return finish_times(request, topology, arrival, reduce_ns).finish;
}

}  // namespace ringside::sim
