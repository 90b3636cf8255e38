// Finish times of a ring without a schedule: a few arrays of world_size, one pass over them per ring step.
//
// Why this gives the times of execute_times: a ring rank sends to one rank and receives from one, so that its
// egress port, the link and the receiver's ingress port are one queue, and with one channel that queue is
// served in program order. Then ring step s needs nothing but the state after step s-1. Several channels
// share the ports, and their order is decided by time: for them a queue of the pending sends is kept (a few
// per rank and channel, never the whole schedule).
//
// Symmetry: if all ranks come at the same time, all chunks take the same time on a link and every node is
// like every other, then rank r and rank r + GPUs of a node do the same at the same time, and one node's
// worth of ranks (*lanes*) is enough.
#include "sim/collective/ring_time.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <queue>

#include "sim/base/check.hpp"

namespace ringside::sim {
namespace {

constexpr std::int64_t kLongAgo = std::numeric_limits<std::int64_t>::min();

struct Link {
  std::int64_t latency_ns;
  std::size_t speed;  // index of its bandwidth among the different ones
};

/// One channel's ring: who sits at each position, the links to the next one, how long chunks take.
class Ring {
 public:
  Ring(const ScheduleRequest& request, const Topology& topology, int channel,
       std::vector<std::int64_t>& speeds)
      : ranks_(request.ring(channel)) {
    for (std::size_t p = 0; p < ranks_.size(); ++p) {
      const LinkSpec link = topology.link(ranks_[p], ranks_[(p + 1) % ranks_.size()]);
      const auto at = std::find(speeds.begin(), speeds.end(), link.bytes_per_s);
      links_.push_back({link.latency_ns, static_cast<std::size_t>(at - speeds.begin())});
      if (at == speeds.end()) speeds.push_back(link.bytes_per_s);
    }
  }
  std::size_t rank(std::size_t p) const { return static_cast<std::size_t>(ranks_[p]); }
  const Link& link(std::size_t p) const { return links_[p]; }
  /// True if moving every rank on by `lanes` turns the ring into itself, links and all.
  bool repeats(std::size_t lanes) const {
    const std::size_t n = ranks_.size();
    for (std::size_t p = 0; p < n; ++p) {
      const std::size_t q = (p + lanes) % n;
      if (rank(q) != (rank(p) + lanes) % n || links_[q].latency_ns != links_[p].latency_ns ||
          links_[q].speed != links_[p].speed) {
        return false;
      }
    }
    return true;
  }

 private:
  std::vector<int> ranks_;
  std::vector<Link> links_;
};

struct Plan {
  const ScheduleRequest& request;
  std::span<const std::int64_t> arrival;
  std::int64_t reduce_ns;
  ChunkTable table;
  std::int64_t element;
  std::vector<std::int64_t> speeds;
  std::vector<Ring> rings;  // per channel
  std::size_t lanes = 0;    // ranks that are evaluated: all, or one node's worth
  // Ring steps in an AllReduce's numbering: 1 … n-1 reduce, n … 2(n-1) gather.
  std::size_t first_step = 1, last_step = 1;

