#include "backend/import/vote.hpp"

#include <algorithm>

#include "backend/import/fingerprint.hpp"

namespace ringside::backend {

Vote vote(const std::map<int, std::string>& said, std::size_t implied) {
  std::map<std::string, std::vector<int>> groups;
  for (const auto& [rank, what] : said) groups[what].push_back(rank);
  Vote result;
  if (groups.size() < 2) return result;
  const auto largest = std::max_element(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
    return a.second.size() < b.second.size();
  });
  std::size_t others = 0;
  for (const auto& [what, ranks] : groups)
    if (what != largest->first) others += ranks.size();
  if (largest->second.size() + implied <= others || largest->second.size() + implied < 2) return result;
  result.decided = true;
  result.majority = largest->second;
  for (const auto& [what, ranks] : groups)
    if (what != largest->first) result.minority.insert(result.minority.end(), ranks.begin(), ranks.end());
  std::sort(result.minority.begin(), result.minority.end());
  return result;
}

sim::DiagnosisKind difference(const CallPrint& a, const CallPrint& b) {
  if (is_foreign(a) || is_foreign(b)) return sim::DiagnosisKind::SequenceMismatch;
  if (a.op != b.op) return sim::DiagnosisKind::CollectiveOrder;
  if (a.seq >= 0 && b.seq >= 0 && a.seq != b.seq) return sim::DiagnosisKind::SequenceMismatch;
  if (a.shape != b.shape) return sim::DiagnosisKind::ShapeMismatch;
  if (a.dtype != b.dtype) return sim::DiagnosisKind::DtypeMismatch;
  return sim::DiagnosisKind::CollectiveOrder;
}

}  // namespace ringside::backend
