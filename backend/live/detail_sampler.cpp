#include "backend/live/detail_sampler.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace ringside::backend {
namespace {

using T = sim::EventType;

constexpr std::int64_t kBlock = 64;                  // training steps between two choices
constexpr std::int64_t kMaxStride = kBlock;          // so that each block tells one at least
constexpr std::int64_t kWindowNs = 200'000'000;      // no rate from less

bool is_ring_step(T type) {
  return type == T::RingStepBegin || type == T::RingStepWait || type == T::RingStepArrive || type == T::RingStepEnd;
}

bool is_trouble(T type) {
  return type == T::Error || type == T::NanFound || type == T::WatchdogWarned || type == T::WatchdogExpired ||
         type == T::CommAbort;
}

/// The training step, or the number of the call where nobody says one.
std::int64_t place_of(const Record& record) {
  return record.step > 0 ? record.step : record.seq;
}

bool same_comm(const Record& a, const Record& b) {
  return std::string_view(a.comm) == std::string_view(b.comm);
}

}  // namespace

void DetailSampler::set_budget(std::int64_t per_second, int world_size) {
  per_second_ = static_cast<double>(per_second) / std::max(1, world_size);
  left_ = per_second_ * kStoreSeconds;
}

bool DetailSampler::look(const Record& record) {
  const T type = record.event.type;
  if (type == T::CollectiveStarted || type == T::CollectiveEnqueued) begin_call(record);
  if (type == T::CollectiveFinished) end_call(record);
  if (is_trouble(type)) late_ = true;
  if (!is_ring_step(type)) return true;
  ++counted_;
  if (!telling_ && !late_) {
    held_.push_back(record);
    return false;
  }
  left_ -= 1;
  return true;
}

void DetailSampler::begin_call(const Record& record) {
  // A call of the same communicator that has not said its end (its record was dropped) is over too.
  std::erase_if(held_, [&](const Record& held) { return same_comm(held, record) && held.seq < record.seq; });
  if (const std::int64_t block = place_of(record) / kBlock; block != block_) {
    block_ = block;
    choose(record.event.t);
  }
  telling_ = place_of(record) % stride_ == 0;
  late_ = false;
}

void DetailSampler::end_call(const Record& record) {
  std::erase_if(held_, [&](const Record& held) { return same_comm(held, record) && held.seq <= record.seq; });
}

/// The smallest power of two with which no more is told than may be. In full as long as the store lasts; once
/// it is empty, only when the rate itself allows it.
void DetailSampler::choose(std::int64_t t) {
  if (per_second_ <= 0) return;
  left_ = std::min(kStoreSeconds * per_second_, left_ + per_second_ * static_cast<double>(t - last_ns_) / 1e9);
  last_ns_ = t;
  if (stride_ == 1 && left_ > 0) {
    window_ns_ = t;
    counted_ = 0;
    return;
  }
  if (t - window_ns_ < kWindowNs && stride_ > 1) return;
  const double seconds = std::max(1e-3, static_cast<double>(t - window_ns_) / 1e9);
  const double needed = static_cast<double>(counted_) / seconds / per_second_;
  std::int64_t stride = 1;
  while (stride < kMaxStride && static_cast<double>(stride) < needed) stride *= 2;
  // Rarely back and forth: a step towards more detail needs room to spare.
  if (stride < stride_ && needed > static_cast<double>(stride) * 0.7) stride *= 2;
  stride_ = stride;
  window_ns_ = t;
  counted_ = 0;
}

std::vector<Record> DetailSampler::due(std::int64_t now_ns) {
  if (held_.empty() || (!late_ && now_ns - held_.front().event.t < kHoldNs)) return {};
  late_ = true;  // what this call still says is told too
  return all();
}

std::vector<Record> DetailSampler::all() {
  left_ -= static_cast<double>(held_.size());
  return std::exchange(held_, {});
}

std::optional<std::int64_t> DetailSampler::news() {
  if (stride_ == said_) return std::nullopt;
  said_ = stride_;
  return stride_;
}

}  // namespace ringside::backend
