// What breaks, and how: one rule per kind of fault.
#include "sim/job/rules.hpp"

namespace ringside::sim {

void arm(Simulator& sim, const Fault& fault) {
  const auto index = static_cast<std::uint32_t>(sim.faults.size());
  sim.faults.push_back({fault, false});
  if (fault.at_ns) sim.push(*fault.at_ns, ItemKind::Command, -1, index);
}

}  // namespace ringside::sim
