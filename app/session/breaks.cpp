#include "app/session/breaks.hpp"

#include <algorithm>

#include "app/i18n/i18n.hpp"
#include "sim/base/text.hpp"
#include "sim/job/groups.hpp"

namespace ringside::app {
namespace {

using sim::Fault;
using sim::FaultKind;
using sim::RankStatus;

constexpr std::int64_t kSecond = 1'000'000'000;

BreakGroup group_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::Nan:
    case FaultKind::InfOverflow:
    case FaultKind::BitFlip:
      return BreakGroup::Numbers;
    case FaultKind::Crash:
    case FaultKind::Hang:
    case FaultKind::Slow:
    case FaultKind::EarlyExit:
    case FaultKind::Oom:
      return BreakGroup::Process;
    case FaultKind::GpuReset:
    case FaultKind::PciePower:
    case FaultKind::IbFlap:
      return BreakGroup::Hardware;
    case FaultKind::LinkDown:
    case FaultKind::LinkSlow:
    case FaultKind::LinkFlap:
      return BreakGroup::Link;
    default:
      return BreakGroup::Calls;
  }
}

/// Another shape that a person might really have: half of every extent, or one more row. At least `least`
/// elements, if the shape itself has as many.
sim::Shape other_shape(sim::Shape shape, std::int64_t least) {
  const bool halves = !shape.extents.empty() &&
                      std::all_of(shape.extents.begin(), shape.extents.end(),
                                  [](std::int64_t extent) { return extent > 1 && extent % 2 == 0; });
  const std::int64_t halved = shape.count() >> shape.rank();
  if (halves && halved >= least) {
    for (std::int64_t& extent : shape.extents) extent /= 2;
  } else if (shape.extents.empty()) {
    shape.extents = {2};
  } else {
    ++shape.extents.front();
  }
  return shape;
}

/// Everything that the kind needs besides its target.
void fill_in(Fault& fault, const sim::Scenario& scenario) {
  const sim::DType dtype = scenario.tensor.dtype;
  switch (fault.kind) {
    case FaultKind::Slow:
      fault.factor_ppm = 500'000;
      break;
    case FaultKind::Shape:
      fault.shape = other_shape(scenario.tensor.shape, scenario.training.buckets);
      break;
    case FaultKind::DType:
      fault.dtype = dtype == sim::DType::Float16 ? sim::DType::Float32 : sim::DType::Float16;
      break;
    case FaultKind::Op:
      fault.op = scenario.collective.op == sim::ReduceOp::Max ? sim::ReduceOp::Sum : sim::ReduceOp::Max;
      break;
    case FaultKind::BitFlip:
      fault.bit = static_cast<std::int32_t>(8 * sim::size_of(dtype)) - 2;  // the largest bit of the exponent
      break;
    case FaultKind::LinkSlow:
      fault.factor_ppm = 100'000;
      break;
    case FaultKind::LinkFlap:
      fault.duration_ns = kSecond;
      break;
    case FaultKind::IbFlap:
      fault.duration_ns = 5 * kSecond;
      break;
    default:
      break;
  }
}

bool touches_numbers(FaultKind kind) {
  return group_of(kind) == BreakGroup::Numbers;
}

/// Kinds that belong to a step of their rank and cannot happen between (sim/job/fault_rules.cpp).
bool belongs_to_a_step(FaultKind kind) {
  switch (group_of(kind)) {
    case BreakGroup::Calls:
    case BreakGroup::Numbers:
      return true;
    case BreakGroup::Process:
      return kind == FaultKind::EarlyExit;
    default:
      return false;
  }
}

bool has_ended(RankStatus status) {
  return status == RankStatus::Dead || status == RankStatus::Exited || status == RankStatus::Terminated ||
         status == RankStatus::Aborted || status == RankStatus::TimedOut;
}

/// Why the rank cannot be struck in the steps that are left to it.
std::string no_step_left(const Fault& fault, const BreakMoment& m, const sim::RankFrame& rank) {
  if (!belongs_to_a_step(fault.kind)) return {};
  if (touches_numbers(fault.kind) && rank.in_collective != sim::kNone) return {};
  const bool whole_step = fault.kind == FaultKind::SkipStep || fault.kind == FaultKind::EarlyExit;
  const bool still_now = !whole_step && rank.step > 0 && rank.phase < sim::Phase::AllReduce;
  std::int64_t step = still_now ? rank.step : rank.step + 1;
  if (fault.kind == FaultKind::ExtraStep) step = std::max(1, rank.step);
  if (step <= m.scenario.training.steps) return {};
  return tr("break.no_step_left", {target_name(fault)});
}

