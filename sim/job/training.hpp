// The course of a training job's numbers, made again from its scenario: every rank's weights after every
// step, its losses, its gradients. A trace holds digests only; with these a view can show any number, and
// check by the digests that it is the one that the job had.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/job/buckets.hpp"
#include "sim/job/network.hpp"
#include "sim/trace/trace.hpp"

namespace ringside::sim {

/// What one step costs the history, in multiply-adds, and what all of them keep in memory, in bytes.
struct HistoryCost {
  double per_step = 0, memory = 0;
};
HistoryCost history_cost(const Scenario& scenario);

/// A healthy run of the job: faults that change numbers are not part of it (see first_difference).
class TrainingHistory {
 public:
  /// scenario.training.network.enabled must hold.
  explicit TrainingHistory(const Scenario& scenario);

  const Scenario& scenario() const { return scenario_; }
  /// Training steps that are known so far, and of the whole job.
  std::int64_t known() const { return static_cast<std::int64_t>(after_.size()) - 1; }
  std::int64_t steps() const { return scenario_.training.steps; }
  /// Computes one more step; false when there is none.
  bool advance();

  // step: 0 … known(); 0 = before the first.
  const std::vector<float>& weights(int rank, std::int64_t step) const;
  std::uint64_t digest(int rank, std::int64_t step) const;
  /// How many different models the ranks have.
  int models(std::int64_t step) const;
  /// Loss of the rank's weights on its own part of the data that everyone is measured on, and on all of it
  /// (make_batch with step 0).
  double own_loss(int rank, std::int64_t step) const;
  double loss_on_all(int rank, std::int64_t step) const;

  // step: 1 … known().
  /// What backward gives the rank in this step, in the job's dtype, flat.
  std::shared_ptr<const Tensor> gradient(int rank, std::int64_t step) const;
  /// What the rank updates with: after the AllReduce of all buckets, or its own gradient without.
  std::shared_ptr<const Tensor> update(int rank, std::int64_t step) const;

  const std::vector<Bucket>& buckets() const { return buckets_; }
  /// The schedule of a bucket's collective.
  const Schedule& schedule(std::size_t bucket) const { return schedules_[bucket]; }

 private:
  /// One model after a step: ranks with equal weights share it.
  struct Model {
    std::vector<float> weights;
    std::uint64_t digest = 0;
    double loss_on_all = 0;
  };
  struct Step {
    std::vector<std::shared_ptr<const Model>> model;  // per rank
    std::vector<double> own_loss;
    int models = 1;
  };
  void remember();
  std::vector<std::shared_ptr<const Tensor>> gradients(std::int64_t step) const;
  std::vector<std::shared_ptr<const Tensor>> reduced(
      const std::vector<std::shared_ptr<const Tensor>>& gradients) const;
  const Step& at(std::int64_t step) const;

  Scenario scenario_;
  Network network_;
  std::vector<Bucket> buckets_;
  std::vector<Schedule> schedules_;
  std::vector<Batch> measured_;  // per rank
  Batch measured_all_;
  std::vector<Step> after_;
};

/// The first training step after which a rank's weights in the trace are not those of the history (a fault
/// changed them), among the steps that both know; nothing if they agree.
std::optional<std::int64_t> first_difference(const Trace& trace, const TrainingHistory& history);

}  // namespace ringside::sim
