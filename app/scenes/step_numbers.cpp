#include "app/scenes/step_numbers.hpp"

#include <algorithm>

#include "app/scenes/step_index.hpp"
#include "app/session/session.hpp"

namespace ringside::app {
namespace {

// A step of the history must not stop the window for long, and all of them must fit into memory.
constexpr double kMostPerStep = 3e7, kMostMemory = 256e6;
constexpr double kPerFrame = 4e6;

bool fits(const sim::Scenario& s) {
  const sim::HistoryCost cost = sim::history_cost(s);
  return cost.per_step <= kMostPerStep && cost.memory <= kMostMemory;
}

}  // namespace

void StepNumbers::open(const SceneContext& ctx) {
  *this = {};
  generation_ = ctx.generation;
  if (ctx.scenario != nullptr) {
    scenario_ = *ctx.scenario;
  } else if (!ctx.trace.header.scenario_toml.empty()) {
    auto parsed = sim::parse_scenario(ctx.trace.header.scenario_toml, "trace");
    if (parsed) scenario_ = std::move(*parsed);
  }
  if (!has_network()) return;
  find_equal_time();
  sim::Scenario switched = *scenario_;
  switched.training.network.all_reduce = !switched.training.network.all_reduce;
  too_large_ = !fits(*scenario_);
  if (too_large_) return;
  history_ = std::make_unique<sim::TrainingHistory>(*scenario_);
  if (fits(switched)) other_ = std::make_unique<sim::TrainingHistory>(switched);
}

bool StepNumbers::update(const SceneContext& ctx) {
  if (ctx.generation != generation_) open(ctx);
  if (!history_) return false;
  double budget = ctx.now > 0 ? kPerFrame : 1e18;  // a single picture is complete
  const auto work = [&](sim::TrainingHistory* history) {
    if (history == nullptr) return false;
    const double cost = sim::history_cost(history->scenario()).per_step;
    while (history->known() < history->steps() && budget > 0) {
      history->advance();
      budget -= cost;
    }
    return history->known() < history->steps();
  };
  const bool more = work(history_.get()), other_more = work(other_.get());
  check(ctx.trace);
  return more || other_more;
}

void StepNumbers::check(const sim::Trace& trace) {
  if (checked_ == history_->known() && checked_events_ == trace.size()) return;
  checked_ = history_->known();
  checked_events_ = trace.size();
  const auto different = sim::first_difference(trace, *history_);
  differs_ = different.has_value();
  std::int64_t said = 0;  // the last step of which the trace says anything
  for (const sim::Event& e : trace.events())
    if (e.type == sim::EventType::Weights) said = std::max(said, e.weights.step);
  trusted_ = std::min(different ? *different - 1 : checked_, said);
}

/// Without jitter and faults all steps take the same time: two are enough, the second one is taken.
void StepNumbers::find_equal_time() {
  sim::Scenario equal = *scenario_;
  equal.training.jitter_ppm = 0;
  equal.training.steps = std::min<std::int64_t>(2, equal.training.steps);
  equal.training.checkpoint_steps = 0;
  equal.failures = {};
  equal.faults.clear();
  if (simulation_cost(equal) > kBackgroundCost / 4) return;
  const sim::Simulation job = sim::simulate(equal);
  StepIndex index;
  index.update(job.trace, 0);
  if (index.steps().empty()) return;
  equal_ns_ = index.steps().back().to - index.steps().back().from;
}

const StepNumbers::StepGradients& StepNumbers::gradients(std::int64_t step) {
  if (gradients_.step == step && !gradients_.own.empty()) return gradients_;
  gradients_ = {};
  gradients_.step = step;
  for (int r = 0; r < scenario_->world_size(); ++r) gradients_.own.push_back(history_->gradient(r, step));
  gradients_.update = history_->update(0, step);
  return gradients_;
}

const sim::GradientProof* StepNumbers::proof(std::int64_t step) {
  if (!knows(step) || sim::proof_problem(*scenario_)) return nullptr;
  if (proof_step_ != step) {
    proof_ = sim::prove_gradient(*history_, step);
    proof_step_ = step;
  }
  return &*proof_;
}

}  // namespace ringside::app
