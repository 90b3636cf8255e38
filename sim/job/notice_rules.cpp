// Who notices that another one is gone, and when, by the transport between the two.
//
// TCP: the kernel of the dead process's host closes its connections, both neighbours read end-of-file within
// a millisecond. InfiniBand and RoCE: nothing is said; only a rank with a send outstanding finds out, when
// its NIC's retries are used up. Shared memory and NVLink: nobody is told; the neighbours spin until a
// watchdog ends them.
#include <algorithm>

#include "sim/job/rules.hpp"

namespace ringside::sim {
namespace {

constexpr std::int64_t kTcpCloseNs = 1'000'000;
/// NCCL's defaults: NCCL_IB_TIMEOUT 20 (4.096 µs · 2^20 = 4.295 s), NCCL_IB_RETRY_CNT 7.
constexpr std::int64_t kIbGiveUpNs = 4'096 * (std::int64_t{1} << 20) * 7;
constexpr int kNcclRemoteError = 6;

bool contains(const std::vector<std::int32_t>& list, int r) {
  return std::find(list.begin(), list.end(), r) != list.end();
}

bool sends_to(const Simulator& sim, int r, int peer) {
  if (sim.with_numbers) return sim.mover.has_sends_to(r, peer);
  return (r + 1) % sim.world() == peer;  // the ring
}

bool in_call(const Simulator& sim, int r) {
  const Rank& rank = sim.rank(r);
  return rank.life == Life::Running && !rank.open.empty() && rank.open.front().entered;
}

std::string address_of(const Simulator& sim, int r) {
  return "198.51.100." + std::to_string(10 + sim.node_of(r) % 240);
}

/// NCCL: the proxy thread has the error at once, the watchdog thread sees it at its next look and ends the
/// process.
void remote_error(Simulator& sim, int r, std::string_view last_error) {
  const std::string text = nccl_remote_error(last_error);
  error_event(sim, r, "nccl", kNcclRemoteError, text);
  const std::int64_t at = poll_tick(r, sim.now + 1);
  sim.rank(r).last_words = watchdog_error(printer(sim, r), at, text);
  Event e;
  e.comm = {sim.comm, sim.world(), kNone};
  sim.emit(Source::rank(r), EventType::CommAbort, e);
  go_down(sim, r, at - sim.now, EndReason::RemoteError, 6, true);
}

void connection_closed(Simulator& sim, int r, int peer) {
  switch (sim.scenario->stack.library) {
    case Library::Nccl: {
      const Printer who = printer(sim, r);
      const std::string host = Scenario::node_name(sim.node_of(peer));
      log_rank(sim, r, nccl_closed(who, sim.now, host, 40'000 + peer));
      return remote_error(sim, r, "socketProgress: Connection closed by remote peer " + host);
    }
    case Library::Gloo:
      error_event(sim, r, "gloo", 1, gloo_closed(address_of(sim, peer), sim.rank(peer).by_signal));
      log_rank(sim, r,
               traceback(printer(sim, r), "dist.all_reduce(grad)",
                         gloo_closed(address_of(sim, peer), sim.rank(peer).by_signal)));
      return go_down(sim, r, 40'000'000, EndReason::RemoteError, 1, false);
    case Library::Mpi:
      return;  // Open MPI leaves it to its launcher
  }
}

bool is_cut(const Simulator& sim, int from, int to) {
  return sim.with_numbers ? sim.mover.link_is_down(from, to) : sim.links_down > 0;
}

}  // namespace

bool same_node(const Simulator& sim, int a, int b) {
  return sim.node_of(a) == sim.node_of(b);
}

/// Inside a node NCCL uses NVLink or shared memory whatever the network is; Gloo uses TCP everywhere. NVLink
/// and shared memory do not leave a node: between nodes InfiniBand stands in.
Transport transport_between(const Simulator& sim, int a, int b) {
  const StackSpec& stack = sim.scenario->stack;
  if (stack.library == Library::Gloo) return Transport::Tcp;
  const bool local = stack.transport == Transport::NvLink || stack.transport == Transport::Shm;
  if (same_node(sim, a, b)) return local ? stack.transport : Transport::Shm;
  return local ? Transport::Ib : stack.transport;
}

void tell_peers(Simulator& sim, int r) {
  for (const std::int32_t peer : sim.neighbours[static_cast<std::size_t>(r)]) {
    Rank& other = sim.rank(peer);
    if (other.life == Life::Exited) continue;
    switch (transport_between(sim, peer, r)) {
      case Transport::Tcp:
        sim.push(sim.now + kTcpCloseNs, ItemKind::PeerGone, peer, r);
        break;
      case Transport::Ib:
      case Transport::Roce:
        other.silent_peers.push_back(r);
        if (in_call(sim, peer) && sends_to(sim, peer, r))
          sim.push(sim.now + kIbGiveUpNs, ItemKind::RetryExceeded, peer, r);
        break;
      case Transport::NvLink:
      case Transport::Shm:
        break;
    }
  }
}

namespace {

/// The peer is through with the call that this rank is in: all that it had to send is on its way, or here.
bool has_done_its_part(const Simulator& sim, int peer, int r) {
  return sim.rank(peer).completed >= sim.rank(r).open.front().seq;
}

}  // namespace

void on_peer_gone(Simulator& sim, int r, int peer) {
  Rank& rank = sim.rank(r);
  if (sim.rank(peer).life != Life::Exited && !is_cut(sim, r, peer)) return;  // the link came back in time
  if (!contains(rank.gone_peers, peer)) rank.gone_peers.push_back(peer);
  if (in_call(sim, r) && !has_done_its_part(sim, peer, r)) connection_closed(sim, r, peer);
}

void notice_on_entry(Simulator& sim, int r) {
  const Rank& rank = sim.rank(r);
  for (const std::int32_t peer : rank.gone_peers)
    sim.push(sim.now + kTcpCloseNs, ItemKind::PeerGone, r, peer);
  for (const std::int32_t peer : rank.silent_peers)
    if (sends_to(sim, r, peer)) sim.push(sim.now + kIbGiveUpNs, ItemKind::RetryExceeded, r, peer);
  for (const std::int32_t peer : sim.neighbours[static_cast<std::size_t>(r)]) {
    const Transport transport = transport_between(sim, r, peer);
    if ((transport == Transport::Ib || transport == Transport::Roce) && sends_to(sim, r, peer) &&
        is_cut(sim, r, peer))
      sim.push(sim.now + kIbGiveUpNs, ItemKind::RetryExceeded, r, peer);
  }
}

void on_retry_exceeded(Simulator& sim, int r, int peer) {
  const bool dead = contains(sim.rank(r).silent_peers, peer);
  if (!in_call(sim, r) || (!dead && !is_cut(sim, r, peer))) return;
  if (dead && has_done_its_part(sim, peer, r)) return;
  const std::string host = Scenario::node_name(sim.node_of(peer));
  log_rank(sim, r, nccl_ib_retry(printer(sim, r), sim.now, host, r % sim.scenario->cluster.gpus_per_node));
  remote_error(
      sim, r,
      "NET/IB: Got completion from peer " + host + " with status=IBV_WC_RETRY_EXC_ERR(12) vendor_err=129");
}

}  // namespace ringside::sim
