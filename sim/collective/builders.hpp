// Inside of make_schedule: one function per algorithm. Each fills chunks, transfers, steps and reduce_steps
// of a schedule whose other fields are set; transfers may come in any order within a step, make_schedule
// sorts them.
#pragma once

#include <algorithm>

#include "sim/collective/schedule.hpp"

namespace ringside::sim {

inline constexpr std::int64_t kRingChunkBytes =
    2 * 1024 * 1024;                                        // NCCL's Simple protocol: 4 steps of 512 KiB
inline constexpr std::int64_t kTreeStepBytes = 512 * 1024;  // and 1 step for trees

void build_ring(const ScheduleRequest& request, Schedule& schedule);
void build_naive(const ScheduleRequest& request, Schedule& schedule);
void build_recursive_doubling(const ScheduleRequest& request, Schedule& schedule);
void build_rabenseifner(const ScheduleRequest& request, Schedule& schedule);
void build_binomial_tree(const ScheduleRequest& request, Schedule& schedule);
void build_nccl_tree(const ScheduleRequest& request, Schedule& schedule);
void build_hierarchical(const ScheduleRequest& request, Schedule& schedule);
void build_nvls(const ScheduleRequest& request, Schedule& schedule);
void build_all_to_all(const ScheduleRequest& request, Schedule& schedule);

/// One chunk from rank to rank, in its own place.
inline Transfer transfer(std::uint32_t step, std::uint32_t chunk, int src, int dst, Action action,
                         Primitive sender, Primitive receiver) {
  return {step, chunk, src, dst, action, sender, receiver, chunk, false};
}

/// The largest power of two that is not above n.
constexpr int floor_power_of_two(int n) {
  int power = 1;
  while (power <= n / 2) power *= 2;
  return power;
}

/// GPUs of a node, and the number of nodes (the last may hold fewer).
inline int local_size(const ScheduleRequest& request) {
  return request.gpus_per_node == 0 ? request.world_size
                                    : std::min(request.gpus_per_node, request.world_size);
}
inline int node_count(const ScheduleRequest& request) {
  return (request.world_size + local_size(request) - 1) / local_size(request);
}

/// The members of recursive doubling and halving: a power of two of ranks. Of the first 2·folded ranks only
/// the odd ones are members; their even neighbours hand over their numbers first (fold) and get the result
/// last (unfold).
struct PowerOfTwoGroup {
  int size, folded;
  explicit PowerOfTwoGroup(int world_size)
      : size(floor_power_of_two(world_size)), folded(world_size - floor_power_of_two(world_size)) {}
  int rank(int member) const { return member < folded ? 2 * member + 1 : member + folded; }
  /// Gives the last step that it used: 1, or 0 if nothing was to be folded.
  std::uint32_t fold(Schedule& schedule, std::uint32_t first_chunk, std::uint32_t chunks) const;
  void unfold(Schedule& schedule, std::uint32_t first_chunk, std::uint32_t chunks, std::uint32_t step) const;
};

/// A tree of ranks with the steps in which one piece moves along it.
struct RankTree {
  explicit RankTree(int n) : children(static_cast<std::size_t>(n)) {}
  std::vector<std::vector<int>> children;  // in the order in which they are added
  int root = 0;
  std::vector<int> depth;              // below the root
  std::vector<std::uint32_t> up_step;  // per rank: the step in which it sends to its parent, from 1
  std::uint32_t height = 0;            // the step in which the root is complete
  void join(int parent, int child) { children[static_cast<std::size_t>(parent)].push_back(child); }
  /// Fills depth, up_step and height from children and root.
  void number();
};
/// NCCL's tree over all ranks: chains in the nodes from local rank `head` on, the first or second binary tree
/// between them.
RankTree nccl_rank_tree(const ScheduleRequest& request, bool second, int head);
/// One piece up the tree (Reduce) and down again (Copy); `delay` steps after the first one.
void add_tree(const RankTree& tree, Schedule& schedule, std::uint32_t chunk, std::uint32_t delay);

/// The chunk table that the request asks for, with `slots` chunks per channel and loop.
ChunkTable cut_chunks(const ScheduleRequest& request, int slots);
/// NCCL's tree cuts pieces that follow each other. Even: at most 8 (NCCL keeps 8 steps in flight); nccl: of
/// 512 KiB.
ChunkTable tree_chunks(const ScheduleRequest& request);

}  // namespace ringside::sim
