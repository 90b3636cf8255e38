// DDP's buckets (Li et al. 2020, "PyTorch Distributed", §3.2): parameters in the reverse of their order in
// the model, because that is about the order in which their gradients come about; a parameter is never split.
// A bucket's AllReduce starts when its last gradient is there, while backward goes on below. DDP fills a
// bucket up to a number of bytes (25 MB); here the scenario says how many buckets there are.
#include "sim/job/buckets.hpp"

#include "sim/base/check.hpp"
#include "sim/collective/chunk.hpp"
#include "sim/job/network.hpp"

namespace ringside::sim {
namespace {

constexpr std::int64_t kWhole = 1'000'000;

/// What is never split, in the order of the backward pass, with what it costs.
struct Unit {
  std::int64_t offset = 0, count = 0, cost = 0;
};

std::int64_t weight_cost(const LayerSpan& layer, bool first) {
  return std::int64_t{layer.in} * layer.out * (first ? 1 : 2);
}

std::vector<Unit> units_of(const NetworkSpec& network, bool whole_layers) {
  std::vector<Unit> units;
  const std::vector<LayerSpan> layers = layer_spans(network);
  for (std::size_t l = layers.size(); l-- > 0;) {
    const LayerSpan& layer = layers[l];
    const auto weights = static_cast<std::int64_t>(layer.weights);
    const auto biases = static_cast<std::int64_t>(layer.biases);
    const std::int64_t cost = weight_cost(layer, l == 0);
    if (whole_layers) {
      units.push_back({weights, biases - weights + layer.out, cost + layer.out});
    } else {
      units.push_back({biases, layer.out, layer.out});
      units.push_back({weights, biases - weights, cost});
    }
  }
  return units;
}

/// Equal numbers of units in each bucket, the first ones get what is left over.
std::vector<Bucket> group(const std::vector<Unit>& units, int buckets) {
  std::int64_t total = 0, spent = 0;
  for (const Unit& unit : units) total += unit.cost;
  std::vector<Bucket> plan;
  for (const Chunk& part : even_chunks(static_cast<std::int64_t>(units.size()), buckets).chunks) {
    Bucket bucket;
    for (std::int64_t i = part.offset; i < part.offset + part.count; ++i) {
      const Unit& unit = units[static_cast<std::size_t>(i)];
      bucket.offset = unit.offset;  // units run from the end to the front
      bucket.count += unit.count;
      spent += unit.cost;
    }
    bucket.ready_ppm = spent * kWhole / total;
    plan.push_back(bucket);
  }
  return plan;
}

}  // namespace

std::vector<Bucket> bucket_plan(const TrainingSpec& training, std::int64_t count) {
  const NetworkSpec& network = training.network;
  RINGSIDE_CHECK_LE(training.buckets, count);
  const bool known = network.enabled && static_cast<std::int64_t>(parameter_count(network)) == count;
  const int layers = known ? static_cast<int>(network.layers.size()) - 1 : 0;
  if (known && training.buckets <= layers) return group(units_of(network, true), training.buckets);
  if (known && training.buckets <= 2 * layers) return group(units_of(network, false), training.buckets);
  std::vector<Bucket> plan;
  std::int64_t number = 0;
  for (const Chunk& part : even_chunks(count, training.buckets).chunks) {
    Bucket bucket{part.offset, part.count, ++number * kWhole / training.buckets};
    if (known) bucket.offset = count - part.offset - part.count;  // from the end to the front
    plan.push_back(bucket);
  }
  return plan;
}

std::vector<BackwardPart> backward_parts(const NetworkSpec& network) {
  std::vector<BackwardPart> parts;
  if (!network.enabled) return parts;
  const std::vector<Unit> units = units_of(network, true);
  std::int64_t total = 0, spent = 0;
  for (const Unit& unit : units) total += unit.cost;
  int layer = static_cast<int>(units.size());
  for (const Unit& unit : units) {
    const std::int64_t from = spent * kWhole / total;
    spent += unit.cost;
    parts.push_back({--layer, from, spent * kWhole / total});
  }
  return parts;
}

}  // namespace ringside::sim
