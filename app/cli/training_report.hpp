// What `ringside-cli run` says of a training job with a network: losses, whether the ranks hold one model,
// and how N ranks compare with one process.
#pragma once

#include <string>

#include "sim/base/json_writer.hpp"
#include "sim/job/simulate.hpp"

namespace ringside::app {

/// The key "training" of the run's object; writes nothing for a job without a network. {steps, models,
/// steps_with_equal_weights, loss_on_all {first, last}, own_loss {first, last}, proof {largest_difference,
/// bound, within_bound, same_order_different}}: losses are means over the ranks, null where they are not
/// known (a fault changed numbers, or the network is too large); proof is null where there is nothing to
/// compare.
void append_training(sim::JsonWriter& json, const sim::Scenario& scenario, const sim::Simulation& simulation);
/// The same for people; empty for a job without a network.
std::string training_text(const sim::Scenario& scenario, const sim::Simulation& simulation);

}  // namespace ringside::app
