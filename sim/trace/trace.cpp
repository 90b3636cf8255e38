#include "sim/trace/trace.hpp"

#include <algorithm>
#include <tuple>

#include "sim/base/check.hpp"

namespace ringside::sim {
namespace {

std::uint32_t id_of(std::size_t index) {
  RINGSIDE_CHECK_LT(index, std::size_t{kNone});
  return static_cast<std::uint32_t>(index);
}

/// An appended event may belong this many places earlier and still be put there at once; farther, everything
/// is sorted when asked for.
constexpr std::size_t kNearlySorted = 4096;

}  // namespace

void Trace::append(const Event& event) {
  const auto key = [this](std::uint32_t i) {
    const Event& e = events_[i];
    return std::tuple(e.t, e.src_kind, e.src_id, e.n);
  };
  const std::uint32_t index = id_of(events_.size());
  const bool in_order =
      order_.empty() || !(std::tuple(event.t, event.src_kind, event.src_id, event.n) < key(order_.back()));
  events_.push_back(event);
  end_time_ = std::max(end_time_, event.t);
  std::uint32_t& next = next_n(event.source());
  if (event.n != next) note_gap(event, index, next);
  next = std::max(next, event.n + 1);

  // A trace that is being sorted as a whole later needs no place now: a hostile order stays cheap.
  if (in_order || !order_sorted_) return order_.push_back(index);
  std::size_t at = order_.size();
  const std::size_t floor = at > kNearlySorted ? at - kNearlySorted : 0;
  while (at > floor && key(order_[at - 1]) > key(index)) --at;
  if (at == floor && floor > 0) order_sorted_ = false;
  order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(at), index);
}

void Trace::note_gap(const Event& event, std::uint32_t index, std::uint32_t next) {
  if (event.n > next) {
    gaps_[event.source()][event.n - 1] = {next, index};
    lost_[index] = event.n - next;
    return;
  }
  const auto source = gaps_.find(event.source());
  if (source == gaps_.end()) return;
  const auto found = source->second.lower_bound(event.n);  // the first that ends here or later
  if (found == source->second.end() || found->second.first > event.n) return;  // it was here before
  const std::uint32_t last = found->first;
  const Gap gap = found->second;
  source->second.erase(found);
  lost_.erase(gap.event);
  if (event.n > gap.first) {
    source->second[event.n - 1] = {gap.first, index};
    lost_[index] = event.n - gap.first;
  }
  if (event.n < last) {
    source->second[last] = {event.n + 1, gap.event};
    lost_[gap.event] = last - event.n;
  }
}

void Trace::emit(Event event) {
  event.n = next_n(event.source());
  append(event);
}

void Trace::reserve(std::size_t events) {
  events_.reserve(events);
  order_.reserve(events);
}

std::uint32_t& Trace::next_n(Source source) {
  constexpr std::int32_t kNear = 1 << 21;  // more ranks than any scenario has
  if (source.id < 0 || source.id >= kNear) return far_next_n_[source];
  std::vector<std::uint32_t>& of_kind = next_n_.at(static_cast<std::size_t>(source.kind));
  const auto id = static_cast<std::size_t>(source.id);
  if (id >= of_kind.size()) of_kind.resize(id + 1);
  return of_kind[id];
}

const std::vector<std::uint32_t>& Trace::order() const {
  if (!order_sorted_) {
    std::sort(order_.begin(), order_.end(), [this](std::uint32_t a, std::uint32_t b) {
      const Event& x = events_[a];
      const Event& y = events_[b];
      // The index last: a total order even where a hostile file repeats (t, src, n).
      return std::tuple(x.t, x.src_kind, x.src_id, x.n, a) < std::tuple(y.t, y.src_kind, y.src_id, y.n, b);
    });
    order_sorted_ = true;
  }
  return order_;
}

std::uint32_t Trace::intern(std::string_view text) {
  const auto found = string_ids_.find(text);
  if (found != string_ids_.end()) return found->second;
  const std::uint32_t id = id_of(strings_.size());
  strings_.emplace_back(text);
  string_ids_.emplace(std::string(text), id);
  return id;
}

const std::string& Trace::string(std::uint32_t id) const {
  static const std::string kEmpty;
  return id == kNone ? kEmpty : strings_[id];
}

std::uint32_t Trace::add_sample(Sample sample) {
  samples_.push_back(std::move(sample));
  return id_of(samples_.size() - 1);
}

std::uint32_t Trace::add_shape(const Shape& shape) {
  // Few shapes in any job, mostly the latest one again.
  for (std::size_t i = shapes_.size(); i-- > 0;)
    if (shapes_[i] == shape) return id_of(i);
  shapes_.push_back(shape);
  return id_of(shapes_.size() - 1);
}

std::uint32_t Trace::add_hello(Hello hello) {
  hellos_.push_back(std::move(hello));
  return id_of(hellos_.size() - 1);
}

std::uint32_t Trace::add_command(const Fault& fault) {
  commands_.push_back(fault);
  return id_of(commands_.size() - 1);
}

std::uint32_t Trace::add_list(std::vector<std::int32_t> members) {
  lists_.push_back(std::move(members));
  return id_of(lists_.size() - 1);
}

std::uint32_t Trace::add_collective(CollectiveInfo info) {
  const auto [found, added] = collective_ids_.try_emplace({info.comm, info.seq}, id_of(collectives_.size()));
  if (added) collectives_.push_back(std::move(info));
  return found->second;
}

std::uint32_t Trace::find_collective(std::uint32_t comm, std::int64_t seq) const {
  const auto found = collective_ids_.find({comm, seq});
  return found == collective_ids_.end() ? kNone : found->second;
}

}  // namespace ringside::sim
