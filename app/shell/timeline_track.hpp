// Positions on the timeline of the transport bar: times to pixels and back, long waits cut.
#pragma once

#include <algorithm>
#include <cstdint>

#include "app/session/time_axis.hpp"

namespace ringside::app {

struct TimelineTrack {
  float x = 0, y = 0, w = 0;
  std::int64_t from = 0, to = 1;
  const TimeAxis* axis = nullptr;

  float at(std::int64_t t) const {
    const double a = axis->place(from), span = std::max(1.0, axis->place(to) - a);
    return x + w * static_cast<float>(std::clamp((axis->place(t) - a) / span, 0.0, 1.0));
  }
  std::int64_t time_at(float px) const {
    const double share = std::clamp(static_cast<double>((px - x) / w), 0.0, 1.0);
    const double a = axis->place(from);
    return std::clamp(axis->time(a + share * (axis->place(to) - a)), from, to);
  }
};

}  // namespace ringside::app
