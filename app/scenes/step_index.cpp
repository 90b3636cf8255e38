#include "app/scenes/step_index.hpp"

#include <algorithm>

namespace ringside::app {
namespace {

using sim::EventType;

}  // namespace

void StepIndex::update(const sim::Trace& trace, std::uint64_t generation,
                       const std::vector<std::int64_t>& offsets) {
  if (generation != generation_ || trace.size() < seen_ || offsets != offsets_) {
    *this = {};
    generation_ = generation;
    offsets_ = offsets;
    world_ = std::max(0, trace.header.world_size);
    grouped_ = trace.header.detail == sim::Detail::Groups;
    ranks_.resize(grouped_ ? 1 : static_cast<std::size_t>(world_));
  }
  for (; seen_ < trace.size(); ++seen_) {
    sim::Event e = trace.events()[seen_];
    if (e.rank() >= 0 && static_cast<std::size_t>(e.rank()) < offsets_.size())
      e.t = std::max<std::int64_t>(0, e.t - offsets_[static_cast<std::size_t>(e.rank())]);
    take(trace, e);
  }
}

void StepIndex::note_step(std::int32_t step, std::int64_t from, std::int64_t to) {
  if (step < 1) return;
  const auto less = [](const StepSpan& a, std::int32_t b) { return a.step < b; };
  auto at = std::lower_bound(steps_.begin(), steps_.end(), step, less);
  if (at == steps_.end() || at->step != step) at = steps_.insert(at, {step, from, to});
  at->from = std::min(at->from, from);
  at->to = std::max(at->to, to);
}

void StepIndex::take(const sim::Trace& trace, const sim::Event& e) {
  const bool job = grouped_ && e.src_kind == sim::Source::Kind::Sim;
  const int r = job ? 0 : e.rank();
  if (r < 0 || static_cast<std::size_t>(r) >= ranks_.size()) return;
  RankTimes& rank = ranks_[static_cast<std::size_t>(r)];
  switch (e.type) {
    case EventType::Hello:
      rank.ended = -1;  // a new process in its place
      rank.failed = false;
      break;
    case EventType::PhaseBegin:
      rank.phases.push_back({e.phase.step, e.phase.phase, e.t, -1});
      note_step(e.phase.step, e.t, e.t);
      break;
    case EventType::PhaseEnd:
      if (rank.phases.empty() || rank.phases.back().to >= 0) break;
      rank.phases.back().to = e.t;
      note_step(e.phase.step, e.t, e.t);
      break;
    case EventType::CollectiveEnqueued: {
      const std::uint32_t coll = e.collective.coll;
      auto& entered = entered_[coll];
      if (entered.empty()) {
        entered.assign(ranks_.size(), -1);
        colls_[static_cast<std::int32_t>(trace.collective(coll).step)].push_back(coll);
      }
      // Calls of one communicator run one after the other: it enters this one when the last is over.
      const bool free = rank.calls.empty() || rank.calls.back().finished >= 0;
      if (free) entered[static_cast<std::size_t>(r)] = e.t;
      rank.calls.push_back({coll, e.t, -1});
      break;
    }
    case EventType::CollectiveFinished:
      for (std::size_t i = rank.calls.size(); i-- > 0;) {
        CallSpan& call = rank.calls[i];
        if (call.coll != e.collective.coll) continue;
        call.finished = e.t;
        if (i + 1 < rank.calls.size()) {
          std::int64_t& next = entered_[rank.calls[i + 1].coll][static_cast<std::size_t>(r)];
          if (next < 0) next = e.t;
        }
        break;
      }
      break;
    case EventType::Exit:
    case EventType::Left:
      rank.ended = e.t;
      rank.failed = e.type == EventType::Left || e.text.code != 0;
      break;
    default:
      break;
  }
}

const StepSpan* StepIndex::find(std::int32_t step) const {
  for (const StepSpan& span : steps_)
    if (span.step == step) return &span;
  return nullptr;
}

std::vector<std::uint32_t> StepIndex::collectives(const sim::Trace& trace, std::int32_t step) const {
  const auto found = colls_.find(step);
  if (found == colls_.end()) return {};
  std::vector<std::uint32_t> colls = found->second;
  std::stable_sort(colls.begin(), colls.end(), [&](std::uint32_t a, std::uint32_t b) {
    return trace.collective(a).seq < trace.collective(b).seq;
  });
  return colls;
}

std::int64_t StepIndex::entered(std::uint32_t coll, int rank) const {
  const auto found = entered_.find(coll);
  if (found == entered_.end() || static_cast<std::size_t>(rank) >= found->second.size()) return -1;
  return found->second[static_cast<std::size_t>(rank)];
}

std::int64_t StepIndex::all_there(std::uint32_t coll) const {
  const auto found = entered_.find(coll);
  if (found == entered_.end()) return -1;
  std::int64_t last = -1;
  for (const std::int64_t t : found->second) {
    if (t < 0) return -1;
    last = std::max(last, t);
  }
  return last;
}

std::vector<int> StepIndex::missing(std::uint32_t coll, std::int64_t t, std::size_t most) const {
  std::vector<int> out;
  const auto found = entered_.find(coll);
  if (found == entered_.end()) return out;
  for (std::size_t r = 0; r < found->second.size() && out.size() < most; ++r)
    if (found->second[r] < 0 || found->second[r] > t) out.push_back(static_cast<int>(r));
  return out;
}

}  // namespace ringside::app
