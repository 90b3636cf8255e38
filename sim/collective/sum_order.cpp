#include "sim/collective/sum_order.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/tensor/reduce.hpp"

namespace ringside::sim {
namespace {

std::string text_of(const SumOrder& order, int at, bool inner) {
  const SumOrder::Node& node = order.nodes[static_cast<std::size_t>(at)];
  if (node.rank >= 0) return "R" + std::to_string(node.rank);
  const SumOrder::Node& own = order.nodes[static_cast<std::size_t>(node.own)];
  const SumOrder::Node& arrived = order.nodes[static_cast<std::size_t>(node.arrived)];
  // a + b is b + a to the bit: the longer side goes first, so that a chain reads without brackets.
  const bool own_first = own.rank < 0 && arrived.rank >= 0;
  const bool both = own.rank < 0 && arrived.rank < 0;
  const std::string text = text_of(order, own_first ? node.own : node.arrived, both) + " + " +
                           text_of(order, own_first ? node.arrived : node.own, true);
  return inner ? "(" + text + ")" : text;
}

Scalar value_of(const SumOrder& order, int at, ReduceOp op, std::span<const Scalar> per_rank) {
  const SumOrder::Node& node = order.nodes[static_cast<std::size_t>(at)];
  if (node.rank >= 0) return per_rank[static_cast<std::size_t>(node.rank)];
  const Scalar arrived = value_of(order, node.arrived, op, per_rank);
  const Scalar own = value_of(order, node.own, op, per_rank);
  return reduce(op, arrived, own);
}

}  // namespace

std::vector<int> SumOrder::chain() const {
  std::vector<int> ranks;
  int at = root;
  while (at >= 0) {
    const Node& node = nodes[static_cast<std::size_t>(at)];
    if (node.rank >= 0) {
      ranks.push_back(node.rank);
      break;
    }
    const int own = nodes[static_cast<std::size_t>(node.own)].rank;
    const int arrived = nodes[static_cast<std::size_t>(node.arrived)].rank;
    if (own < 0 && arrived < 0) return {};
    ranks.push_back(own >= 0 ? own : arrived);
    at = own >= 0 ? node.arrived : node.own;
  }
  std::reverse(ranks.begin(), ranks.end());
  return ranks;
}

std::string SumOrder::text() const {
  return root < 0 ? std::string() : text_of(*this, root, false);
}

Scalar SumOrder::evaluate(ReduceOp op, std::span<const Scalar> per_rank) const {
  return value_of(*this, root, op, per_rank);
}

SumOrder sum_order(const Schedule& schedule, std::uint32_t chunk, int rank) {
  SumOrder order;
  std::vector<int> now(static_cast<std::size_t>(schedule.world_size));
  for (int r = 0; r < schedule.world_size; ++r) {
    now[static_cast<std::size_t>(r)] = r;
    order.nodes.push_back({.rank = r});
  }
  // All transfers of one step read what was there before it.
  std::vector<std::pair<std::size_t, int>> writes;
  std::uint32_t step = 0;
  const auto flush = [&] {
    for (const auto& [dst, node] : writes) now[dst] = node;
    writes.clear();
  };
  for (const std::uint32_t i : schedule.transfers_into(chunk)) {
    const Transfer& x = schedule.transfers[i];
    if (x.step != step) flush();
    step = x.step;
    int node = now[static_cast<std::size_t>(x.src)];
    if (x.action == Action::Reduce) {
      order.nodes.push_back({.arrived = node, .own = now[static_cast<std::size_t>(x.dst)]});
      node = static_cast<int>(order.nodes.size()) - 1;
    }
    writes.emplace_back(static_cast<std::size_t>(x.dst), node);
  }
  flush();
  order.root = now[static_cast<std::size_t>(rank)];
  return order;
}

}  // namespace ringside::sim
