#include "sim/scenario/fault_rules.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/text.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/scenario/words.hpp"

namespace ringside::sim {
namespace {

using K = DiagnosisKind;

std::vector<FaultRule> make_rules() {
  using F = FaultKind;
  using T = FaultTarget;
  return {
      {F::Nan, "nan", T::Rank, kFieldAt | kFieldElement, 0, true, false, {K::Nan}},
      {F::InfOverflow, "inf_overflow", T::Rank, kFieldAt | kFieldElement, 0, false, false, {K::Nan}},
      {F::Crash, "crash", T::Rank, kFieldAt, 0, true, true, {K::RankCrash, K::HangRankMissing}},
      {F::Hang, "hang", T::Rank, kFieldAt, 0, true, true, {K::HangRankMissing}},
      {F::Slow,
       "slow",
       T::Rank,
       kFieldDuration | kFieldFactor,
       0,
       true,
       false,
       {K::Straggler, K::WatchdogFalseAlarm}},
      {F::Shape,
       "shape",
       T::Rank,
       kFieldShape,
       kFieldShape,
       true,
       false,
       {K::ShapeMismatch, K::SilentCorruption}},
      {F::DType,
       "dtype",
       T::Rank,
       kFieldDType,
       kFieldDType,
       false,
       false,
       {K::DtypeMismatch, K::SilentCorruption}},
      {F::Op, "op", T::Rank, kFieldOp, kFieldOp, false, false, {K::OpMismatch, K::SilentCorruption}},
      {F::SkipStep,
       "skip_step",
       T::Rank,
       0,
       0,
       true,
       false,
       {K::SequenceMismatch, K::HangRankMissing, K::UnevenData, K::SilentCorruption}},
      {F::SkipCollective,
       "skip_collective",
       T::Rank,
       0,
       0,
       false,
       false,
       {K::SequenceMismatch, K::HangRankMissing, K::CollectiveOrder, K::SilentCorruption}},
      {F::ExtraStep,
       "extra_step",
       T::Rank,
       0,
       0,
       false,
       false,
       {K::SequenceMismatch, K::HangRankMissing, K::UnevenData}},
      {F::EarlyExit, "early_exit", T::Rank, 0, 0, true, true, {K::RankExitEarly, K::UnevenData}},
      {F::WrongOrder,
       "wrong_order",
       T::Rank,
       0,
       0,
       true,
       false,
       {K::CollectiveOrder, K::ShapeMismatch, K::SilentCorruption}},
      {F::BitFlip,
       "bit_flip",
       T::Rank,
       kFieldAt | kFieldElement | kFieldBit,
       kFieldBit,
       false,
       false,
       {K::SilentCorruption, K::Nan}},
      {F::LinkDown, "link_down", T::Link, kFieldAt, 0, false, false, {K::LinkDown, K::IbError, K::NvlinkHw}},
      {F::LinkSlow,
       "link_slow",
       T::Link,
       kFieldAt | kFieldFactor,
       kFieldFactor,
       false,
       false,
       {K::LinkSlow, K::Straggler}},
      {F::LinkFlap,
       "link_flap",
       T::Link,
       kFieldAt | kFieldDuration,
       kFieldDuration,
       false,
       false,
       {K::LinkSlow, K::LinkDown, K::IbError}},
      {F::GpuReset, "gpu_reset", T::RankOrNode, kFieldAt, 0, false, true, {K::GpuHw, K::RankCrash}},
      {F::PciePower, "pcie_power", T::RankOrNode, kFieldAt, 0, false, true, {K::PcieError, K::GpuHw}},
      {F::IbFlap,
       "ib_flap",
       T::RankOrNode,
       kFieldAt | kFieldDuration,
       kFieldDuration,
       false,
       false,
       {K::IbError, K::LinkDown}},
      {F::Oom, "oom", T::RankOrNode, kFieldAt, 0, false, true, {K::HostOom, K::GpuOom, K::RankCrash}},
  };
}

std::string range(std::int64_t low, std::int64_t high) {
  std::string out;
  append_int(out, low);
  if (low == high) return out;
  out += " … ";
  append_int(out, high);
  return out;
}

FaultProblem problem(std::string_view key, std::string what, std::string legal = {}, std::string hint = {}) {
  Error error;
  error.what = std::move(what);
  error.legal = std::move(legal);
  error.hint = std::move(hint);
  return {key, std::move(error)};
}

std::string numbered(std::string_view what, std::int64_t value) {
  std::string out(what);
  out += ' ';
  append_int(out, value);
  return out;
}

std::optional<FaultProblem> check_link(const Fault& fault, const FaultRule& rule, const Scenario& scenario) {
  const int world = scenario.world_size();
  const std::string name = std::string(rule.word);
  if (fault.from < 0) return problem("from", name + " needs the link's from and to", range(0, world - 1));
  if (fault.to < 0) return problem("to", name + " needs the link's from and to", range(0, world - 1));
  if (fault.from >= world)
    return problem("from", numbered("there is no rank", fault.from), range(0, world - 1));
  if (fault.to >= world) return problem("to", numbered("there is no rank", fault.to), range(0, world - 1));
  if (fault.from == fault.to) return problem("to", "a link joins two different ranks");
  if (scenario.collective.algorithm == Algorithm::Ring && fault.to != (fault.from + 1) % world)
    return problem("to", numbered(numbered("the ring has no link", fault.from) + " →", fault.to),
                   numbered(numbered("from", fault.from) + " to", (fault.from + 1) % world));
  return std::nullopt;
}

std::optional<FaultProblem> check_target(const Fault& fault, const FaultRule& rule,
                                         const Scenario& scenario) {
  const int world = scenario.world_size();
  if (rule.target == FaultTarget::Link) return check_link(fault, rule, scenario);
  if (fault.node >= 0 && fault.rank >= 0)
    return problem("node", std::string(rule.word) + " strikes a rank or a node, not both", "rank or node");
  if (rule.target == FaultTarget::RankOrNode && fault.node >= 0) {
    if (fault.node < scenario.cluster.nodes) return std::nullopt;
    return problem("node", numbered("there is no node", fault.node), range(0, scenario.cluster.nodes - 1));
  }
  if (fault.rank < 0)
    return problem(
        "rank",
        std::string(rule.word) + " needs a rank" + (rule.target == FaultTarget::Rank ? "" : " or a node"),
        range(0, world - 1));
  if (fault.rank >= world)
    return problem("rank", numbered("there is no rank", fault.rank), range(0, world - 1));
  return std::nullopt;
}

std::optional<FaultProblem> check_numbers(const Fault& fault, const FaultRule& rule,
                                          const Scenario& scenario) {
  const bool touches = (rule.allowed & kFieldElement) != 0;
  if (!touches) return std::nullopt;
  if (scenario.tensor.values == ValueSource::None && !scenario.training.network.enabled)
    return problem("kind", std::string(rule.word) + " needs numbers, and values = \"none\" has none");
  const std::int64_t count = scenario.tensor.shape.count();
  if (fault.element >= count)
    return problem("element", numbered("there is no element", fault.element), range(0, count - 1));
  const auto bits = static_cast<std::int32_t>(8 * size_of(scenario.tensor.dtype));
  if (fault.kind == FaultKind::BitFlip && fault.bit >= bits)
    return problem("bit", numbered("there is no bit", fault.bit), range(0, bits - 1));
  if (fault.kind != FaultKind::BitFlip && !is_floating(scenario.tensor.dtype))
    return problem("kind", std::string(rule.word) + " needs a floating dtype, and " +
                               std::string(to_word(scenario.tensor.dtype)) + " has no such value");
  return std::nullopt;
}

std::optional<FaultProblem> check_sense(const Fault& fault, const Scenario& scenario) {
  switch (fault.kind) {
    case FaultKind::Slow:
      if ((fault.duration_ns > 0) == (fault.factor_ppm > 0))
        return problem("kind", "slow needs either duration (longer by so much every step) or factor",
                       "duration or factor");
      break;
    case FaultKind::Shape:
      if (fault.shape && *fault.shape == scenario.tensor.shape)
        return problem("shape", "the fault's shape is the shape that every rank has", "another shape");
      if (fault.shape && fault.shape->count() < scenario.training.buckets)
        return problem("shape", "fewer elements than there are buckets (training.buckets)",
                       numbered("at least", scenario.training.buckets));
      break;
    case FaultKind::DType:
      if (fault.dtype && *fault.dtype == scenario.tensor.dtype)
        return problem("dtype", "the fault's dtype is the dtype that every rank has", "another dtype");
      break;
    case FaultKind::Op:
      if (fault.op && *fault.op == scenario.collective.op)
        return problem("op", "the fault's op is the op that every rank has", "another op");
      break;
    default:
      break;
  }
  return std::nullopt;
}

/// The phases of a step in their order, for "after".
int phase_rank(Phase phase) {
  return static_cast<int>(phase);
}

bool same_target(const Fault& a, const Fault& b) {
  return a.rank == b.rank && a.node == b.node && a.from == b.from && a.to == b.to;
}

}  // namespace

const std::vector<FaultRule>& fault_rules() {
  static const std::vector<FaultRule> rules = [] {
    std::vector<FaultRule> list = make_rules();
    for (FaultRule& rule : list) rule.allowed |= kFieldTime;  // any fault may be given by hand, at a time
    return list;
  }();
  return rules;
}

const FaultRule& rule_of(FaultKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  RINGSIDE_CHECK_LT(index, fault_rules().size());
  return fault_rules()[index];
}

std::string_view to_word(FaultKind kind) {
  return rule_of(kind).word;
}

std::optional<FaultKind> fault_kind_from(std::string_view word) {
  for (const FaultRule& rule : fault_rules()) {
    if (rule.word == word) return rule.kind;
  }
  return std::nullopt;
}

const std::vector<DiagnosisKind>& may_lead_to(FaultKind kind) {
  return rule_of(kind).leads_to;
}

bool supported_live(FaultKind kind) {
  return rule_of(kind).live;
}

std::vector<std::string_view> legal_fields(const FaultRule& rule) {
  std::vector<std::string_view> fields{"kind"};
  if (rule.target != FaultTarget::Link) fields.push_back("rank");
  if (rule.target == FaultTarget::RankOrNode) fields.push_back("node");
  if (rule.target == FaultTarget::Link) fields.insert(fields.end(), {"from", "to"});
  fields.push_back("step");
  constexpr std::pair<std::uint32_t, std::string_view> kFields[] = {
      {kFieldAt, "at"},         {kFieldTime, "time"},       {kFieldDuration, "duration"},
      {kFieldFactor, "factor"}, {kFieldElement, "element"}, {kFieldBit, "bit"},
      {kFieldShape, "shape"},   {kFieldDType, "dtype"},     {kFieldOp, "op"}};
  for (const auto& [bit, name] : kFields) {
    if ((rule.allowed & bit) != 0) fields.push_back(name);
  }
  return fields;
}

std::optional<FaultProblem> check_fault(const Fault& fault, const Scenario& scenario) {
  const FaultRule& rule = rule_of(fault.kind);
  if (auto found = check_target(fault, rule, scenario)) return found;
  if (!fault.at_ns && (fault.step < 1 || fault.step > scenario.training.steps))
    return problem("step", numbered("there is no training step", fault.step),
                   range(1, scenario.training.steps));
  if (auto found = check_numbers(fault, rule, scenario)) return found;
  return check_sense(fault, scenario);
}

std::optional<Error> contradiction(const Fault& first, const Fault& second) {
  if (first.at_ns.has_value() != second.at_ns.has_value()) return std::nullopt;
  if (!same_target(first, second)) return std::nullopt;
  const bool same_moment = first.at_ns ? first.at_ns == second.at_ns : first.step == second.step;
  const bool same_place = same_moment && (first.at_ns || first.at == second.at);
  const auto clash = [&](std::string what) {
    Error error;
    error.what = std::move(what);
    if (first.line > 0) error.hint = numbered("the other one stands in line", first.line);
    return error;
  };
  if (first.kind == second.kind && same_moment && first.element == second.element)
    return clash("the fault " + std::string(to_word(second.kind)) +
                 " is given twice for the same place and moment");
  const bool first_ends = rule_of(first.kind).ends_rank, second_ends = rule_of(second.kind).ends_rank;
  if (first_ends && second_ends && same_place)
    return clash(std::string(to_word(second.kind)) + " contradicts " + std::string(to_word(first.kind)) +
                 " at the same moment: the rank can end only once");
  const auto phased = [](const Fault& fault) { return (rule_of(fault.kind).allowed & kFieldAt) != 0; };
  if (!phased(first) || !phased(second)) return std::nullopt;
  const bool after = same_moment && !first.at_ns && phase_rank(second.at) > phase_rank(first.at);
  const bool before = same_moment && !first.at_ns && phase_rank(first.at) > phase_rank(second.at);
  if ((first_ends && after) || (second_ends && before))
    return clash(std::string(to_word(second.kind)) + " contradicts " + std::string(to_word(first.kind)) +
                 " in the same step: after one of them the rank does nothing more");
  return std::nullopt;
}

}  // namespace ringside::sim
