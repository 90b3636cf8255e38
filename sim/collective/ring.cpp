// Ring AllReduce.
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
#include "sim/base/check.hpp"
#include "sim/collective/builders.hpp"

namespace ringside::sim {
namespace {

/// A (channel, loop) of the chunk table: all its transfers.
class RingProgram {
 public:
  RingProgram(const ScheduleRequest& request, Schedule& out, std::uint32_t first_chunk)
      : n_(request.world_size),
        shift_(request.order == RingOrder::Nccl ? 0 : 1),
        out_(out),
        first_chunk_(first_chunk) {}

  void reduce_scatter() {
    for (int s = 1; s < n_; ++s) {
      const Primitive sender = s == 1 ? Primitive::Send : Primitive::RecvReduceSend;
      const Primitive receiver = s == n_ - 1 ? Primitive::RecvReduceCopySend : Primitive::RecvReduceSend;
      for (int p = 0; p < n_; ++p) add(s, p, p - s, Action::Reduce, sender, receiver);
    }
  }
  void all_gather() {
    for (int k = 1; k < n_; ++k) {
      const Primitive sender = k == 1 ? Primitive::RecvReduceCopySend : Primitive::RecvCopySend;
      const Primitive receiver = k == n_ - 1 ? Primitive::Recv : Primitive::RecvCopySend;
      for (int p = 0; p < n_; ++p) add(n_ - 1 + k, p, p - k + 1, Action::Copy, sender, receiver);
    }
  }

 private:
  void add(int step, int position, int slot, Action action, Primitive sender, Primitive receiver) {
    const std::uint32_t chunk = first_chunk_ + static_cast<std::uint32_t>((slot + shift_ + 2 * n_) % n_);
    out_.transfers.push_back({static_cast<std::uint32_t>(step), chunk, position, (position + 1) % n_, action,
                              sender, receiver, chunk});
  }

  int n_, shift_;
  Schedule& out_;
  std::uint32_t first_chunk_;
};

}  // namespace

void build_ring(const ScheduleRequest& request, Schedule& schedule) {
  const auto n = static_cast<std::uint32_t>(request.world_size);
  schedule.chunks = cut_chunks(request, request.world_size);
  schedule.in_program_order = true;
  schedule.reduce_steps = n - 1;
  schedule.transfers.reserve(schedule.chunks.chunks.size() * 2 * (n - 1));
  for (std::uint32_t first = 0; first < schedule.chunks.chunks.size(); first += n) {
    RingProgram program(request, schedule, first);
    program.reduce_scatter();
    program.all_gather();
  }
}

int owner_after_reduce_scatter(RingOrder order, int world_size, std::uint32_t slot) {
  const int position = static_cast<int>(slot);
  return order == RingOrder::Nccl ? position : (position + world_size - 1) % world_size;
}

}  // namespace ringside::sim
