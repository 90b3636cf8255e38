// Virtual time of a schedule: a queue of transfers whose data is ready, or whose sender's port is free,
// served in the order (time, schedule index).
#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/collective/executor.hpp"
#include "sim/collective/shared_ports.hpp"

namespace ringside::sim {
namespace {

constexpr std::uint32_t kNone = 0xFFFFFFFFu;
constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();

/// What a transfer waits for, as edges between transfers.
struct Dependencies {
  std::vector<std::uint32_t> data;      // per transfer: the last write into what it sends, or kNone
  std::vector<std::uint32_t> previous;  // per transfer: the last write into what it overwrites, or kNone
  std::vector<std::uint32_t> next;      // per transfer: the one that overwrites what it wrote, or kNone
  std::vector<std::uint32_t> first_reader, next_reader;  // list of the transfers that send what it wrote
};

Dependencies find_dependencies(const Schedule& schedule) {
  const std::size_t total = schedule.transfers.size(), chunks = schedule.chunks.chunks.size();
  Dependencies d;
  for (auto* list : {&d.data, &d.previous, &d.next, &d.first_reader, &d.next_reader})
    list->assign(total, kNone);
  std::vector<std::uint32_t> written(static_cast<std::size_t>(schedule.world_size) * chunks, kNone);
  const auto cell = [&](std::int32_t rank, std::uint32_t chunk) -> std::uint32_t& {
    return written[static_cast<std::size_t>(rank) * chunks + chunk];
  };
  for (std::size_t begin = 0, end = 0; begin < total; begin = end) {
    while (end < total && schedule.transfers[end].step == schedule.transfers[begin].step) ++end;
    // Read everything as it was before the step, then write.
    for (std::size_t t = begin; t < end; ++t) {
      const Transfer& transfer = schedule.transfers[t];
      d.data[t] = cell(transfer.src, transfer.chunk);
      if (d.data[t] == kNone) continue;
      d.next_reader[t] = std::exchange(d.first_reader[d.data[t]], static_cast<std::uint32_t>(t));
    }
    for (std::size_t t = begin; t < end; ++t) {
      const Transfer& transfer = schedule.transfers[t];
      d.previous[t] = std::exchange(cell(transfer.dst, transfer.to_chunk), static_cast<std::uint32_t>(t));
      if (d.previous[t] != kNone) d.next[d.previous[t]] = static_cast<std::uint32_t>(t);
    }
  }
  return d;
}

/// Loops of a channel run one after the other on each rank: what a rank still has to receive of each.
struct LoopGate {
  std::uint32_t receives_left = 0;
  std::int64_t open_at = 0;            // the last receive so far
  std::vector<std::uint32_t> waiting;  // first sends of the next loop
};

class Run {
 public:
  Run(const Schedule& schedule, DType dtype, const Topology& topology, std::span<const std::int64_t> arrival,
      std::int64_t reduce_ns)
      : schedule_(schedule),
        topology_(topology),
        arrival_(arrival),
        reduce_ns_(reduce_ns),
        element_(size_of(dtype)),
        needs_(find_dependencies(schedule)) {
    const auto world = static_cast<std::size_t>(schedule.world_size);
    out_.transfers.resize(schedule.transfers.size());
    out_.finish.assign(arrival.begin(), arrival.end());
    egress_.resize(world);
    ingress_free_.assign(world, std::numeric_limits<std::int64_t>::min());
    joined_.assign(schedule.transfers.size(), false);
    arrived_.assign(schedule.transfers.size(), false);
    done_.assign(schedule.transfers.size(), false);
    last_receive_.assign(world * schedule.chunks.channels, std::numeric_limits<std::int64_t>::min());
    if (!schedule.in_program_order) return;
    set_programs();
    set_gates();
  }

  ExecutionTimes run() {
    for (std::uint32_t t = 0; t < schedule_.transfers.size(); ++t) {
      if (needs_.data[t] == kNone) release_first(t);
    }
    while (!queue_.empty()) {
      const auto [time, t] = queue_.top();
      queue_.pop();
      if (!joined_[t]) {
        join(t, time);
      } else {
        send(t, time);
      }
    }
    for (std::size_t t = 0; t < done_.size(); ++t) RINGSIDE_CHECK(done_[t]);  // a schedule has no cycle
    return std::move(out_);
  }

