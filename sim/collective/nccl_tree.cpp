// NCCL's tree: a chain of GPUs in each node, a double binary tree between the nodes.
//
// Idea. In a node the GPUs form a chain; the numbers are added along it to its head, the GPU beside the NIC.
// The heads form a binary tree over the nodes: they add up to the root, and the result comes down the same
// way. The buffer is cut into pieces that follow each other, so that going up and coming down overlap. In a
// binary tree half of the nodes are leaves and only ever send one piece up and get one down, while interior
// ones take two and send two; so there are two trees, in which interior nodes and leaves have changed places,
// and each carries half of the buffer (Sanders, Speck, Träff, "Two-tree algorithms for full bandwidth
// broadcast, reduction and scan", 2009; in NCCL since 2.4).
//
// Words. *up* and *down* as NCCL's primitives have them: a leaf sends; an interior rank recvReduceSends; the
// root recvReduceCopySends (the piece turns round there); on the way down recvCopySend, and recv at the
// leaves. Channels c and c + channels/2 are a pair: the first half of the channels runs on tree 1, the other
// half on tree 2. One channel alone has tree 1 only. The head of a node is another GPU for each pair: local
// rank (pair mod GPUs of the node).
//
// Steps of one piece: the depth of the tree twice, 2·(log2(nodes) + GPUs of a node - 1) at most, one more
// where two children of a rank are ready at the same time, since a rank adds them one after the other. A
// piece follows one step behind the one before it. Bytes that a rank sends: one buffer up and one per child
// down (half of each per tree). busbw counts it as if it were a ring. It wins for small and middle sizes on
// many nodes: its latencies grow with log2(nodes), the ring's with N.
#include "sim/collective/builders.hpp"
#include "sim/collective/tree_shape.hpp"

namespace ringside::sim {

RankTree nccl_rank_tree(const ScheduleRequest& request, bool second, int head) {
  const int n = request.world_size, local = local_size(request), nodes = node_count(request);
  RankTree tree(n);
  const TreeShape shape(nodes, second);
  const auto gpus_of = [&](int node) { return std::min(local, n - node * local); };
  const auto gpu = [&](int node, int place) { return node * local + (head + place) % gpus_of(node); };
  for (int node = 0; node < nodes; ++node) {
    for (const int child : shape.nodes[static_cast<std::size_t>(node)].children) {
      if (child != kNoNode) tree.join(gpu(node, 0), gpu(child, 0));
    }
    for (int place = 1; place < gpus_of(node); ++place) tree.join(gpu(node, place - 1), gpu(node, place));
  }
  tree.root = gpu(shape.root, 0);
  tree.number();
  return tree;
}

void RankTree::number() {
  // Parents before children, without recursion: a chain of thousands of GPUs is legal.
  std::vector<int> order{root};
  depth.assign(children.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const int child : children[static_cast<std::size_t>(order[i])]) {
      depth[static_cast<std::size_t>(child)] = depth[static_cast<std::size_t>(order[i])] + 1;
      order.push_back(child);
    }
  }
  up_step.assign(children.size(), 0);
  std::vector<std::uint32_t> complete(children.size(), 0);  // the step in which a rank's last child arrives
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto rank = static_cast<std::size_t>(order[i]);
    for (const int child : children[rank]) {
      const auto c = static_cast<std::size_t>(child);
      up_step[c] = std::max(complete[c], complete[rank]) + 1;
      complete[rank] = up_step[c];
    }
  }
  height = complete[static_cast<std::size_t>(root)];
}

void add_tree(const RankTree& tree, Schedule& schedule, std::uint32_t chunk, std::uint32_t delay) {
  for (int rank = 0; rank < static_cast<int>(tree.children.size()); ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    const bool is_root = rank == tree.root;
    const Primitive takes_up = is_root ? Primitive::RecvReduceCopySend : Primitive::RecvReduceSend;
    const Primitive gives_down = is_root ? Primitive::RecvReduceCopySend : Primitive::RecvCopySend;
    for (const int child : tree.children[r]) {
      const auto c = static_cast<std::size_t>(child);
      const bool leaf = tree.children[c].empty();
      schedule.transfers.push_back(transfer(delay + tree.up_step[c], chunk, child, rank, Action::Reduce,
                                            leaf ? Primitive::Send : Primitive::RecvReduceSend, takes_up));
      schedule.transfers.push_back(transfer(delay + tree.height + static_cast<std::uint32_t>(tree.depth[c]),
                                            chunk, rank, child, Action::Copy, gives_down,
                                            leaf ? Primitive::Recv : Primitive::RecvCopySend));
    }
  }
}

ChunkTable tree_chunks(const ScheduleRequest& request) {
  constexpr int kMostPieces = 8;
  if (request.chunking == Chunking::Even) {
    return even_chunks(request.count, std::min(kMostPieces, request.world_size), request.channels);
  }
  return nccl_chunks(request.count, request.dtype, 1, request.channels, kTreeStepBytes);
}

void build_nccl_tree(const ScheduleRequest& request, Schedule& schedule) {
  schedule.chunks = tree_chunks(request);
  const auto& chunks = schedule.chunks.chunks;
  const int pairs = (schedule.chunks.channels + 1) / 2;
  int channel = -1;
  RankTree tree(1);
  for (std::uint32_t c = 0; c < chunks.size(); ++c) {
    if (chunks[c].channel != channel) {
      channel = chunks[c].channel;
      tree = nccl_rank_tree(request, channel >= pairs, channel % pairs % local_size(request));
    }
    add_tree(tree, schedule, c, chunks[c].loop * schedule.chunks.slots + chunks[c].slot);
  }
}

}  // namespace ringside::sim
