// What the watchdog can dump: the last calls of this rank, in the format of PyTorch's Flight Recorder (JSON,
// version 2.9 without frames).
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

#include "sim/base/result.hpp"
#include "sim/collective/schedule.hpp"
#include "sim/tensor/shape.hpp"

namespace ringside::backend {

class FlightLog {
 public:
  FlightLog(int rank, int world_size, std::int64_t timeout_ms)
      : rank_(rank), world_size_(world_size), timeout_ms_(timeout_ms) {}
  void enqueued(std::int64_t seq, sim::Collective collective, sim::DType dtype, const sim::Shape& shape,
                std::int64_t now_ns);
  void started(std::int64_t seq, std::int64_t now_ns);
  void completed(std::int64_t seq, std::int64_t now_ns);
  /// The dump as JSON, from any thread.
  std::string json() const;
  /// Writes folder/nccl_trace_rank_<R> (new or over an older one).
  sim::Status write(const std::string& folder) const;

 private:
  struct Entry {
    std::int64_t id, seq, created_ns, started_ns, completed_ns;
    sim::Collective collective;
    sim::DType dtype;
    sim::Shape shape;
  };
  static constexpr std::size_t kEntries = 2000;  // TORCH_FR_BUFFER_SIZE's default
  mutable std::mutex mutex_;
  int rank_, world_size_;
  std::int64_t timeout_ms_;
  std::int64_t next_id_ = 0, enqueued_ = 0, started_ = 0, completed_ = 0;
  std::deque<Entry> entries_;
};

}  // namespace ringside::backend
