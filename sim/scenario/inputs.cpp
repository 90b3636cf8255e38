// The numbers that the ranks start from.
#include "sim/scenario/inputs.hpp"

#include "sim/base/random.hpp"

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

std::shared_ptr<const Tensor> make_input(const Scenario& scenario, int rank) {
  const TensorSpec& spec = scenario.tensor;
  switch (spec.values) {
    case ValueSource::None:
      return nullptr;
    case ValueSource::List:
    case ValueSource::File:
      return spec.list[static_cast<std::size_t>(rank)];
    case ValueSource::Ones:
      return std::make_shared<const Tensor>(ones(spec));
    case ValueSource::Index:
      return std::make_shared<const Tensor>(index_values(spec, rank));
    case ValueSource::RandomNormal:
      break;
  }
  return std::make_shared<const Tensor>(normal_values(scenario, rank));
}

std::vector<std::shared_ptr<const Tensor>> make_inputs(const Scenario& scenario) {
  const TensorSpec& spec = scenario.tensor;
  if (spec.values == ValueSource::None) return {};
  if (spec.values == ValueSource::List || spec.values == ValueSource::File) return spec.list;
  const auto world = static_cast<std::size_t>(scenario.world_size());
  if (spec.values == ValueSource::Ones)
    return std::vector<std::shared_ptr<const Tensor>>(world, make_input(scenario, 0));
  std::vector<std::shared_ptr<const Tensor>> inputs;
  for (int rank = 0; rank < scenario.world_size(); ++rank) inputs.push_back(make_input(scenario, rank));
  return inputs;
}

}  // namespace ringside::sim
