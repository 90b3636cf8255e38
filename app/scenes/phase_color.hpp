// The colour of a phase in lanes of time: the same in the training step and in a live job.
#pragma once

#include "app/draw/theme.hpp"
#include "sim/trace/event.hpp"

namespace ringside::app {

inline Color phase_color(const Theme& t, sim::Phase phase) {
  switch (phase) {
    case sim::Phase::Forward:
      return t.forward;
    case sim::Phase::Backward:
      return t.backward;
    case sim::Phase::AllReduce:
      return t.comm;
    default:
      return t.update;
  }
}

}  // namespace ringside::app
