// The small real network of the classroom: fully connected layers, ReLU, mean squared error, forward and
// backward in float32 with plain loops in a fixed order, so that the bits are the same everywhere.
//
// Every rank draws its own data from its own corner of the input space: what one rank sees is not what the
// others see, and a rank that trains alone gets good in its corner only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "sim/tensor/tensor.hpp"

namespace ringside::sim {

/// A batch: `samples` rows of inputs, then of targets, row-major.
struct Batch {
  int samples = 0;
  std::vector<float> x, y;
};

/// Where one layer's numbers stand in the flat vector of parameters: weights [out][in], then biases [out].
struct LayerSpan {
  int in = 0, out = 0;
  std::size_t weights = 0, biases = 0;
};

struct Gradient {
  double loss = 0;
  std::vector<float> values;  // as many as parameters
};

std::vector<LayerSpan> layer_spans(const NetworkSpec& spec);
std::size_t parameter_count(const NetworkSpec& spec);
/// Weights: normal · sqrt(2 / in) (He et al. 2015); biases 0. The same for every rank.
std::vector<float> initial_parameters(const NetworkSpec& spec, std::uint64_t seed);
/// What `rank` sees in training step `step` (step 0: its part of the set that everyone is measured on).
Batch make_batch(const NetworkSpec& spec, std::uint64_t seed, int rank, std::int64_t step);
/// The samples of several batches one after the other: one process that sees everybody's data.
Batch join(std::span<const Batch> batches);
double loss_of(const NetworkSpec& spec, std::span<const float> parameters, const Batch& batch);
/// Mean squared error and its gradient by backpropagation.
Gradient gradient_of(const NetworkSpec& spec, std::span<const float> parameters, const Batch& batch);

/// The gradient with every product taken absolute, so that nothing cancels: what the rounding error of the
/// gradient is measured by. The activations are the network's own; the rest is computed in float64.
std::vector<double> gradient_magnitude(const NetworkSpec& spec, std::span<const float> parameters,
                                       const Batch& batch);

/// The networks of all ranks.
class Network {
 public:
  Network() = default;
  Network(const NetworkSpec& spec, std::uint64_t seed, int world_size);
  bool enabled() const { return spec_.enabled; }
  std::size_t parameters() const { return count_; }
  const std::vector<float>& weights(int rank) const { return weights_[static_cast<std::size_t>(rank)]; }
  std::vector<float>& weights(int rank) { return weights_[static_cast<std::size_t>(rank)]; }
  /// The loss of this step's batch before the update, and the gradient in `dtype`, flat.
  double forward(int rank, std::int64_t step);
  Tensor backward(int rank, std::int64_t step, DType dtype) const;
  /// The batch of that step has `value` (NaN, infinity) in it on this rank.
  void spoil(int rank, std::int64_t step, float value);
  /// w -= rate · g, element by element.
  void update(int rank, const Tensor& gradient);
  std::uint64_t digest(int rank) const;
  /// Loss of this rank's weights on everybody's step-0 data.
  double loss_on_all(int rank) const;

 private:
  Batch batch(int rank, std::int64_t step) const;
  NetworkSpec spec_;
  std::uint64_t seed_ = 0;
  std::size_t count_ = 0;
  std::vector<std::vector<float>> weights_;
  std::vector<std::int64_t> spoiled_;  // per rank: the step whose batch is spoiled; 0 = none
  std::vector<float> spoiled_by_;
};

}  // namespace ringside::sim
