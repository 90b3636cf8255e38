#include "app/scenes/collective_inputs.hpp"

#include <algorithm>
#include <cstring>

namespace ringside::app {
namespace {

constexpr std::int64_t kMostNumbers = std::int64_t{1} << 22;  // of all ranks
constexpr double kMostWork = 2e8;                             // of a training job's course, in multiply-adds

/// No fault, of the scenario or by hand, that changes what a rank brings.
bool numbers_are_the_scenarios(const sim::Trace& trace) {
  return std::none_of(trace.events().begin(), trace.events().end(), [&](const sim::Event& e) {
    return e.type == sim::EventType::Command && trace.command(e.command.command).kind != sim::FaultKind::Slow;
  });
}

}  // namespace

void CollectiveInputs::open(const SceneContext& ctx, std::uint32_t coll) {
  if (generation_ == ctx.generation && coll_ == coll) return;
  if (generation_ != ctx.generation) history_.reset();
  generation_ = ctx.generation;
  coll_ = coll;
  schedule_.reset();
  tensors_.clear();
  const sim::Scenario* s = ctx.scenario;
  if (s == nullptr || coll == sim::kNone) return;
  const sim::CollectiveInfo& info = ctx.trace.collective(coll);
  if (s->training.network.enabled)
    from_network(ctx, info);
  else
    from_values(ctx, info);
}

/// Cuts the bucket out of the whole tensors and makes its schedule.
void CollectiveInputs::cut(const sim::Scenario& s, const sim::Bucket& bucket) {
  const auto size = static_cast<std::size_t>(sim::size_of(s.tensor.dtype));
  for (auto& tensor : tensors_) {
    if (bucket.count == tensor->count()) continue;
    auto part = std::make_shared<sim::Tensor>(tensor->dtype, sim::Shape{{bucket.count}});
    std::memcpy(part->data.data(), tensor->data.data() + static_cast<std::size_t>(bucket.offset) * size,
                part->data.size());
    tensor = std::move(part);
  }
  sim::ScheduleRequest request = s.schedule_request();
  request.count = bucket.count;
  schedule_ = sim::make_schedule(request);
}

void CollectiveInputs::from_network(const SceneContext& ctx, const sim::CollectiveInfo& info) {
  const sim::Scenario& s = *ctx.scenario;
  const double work = sim::history_cost(s).per_step * static_cast<double>(info.step);
  if (work > kMostWork || info.step < 1 || info.step > s.training.steps || info.seq < 1) return;
  if (!history_) history_ = std::make_unique<sim::TrainingHistory>(s);
  while (history_->known() < info.step) history_->advance();
  const auto different = sim::first_difference(ctx.trace, *history_);
  if (different && *different <= info.step) return;
  const auto& buckets = history_->buckets();
  const sim::Bucket& bucket = buckets[static_cast<std::size_t>(info.seq - 1) % buckets.size()];
  if (bucket.count != info.count) return;
  for (int r = 0; r < s.world_size(); ++r) tensors_.push_back(history_->gradient(r, info.step));
  cut(s, bucket);
}

void CollectiveInputs::from_values(const SceneContext& ctx, const sim::CollectiveInfo& info) {
  const sim::Scenario& s = *ctx.scenario;
  if (s.tensor.values == sim::ValueSource::None || !numbers_are_the_scenarios(ctx.trace)) return;
  if (s.tensor.list.empty() && s.tensor.shape.count() * s.world_size() > kMostNumbers) return;
  const std::vector<sim::Bucket> buckets = sim::bucket_plan(s.training, s.tensor.shape.count());
  const sim::Bucket& bucket =
      buckets[static_cast<std::size_t>(std::max<std::int64_t>(0, info.seq - 1)) % buckets.size()];
  if (bucket.count != info.count) return;
  tensors_ = sim::make_inputs(s);
  cut(s, bucket);
}

}  // namespace ringside::app
