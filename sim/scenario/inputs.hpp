// The numbers that one rank starts from, for a program that is one rank (sim::make_inputs makes those of all).
#pragma once

#include <memory>

#include "sim/scenario/scenario.hpp"

namespace ringside::sim {

/// Element `rank` of make_inputs(scenario), made alone. Null for ValueSource::None. 0 <= rank < world size.
std::shared_ptr<const Tensor> make_input(const Scenario& scenario, int rank);

}  // namespace ringside::sim