  std::size_t n() const { return table.slots; }
  bool reduces_in(std::size_t step) const { return step < n(); }
  /// Position p sends in a step what position (p + this) owns at the end of its phase.
  std::size_t owner_offset(std::size_t step) const {
    return (2 * n() - (step < n() ? step : step - n())) % n();
  }
  /// The slot that a position owns.
  std::size_t slot_of(const Ring& ring, std::size_t position) const {
    if (request.collective != Collective::AllReduce) return ring.rank(position);
    return request.order == RingOrder::Nccl ? position : (position + 1) % n();
  }
  std::int64_t wire(std::size_t chunk, std::size_t speed) const {
    return wire_ns(table.chunks[chunk].count * element, speeds[speed]);
  }
};

/// True if all chunks of each (channel, loop) take the same time on every kind of link.
bool equal_wires(const Plan& plan) {
  for (std::size_t first = 0; first < plan.table.chunks.size(); first += plan.n()) {
    const auto begin = plan.table.chunks.begin() + static_cast<std::ptrdiff_t>(first);
    const auto [low, high] =
        std::minmax_element(begin, begin + static_cast<std::ptrdiff_t>(plan.n()),
                            [](const Chunk& a, const Chunk& b) { return a.count < b.count; });
    for (const std::int64_t speed : plan.speeds) {
      if (wire_ns(low->count * plan.element, speed) != wire_ns(high->count * plan.element, speed))
        return false;
    }
  }
  return true;
}

std::size_t lanes_of(const Plan& plan, const Topology& topology) {
  const std::size_t n = plan.n(), local = static_cast<std::size_t>(topology.gpus_per_node);
  const bool together = std::all_of(plan.arrival.begin(), plan.arrival.end(),
                                    [&](std::int64_t t) { return t == plan.arrival[0]; });
  const std::size_t lanes = local >= n ? 1 : local;
  if (!together || n % lanes != 0 || !topology.overrides.empty() || !equal_wires(plan)) return n;
  const bool repeats = std::all_of(plan.rings.begin(), plan.rings.end(),
                                   [&](const Ring& ring) { return ring.repeats(lanes); });
  return repeats ? lanes : n;
}

Plan make_plan(const ScheduleRequest& request, const Topology& topology,
               std::span<const std::int64_t> arrival, std::int64_t reduce_ns) {
  Plan plan{request, arrival, reduce_ns, cut_chunks(request, request.world_size), size_of(request.dtype),
            {},      {}};
  for (int channel = 0; channel < plan.table.channels; ++channel)
    plan.rings.emplace_back(request, topology, channel, plan.speeds);
  plan.lanes = lanes_of(plan, topology);
  plan.first_step = request.collective == Collective::AllGather ? plan.n() : 1;
  plan.last_step = request.collective == Collective::ReduceScatter ? plan.n() - 1 : 2 * (plan.n() - 1);
  return plan;
}

// --- one channel
// -------------------------------------------------------------------------------------------------------

/// Per position: `ready` to send the next chunk, `free` link behind it.
struct State {
  std::vector<std::int64_t> ready, done, free, gate, latency, arrival;
};

void ring_step(State& state, const std::int64_t* wire, std::int64_t reduce) {
  const std::size_t lanes = state.ready.size();
  const auto one = [&](std::size_t p, std::size_t to) {
    const std::int64_t sent = std::max(state.ready[p], state.free[p]) + wire[p];
    state.free[p] = sent;
    const std::int64_t done = std::max(sent + state.latency[p], state.arrival[to]) + reduce;
    state.done[to] = done;
    state.gate[to] = std::max(state.gate[to], done);
  };
  for (std::size_t p = 0; p + 1 < lanes; ++p) one(p, p + 1);
  one(lanes - 1, 0);
  state.ready.swap(state.done);
}

void one_channel(const Plan& plan, std::vector<std::int64_t>& finish) {
  const std::size_t n = plan.n(), lanes = plan.lanes, loops = plan.table.chunks.size() / n;
  const Ring& ring = plan.rings[0];
  State state;
  for (std::size_t p = 0; p < lanes; ++p) {
    state.arrival.push_back(plan.arrival[ring.rank(p)]);
    state.latency.push_back(ring.link(p).latency_ns);
  }
  state.free.assign(lanes, kLongAgo);
  state.gate = state.arrival;
  state.done.resize(lanes);
  // Per kind of link: the time of what each position owns, twice in a row, so that a step reads neighbours
  // without a modulo.
  std::vector<std::int64_t> wire(plan.speeds.size() * 2 * n), mixed(lanes);
  for (std::size_t loop = 0; loop < loops; ++loop) {
    for (std::size_t speed = 0; speed < plan.speeds.size(); ++speed) {
      for (std::size_t p = 0; p < n; ++p) {
        wire[speed * 2 * n + p] = wire[speed * 2 * n + n + p] =
            plan.wire(loop * n + plan.slot_of(ring, p), speed);
      }
    }
    state.ready = state.gate;
    for (std::size_t step = plan.first_step; step <= plan.last_step; ++step) {
      const std::size_t offset = plan.owner_offset(step);
      const std::int64_t* times = wire.data() + offset;
      if (plan.speeds.size() > 1) {
        for (std::size_t p = 0; p < lanes; ++p) mixed[p] = wire[ring.link(p).speed * 2 * n + offset + p];
        times = mixed.data();
      }
      ring_step(state, times, plan.reduces_in(step) ? plan.reduce_ns : 0);
    }
  }
  for (std::size_t p = 0; p < n; ++p)
    finish[ring.rank(p)] = std::max(state.gate[p % lanes], state.free[p % lanes]);
}

// --- several channels on the same ports
// --------------------------------------------------------------------------------

class ManyChannels {
 public:
  ManyChannels(const Plan& plan, std::vector<std::int64_t>& finish)
      : plan_(plan),
        lanes_(static_cast<std::uint32_t>(plan.lanes)),
        finish_(plan.arrival.begin(), plan.arrival.begin() + static_cast<std::ptrdiff_t>(plan.lanes)),
        out_(finish),
        first_(plan.table.channels + std::size_t{1}, plan.table.chunks.size()),
        egress_(plan.lanes),
        ingress_(plan.lanes, kLongAgo),
        programs_(plan.lanes * plan.table.channels) {
    for (std::size_t c = plan.table.chunks.size(); c-- > 0;) first_[plan.table.chunks[c].channel] = c;
  }

