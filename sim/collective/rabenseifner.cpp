// Rabenseifner's algorithm: reduce-scatter by recursive halving, then all-gather by recursive doubling (R.
// Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004; Thakur, Rabenseifner, Gropp
// 2005).
//
// Idea. In step 1 a rank sends the half of the buffer that it will not own to a partner in the other half of
// the world and adds the other half that it gets; in step 2 a quarter to a partner in the other half of its
// half, and so on: after log2(N) steps rank r owns chunk r finished. Then the way back: in each step partners
// exchange all that they own, twice as much each time.
//
// Words. The buffer has P chunks, P the largest power of two in N. A message is a run of chunks; here each
// chunk is a transfer of its own, one behind the other on the same link. Other world sizes fold as in
// recursive doubling.
//
// Steps: 2·log2(N), plus 2 for worlds that are no power of two. Bytes that a rank sends: 2(P-1)/P of the
// buffer, like the ring (a folded rank sends a whole buffer more). So it has the ring's volume with a tree's
// number of latencies; but its partners are far away, so it wants a network in which all pairs are equally
// near, and every step crosses the middle of it.
#include "sim/collective/builders.hpp"

namespace ringside::sim {
void build_rabenseifner(const ScheduleRequest& request, Schedule& schedule) {
  const PowerOfTwoGroup group(request.world_size);
  schedule.chunks = cut_chunks(request, group.size);
  const auto chunks = static_cast<std::uint32_t>(group.size);
  const auto exchange = [&](std::uint32_t step, std::uint32_t first, int mask, bool halving) {
    for (int member = 0; member < group.size; ++member) {
      // Chunks by their distance from the member's own, distance = chunk xor member: all members do the same
      // in that order. Halving: what the partner will own. Doubling: what this one owns by now.
      const int nearest = halving ? mask : 0;
      for (int distance = nearest; distance < nearest + mask; ++distance) {
        schedule.transfers.push_back(transfer(step, first + static_cast<std::uint32_t>(distance ^ member),
                                              group.rank(member), group.rank(member ^ mask),
                                              halving ? Action::Reduce : Action::Copy, Primitive::Send,
                                              halving ? Primitive::RecvReduce : Primitive::Recv));
      }
    }
  };
  for (std::uint32_t first = 0; first < schedule.chunks.chunks.size(); first += chunks) {
    std::uint32_t step = group.fold(schedule, first, chunks);
    for (int mask = group.size / 2; mask >= 1; mask /= 2) exchange(++step, first, mask, true);
    for (int mask = 1; mask < group.size; mask *= 2) exchange(++step, first, mask, false);
    group.unfold(schedule, first, chunks, step);
  }
}

}  // namespace ringside::sim
