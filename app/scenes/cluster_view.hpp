// From a Frame to what the cluster scene shows: the mark of every rank and node, how many are in which state,
// who waits for whom. No drawing here.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "app/draw/parts.hpp"
#include "app/scenes/cluster_story.hpp"
#include "sim/diagnosis/diagnosis.hpp"
#include "sim/trace/frame.hpp"

namespace ringside::app {

/// What the counts on top are about, in their order.
enum class Group : std::uint8_t {
  Dead,
  Terminated,
  Aborted,
  TimedOut,
  Silent,
  Stalled,
  Waiting,
  Poisoned,
  Working,
  Idle,
  Finished,
};
inline constexpr int kGroupCount = 11;
Group group_of(parts::Mark mark);
/// The mark that stands for a group.
parts::Mark mark_of(Group group);
/// "dead", "terminated" …: the key in the table cluster.state.
std::string_view word_of(Group group);
/// "forward", "waiting" …: the key in the table cluster.mark.
std::string_view word_of(parts::Mark mark);

struct RankTile {
  parts::Mark mark = parts::Mark::Idle;
  bool direct = false;   // waits for a rank that is gone, as its neighbour in the ring
  bool culprit = false;  // named by the diagnosis
  bool finished = false;
};

struct NodeTile {
  parts::Mark mark = parts::Mark::Idle;  // the worst of its ranks
  bool mixed = false;                    // its ranks differ
  bool culprit = false;
};

struct ClusterView {
  int world = 0, nodes = 0, per_node = 1, nodes_per_rack = 8;
  bool ranks_listed = true;               // false: the trace only tells of nodes
  std::vector<RankTile> ranks;            // empty if they are not listed
  std::vector<NodeTile> tiles;            // per node
  std::array<int, kGroupCount> counts{};  // in ranks, also where only nodes are known
  std::int32_t step = 0;
  std::int64_t t = 0;
  parts::Mark working_mark = parts::Mark::Forward;  // what most of those that work do
  int culprit_node = -1;                            // the node to look at first; -1 = none
  int culprit_rank = -1;
  std::int64_t waits_since = -1;  // since when the longest wait lasts
  int waiting() const {
    return counts[static_cast<std::size_t>(Group::Waiting)] +
           counts[static_cast<std::size_t>(Group::Stalled)];
  }
  int gone() const;
  int node_of(int rank) const { return rank / per_node; }
  std::vector<std::string> node_names;  // host names; empty if they are n0, n1 …
  std::string node_name(int node) const {
    return node_names.empty() ? "n" + std::to_string(node) : node_names[static_cast<std::size_t>(node)];
  }
};

/// `verdict` may be null. `racks` = nodes drawn together in big clusters.
ClusterView make_cluster_view(const sim::Trace& trace, const sim::Frame& frame, const ClusterStory& story,
                              const sim::Diagnosis* verdict, int nodes_per_rack, std::int64_t end_time);

/// The mark of a rank.
parts::Mark mark_of(const sim::RankFrame& rank);

/// Whom a rank waits for: its neighbour in the ring that is missing, else anybody that is; -1 = not known.
int waits_for(const sim::Trace& trace, const sim::Frame& frame, int rank);

}  // namespace ringside::app
