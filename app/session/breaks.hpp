// What can be broken on a thing at a moment, and why not where it cannot: the contents of the break menu.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/session/actions.hpp"
#include "sim/scenario/fault_rules.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/trace/frame.hpp"

namespace ringside::app {

enum class BreakGroup : std::uint8_t { Numbers, Process, Calls, Hardware, Link };

struct BreakChoice {
  BreakGroup group = BreakGroup::Process;
  sim::Fault fault;     // complete: defaults that make sense in this job
  std::string why_not;  // in the person's language; "" = it can happen
};

/// The moment in which something breaks. `frame` = just before it: a command comes before all else at its
/// time.
struct BreakMoment {
  const sim::Scenario& scenario;
  const sim::Frame& frame;
  std::int64_t t = 0, end_time = 0;
  const std::vector<sim::Fault>& faults;  // that are there already
};

/// What fits the target: a link has its own faults; a rank, a chunk or a number those of the rank, with
/// `element` as the number that they touch. A node without a rank: those that may strike a node. Nothing
/// selected: rank 0.
std::vector<BreakChoice> break_choices(const Selection& target, const BreakMoment& moment);
/// Why this fault cannot happen at the moment; "" if it can.
std::string why_not_break(const sim::Fault& fault, const BreakMoment& moment);

/// "R2 crash", "R1 → R2 link down", "n3 gpu reset": for lists of branches.
std::string fault_name(const sim::Fault& fault);
/// "Link down": the kind as a title.
std::string fault_title(sim::FaultKind kind);
/// The target of a fault: "R2", "R1 → R2", "n3".
std::string target_name(const sim::Fault& fault);

}  // namespace ringside::app
