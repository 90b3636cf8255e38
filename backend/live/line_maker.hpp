// Makes lines of the trace out of a rank's records. Used by whoever reads them: the supervisor of a live
// rank, the feeder of an NCCL job.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backend/live/clock.hpp"
#include "backend/live/detail_sampler.hpp"
#include "backend/live/nvml.hpp"
#include "backend/live/telemetry.hpp"
#include "sim/trace/trace.hpp"

namespace ringside::backend {

/// Pools are thrown away with every batch; only `n` lives on.
class LineMaker {
 public:
  /// `ring_steps_per_second`: what the whole job may tell, 0 = everything.
  LineMaker(const SharedRank& shared, std::int64_t origin,
            std::int64_t ring_steps_per_second = DetailSampler::kPerSecond)
      : shared_(shared), origin_(origin), ring_steps_per_second_(ring_steps_per_second) {}

  /// Ring steps may be held back, or left out when there are too many (detail_sampler.hpp).
  void add(const Record& record);
  /// Tells what was held back and has become due; call it every few milliseconds.
  void tick();
  void add_hello();
  /// One for each communicator that the rank counts by itself (SharedRank::comms), else one for default_pg.
  void add_heartbeat();
  void add_dropped(std::uint64_t count);
  void add_exit(bool by_signal, int code, std::string_view text);
  void add_device(const DeviceReading& reading);
  void add_nic(std::string_view port, bool up);
  /// The process is gone and nobody knows how it ended.
  void add_left(std::string_view text);

  bool empty() const { return lines_.empty(); }
  std::size_t size() const { return lines_.size(); }
  std::string take();

 private:
  void write(const Record& record);
  void add_stride(std::int64_t stride);
  Record now(sim::EventType type) const;
  std::uint32_t comm_of(const Record& record);
  std::uint32_t collective(const Record& record);
  void fill(sim::Event& e, const Record& record);

  const SharedRank& shared_;
  std::int64_t origin_;
  std::int64_t ring_steps_per_second_;
  std::uint32_t next_n_ = 0;
  DetailSampler sampler_;
  sim::Trace pools_;
  std::string lines_;
};

}  // namespace ringside::backend
