// An incident as a Trace: what its lines say becomes events, so that every scene and the transport bar work
// on it as on any other job.
#pragma once

#include <optional>
#include <string_view>

#include "app/scenes/incident_lanes.hpp"
#include "sim/trace/trace.hpp"

namespace ringside::app {

/// Times are the picture's. Only what lines say becomes an event: ranks introduce themselves, enter the call
/// they waited in, time out, report errors, end. Nothing is made up in between (source "import", clock
/// "estimated").
sim::Trace trace_of(const backend::Incident& incident, const IncidentPicture& picture);

/// "ALLREDUCE", "_ALLGATHER_BASE", "all_reduce" … → the collective; empty for what has no like.
std::optional<sim::Collective> collective_of(std::string_view op);

}  // namespace ringside::app
