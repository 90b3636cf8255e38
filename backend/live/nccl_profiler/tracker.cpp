#include "backend/live/clock.hpp"
#include "backend/live/nccl_profiler/tracker.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace ringside::nccl_profiler {

using backend::Record;
using sim::EventType;

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

std::uint64_t number_of(void* handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}
void* pointer_of(std::uint64_t handle) {
  return reinterpret_cast<void*>(handle);
}

sim::Collective collective_of(std::string_view function) {
  struct Row {
    std::string_view name;
    sim::Collective collective;
  };
  constexpr std::array<Row, 6> kRows{{{"AllReduce", sim::Collective::AllReduce},
                                      {"ReduceScatter", sim::Collective::ReduceScatter},
                                      {"AllGather", sim::Collective::AllGather},
                                      {"Broadcast", sim::Collective::Broadcast},
                                      {"Reduce", sim::Collective::Reduce},
                                      {"AlltoAll", sim::Collective::AllToAll}}};
  for (const Row& row : kRows)
    if (row.name == function) return row.collective;
  return sim::Collective::AllReduce;
}

/// The dtype and how many of them hold one element: a trace has no 8-bit types, so bytes are counted in
/// int32.
struct DTypeOf {
  sim::DType dtype;
  std::int64_t elements_in_one;
};
DTypeOf dtype_of(std::string_view name) {
  if (name.starts_with("nccl")) name.remove_prefix(4);
  if (name == "Float32" || name == "Float") return {sim::DType::Float32, 1};
  if (name == "Float16" || name == "Half") return {sim::DType::Float16, 1};
  if (name == "Bfloat16") return {sim::DType::BFloat16, 1};
  if (name == "Float64" || name == "Double") return {sim::DType::Float64, 1};
  if (name == "Int64" || name == "Uint64") return {sim::DType::Int64, 1};
  if (name == "Int32" || name == "Uint32" || name == "Int") return {sim::DType::Int32, 1};
  return {sim::DType::Int32, 4};
}

sim::Algorithm algorithm_of(std::string_view name) {
  if (name == "TREE") return sim::Algorithm::NcclTree;
  if (name.starts_with("NVLS")) return sim::Algorithm::Nvls;
  return sim::Algorithm::Ring;
}

std::string_view text_of(const char* text) {
  return text == nullptr ? std::string_view() : std::string_view(text);
}

}  // namespace

void Producers::push(const Record& record) {
  for (int tries = 0; busy_.test_and_set(std::memory_order_acquire); ++tries)
    if (tries > 400) return queue_.drop();
  queue_.push(record);
  busy_.clear(std::memory_order_release);
}

Tracker::Tracker(backend::SharedRank& shared, int rank, int world)
    : shared_(shared), rank_(rank), world_(world), main_(shared.main), side_(shared.side) {}

