// Majority votes over what ranks say about one call.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backend/import/evidence.hpp"
#include "sim/diagnosis/diagnosis.hpp"

namespace ringside::backend {

struct Vote {
  bool decided = false;
  std::vector<int> minority;  // ascending; empty unless decided
  std::vector<int> majority;
};

/// Ranks grouped by what they say. Decided if one group is larger than all others together. `implied`:
/// members of the largest group that nobody heard, but that are known to agree with it.
Vote vote(const std::map<int, std::string>& said, std::size_t implied = 0);

/// Which failure two prints of one call show, the strongest difference first: another op, then shape, then
/// dtype.
sim::DiagnosisKind difference(const CallPrint& a, const CallPrint& b);

}  // namespace ringside::backend
