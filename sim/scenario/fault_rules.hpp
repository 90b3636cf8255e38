// Which fields a fault of each kind may have, must have, and what it strikes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/base/result.hpp"
#include "sim/scenario/fault.hpp"

namespace ringside::sim {

struct Scenario;

/// What a fault strikes.
enum class FaultTarget : std::uint8_t { Rank, RankOrNode, Link };

// Fields as bits. Where it strikes (rank, node, from, to) follows from the target; `step` is always legal.
inline constexpr std::uint32_t kFieldAt = 1, kFieldTime = 2, kFieldDuration = 4, kFieldFactor = 8,
                               kFieldElement = 16, kFieldBit = 32, kFieldShape = 64, kFieldDType = 128,
                               kFieldOp = 256;

struct FaultRule {
  FaultKind kind;
  std::string_view word;
  FaultTarget target;
  std::uint32_t allowed;   // bits of fields that mean something
  std::uint32_t required;  // bits of fields without which it means nothing
  bool live;               // a live run can do it to itself
  bool ends_rank;          // the rank does nothing after it
  std::vector<DiagnosisKind> leads_to;
};

const FaultRule& rule_of(FaultKind kind);
const std::vector<FaultRule>& fault_rules();
/// The keys that a kind may have, in the order of the file: "rank, step, at, element".
std::vector<std::string_view> legal_fields(const FaultRule& rule);

/// Why a fault cannot happen in a scenario: a rank, node, link, step or element that does not exist, or a
/// field without sense. `key` says which field is to blame. Nothing if it can.
struct FaultProblem {
  std::string_view key;
  Error error;
};
std::optional<FaultProblem> check_fault(const Fault& fault, const Scenario& scenario);

/// Why two faults contradict each other, or nothing.
std::optional<Error> contradiction(const Fault& first, const Fault& second);

}  // namespace ringside::sim
