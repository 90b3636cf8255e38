#include "sim/job/network.hpp"

#include <cmath>

#include "sim/base/check.hpp"
#include "sim/base/random.hpp"

namespace ringside::sim {
namespace {

float normal(std::uint64_t seed, int rank, std::int64_t step, Purpose purpose, std::uint64_t i) {
  return static_cast<float>(
      draw_normal({seed, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(step), purpose}, i));
}

/// ReLU must let NaN through: a network that turns it into 0 would heal itself.
float relu(float x) {
  return x > 0.0F ? x : (x != x ? x : 0.0F);
}
bool relu_passes(float x) {
  return !(x <= 0.0F);
}

/// What there is to learn: a bent surface, y_k = Σ_j a_kj · |x_j - b_kj|, with a and b drawn from the seed.
float target(std::uint64_t seed, int k, std::span<const float> x) {
  float sum = 0.0F;
  for (std::size_t j = 0; j < x.size(); ++j) {
    const std::uint64_t i = (static_cast<std::uint64_t>(k) * x.size() + j) * 2;
    const float slope = normal(seed, 0, 0, Purpose::Network, i);
    const float knee = normal(seed, 0, 0, Purpose::Network, i + 1);
    const float distance = x[j] - knee;
    sum += slope * (distance < 0.0F ? -distance : distance);
  }
  return sum;
}

/// One sample through all layers; keeps what comes before and after each ReLU.
struct Activations {
  std::vector<std::vector<float>> before, after;
};

void run_forward(const std::vector<LayerSpan>& layers, std::span<const float> parameters,
                 std::span<const float> input, Activations& a) {
  a.before.resize(layers.size());
  a.after.resize(layers.size());
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const LayerSpan& layer = layers[l];
    const std::span<const float> in = l == 0 ? input : std::span<const float>(a.after[l - 1]);
    a.before[l].assign(static_cast<std::size_t>(layer.out), 0.0F);
    for (std::size_t o = 0; o < a.before[l].size(); ++o) {
      float sum = parameters[layer.biases + o];
      for (std::size_t i = 0; i < in.size(); ++i) {
        const float product = parameters[layer.weights + o * in.size() + i] * in[i];
        sum += product;
      }
      a.before[l][o] = sum;
    }
    a.after[l] = a.before[l];
    if (l + 1 < layers.size())
      for (float& x : a.after[l]) x = relu(x);
  }
}

/// d loss / d output of one sample, and its part of the loss.
double output_error(std::span<const float> output, std::span<const float> wanted, float scale,
                    std::vector<float>& delta) {
  double loss = 0;
  delta.resize(output.size());
  for (std::size_t k = 0; k < output.size(); ++k) {
    const float difference = output[k] - wanted[k];
    const float square = difference * difference;
    loss += static_cast<double>(square);
    delta[k] = 2.0F * scale * difference;
  }
  return loss;
}

void run_backward(const std::vector<LayerSpan>& layers, std::span<const float> parameters,
                  std::span<const float> input, const Activations& a, std::vector<float> delta,
                  std::vector<float>& gradient) {
  for (std::size_t l = layers.size(); l-- > 0;) {
    const LayerSpan& layer = layers[l];
    const std::span<const float> in = l == 0 ? input : std::span<const float>(a.after[l - 1]);
    std::vector<float> below(in.size(), 0.0F);
    for (std::size_t o = 0; o < delta.size(); ++o) {
      gradient[layer.biases + o] += delta[o];
      for (std::size_t i = 0; i < in.size(); ++i) {
        const std::size_t w = layer.weights + o * in.size() + i;
        const float by_weight = delta[o] * in[i];
        gradient[w] += by_weight;
        const float by_input = parameters[w] * delta[o];
        below[i] += by_input;
      }
    }
    if (l == 0) return;
    for (std::size_t i = 0; i < below.size(); ++i)
      if (!relu_passes(a.before[l - 1][i])) below[i] = 0.0F;
    delta = std::move(below);
  }
}

}  // namespace

std::vector<LayerSpan> layer_spans(const NetworkSpec& spec) {
  std::vector<LayerSpan> spans;
  std::size_t at = 0;
  for (std::size_t l = 0; l + 1 < spec.layers.size(); ++l) {
    LayerSpan span{spec.layers[l], spec.layers[l + 1], at, 0};
    at += static_cast<std::size_t>(span.in) * static_cast<std::size_t>(span.out);
    span.biases = at;
    at += static_cast<std::size_t>(span.out);
    spans.push_back(span);
  }
  return spans;
}

