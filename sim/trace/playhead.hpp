// Where in time a viewer stands, and how it moves: play, pause, step by event, ring step or phase, loop,
// follow.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "sim/trace/trace.hpp"

namespace ringside::sim {

enum class PlayMode : std::uint8_t { Paused, Playing, Follow };
enum class StepUnit : std::uint8_t { Event, Transfer, RingStep, Phase, TrainingStep };
std::string_view to_word(StepUnit unit);

struct Playhead {
  PlayMode mode = PlayMode::Paused;
  std::int64_t t = 0;
  double speed = 1.0;  // simulated ns per wall ns; log scale in the UI
  bool loop = false;
  StepUnit unit = StepUnit::RingStep;

  /// Wall time passed: moves t if playing; at the end it pauses, or starts over if looping. Returns true if t
  /// changed.
  bool advance(std::int64_t wall_ns, std::int64_t end_time);
};

/// The time of the next (previous) boundary of a unit after (before) t; the end (0) when there is none. Ring
/// step boundaries are the times when the last transfer of a ring step is done.
std::int64_t next_time(const Trace& trace, StepUnit unit, std::int64_t t);
std::int64_t previous_time(const Trace& trace, StepUnit unit, std::int64_t t);

/// When each ring step of each collective is complete, by (coll, ring step from 1): the latest of its
/// transfers. One pass over the trace.
std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> ring_step_times(const Trace& trace);

/// The time when ring step s (from 1) of a collective is complete; -1 if it never is.
std::int64_t ring_step_end(const Trace& trace, std::uint32_t coll, std::uint32_t ring_step);

}  // namespace ringside::sim
