#include "sim/collective/tree_shape.hpp"

#include "sim/base/check.hpp"

namespace ringside::sim {

TreeNode binary_tree_node(int n, int x) {
  RINGSIDE_CHECK(0 <= x && x < n);
  TreeNode node;
  int bit = 1;
  while (bit < n && (bit & x) == 0) bit *= 2;
  if (x == 0) {
    if (n > 1) node.children[1] = bit / 2;
    return node;
  }
  node.parent = (x ^ bit) | (bit * 2);
  if (node.parent >= n) node.parent = x ^ bit;
  const int half = bit / 2;
  if (half == 0) return node;
  node.children[0] = x - half;
  for (int step = half; step > 0; step /= 2) {
    if (x + step >= n) continue;
    node.children[1] = x + step;
    break;
  }
  return node;
}

TreeNode second_tree_node(int n, int x) {
  const bool mirrored = n % 2 == 0;
  TreeNode node = binary_tree_node(n, mirrored ? n - 1 - x : (x - 1 + n) % n);
  const auto back = [&](int& y) {
    if (y != kNoNode) y = mirrored ? n - 1 - y : (y + 1) % n;
  };
  back(node.parent);
  back(node.children[0]);
  back(node.children[1]);
  return node;
}

TreeShape::TreeShape(int n, bool second) {
  for (int x = 0; x < n; ++x) {
    nodes.push_back(second ? second_tree_node(n, x) : binary_tree_node(n, x));
    if (nodes.back().parent == kNoNode) root = x;
  }
}

}  // namespace ringside::sim
