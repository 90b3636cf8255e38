// The ring: AllReduce, and the other collectives of its kind.
//
// Idea. N ranks form a ring, each sends to its successor only. The buffer is cut into N chunks. First every
// chunk makes a round in which each rank adds its own numbers (reduce-scatter phase); after N-1 ring steps
// one rank holds it finished. Then the finished chunk makes a second round in which each rank keeps a copy
// (all-gather phase). At every ring step all N links carry one chunk: nobody idles, and no link carries more
// than the others.
//
// Words. A *ring position* is a rank's place in the ring (position p sends to p+1 mod N). A *slot* is a
// chunk's number in this program. NCCL's order: in ring step s of the reduce-scatter (s = 1 … N-1) position p
// sends slot p-s; afterwards position p owns slot p. In ring step N-1+k (k = 1 … N-1) it sends slot p-k+1.
// The textbook's order is the same program with every slot one further: p sends slot p first and ends owning
// p+1.
//
// Steps: 2(N-1). Bytes that a rank sends: 2(N-1)/N of the buffer when N divides the count; no algorithm that
// reduces in the ranks sends less. busbw = algbw · 2(N-1)/N is therefore the load of each link. It wins for
// big buffers; for small ones its 2(N-1) latencies lose against trees.
//
// Primitives of a rank and loop, NCCL 2.30.7 (src/device/all_reduce.h): send; N-2 × recvReduceSend;
// recvReduceCopySend (it finishes the slot that the rank owns, which is also all-gather step 1); N-2 ×
// recvCopySend; recv.
//
// Order of the additions: slot c starts at position c+1 and is finished at position c. That order fixes the
// last bits.
//
// Channels. Each channel runs the program on its own part of the buffer over its own ring
// (ScheduleRequest::rings): another order of the GPUs inside the node, so that the last GPU of a node, the
// one that sends to the next node, and with it the NIC, is another one for each channel.
//
// The other collectives are parts of the same walk. Their slots belong to ranks, not to positions, since
// results must land in place; the textbook's order makes no difference there.
//   reduce_scatter  the first half: rank r ends with chunk r finished, the others' chunks keep working
//   values. N-1 steps. all_gather      the second half: chunk r of rank r is its input, everybody ends with
//   all. N-1 steps. broadcast       a chain from the root: chunk after chunk walks N-1 hops, one step behind
//   the other. The chain is full
//                   after N-1 steps, so a big buffer takes S/B + a little, whatever N is.
//   reduce          the chain in the other half of the ring: from the root's successor round to the root,
//   adding.
#include "sim/base/check.hpp"
#include "sim/collective/builders.hpp"

namespace ringside::sim {
namespace {

/// Writes the transfers of one (channel, loop) of the chunk table.
class RingProgram {
 public:
  RingProgram(const ScheduleRequest& request, const std::vector<int>& ring, Schedule& out,
              std::uint32_t first_chunk)
      : n_(request.world_size), ring_(ring), out_(out), first_chunk_(first_chunk) {}

  void all_reduce(RingOrder order) {
    const int shift = order == RingOrder::Nccl ? 0 : 1;
    const auto slot = [&](int position) { return wrap(position + shift); };
    reduce_scatter(slot, Primitive::RecvReduceCopySend);
    all_gather(slot, n_ - 1, Primitive::RecvReduceCopySend);
  }
  void only_reduce_scatter() {
    reduce_scatter([&](int position) { return rank_at(position); }, Primitive::RecvReduceCopy);
  }
  void only_all_gather() {
    all_gather([&](int position) { return rank_at(position); }, 0, Primitive::Send);
  }
  /// `delay` = pipelined chunks before this loop.
  void broadcast(int root_position, int delay) {
    for (int slot = 0; slot < n_; ++slot) {
      for (int hop = 0; hop < n_ - 1; ++hop) {
        const Primitive sender = hop == 0 ? Primitive::Send : Primitive::RecvCopySend;
        const Primitive receiver = hop == n_ - 2 ? Primitive::Recv : Primitive::RecvCopySend;
        add(delay + slot + hop + 1, root_position + hop, slot, Action::Copy, sender, receiver);
      }
    }
  }
  void reduce(int root_position, int delay) {
    for (int slot = 0; slot < n_; ++slot) {
      for (int hop = 0; hop < n_ - 1; ++hop) {
        const Primitive sender = hop == 0 ? Primitive::Send : Primitive::RecvReduceSend;
        const Primitive receiver = hop == n_ - 2 ? Primitive::RecvReduceCopy : Primitive::RecvReduceSend;
        add(delay + slot + hop + 1, root_position + 1 + hop, slot, Action::Reduce, sender, receiver);
      }
    }
  }

