// Turns NCCL's profiler calls into records: what the plugin does, without its entry points.
//
// Called by NCCL from the threads of the job (the callers of collectives, NCCL's proxy threads), so nothing
// here waits, allocates or fails:
//  * A handle is a number (kind, slot, generation), not a pointer. Slots are taken in turn from fixed arrays;
//    when one comes round again its old handles no longer match and are ignored, whatever they are used for.
//  * Records go into the bounded queues that the feeder reads. A full queue, or one that another thread holds
//    for longer than some hundred tries, is a drop, and drops are counted.
//
// What becomes what (NCCL's README, ext-profiler):
//  * Coll start: the collective is launched = collective_enqueued. First KernelCh start: its kernel runs =
//    collective_started. KernelCh stop on all channels: it is over = collective_finished.
//  * ProxyOp: a channel's traffic with one peer; ProxyStep: one network transfer of it. The states of a step
//    become ring_step_begin (it leaves), ring_step_wait with what it waits for (its GPU, the peer, the
//    network), ring_step_arrive and ring_step_end. `chunk` is the channel: NCCL does not tell chunks. Traffic
//    over NVLink and shared memory has no proxy and stays invisible.
//  * The reduction op is not in NCCL's events; records say sum.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "backend/live/nccl_profiler/profiler_api.hpp"
#include "backend/live/telemetry.hpp"

namespace ringside::nccl_profiler {

/// A record queue with several producers, none of which waits: a short try, then a drop.
class Producers {
 public:
  explicit Producers(backend::RecordQueue& queue) : queue_(queue) {}
  void push(const backend::Record& record);

 private:
  backend::RecordQueue& queue_;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
};

class Tracker {
 public:
  /// `shared` outlives the tracker; rank and world are those of the job.
  Tracker(backend::SharedRank& shared, int rank, int world);

  /// A communicator; returns its context, nullptr when there are more than kMaxComms.
  void* open(std::uint64_t comm_id, const char* name, int ranks, int rank);
  void close(void* context);
  /// The handle, or nullptr for what is not tracked.
  void* start(void* context, std::uint64_t type, void* parent, const Payload& payload);
  void stop(void* handle);
  void state(void* handle, int state, const StateArgs* args);

 private:
  static constexpr std::uint32_t kMaxComms = 256, kColls = 4096, kOps = 8192, kSteps = 32768;
  enum class Kind : std::uint64_t { None, Coll, Op, Step, Kernel };

  // Slots are all atomics: an old handle may be used while its slot is taken again. Then the generation no
  // longer matches, or the record is a mixture; it is never a crash.
  struct Comm {
    std::array<char, 48> name{};
    int ranks = 0;
    bool spans_the_job = false;  // its ranks are the job's: peers can be named
    std::atomic<std::uint64_t> calls{0};
    std::atomic<std::uint32_t> started{0}, finished{0};
  };
  struct Coll {
    std::atomic<std::uint32_t> generation{0};
    std::atomic<std::uint32_t> comm{0};
    std::atomic<std::int64_t> seq{0}, count{0};
    std::atomic<std::uint8_t> collective{0}, dtype{0}, algorithm{0}, protocol{0}, channels{0};
    std::atomic<std::uint16_t> root{0};
    std::atomic<std::uint32_t> kernels_started{0}, kernels_stopped{0};
  };
  struct Op {
    std::atomic<std::uint32_t> generation{0};
    std::atomic<std::uint64_t> coll{0};  // its handle
    std::atomic<std::int32_t> peer{0}, chunk_size{0};
    std::atomic<std::uint8_t> channel{0}, is_send{0};
  };
  struct Step {
    std::atomic<std::uint32_t> generation{0};
    std::atomic<std::uint64_t> op{0};  // its handle
    std::atomic<std::uint32_t> step{0}, bytes{0};
    std::atomic<std::uint8_t> ended{0};
  };
  static std::uint64_t handle(Kind kind, std::uint32_t slot, std::uint32_t generation) {
    return static_cast<std::uint64_t>(kind) << 56 | std::uint64_t{slot} << 32 | generation;
  }
  template <class Slots>
  static auto* find(Slots& slots, std::uint64_t handle, Kind kind);
  template <class Slots>
  static std::uint32_t take(Slots& slots, std::atomic<std::uint64_t>& next, std::uint32_t& generation);

  void* start_coll(std::uint32_t comm, const Payload& payload);
  void* start_op(void* parent, const Payload& payload);
  void* start_step(void* parent, const Payload& payload);
  void* start_kernel(void* parent);
  void tell_comm(sim::EventType type, const Comm& comm);
  void tell_coll(sim::EventType type, const Coll& coll);
  void tell_step(sim::EventType type, const Step& step, const Op& op, sim::WaitsFor waits);
  static void fill_comm(backend::Record& record, const Comm& comm);

  backend::SharedRank& shared_;
  int rank_, world_;
  Producers main_, side_;
  std::atomic<std::uint32_t> comm_count_{0};
  std::atomic<std::uint64_t> next_coll_{0}, next_op_{0}, next_step_{0};
  std::array<Comm, kMaxComms> comms_;
  std::array<Coll, kColls> colls_;
  std::array<Op, kOps> ops_;
  std::array<Step, kSteps> steps_;
};

}  // namespace ringside::nccl_profiler
