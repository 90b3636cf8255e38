#include "app/scenes/allreduce_transfers.hpp"

#include <algorithm>
#include <tuple>

namespace ringside::app {

void TransferTable::update(const sim::Trace& trace, std::uint32_t coll, std::uint64_t revision) {
  if (coll != coll_ || revision != revision_ || trace.size() < seen_) {
    by_key_.clear();
    records_.clear();
    seen_ = 0;
    finished_ = 0;
    coll_ = coll;
    revision_ = revision;
  }
  if (coll == sim::kNone || seen_ == trace.size()) return;
  bool changed = records_.empty();
  for (; seen_ < trace.size(); ++seen_) {
    const sim::Event& e = trace.events()[seen_];
    if (e.type == sim::EventType::CollectiveFinished && e.collective.coll == coll) ++finished_;
    const bool mine = (e.type == sim::EventType::RingStepBegin || e.type == sim::EventType::RingStepArrive ||
                       e.type == sim::EventType::RingStepEnd) &&
                      e.ring.coll == coll;
    if (!mine) continue;
    take(e);
    changed = true;
  }
  if (changed) rebuild(trace);
}

void TransferTable::take(const sim::Event& e) {
  const bool begin = e.type == sim::EventType::RingStepBegin;
  const std::int32_t src = begin ? e.src_id : e.ring.peer, dst = begin ? e.ring.peer : e.src_id;
  TransferRecord& r = by_key_[Key{e.ring.step, static_cast<std::uint32_t>(src), e.ring.channel, e.ring.loop,
                                  e.ring.chunk, static_cast<std::uint32_t>(dst)}];
  r.step = e.ring.step;
  r.chunk = e.ring.chunk;
  r.src = src;
  r.dst = dst;
  r.channel = e.ring.channel;
  r.loop = e.ring.loop;
  if (begin) {
    r.start = e.t;
    r.sample = e.ring.sample;
    r.bytes = e.aux32;
  } else if (e.type == sim::EventType::RingStepArrive) {
    r.arrive = e.t;
  } else {
    r.done = e.t;
    r.after = e.ring.sample;
  }
}

void TransferTable::rebuild(const sim::Trace& trace) {
  const std::uint32_t reduce_steps = trace.collective(coll_).reduce_steps;
  records_.clear();
  into_.clear();
  out_of_.clear();
  for (const auto& [key, record] : by_key_) records_.push_back(record);  // the key's order is ours
  for (std::uint32_t i = 0; i < records_.size(); ++i) {
    TransferRecord& r = records_[i];
    r.reduces = r.step <= reduce_steps;
    if (r.arrive < 0) r.arrive = r.done;
    into_[{r.dst, r.chunk}].push_back(i);
    out_of_[{r.src, r.chunk}].push_back(i);
  }
  for (auto& [place, list] : into_) {
    std::stable_sort(list.begin(), list.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return records_[a].step < records_[b].step; });
    for (std::size_t i = 1; i < list.size(); ++i) records_[list[i]].own = records_[list[i - 1]].after;
  }
}

int TransferTable::last_into(int rank, std::uint32_t chunk, std::int64_t t) const {
  const auto found = into_.find({rank, chunk});
  if (found == into_.end()) return -1;
  const std::vector<std::uint32_t>& list = found->second;
  const auto last = std::find_if(list.rbegin(), list.rend(), [&](std::uint32_t i) {
    return records_[i].done >= 0 && records_[i].done <= t;
  });
  return last == list.rend() ? -1 : static_cast<int>(*last);
}

bool TransferTable::gave_away(int rank, std::uint32_t chunk, std::int64_t t) const {
  const auto found = out_of_.find({rank, chunk});
  if (found == out_of_.end()) return false;
  return std::any_of(found->second.begin(), found->second.end(), [&](std::uint32_t i) {
    return records_[i].reduces && records_[i].start >= 0 && records_[i].start < t;
  });
}

std::pair<std::size_t, std::size_t> TransferTable::of_step(std::uint32_t step) const {
  const auto less = [](const TransferRecord& r, std::uint32_t s) { return r.step < s; };
  const auto first = std::lower_bound(records_.begin(), records_.end(), step, less);
  const auto last = std::lower_bound(first, records_.end(), step + 1, less);
  return {static_cast<std::size_t>(first - records_.begin()),
          static_cast<std::size_t>(last - records_.begin())};
}

}  // namespace ringside::app
