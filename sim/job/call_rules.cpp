// Collectives, from a rank's call to its result. Calls pair up by their order on each rank: nothing here
// compares sequence numbers, as nothing in NCCL does.
#include <algorithm>
#include <cstring>

#include "sim/base/check.hpp"
#include "sim/job/buckets.hpp"
#include "sim/job/nccl_fifo.hpp"
#include "sim/job/rules.hpp"
#include "sim/tensor/reduce.hpp"

namespace ringside::sim {
namespace {

std::shared_ptr<const Tensor> with_part(const std::shared_ptr<const Tensor>& whole, const Chunk& range,
                                        Tensor part) {
  if (range.offset == 0 && range.count == whole->count()) {
    part.shape = whole->shape;
    return std::make_shared<const Tensor>(std::move(part));
  }
  auto merged = std::make_shared<Tensor>(*whole);
  const auto size = static_cast<std::size_t>(size_of(whole->dtype));
  std::memcpy(merged->data.data() + static_cast<std::size_t>(range.offset) * size, part.data.data(),
              part.data.size());
  return merged;
}

std::uint32_t transfers_of(const Simulator& sim, const OpenCall& call) {
  if (sim.with_numbers) return 0;
  const auto n = static_cast<std::int64_t>(sim.world());
  const CollectiveSpec& spec = sim.scenario->collective;
  if (spec.algorithm != Algorithm::Ring || call.collective != Collective::AllReduce) return 0;
  return static_cast<std::uint32_t>(std::min<std::int64_t>(2 * (n - 1) * n * spec.channels, UINT32_MAX));
}

CollectiveInfo info_of(Simulator& sim, const OpenCall& call, std::uint32_t shape) {
  const CollectiveSpec& spec = sim.scenario->collective;
  CollectiveInfo info;
  info.comm = sim.comm;
  info.seq = call.seq;
  info.step = call.step;
  info.collective = call.collective;
  info.op = call.op;
  info.dtype = call.dtype;
  info.algorithm = spec.algorithm;
  info.order = spec.order;
  info.chunking = spec.chunking;
  info.count = call.count;
  info.shape = shape;
  info.channels = static_cast<std::uint16_t>(spec.channels);
  info.world_size = sim.world();
  if (sim.with_numbers) {
    const Schedule& schedule = program_for(sim, call.collective, call.dtype, call.count)->schedule;
    info.steps = schedule.steps;
    info.reduce_steps = schedule.reduce_steps;
    info.transfers = static_cast<std::uint32_t>(schedule.transfers.size());
    if (sim.with_ring_steps) info.chunks = schedule.chunks;
  } else if (spec.algorithm == Algorithm::Ring) {
    info.steps = static_cast<std::uint32_t>(2 * (sim.world() - 1));
    info.reduce_steps = static_cast<std::uint32_t>(sim.world() - 1);
    info.transfers = transfers_of(sim, call);
  }
  return info;
}

std::uint32_t coll_of(Simulator& sim, const OpenCall& call, std::uint32_t shape) {
  const std::uint32_t known = sim.trace.find_collective(sim.comm, call.seq);
  if (known != kNone) return known;
  const std::uint32_t coll = sim.trace.add_collective(info_of(sim, call, shape));
  sim.outcomes.resize(coll + std::size_t{1});
  sim.finished_ranks.resize(coll + std::size_t{1});
  sim.suspect.resize(coll + std::size_t{1});
  sim.outcomes[coll].coll = coll;
  return coll;
}

void emit_call(Simulator& sim, int r, EventType type, const OpenCall& call, std::uint32_t shape) {
  const CollectiveSpec& spec = sim.scenario->collective;
  Event e;
  e.collective = {call.coll,
                  shape,
                  call.count,
                  call.collective,
                  call.op,
                  call.dtype,
                  spec.algorithm,
                  0,
                  static_cast<std::uint8_t>(spec.channels),
                  static_cast<std::uint16_t>(spec.root)};
  sim.emit(Source::rank(r), type, e);
}

/// What the rank would bring without any fault, until the collective is over: to judge its result by.
void remember_clean(Simulator& sim, int r, const OpenCall& call) {
  if (!sim.with_numbers) return;
  auto& brought = sim.brought[call.coll];
  brought.resize(sim.ranks.size());
  const auto& clean = sim.rank(r).clean_grad;
  if (clean != nullptr && clean->dtype == call.dtype && clean->shape == sim.rank(r).grad->shape)
    brought[static_cast<std::size_t>(r)] = slice(clean, bucket_range(sim, clean->count(), call.bucket));
}

void mark_started(Simulator& sim, int r) {
  OpenCall& call = sim.rank(r).open.front();
  if (call.moving) return;
  call.moving = true;
  emit_call(sim, r, EventType::CollectiveStarted, call, call.shape);
}

/// The rank enters its oldest open call with numbers.
void enter_with_numbers(Simulator& sim, int r, OpenCall& call) {
  MoveCall move;
  move.program = program_for(sim, call.collective, call.dtype, call.count);
  move.op = call.op;
  move.coll = call.coll;
  move.buffer = *call.data;
  prepare(call.dtype, call.op, sim.world(), move.buffer.data);
  if (has_prepare(call.dtype, call.op) && sim.with_ring_steps)
    show_tensor(sim, r, "prepared", move.buffer.shape, move.buffer);
  on_moves(sim, sim.mover.enter(r, sim.now, std::move(move)));
}

void enter_timed(Simulator& sim, int r, const OpenCall& call) {
  const auto finish = sim.timed.enter(r, call.seq, sim.now, {call.collective, call.dtype, call.count});
  if (!finish) return;
  if ((sim.suspect[call.coll] & kCallsDiffer) && !timed_mismatch_passes(sim)) return;
  for (int other = 0; other < sim.world(); ++other) {
    mark_started(sim, other);
    sim.push(std::max(sim.now, (*finish)[static_cast<std::size_t>(other)]), ItemKind::CallDue, other);
  }
}

void keep_result(Simulator& sim, int r, const OpenCall& call, Tensor part) {
  Rank& rank = sim.rank(r);
  if (!all_finite(part)) sim.suspect[call.coll] |= kNotFinite;
  if (sim.suspect[call.coll] != 0) {
    auto& raw = sim.raw_results[call.coll];
    raw.resize(sim.ranks.size());
    raw[static_cast<std::size_t>(r)] = std::make_shared<const Tensor>(part);
  }
  if (call.discard) return;
  rank.grad = with_part(rank.grad, bucket_range(sim, rank.grad->count(), call.bucket), std::move(part));
}

/// Common to both planes: the collective is over on this rank.
void finish_call(Simulator& sim, int r) {
  Rank& rank = sim.rank(r);
  OpenCall call = rank.open.front();
  mark_started(sim, r);
  emit_call(sim, r, EventType::CollectiveFinished, call, call.shape);
  ++rank.completed;
  CollectiveOutcome& outcome = sim.outcomes[call.coll];
  outcome.finished_ns = std::max(outcome.finished_ns, sim.now);
  rank.open.pop_front();
  if (sim.with_numbers) keep_result(sim, r, call, sim.mover.take(r).buffer);
  if (++sim.finished_ranks[call.coll] == sim.world()) judge_collective(sim, call.coll);
  if (!rank.open.empty()) return enter_next(sim, r);
  if (rank.waits_for_calls) on_phase_end(sim, r);
}

void on_move(Simulator& sim, const MoveNote& note) {
  const OpenCall& call = sim.rank(note.rank).open.front();
  const Schedule& schedule = program_for(sim, call.collective, call.dtype, call.count)->schedule;
  const Transfer& x = schedule.transfers[note.transfer];
  const bool sends = note.kind == MoveNote::Kind::Begin;
  const Chunk& chunk = schedule.chunks.chunks[sends ? x.chunk : x.to_chunk];
  Event e;
  e.aux8 = static_cast<std::uint8_t>(sends ? x.sender_primitive : x.receiver_primitive);
  e.aux32 = static_cast<std::uint32_t>(std::min<std::int64_t>(note.bytes, UINT32_MAX));
  const std::uint32_t sample = note.sample == kNone ? kNone : sim.sample_ids[note.sample];
  e.ring = {note.coll, chunk.channel, chunk.loop, x.step, sends ? x.chunk : x.to_chunk, note.peer, sample};
  switch (note.kind) {
    case MoveNote::Kind::Begin:
      return sim.emit(Source::rank(note.rank), EventType::RingStepBegin, e);
    case MoveNote::Kind::Wait:
      e.flags = static_cast<std::uint8_t>(note.in_flight ? WaitsFor::Network : WaitsFor::Peer);
      return sim.emit(Source::rank(note.rank), EventType::RingStepWait, e);
    case MoveNote::Kind::Arrive:
      if (x.action == Action::Copy || sim.scenario->collective.reduce_ns == 0) return;
      return sim.emit(Source::rank(note.rank), EventType::RingStepArrive, e);
    default:
      return sim.emit(Source::rank(note.rank), EventType::RingStepEnd, e);
  }
}

}  // namespace

std::shared_ptr<const Tensor> slice(const std::shared_ptr<const Tensor>& tensor, const Chunk& range) {
  if (range.offset == 0 && range.count == tensor->count()) return tensor;
  auto part = std::make_shared<Tensor>(tensor->dtype, Shape{{range.count}});
  const auto size = static_cast<std::size_t>(size_of(tensor->dtype));
  std::memcpy(part->data.data(), tensor->data.data() + static_cast<std::size_t>(range.offset) * size,
              part->data.size());
  return part;
}

Chunk bucket_range(const Simulator& sim, std::int64_t count, int bucket) {
  const int buckets = sim.scenario->training.buckets;
  if (buckets == 1) return {0, count, 0, 0, 0};
  if (sim.scenario->training.network.enabled) {
    const Bucket part = bucket_plan(sim.scenario->training, count)[static_cast<std::size_t>(bucket)];
    return {part.offset, part.count, 0, 0, 0};
  }
  return even_chunks(count, buckets).chunks[static_cast<std::size_t>(bucket)];
}

namespace {

/// A broadcast along the ring, for algorithms that have none: each rank passes the whole buffer on.
Schedule chain_broadcast(const Simulator& sim, std::int64_t count) {
  Schedule schedule;
  schedule.collective = Collective::Broadcast;
  schedule.world_size = sim.world();
  schedule.chunks = even_chunks(count, 1);
  const int n = sim.world();
  for (int s = 1; s < n; ++s) {
    Transfer x;
    x.step = static_cast<std::uint32_t>(s);
    x.src = (sim.scenario->collective.root + s - 1) % n;
    x.dst = (x.src + 1) % n;
    x.sender_primitive = s == 1 ? Primitive::Send : Primitive::RecvCopySend;
    x.receiver_primitive = s == n - 1 ? Primitive::Recv : Primitive::RecvCopySend;
    schedule.transfers.push_back(x);
  }
  schedule.steps = static_cast<std::uint32_t>(n - 1);
  return schedule;
}

}  // namespace

std::shared_ptr<const Program> program_for(Simulator& sim, Collective collective, DType dtype,
                                           std::int64_t count) {
  auto& program = sim.programs[{collective, dtype, count}];
  if (program == nullptr) {
    ScheduleRequest request = sim.scenario->schedule_request();
    request.collective = collective;
    request.dtype = dtype;
    request.count = count;
    const bool chain = collective == Collective::Broadcast && schedule_problem(request).has_value();
    program = make_program(chain ? chain_broadcast(sim, count) : make_schedule(request),
                           nccl_protocol(*sim.scenario, count * size_of(dtype)));
  }
  return program;
}

void show_tensor(Simulator& sim, int r, std::string_view name, const Shape& shape, const Tensor& tensor) {
  Event e;
  e.tensor = {sim.trace.intern(name),
              sim.trace.add_shape(shape),
              sim.trace.add_sample(sample_of(tensor)),
              tensor.dtype,
              {}};
  sim.emit(Source::rank(r), EventType::TensorValues, e);
}

void on_bucket_ready(Simulator& sim, int r, int bucket) {
  Rank& rank = sim.rank(r);
  if (rank.next_bucket != bucket) return;
  ++rank.next_bucket;
  call_bucket(sim, r, bucket);
}

bool calls_collectives(const Simulator& sim) {
  return !sim.network.enabled() || sim.scenario->training.network.all_reduce;
}

/// The rank calls the collective of one bucket.
void call_bucket(Simulator& sim, int r, int bucket) {
  Rank& rank = sim.rank(r);
  const Scenario& job = *sim.scenario;
  OpenCall call;
  call.step = rank.step;
  call.bucket = bucket;
  call.collective = job.collective.collective;
  call.op = rank.op;
  call.dtype = job.tensor.dtype;
  call.discard = rank.discard;
  Shape shape = job.tensor.shape;
  if (sim.with_numbers) {
    shape = rank.grad->shape;
    call.dtype = rank.grad->dtype;
  } else {
    if (const Fault* fault = fault_now(sim, r, FaultKind::Shape)) shape = *fault->shape;
    if (const Fault* fault = fault_now(sim, r, FaultKind::DType)) call.dtype = *fault->dtype;
  }
  const Chunk range = bucket_range(sim, shape.count(), bucket);
  call.count = range.count;
  if (job.training.buckets > 1) shape = Shape{{range.count}};
  if (sim.with_numbers) call.data = slice(rank.grad, range);
  place_call(sim, r, std::move(call), shape);
}

void call_broadcast(Simulator& sim, int r) {
  Rank& rank = sim.rank(r);
  OpenCall call;
  call.step = rank.step;
  call.collective = Collective::Broadcast;
  call.op = ReduceOp::Sum;
  call.dtype = sim.scenario->tensor.dtype;
  call.discard = true;
  const Shape shape = sim.with_numbers ? rank.grad->shape : sim.scenario->tensor.shape;
  if (sim.with_numbers) call.dtype = rank.grad->dtype;
  call.count = shape.count();
  call.data = rank.grad;
  place_call(sim, r, std::move(call), shape);
}

void place_call(Simulator& sim, int r, OpenCall call, const Shape& shape) {
  Rank& rank = sim.rank(r);
  if (rank.life != Life::Running) return;
  call.seq = ++rank.enqueued;
  call.enqueued_at = sim.now;
  call.shape = sim.trace.add_shape(shape);
  call.coll = coll_of(sim, call, call.shape);
  sim.suspect[call.coll] |= suspicion(sim, r, call);
  remember_clean(sim, r, call);
  if (sim.with_ring_steps && !(rank.input_shown && !rank.grad_changed && sim.scenario->training.buckets == 1))
    show_tensor(sim, r, "input", shape, *call.data);
  rank.input_shown = false;
  emit_call(sim, r, EventType::CollectiveEnqueued, call, call.shape);
  CollectiveOutcome& outcome = sim.outcomes[call.coll];
  outcome.enqueued_ns = std::max(outcome.enqueued_ns, sim.now);
  const std::uint32_t seq = call.seq;
  rank.open.push_back(std::move(call));
  watch(sim, r);
  start_ladder(sim);
  if (sim.scenario->stack.debug_detail && !fingerprints_agree(sim, seq)) return;
  if (rank.open.size() == 1) enter_next(sim, r);
}

void enter_next(Simulator& sim, int r) {
  OpenCall& call = sim.rank(r).open.front();
  if (call.entered || !may_enter(sim, call.seq)) return;
  call.entered = true;
  if (sim.with_numbers)
    enter_with_numbers(sim, r, call);
  else
    enter_timed(sim, r, call);
  notice_on_entry(sim, r);
}

void on_moves(Simulator& sim, const std::vector<MoveNote>& notes) {
  for (const Sample& sample : sim.mover.new_samples()) sim.sample_ids.push_back(sim.trace.add_sample(sample));
  for (const MoveNote& note : notes) {
    if (note.kind == MoveNote::Kind::Finished) return finish_call(sim, note.rank);  // always alone
    if (note.kind == MoveNote::Kind::SizeError) {
      size_error(sim, note.rank, note.bytes, note.expected);
      continue;
    }
    if (note.kind == MoveNote::Kind::Begin || note.kind == MoveNote::Kind::End) mark_started(sim, note.rank);
    if (sim.with_ring_steps) on_move(sim, note);
  }
}

void on_call_due(Simulator& sim, int r) {
  if (sim.links_down > 0) {
    sim.held.emplace_back(r, sim.now - sim.held_since);
    return;
  }
  // A member that is gone in the middle leaves the others waiting.
  if (sim.broken_from != 0 && sim.rank(r).open.front().seq >= sim.broken_from) return;
  finish_call(sim, r);
}

}  // namespace ringside::sim
