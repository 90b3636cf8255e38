// Recursive doubling.
//
// Idea. In step j every rank exchanges its whole buffer with the rank whose number differs in bit j-1, and
// both add what they get. After step 1 pairs agree, after step 2 groups of four, after log2(N) steps all.
// Both partners add the same two numbers, so all ranks hold the same bits.
//
// Worlds that are no power of two (as MPICH and Open MPI do it): with P the largest power of two below N and
// R = N - P, the first 2R ranks fold first: each even one sends its buffer to its odd neighbour and waits.
// The P ranks that are left run the program, then each odd one sends the result back.
//
// Steps: log2(N), or log2(P) + 2. Bytes that a rank sends: log2(N) buffers, against the ring's 2(N-1)/N. So
// it wins for small buffers, where the number of latencies is all that counts, and loses for big ones.
#include "sim/collective/builders.hpp"

namespace ringside::sim {

void build_recursive_doubling(const ScheduleRequest& request, Schedule& schedule) {
  schedule.chunks = cut_chunks(request, 1);
  const PowerOfTwoGroup group(request.world_size);
  for (std::uint32_t chunk = 0; chunk < schedule.chunks.chunks.size(); ++chunk) {
    std::uint32_t step = group.fold(schedule, chunk, 1);
    for (int mask = 1; mask < group.size; mask *= 2) {
      ++step;
      for (int member = 0; member < group.size; ++member) {
        schedule.transfers.push_back(transfer(step, chunk, group.rank(member), group.rank(member ^ mask),
                                              Action::Reduce, Primitive::Send, Primitive::RecvReduce));
      }
    }
    group.unfold(schedule, chunk, 1, step);
  }
}

std::uint32_t PowerOfTwoGroup::fold(Schedule& schedule, std::uint32_t first_chunk,
                                    std::uint32_t chunks) const {
  for (int pair = 0; pair < folded; ++pair) {
    for (std::uint32_t c = 0; c < chunks; ++c) {
      schedule.transfers.push_back(transfer(1, first_chunk + c, 2 * pair, 2 * pair + 1, Action::Reduce,
                                            Primitive::Send, Primitive::RecvReduce));
    }
  }
  return folded > 0 ? 1 : 0;
}

void PowerOfTwoGroup::unfold(Schedule& schedule, std::uint32_t first_chunk, std::uint32_t chunks,
                             std::uint32_t step) const {
  for (int pair = 0; pair < folded; ++pair) {
    for (std::uint32_t c = 0; c < chunks; ++c) {
      schedule.transfers.push_back(transfer(step + 1, first_chunk + c, 2 * pair + 1, 2 * pair, Action::Copy,
                                            Primitive::Send, Primitive::Recv));
    }
  }
}

}  // namespace ringside::sim