 private:
  int wrap(int position) const { return (position % n_ + n_) % n_; }
  int rank_at(int position) const { return ring_[static_cast<std::size_t>(wrap(position))]; }

  /// slot(position) = the slot that this position owns at the end.
  template <class SlotOf>
  void reduce_scatter(const SlotOf& slot, Primitive last) {
    for (int s = 1; s < n_; ++s) {
      const Primitive sender = s == 1 ? Primitive::Send : Primitive::RecvReduceSend;
      const Primitive receiver = s == n_ - 1 ? last : Primitive::RecvReduceSend;
      for (int p = 0; p < n_; ++p) add(s, p, slot(p - s), Action::Reduce, sender, receiver);
    }
  }
  template <class SlotOf>
  void all_gather(const SlotOf& slot, int steps_before, Primitive first) {
    for (int k = 1; k < n_; ++k) {
      const Primitive sender = k == 1 ? first : Primitive::RecvCopySend;
      const Primitive receiver = k == n_ - 1 ? Primitive::Recv : Primitive::RecvCopySend;
      for (int p = 0; p < n_; ++p) add(steps_before + k, p, slot(p - k + 1), Action::Copy, sender, receiver);
    }
  }
  void add(int step, int position, int slot, Action action, Primitive sender, Primitive receiver) {
    out_.transfers.push_back(transfer(static_cast<std::uint32_t>(step),
                                      first_chunk_ + static_cast<std::uint32_t>(slot), rank_at(position),
                                      rank_at(position + 1), action, sender, receiver));
  }

  int n_;
  const std::vector<int>& ring_;
  Schedule& out_;
  std::uint32_t first_chunk_;
};

}  // namespace

void build_ring(const ScheduleRequest& request, Schedule& schedule) {
  const auto n = static_cast<std::uint32_t>(request.world_size);
  schedule.chunks = cut_chunks(request, request.world_size);
  schedule.in_program_order = true;
  const auto& chunks = schedule.chunks.chunks;
  const std::uint32_t rounds = request.collective == Collective::AllReduce ? 2 : 1;
  schedule.transfers.reserve(chunks.size() * rounds * (n - 1));
  std::vector<int> ring;
  for (std::uint32_t first = 0; first < chunks.size(); first += n) {
    const Chunk& chunk = chunks[first];
    if (chunk.loop == 0) ring = request.ring(chunk.channel);
    const int root = static_cast<int>(std::find(ring.begin(), ring.end(), request.root) - ring.begin());
    const int delay = chunk.loop * request.world_size;
    RingProgram program(request, ring, schedule, first);
    switch (request.collective) {
      case Collective::ReduceScatter:
        program.only_reduce_scatter();
        break;
      case Collective::AllGather:
        program.only_all_gather();
        break;
      case Collective::Broadcast:
        program.broadcast(root, delay);
        break;
      case Collective::Reduce:
        program.reduce(root, delay);
        break;
      default:
        program.all_reduce(request.order);
        break;
    }
  }
}

std::vector<int> ScheduleRequest::ring(int channel) const {
  if (!rings.empty()) return rings[std::min(static_cast<std::size_t>(channel), rings.size() - 1)];
  std::vector<int> out;
  for (int rank = 0; rank < world_size; ++rank) out.push_back(rank);
  return out;
}

int owner_after_reduce_scatter(RingOrder order, int world_size, std::uint32_t slot) {
  const int position = static_cast<int>(slot);
  return order == RingOrder::Nccl ? position : (position + world_size - 1) % world_size;
}

}  // namespace ringside::sim
