#include "backend/live/telemetry.hpp"

#include <sys/mman.h>

#include <algorithm>

namespace ringside::backend {

void Record::set_text(std::string_view t) {
  const std::size_t size = std::min(t.size(), sizeof(text) - 1);
  std::memcpy(text, t.data(), size);
  text[size] = '\0';
}

void Record::set_sample(const sim::Sample& sample) {
  has_sample = 1;
  dtype = sample.dtype;
  count = sample.count;
  nan_count = sample.nan_count;
  inf_count = sample.inf_count;
  digest = sample.digest;
  min_bits = sample.min.bits;
  max_bits = sample.max.bits;
  value_count = static_cast<std::uint8_t>(sample.values.size());
  for (std::size_t i = 0; i < sample.values.size(); ++i) values[i] = sample.values[i].bits;
}

sim::Sample Record::sample() const {
  sim::Sample sample;
  sample.dtype = dtype;
  sample.count = count;
  sample.nan_count = nan_count;
  sample.inf_count = inf_count;
  sample.digest = digest;
  sample.min = {dtype, min_bits};
  sample.max = {dtype, max_bits};
  for (std::size_t i = 0; i < value_count; ++i) sample.values.push_back({dtype, values[i]});
  return sample;
}

bool RecordQueue::push(const Record& record) {
  const std::uint32_t head = head_.load(std::memory_order_relaxed);
  if (head - tail_.load(std::memory_order_acquire) >= kSlots) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  slots_[head & (kSlots - 1)] = record;
  head_.store(head + 1, std::memory_order_release);
  return true;
}

bool RecordQueue::pop(Record& record) {
  const std::uint32_t tail = tail_.load(std::memory_order_relaxed);
  if (tail == head_.load(std::memory_order_acquire)) return false;
  record = slots_[tail & (kSlots - 1)];
  tail_.store(tail + 1, std::memory_order_release);
  return true;
}

bool SharedRank::give_order(const FaultOrder& order) {
  const std::uint32_t at = orders_written.load(std::memory_order_relaxed);
  if (at - orders_read.load(std::memory_order_acquire) >= std::size(orders)) return false;
  orders[at % std::size(orders)] = order;
  orders_written.store(at + 1, std::memory_order_release);
  return true;
}

bool SharedRank::take_order(FaultOrder& order) {
  const std::uint32_t at = orders_read.load(std::memory_order_relaxed);
  if (at == orders_written.load(std::memory_order_acquire)) return false;
  order = orders[at % std::size(orders)];
  orders_read.store(at + 1, std::memory_order_release);
  return true;
}

SharedRank* make_shared_rank() {
  void* memory =
      ::mmap(nullptr, sizeof(SharedRank), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) SharedRank;
}

}  // namespace ringside::backend
