// "Build it in the simulator": a scenario that fails in the same way as the incident, and what had to be
// assumed for it because no line says it.
#pragma once

#include <string>
#include <vector>

#include "app/scenes/incident_lanes.hpp"
#include "sim/base/result.hpp"
#include "sim/scenario/scenario.hpp"

namespace ringside::app {

/// What the lines do not say, and what was taken instead.
enum class Assumed : std::uint8_t {
  Culprit,  // nobody is named: rank 0
  World,    // no line gives the world size
  Hosts,    // ranks per node
  Step,     // training step 3 stands for the call of the verdict
  Timeout,  // how long the watchdog waits
  Size,     // tensor, dtype and op
  Times,    // how long forward and backward take
  Peer,     // which link: to the next node

};
inline constexpr int kAssumedCount = 8;
/// "culprit", "world" …: the word of a text.
std::string_view to_word(Assumed assumed);

struct Rebuilt {
  sim::Scenario scenario;
  sim::FaultKind fault = sim::FaultKind::Hang;
  std::vector<Assumed> assumed;
};

/// True if the simulator can fail in this way.
bool can_rebuild(sim::DiagnosisKind kind);
/// Error: the kind cannot be simulated, or the world is larger than the simulator takes.
sim::Result<Rebuilt> rebuild(const backend::Incident& incident, const IncidentPicture& picture);

}  // namespace ringside::app
