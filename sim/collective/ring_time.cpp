// Finish times of a ring AllReduce without a schedule: a few arrays of world_size, one pass over them per
// ring step.
//
// Why this gives the times of execute_times: a ring rank sends to one rank and receives from one, so that its
// egress port, the link and the receiver's ingress port are one queue, and with one channel that queue is
// served in program order. Then ring step s needs nothing but the state after step s-1. Several channels
// share the ports, and their order is decided by time: for them a queue of the pending sends is kept (a few
// per rank and channel, never the whole schedule).
#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <queue>

#include "sim/base/check.hpp"
#include "sim/collective/builders.hpp"
#include "sim/collective/executor.hpp"

namespace ringside::sim {
namespace {

struct Link {
  std::int64_t latency_ns;
  std::size_t speed;  // index of its bandwidth among the different ones
};

/// The links p -> p+1, and how long each chunk takes on each kind of link.
class RingLinks {
 public:
  RingLinks(const Topology& topology, int world_size) {
    for (int p = 0; p < world_size; ++p) {
      const LinkSpec link = topology.link(p, (p + 1) % world_size);
      const auto at = std::find(speeds_.begin(), speeds_.end(), link.bytes_per_s);
      links_.push_back({link.latency_ns, static_cast<std::size_t>(at - speeds_.begin())});
      if (at == speeds_.end()) speeds_.push_back(link.bytes_per_s);
    }
  }
  std::size_t speeds() const { return speeds_.size(); }
  const Link& operator[](std::size_t p) const { return links_[p]; }
  std::int64_t wire(std::int64_t bytes, std::size_t speed) const { return wire_ns(bytes, speeds_[speed]); }

 private:
  std::vector<Link> links_;
  std::vector<std::int64_t> speeds_;
};

struct Plan {
  const ChunkTable& table;
  std::int64_t element;
  int shift;  // of the slots: 0 for NCCL's order, 1 for the textbook's
  const RingLinks& links;
  std::span<const std::int64_t> arrival;
  std::int64_t reduce_ns;
  std::size_t n() const { return table.slots; }
};

/// The slot that ring position 0 sends in a ring step; position p sends the slot p further on.
std::size_t slot_of_position_0(const Plan& plan, std::size_t step) {
  const std::size_t n = plan.n(),
                    back = step < n ? step : step - n;  // reduce-scatter: p-s, all-gather k = s-n+1: p-k+1
  return (2 * n + static_cast<std::size_t>(plan.shift) - back) % n;
}

/// State of all ranks, one channel: `ready` to send the next chunk, `free` link behind it.
struct State {
  std::vector<std::int64_t> ready, done, free, gate, latency;
};

void ring_step(const Plan& plan, State& state, const std::int64_t* wire, std::int64_t reduce) {
  const std::size_t n = plan.n();
  const std::int64_t* const arrival = plan.arrival.data();
  const auto one = [&](std::size_t p, std::size_t to, std::int64_t wire_time) {
    const std::int64_t sent = std::max(state.ready[p], state.free[p]) + wire_time;
    state.free[p] = sent;
    const std::int64_t done = std::max(sent + state.latency[p], arrival[to]) + reduce;
    state.done[to] = done;
    state.gate[to] = std::max(state.gate[to], done);
  };
  for (std::size_t p = 0; p + 1 < n; ++p) one(p, p + 1, wire[p]);
  one(n - 1, 0, wire[n - 1]);
  state.ready.swap(state.done);
}

void one_channel(const Plan& plan, std::vector<std::int64_t>& finish) {
  const std::size_t n = plan.n(), loops = plan.table.chunks.size() / n;
  State state;
  state.free.assign(n, std::numeric_limits<std::int64_t>::min());
  state.gate.assign(plan.arrival.begin(), plan.arrival.end());
  state.done.resize(n);
  for (std::size_t p = 0; p < n; ++p) state.latency.push_back(plan.links[p].latency_ns);
  std::vector<std::int64_t> wire(plan.links.speeds() * 2 * n), mixed(n);
  for (std::size_t loop = 0; loop < loops; ++loop) {
    for (std::size_t speed = 0; speed < plan.links.speeds(); ++speed) {
      for (std::size_t slot = 0; slot < n;
           ++slot) {  // twice in a row, so that a step reads n neighbours without a modulo
        const std::int64_t bytes = plan.table.chunks[loop * n + slot].count * plan.element;
        wire[speed * 2 * n + slot] = wire[speed * 2 * n + n + slot] = plan.links.wire(bytes, speed);
      }
    }
    state.ready = state.gate;
    for (std::size_t step = 1; step <= 2 * (n - 1); ++step) {
      const std::size_t slot = slot_of_position_0(plan, step);
      const std::int64_t* times = wire.data() + slot;
      if (plan.links.speeds() > 1) {
        for (std::size_t p = 0; p < n; ++p) mixed[p] = wire[plan.links[p].speed * 2 * n + slot + p];
        times = mixed.data();
      }
      ring_step(plan, state, times, step < n ? plan.reduce_ns : 0);
    }
  }
  for (std::size_t p = 0; p < n; ++p) finish[p] = std::max(state.gate[p], state.free[p]);
}

/// Several channels on the same ports.
class ManyChannels {
 public:
  ManyChannels(const Plan& plan, std::vector<std::int64_t>& finish)
      : plan_(plan),
        finish_(finish),
        first_(plan.table.channels + std::size_t{1}, plan.table.chunks.size()),
        free_(plan.n(), std::numeric_limits<std::int64_t>::min()),
        lanes_(plan.n() * plan.table.channels) {
    for (std::size_t c = plan.table.chunks.size(); c-- > 0;) first_[plan.table.chunks[c].channel] = c;
  }