 private:
  std::size_t gate_index(std::int32_t rank, const Chunk& chunk) const {
    return (static_cast<std::size_t>(rank) * schedule_.chunks.channels + chunk.channel) * loops_ + chunk.loop;
  }

  /// The sends of each rank and channel in the order (loop, step): the first has its turn, the others wait
  /// for it.
  void set_programs() {
    std::vector<std::uint32_t> order(schedule_.transfers.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto loop_of = [&](std::uint32_t t) {
      return schedule_.chunks.chunks[schedule_.transfers[t].chunk].loop;
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return loop_of(a) < loop_of(b); });
    after_.assign(order.size(), kNone);
    data_at_.assign(order.size(), kUnknown);
    turn_.assign(order.size(), kUnknown);
    std::vector<std::uint32_t> last(
        static_cast<std::size_t>(schedule_.world_size) * schedule_.chunks.channels, kNone);
    for (const std::uint32_t t : order) {
      const Transfer& transfer = schedule_.transfers[t];
      std::uint32_t& before = last[static_cast<std::size_t>(transfer.src) * schedule_.chunks.channels +
                                   schedule_.chunks.chunks[transfer.chunk].channel];
      if (before == kNone) {
        turn_[t] = std::numeric_limits<std::int64_t>::min();
      } else {
        after_[before] = t;
      }
      before = t;
    }
  }

  /// The data of a send is there.
  void release(std::uint32_t t, std::int64_t at) {
    if (turn_.empty()) {
      queue_.emplace(at, t);
      return;
    }
    data_at_[t] = at;
    if (turn_[t] != kUnknown) queue_.emplace(std::max(at, turn_[t]), t);
  }

  /// A send was served: the next one of its program has its turn.
  void pass_turn(std::uint32_t t, std::int64_t at) {
    const std::uint32_t next = after_[t];
    if (next == kNone) return;
    turn_[next] = at;
    if (data_at_[next] != kUnknown) queue_.emplace(std::max(at, data_at_[next]), next);
  }

  void set_gates() {
    for (const Chunk& chunk : schedule_.chunks.chunks)
      loops_ = std::max<std::size_t>(loops_, chunk.loop + std::size_t{1});
    if (loops_ < 2) return;
    gates_.resize(static_cast<std::size_t>(schedule_.world_size) * schedule_.chunks.channels * loops_);
    for (const Transfer& transfer : schedule_.transfers) {
      ++gates_[gate_index(transfer.dst, schedule_.chunks.chunks[transfer.to_chunk])].receives_left;
    }
  }

  /// A transfer that sends what its rank brought along: when the rank is in the collective, and done with the
  /// loop before.
  void release_first(std::uint32_t t) {
    const Transfer& transfer = schedule_.transfers[t];
    const Chunk& chunk = schedule_.chunks.chunks[transfer.chunk];
    if (chunk.loop > 0 && !gates_.empty()) {
      LoopGate& gate = gates_[gate_index(transfer.src, chunk) - 1];
      if (gate.receives_left > 0) {
        gate.waiting.push_back(t);
        return;
      }
    }
    release(t, arrival_[static_cast<std::size_t>(transfer.src)]);
  }

  /// What a sender's port is doing: busy until `free`, then it takes the first of `waiting`, which is in the
  /// queue already if `next_is_queued`.
  struct Egress {
    std::int64_t free = std::numeric_limits<std::int64_t>::min();
    bool next_is_queued = false;
    std::deque<std::uint32_t> waiting;
  };

  static bool leaves(const Transfer& transfer) {
    return !(transfer.in_switch && transfer.action == Action::Copy);
  }
  static bool enters(const Transfer& transfer) {
    return !(transfer.in_switch && transfer.action == Action::Reduce);
  }

  /// A send is ready: it stands in line at its own port. Only the first of the line asks for the receiver's
  /// port and for shared links, so that nobody keeps a port waiting that could serve another.
  void join(std::uint32_t t, std::int64_t ready) {
    joined_[t] = true;
    if (!turn_.empty()) pass_turn(t, ready);
    const Transfer& transfer = schedule_.transfers[t];
    Egress& egress = egress_[static_cast<std::size_t>(transfer.src)];
    if (!leaves(transfer) || (!egress.next_is_queued && egress.free <= ready)) return send(t, ready);
    if (egress.next_is_queued) return egress.waiting.push_back(t);
    egress.next_is_queued = true;
    queue_.emplace(egress.free, t);
  }