std::size_t parameter_count(const NetworkSpec& spec) {
  const auto spans = layer_spans(spec);
  return spans.empty() ? 0 : spans.back().biases + static_cast<std::size_t>(spans.back().out);
}

std::vector<float> initial_parameters(const NetworkSpec& spec, std::uint64_t seed) {
  std::vector<float> parameters(parameter_count(spec), 0.0F);
  std::uint64_t draw = 0;
  for (const LayerSpan& layer : layer_spans(spec)) {
    const float scale = std::sqrt(2.0F / static_cast<float>(layer.in));  // exact rounding by IEEE 754
    for (std::size_t w = layer.weights; w < layer.biases; ++w)
      parameters[w] = scale * normal(seed, 0, 0, Purpose::Weights, draw++);
  }
  return parameters;
}

Batch make_batch(const NetworkSpec& spec, std::uint64_t seed, int rank, std::int64_t step) {
  Batch batch;
  batch.samples = spec.batch;
  const auto inputs = static_cast<std::size_t>(spec.layers.front());
  const int outputs = spec.layers.back();
  std::vector<float> x(inputs);
  std::uint64_t draw = 0;
  for (int s = 0; s < spec.batch; ++s) {
    for (std::size_t j = 0; j < inputs; ++j) {
      const float centre = normal(seed, rank, 0, Purpose::Noise, j);  // the rank's corner
      x[j] = centre + 0.5F * normal(seed, rank, step, Purpose::Data, draw++);
    }
    batch.x.insert(batch.x.end(), x.begin(), x.end());
    for (int k = 0; k < outputs; ++k) batch.y.push_back(target(seed, k, x));
  }
  return batch;
}

Batch join(std::span<const Batch> batches) {
  Batch all;
  for (const Batch& batch : batches) {
    all.samples += batch.samples;
    all.x.insert(all.x.end(), batch.x.begin(), batch.x.end());
    all.y.insert(all.y.end(), batch.y.begin(), batch.y.end());
  }
  return all;
}

Gradient gradient_of(const NetworkSpec& spec, std::span<const float> parameters, const Batch& batch) {
  const auto layers = layer_spans(spec);
  const auto inputs = static_cast<std::size_t>(spec.layers.front());
  const auto outputs = static_cast<std::size_t>(spec.layers.back());
  const auto terms = static_cast<std::size_t>(batch.samples) * outputs;
  const float scale = 1.0F / static_cast<float>(terms);
  Gradient result;
  result.values.assign(parameters.size(), 0.0F);
  Activations a;
  std::vector<float> delta;
  for (std::size_t s = 0; s < static_cast<std::size_t>(batch.samples); ++s) {
    const auto x = std::span(batch.x).subspan(s * inputs, inputs);
    const auto y = std::span(batch.y).subspan(s * outputs, outputs);
    run_forward(layers, parameters, x, a);
    result.loss += output_error(a.after.back(), y, scale, delta);
    run_backward(layers, parameters, x, a, delta, result.values);
  }
  result.loss /= static_cast<double>(terms);
  return result;
}

namespace {

/// As run_backward, with absolute values.
void add_magnitudes(const std::vector<LayerSpan>& layers, std::span<const float> parameters,
                    std::span<const float> input, const Activations& a, std::vector<double> delta,
                    std::vector<double>& sum) {
  for (std::size_t l = layers.size(); l-- > 0;) {
    const LayerSpan& layer = layers[l];
    const std::span<const float> in = l == 0 ? input : std::span<const float>(a.after[l - 1]);
    std::vector<double> below(in.size(), 0.0);
    for (std::size_t o = 0; o < delta.size(); ++o) {
      sum[layer.biases + o] += delta[o];
      for (std::size_t i = 0; i < in.size(); ++i) {
        const std::size_t w = layer.weights + o * in.size() + i;
        const double by_weight = delta[o] * std::abs(static_cast<double>(in[i]));
        sum[w] += by_weight;
        const double by_input = std::abs(static_cast<double>(parameters[w])) * delta[o];
        below[i] += by_input;
      }
    }
    if (l == 0) return;
    for (std::size_t i = 0; i < below.size(); ++i)
      if (!relu_passes(a.before[l - 1][i])) below[i] = 0.0;
    delta = std::move(below);
  }
}

}  // namespace