  void run() {
    const auto n = static_cast<std::uint32_t>(plan_.n());
    for (std::uint32_t channel = 0; channel < plan_.table.channels; ++channel) {
      for (std::uint32_t p = 0; p < n; ++p) {
        lanes_[channel * n + p].gate = plan_.arrival[p];
        lanes_[channel * n + p].in_queue = true;
        queue_.push({plan_.arrival[p], 1, channel, 0, p});
      }
    }
    while (!queue_.empty()) {
      const Pending send = queue_.top();
      queue_.pop();
      serve(send, n);
    }
  }

 private:
  struct Pending {
    std::int64_t ready;
    std::uint32_t step, channel, loop, p;  // the order of the schedule
    auto operator<=>(const Pending&) const = default;
  };

  void serve(const Pending& send, std::uint32_t n) {
    const std::uint32_t to = send.p + 1 == n ? 0 : send.p + 1;
    const std::size_t slot = (slot_of_position_0(plan_, send.step) + send.p) % n;
    const Chunk& chunk = plan_.table.chunks[first_[send.channel] + std::size_t{send.loop} * n + slot];
    const Link& link = plan_.links[send.p];
    const std::int64_t sent =
        std::max(send.ready, free_[send.p]) + plan_.links.wire(chunk.count * plan_.element, link.speed);
    free_[send.p] = sent;
    const std::int64_t done =
        std::max(sent + link.latency_ns, plan_.arrival[to]) + (send.step < n ? plan_.reduce_ns : 0);
    finish_[send.p] = std::max(finish_[send.p], sent);
    finish_[to] = std::max(finish_[to], done);
    pass_turn(lanes_[send.channel * n + send.p], send.ready);
    Lane& lane = lanes_[send.channel * n + to];
    lane.gate = std::max(lane.gate, done);
    if (send.step < 2 * (n - 1)) {
      release(lane, {done, send.step + 1, send.channel, send.loop, to});
    } else if (first_[send.channel] + (send.loop + std::size_t{1}) * n < first_[send.channel + 1]) {
      release(lane, {lane.gate, 1, send.channel, send.loop + 1, to});
    }
  }

  /// Sends whose data is there, in program order: one of a lane is in the queue, the others wait for their
  /// turn.
  struct Lane {
    std::int64_t gate = 0, turn = std::numeric_limits<std::int64_t>::min();
    bool in_queue = false;
    std::deque<Pending> waiting;
  };
  void release(Lane& lane, const Pending& send) {
    lane.waiting.push_back(send);
    if (!lane.in_queue) enqueue(lane);
  }
  void pass_turn(Lane& lane, std::int64_t at) {
    lane.turn = at;
    lane.in_queue = false;
    if (!lane.waiting.empty()) enqueue(lane);
  }
  void enqueue(Lane& lane) {
    Pending send = lane.waiting.front();
    lane.waiting.pop_front();
    send.ready = std::max(send.ready, lane.turn);
    lane.in_queue = true;
    queue_.push(send);
  }

  const Plan& plan_;
  std::vector<std::int64_t>& finish_;
  std::vector<std::size_t> first_;  // the first chunk of each channel; the last ones may have fewer loops
  std::vector<std::int64_t> free_;
  std::vector<Lane> lanes_;  // per channel and position
  std::priority_queue<Pending, std::vector<Pending>, std::greater<>> queue_;
};

}  // namespace

std::vector<std::int64_t> ring_finish_times(const ScheduleRequest& request, const Topology& topology,
                                            std::span<const std::int64_t> arrival, std::int64_t reduce_ns) {
  RINGSIDE_CHECK_EQ(schedule_problem(request).value_or(""), "");
  RINGSIDE_CHECK(request.algorithm == Algorithm::Ring && request.collective == Collective::AllReduce);
  RINGSIDE_CHECK_EQ(arrival.size(), static_cast<std::size_t>(request.world_size));
  RINGSIDE_CHECK_LE(0, reduce_ns);
  std::vector<std::int64_t> finish(arrival.begin(), arrival.end());
  if (request.world_size == 1) return finish;
  if (!request.rings.empty()) {
    return execute_times(make_schedule(request), request.dtype, topology, arrival, reduce_ns).finish;
  }
  const ChunkTable table = cut_chunks(request, request.world_size);
  const RingLinks links(topology, request.world_size);
  const Plan plan{table,    size_of(request.dtype), request.order == RingOrder::Nccl ? 0 : 1, links, arrival,
                  reduce_ns};
  if (table.channels == 1) {
    one_channel(plan, finish);
  } else {
    ManyChannels(plan, finish).run();
  }
  return finish;
}

}  // namespace ringside::sim
