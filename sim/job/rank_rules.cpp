// A rank's way through its training steps: forward, loss, backward, all_reduce, divide, optimizer,
// checkpoint.
#include <algorithm>
#include <limits>

#include "sim/base/random.hpp"
#include "sim/base/text.hpp"
#include "sim/job/buckets.hpp"
#include "sim/job/rules.hpp"
#include "sim/tensor/reduce.hpp"

namespace ringside::sim {
namespace {

std::int64_t base_duration(const Simulator& sim, Phase phase) {
  const TrainingSpec& training = sim.scenario->training;
  const CollectiveSpec& collective = sim.scenario->collective;
  switch (phase) {
    case Phase::Forward:
      return training.forward_ns;
    case Phase::Loss:
      return training.loss_ns;
    case Phase::Backward:
      return training.backward_ns;
    case Phase::Divide:
      return collective.op == ReduceOp::SumThenDivide ? collective.reduce_ns : 0;
    case Phase::Optimizer:
      return training.optimizer_ns;
    default:
      return 0;
  }
}

std::int64_t checkpoint_duration(const Simulator& sim, std::int32_t step) {
  const TrainingSpec& training = sim.scenario->training;
  return training.checkpoint_steps > 0 && step % training.checkpoint_steps == 0 ? training.checkpoint_ns : 0;
}

/// Jitter for working phases only; what a fault does to the rank's speed comes on top.
std::int64_t duration_of(const Simulator& sim, int r, Phase phase) {
  if (phase == Phase::Checkpoint) return checkpoint_duration(sim, sim.rank(r).step);
  const std::int64_t base = base_duration(sim, phase);
  if (base == 0) return 0;
  const Rank& rank = sim.rank(r);
  const DrawKey key{sim.scenario->seed, static_cast<std::uint64_t>(r), static_cast<std::uint64_t>(rank.step),
                    Purpose::Jitter};
  const std::int64_t ppm =
      draw_jitter_ppm(key, static_cast<std::uint64_t>(phase), sim.scenario->training.jitter_ppm);
  const __int128 jittered = static_cast<__int128>(base) * ppm / 1'000'000;
  const __int128 slowed = jittered * 1'000'000 / rank.speed_ppm;
  return static_cast<std::int64_t>(slowed) + (phase == Phase::Forward ? rank.extra_ns : 0);
}

void emit_phase(Simulator& sim, int r, EventType type) {
  const Rank& rank = sim.rank(r);
  Event e;
  e.phase = {rank.step, rank.phase, 0, 0, 0.0, 0.0};
  if (type == EventType::PhaseEnd && rank.phase == Phase::Loss && rank.has_loss) {
    e.phase.has = kHasLoss;
    e.phase.loss = rank.loss;
  }
  sim.emit(Source::rank(r), type, e);
}

void end_phase(Simulator& sim, int r) {
  Rank& rank = sim.rank(r);
  if (rank.in_phase) emit_phase(sim, r, EventType::PhaseEnd);
  rank.in_phase = false;
}

Hello hello_of(const Simulator& sim, int r) {
  const Scenario& job = *sim.scenario;
  Hello hello;
  const int node = r / job.cluster.gpus_per_node;
  hello.host = Scenario::node_name(node);
  hello.pid = pid_of(sim, r);
  hello.local_rank = r % job.cluster.gpus_per_node;
  hello.device = "GPU " + std::to_string(hello.local_rank);
  hello.pci = pci_of(sim, r);
  return hello;
}

void compute_loss(Simulator& sim, int r) {
  Rank& rank = sim.rank(r);
  spoil_forward(sim, r);
  if (sim.network.enabled()) {
    rank.loss = sim.network.forward(r, rank.step);
    rank.has_loss = true;
  } else if (rank.weights_bad) {
    rank.loss = std::numeric_limits<double>::quiet_NaN();
    rank.has_loss = true;
  }
}

/// A fault gives this rank's tensor another shape for one step: its numbers again and again, or fewer of
/// them.
void reshape_gradient(Simulator& sim, int r, const Fault& fault) {
  Rank& rank = sim.rank(r);
  auto other = std::make_shared<Tensor>(rank.grad->dtype, *fault.shape);
  for (std::int64_t i = 0; i < other->count(); ++i) other->set(i, rank.grad->at(i % rank.grad->count()));
  rank.grad = std::move(other);
  rank.grad_changed = true;
}

void retype_gradient(Simulator& sim, int r, const Fault& fault) {
  Rank& rank = sim.rank(r);
  auto other = std::make_shared<Tensor>(*fault.dtype, rank.grad->shape);
  for (std::int64_t i = 0; i < other->count(); ++i)
    other->set(i, make_scalar(*fault.dtype, to_double(rank.grad->at(i))));
  rank.grad = std::move(other);
  rank.grad_changed = true;
}

/// The gradient of this step, as backward leaves it.
void compute_gradient(Simulator& sim, int r) {
  Rank& rank = sim.rank(r);
  if (sim.network.enabled())
    rank.grad =
        std::make_shared<const Tensor>(sim.network.backward(r, rank.step, sim.scenario->tensor.dtype));
  else if (sim.with_numbers)
    rank.grad = sim.inputs[static_cast<std::size_t>(r)];
  rank.grad_changed = false;
  rank.clean_grad = rank.grad;
  if (!sim.with_numbers) return;
  if (const Fault* fault = fault_now(sim, r, FaultKind::Shape)) reshape_gradient(sim, r, *fault);
  if (const Fault* fault = fault_now(sim, r, FaultKind::DType)) retype_gradient(sim, r, *fault);
  spread_bad_weights(sim, r);
  spoil_gradient(sim, r);
}

/// The result of the collectives goes into the weights.
void apply_update(Simulator& sim, int r) {
  Rank& rank = sim.rank(r);
  if (!sim.with_numbers || rank.grad == nullptr) return;
  if (!rank.skip_update) {
    if (sim.network.enabled()) sim.network.update(r, *rank.grad);
    if (!all_finite(*rank.grad)) {
      spoil_all_weights(rank);
    } else if (!rank.weights_bad && shows_weights(sim)) {
      rank.updates = mix64(rank.updates + mix64(digest_of(rank.grad->dtype, rank.grad->data)));
    }
  }
  spoil_weights(sim, r);
}

void show_weights(Simulator& sim, int r) {
  if (!sim.with_numbers || !shows_weights(sim)) return;
  Event e;
  e.weights = {sim.rank(r).step, sim.network.enabled() ? sim.network.digest(r) : sim.rank(r).updates};
  sim.emit(Source::rank(r), EventType::Weights, e);
}

/// The latest collective's result on this rank, finished.
void remember_result(Simulator& sim, int r) {
  Rank& rank = sim.rank(r);
  const std::uint32_t coll = sim.trace.find_collective(sim.comm, rank.completed);
  if (coll == kNone) return;
  if (sim.results.empty() || coll > sim.result_coll) sim.results.assign(sim.ranks.size(), nullptr);
  if (!sim.results.empty() && coll < sim.result_coll) return;
  sim.result_coll = coll;
  const int last_bucket = sim.scenario->training.buckets - 1;
  sim.results[static_cast<std::size_t>(r)] =
      slice(rank.grad, bucket_range(sim, rank.grad->count(), last_bucket));
}

/// What a finished sum still needs (÷ N), then the "result" of the step.
void divide(Simulator& sim, int r) {
  Rank& rank = sim.rank(r);
  if (!sim.with_numbers || rank.grad == nullptr || !calls_collectives(sim)) return;
  const ReduceOp op = rank.op;
  const bool finishes = has_finish(rank.grad->dtype, op) && !rank.discard;
  if (finishes) {
    auto divided = std::make_shared<Tensor>(*rank.grad);
    finish(divided->dtype, op, sim.world(), divided->data);
    rank.grad = std::move(divided);
  }
  if (finishes || !sim.with_ring_steps) show_tensor(sim, r, "result", rank.grad->shape, *rank.grad);
  remember_result(sim, r);
  rank.skip_update = nan_skips_update(sim, r);
}

/// How this step's calls are made, before the first of them (which is in the middle of backward with
/// overlap).
void decide_calls(Simulator& sim, int r) {
  Rank& rank = sim.rank(r);
  rank.op = sim.scenario->collective.op;
  if (const Fault* fault = fault_now(sim, r, FaultKind::Op)) rank.op = *fault->op;
  rank.discard = fault_now(sim, r, FaultKind::SkipCollective) != nullptr;
}

/// In the order of the program; a fault may swap the first two, or put a broadcast before the only one.
void call_all_buckets(Simulator& sim, int r) {
  Rank& rank = sim.rank(r);
  const int buckets = sim.scenario->training.buckets;
  if (rank.next_bucket == 0 && fault_now(sim, r, FaultKind::WrongOrder) != nullptr) {
    if (buckets == 1) call_broadcast(sim, r);
    if (buckets > 1) {
      call_bucket(sim, r, 1);
      call_bucket(sim, r, 0);
      rank.next_bucket = 2;
    }
  }
  while (rank.next_bucket < buckets) call_bucket(sim, r, rank.next_bucket++);
}

/// A bucket's collective starts when its part of backward is done.
void schedule_buckets(Simulator& sim, int r, std::int64_t duration) {
  const TrainingSpec& training = sim.scenario->training;
  if (training.network.enabled) {
    const auto plan = bucket_plan(training, sim.rank(r).grad->count());
    for (std::size_t b = 0; b + 1 < plan.size(); ++b) {
      const __int128 share = static_cast<__int128>(duration) * plan[b].ready_ppm / 1'000'000;
      sim.push(sim.now + static_cast<std::int64_t>(share), ItemKind::BucketReady, r,
               static_cast<std::int64_t>(b));
    }
    return;
  }
  for (int b = 0; b + 1 < training.buckets; ++b)
    sim.push(sim.now + duration * (b + 1) / training.buckets, ItemKind::BucketReady, r, b);
}

/// DistributedDataParallel compares the shapes of all parameters with rank 0's when it is constructed: a
/// model of another shape ends there, before any AllReduce. (A network stands for a model that DDP wraps.)
bool construction_fails(Simulator& sim, int r) {
  if (!sim.network.enabled()) return false;
  const Fault* mine = nullptr;
  const Fault* first = nullptr;
  for (const ArmedFault& armed : sim.faults) {
    if (armed.fault.kind != FaultKind::Shape) continue;
    if (armed.fault.rank == r) mine = &armed.fault;
    if (armed.fault.rank == 0) first = &armed.fault;
  }
  const Shape own{{static_cast<std::int64_t>(sim.network.parameters())}};
  const Shape& shape = mine == nullptr ? own : *mine->shape;
  if (shape == (first == nullptr ? own : *first->shape)) return false;
  raise_exception(sim, r, "model = DDP(model, device_ids=[local_rank])", ddp_shape(r, shape), "ddp");
  return true;
}

void start_training(Simulator& sim, int r) {
  Event e;
  e.comm = {sim.comm, sim.world(), kNone};
  sim.emit(Source::rank(r), EventType::CommInit, e);
  if (!sim.network.enabled() && sim.with_numbers) {
    const Tensor& input = *sim.inputs[static_cast<std::size_t>(r)];
    show_tensor(sim, r, "input", input.shape, input);
    sim.rank(r).input_shown = true;
  }
  if (construction_fails(sim, r)) return;
  begin_step(sim, r);
}

}  // namespace

/// The numbers of a gradient are made when backward begins, so a fault by hand in the middle of backward changes
/// what is there; only a bucket that is under way can not be changed any more.
bool strike_gradient(Simulator& sim, const Fault& fault) {
  const Rank& rank = sim.rank(fault.rank);
  if (!sim.with_numbers || rank.phase != Phase::Backward || rank.grad == nullptr || rank.next_bucket > 0)
    return false;
  if (fault.kind == FaultKind::Shape) {
    reshape_gradient(sim, fault.rank, fault);
  } else if (fault.kind == FaultKind::DType) {
    retype_gradient(sim, fault.rank, fault);
  } else if (is_number(fault.kind)) {
    spoil_gradient_once(sim, fault);
  } else {
    return false;
  }
  return true;
}

void spoil_all_weights(Rank& rank) {
  constexpr std::uint64_t kNotANumber = 0x7FF8000000000000ULL;
  rank.weights_bad = true;
  rank.updates = kNotANumber;
}

/// A single step without an optimizer is an AllReduce, not a training: it has no weights.
bool shows_weights(const Simulator& sim) {
  const TrainingSpec& training = sim.scenario->training;
  return sim.network.enabled() || training.steps > 1 || training.optimizer_ns > 0;
}

/// Process ids look like those of one launch: in order on each node.
std::int64_t pid_of(const Simulator& sim, int r) {
  const int per_node = sim.scenario->cluster.gpus_per_node;
  return 41'000 + (r / per_node) * 97 % 20'000 + r % per_node;
}

void on_start(Simulator& sim, int r) {
  Event e;
  e.hello = {sim.trace.add_hello(hello_of(sim, r))};
  sim.emit(Source::rank(r), EventType::Hello, e);
  start_training(sim, r);
}

namespace {

/// Faults that decide about a whole step. True if the rank does not do it.
bool leaves_step(Simulator& sim, int r) {
  Rank& rank = sim.rank(r);
  fault_now(sim, r, FaultKind::Slow);
  if (fault_now(sim, r, FaultKind::EarlyExit) != nullptr) {
    log_rank(sim, r,
             "[rank " + std::to_string(r) + "] data loader is exhausted after " +
                 std::to_string(rank.step - 1) + " batches, leaving");
    end_process(sim, r, EndReason::EarlyExit, 0, false);
    return true;
  }
  if (fault_now(sim, r, FaultKind::SkipStep) == nullptr) return false;
  log_rank(sim, r,
           "[rank " + std::to_string(r) + "] skipping step " + std::to_string(rank.step) + " (empty batch)");
  rank.step_began = sim.now;
  next_step(sim, r);
  return true;
}

/// A fault makes the rank do the step that it has just done once more.
bool repeats_step(Simulator& sim, int r) {
  Rank& rank = sim.rank(r);
  if (rank.step == 0 || rank.repeated == rank.step || fault_now(sim, r, FaultKind::ExtraStep) == nullptr)
    return false;
  rank.repeated = rank.step;
  return true;
}

}  // namespace

/// After a step that took no time at all, by the queue and not by recursion.
void next_step(Simulator& sim, int r) {
  if (repeats_step(sim, r)) --sim.rank(r).step;
  if (sim.rank(r).step_began == sim.now) return sim.push(sim.now, ItemKind::NextStep, r);
  begin_step(sim, r);
}

void begin_step(Simulator& sim, int r) {
  Rank& rank = sim.rank(r);
  if (rank.step >= sim.scenario->training.steps) return finish_training(sim, r);
  rank.step_began = sim.now;
  ++rank.step;
  rank.next_bucket = 0;
  rank.has_loss = false;
  rank.skip_update = false;
  if (leaves_step(sim, r)) return;
  draw_failure(sim, r);
  begin_phase(sim, r, Phase::Forward);
}

void begin_phase(Simulator& sim, int r, Phase phase) {
  Rank& rank = sim.rank(r);
  rank.phase = phase;
  rank.phase_since = sim.now;
  if (phase == Phase::AllReduce) return begin_all_reduce(sim, r);
  const std::int64_t duration = duration_of(sim, r, phase);
  if (phase == Phase::Backward) compute_gradient(sim, r);
  if (phase == Phase::Backward && sim.scenario->training.overlap) decide_calls(sim, r);
  if (strikes_in_phase(sim, r, duration)) return;
  if (duration == 0) return on_phase_end(sim, r);
  rank.in_phase = true;
  emit_phase(sim, r, EventType::PhaseBegin);
  sim.push(sim.now + duration, ItemKind::PhaseEnd, r);
  if (phase == Phase::Backward && sim.scenario->training.overlap && calls_collectives(sim))
    schedule_buckets(sim, r, duration);
}

void begin_all_reduce(Simulator& sim, int r) {
  Rank& rank = sim.rank(r);
  if (!calls_collectives(sim)) return on_phase_end(sim, r);
  strikes_in_phase(sim, r, 0);
  rank.in_phase = true;
  emit_phase(sim, r, EventType::PhaseBegin);
  if (!sim.scenario->training.overlap) decide_calls(sim, r);
  call_all_buckets(sim, r);
  rank.waits_for_calls = true;
  if (rank.life == Life::Running && rank.open.empty()) on_phase_end(sim, r);
}

void on_phase_end(Simulator& sim, int r) {
  Rank& rank = sim.rank(r);
  if (rank.phase == Phase::Loss) compute_loss(sim, r);
  if (rank.phase == Phase::Divide) divide(sim, r);
  if (rank.phase == Phase::Optimizer) apply_update(sim, r);
  end_phase(sim, r);
  if (rank.phase == Phase::Optimizer) show_weights(sim, r);
  if (rank.phase == Phase::Checkpoint) remember_checkpoint(sim, r);
  rank.waits_for_calls = false;
  if (rank.phase == Phase::Backward && nan_stops_rank(sim, r)) return;
  next_phase(sim, r);
}

void next_phase(Simulator& sim, int r) {
  switch (sim.rank(r).phase) {
    case Phase::Forward:
      return begin_phase(sim, r, Phase::Loss);
    case Phase::Loss:
      return begin_phase(sim, r, Phase::Backward);
    case Phase::Backward:
      return begin_phase(sim, r, Phase::AllReduce);
    case Phase::AllReduce:
      return begin_phase(sim, r, Phase::Divide);
    case Phase::Divide:
      return begin_phase(sim, r, Phase::Optimizer);
    case Phase::Optimizer:
      return begin_phase(sim, r, Phase::Checkpoint);
    default:
      return next_step(sim, r);
  }
}

void finish_training(Simulator& sim, int r) {
  Rank& rank = sim.rank(r);
  rank.phase = Phase::Done;
  Event e;
  e.comm = {sim.comm, sim.world(), kNone};
  sim.emit(Source::rank(r), EventType::CommFinalize, e);
  end_process(sim, r, EndReason::Finished, 0, false);
}

}  // namespace ringside::sim
