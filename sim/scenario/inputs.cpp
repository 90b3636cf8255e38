// The numbers that the ranks start from.
#include "sim/base/random.hpp"
#include "sim/scenario/scenario.hpp"

namespace ringside::sim {
namespace {

/// rank · count + i, rounded to the dtype; integers wrap as their type does.
Tensor index_values(const TensorSpec& spec, std::int64_t rank) {
  Tensor tensor(spec.dtype, spec.shape);
  const std::int64_t count = tensor.count();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t value = rank * count + i;
    if (spec.dtype == DType::Int64 || spec.dtype == DType::Int32) {
      const std::uint64_t mask = spec.dtype == DType::Int32 ? 0xFFFFFFFFULL : ~0ULL;
      tensor.set(i, Scalar{spec.dtype, static_cast<std::uint64_t>(value) & mask});
    } else {
      tensor.set(i, make_scalar(spec.dtype, static_cast<double>(value)));
    }
  }
  return tensor;
}

Tensor normal_values(const Scenario& scenario, std::int64_t rank) {
  const TensorSpec& spec = scenario.tensor;
  Tensor tensor(spec.dtype, spec.shape);
  const DrawKey key{scenario.seed, static_cast<std::uint64_t>(rank), 0, Purpose::TensorValues};
  const double scale = is_floating(spec.dtype) ? 1.0 : 1000.0;
  const std::int64_t count = tensor.count();
  for (std::int64_t i = 0; i < count; ++i)
    tensor.set(i, make_scalar(spec.dtype, draw_normal(key, static_cast<std::uint64_t>(i)) * scale));
  return tensor;
}

Tensor ones(const TensorSpec& spec) {
  Tensor tensor(spec.dtype, spec.shape);
  const Scalar one = make_scalar(spec.dtype, 1.0);
  for (std::int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, one);
  return tensor;
}

}  // namespace

std::vector<std::shared_ptr<const Tensor>> make_inputs(const Scenario& scenario) {
  const TensorSpec& spec = scenario.tensor;
  if (spec.values == ValueSource::None) return {};
  if (spec.values == ValueSource::List || spec.values == ValueSource::File) return spec.list;
  if (spec.values == ValueSource::Ones)
    return std::vector<std::shared_ptr<const Tensor>>(static_cast<std::size_t>(scenario.world_size()),
                                                      std::make_shared<const Tensor>(ones(spec)));
  std::vector<std::shared_ptr<const Tensor>> inputs;
  for (std::int64_t rank = 0; rank < scenario.world_size(); ++rank) {
    inputs.push_back(std::make_shared<const Tensor>(
        spec.values == ValueSource::Index ? index_values(spec, rank) : normal_values(scenario, rank)));
  }
  return inputs;
}

}  // namespace ringside::sim