std::string rank_problem(const Fault& fault, const BreakMoment& m) {
  const int r = fault.rank >= 0 ? fault.rank : fault.from;
  if (r < 0 || static_cast<std::size_t>(r) >= m.frame.ranks.size()) return {};
  const sim::RankFrame& rank = m.frame.ranks[static_cast<std::size_t>(r)];
  if (has_ended(rank.status)) return tr("break.ended", {"R" + std::to_string(r)});
  return fault.rank >= 0 ? no_step_left(fault, m, rank) : std::string();
}

std::string numbers_problem(const Fault& fault, const sim::Scenario& s) {
  const bool numbers = s.tensor.values != sim::ValueSource::None || s.training.network.enabled;
  if (touches_numbers(fault.kind) && (!numbers || s.world_size() > sim::kMaxListedRanks))
    return tr("break.no_numbers");
  if ((fault.kind == FaultKind::Nan || fault.kind == FaultKind::InfOverflow) &&
      !sim::is_floating(s.tensor.dtype))
    return tr("break.whole_numbers", {std::string(sim::to_word(s.tensor.dtype))});
  return {};
}

std::string machine_problem(const Fault& fault, const sim::Scenario& s) {
  if (fault.kind == FaultKind::IbFlap && s.cluster.nodes < 2) return tr("break.one_node");
  const bool computes =
      s.training.forward_ns + s.training.loss_ns + s.training.backward_ns + s.training.optimizer_ns > 0;
  if (fault.kind == FaultKind::Slow && !computes) return tr("break.no_work");
  if (sim::rule_of(fault.kind).target == sim::FaultTarget::Link && s.world_size() < 2)
    return tr("break.no_link");
  return {};
}

bool fits(const Selection& target, sim::FaultTarget struck) {
  if (target.link_from >= 0) return struck == sim::FaultTarget::Link;
  if (target.rank < 0 && target.node >= 0) return struck == sim::FaultTarget::RankOrNode;
  return struck != sim::FaultTarget::Link;
}

}  // namespace

std::string why_not_break(const Fault& given, const BreakMoment& m) {
  Fault fault = given;
  fault.at_ns = m.t;
  if (m.end_time > 0 && m.t >= m.end_time) return tr("break.over");
  for (const std::string& why :
       {numbers_problem(fault, m.scenario), machine_problem(fault, m.scenario), rank_problem(fault, m)})
    if (!why.empty()) return why;
  if (const auto problem = sim::check_fault(fault, m.scenario))
    return sim::escape_for_display(problem->error.message());
  for (const Fault& other : m.faults)
    if (sim::contradiction(other, fault)) return tr("break.already", {fault_name(other)});
  return {};
}

std::vector<BreakChoice> break_choices(const Selection& target, const BreakMoment& moment) {
  std::vector<BreakChoice> out;
  for (const sim::FaultRule& rule : sim::fault_rules()) {
    if (!fits(target, rule.target)) continue;
    BreakChoice choice;
    Fault& fault = choice.fault;
    fault.kind = rule.kind;
    if (rule.target == sim::FaultTarget::Link) {
      fault.from = target.link_from;
      fault.to = target.link_to;
    } else if (target.rank < 0 && target.node >= 0) {
      fault.node = target.node;
    } else {
      fault.rank = std::max(0, target.rank);
    }
    if ((rule.allowed & sim::kFieldElement) != 0) fault.element = std::max<std::int64_t>(0, target.element);
    fill_in(fault, moment.scenario);
    fault.at_ns = moment.t;
    choice.group = group_of(rule.kind);
    choice.why_not = why_not_break(fault, moment);
    out.push_back(std::move(choice));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const BreakChoice& a, const BreakChoice& b) { return a.group < b.group; });
  return out;
}

std::string target_name(const Fault& fault) {
  if (fault.from >= 0) return "R" + std::to_string(fault.from) + " → R" + std::to_string(fault.to);
  if (fault.node >= 0) return sim::Scenario::node_name(fault.node);
  return "R" + std::to_string(std::max(0, fault.rank));
}

std::string fault_title(FaultKind kind) {
  std::string out = tr_word("fault", sim::to_word(kind));
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out;
}

std::string fault_name(const Fault& fault) {
  return target_name(fault) + " " + tr_word("fault", sim::to_word(fault.kind));
}

}  // namespace ringside::app
