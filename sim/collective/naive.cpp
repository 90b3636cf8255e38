// Naive AllReduce: everybody sends everything to one rank.
//
// Idea. All other ranks send their whole buffer to the root, one after the other; the root adds each as it
// comes, in the order of the ranks, beginning with its own numbers. Then it sends the result back to each,
// one after the other. This is the first thing one thinks of, and what the ring is compared with.
//
// Steps: 2(N-1), one sender or one receiver a step. Bytes: the root receives (N-1) buffers and sends (N-1)
// buffers through one port, every other rank sends and receives one. So the root's port carries N/2 · N/(N-1)
// … about N times what a link of the ring carries 2 of, and the time grows with N where the ring's stays:
// 2(N-1) · S/B against 2(N-1)/N · S/B. It wins for nothing but two ranks; for tiny buffers a binomial tree
// needs 2·log2(N) latencies instead.
#include "sim/collective/builders.hpp"

namespace ringside::sim {

void build_naive(const ScheduleRequest& request, Schedule& schedule) {
  schedule.chunks = cut_chunks(request, 1);
  const auto senders = static_cast<std::uint32_t>(request.world_size - 1);
  schedule.reduce_steps = senders;
  for (std::uint32_t chunk = 0; chunk < schedule.chunks.chunks.size(); ++chunk) {
    std::uint32_t step = 0;
    for (std::int32_t rank = 0; rank < request.world_size; ++rank) {
      if (rank == request.root) continue;
      ++step;
      schedule.transfers.push_back(
          {step, chunk, rank, request.root, Action::Reduce, Primitive::Send, Primitive::RecvReduce, chunk});
      schedule.transfers.push_back(
          {senders + step, chunk, request.root, rank, Action::Copy, Primitive::Send, Primitive::Recv, chunk});
    }
  }
}

}  // namespace ringside::sim
