// `ringside-cli reliability`: odds of a failure, MTTF and ETTR for people and as JSON.
#pragma once

#include <string>

#include "sim/model/reliability.hpp"

namespace ringside::app {

/// One JSON object (no line feed): the inputs, mttf_hours, failure_odds, ettr {linear, exact, monte_carlo},
/// published points.
std::string reliability_json(const sim::ReliabilitySpec& spec);
/// The same for people, some 15 lines.
std::string reliability_text(const sim::ReliabilitySpec& spec);

}  // namespace ringside::app
