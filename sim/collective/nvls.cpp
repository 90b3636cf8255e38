// NVLS: the NVLink switch does the additions (NVLink SHARP, NVSwitch 3 and later).
//
// Idea. Every GPU is the *head* of one part of the buffer. A head asks the switch for its part: the switch
// reads it from all GPUs, adds, and hands the head one sum (multimem.ld_reduce). The head writes the result
// once, and the switch multiplies it to all GPUs (multimem.st). So a GPU's wire carries its buffer once out
// and the result once in, and the switch does the (N-1)-fold work.
//
// Between nodes (NCCL's NVLSTree): the heads with the same part, one per node, add up over NCCL's first tree
// and back down before each head writes.
//
// Steps here: the G-1 contributions to a part follow each other in G-1 steps of their own, since a chunk is
// received once a step; they are marked `in_switch` (all but the last): in time they leave their senders'
// ports at once and come in through the head's port as one sum. The copies of the result leave through the
// head's port once. Bytes that a GPU's port sends: the buffer once and 1/G of it again, against the ring's
// 2(N-1)/N; hence busbw above the wire's rate. It wins for middle and big sizes in a node that can do it; it
// has few operations (sum, min, max) and types.
//
// The order in which the switch adds is not published. Here a part is added from its head on, in the order of
// the ranks.
#include "sim/collective/builders.hpp"
#include "sim/collective/tree_shape.hpp"

namespace ringside::sim {
namespace {

/// The heads' trees between the nodes; gives the last step.
std::uint32_t between_nodes(const RankTree& tree, Schedule& schedule, std::uint32_t chunk, int part,
                            int local, std::uint32_t step) {
  const std::size_t begin = schedule.transfers.size();
  add_tree(tree, schedule, chunk, step);
  std::uint32_t last = step;
  for (std::size_t t = begin; t < schedule.transfers.size(); ++t) {
    Transfer& x = schedule.transfers[t];
    x.src = x.src * local + part;
    x.dst = x.dst * local + part;
    last = std::max(last, x.step);
  }
  return last;
}

}  // namespace

void build_nvls(const ScheduleRequest& request, Schedule& schedule) {
  const int local = local_size(request), nodes = node_count(request);
  schedule.chunks = cut_chunks(request, local);
  const TreeShape shape(nodes, false);
  RankTree tree(nodes);
  for (int node = 0; node < nodes; ++node) {
    for (const int child : shape.nodes[static_cast<std::size_t>(node)].children) {
      if (child != kNoNode) tree.join(node, child);
    }
  }
  tree.root = shape.root;
  tree.number();
  for (std::uint32_t chunk = 0; chunk < schedule.chunks.chunks.size(); ++chunk) {
    const int head = static_cast<int>(schedule.chunks.chunks[chunk].slot);
    for (int node = 0; node < nodes; ++node) {
      for (int s = 1; s < local; ++s) {
        Transfer x =
            transfer(static_cast<std::uint32_t>(s), chunk, node * local + (head + s) % local,
                     node * local + head, Action::Reduce, Primitive::Send, Primitive::RecvReduceCopySend);
        x.in_switch = s < local - 1;
        schedule.transfers.push_back(x);
      }
    }
    const std::uint32_t step =
        nodes == 1 ? static_cast<std::uint32_t>(local - 1)
                   : between_nodes(tree, schedule, chunk, head, local, static_cast<std::uint32_t>(local - 1));
    for (int node = 0; node < nodes; ++node) {
      for (int s = 1; s < local; ++s) {
        Transfer x = transfer(step + 1, chunk, node * local + head, node * local + (head + s) % local,
                              Action::Copy, Primitive::RecvReduceCopySend, Primitive::Recv);
        x.in_switch = s > 1;
        schedule.transfers.push_back(x);
      }
    }
  }
}

}  // namespace ringside::sim