std::vector<double> gradient_magnitude(const NetworkSpec& spec, std::span<const float> parameters,
                                       const Batch& batch) {
  const auto layers = layer_spans(spec);
  const auto inputs = static_cast<std::size_t>(spec.layers.front());
  const auto outputs = static_cast<std::size_t>(spec.layers.back());
  const double terms = static_cast<double>(static_cast<std::size_t>(batch.samples) * outputs);
  std::vector<double> sum(parameters.size(), 0.0);
  Activations a;
  std::vector<double> delta(outputs);
  for (std::size_t s = 0; s < static_cast<std::size_t>(batch.samples); ++s) {
    const auto x = std::span(batch.x).subspan(s * inputs, inputs);
    const auto y = std::span(batch.y).subspan(s * outputs, outputs);
    run_forward(layers, parameters, x, a);
    for (std::size_t k = 0; k < outputs; ++k) {
      const float difference = a.after.back()[k] - y[k];
      delta[k] = 2.0 * std::abs(static_cast<double>(difference)) / terms;
    }
    add_magnitudes(layers, parameters, x, a, delta, sum);
  }
  return sum;
}

double loss_of(const NetworkSpec& spec, std::span<const float> parameters, const Batch& batch) {
  const auto layers = layer_spans(spec);
  const auto inputs = static_cast<std::size_t>(spec.layers.front());
  const auto outputs = static_cast<std::size_t>(spec.layers.back());
  Activations a;
  std::vector<float> delta;
  double loss = 0;
  for (std::size_t s = 0; s < static_cast<std::size_t>(batch.samples); ++s) {
    run_forward(layers, parameters, std::span(batch.x).subspan(s * inputs, inputs), a);
    loss += output_error(a.after.back(), std::span(batch.y).subspan(s * outputs, outputs), 1.0F, delta);
  }
  return loss / static_cast<double>(static_cast<std::size_t>(batch.samples) * outputs);
}

Network::Network(const NetworkSpec& spec, std::uint64_t seed, int world_size)
    : spec_(spec), seed_(seed), count_(parameter_count(spec)) {
  const auto world = static_cast<std::size_t>(world_size);
  weights_.assign(world, initial_parameters(spec, seed));
  spoiled_.assign(world, 0);
  spoiled_by_.assign(world, 0.0F);
}

Batch Network::batch(int rank, std::int64_t step) const {
  Batch batch = make_batch(spec_, seed_, rank, step);
  if (spoiled_[static_cast<std::size_t>(rank)] == step && step > 0)
    batch.x.front() = spoiled_by_[static_cast<std::size_t>(rank)];
  return batch;
}

void Network::spoil(int rank, std::int64_t step, float value) {
  spoiled_[static_cast<std::size_t>(rank)] = step;
  spoiled_by_[static_cast<std::size_t>(rank)] = value;
}

double Network::forward(int rank, std::int64_t step) {
  return loss_of(spec_, weights(rank), batch(rank, step));
}

Tensor Network::backward(int rank, std::int64_t step, DType dtype) const {
  const Gradient gradient = gradient_of(spec_, weights(rank), batch(rank, step));
  Tensor tensor(dtype, Shape{{static_cast<std::int64_t>(count_)}});
  for (std::size_t i = 0; i < count_; ++i)
    tensor.set(static_cast<std::int64_t>(i), make_scalar(dtype, static_cast<double>(gradient.values[i])));
  return tensor;
}

void Network::update(int rank, const Tensor& gradient) {
  RINGSIDE_CHECK_LE(count_, static_cast<std::size_t>(gradient.count()));
  const auto rate = static_cast<float>(spec_.learning_rate);
  std::vector<float>& w = weights(rank);
  for (std::size_t i = 0; i < count_; ++i) {
    const auto g = static_cast<float>(to_double(gradient.at(static_cast<std::int64_t>(i))));
    const float change = rate * g;
    w[i] -= change;
  }
}

std::uint64_t Network::digest(int rank) const {
  return digest_of(DType::Float32, std::as_bytes(std::span(weights(rank))));
}

double Network::loss_on_all(int rank) const {
  std::vector<Batch> batches;
  for (std::size_t r = 0; r < weights_.size(); ++r)
    batches.push_back(make_batch(spec_, seed_, static_cast<int>(r), 0));
  return loss_of(spec_, weights(rank), join(batches));
}

}  // namespace ringside::sim
