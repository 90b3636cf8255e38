// Binomial tree: reduce to a root, then broadcast from it.
//
// Idea. Number the ranks from the root on. In step j every rank whose number has bit j-1 as its lowest set
// bit sends its buffer to the rank without that bit and is done; the receiver adds. The tree halves in each
// step, so ceil(log2 N) steps bring all to the root. The broadcast is the same tree backwards: in each step
// everybody who has the result sends it on. This is what MPI libraries do for a small reduce or broadcast,
// and the two after each other make an AllReduce.
//
// Steps: 2·ceil(log2 N). Bytes: every rank but the root sends one buffer up, and a rank with k children sends
// k down; the root receives and sends log2(N) buffers. It wins for small buffers (few latencies, any world
// size); for big ones the root's port is log2(N)/2 times as busy as a link of the ring, and half of the ranks
// only ever send once.
//
// Order of the additions: neighbours first, then pairs, then fours: another one than the ring's, with smaller
// rounding errors.
#include "sim/collective/builders.hpp"

namespace ringside::sim {

void build_binomial_tree(const ScheduleRequest& request, Schedule& schedule) {
  schedule.chunks = cut_chunks(request, 1);
  const int n = request.world_size;
  const auto rank = [&](int number) { return (number + request.root) % n; };
  for (std::uint32_t chunk = 0; chunk < schedule.chunks.chunks.size(); ++chunk) {
    std::uint32_t step = 0;
    int above = 1;  // the first power of two that is not below n
    while (above < n) above *= 2;
    for (int mask = 1; mask < n && request.collective != Collective::Broadcast; mask *= 2) {
      ++step;
      for (int child = mask; child < n; child += 2 * mask) {
        schedule.transfers.push_back(transfer(step, chunk, rank(child), rank(child - mask), Action::Reduce,
                                              Primitive::Send, Primitive::RecvReduce));
      }
    }
    for (int mask = above / 2; mask >= 1 && request.collective != Collective::Reduce; mask /= 2) {
      ++step;
      for (int child = mask; child < n; child += 2 * mask) {
        schedule.transfers.push_back(transfer(step, chunk, rank(child - mask), rank(child), Action::Copy,
                                              Primitive::Send, Primitive::Recv));
      }
    }
  }
}

}  // namespace ringside::sim
