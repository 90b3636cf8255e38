#include "app/scenes/allreduce_edit.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace ringside::app::edit {
namespace {

using sim::Scenario;
using sim::Tensor;
using Tensors = std::vector<std::shared_ptr<const Tensor>>;

bool all_whole(const Tensors& list) {
  for (const auto& tensor : list)
    for (std::int64_t i = 0; i < tensor->count(); ++i) {
      const double v = sim::to_double(tensor->at(i));
      if (!std::isfinite(v) || v != std::floor(v) || std::fabs(v) > 1e9) return false;
    }
  return true;
}

/// The tensor of a new rank: it goes on as the last two did, or repeats the ranks from the start.
std::shared_ptr<const Tensor> next_tensor(const Tensors& list, std::size_t old_world, bool goes_on) {
  if (!goes_on || list.size() < 2) return list[list.size() % old_world];
  const Tensor &a = *list[list.size() - 2], &b = *list.back();
  Tensor next = b;
  for (std::int64_t i = 0; i < b.count(); ++i)
    next.set(i, sim::make_scalar(b.dtype, 2 * sim::to_double(b.at(i)) - sim::to_double(a.at(i))));
  return std::make_shared<const Tensor>(std::move(next));
}

bool can_write_out(const Scenario& s) {
  return s.tensor.shape.count() <= kMaxWrittenNumbers / std::max(1, s.world_size());
}

/// Makes the values a list, one tensor a rank.
bool write_out(Scenario& s) {
  const bool listed = s.tensor.values == sim::ValueSource::List || s.tensor.values == sim::ValueSource::File;
  if (!listed && (s.tensor.values == sim::ValueSource::None || !can_write_out(s))) return false;
  if (!listed) s.tensor.list = sim::make_inputs(s);
  s.tensor.values = sim::ValueSource::List;
  s.tensor.file_pattern.clear();
  return true;
}

sim::LinkSpec* override_of(Scenario& s, int from, int to) {
  auto& all = s.cluster.topology.overrides;
  const auto less = [](const sim::LinkOverride& a, const std::pair<int, int>& key) {
    return std::pair(a.from, a.to) < key;
  };
  auto at = std::lower_bound(all.begin(), all.end(), std::pair(from, to), less);
  if (at == all.end() || at->from != from || at->to != to)
    at = all.insert(at, {.from = from, .to = to, .spec = s.cluster.topology.link(from, to)});
  return &at->spec;
}

template <class Change>
void change_links(Scenario& s, int from, int to, const Change& change) {
  if (from >= 0 && to >= 0) {
    change(*override_of(s, from, to));
    return;
  }
  change(s.cluster.topology.intra);
  change(s.cluster.topology.inter);
  for (sim::LinkOverride& link : s.cluster.topology.overrides) change(link.spec);
}

}  // namespace

std::optional<sim::Scalar> read_number(std::string_view text, sim::DType dtype) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '+')) text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  if (text == "∞" || text == "-∞")
    return sim::make_scalar(dtype, text[0] == '-' ? -std::numeric_limits<double>::infinity()
                                                  : std::numeric_limits<double>::infinity());
  if (!sim::is_floating(dtype)) {
    std::int64_t whole = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), whole);
    if (read.ec == std::errc{} && read.ptr == text.data() + text.size() && dtype == sim::DType::Int64)
      return sim::Scalar{dtype, static_cast<std::uint64_t>(whole)};
  }
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || read.ptr != text.data() + text.size() || read.ec == std::errc::invalid_argument)
    return std::nullopt;
  if (!sim::is_floating(dtype) && !std::isfinite(value)) return std::nullopt;
  return sim::make_scalar(dtype, value);
}

void set_world(Scenario& s, int world) {
  world = std::clamp(world, 1, kMaxGpus);
  const bool listed =
      (s.tensor.values == sim::ValueSource::List || s.tensor.values == sim::ValueSource::File) &&
      !s.tensor.list.empty();
  if (listed) {
    Tensors& list = s.tensor.list;
    const std::size_t old = list.size();
    const bool goes_on = all_whole(list);
    s.tensor.values = sim::ValueSource::List;
    s.tensor.file_pattern.clear();
    while (list.size() < static_cast<std::size_t>(world)) list.push_back(next_tensor(list, old, goes_on));
    list.resize(static_cast<std::size_t>(world));
  }
  const bool keeps_nodes = s.cluster.nodes > 1 && world % s.cluster.gpus_per_node == 0;
  if (keeps_nodes) {
    s.cluster.nodes = world / s.cluster.gpus_per_node;
  } else {
    s.cluster.nodes = 1;
    s.cluster.gpus_per_node = world;
  }
  sim::Topology& topology = s.cluster.topology;
  topology.world_size = world;
  topology.gpus_per_node = s.cluster.gpus_per_node;
  std::erase_if(topology.overrides,
                [&](const sim::LinkOverride& l) { return l.from >= world || l.to >= world; });
  std::erase_if(s.faults, [&](const sim::Fault& f) {
    return f.rank >= world || f.from >= world || f.to >= world || f.node >= s.cluster.nodes;
  });
  s.collective.root = std::min(s.collective.root, world - 1);
}

void set_value(Scenario& s, int rank, std::int64_t element, sim::Scalar value) {
  if (!write_out(s) || rank < 0 || static_cast<std::size_t>(rank) >= s.tensor.list.size()) return;
  Tensor changed = *s.tensor.list[static_cast<std::size_t>(rank)];
  if (element < 0 || element >= changed.count() || value.dtype != changed.dtype) return;
  changed.set(element, value);
  s.tensor.list[static_cast<std::size_t>(rank)] = std::make_shared<const Tensor>(std::move(changed));
}

void set_dtype(Scenario& s, sim::DType dtype) {
  for (auto& tensor : s.tensor.list) {
    Tensor converted(dtype, tensor->shape);
    for (std::int64_t i = 0; i < tensor->count(); ++i)
      converted.set(i, sim::make_scalar(dtype, sim::to_double(tensor->at(i))));
    tensor = std::make_shared<const Tensor>(std::move(converted));
  }
  if (s.tensor.values == sim::ValueSource::File) {
    s.tensor.values = sim::ValueSource::List;
    s.tensor.file_pattern.clear();
  }
  s.tensor.dtype = dtype;
}

void set_latency(Scenario& s, int from, int to, std::int64_t latency_ns) {
  change_links(s, from, to,
               [&](sim::LinkSpec& spec) { spec.latency_ns = std::max<std::int64_t>(0, latency_ns); });
}

void set_bandwidth(Scenario& s, int from, int to, std::int64_t bytes_per_s) {
  change_links(s, from, to,
               [&](sim::LinkSpec& spec) { spec.bytes_per_s = std::max<std::int64_t>(1, bytes_per_s); });
}

action::EditScenario action_for(std::string what, std::function<void(Scenario&)> change, std::string merge) {
  return {.what = std::move(what), .change = std::move(change), .merge = std::move(merge)};
}

}  // namespace ringside::app::edit
