// Writes a rank's Flight Recorder dump as JSON, in the shape of torch's own, so that torchfrtrace's readers
// and ours take it. Ringside's ranks write theirs with it, as nccl_trace_rank_<rank>.json.
#pragma once

#include <string>

#include "backend/import/flight_recorder.hpp"

namespace ringside::backend {

/// One dump of `recorder` as a JSON object: version, comm_lib_version, pg_config, pg_status, entries (oldest
/// first). Groups are those with the rank in them; their local ids count up in the order of
/// `recorder.groups`. Reads back to the same entries, counters and groups, except `site`, which becomes one
/// frame without a line number when it has none.
std::string flight_recorder_json(const FlightRecorder& recorder, const FrDump& dump);

}  // namespace ringside::backend
