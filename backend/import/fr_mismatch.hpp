// Calls that ranks pair by sequence number although they differ: shape, dtype, kind of call, or a sequence
// that is shifted by a skipped or an extra call. Who differs is decided by majority, never by taking the
// first rank as innocent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/import/flight_recorder.hpp"
#include "sim/diagnosis/diagnosis.hpp"

namespace ringside::backend {

/// FrMismatch::how when only the place of a call is wrong, as far as the calls before show.
inline constexpr const char* kLaterInLoop = "made a call that the others make later in the same loop";

/// One (group, seq) at which the members' calls differ.
struct FrMismatch {
  std::uint32_t group = 0;
  std::int64_t seq = 0;
  sim::DiagnosisKind kind =
      sim::DiagnosisKind::Unknown;  // shape_, dtype_mismatch, collective_order, sequence_mismatch
  std::vector<int> odd;             // the minority, ascending; empty when there is no majority
  std::vector<int> candidates;      // all ranks that differ when `odd` is empty
  std::vector<std::pair<std::string, std::vector<int>>>
      sides;  // call as text, ranks that made it; largest first
  std::string
      how;  // "skipped one call", "made one call more", "made two calls in the other order", … or empty
  bool unfinished = false;      // somebody still waits in it
  bool counts_differ = false;   // the element counts or widths differ, so that transfers do not pair up
  bool first_rank_odd = false;  // the lowest rank is in the minority: torchfrtrace blames all the others
};

/// All mismatches, the one that explains a hang first: unfinished before finished, then the oldest. At most
/// one a group.
std::vector<FrMismatch> find_mismatches(const FlightRecorder& recorder);

}  // namespace ringside::backend
