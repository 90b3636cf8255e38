// When every rank worked, called and waited, training step by training step, read off a trace. Knows nothing
// of where the trace came from; grows with it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "sim/trace/trace.hpp"

namespace ringside::app {

/// A phase of a rank. `to` = -1: it has not ended in the trace.
struct PhaseSpan {
  std::int32_t step = 0;
  sim::Phase phase = sim::Phase::Init;
  std::int64_t from = 0, to = -1;
};

/// A rank's call of a collective. `finished` = -1: it never came back in the trace.
struct CallSpan {
  std::uint32_t coll = 0;
  std::int64_t called = 0, finished = -1;
};

/// One training step of the whole job: from the first rank's begin to the last rank's end.
struct StepSpan {
  std::int32_t step = 0;
  std::int64_t from = 0, to = 0;
};

class StepIndex {
 public:
  /// Takes in what the trace has got since; starts anew with another generation. `offsets`: how far the clock
  /// of each rank's host is ahead; its events count as so much earlier. Other offsets start anew too.
  void update(const sim::Trace& trace, std::uint64_t generation,
              const std::vector<std::int64_t>& offsets = {});

  struct RankTimes {
    std::vector<PhaseSpan> phases;
    std::vector<CallSpan> calls;
    std::int64_t ended = -1;  // its process is gone since
    bool failed = false;      // and not as it should
  };
  /// By rank; of a world of groups there is one entry: the job as a whole.
  const std::vector<RankTimes>& ranks() const { return ranks_; }
  bool grouped() const { return grouped_; }
  /// Ordered by step. A step that was done twice (a restart) spans both.
  const std::vector<StepSpan>& steps() const { return steps_; }
  const StepSpan* find(std::int32_t step) const;
  /// The collectives of a step, by sequence number.
  std::vector<std::uint32_t> collectives(const sim::Trace& trace, std::int32_t step) const;
  /// When the data of a collective can begin to move: the last member's entry. -1: not all have come.
  std::int64_t all_there(std::uint32_t coll) const;
  /// The members that have not entered at t, at most `most` of them.
  std::vector<int> missing(std::uint32_t coll, std::int64_t t, std::size_t most) const;
  std::int64_t entered(std::uint32_t coll, int rank) const;  // -1: never

 private:
  void take(const sim::Trace& trace, const sim::Event& e);
  void note_step(std::int32_t step, std::int64_t from, std::int64_t to);

  std::uint64_t generation_ = ~std::uint64_t{0};
  std::vector<std::int64_t> offsets_;
  std::size_t seen_ = 0;
  bool grouped_ = false;
  std::int32_t world_ = 0;
  std::vector<RankTimes> ranks_;
  std::vector<StepSpan> steps_;
  std::map<std::int32_t, std::vector<std::uint32_t>> colls_;    // by step
  std::map<std::uint32_t, std::vector<std::int64_t>> entered_;  // by collective, per rank; -1 = not yet
};

}  // namespace ringside::app
