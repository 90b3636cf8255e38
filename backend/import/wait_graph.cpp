#include "backend/import/wait_graph.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace ringside::backend {
namespace {

const FrEntry* oldest_unfinished(const FrDump& dump) {
  for (const auto& entry : dump.entries)
    if (entry.state != FrState::Completed) return &entry;
  return nullptr;
}

class Builder {
 public:
  explicit Builder(const FlightRecorder& recorder) : recorder_(recorder) {
    indices_.reserve(recorder.dumps.size());
    for (const auto& dump : recorder.dumps) indices_.emplace_back(dump);
  }

  WaitGraph build() {
    for (const auto& dump : recorder_.dumps) add_rank(dump);
    for (auto& op : graph_.ops) op.p2p ? judge_p2p(op) : judge_collective(op);
    for (const auto& op : graph_.ops)
      for (const int rank : op.missing) await(rank);
    std::sort(graph_.nodes.begin(), graph_.nodes.end(),
              [](const FrNode& a, const FrNode& b) { return a.rank < b.rank; });
    for (auto& node : graph_.nodes) stand(node);
    find_cycles();
    return std::move(graph_);
  }

 private:
  using OpKey = std::tuple<std::uint32_t, bool, std::int64_t, std::uint32_t, int>;

  void add_rank(const FrDump& dump) {
    FrNode node{.rank = dump.rank, .call = oldest_unfinished(dump)};
    if (node.call != nullptr) {
      const FrEntry& call = *node.call;
      // A p2p call is between two ranks, so each rank's own; a collective is shared by all that wait in it.
      const OpKey key{call.group, call.p2p, call.p2p ? call.p2p_seq : call.seq, call.p2p ? call.op : 0,
                      call.p2p ? dump.rank : -1};
      const auto [found, fresh] = op_ids_.try_emplace(key, static_cast<std::int32_t>(graph_.ops.size()));
      if (fresh) {
        FrOp op;
        op.group = call.group;
        op.seq = call.p2p ? call.p2p_seq : call.seq;
        op.p2p = call.p2p;
        op.op = call.op;
        graph_.ops.push_back(std::move(op));
      }
      node.op = found->second;
      graph_.ops[static_cast<std::size_t>(node.op)].waiters.push_back(dump.rank);
    }
    places_[dump.rank] = graph_.nodes.size();
    graph_.nodes.push_back(node);
  }

  /// Global rank of a p2p call's other end, -1 unknown.
  int peer_of(const FrEntry& call) const {
    const auto& ranks = recorder_.groups[call.group].ranks;
    if (call.peer < 0 || static_cast<std::size_t>(call.peer) >= ranks.size()) return -1;
    return ranks[static_cast<std::size_t>(call.peer)];
  }

  void judge_p2p(FrOp& op) {
    const int rank = op.waiters.front();
    const FrEntry& call = *graph_.nodes[places_.at(rank)].call;
    const int peer = peer_of(call);
    if (peer < 0 || peer == rank) return;
    const FrDump* dump = recorder_.dump_of(peer);
    if (dump == nullptr) {
      op.unseen.push_back(peer);
      op.missing.push_back(peer);
      return;
    }
    // If the peer's own oldest call is the other half of this one, both are there and the transfer does not
    // move.
    const FrNode& other = graph_.nodes[places_.at(peer)];
    const bool halves = other.call != nullptr && other.call->p2p && other.call->group == call.group &&
                        peer_of(*other.call) == rank && other.call->op != call.op;
    if (!halves) op.missing.push_back(peer);
  }

  void judge_collective(FrOp& op) {
    for (const int member : recorder_.groups[op.group].ranks) {
      const FrDump* dump = recorder_.dump_of(member);
      if (dump == nullptr) {
        op.unseen.push_back(member);
        continue;
      }
      const auto place = static_cast<std::size_t>(dump - recorder_.dumps.data());
      const FrCallIndex& index = indices_[place];
      if (const FrEntry* entry = index.find(op.group, op.seq)) {
        if (entry->state == FrState::Completed) op.ahead.push_back(member);
      } else if (index.enqueued(op.group) < op.seq) {
        op.missing.push_back(member);
      } else if (index.completed(op.group, op.seq)) {  // called and gone from the dump
        op.ahead.push_back(member);
      }
    }
    if (op.missing.empty() && op.ahead.empty()) op.missing = op.unseen;
    for (auto* ranks : {&op.missing, &op.ahead, &op.unseen}) std::sort(ranks->begin(), ranks->end());
  }

  void await(int rank) {
    const auto [found, fresh] = places_.try_emplace(rank, graph_.nodes.size());
    if (fresh) graph_.nodes.push_back({.rank = rank, .stand = FrStand::NoDump});
    graph_.nodes[found->second].awaited = true;
  }

  void stand(FrNode& node) {
    if (node.stand == FrStand::NoDump) {
      graph_.roots.push_back(node.rank);
      return;
    }
    if (node.op < 0) {
      node.stand = FrStand::Idle;
      if (node.awaited) graph_.roots.push_back(node.rank);
      return;
    }
    const FrOp& op = graph_.ops[static_cast<std::size_t>(node.op)];
    if (!op.missing.empty()) {
      node.stand = FrStand::Waits;
    } else if (!op.ahead.empty()) {
      node.stand = FrStand::Stuck;
      if (node.awaited) graph_.roots.push_back(node.rank);
    } else {
      node.stand = FrStand::AllJoined;
      graph_.all_joined.push_back(node.rank);
    }
  }

  /// Ranks from which no root and no joined call can be reached wait for each other in a circle. Found
  /// backwards: whatever leads to a way out is taken away, what is left are circles and those that only lead
  /// into them.
  void find_cycles();
  std::vector<bool> without_way_out() const;

