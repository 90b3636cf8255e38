// NCCL's double binary tree over nodes: who is whose parent and child. Exact (NCCL 2.30.7,
// src/graph/trees.cc).
#pragma once

#include <array>
#include <vector>

namespace ringside::sim {

inline constexpr int kNoNode = -1;

struct TreeNode {
  int parent = kNoNode;
  std::array<int, 2> children{kNoNode, kNoNode};  // kNoNode where there is none
};

/// The binary tree of n nodes, node 0 the root. With b the lowest set bit of x: the parent is (x ^ b) | 2b,
/// or x ^ b if that is not below n; the children are x - b/2 and x + b/2, the latter with b/4, b/8 … while it
/// is not below n. The root's only child is the largest power of two below n. Odd numbers are leaves.
TreeNode binary_tree_node(int n, int x);

/// The second tree: the first one's mirror (n-1-x) if n is even, so that no node is interior in both; else
/// shifted by one.
TreeNode second_tree_node(int n, int x);

/// A whole tree, by node.
struct TreeShape {
  std::vector<TreeNode> nodes;
  int root = 0;
  explicit TreeShape(int n, bool second);
};

}  // namespace ringside::sim