  void run() {
    for (std::uint32_t channel = 0; channel < plan_.table.channels; ++channel) {
      for (std::uint32_t p = 0; p < lanes_; ++p) {
        program(channel, p).gate = arrival(channel, p);
        release(program(channel, p),
                send_at(arrival(channel, p), static_cast<std::uint32_t>(plan_.first_step), channel, 0, p));
      }
    }
    while (!queue_.empty()) {
      const Pending send = queue_.top();
      queue_.pop();
      send.joined ? serve(send) : join(send);
    }
    for (std::size_t rank = 0; rank < out_.size(); ++rank) out_[rank] = finish_[rank % lanes_];
  }

 private:
  struct Pending {
    std::int64_t ready;
    std::uint32_t step, channel, loop, src;  // the order of the schedule
    std::uint32_t p;
    bool joined = false;  // stands first in line at its port, which is free at `ready`
    auto operator<=>(const Pending&) const = default;
  };
  /// As in execute_times: a sender's port and the line before it.
  struct Egress {
    std::int64_t free = kLongAgo;
    bool next_is_queued = false;
    std::deque<Pending> waiting;
  };
  /// Sends whose data is there, in program order: one of a (channel, rank) is in the queue, the others wait
  /// for their turn.
  struct Program {
    std::int64_t gate = 0, turn = kLongAgo;
    bool in_queue = false;
    std::deque<Pending> waiting;
  };

  Program& program(std::uint32_t channel, std::uint32_t p) { return programs_[channel * lanes_ + p]; }
  std::uint32_t rank(std::uint32_t channel, std::uint32_t p) const {
    return static_cast<std::uint32_t>(plan_.rings[channel].rank(p)) % lanes_;
  }
  std::int64_t arrival(std::uint32_t channel, std::uint32_t p) const {
    return plan_.arrival[rank(channel, p)];
  }
  Pending send_at(std::int64_t ready, std::uint32_t step, std::uint32_t channel, std::uint32_t loop,
                  std::uint32_t p) const {
    return {ready, step, channel, loop, rank(channel, p), p, false};
  }

  void join(Pending send) {
    pass_turn(program(send.channel, send.p), send.ready);
    Egress& egress = egress_[send.src];
    send.joined = true;
    if (egress.next_is_queued) return egress.waiting.push_back(send);
    if (egress.free <= send.ready) return serve(send);
    egress.next_is_queued = true;
    send.ready = egress.free;
    queue_.push(send);
  }

  void free_port(Egress& egress, std::int64_t at) {
    egress.free = at;
    egress.next_is_queued = !egress.waiting.empty();
    if (!egress.next_is_queued) return;
    egress.waiting.front().ready = at;
    queue_.push(egress.waiting.front());
    egress.waiting.pop_front();
  }

  void serve(const Pending& send) {
    const std::size_t n = plan_.n();
    const std::uint32_t to = send.p + 1 == lanes_ ? 0 : send.p + 1, dst = rank(send.channel, to);
    const Ring& ring = plan_.rings[send.channel];
    const std::size_t slot = plan_.slot_of(ring, (plan_.owner_offset(send.step) + send.p) % n);
    const Link& link = ring.link(send.p);
    const std::int64_t sent =
        std::max(send.ready, ingress_[dst]) +
        plan_.wire(first_[send.channel] + std::size_t{send.loop} * n + slot, link.speed);
    free_port(egress_[send.src], sent);
    ingress_[dst] = sent;
    const std::int64_t done = std::max(sent + link.latency_ns, arrival(send.channel, to)) +
                              (plan_.reduces_in(send.step) ? plan_.reduce_ns : 0);
    finish_[send.src] = std::max(finish_[send.src], sent);
    finish_[dst] = std::max(finish_[dst], done);
    Program& next = program(send.channel, to);
    next.gate = std::max(next.gate, done);
    if (send.step < plan_.last_step) {
      release(next, send_at(done, send.step + 1, send.channel, send.loop, to));
    } else if (first_[send.channel] + (send.loop + std::size_t{1}) * n < first_[send.channel + 1]) {
      release(next, send_at(next.gate, static_cast<std::uint32_t>(plan_.first_step), send.channel,
                            send.loop + 1, to));
    }
  }

