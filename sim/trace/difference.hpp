// Where two traces part: what happened in one and not, or not so, in the other.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/trace/trace.hpp"

namespace ringside::sim {

/// The first difference of two traces in the order of a Frame (t, src, n). Commands are not looked at: they
/// are what a person did, not what happened.
struct Difference {
  std::int64_t t = 0;           // when: the earlier of the two events
  bool in_second = false;       // which trace `event` belongs to: the earlier one; the first at equal times
  std::uint32_t event = kNone;  // index into that trace
  std::uint32_t other_event = kNone;  // what the other trace has at this place; kNone = it has ended
  Source source;                      // who says it
  std::int64_t step = 0;              // training step and phase of that rank then; 0 = not in a step
  Phase phase = Phase::Init;
  bool operator==(const Difference&) const = default;
};

/// Nothing if the same things happen at the same times in both. Events before `from` are taken as equal (a
/// fork shares its past): only their phases are read. O(events).
std::optional<Difference> first_difference(const Trace& first, const Trace& second, std::int64_t from = 0);

/// True if both say the same: the same JSON apart from `n`, which counts commands too.
bool same_event(const Trace& first, const Event& a, const Trace& second, const Event& b);

}  // namespace ringside::sim