  const FlightRecorder& recorder_;
  std::vector<FrCallIndex> indices_;
  std::map<OpKey, std::int32_t> op_ids_;
  std::map<int, std::size_t> places_;
  WaitGraph graph_;
};

/// For every node whether all its ways end in circles.
std::vector<bool> Builder::without_way_out() const {
  std::vector<bool> lost(graph_.nodes.size());
  for (std::size_t i = 0; i < lost.size(); ++i) lost[i] = graph_.nodes[i].stand == FrStand::Waits;
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& op : graph_.ops) {
      const bool way_out = std::any_of(op.missing.begin(), op.missing.end(), [&](int rank) {
        const FrNode* node = graph_.node(rank);
        return node == nullptr || !lost[static_cast<std::size_t>(node - graph_.nodes.data())];
      });
      if (!way_out || op.missing.empty()) continue;
      for (const int rank : op.waiters) {
        const auto place = static_cast<std::size_t>(graph_.node(rank) - graph_.nodes.data());
        changed = changed || lost[place];
        lost[place] = false;
      }
    }
  }
  return lost;
}

void Builder::find_cycles() {
  const std::vector<bool> lost = without_way_out();
  // Of the lost ranks, those that are waited for by a lost rank, again and again, until nothing changes, are
  // on circles (or between two of them); the others only lead there. Connected ones belong together.
  std::vector<bool> circle = lost;
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<bool> awaited(circle.size());
    for (const auto& op : graph_.ops) {
      const bool from_circle = std::any_of(op.waiters.begin(), op.waiters.end(), [&](int rank) {
        return circle[static_cast<std::size_t>(graph_.node(rank) - graph_.nodes.data())];
      });
      if (!from_circle) continue;
      for (const int rank : op.missing)
        awaited[static_cast<std::size_t>(graph_.node(rank) - graph_.nodes.data())] = true;
    }
    for (std::size_t i = 0; i < circle.size(); ++i) {
      if (!circle[i] || awaited[i]) continue;
      circle[i] = false;
      changed = true;
    }
  }
  std::vector<std::size_t> parent(circle.size());
  for (std::size_t i = 0; i < parent.size(); ++i) parent[i] = i;
  const auto top = [&](std::size_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for (const auto& op : graph_.ops) {
    std::size_t first = parent.size();
    for (const auto* ranks : {&op.waiters, &op.missing}) {
      if (op.missing.empty()) continue;
      for (const int rank : *ranks) {
        const auto place = static_cast<std::size_t>(graph_.node(rank) - graph_.nodes.data());
        if (!circle[place]) continue;
        if (first == parent.size()) first = place;
        parent[top(place)] = top(first);
      }
    }
  }
  std::map<std::size_t, std::vector<int>> circles;
  for (std::size_t i = 0; i < circle.size(); ++i)
    if (circle[i]) circles[top(i)].push_back(graph_.nodes[i].rank);
  for (auto& [key, ranks] : circles) graph_.cycles.push_back(std::move(ranks));
  std::sort(graph_.cycles.begin(), graph_.cycles.end());
}

}  // namespace

FrCallIndex::FrCallIndex(const FrDump& dump) : dump_(&dump) {
  for (std::size_t i = 0; i < dump.entries.size(); ++i) {
    const FrEntry& entry = dump.entries[i];
    if (!entry.p2p) places_.push_back({entry.group, entry.seq, static_cast<std::uint32_t>(i)});
    Counters& counters = groups_[entry.group];
    counters.enqueued = std::max(counters.enqueued, entry.seq);
    counters.p2p = counters.p2p || entry.p2p;
  }
  std::sort(places_.begin(), places_.end());
  for (const auto& [group, status] : dump.status) {
    Counters& counters = groups_[group];
    if (!counters.p2p) counters.enqueued = std::max(counters.enqueued, status.enqueued);
    counters.completed = status.completed;
  }
}

const FrEntry* FrCallIndex::find(std::uint32_t group, std::int64_t seq) const {
  const auto found =
      std::lower_bound(places_.begin(), places_.end(), std::tuple{group, seq, std::uint32_t{0}});
  if (found == places_.end() || std::get<0>(*found) != group || std::get<1>(*found) != seq) return nullptr;
  return &dump_->entries[std::get<2>(*found)];
}

std::int64_t FrCallIndex::enqueued(std::uint32_t group) const {
  const auto found = groups_.find(group);
  return found == groups_.end() ? -1 : found->second.enqueued;
}

bool FrCallIndex::completed(std::uint32_t group, std::int64_t seq) const {
  const auto found = groups_.find(group);
  if (found == groups_.end()) return false;
  return found->second.p2p || found->second.completed < 0 || found->second.completed >= seq;
}

const FrNode* WaitGraph::node(int rank) const {
  const auto found = std::lower_bound(nodes.begin(), nodes.end(), rank,
                                      [](const FrNode& node, int value) { return node.rank < value; });
  return found != nodes.end() && found->rank == rank ? &*found : nullptr;
}

std::vector<std::pair<int, int>> WaitGraph::edges(std::size_t limit) const {
  std::vector<std::pair<int, int>> out;
  for (const auto& node : nodes) {
    if (node.op < 0) continue;
    for (const int to : ops[static_cast<std::size_t>(node.op)].missing) {
      if (out.size() >= limit) return out;
      if (to != node.rank) out.emplace_back(node.rank, to);
    }
  }
  return out;
}

WaitGraph wait_graph(const FlightRecorder& recorder) {
  return Builder(recorder).build();
}

}  // namespace ringside::backend
