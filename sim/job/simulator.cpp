#include "sim/job/simulator.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include "sim/base/check.hpp"
#include "sim/job/rules.hpp"

namespace ringside::sim {
namespace {

constexpr std::uint64_t kAfterCommands = std::uint64_t{1} << 62;  // commands come first at equal times
/// Ring steps of more transfers than this are not written: the trace would not fit into memory.
constexpr std::int64_t kMaxRingTransfers = 4'000'000;

std::int64_t collectives_of(const Scenario& job) {
  return job.training.steps * job.training.buckets;
}

/// A function of the scenario alone, so that faults and commands never change what a trace shows.
bool shows_ring_steps(const Scenario& job) {
  const std::int64_t n = job.world_size();
  if (job.tensor.values == ValueSource::None && !job.training.network.enabled) return false;
  return n <= 64 && 2 * n * (n - 1) * job.collective.channels * collectives_of(job) <= kMaxRingTransfers;
}

/// Whom a rank has connections to: the ring's neighbours, or everybody for the other algorithms.
std::vector<std::int32_t> neighbours_of(const Scenario& job, int r) {
  const int n = job.world_size();
  if (n < 2) return {};
  if (job.collective.algorithm == Algorithm::Ring) {
    const int before = (r + n - 1) % n, after = (r + 1) % n;
    return before == after ? std::vector<std::int32_t>{before} : std::vector<std::int32_t>{before, after};
  }
  std::vector<std::int32_t> all;
  for (int other = 0; other < n; ++other)
    if (other != r) all.push_back(other);
  return all;
}

/// About how many events will come; a job that ends early leaves the room untouched.
std::size_t expected_events(const Scenario& job, bool ring_steps) {
  constexpr std::int64_t kMost = 16'000'000;
  const std::int64_t n = job.world_size();
  const std::int64_t per_rank = job.training.steps * (10 + 4 * job.training.buckets);
  const std::int64_t transfers = 2 * n * (n - 1) * job.collective.channels * collectives_of(job);
  return static_cast<std::size_t>(std::min(kMost, n * per_rank + (ring_steps ? 4 * transfers : 0)));
}

TraceHeader header_of(const Scenario& job, bool ring_steps) {
  TraceHeader header;
  header.source = "simulator";
  header.world_size = job.world_size();
  header.gpus_per_node = job.cluster.gpus_per_node;
  header.title = job.title;
  header.seed = job.seed;
  header.detail = ring_steps ? Detail::Chunks : Detail::Ranks;
  constexpr std::int64_t kMaxNumbersInHeader = 65'536;
  const bool lists = job.tensor.values == ValueSource::List;
  if (!lists || job.tensor.shape.count() * job.world_size() <= kMaxNumbersInHeader)
    header.scenario_toml = to_toml(job);
  return header;
}

}  // namespace

Simulator::Simulator(std::shared_ptr<const Scenario> job, const std::vector<Command>& commands)
    : scenario(std::move(job)) {
  const Scenario& s = *scenario;
  ranks.resize(static_cast<std::size_t>(s.world_size()));
  faults_of.resize(ranks.size());
  agents.resize(static_cast<std::size_t>(std::max(1, s.cluster.nodes)));
  for (int r = 0; r < world(); ++r) neighbours.push_back(neighbours_of(s, r));
  with_numbers = s.tensor.values != ValueSource::None || s.training.network.enabled;
  with_ring_steps = shows_ring_steps(s);
  trace.header = header_of(s, with_ring_steps);
  trace.reserve(expected_events(s, with_ring_steps));
  comm = trace.intern("world");
  if (s.training.network.enabled)
    network = Network(s.training.network, s.seed, world());
  else if (with_numbers)
    inputs = make_inputs(s);
  saved_network = network;
  connect();
  for (int r = 0; r < world(); ++r) push(0, ItemKind::Start, r);
  for (const Fault& fault : s.faults) arm(*this, fault);
  for (const Command& command : commands) inject(command);
}

/// A new communicator: nothing is under way, nothing is left in any buffer.
void Simulator::connect() {
  const Scenario& s = *scenario;
  const SizeCheck check = s.stack.library == Library::Nccl ? SizeCheck::None : SizeCheck::RefuseLonger;
  if (with_numbers)
    mover = Mover(s.cluster.topology, s.collective.reduce_ns, check, s.stack.library == Library::Mpi,
                  with_ring_steps);
  else
    timed = TimedPlane(s.cluster.topology, s.schedule_request(), s.collective.reduce_ns);
  sample_ids.clear();
}

void Simulator::inject(const Command& command) {
  RINGSIDE_CHECK_LE(now, command.t);
  Fault fault = command.fault;
  fault.at_ns = command.t;
  fault.line = 0;
  arm(*this, fault);
}

void Simulator::push(std::int64_t t, ItemKind kind, std::int32_t r, std::int64_t a) {
  Item item;
  item.t = t;
  item.kind = kind;
  item.rank = r;
  item.a = a;
  item.epoch = r >= 0 ? rank(r).epoch : 0;
  item.order = kind == ItemKind::Command ? next_command_++ : kAfterCommands | next_id_++;
  queue_.push_back(item);
  std::push_heap(queue_.begin(), queue_.end(), std::greater<>{});
}

std::int64_t Simulator::next_time() const {
  const std::int64_t queued = queue_.empty() ? std::numeric_limits<std::int64_t>::max() : queue_.front().t;
  return std::min(queued, mover.next_time().value_or(std::numeric_limits<std::int64_t>::max()));
}

bool Simulator::step() {
  const auto moves_at = mover.next_time();
  if (queue_.empty() && !moves_at) return false;
  if (queue_.empty() || (moves_at && *moves_at < queue_.front().t)) {
    now = *moves_at;
    on_moves(*this, mover.step());
    return true;
  }
  std::pop_heap(queue_.begin(), queue_.end(), std::greater<>{});
  const Item item = queue_.back();
  queue_.pop_back();
  if (item.rank >= 0 && item.epoch != rank(item.rank).epoch) return true;
  now = item.t;
  handle(*this, item);
  return true;
}

void handle(Simulator& sim, const Item& item) {
  switch (item.kind) {
    case ItemKind::Command:
      return on_command(sim, static_cast<std::uint32_t>(item.a));
    case ItemKind::Start:
      return on_start(sim, item.rank);
    case ItemKind::NextStep:
      return begin_step(sim, item.rank);
    case ItemKind::PhaseEnd:
      return on_phase_end(sim, item.rank);
    case ItemKind::BucketReady:
      return on_bucket_ready(sim, item.rank, static_cast<int>(item.a));
    case ItemKind::CallDue:
      return on_call_due(sim, item.rank);
    case ItemKind::Strike:
      return on_strike(sim, static_cast<std::uint32_t>(item.a));
    case ItemKind::Recover:
      return on_recover(sim, static_cast<std::uint32_t>(item.a));
    case ItemKind::WatchdogPoll:
      return on_watchdog_poll(sim, item.rank);
    case ItemKind::HeartbeatPoll:
      return on_heartbeat_poll(sim, item.rank);
    case ItemKind::LadderTick:
      return on_ladder_tick(sim);
    case ItemKind::PeerGone:
      return on_peer_gone(sim, item.rank, static_cast<int>(item.a));
    case ItemKind::RetryExceeded:
      return on_retry_exceeded(sim, item.rank, static_cast<int>(item.a));
    case ItemKind::GoDown:
      return on_go_down(sim, item.rank);
    case ItemKind::LauncherSees:
      return on_launcher_sees(sim, item.rank);
    case ItemKind::Signal:
      return on_signal(sim, item.rank, static_cast<int>(item.a));
    case ItemKind::NodeFails:
      return on_node_fails(sim, static_cast<int>(item.a));
    case ItemKind::Restart:
      return on_restart(sim);
  }
}

void Simulator::emit(Source source, EventType type, Event event) {
  event.t = now;
  event.type = type;
  event.set_source(source);
  trace.emit(event);
}

}  // namespace ringside::sim
