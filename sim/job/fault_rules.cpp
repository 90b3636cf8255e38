// What breaks, and how: one rule per kind of fault.
//
// A fault has a time, or a place in the steps of a rank. With a time (also: by hand) it strikes then; kinds
// that belong to a step, such as another shape, take the next step in which they can still happen.
#include <algorithm>

#include "sim/base/random.hpp"
#include "sim/job/rules.hpp"

namespace ringside::sim {
namespace {

constexpr std::int64_t kMs = 1'000'000;

/// Kinds that strike at an instant; all others belong to a step of their rank.
bool is_instant(FaultKind kind) {
  switch (kind) {
    case FaultKind::Crash:
    case FaultKind::Hang:
    case FaultKind::LinkDown:
    case FaultKind::LinkSlow:
    case FaultKind::LinkFlap:
    case FaultKind::GpuReset:
    case FaultKind::PciePower:
    case FaultKind::IbFlap:
    case FaultKind::Oom:
      return true;
    default:
      return false;
  }
}

/// Numbers that change in the middle of a collective strike at an instant as well.
bool is_instant(const Fault& fault) {
  return is_instant(fault.kind) || (is_number(fault.kind) && fault.at == Phase::AllReduce);
}

/// Whose steps decide when the fault strikes.
int actor_of(const Simulator& sim, const Fault& fault) {
  if (fault.rank >= 0) return fault.rank;
  if (fault.node >= 0) return fault.node * sim.scenario->cluster.gpus_per_node;
  return std::max(0, fault.from);
}

}  // namespace

void announce(Simulator& sim, ArmedFault& armed) {
  if (armed.announced) return;
  armed.announced = true;
  Event e;
  e.command = {sim.trace.add_command(armed.fault)};
  sim.emit({Source::Kind::Sim, 0}, EventType::Command, e);
}

namespace {

std::uint32_t index_of(const Simulator& sim, const ArmedFault& armed) {
  return static_cast<std::uint32_t>(&armed - sim.faults.data());
}

std::vector<int> ranks_of_node(const Simulator& sim, int node) {
  std::vector<int> ranks;
  const int per_node = sim.scenario->cluster.gpus_per_node;
  for (int r = node * per_node; r < std::min(sim.world(), (node + 1) * per_node); ++r) ranks.push_back(r);
  return ranks;
}

/// A rank fault names its rank, a node fault all ranks of the node.
std::vector<int> struck_ranks(const Simulator& sim, const Fault& fault) {
  if (fault.rank >= 0) return {fault.rank};
  return ranks_of_node(sim, fault.node);
}

void strike_crash(Simulator& sim, int r) {
  end_process(sim, r, EndReason::Killed, 9, true);
}

void strike_oom(Simulator& sim, int r) {
  if (sim.rank(r).life == Life::Exited) return;
  const Printer who = printer(sim, r);
  for (const std::string& line : kernel_oom(who, sim.now)) log_kernel(sim, sim.node_of(r), line);
  sim.rank(r).oom = true;
  end_process(sim, r, EndReason::Killed, 9, true);
}

void emit_xid(Simulator& sim, int r, std::uint32_t xid) {
  Event e;
  e.device = {60.0F, 0.0F, 0.0F, 52.0F, 0, xid};
  sim.emit(Source::rank(r), EventType::DeviceSample, e);
}

/// The driver resets the GPU; the process learns it from the next CUDA call of its watchdog.
void gpu_error(Simulator& sim, int r, int xid, std::string_view kernel_text, std::string_view cuda_text) {
  if (sim.rank(r).life == Life::Exited || sim.rank(r).life == Life::Ending) return;
  const Printer who = printer(sim, r);
  log_kernel(sim, sim.node_of(r), kernel_xid(who, sim.now, xid, kernel_text));
  log_kernel(sim, sim.node_of(r),
             kernel_xid(who, sim.now, 154,
                        "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"));
  emit_xid(sim, r, static_cast<std::uint32_t>(xid));
  const std::int64_t at = poll_tick(r, sim.now + 1);
  error_event(sim, r, "cuda", 1, cuda_text);
  sim.rank(r).last_words = watchdog_error(who, at, cuda_text);
  go_down(sim, r, at - sim.now, EndReason::GpuError, 6, true);
}

void strike_gpu_reset(Simulator& sim, const Fault& fault) {
  for (const int r : struck_ranks(sim, fault))
    gpu_error(
        sim, r, 119,
        "Timeout after 6s of waiting for RPC response from GPU GSP! Expected function 76 (GSP_RM_CONTROL).",
        "CUDA error: unspecified launch failure");
}

/// The slot loses its power: the GPU is gone from the bus, its process hangs in the driver.
void strike_pcie_power(Simulator& sim, const Fault& fault) {
  for (const int r : struck_ranks(sim, fault)) {
    if (sim.rank(r).life != Life::Running) continue;
    const Printer who = printer(sim, r);
    for (const std::string& line : kernel_aer(who.pci, sim.now)) log_kernel(sim, sim.node_of(r), line);
    log_kernel(sim, sim.node_of(r), kernel_xid(who, sim.now, 79, "GPU has fallen off the bus."));
    emit_xid(sim, r, 79);
    freeze(sim, r, Life::Stuck);
    if (sim.scenario->stack.library == Library::Nccl && sim.scenario->stack.heartbeat_ns > 0)
      sim.push(sim.now + sim.scenario->stack.heartbeat_ns, ItemKind::HeartbeatPoll, r);
  }
}

/// Without numbers collectives that are under way stop where they are while a link is down.
void hold_timed(Simulator& sim, int change) {
  if (sim.links_down == 0 && change > 0) sim.held_since = sim.now;
  sim.links_down += change;
  if (sim.links_down > 0) return;
  for (const auto& [rank, left] : sim.held) sim.push(sim.now + left, ItemKind::CallDue, rank);
  sim.held.clear();
}

void set_link(Simulator& sim, int from, int to, LinkChange change, bool was_down) {
  if (sim.with_numbers) return sim.mover.change_link(from, to, sim.now, change);
  if (change.down != was_down) hold_timed(sim, change.down ? 1 : -1);
  if (change.slow_ppm != 1'000'000) sim.timed.slow_link(from, to, change.slow_ppm);
}

/// The sender's NIC, or the GPU's NVLink, finds out what the link is when something has to cross it.
void link_goes_down(Simulator& sim, int from, int to) {
  constexpr std::int64_t kIbGiveUpNs = 4'096 * (std::int64_t{1} << 20) * 7;
  constexpr std::int64_t kTcpGiveUpNs = 924'600 * kMs;  // tcp_retries2 = 15
  switch (transport_between(sim, from, to)) {
    case Transport::Ib:
    case Transport::Roce:
      sim.push(sim.now + kIbGiveUpNs, ItemKind::RetryExceeded, from, to);
      break;
    case Transport::Tcp:
      sim.push(sim.now + kTcpGiveUpNs, ItemKind::PeerGone, from, to);
      break;
    case Transport::NvLink:
      gpu_error(sim, from, 74,
                "NVLink: fatal error detected on link 6(0x10000, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)",
                "CUDA error: uncorrectable NVLink error detected during the execution");
      break;
    case Transport::Shm:
      break;
  }
}

void strike_link(Simulator& sim, const Fault& fault, std::uint32_t index) {
  LinkChange change;
  change.down = fault.kind != FaultKind::LinkSlow;
  if (fault.kind == FaultKind::LinkSlow) change.slow_ppm = std::max<std::int64_t>(1, fault.factor_ppm);
  set_link(sim, fault.from, fault.to, change, false);
  if (!change.down) return;
  const bool nvlink = transport_between(sim, fault.from, fault.to) == Transport::NvLink;
  if (!nvlink || fault.kind == FaultKind::LinkDown) link_goes_down(sim, fault.from, fault.to);
  if (fault.kind == FaultKind::LinkFlap) sim.push(sim.now + fault.duration_ns, ItemKind::Recover, -1, index);
}

/// Links of the ring that cross the border of a node.
std::vector<std::pair<int, int>> crossing_links(const Simulator& sim, int node) {
  std::vector<std::pair<int, int>> links;
  for (const int r : ranks_of_node(sim, node))
    for (const std::int32_t peer : sim.neighbours[static_cast<std::size_t>(r)]) {
      if (sim.node_of(peer) == node) continue;
      links.emplace_back(r, peer);
      links.emplace_back(peer, r);
    }
  return links;
}

int node_struck(const Simulator& sim, const Fault& fault) {
  return fault.node >= 0 ? fault.node : sim.node_of(fault.rank);
}

void emit_port(Simulator& sim, int node, bool up) {
  Event e;
  e.text = {sim.trace.intern("mlx5_0"), kNone, up ? 1 : 0, 0};
  sim.emit(Source::node(node), EventType::NicState, e);
  log_kernel(sim, node, kernel_port(sim.now, 0, up));
  for (const int r : ranks_of_node(sim, node))
    if (sim.rank(r).life == Life::Running && sim.scenario->stack.library == Library::Nccl)
      log_rank(sim, r, nccl_port_event(printer(sim, r), sim.now, 0, !up));
}

void strike_ib_flap(Simulator& sim, const Fault& fault, std::uint32_t index) {
  const int node = node_struck(sim, fault);
  emit_port(sim, node, false);
  for (const auto& [from, to] : crossing_links(sim, node)) {
    set_link(sim, from, to, {true, 1'000'000}, false);
    link_goes_down(sim, from, to);
  }
  sim.push(sim.now + fault.duration_ns, ItemKind::Recover, -1, index);
}

void strike(Simulator& sim, std::uint32_t index) {
  const Fault fault = sim.faults[index].fault;
  switch (fault.kind) {
    case FaultKind::Crash:
      return strike_crash(sim, fault.rank);
    case FaultKind::Hang:
      return freeze(sim, fault.rank, Life::Frozen);
    case FaultKind::Oom:
      return strike_oom(sim, actor_of(sim, fault));
    case FaultKind::GpuReset:
      return strike_gpu_reset(sim, fault);
    case FaultKind::PciePower:
      return strike_pcie_power(sim, fault);
    case FaultKind::LinkDown:
    case FaultKind::LinkSlow:
    case FaultKind::LinkFlap:
      return strike_link(sim, fault, index);
    case FaultKind::IbFlap:
      return strike_ib_flap(sim, fault, index);
    case FaultKind::Nan:
    case FaultKind::InfOverflow:
    case FaultKind::BitFlip:
      return strike_number(sim, fault);
    default:
      return;
  }
}

/// True while the fault can still happen in the rank's step: the gradient is made when backward begins.
bool before_it(const Simulator& sim, const Rank& rank, FaultKind kind) {
  const bool changes_gradient =
      sim.with_numbers && (is_number(kind) || kind == FaultKind::Shape || kind == FaultKind::DType);
  return rank.step > 0 && rank.phase < (changes_gradient ? Phase::Backward : Phase::AllReduce);
}

/// A fault given for a time that belongs to a step: the first one in which it can still happen.
void place_in_steps(Simulator& sim, Fault& fault) {
  const Rank& rank = sim.rank(fault.rank);
  const bool whole_step = fault.kind == FaultKind::SkipStep || fault.kind == FaultKind::EarlyExit;
  const bool still_now = !whole_step && before_it(sim, rank, fault.kind);
  fault.step = still_now ? rank.step : rank.step + 1;
  if (fault.kind == FaultKind::ExtraStep) fault.step = std::max(1, rank.step);
  if (fault.kind == FaultKind::Slow) fault.step = std::max(1, rank.step);
}

void start_slow(Rank& rank, const Fault& fault) {
  if (fault.factor_ppm > 0) rank.speed_ppm = fault.factor_ppm;
  rank.extra_ns = std::max(rank.extra_ns, fault.duration_ns);
}

}  // namespace

void arm(Simulator& sim, const Fault& fault) {
  const auto index = static_cast<std::uint32_t>(sim.faults.size());
  sim.faults.push_back({fault, false});
  if (fault.at_ns) {
    sim.push(*fault.at_ns, ItemKind::Command, -1, index);
  } else {
    sim.faults_of[static_cast<std::size_t>(actor_of(sim, fault))].push_back(index);
  }
}

void on_command(Simulator& sim, std::uint32_t index) {
  ArmedFault& armed = sim.faults[index];
  announce(sim, armed);
  Fault& fault = armed.fault;
  if (is_instant(fault.kind)) return strike(sim, index);
  if (is_number(fault.kind) && sim.with_numbers && sim.mover.busy(fault.rank))
    return strike_number(sim, fault);
  fault.at = Phase::Backward;
  if (fault.rank >= 0 && strike_gradient(sim, fault)) return;
  place_in_steps(sim, fault);
  fault.at_ns.reset();
  sim.faults_of[static_cast<std::size_t>(fault.rank)].push_back(index);
  if (fault.kind == FaultKind::Slow) start_slow(sim.rank(fault.rank), fault);
}

void on_strike(Simulator& sim, std::uint32_t index) {
  announce(sim, sim.faults[index]);
  strike(sim, index);
}

void on_recover(Simulator& sim, std::uint32_t index) {
  const Fault fault = sim.faults[index].fault;
  if (fault.kind == FaultKind::LinkFlap) return set_link(sim, fault.from, fault.to, {}, true);
  const int node = node_struck(sim, fault);
  emit_port(sim, node, true);
  for (const auto& [from, to] : crossing_links(sim, node)) set_link(sim, from, to, {}, true);
}

const Fault* fault_now(Simulator& sim, int r, FaultKind kind) {
  const Rank& rank = sim.rank(r);
  for (const std::uint32_t index : sim.faults_of[static_cast<std::size_t>(r)]) {
    ArmedFault& armed = sim.faults[index];
    const bool from_then_on = kind == FaultKind::Slow && rank.step >= armed.fault.step;
    if (armed.fault.kind != kind || (armed.fault.step != rank.step && !from_then_on)) continue;
    announce(sim, armed);
    if (kind == FaultKind::Slow) start_slow(sim.rank(r), armed.fault);
    return &armed.fault;
  }
  return nullptr;
}

bool strikes_in_phase(Simulator& sim, int r, std::int64_t duration) {
  const Rank& rank = sim.rank(r);
  const std::vector<std::uint32_t> indices = sim.faults_of[static_cast<std::size_t>(r)];
  for (const std::uint32_t index : indices) {
    ArmedFault& armed = sim.faults[index];
    const Fault& fault = armed.fault;
    if (!is_instant(fault) || armed.announced || fault.step != rank.step || fault.at != rank.phase) continue;
    const bool calls = rank.phase == Phase::AllReduce;
    if (duration > 0 || calls) {  // in the middle of the phase; in a collective right after it began
      sim.push(sim.now + (calls ? 1 : duration / 2), ItemKind::Strike, -1, index_of(sim, armed));
      continue;
    }
    on_strike(sim, index);
  }
  return sim.rank(r).life != Life::Running;
}

}  // namespace ringside::sim
