#include "sim/job/invariants.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace ringside::sim {
namespace {

using Problem = std::optional<std::string>;

std::string at_event(const Event& e, std::string what) {
  return std::to_string(e.t) + " ns, " + std::string(to_word(e.type)) + " of source " +
         std::to_string(e.src_id) + ": " + std::move(what);
}

/// File order is time order, and n has no gaps.
Problem check_order(const Trace& trace) {
  std::map<Source, std::uint32_t> next;
  std::int64_t last = 0;
  for (const Event& e : trace.events()) {
    if (e.t < last) return at_event(e, "earlier than the event before it");
    last = e.t;
    if (e.n != next[e.source()]++) return at_event(e, "n has a gap");
  }
  return std::nullopt;
}

/// What a rank says comes in an order that makes sense: nothing after its exit, calls begin before they end.
class RankLife {
 public:
  Problem on(const Event& e) {
    if (e.type == EventType::Hello) *this = RankLife();  // a new process: the job was restarted
    if (exited_) return at_event(e, "after the rank's exit");
    switch (e.type) {
      case EventType::PhaseBegin:
        if (in_phase_) return at_event(e, "a phase begins inside another");
        in_phase_ = true;
        break;
      case EventType::PhaseEnd:
        if (!in_phase_) return at_event(e, "a phase ends that never began");
        in_phase_ = false;
        break;
      case EventType::CollectiveEnqueued:
        if (!enqueued_.insert(e.collective.coll).second) return at_event(e, "called twice");
        break;
      case EventType::CollectiveStarted:
        if (!enqueued_.count(e.collective.coll)) return at_event(e, "moves before it was called");
        break;
      case EventType::CollectiveFinished:
        if (enqueued_.erase(e.collective.coll) == 0) return at_event(e, "over before it was called");
        break;
      case EventType::Exit:
        exited_ = true;
        break;
      default:
        break;
    }
    return std::nullopt;
  }

 private:
  bool in_phase_ = false, exited_ = false;
  std::set<std::uint32_t> enqueued_;
};

Problem check_lives(const Trace& trace) {
  std::map<int, RankLife> ranks;
  for (const Event& e : trace.events())
    if (e.rank() >= 0)
      if (Problem problem = ranks[e.rank()].on(e)) return problem;
  return std::nullopt;
}

/// Collectives that all ranks called alike. After a call of another kind the messages of later ones pair
/// across collectives, so that nothing can be said of those.
std::vector<std::uint8_t> called_alike(const Trace& trace) {
  std::vector<std::uint8_t> alike(trace.collective_count(), 1);
  std::size_t shifted_from = alike.size();
  for (const Event& e : trace.events()) {
    if (e.type != EventType::CollectiveEnqueued) continue;
    const CollectiveInfo& info = trace.collective(e.collective.coll);
    if (e.collective.count != info.count || e.collective.dtype != info.dtype || e.collective.op != info.op ||
        e.collective.collective != info.collective || info.collective != Collective::AllReduce ||
        info.chunks.chunks.empty() || info.world_size > 64)
      alike[e.collective.coll] = 0;
    if (e.collective.collective != info.collective)
      shifted_from = std::min<std::size_t>(shifted_from, e.collective.coll);
  }
  std::fill(alike.begin() + static_cast<std::ptrdiff_t>(shifted_from), alike.end(), std::uint8_t{0});
  return alike;
}

/// Follows who is inside each chunk of each rank, transfer by transfer.
class Contributions {
 public:
  explicit Contributions(const CollectiveInfo& info) : info_(info), chunks_(info.chunks.chunks.size()) {
    const auto world = static_cast<std::size_t>(info.world_size);
    inside_.resize(world * chunks_);
    for (std::size_t r = 0; r < world; ++r)
      for (std::size_t c = 0; c < chunks_; ++c) inside_[r * chunks_ + c] = std::uint64_t{1} << r;
  }

  Problem on_begin(const Event& e) {
    flying_[key(e.src_id, e.ring.peer, e)] = cell(e.src_id, e.ring.chunk);
    return std::nullopt;
  }
  Problem on_end(const Event& e) {
    const auto found = flying_.find(key(e.ring.peer, e.src_id, e));
    if (found == flying_.end()) return at_event(e, "arrives and was never sent");
    std::uint64_t& own = cell(e.src_id, e.ring.chunk);
    if (e.ring.step <= info_.reduce_steps) {
      if (own & found->second) return at_event(e, "adds a contribution that is inside already");
      own |= found->second;
    } else {
      own = found->second;
    }
    flying_.erase(found);
    return std::nullopt;
  }
  Problem on_finished(const Event& e) const {
    const std::uint64_t all =
        info_.world_size == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << info_.world_size) - 1;
    for (std::size_t c = 0; c < chunks_; ++c)
      if (inside_[static_cast<std::size_t>(e.src_id) * chunks_ + c] != all)
        return at_event(e, "over without all contributions in chunk " + std::to_string(c));
    return std::nullopt;
  }

 private:
  using Key = std::tuple<int, int, std::uint32_t, std::uint32_t>;
  static Key key(int src, int dst, const Event& e) { return {src, dst, e.ring.step, e.ring.chunk}; }
  std::uint64_t& cell(int rank, std::uint32_t chunk) {
    return inside_[static_cast<std::size_t>(rank) * chunks_ + chunk];
  }
  const CollectiveInfo& info_;
  std::size_t chunks_;
  std::vector<std::uint64_t> inside_;
  std::map<Key, std::uint64_t> flying_;
};

Problem check_contributions(const Trace& trace) {
  const std::vector<std::uint8_t> alike = called_alike(trace);
  std::map<std::uint32_t, Contributions> open;
  for (const Event& e : trace.events()) {
    const bool ring = e.type == EventType::RingStepBegin || e.type == EventType::RingStepEnd;
    if (!ring && e.type != EventType::CollectiveFinished) continue;
    const std::uint32_t coll = ring ? e.ring.coll : e.collective.coll;
    if (alike[coll] == 0) continue;
    Contributions& state = open.try_emplace(coll, trace.collective(coll)).first->second;
    const Problem problem = e.type == EventType::RingStepBegin ? state.on_begin(e)
                            : ring                             ? state.on_end(e)
                                                               : state.on_finished(e);
    if (problem) return problem;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> broken_invariant(const Trace& trace) {
  if (Problem problem = check_order(trace)) return problem;
  if (Problem problem = check_lives(trace)) return problem;
  return check_contributions(trace);
}

}  // namespace ringside::sim
