// What every rank brought into a collective of a simulated job: made again from its scenario, where a trace
// holds samples only.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "app/scenes/scene.hpp"
#include "sim/job/training.hpp"

namespace ringside::app {

class CollectiveInputs {
 public:
  /// Looks at one collective; cheap while it stays the same.
  void open(const SceneContext& ctx, std::uint32_t coll);
  /// False where the numbers are not known: no scenario, none in it, too many, or a fault changes them. With
  /// a network they are known as far as the digests of the trace's weights are those of the computed course.
  bool known() const { return schedule_.has_value(); }
  const sim::Schedule& schedule() const { return *schedule_; }
  const std::vector<std::shared_ptr<const sim::Tensor>>& tensors() const { return tensors_; }

 private:
  void from_network(const SceneContext& ctx, const sim::CollectiveInfo& info);
  void from_values(const SceneContext& ctx, const sim::CollectiveInfo& info);
  void cut(const sim::Scenario& s, const sim::Bucket& bucket);

  std::uint64_t generation_ = ~std::uint64_t{0};
  std::uint32_t coll_ = sim::kNone;
  std::unique_ptr<sim::TrainingHistory> history_;
  std::optional<sim::Schedule> schedule_;
  std::vector<std::shared_ptr<const sim::Tensor>> tensors_;
};

}  // namespace ringside::app
