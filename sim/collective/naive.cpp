// Naive: everybody sends everything to one rank, and gets the result from it.
//
// Idea. All other ranks send their whole buffer to the root, one after the other; the root adds each as it
// comes, in the order of the ranks, beginning with its own numbers. Then it sends the result back to each,
// one after the other. This is the first thing one thinks of, and what the ring is compared with. reduce is
// the first half, broadcast the second.
//
// Steps: 2(N-1), one sender or one receiver a step. Bytes: N-1 buffers come in through the root's one port
// and N-1 go out, so the time grows with N: 2(N-1) · S/B, where the ring's stays at 2(N-1)/N · S/B. All other
// ports idle most of the time. It wins for nothing but two ranks; for tiny buffers a binomial tree needs
// 2·log2(N) latencies and no queue.
#include "sim/collective/builders.hpp"

namespace ringside::sim {

void build_naive(const ScheduleRequest& request, Schedule& schedule) {
  schedule.chunks = cut_chunks(request, 1);
  const bool gathers = request.collective != Collective::Broadcast,
             sends_back = request.collective != Collective::Reduce;
  const auto senders = static_cast<std::uint32_t>(request.world_size - 1);
  for (std::uint32_t chunk = 0; chunk < schedule.chunks.chunks.size(); ++chunk) {
    std::uint32_t step = 0;
    for (int rank = 0; rank < request.world_size; ++rank) {
      if (rank == request.root) continue;
      ++step;
      if (gathers) {
        schedule.transfers.push_back(transfer(step, chunk, rank, request.root, Action::Reduce,
                                              Primitive::Send, Primitive::RecvReduce));
      }
      if (sends_back) {
        schedule.transfers.push_back(transfer(step + (gathers ? senders : 0), chunk, request.root, rank,
                                              Action::Copy, Primitive::Send, Primitive::Recv));
      }
    }
  }
}

}  // namespace ringside::sim
