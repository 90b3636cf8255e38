#include "sim/job/gradient_proof.hpp"

#include <cmath>
#include <limits>

#include "sim/base/check.hpp"
#include "sim/collective/sum_order.hpp"
#include "sim/tensor/reduce.hpp"

namespace ringside::sim {
namespace {

using Tensors = std::vector<std::shared_ptr<const Tensor>>;

/// Half the distance between 1 and the next number: the largest relative error of one rounding.
double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::Float64:
      return 0x1p-53;
    case DType::Float16:
      return 0x1p-11;
    case DType::BFloat16:
      return 0x1p-8;
    default:
      return 0x1p-24;
  }
}

/// Half of the smallest number above 0: the largest absolute error of a rounding that underflows.
double underflow(DType dtype) {
  switch (dtype) {
    case DType::Float64:
      return 0x1p-1074;
    case DType::Float16:
      return 0x1p-25;
    case DType::BFloat16:
      return 0x1p-134;
    default:
      return 0x1p-150;
  }
}

double gamma(double roundings, double unit) {
  const double mu = roundings * unit;
  return mu < 1 ? mu / (1 - mu) : std::numeric_limits<double>::infinity();
}

/// The most roundings that a term of a gradient in this layer meets in a backward pass over `samples`.
double roundings_of(const std::vector<LayerSpan>& layers, std::size_t layer, double samples) {
  double count = 2 + 1 + samples;
  for (std::size_t above = layer + 1; above < layers.size(); ++above) count += 1 + layers[above].out;
  return count;
}

std::size_t layer_of(const std::vector<LayerSpan>& layers, std::size_t element) {
  std::size_t layer = 0;
  while (layer + 1 < layers.size() && element >= layers[layer + 1].weights) ++layer;
  return layer;
}

std::vector<double> bounds(const Scenario& s, const std::vector<double>& magnitude) {
  const std::vector<LayerSpan> layers = layer_spans(s.training.network);
  const DType dtype = s.tensor.dtype;
  const double world = s.world_size(), batch = s.training.network.batch;
  const double u32 = unit_roundoff(DType::Float32), own = unit_roundoff(dtype);
  const double after = (dtype == DType::Float32 || dtype == DType::Float64 ? 0 : 1) + 2 + (world - 1);
  std::vector<double> out(magnitude.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t layer = layer_of(layers, i);
    const double one = gamma(roundings_of(layers, layer, world * batch), u32);
    const double ranks = (1 + gamma(roundings_of(layers, layer, batch), u32)) * (1 + gamma(after, own)) - 1;
    // The magnitudes are themselves computed in float64: a little more than what they are.
    out[i] = magnitude[i] * (one + ranks) * (1 + 1e-9) + 3 * world * underflow(dtype);
  }
  return out;
}

/// One process that keeps the N parts apart and adds them as the AllReduce does, without one.
std::vector<double> added_in_order(const TrainingHistory& history, const Tensors& parts) {
  const Scenario& s = history.scenario();
  const ReduceOp op = s.collective.op;
  std::vector<double> out(static_cast<std::size_t>(parts.front()->count()));
  std::vector<Scalar> numbers(parts.size());
  for (std::size_t b = 0; b < history.buckets().size(); ++b) {
    const Bucket& bucket = history.buckets()[b];
    const Schedule& schedule = history.schedule(b);
    for (std::uint32_t c = 0; c < schedule.chunks.chunks.size(); ++c) {
      const Chunk& chunk = schedule.chunks.chunks[c];
      if (chunk.count == 0) continue;
      const SumOrder order = sum_order(schedule, c);
      for (std::int64_t i = bucket.offset + chunk.offset; i < bucket.offset + chunk.offset + chunk.count;
           ++i) {
        for (std::size_t r = 0; r < parts.size(); ++r)
          numbers[r] = prepare(op, s.world_size(), parts[r]->at(i));
        out[static_cast<std::size_t>(i)] = to_double(finish(op, s.world_size(), order.evaluate(op, numbers)));
      }
    }
  }
  return out;
}

/// NaN is nowhere equal, not even to itself: here it is.
bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

void compare(GradientProof& proof) {
  proof.within_bound = true;
  for (std::size_t i = 0; i < proof.ranks.size(); ++i) {
    const double difference = std::abs(proof.ranks[i] - proof.one_process[i]);
    if (proof.ranks[i] == proof.one_process[i]) ++proof.equal;
    if (!(difference <= proof.bound[i])) proof.within_bound = false;
    if (!(difference <= proof.largest_difference)) {
      proof.largest_difference = difference;
      proof.where = i;
    }
    proof.largest_bound = std::max(proof.largest_bound, proof.bound[i]);
    if (!same(proof.same_order[i], proof.ranks[i])) ++proof.same_order_different;
  }
}

}  // namespace

std::optional<std::string> proof_problem(const Scenario& s) {
  if (!s.training.network.all_reduce) return "alone";
  if (s.collective.collective != Collective::AllReduce) return "collective";
  if (s.collective.op != ReduceOp::Avg && s.collective.op != ReduceOp::SumThenDivide) return "op";
  if (!is_floating(s.tensor.dtype)) return "dtype";
  return std::nullopt;
}

GradientProof prove_gradient(const TrainingHistory& history, std::int64_t step) {
  const Scenario& s = history.scenario();
  RINGSIDE_CHECK(!proof_problem(s).has_value());
  const NetworkSpec& spec = s.training.network;
  const std::vector<float>& weights = history.weights(0, step - 1);
  std::vector<Batch> batches;
  Tensors parts;
  for (int r = 0; r < s.world_size(); ++r) {
    batches.push_back(make_batch(spec, s.seed, r, step));
    parts.push_back(history.gradient(r, step));
  }
  const Batch all = join(batches);
  GradientProof proof;
  for (const float value : gradient_of(spec, weights, all).values)
    proof.one_process.push_back(static_cast<double>(value));
  const auto reduced = history.update(0, step);
  for (std::int64_t i = 0; i < reduced->count(); ++i) proof.ranks.push_back(to_double(reduced->at(i)));
  proof.same_order = added_in_order(history, parts);
  proof.bound = bounds(s, gradient_magnitude(spec, weights, all));
  compare(proof);
  return proof;
}

}  // namespace ringside::sim
