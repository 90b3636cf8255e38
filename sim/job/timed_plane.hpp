// Collectives without numbers: when they are over on each rank, from when each rank came.
//
// Calls pair up by their order on each rank, as in the data plane with numbers. Up to kExactRanks ranks the
// finish times are the executor's for the real arrival times; beyond, a collective takes as long as after a
// simultaneous arrival, counted from the last one who came (whole jobs of many ranks; zooming in runs the
// executor).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "sim/collective/executor.hpp"
#include "sim/collective/schedule.hpp"

namespace ringside::sim {

inline constexpr int kExactRanks = 64;

/// One rank's call, as far as time needs it.
struct TimedCall {
  Collective collective = Collective::AllReduce;
  DType dtype = DType::Float32;
  std::int64_t count = 0;
  bool operator==(const TimedCall&) const = default;
};

class TimedPlane {
 public:
  TimedPlane() = default;
  TimedPlane(const Topology& topology, const ScheduleRequest& request, std::int64_t reduce_ns);

  /// The rank's seq-th call is entered. Gives the finish time of every rank when it was the last one.
  std::optional<std::vector<std::int64_t>> enter(int rank, std::uint32_t seq, std::int64_t t,
                                                 const TimedCall& call);
  /// True if the rank has entered its seq-th call (or the collective is over).
  bool joined(int rank, std::uint32_t seq) const;
  /// From now on the link has so many parts per million of its bandwidth.
  void slow_link(int from, int to, std::int64_t ppm);

 private:
  struct Pending {
    std::vector<std::int64_t> arrival;  // -1 = not yet
    TimedCall call;
    int arrived = 0;
  };
  std::vector<std::int64_t> finish_times(const TimedCall& call, const std::vector<std::int64_t>& arrival);

  Topology topology_;
  ScheduleRequest request_;
  std::int64_t reduce_ns_ = 0;
  std::map<std::uint32_t, Pending> calls_;
  std::map<std::tuple<Collective, DType, std::int64_t>, std::vector<std::int64_t>> offsets_;
};

}  // namespace ringside::sim
