#include "sim/job/timed_plane.hpp"

#include <algorithm>

namespace ringside::sim {

TimedPlane::TimedPlane(const Topology& topology, const ScheduleRequest& request, std::int64_t reduce_ns)
    : topology_(topology), request_(request), reduce_ns_(reduce_ns) {}

std::optional<std::vector<std::int64_t>> TimedPlane::enter(int rank, std::uint32_t seq, std::int64_t t,
                                                           const TimedCall& call) {
  Pending& pending = calls_[seq];
  if (pending.arrived == 0) {
    pending.arrival.assign(static_cast<std::size_t>(topology_.world_size), -1);
    pending.call = call;
  }
  pending.arrival[static_cast<std::size_t>(rank)] = t;
  if (++pending.arrived < topology_.world_size) return std::nullopt;
  auto finish = finish_times(pending.call, pending.arrival);
  calls_.erase(seq);
  return finish;
}

bool TimedPlane::joined(int rank, std::uint32_t seq) const {
  const auto found = calls_.find(seq);
  return found == calls_.end() || found->second.arrival[static_cast<std::size_t>(rank)] >= 0;
}

std::vector<std::int64_t> TimedPlane::finish_times(const TimedCall& call,
                                                   const std::vector<std::int64_t>& arrival) {
  ScheduleRequest request = request_;
  request.collective = call.collective;
  request.dtype = call.dtype;
  request.count = call.count;
  const auto run = [&](const std::vector<std::int64_t>& from) {
    if (request.algorithm == Algorithm::Ring && request.collective == Collective::AllReduce)
      return ring_finish_times(request, topology_, from, reduce_ns_);
    return execute_times(make_schedule(request), request.dtype, topology_, from, reduce_ns_).finish;
  };
  if (topology_.world_size <= kExactRanks) return run(arrival);
  const auto key = std::tuple(call.collective, call.dtype, call.count);
  auto found = offsets_.find(key);
  if (found == offsets_.end())
    found = offsets_.emplace(key, run(std::vector<std::int64_t>(arrival.size(), 0))).first;
  const std::int64_t last = *std::max_element(arrival.begin(), arrival.end());
  std::vector<std::int64_t> finish = found->second;
  for (std::int64_t& t : finish) t += last;
  return finish;
}

}  // namespace ringside::sim
