#include "sim/job/training.hpp"

#include <algorithm>
#include <cstring>

#include "sim/base/check.hpp"
#include "sim/collective/executor.hpp"

namespace ringside::sim {
namespace {

using Tensors = std::vector<std::shared_ptr<const Tensor>>;

std::shared_ptr<const Tensor> part_of(const Tensor& whole, const Bucket& bucket) {
  auto part = std::make_shared<Tensor>(whole.dtype, Shape{{bucket.count}});
  const auto size = static_cast<std::size_t>(size_of(whole.dtype));
  std::memcpy(part->data.data(), whole.data.data() + static_cast<std::size_t>(bucket.offset) * size,
              part->data.size());
  return part;
}

}  // namespace

HistoryCost history_cost(const Scenario& scenario) {
  const NetworkSpec& network = scenario.training.network;
  const auto parameters = static_cast<double>(parameter_count(network));
  const double world = scenario.world_size(), samples = world * network.batch;
  const double models = network.all_reduce ? 1 : world;
  // Drawing a sample costs about as much as a few hundred multiply-adds.
  const double per_sample = parameters + 300;
  HistoryCost cost;
  cost.per_step = samples * per_sample * 3 + models * samples * parameters + world * parameters * 4;
  cost.memory = (models * parameters * 4 + world * 24) * static_cast<double>(scenario.training.steps + 1);
  return cost;
}

TrainingHistory::TrainingHistory(const Scenario& scenario)
    : scenario_(scenario),
      network_(scenario.training.network, scenario.seed, scenario.world_size()),
      buckets_(bucket_plan(scenario.training, static_cast<std::int64_t>(network_.parameters()))) {
  RINGSIDE_CHECK(scenario.training.network.enabled);
  for (const Bucket& bucket : buckets_) {
    ScheduleRequest request = scenario_.schedule_request();
    request.count = bucket.count;
    schedules_.push_back(make_schedule(request));
  }
  for (int r = 0; r < scenario_.world_size(); ++r)
    measured_.push_back(make_batch(scenario_.training.network, scenario_.seed, r, 0));
  measured_all_ = join(measured_);
  remember();
}

/// What the networks are now becomes the state after the next step.
void TrainingHistory::remember() {
  const NetworkSpec& spec = scenario_.training.network;
  Step step;
  std::vector<std::shared_ptr<const Model>> known;
  for (int r = 0; r < scenario_.world_size(); ++r) {
    const std::vector<float>& weights = network_.weights(r);
    auto same = std::find_if(known.begin(), known.end(), [&](const auto& m) {
      return std::memcmp(m->weights.data(), weights.data(), weights.size() * sizeof(float)) == 0;
    });
    if (same == known.end()) {
      known.push_back(std::make_shared<const Model>(
          Model{weights, network_.digest(r), loss_of(spec, weights, measured_all_)}));
      same = known.end() - 1;
    }
    step.model.push_back(*same);
    step.own_loss.push_back(loss_of(spec, weights, measured_[static_cast<std::size_t>(r)]));
  }
  step.models = static_cast<int>(known.size());
  after_.push_back(std::move(step));
}

const TrainingHistory::Step& TrainingHistory::at(std::int64_t step) const {
  RINGSIDE_CHECK(step >= 0 && step <= known());
  return after_[static_cast<std::size_t>(step)];
}

const std::vector<float>& TrainingHistory::weights(int rank, std::int64_t step) const {
  return at(step).model[static_cast<std::size_t>(rank)]->weights;
}
std::uint64_t TrainingHistory::digest(int rank, std::int64_t step) const {
  return at(step).model[static_cast<std::size_t>(rank)]->digest;
}
int TrainingHistory::models(std::int64_t step) const {
  return at(step).models;
}
double TrainingHistory::own_loss(int rank, std::int64_t step) const {
  return at(step).own_loss[static_cast<std::size_t>(rank)];
}
double TrainingHistory::loss_on_all(int rank, std::int64_t step) const {
  return at(step).model[static_cast<std::size_t>(rank)]->loss_on_all;
}

std::shared_ptr<const Tensor> TrainingHistory::gradient(int rank, std::int64_t step) const {
  RINGSIDE_CHECK_LT(std::int64_t{0}, step);
  const NetworkSpec& spec = scenario_.training.network;
  const Gradient gradient =
      gradient_of(spec, weights(rank, step - 1), make_batch(spec, scenario_.seed, rank, step));
  const DType dtype = scenario_.tensor.dtype;
  auto tensor = std::make_shared<Tensor>(dtype, Shape{{static_cast<std::int64_t>(gradient.values.size())}});
  for (std::size_t i = 0; i < gradient.values.size(); ++i)
    tensor->set(static_cast<std::int64_t>(i), make_scalar(dtype, static_cast<double>(gradient.values[i])));
  return tensor;
}

Tensors TrainingHistory::gradients(std::int64_t step) const {
  Tensors all;
  for (int r = 0; r < scenario_.world_size(); ++r) all.push_back(gradient(r, step));
  return all;
}

/// Bucket by bucket through this program's AllReduce.
Tensors TrainingHistory::reduced(const Tensors& gradients) const {
  if (!scenario_.training.network.all_reduce) return gradients;
  std::vector<std::shared_ptr<Tensor>> whole;
  for (const auto& gradient : gradients) whole.push_back(std::make_shared<Tensor>(*gradient));
  const auto size = static_cast<std::size_t>(size_of(scenario_.tensor.dtype));
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    Tensors parts;
    for (const auto& gradient : gradients) parts.push_back(part_of(*gradient, buckets_[b]));
    const Numbers numbers = execute_numbers(schedules_[b], scenario_.collective.op, parts);
    for (std::size_t r = 0; r < whole.size(); ++r)
      std::memcpy(whole[r]->data.data() + static_cast<std::size_t>(buckets_[b].offset) * size,
                  numbers.result[r]->data.data(), numbers.result[r]->data.size());
  }
  return {whole.begin(), whole.end()};
}

std::shared_ptr<const Tensor> TrainingHistory::update(int rank, std::int64_t step) const {
  if (!scenario_.training.network.all_reduce) return gradient(rank, step);
  return reduced(gradients(step))[static_cast<std::size_t>(rank)];
}

bool TrainingHistory::advance() {
  if (known() >= steps()) return false;
  const Tensors updates = reduced(gradients(known() + 1));
  for (int r = 0; r < scenario_.world_size(); ++r) network_.update(r, *updates[static_cast<std::size_t>(r)]);
  remember();
  return true;
}

std::optional<std::int64_t> first_difference(const Trace& trace, const TrainingHistory& history) {
  std::optional<std::int64_t> first;
  for (const Event& e : trace.events()) {
    if (e.type != EventType::Weights || e.rank() < 0) continue;
    const std::int64_t step = e.weights.step;
    if (step < 1 || step > history.known() || e.rank() >= history.scenario().world_size()) continue;
    if (history.digest(e.rank(), step) != e.weights.digest && (!first || step < *first)) first = step;
  }
  return first;
}

}  // namespace ringside::sim
