#include "sim/job/timed_plane.hpp"

#include <algorithm>
#include <utility>

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

void TimedPlane::slow_link(int from, int to, std::int64_t ppm) {
  LinkOverride slow{from, to, topology_.link(from, to)};
  const auto rate = static_cast<__int128>(slow.spec.bytes_per_s) * ppm / 1'000'000;
  slow.spec.bytes_per_s = std::max<std::int64_t>(1, static_cast<std::int64_t>(rate));
  auto& list = topology_.overrides;
  const auto at =
      std::lower_bound(list.begin(), list.end(), slow, [](const LinkOverride& a, const LinkOverride& b) {
        return std::pair(a.from, a.to) < std::pair(b.from, b.to);
      });
  if (at != list.end() && at->from == from && at->to == to)
    *at = slow;
  else
    list.insert(at, slow);
  offsets_.clear();
}

std::vector<std::int64_t> TimedPlane::finish_times(const TimedCall& call,
                                                   const std::vector<std::int64_t>& arrival) {
  ScheduleRequest request = request_;
  request.collective = call.collective;
  request.dtype = call.dtype;
  request.count = call.count;
  // A kind of call that the algorithm does not have meets no partner; its time never counts.
  if (schedule_problem(request)) request.collective = request_.collective;
  const auto run = [&](const std::vector<std::int64_t>& from) {
    return ::ringside::sim::finish_times(request, topology_, from, reduce_ns_).finish;
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