  /// The sender's port is free: the bytes leave as soon as all else on the way is.
  void send(std::uint32_t t, std::int64_t time) {
    const Transfer& transfer = schedule_.transfers[t];
    const auto src = static_cast<std::size_t>(transfer.src), dst = static_cast<std::size_t>(transfer.dst);
    const LinkSpec link = topology_.link(transfer.src, transfer.dst);
    TransferTimes& times = out_.transfers[t];
    times.start = time;
    if (enters(transfer)) times.start = std::max(times.start, ingress_free_[dst]);
    const std::int64_t bytes = schedule_.chunks.chunks[transfer.chunk].count * element_;
    const std::int64_t wire =
        std::max(wire_ns(bytes, link.bytes_per_s),
                 shared_.take(topology_.shared, topology_.shared_path(transfer.src, transfer.dst), bytes,
                              times.start));
    const std::int64_t sent = times.start + wire;
    if (leaves(transfer)) free_port(egress_[src], sent);
    if (enters(transfer)) ingress_free_[dst] = sent;
    times.arrive = sent + link.latency_ns;
    out_.finish[src] = std::max(out_.finish[src], sent);
    arrived_[t] = true;
    if (needs_.previous[t] == kNone || done_[needs_.previous[t]]) receive(t);
  }

  void free_port(Egress& egress, std::int64_t at) {
    egress.free = at;
    egress.next_is_queued = !egress.waiting.empty();
    if (!egress.next_is_queued) return;
    queue_.emplace(at, egress.waiting.front());
    egress.waiting.pop_front();
  }

  /// The receiver takes it: it must be in the collective, and what it adds to must be there.
  void receive(std::uint32_t t) {
    for (;;) {
      const Transfer& transfer = schedule_.transfers[t];
      const auto dst = static_cast<std::size_t>(transfer.dst);
      const Chunk& chunk = schedule_.chunks.chunks[transfer.to_chunk];
      TransferTimes& times = out_.transfers[t];
      std::int64_t begin = std::max(times.arrive, arrival_[dst]);
      if (needs_.previous[t] != kNone) begin = std::max(begin, out_.transfers[needs_.previous[t]].done);
      times.done = begin + (transfer.action == Action::Reduce ? reduce_ns_ : 0);
      std::int64_t& last = last_receive_[dst * schedule_.chunks.channels + chunk.channel];
      times.wait_from = std::max(arrival_[dst], last);
      last = std::max(last, times.done);
      out_.finish[dst] = std::max(out_.finish[dst], times.done);
      done_[t] = true;
      for (std::uint32_t r = needs_.first_reader[t]; r != kNone; r = needs_.next_reader[r])
        release(r, times.done);
      if (!gates_.empty()) pass_gate(gates_[gate_index(transfer.dst, chunk)], times.done);
      t = needs_.next[t];
      if (t == kNone || !arrived_[t]) return;
    }
  }

  void pass_gate(LoopGate& gate, std::int64_t done) {
    gate.open_at = std::max(gate.open_at, done);
    if (--gate.receives_left > 0) return;
    for (const std::uint32_t t : gate.waiting) release(t, gate.open_at);
    gate.waiting.clear();
  }

  using Entry = std::pair<std::int64_t, std::uint32_t>;  // ready, schedule index: a total order

  const Schedule& schedule_;
  const Topology& topology_;
  std::span<const std::int64_t> arrival_;
  std::int64_t reduce_ns_, element_;
  Dependencies needs_;
  ExecutionTimes out_;
  std::vector<Egress> egress_;  // per rank
  std::vector<std::int64_t> ingress_free_, last_receive_;
  SharedPorts shared_;
  std::vector<bool> joined_, arrived_, done_;
  std::vector<std::uint32_t> after_;  // per transfer, in program order: the next send of its rank and channel
  std::vector<std::int64_t> data_at_,
      turn_;  // per transfer: since when its data is there, since when it has its turn
  std::size_t loops_ = 1;
  std::vector<LoopGate> gates_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace

ExecutionTimes execute_times(const Schedule& schedule, DType dtype, const Topology& topology,
                             std::span<const std::int64_t> arrival, std::int64_t reduce_ns) {
  RINGSIDE_CHECK_EQ(arrival.size(), static_cast<std::size_t>(schedule.world_size));
  RINGSIDE_CHECK_LE(0, reduce_ns);
  return Run(schedule, dtype, topology, arrival, reduce_ns).run();
}

}  // namespace ringside::sim
