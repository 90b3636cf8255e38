// AllToAll by pairwise exchange.
//
// Idea. Rank r's buffer holds one block for every rank; block p of rank r must end as block r of rank p: a
// transposition. In step s the ranks r and p with r + p = s - 1 (mod N) exchange their blocks for each other.
// In every step the ranks fall into pairs (one or two meet themselves and rest), each port carries one block
// at a time, and since the two blocks of a pair change places no second buffer is needed.
//
// Steps: N (N-1 of them for each rank). Bytes that a rank sends: (N-1)/N of the buffer. Nothing is reduced,
// nothing shrinks: every pair of ranks has its own data, so the network between the nodes carries far more
// than with an AllReduce.
#include "sim/collective/builders.hpp"

namespace ringside::sim {

void build_all_to_all(const ScheduleRequest& request, Schedule& schedule) {
  const int n = request.world_size;
  schedule.chunks = cut_chunks(request, n);
  for (std::uint32_t first = 0; first < schedule.chunks.chunks.size();
       first += static_cast<std::uint32_t>(n)) {
    for (int s = 0; s < n; ++s) {
      for (int rank = 0; rank < n; ++rank) {
        const int partner = (s - rank + n) % n;
        if (partner == rank) continue;
        Transfer block =
            transfer(static_cast<std::uint32_t>(s + 1), first + static_cast<std::uint32_t>(partner), rank,
                     partner, Action::Copy, Primitive::Send, Primitive::Recv);
        block.to_chunk = first + static_cast<std::uint32_t>(rank);
        schedule.transfers.push_back(block);
      }
    }
  }
}

}  // namespace ringside::sim
