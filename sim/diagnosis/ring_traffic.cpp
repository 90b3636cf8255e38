#include "sim/diagnosis/ring_traffic.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace ringside::sim {
namespace {

using TransferKey = std::tuple<int, std::uint16_t, std::uint16_t, std::uint32_t, std::uint32_t>;

TransferKey key_of(int sender, const RingStepPayload& x) {
  return {sender, x.channel, x.loop, x.step, x.chunk};
}

struct RankTraffic {
  std::int64_t begun = 0, done = 0;
  int next_peer = -1;
  std::uint32_t last_done = kNone;
};

struct Traffic {
  std::vector<RankTraffic> ranks;
  std::map<TransferKey, std::uint32_t> open;  // begun and not done
  std::set<std::pair<int, int>> waits;
  bool any = false;
};

Traffic traffic_of(const Case& c, std::uint32_t coll, std::int64_t t) {
  Traffic out;
  out.ranks.resize(static_cast<std::size_t>(c.survey.world()));
  for (const std::uint32_t i : c.trace.order()) {
    const Event& e = c.trace.events()[i];
    if (e.t > t || !c.seen(e)) break;
    const bool known = e.rank() >= 0 && e.rank() < c.survey.world();
    const bool moves = e.type == EventType::RingStepBegin || e.type == EventType::RingStepEnd ||
                       e.type == EventType::RingStepWait;
    if (!known || !moves || e.ring.coll != coll) continue;
    out.any = true;
    RankTraffic& rank = out.ranks[static_cast<std::size_t>(e.rank())];
    if (e.type == EventType::RingStepBegin) {
      ++rank.begun;
      rank.next_peer = e.ring.peer;
      out.open[key_of(e.rank(), e.ring)] = i;
    } else if (e.type == EventType::RingStepWait) {
      out.waits.emplace(e.rank(), e.ring.peer);
    } else {
      ++rank.done;
      rank.last_done = i;
      out.open.erase(key_of(e.ring.peer, e.ring));
      out.waits.erase({e.rank(), static_cast<int>(e.ring.peer)});
    }
  }
  return out;
}

/// In a ring every rank may send one chunk more than it has received, per channel, until it has sent all.
/// One that has not, though nothing keeps it: its link does.
std::vector<int> owing(const Traffic& traffic, const CollectiveInfo& info) {
  std::vector<int> ranks;
  if (info.algorithm != Algorithm::Ring || info.world_size < 2) return ranks;
  const std::int64_t all = info.transfers / static_cast<std::uint32_t>(info.world_size);
  for (std::size_t r = 0; r < traffic.ranks.size(); ++r) {
    const RankTraffic& rank = traffic.ranks[r];
    if (rank.begun < std::min(all, rank.done + info.channels)) ranks.push_back(static_cast<int>(r));
  }
  return ranks;
}

std::optional<BlockedEdge> blocked_edge(const Traffic& traffic, const CollectiveInfo& info) {
  const std::vector<int> late = owing(traffic, info);
  if (late.size() == 1) {
    const RankTraffic& rank = traffic.ranks[static_cast<std::size_t>(late.front())];
    int to = rank.next_peer;
    for (const auto& [receiver, sender] : traffic.waits)
      if (to < 0 && sender == late.front()) to = receiver;
    if (to >= 0) return BlockedEdge{late.front(), to, rank.last_done, false};
  }
  if (late.empty() && traffic.open.size() == 1) {
    const auto& [key, event] = *traffic.open.begin();
    const int from = std::get<0>(key);
    return BlockedEdge{from, traffic.ranks[static_cast<std::size_t>(from)].next_peer, event, true};
  }
  return std::nullopt;
}

}  // namespace

RingState ring_state(const Case& c, std::uint32_t coll, std::int64_t t) {
  RingState out;
  const Traffic traffic = traffic_of(c, coll, t);
  out.waits.assign(traffic.waits.begin(), traffic.waits.end());
  std::set<int> waiting, waited_for;
  for (const auto& [from, to] : out.waits) {
    waiting.insert(from);
    waited_for.insert(to);
  }
  for (const int rank : waited_for)
    if (!waiting.contains(rank)) out.stopped.push_back(rank);
  if (traffic.any) out.blocked = blocked_edge(traffic, c.trace.collective(coll));
  return out;
}

}  // namespace ringside::sim
