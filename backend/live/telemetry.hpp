// How a rank's worker tells what it does without ever waiting: bounded lock-free queues in memory that it
// shares with its supervisor.
//
// The worker (the process that trains) is a child of the supervisor (the process that mpirun started). The
// worker copies a fixed-size record into a ring and goes on; if the ring is full it counts a drop. The
// supervisor turns records into lines and talks to the hub. So the network never touches the data plane, and
// when the worker is killed, what it had said is still there and the supervisor can say how it ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string_view>

#include "sim/tensor/tensor.hpp"
#include "sim/trace/event.hpp"

namespace ringside::backend {

/// Where a text comes from. A Record carries it in TextPayload::channel, where a trace has a string index.
enum class TextFrom : std::uint32_t { Stderr, Mpi, Nccl, Compare, Nvml, Telemetry };

/// One event with what its pools would hold, by value.
struct Record {
  sim::Event event;       // pool indices in it mean nothing; they are set again by the supervisor
  std::int64_t seq = 0;   // collectives and ring steps
  std::int32_t step = 0;  // collectives: the training step it belongs to
  std::uint32_t steps = 0, reduce_steps = 0, transfers = 0;  // collectives: of its schedule; 0 = fused
  sim::RingOrder order = sim::RingOrder::Nccl;
  sim::Chunking chunking = sim::Chunking::Even;
  std::uint8_t has_sample = 0;
  std::uint8_t value_count = 0;  // ≤ 64
  sim::DType dtype = sim::DType::Float32;
  std::int64_t count = 0, nan_count = 0, inf_count = 0;
  std::uint64_t digest = 0, min_bits = 0, max_bits = 0;
  std::uint64_t values[sim::Sample::kAllUpTo] = {};
  std::int32_t world_size = 0;  // of its communicator; 0 = that of the job
  char comm[48] = {};           // the communicator; empty = default_pg
  char text[320] = {};          // truncated

  void set_text(std::string_view t);
  void set_sample(const sim::Sample& sample);
  sim::Sample sample() const;
};

/// Single producer, single consumer. Lives in shared memory: no pointers.
class RecordQueue {
 public:
  static constexpr std::uint32_t kSlots = 4096;  // power of two
  /// False if full; then nothing is written and `dropped` grows.
  bool push(const Record& record);
  bool pop(Record& record);
  /// Counts a record that a producer gave up by itself.
  void drop() { dropped_.fetch_add(1, std::memory_order_relaxed); }
  /// Drops since the last call.
  std::uint64_t take_dropped() { return dropped_.exchange(0, std::memory_order_relaxed); }
  bool empty() const {
    return head_.load(std::memory_order_acquire) == tail_.load(std::memory_order_acquire);
  }

 private:
  alignas(64) std::atomic<std::uint32_t> head_{0};  // next slot to write
  alignas(64) std::atomic<std::uint32_t> tail_{0};  // next slot to read
  alignas(64) std::atomic<std::uint64_t> dropped_{0};
  Record slots_[kSlots];
};

/// What the hub asked this rank to do to itself.
struct FaultOrder {
  sim::FaultKind kind = sim::FaultKind::Nan;
  std::int64_t step = 0;  // 0 = now
  std::int64_t duration_ns = 0;
  std::int64_t element = 0;
  std::int64_t count = 0;  // shape: elements of the wrong call; 0 = half as many again
};

/// The calls of one communicator, for a rank that has several.
struct CommCounters {
  char name[48] = {};
  std::atomic<std::uint32_t> enqueued{0}, started{0}, completed{0};
};

/// Everything that worker and supervisor share.
struct SharedRank {
  RecordQueue main;  // producer: the training thread
  RecordQueue side;  // producers: heartbeat and watchdog threads (they take turns by a lock of their own)
  std::atomic<std::int32_t> rank{-1}, world_size{0};
  std::atomic<std::uint64_t> beats{0};  // grows every 250 ms while the worker lives and is not stopped
  std::atomic<std::int32_t> step{0};
  std::atomic<std::uint8_t> phase{0};
  std::atomic<std::uint32_t> enqueued{0}, started{0}, completed{0};
  std::atomic<std::uint32_t> comm_count{0};  // of comms; 0 = the counters above are default_pg's
  CommCounters comms[16];
  std::atomic<std::uint32_t> orders_written{0}, orders_read{0};
  FaultOrder orders[64];
  char host[128] = {};
  char device[128] = {};
  char mpi_version[128] = {};
  char nccl_version[64] = {}, pci[32] = {};  // empty on a CPU
  std::int32_t local_rank = -1;
  std::int64_t clock_shift_ns = 0;  // for tests: this rank's clock is wrong by so much
  std::int64_t pid = 0;            // of the process that is watched; 0 = the reader's own
  std::atomic<bool> ready{false};  // all of the above but the counters is set

  /// From the supervisor; false when 64 orders are pending.
  bool give_order(const FaultOrder& order);
  bool take_order(FaultOrder& order);
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free &&
                  std::atomic<std::uint64_t>::is_always_lock_free,
              "shared-memory atomics must be lock-free");

/// Anonymous memory shared with children, zero-filled and constructed; nullptr if the system has none left.
SharedRank* make_shared_rank();

}  // namespace ringside::backend
