// A time axis on which long waits take little room. A ring takes microseconds and the watchdog that ends it
// ten minutes: on a linear axis only the wait would be seen. So waits that would take more than a third of
// the axis are cut to a small width, drawn with a break, and played in a moment. Everything else keeps its
// proportions.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/trace/trace.hpp"

namespace ringside::app {

class TimeAxis {
 public:
  /// No cuts, no end: for a trace that still grows.
  TimeAxis() = default;
  /// O(events).
  explicit TimeAxis(const sim::Trace& trace);

  struct Cut {
    std::int64_t from = 0, to = 0;  // ns: nothing happens between
    double at = 0, width = 0;       // where it lies on the axis
  };
  /// The length in ns, with cuts at their width; the end of the trace if there are none.
  double length() const { return length_; }
  double place(std::int64_t t) const;
  std::int64_t time(double place) const;
  const std::vector<Cut>& cuts() const { return cuts_; }

 private:
  std::vector<Cut> cuts_;  // in the order of time
  double length_ = 0;
  std::int64_t end_ = INT64_MAX;
};

}  // namespace ringside::app