template <class Slots>
auto* Tracker::find(Slots& slots, std::uint64_t handle, Kind kind) {
  const std::uint64_t slot = handle >> 32 & 0xFF'FFFF;
  const bool right = handle >> 56 == static_cast<std::uint64_t>(kind) && slot < slots.size() &&
                     slots[slot].generation.load(std::memory_order_acquire) == (handle & 0xFFFF'FFFF);
  return right ? &slots[slot] : nullptr;
}

/// The next slot in turn. Its generation is even while it is filled; the caller stores the odd one that the
/// handle carries.
template <class Slots>
std::uint32_t Tracker::take(Slots& slots, std::atomic<std::uint64_t>& next, std::uint32_t& generation) {
  const std::uint64_t turn = next.fetch_add(1, kRelaxed);
  const auto slot = static_cast<std::uint32_t>(turn % slots.size());
  generation = static_cast<std::uint32_t>(turn / slots.size()) * 2 + 1;
  slots[slot].generation.store(generation - 1, std::memory_order_release);
  return slot;
}

void* Tracker::open(std::uint64_t comm_id, const char* name, int ranks, int rank) {
  const std::uint32_t slot = comm_count_.fetch_add(1);
  if (slot >= kMaxComms) {
    comm_count_.store(kMaxComms);
    return nullptr;
  }
  Comm& comm = comms_[slot];
  if (text_of(name).empty())
    std::snprintf(comm.name.data(), comm.name.size(), "%016llx", static_cast<unsigned long long>(comm_id));
  else
    std::snprintf(comm.name.data(), comm.name.size(), "%s", name);
  comm.ranks = ranks;
  comm.spans_the_job = ranks == world_ && rank == rank_;
  if (slot < std::size(shared_.comms)) {
    std::memcpy(shared_.comms[slot].name, comm.name.data(), comm.name.size());
    shared_.comm_count.store(slot + 1, std::memory_order_release);
  }
  tell_comm(EventType::CommInit, comm);
  return pointer_of(std::uint64_t{slot} + 1);
}

void Tracker::close(void* context) {
  const std::uint64_t slot = number_of(context) - 1;
  if (slot < kMaxComms) tell_comm(EventType::CommFinalize, comms_[slot]);
}

void* Tracker::start(void* context, std::uint64_t type, void* parent, const Payload& payload) {
  const std::uint64_t comm = number_of(context) - 1;
  if (comm >= kMaxComms) return nullptr;
  switch (type) {
    case kColl:
      return start_coll(static_cast<std::uint32_t>(comm), payload);
    case kProxyOp:
      return start_op(parent, payload);
    case kProxyStep:
      return start_step(parent, payload);
    case kKernelCh:
      return start_kernel(parent);
    default:
      return nullptr;
  }
}

void* Tracker::start_coll(std::uint32_t comm, const Payload& payload) {
  std::uint32_t generation = 0;
  const std::uint32_t slot = take(colls_, next_coll_, generation);
  Coll& coll = colls_[slot];
  const DTypeOf type = dtype_of(text_of(payload.coll.datatype));
  const auto count = static_cast<std::int64_t>(payload.coll.count);
  coll.comm.store(comm, kRelaxed);
  coll.seq.store(static_cast<std::int64_t>(comms_[comm].calls.fetch_add(1, kRelaxed)) + 1, kRelaxed);
  coll.count.store((count + type.elements_in_one - 1) / type.elements_in_one, kRelaxed);
  coll.collective.store(static_cast<std::uint8_t>(collective_of(text_of(payload.coll.function))), kRelaxed);
  coll.dtype.store(static_cast<std::uint8_t>(type.dtype), kRelaxed);
  coll.algorithm.store(static_cast<std::uint8_t>(algorithm_of(text_of(payload.coll.algorithm))), kRelaxed);
  coll.channels.store(std::max<std::uint8_t>(payload.coll.channels, 1), kRelaxed);
  coll.root.store(static_cast<std::uint16_t>(std::max(payload.coll.root, 0)), kRelaxed);
  coll.kernels_started.store(0, kRelaxed);
  coll.kernels_stopped.store(0, kRelaxed);
  coll.generation.store(generation, std::memory_order_release);
  tell_coll(EventType::CollectiveEnqueued, coll);
  return pointer_of(handle(Kind::Coll, slot, generation));
}

void* Tracker::start_op(void* parent, const Payload& payload) {
  // The proxy of another process: its parent is a handle of that process.
  if (payload.proxy_op.pid != ::getpid() || find(colls_, number_of(parent), Kind::Coll) == nullptr)
    return nullptr;
  std::uint32_t generation = 0;
  const std::uint32_t slot = take(ops_, next_op_, generation);
  Op& op = ops_[slot];
  op.coll.store(number_of(parent), kRelaxed);
  op.peer.store(payload.proxy_op.peer, kRelaxed);
  op.chunk_size.store(payload.proxy_op.chunk_size, kRelaxed);
  op.channel.store(payload.proxy_op.channel, kRelaxed);
  op.is_send.store(payload.proxy_op.is_send != 0, kRelaxed);
  op.generation.store(generation, std::memory_order_release);
  return pointer_of(handle(Kind::Op, slot, generation));
}

void* Tracker::start_step(void* parent, const Payload& payload) {
  const Op* op = find(ops_, number_of(parent), Kind::Op);
  if (op == nullptr) return nullptr;
  std::uint32_t generation = 0;
  const std::uint32_t slot = take(steps_, next_step_, generation);
  Step& step = steps_[slot];
  step.op.store(number_of(parent), kRelaxed);
  step.step.store(static_cast<std::uint32_t>(payload.proxy_step.step) + 1, kRelaxed);
  step.bytes.store(0, kRelaxed);
  step.ended.store(0, kRelaxed);
  step.generation.store(generation, std::memory_order_release);
  return pointer_of(handle(Kind::Step, slot, generation));
}

void* Tracker::start_kernel(void* parent) {
  Coll* coll = find(colls_, number_of(parent), Kind::Coll);
  if (coll == nullptr) return nullptr;
  if (coll->kernels_started.fetch_add(1, std::memory_order_acq_rel) == 0)
    tell_coll(EventType::CollectiveStarted, *coll);
  const std::uint64_t own = number_of(parent);
  return pointer_of((own & 0x00FF'FFFF'FFFF'FFFF) | static_cast<std::uint64_t>(Kind::Kernel) << 56);
}

void Tracker::stop(void* handle) {
  const std::uint64_t number = number_of(handle);
  if (number >> 56 == static_cast<std::uint64_t>(Kind::Kernel)) {
    const std::uint64_t coll_handle =
        (number & 0x00FF'FFFF'FFFF'FFFF) | static_cast<std::uint64_t>(Kind::Coll) << 56;
    Coll* coll = find(colls_, coll_handle, Kind::Coll);
    if (coll != nullptr &&
        coll->kernels_stopped.fetch_add(1, std::memory_order_acq_rel) + 1 == coll->channels.load(kRelaxed))
      tell_coll(EventType::CollectiveFinished, *coll);
    return;
  }
  Step* step = find(steps_, number, Kind::Step);
  if (step == nullptr) return;  // the end of a Coll is the end of its launch: nothing to say
  const Op* op = find(ops_, step->op.load(kRelaxed), Kind::Op);
  if (op == nullptr || op->is_send.load(kRelaxed) || step->ended.exchange(1, kRelaxed)) return;
  tell_step(EventType::RingStepEnd, *step, *op, sim::WaitsFor::Network);
}

void Tracker::state(void* handle, int state, const StateArgs* args) {
  Step* step = find(steps_, number_of(handle), Kind::Step);
  if (step == nullptr) return;
  const Op* op = find(ops_, step->op.load(kRelaxed), Kind::Op);
  if (op == nullptr) return;
  if (args != nullptr && args->proxy_step.bytes > 0)
    step->bytes.store(static_cast<std::uint32_t>(std::min<std::size_t>(args->proxy_step.bytes, 0xFFFF'FFFF)),
                      kRelaxed);
  switch (state) {
    case kSendGpuWait:
    case kRecvGpuWait:
      return tell_step(EventType::RingStepWait, *step, *op, sim::WaitsFor::Gpu);
    case kSendPeerWait:
      return tell_step(EventType::RingStepWait, *step, *op, sim::WaitsFor::Peer);
    case kSendWait:
      return tell_step(EventType::RingStepBegin, *step, *op, sim::WaitsFor::Network);
    case kRecvWait:
      return tell_step(EventType::RingStepWait, *step, *op, sim::WaitsFor::Network);
    case kRecvFlushWait:
      return tell_step(EventType::RingStepArrive, *step, *op, sim::WaitsFor::Gpu);
    default:
      return;
  }
}

void Tracker::fill_comm(Record& record, const Comm& comm) {
  record.event.t = backend::unix_ns();
  std::memcpy(record.comm, comm.name.data(), comm.name.size());
  record.world_size = comm.ranks;
}

void Tracker::tell_comm(EventType type, const Comm& comm) {
  Record record;
  record.event.type = type;
  fill_comm(record, comm);
  main_.push(record);
}

void Tracker::tell_coll(EventType type, const Coll& coll) {
  const std::uint32_t slot = std::min(coll.comm.load(kRelaxed), kMaxComms - 1);
  Record record;
  record.event.type = type;
  fill_comm(record, comms_[slot]);
  record.seq = coll.seq.load(kRelaxed);
  record.event.collective =
      sim::CollectivePayload{sim::kNone,
                             sim::kNone,
                             coll.count.load(kRelaxed),
                             static_cast<sim::Collective>(coll.collective.load(kRelaxed)),
                             sim::ReduceOp::Sum,
                             static_cast<sim::DType>(coll.dtype.load(kRelaxed)),
                             static_cast<sim::Algorithm>(coll.algorithm.load(kRelaxed)),
                             0,
                             coll.channels.load(kRelaxed),
                             coll.root.load(kRelaxed)};
  main_.push(record);
  if (slot >= std::size(shared_.comms)) return;
  backend::CommCounters& counters = shared_.comms[slot];
  const auto seq = static_cast<std::uint32_t>(record.seq);
  if (type == EventType::CollectiveEnqueued) counters.enqueued.store(seq, kRelaxed);
  if (type == EventType::CollectiveStarted) counters.started.store(seq, kRelaxed);
  if (type == EventType::CollectiveFinished) counters.completed.store(seq, kRelaxed);
}

void Tracker::tell_step(EventType type, const Step& step, const Op& op, sim::WaitsFor waits) {
  const Coll* coll = find(colls_, op.coll.load(kRelaxed), Kind::Coll);
  if (coll == nullptr) return;
  const Comm& comm = comms_[std::min(coll->comm.load(kRelaxed), kMaxComms - 1)];
  if (!comm.spans_the_job) return;  // its peers' numbers are not the job's ranks
  Record record;
  record.event.type = type;
  fill_comm(record, comm);
  record.seq = coll->seq.load(kRelaxed);
  const bool sends = op.is_send.load(kRelaxed) != 0;
  record.event.aux8 = static_cast<std::uint8_t>(sends ? sim::Primitive::Send : sim::Primitive::Recv);
  record.event.flags = static_cast<std::uint8_t>(waits);
  const std::uint32_t bytes = step.bytes.load(kRelaxed);
  record.event.aux32 =
      bytes > 0 ? bytes : static_cast<std::uint32_t>(std::max(0, op.chunk_size.load(kRelaxed)));
  const std::uint8_t channel = op.channel.load(kRelaxed);
  record.event.ring = sim::RingStepPayload{
      sim::kNone, channel, 0, step.step.load(kRelaxed), channel, op.peer.load(kRelaxed), sim::kNone};
  side_.push(record);
}

}  // namespace ringside::nccl_profiler