  void release(Program& program, const Pending& send) {
    program.waiting.push_back(send);
    if (!program.in_queue) enqueue(program);
  }
  void pass_turn(Program& program, std::int64_t at) {
    program.turn = at;
    program.in_queue = false;
    if (!program.waiting.empty()) enqueue(program);
  }
  void enqueue(Program& program) {
    Pending send = program.waiting.front();
    program.waiting.pop_front();
    send.ready = std::max(send.ready, program.turn);
    program.in_queue = true;
    queue_.push(send);
  }

  const Plan& plan_;
  std::uint32_t lanes_;
  std::vector<std::int64_t> finish_;  // per lane
  std::vector<std::int64_t>& out_;
  std::vector<std::size_t> first_;  // the first chunk of each channel; the last ones may have fewer loops
  std::vector<Egress> egress_;      // per lane
  std::vector<std::int64_t> ingress_;
  std::vector<Program> programs_;  // per channel and position
  std::priority_queue<Pending, std::vector<Pending>, std::greater<>> queue_;
};

// --- chains
// ------------------------------------------------------------------------------------------------------------

/// broadcast and reduce: all chunks over one link after the other.
void chain(const Plan& plan, std::vector<std::int64_t>& finish) {
  const std::size_t n = plan.n();
  const Ring& ring = plan.rings[0];
  std::size_t start = 0;
  while (ring.rank(start) != static_cast<std::size_t>(plan.request.root)) ++start;
  const bool reducing = plan.request.collective == Collective::Reduce;
  if (reducing) ++start;
  std::vector<std::int64_t> ready(plan.table.chunks.size(), plan.arrival[ring.rank(start % n)]);
  std::vector<std::int64_t> wire(plan.speeds.size() * ready.size());
  for (std::size_t speed = 0; speed < plan.speeds.size(); ++speed) {
    for (std::size_t c = 0; c < ready.size(); ++c) wire[speed * ready.size() + c] = plan.wire(c, speed);
  }
  for (std::size_t hop = 0; hop + 1 < n; ++hop) {
    const std::size_t p = (start + hop) % n, src = ring.rank(p), dst = ring.rank((p + 1) % n);
    const Link& link = ring.link(p);
    const std::int64_t* const times = wire.data() + link.speed * ready.size();
    std::int64_t free = kLongAgo;
    for (std::size_t c = 0; c < ready.size(); ++c) {
      free = std::max(ready[c], free) + times[c];
      ready[c] = std::max(free + link.latency_ns, plan.arrival[dst]) + (reducing ? plan.reduce_ns : 0);
    }
    finish[src] = std::max(finish[src], free);
    finish[dst] = std::max(finish[dst], ready.back());
  }
}

}  // namespace

bool has_ring_walk(const ScheduleRequest& request) {
  if (request.algorithm != Algorithm::Ring || request.collective == Collective::AllToAll) return false;
  const bool is_chain =
      request.collective == Collective::Broadcast || request.collective == Collective::Reduce;
  return !is_chain || request.channels == 1;
}

std::vector<std::int64_t> ring_walk(const ScheduleRequest& request, const Topology& topology,
                                    std::span<const std::int64_t> arrival, std::int64_t reduce_ns) {
  RINGSIDE_CHECK(has_ring_walk(request) && !topology.shared.on());
  std::vector<std::int64_t> finish(arrival.begin(), arrival.end());
  if (request.world_size == 1) return finish;
  const Plan plan = make_plan(request, topology, arrival, reduce_ns);
  if (request.collective == Collective::Broadcast || request.collective == Collective::Reduce) {
    chain(plan, finish);
  } else if (plan.table.channels == 1) {
    one_channel(plan, finish);
  } else {
    ManyChannels(plan, finish).run();
  }
  return finish;
}

}  // namespace ringside::sim
