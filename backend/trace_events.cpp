// What each event type's line holds: the mirror of sim/trace/writer.cpp, type by type.
#include <algorithm>

#include "backend/event_fields.hpp"
#include "sim/scenario/scenario.hpp"

namespace ringside::backend {
namespace {

using sim::Event;
using sim::EventType;
using sim::kNone;

constexpr std::int64_t kMaxRank = sim::kMaxRanksTimeOnly - 1;

void read_hello(EventFields& in, Event& e) {
  sim::Hello hello;
  hello.host = in.string("host");
  hello.pid = in.integer<std::int64_t>("pid");
  hello.local_rank = in.integer<std::int32_t>("local_rank", -1);
  hello.device = in.optional_string("device");
  hello.uuid = in.optional_string("uuid");
  hello.pci = in.optional_string("pci");
  hello.driver = in.optional_string("driver");
  hello.cuda = in.optional_string("cuda");
  hello.nccl = in.optional_string("nccl");
  hello.mpi = in.optional_string("mpi");
  if (in.good()) e.hello.hello = in.trace().add_hello(std::move(hello));
}

void read_comm(EventFields& in, Event& e) {
  e.comm.comm = in.text("comm");
  e.comm.world_size = static_cast<std::int32_t>(in.integer("world_size", 0, kMaxRank + 1));
  e.comm.members = in.list("members");
}

void read_phase(EventFields& in, Event& e) {
  e.phase = {};
  e.phase.phase = in.word<sim::Phase>("phase", sim::phase_from);
  e.phase.step = in.integer<std::int32_t>("step");
  if (in.has("loss")) {
    e.phase.has |= sim::kHasLoss;
    e.phase.loss = in.number("loss");
  }
  if (in.has("grad_norm")) {
    e.phase.has |= sim::kHasGradNorm;
    e.phase.grad_norm = in.number("grad_norm");
  }
}

std::optional<sim::Chunking> chunking_from(std::string_view word) {
  if (word == sim::to_word(sim::Chunking::Even)) return sim::Chunking::Even;
  if (word == sim::to_word(sim::Chunking::Nccl)) return sim::Chunking::Nccl;
  return std::nullopt;
}

/// The table of chunks as the schedule cut it, where ring steps are in the trace. A table that a hostile file
/// could blow up is left empty: views then show ranks, not chunks.
sim::ChunkTable chunks_of(const sim::CollectiveInfo& info) {
  constexpr std::int64_t kMostChunks = 4'096, kNcclChunkBytes = 2 << 20;
  constexpr int kMostRanks = 64;
  sim::ScheduleRequest request;
  request.collective = info.collective;
  request.algorithm = info.algorithm;
  request.order = info.order;
  request.chunking = info.chunking;
  request.dtype = info.dtype;
  request.count = info.count;
  request.world_size = info.world_size;
  request.channels = info.channels;
  if (info.world_size > kMostRanks || sim::schedule_problem(request)) return {};
  std::int64_t chunks = std::int64_t{info.world_size} * info.channels;
  if (info.chunking == sim::Chunking::Nccl)
    chunks += info.count / (kNcclChunkBytes / sim::size_of(info.dtype)) * 2;
  if (chunks > kMostChunks) return {};
  return sim::make_schedule(request).chunks;
}

void read_enqueued(EventFields& in, Event& e) {
  sim::CollectivePayload& call = e.collective;
  call.collective = in.word<sim::Collective>("collective", sim::collective_from);
  call.op = in.word<sim::ReduceOp>("op", sim::op_from);
  call.root = in.integer<std::uint16_t>("root");
  call.dtype = in.word<sim::DType>("dtype", sim::dtype_from);
  call.count = in.integer<std::int64_t>("count");
  call.shape = in.shape("shape");
  call.algorithm = in.word<sim::Algorithm>("algorithm", sim::algorithm_from);
  call.channels = in.integer<std::uint8_t>("channels");
  sim::CollectiveInfo seen;
  seen.order = in.word<sim::RingOrder>("order", sim::ring_order_from);
  seen.chunking = in.word<sim::Chunking>("chunking", chunking_from);
  seen.world_size = static_cast<std::int32_t>(in.integer("world_size", 0, kMaxRank + 1));
  seen.steps = in.integer<std::uint32_t>("ring_steps");
  seen.reduce_steps = in.integer<std::uint32_t>("reduce_steps");
  seen.transfers = in.integer<std::uint32_t>("transfers");
  if (!in.good() || !in.first_sight(call.coll)) return;
  sim::CollectiveInfo& info = in.trace().collective(call.coll);
  info.collective = call.collective;
  info.op = call.op;
  info.dtype = call.dtype;
  info.algorithm = call.algorithm;
  info.count = call.count;
  info.shape = call.shape == kNone ? 0 : call.shape;
  info.channels = call.channels;
  info.order = seen.order;
  info.chunking = seen.chunking;
  info.world_size = seen.world_size;
  info.steps = seen.steps;
  info.reduce_steps = seen.reduce_steps;
  info.transfers = seen.transfers;
  const bool visible = in.trace().header.detail == sim::Detail::Chunks && info.transfers > 0;
  if (visible) info.chunks = chunks_of(info);
}

void read_collective(EventFields& in, Event& e) {
  e.collective = {};
  e.collective.shape = kNone;
  e.collective.coll = in.collective(in.integer<std::int64_t>("step"));
  if (in.good() && e.type == EventType::CollectiveEnqueued) read_enqueued(in, e);
}

std::optional<sim::WaitsFor> waits_from(std::string_view word) {
  for (const auto waits : {sim::WaitsFor::Gpu, sim::WaitsFor::Peer, sim::WaitsFor::Network}) {
    if (sim::to_word(waits) == word) return waits;
  }
  return std::nullopt;
}

void read_ring_step(EventFields& in, Event& e) {
  e.ring = {};
  e.ring.coll = in.collective(0);
  e.ring.channel = in.integer<std::uint16_t>("channel");
  e.ring.loop = in.integer<std::uint16_t>("loop");
  e.ring.step = in.integer<std::uint32_t>("step");
  e.ring.chunk = in.integer<std::uint32_t>("chunk");
  e.ring.peer = static_cast<std::int32_t>(in.integer("peer", 0, kMaxRank));
  e.aux32 = static_cast<std::uint32_t>(in.integer("bytes", 0, UINT32_MAX));
  if (e.type == EventType::RingStepWait) {
    e.flags = static_cast<std::uint8_t>(in.word<sim::WaitsFor>("waits_for", waits_from));
  } else {
    e.aux8 = static_cast<std::uint8_t>(in.word<sim::Primitive>("primitive", sim::primitive_from));
  }
  e.ring.sample = in.sample();
}

void read_tensor(EventFields& in, Event& e) {
  e.tensor = {};
  e.tensor.name = in.text("name");
  e.tensor.shape = in.shape("shape");
  e.tensor.dtype = in.word<sim::DType>("dtype", sim::dtype_from);
  e.tensor.sample = in.sample();
}

void read_heartbeat(EventFields& in, Event& e) {
  e.heartbeat = {};
  e.heartbeat.comm = in.text("comm");
  e.heartbeat.step = in.integer<std::int32_t>("step");
  e.heartbeat.phase = in.word<sim::Phase>("phase", sim::phase_from);
  e.heartbeat.enqueued = in.integer<std::uint32_t>("enqueued");
  e.heartbeat.started = in.integer<std::uint32_t>("started");
  e.heartbeat.completed = in.integer<std::uint32_t>("completed");
}

void read_watchdog(EventFields& in, Event& e) {
  e.watchdog = {};
  e.watchdog.coll = in.has("seq") ? in.collective(0) : kNone;
  e.watchdog.waited_ns = in.integer<std::int64_t>("waited_ns");
  e.watchdog.text = in.text("text");
}

void read_text(EventFields& in, Event& e) {
  e.text = {kNone, kNone, 0, 0};
  constexpr std::int32_t kAnyCode = INT32_MIN;
  switch (e.type) {
    case EventType::Error:
      e.text.channel = in.text("layer");
      e.text.code = in.integer<std::int32_t>("code", kAnyCode);
      break;
    case EventType::LogLine:
      e.text.channel = in.text("stream");
      break;
    case EventType::NicState:
      e.text.code = in.boolean("up") ? 1 : 0;
      break;
    case EventType::Exit:
      e.aux8 = in.has("signal") ? 1 : 0;
      e.text.code = in.integer<std::int32_t>(e.aux8 != 0 ? "signal" : "code", kAnyCode);
      break;
    default:
      break;
  }
  e.text.text = in.text(e.type == EventType::NodeState ? "state" : "text");
}

void read_device(EventFields& in, Event& e) {
  e.device.power_w = static_cast<float>(in.number("power_w"));
  e.device.utilisation = static_cast<float>(in.number("utilisation"));
  e.device.sm_clock_mhz = static_cast<float>(in.number("sm_clock_mhz"));
  e.device.temperature_c = static_cast<float>(in.number("temperature_c"));
  e.device.ecc_errors = in.integer<std::uint32_t>("ecc_errors");
  e.device.xid = in.integer<std::uint32_t>("xid");
}

void read_command(EventFields& in, Event& e) {
  sim::Fault fault;
  fault.kind = in.word<sim::FaultKind>("kind", sim::fault_kind_from);
  fault.rank = in.optional_integer<std::int32_t>("rank", -1);
  fault.node = in.optional_integer<std::int32_t>("node", -1);
  fault.from = in.optional_integer<std::int32_t>("from", -1);
  fault.to = in.optional_integer<std::int32_t>("to", -1);
  if (in.has("at_ns")) {
    fault.at_ns = in.integer<std::int64_t>("at_ns");
  } else {
    fault.step = in.integer<std::int64_t>("step");
    fault.at = in.word<sim::Phase>("at", sim::phase_from);
  }
  fault.duration_ns = in.optional_integer<std::int64_t>("duration_ns", 0);
  fault.factor_ppm = in.optional_integer<std::int64_t>("factor_ppm", 0);
  fault.element = in.optional_integer<std::int64_t>("element", 0);
  fault.bit = in.optional_integer<std::int32_t>("bit", 0);
  if (const std::uint32_t shape = in.shape("shape"); shape != kNone) fault.shape = in.trace().shape(shape);
  if (in.has("dtype")) fault.dtype = in.word<sim::DType>("dtype", sim::dtype_from);
  if (in.has("op")) fault.op = in.word<sim::ReduceOp>("op", sim::op_from);
  if (in.good()) e.command.command = in.trace().add_command(fault);
}

void read_nan(EventFields& in, Event& e) {
  e.nan = {};
  e.nan.tensor = in.text("tensor");
  e.nan.step = in.integer<std::int32_t>("step");
  e.nan.index = in.integer<std::int64_t>("index");
  e.nan.count = in.integer<std::int64_t>("count");
}

}  // namespace

void read_payload(EventFields& in, Event& e) {
  switch (e.type) {
    case EventType::Hello:
      return read_hello(in, e);
    case EventType::CommInit:
    case EventType::CommFinalize:
    case EventType::CommAbort:
      return read_comm(in, e);
    case EventType::PhaseBegin:
    case EventType::PhaseEnd:
      return read_phase(in, e);
    case EventType::CollectiveEnqueued:
    case EventType::CollectiveStarted:
    case EventType::CollectiveFinished:
      return read_collective(in, e);
    case EventType::RingStepBegin:
    case EventType::RingStepWait:
    case EventType::RingStepArrive:
    case EventType::RingStepEnd:
      return read_ring_step(in, e);
    case EventType::TensorValues:
      return read_tensor(in, e);
    case EventType::Weights:
      e.weights.step = in.integer<std::int64_t>("step");
      e.weights.digest = in.hex64("digest");
      return;
    case EventType::NanFound:
      return read_nan(in, e);
    case EventType::Heartbeat:
      return read_heartbeat(in, e);
    case EventType::WatchdogWarned:
    case EventType::WatchdogExpired:
      return read_watchdog(in, e);
    case EventType::DeviceSample:
      return read_device(in, e);
    case EventType::EventsDropped:
      e.dropped.count = in.unsigned_integer("count");
      return;
    case EventType::Command:
      return read_command(in, e);
    case EventType::Left:
    case EventType::Error:
    case EventType::NicState:
    case EventType::NodeState:
    case EventType::LogLine:
    case EventType::Exit:
      return read_text(in, e);
  }
}

}  // namespace ringside::backend
