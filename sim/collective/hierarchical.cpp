// Hierarchical AllReduce in two levels: NVLink inside the nodes, the network between them.
//
// Idea. With G GPUs in each of M nodes: a ring reduce-scatter inside each node leaves every GPU with 1/G of
// the node's sum; then the GPUs with the same local rank, one per node, make an AllReduce of that part over
// the network, G of them at the same time, each through its own NIC; then a ring all-gather inside the node
// spreads the result. The network carries each number once per node instead of once per GPU, and its
// latencies are M's, not N's.
//
// Words. A *part* is 1/G of the buffer, and belongs to a local rank. A *piece* is 1/M of a part, and belongs
// to a node. Chunk p·M + m is piece m of part p. Inside a node a part travels as its M pieces, one behind the
// other, in the order in which the ring between the nodes will want them. Between the nodes: a ring (default)
// or NCCL's first tree (inter_tree), pieces following each other.
//
// Primitives: those of three collectives one after the other (reduce_scatter, all_reduce, all_gather).
//
// Steps: 2(G-1) + 2(M-1) with rings. Bytes that a GPU sends: 2(G-1)/G of the buffer inside, 2(M-1)/(M·G) over
// the network. It wins where the network is much slower than NVLink and there are many nodes; a flat ring
// sends the same bytes over each node's wire but in 2(GM-1) steps. All nodes must hold the same number of
// GPUs.
#include "sim/collective/builders.hpp"
#include "sim/collective/tree_shape.hpp"

namespace ringside::sim {
namespace {

class Builder {
 public:
  Builder(const ScheduleRequest& request, Schedule& schedule, std::uint32_t first)
      : local_(local_size(request)), nodes_(node_count(request)), schedule_(schedule), first_(first) {}

  std::uint32_t reduce_scatter_inside(std::uint32_t step) {
    for (int s = 1; s < local_; ++s) {
      const Primitive sender = s == 1 ? Primitive::Send : Primitive::RecvReduceSend;
      const Primitive receiver = s == local_ - 1 ? Primitive::RecvReduceCopy : Primitive::RecvReduceSend;
      for (int node = 0; node < nodes_; ++node) {
        for (int p = 0; p < local_; ++p) {
          for (int k = 1; k <= nodes_; ++k)
            inside(step + static_cast<std::uint32_t>(s), node, p, p - s, node - k, Action::Reduce, sender,
                   receiver);
        }
      }
    }
    return step + static_cast<std::uint32_t>(local_ - 1);
  }

  std::uint32_t all_gather_inside(std::uint32_t step) {
    for (int k = 1; k < local_; ++k) {
      const Primitive sender = k == 1 ? Primitive::Send : Primitive::RecvCopySend;
      const Primitive receiver = k == local_ - 1 ? Primitive::Recv : Primitive::RecvCopySend;
      for (int node = 0; node < nodes_; ++node) {
        for (int p = 0; p < local_; ++p) {
          for (int m = 0; m < nodes_; ++m)
            inside(step + static_cast<std::uint32_t>(k), node, p, p - k + 1, node - m, Action::Copy, sender,
                   receiver);
        }
      }
    }
    return step + static_cast<std::uint32_t>(local_ - 1);
  }

  std::uint32_t ring_between(std::uint32_t step) {
    for (int s = 1; s <= 2 * (nodes_ - 1); ++s) {
      const bool reducing = s < nodes_, turning = s == nodes_;
      const Primitive sender = s == 1     ? Primitive::Send
                               : reducing ? Primitive::RecvReduceSend
                               : turning  ? Primitive::RecvReduceCopySend
                                          : Primitive::RecvCopySend;
      const Primitive receiver = s < nodes_ - 1         ? Primitive::RecvReduceSend
                                 : s == nodes_ - 1      ? Primitive::RecvReduceCopySend
                                 : s < 2 * (nodes_ - 1) ? Primitive::RecvCopySend
                                                        : Primitive::Recv;
      for (int node = 0; node < nodes_; ++node) {
        const int piece =
            reducing ? node - s : node - (s - nodes_);  // all-gather step k = s - (M-1): piece node - k + 1
        for (int p = 0; p < local_; ++p) {
          schedule_.transfers.push_back(transfer(step + static_cast<std::uint32_t>(s), chunk(p, piece),
                                                 node * local_ + p, (node + 1) % nodes_ * local_ + p,
                                                 reducing ? Action::Reduce : Action::Copy, sender, receiver));
        }
      }
    }
    return step + 2 * static_cast<std::uint32_t>(nodes_ - 1);
  }

  std::uint32_t tree_between(std::uint32_t step) {
    const TreeShape shape(nodes_, false);
    RankTree tree(nodes_);
    for (int node = 0; node < nodes_; ++node) {
      for (const int child : shape.nodes[static_cast<std::size_t>(node)].children) {
        if (child != kNoNode) tree.join(node, child);
      }
    }
    tree.root = shape.root;
    tree.number();
    std::uint32_t last = step;
    for (int p = 0; p < local_; ++p) {
      for (int m = 0; m < nodes_; ++m) {
        const std::size_t begin = schedule_.transfers.size();
        add_tree(tree, schedule_, chunk(p, m), step + static_cast<std::uint32_t>(m));
        for (std::size_t t = begin; t < schedule_.transfers.size(); ++t) {  // from nodes to ranks
          Transfer& x = schedule_.transfers[t];
          x.src = x.src * local_ + p;
          x.dst = x.dst * local_ + p;
          last = std::max(last, x.step);
        }
      }
    }
    return last;
  }

 private:
  std::uint32_t chunk(int part, int piece) const {
    return first_ + static_cast<std::uint32_t>(wrap(part, local_) * nodes_ + wrap(piece, nodes_));
  }
  static int wrap(int x, int n) { return (x % n + n) % n; }
  void inside(std::uint32_t step, int node, int p, int part, int piece, Action action, Primitive sender,
              Primitive receiver) {
    schedule_.transfers.push_back(transfer(step, chunk(part, piece), node * local_ + p,
                                           node * local_ + (p + 1) % local_, action, sender, receiver));
  }

  int local_, nodes_;
  Schedule& schedule_;
  std::uint32_t first_;
};

}  // namespace

void build_hierarchical(const ScheduleRequest& request, Schedule& schedule) {
  schedule.chunks = cut_chunks(request, request.world_size);
  const auto slots = static_cast<std::uint32_t>(request.world_size);
  for (std::uint32_t first = 0; first < schedule.chunks.chunks.size(); first += slots) {
    Builder builder(request, schedule, first);
    std::uint32_t step = builder.reduce_scatter_inside(0);
    step = request.inter_tree ? builder.tree_between(step) : builder.ring_between(step);
    builder.all_gather_inside(step);
  }
}

}  // namespace ringside::sim
