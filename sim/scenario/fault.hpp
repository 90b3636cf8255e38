// Faults: what a person may break. One enum for scenario files, command line, wire and window.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/result.hpp"
#include "sim/diagnosis/diagnosis.hpp"
#include "sim/tensor/dtype.hpp"
#include "sim/tensor/shape.hpp"

namespace ringside::sim {

enum class FaultKind : std::uint8_t {
  Nan,
  InfOverflow,
  Crash,
  Hang,
  Slow,
  Shape,
  DType,
  Op,
  SkipStep,
  SkipCollective,
  ExtraStep,
  EarlyExit,
  WrongOrder,
  BitFlip,
  LinkDown,
  LinkSlow,
  LinkFlap,
  GpuReset,
  PciePower,
  IbFlap,
  Oom,
};
inline constexpr int kFaultKindCount = 21;
/// The word in files and on the command line: "nan", "inf_overflow", "gpu_reset" …
std::string_view to_word(FaultKind kind);
std::optional<FaultKind> fault_kind_from(std::string_view word);
/// The diagnosis kinds that a fault may lead to; the first is the usual one.
const std::vector<DiagnosisKind>& may_lead_to(FaultKind kind);
/// True for the kinds that a live run can do to itself.
bool supported_live(FaultKind kind);

/// Where in a training step a fault strikes.
enum class Phase : std::uint8_t {
  Init,
  Forward,
  Loss,
  Backward,
  AllReduce,
  Divide,
  Optimizer,
  Checkpoint,
  Restart,
  Done
};
std::string_view to_word(Phase phase);
std::optional<Phase> phase_from(std::string_view word);

/// One fault. Which fields count depends on the kind; the parser refuses fields that mean nothing for the
/// kind.
struct Fault {
  FaultKind kind = FaultKind::Crash;
  std::int32_t rank = -1;             // the rank it strikes; -1 for node and link faults
  std::int32_t node = -1;             // gpu_reset, pcie_power, ib_flap, oom may name a node instead
  std::int32_t from = -1, to = -1;    // link faults: the directed link
  std::int64_t step = 1;              // training step, from 1
  Phase at = Phase::Backward;         // where in the step
  std::optional<std::int64_t> at_ns;  // or an exact time, instead of step and at
  std::int64_t duration_ns = 0;       // slow (per step), link_flap, ib_flap; 0 = for good where that is legal
  std::int64_t factor_ppm = 0;        // slow, link_slow: speed in parts per million of the healthy one
  std::int64_t element = 0;           // nan, inf_overflow, bit_flip: flat index
  std::int32_t bit = 0;               // bit_flip
  std::optional<ringside::sim::Shape> shape;  // shape
  std::optional<ringside::sim::DType> dtype;  // dtype
  std::optional<ReduceOp> op;                 // op
  int line = 0;                               // where it stands in the scenario file; 0 = by hand
  bool operator==(const Fault&) const = default;
};

/// A fault as a command line gives it: "crash:rank=2,step=5", the keys of [[fault]] without quotes. Whether
/// it can happen in a job is check_fault's question (fault_rules.hpp).
Result<Fault> parse_fault(std::string_view text);
/// The same way back: "crash:rank=2,step=5,at=backward".
std::string fault_text(const Fault& fault);
/// Its keys (without kind) and their values as TOML writes them, in the order of reference.toml.
std::vector<std::pair<std::string_view, std::string>> fault_fields(const Fault& fault);

}  // namespace ringside::sim
