// The picture of an incident: one row a rank with its last sequence number, how long it worked and waited,
// how it ended, and how we know. Made from what the lines say alone; no ImGui, no words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/draw/parts.hpp"
#include "backend/import/diagnose.hpp"

namespace ringside::app {

struct IncidentRow {
  int rank = -1;
  std::string host;
  bool culprit = false, victim = false;
  std::int64_t last_seq = -1;  // newest call in the group of the verdict; -1 unknown
  parts::Truth seq_truth = parts::Truth::Hidden;
  bool behind = false;  // its last seq is below that of the others
  std::string call;     // what it waits in, as the stack calls it; empty if no line says
  // Times of the picture, ns; -1 unknown.
  std::int64_t waits_from = -1;  // in the call it did not come back from
  std::int64_t ends_at = -1;     // its timeout, abort, crash or last line
  bool ended = false;            // the lines say how it ended
  parts::Mark end = parts::Mark::Silent;
  int code = 0;  // exit code (negative: signal), if a line gives one
  parts::Truth truth = parts::Truth::Hidden;
  std::uint32_t file = 0;  // the line that says most about it
  std::int64_t line = 0;   // 0 = none
};

struct IncidentPicture {
  std::vector<IncidentRow> rows;     // ascending rank
  bool timed = false;                // some row has a time: there is an axis
  std::int64_t zero_ns = 0;          // picture time 0 in lane time (LanePoint::t_ns); at most 0
  std::int64_t from = 0, to = 0;     // what the lanes show, picture time
  std::int64_t wait_ns = -1;         // the longest wait
  int waited = 0;                    // how many ranks waited, where it is known how long
  int still_waiting = 0;             // how many are in a call without an end (dumps)
  std::int64_t waited_total_ns = 0;  // of all ranks together
  std::int64_t cause_ns = 0;         // where to look for the cause, picture time
  const IncidentRow* row(int rank) const;
};

/// A pure function of the incident. At most kMostRows rows: culprits always, then ranks with lines.
IncidentPicture picture_of(const backend::Incident& incident);
inline constexpr std::size_t kMostRows = 4096;

}  // namespace ringside::app
