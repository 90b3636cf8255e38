// The numbers behind the training-step scene, made when they are asked for: the course of the job's weights
// and losses, the same job with its AllReduce switched, the proof of one step, and how long a step would take
// if all ranks were equally fast.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "app/scenes/scene.hpp"
#include "sim/job/gradient_proof.hpp"
#include "sim/job/training.hpp"

namespace ringside::app {

class StepNumbers {
 public:
  /// Follows what is open. In a window, work of many steps is spread over frames; returns true while there is
  /// some left.
  bool update(const SceneContext& ctx);

  /// What made the trace; from its header if the session does not know it. Null: not known.
  const sim::Scenario* scenario() const { return scenario_ ? &*scenario_ : nullptr; }
  bool has_network() const { return scenario_ && scenario_->training.network.enabled; }
  /// Null: no network, or too large (too_large).
  const sim::TrainingHistory* history() const { return history_.get(); }
  bool too_large() const { return too_large_; }
  /// The same job with the AllReduce the other way round.
  const sim::TrainingHistory* other() const { return other_.get(); }
  /// The last training step after which history and trace agree. Numbers of later ones are not the job's.
  std::int64_t trusted() const { return trusted_; }
  /// True if the trace goes on after trusted() with other numbers; else it just ends there.
  bool differs() const { return differs_; }
  bool knows(std::int64_t step) const { return history_ && step >= 1 && step <= trusted_; }

  /// Gradients of all ranks in a step, and what they update with. Only if knows(step).
  struct StepGradients {
    std::int64_t step = 0;
    std::vector<std::shared_ptr<const sim::Tensor>> own;
    std::shared_ptr<const sim::Tensor> update;  // of rank 0
  };
  const StepGradients& gradients(std::int64_t step);
  /// Null where there is nothing to prove (sim::proof_problem).
  const sim::GradientProof* proof(std::int64_t step);

  /// How long a step would take if all ranks were equally fast; nothing if that is not known.
  std::optional<std::int64_t> equal_step_ns() const { return equal_ns_; }

 private:
  void open(const SceneContext& ctx);
  void find_equal_time();
  void check(const sim::Trace& trace);

  std::uint64_t generation_ = ~std::uint64_t{0};
  std::optional<sim::Scenario> scenario_;
  std::unique_ptr<sim::TrainingHistory> history_, other_;
  bool too_large_ = false, differs_ = false;
  std::int64_t trusted_ = 0, checked_ = 0;
  std::size_t checked_events_ = 0;
  std::optional<std::int64_t> equal_ns_;
  StepGradients gradients_;
  std::int64_t proof_step_ = -1;
  std::optional<sim::GradientProof> proof_;
};

}  // namespace ringside::app
