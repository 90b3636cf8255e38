// How a NaN spreads through one collective and through the job: a function of the Trace, a Frame and what the
// AllReduce scene already makes of them. No places, no ImGui.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/scenes/allreduce_view.hpp"

namespace ringside::app {

enum class PoisonState : std::uint8_t { Clean, Next, Poisoned, Source };

/// One rank on the way of the followed chunk: from which ring step on its working value is NaN.
struct PoisonStop {
  int rank = 0;
  std::uint32_t step = 0;  // 0: it brought the NaN itself
  bool owner = false;      // it completes the sum of this chunk
  bool reached = false, now = false, next = false;
};

/// The four rings of spreading, each later than the one before. -1: the trace does not come to it.
struct PoisonStages {
  std::int64_t element = -1;  // the first NaN is found
  std::int64_t update = -1;   // the first optimizer step that used it is over: that weight, on every rank
  std::int64_t losses = -1;   // the first loss that is NaN
  std::int64_t weights = -1;  // the optimizer step after it is over: every weight
  int losses_nan = 0;         // ranks whose latest loss is NaN at t
};

struct PoisonView {
  bool any = false;       // a NaN is known at t (found by a rank, or inside a cell)
  bool in_trace = false;  // … or will be, later in this trace
  bool hides = false;     // op min or max: it drops NaN (facts of NCCL's ncclMin and ncclMax)
  bool hidden = false;    // … and it has: the result is complete and clean
  int first_rank = -1;    // who had the first one
  std::int64_t first_element = -1, first_step = 0, first_t = -1;
  std::uint32_t chunk = 0;       // followed
  std::vector<PoisonStop> path;  // in the order in which they are reached; ranks never reached are left out
  std::uint32_t everywhere = 0;  // the ring step after which every rank holds it; 0 = not in this collective
  std::vector<PoisonState> ranks;
  int ranks_poisoned = 0;             // by the followed chunk, working values
  int cells_poisoned = 0, cells = 0;  // chunks of finished tensors
  int cells_at_end = 0;               // … at the end of this collective
  PoisonStages stages;
};

/// What the whole trace says about the spread: made once per trace.
class PoisonHistory {
 public:
  void update(const sim::Trace& trace, std::uint64_t revision);
  std::int64_t first_t = -1, first_element = -1, first_step = 0;
  int first_rank = -1;
  std::int64_t update_t = -1, losses_t = -1, weights_t = -1;

 private:
  void take(const sim::Trace& trace, const sim::Event& e);
  std::uint64_t revision_ = ~std::uint64_t{0};
  std::size_t seen_ = 0;
};

/// Ranks whose latest loss is NaN.
int losses_that_are_nan(const sim::Frame& frame);

/// `followed` < 0: the chunk with the first NaN. `ring` and `table` are of the collective on stage.
PoisonView make_poison_view(const sim::Trace& trace, const sim::Frame& frame, const RingView& ring,
                            const TransferTable& table, const PoisonHistory& history, std::int64_t followed);

/// What happens now, in one or two sentences.
std::vector<Sentence> poison_sentences(const PoisonView& view, const RingView& ring);

}  // namespace ringside::app
