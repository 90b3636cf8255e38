// One training step as the scene shows it at a time: lanes with what each rank does when, buckets with who
// has filled them, waits, what is exposed. A function of the StepIndex, the trace and a time; no places, no
// ImGui.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/scenes/step_index.hpp"
#include "sim/trace/frame.hpp"

namespace ringside::app {

/// A stretch of work. `layer` >= 0: this layer's part of backward.
struct WorkPiece {
  sim::Phase phase = sim::Phase::Forward;
  int layer = -1;
  std::int32_t step = 0;  // training step
  std::int64_t from = 0, to = 0;
};

/// A collective on one rank: called, waits until all are there, moves, over. Times beyond the trace are its
/// end.
struct CommPiece {
  std::uint32_t coll = 0;
  int bucket = 0;
  std::int64_t from = 0;   // it entered
  std::int64_t moves = 0;  // all are there
  std::int64_t to = 0;     // it is over
  bool never = false;      // it never is, as far as the trace knows
};

struct StepLane {
  int rank = 0;
  std::vector<WorkPiece> work;
  std::vector<CommPiece> comm;
  std::int64_t ended = -1;  // its process is gone since
  bool failed = false;
};

enum class BucketState : std::uint8_t { Filling, Waiting, Moving, Done };
struct BucketView {
  std::uint32_t coll = sim::kNone;  // kNone: nobody has called it yet
  int bucket = 0;
  std::int64_t offset = 0, count = 0;
  int first_layer = -1, last_layer = -1;  // that have numbers in it; -1: not known
  BucketState state = BucketState::Filling;
  std::vector<std::uint8_t> ready;  // per rank: it has called
  int ready_count = 0;
  int waits_for = -1;  // one rank that has not, if only few have not
};

struct SlowLane {
  int rank = -1;
  int percent = 0;  // longer than the median
};

struct Exposure {
  std::int64_t total = 0, exposed = 0,
               waiting = 0;  // of one rank: moving, moving without work, waiting without work
};

struct StepView {
  bool empty = true;     // the trace has no training steps
  bool grouped = false;  // one lane for the whole job
  int world = 0;
  std::int32_t step = 0, last_step = 0;
  std::int64_t from = 0, to = 1, t = 0;
  bool open = false;            // somebody never finishes it, as far as the trace knows
  bool together = true;         // collectives hold the ranks together; else each is where it is
  std::int64_t longest_ns = 0;  // of a single rank, from its begin of the step to its end
  std::vector<StepLane> lanes;
  int hidden_lanes = 0;  // ranks that have no lane, for want of room
  std::vector<BucketView> buckets;
  std::optional<SlowLane> slow;
  std::vector<std::int64_t> step_begins;  // of all steps, by place in the index
};

/// `most_lanes`: of more ranks, the slow ones and some at equal distances are shown. `scenario` may be null.
StepView make_step_view(const StepIndex& index, const sim::Trace& trace, const sim::Frame& frame,
                        const sim::Scenario* scenario, int most_lanes);

/// What this rank's communication costs in the step on view; nothing if it has none.
std::optional<Exposure> exposure_of(const StepView& view, int rank);

/// "fc2", of the layer with this index.
std::string layer_name(int layer);
/// "fc2.weight.grad[3, 5]": the parameter at this place of the flat gradient.
std::string element_name(const sim::NetworkSpec& network, std::int64_t element);

}  // namespace ringside::app
