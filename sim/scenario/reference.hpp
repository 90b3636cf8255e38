// The reference scenario, made from the key table.
#pragma once

#include <string>

namespace ringside::sim {

/// The text of assets/scenarios/reference.toml: one valid scenario with every key, its type, legal values,
/// default and meaning.
std::string reference_toml();

}  // namespace ringside::sim
