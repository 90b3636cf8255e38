// Ring steps are told in full while there are few of them, and of every 2nd, 4th, 8th … training step when there
// are many.
//
// Why: sixteen ranks that make three hundred small training steps a second make four hundred thousand events a
// second. Nobody can look at them, but every one is made into a line, recorded, and sent to each viewer. What
// happened in a call (called, started, finished, phases, values, errors) is always told; what is sampled is its
// inside.
//
// How: ring steps of a call that is not to be told are held back until it has ended, and thrown away then. They
// are told after all when the call does not end soon, when something went wrong, and when the rank ends: the
// call that a job hangs in is always there in full, with who waits for whom. What is thrown away has no `n`: it
// is no loss, and the trace says that it was sampled.
//
// Which: the training steps that a power of two divides, so that ranks that measure a little differently still
// tell the same ones; it changes at multiples of 64 only, for the same reason. A call outside a training step
// counts by its seq.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backend/live/telemetry.hpp"

namespace ringside::backend {

class DetailSampler {
 public:
  /// What a job may tell of ring steps in a second, all ranks together.
  static constexpr std::int64_t kPerSecond = 4'000;
  /// So many seconds' worth may be told at once.
  static constexpr double kStoreSeconds = 5;
  static constexpr std::int64_t kHoldNs = 200'000'000;  // a call that takes longer is told

  /// `world_size` ranks share `per_second`; 0 = everything is told.
  void set_budget(std::int64_t per_second, int world_size);
  /// True: tell the record now. Otherwise it is held back.
  bool look(const Record& record);
  /// Held records that are to be told now, in their order: of calls that have not ended by `now_ns` (on the
  /// records' clock), or all of them when the rank ends or something went wrong.
  std::vector<Record> due(std::int64_t now_ns);
  std::vector<Record> all();
  /// Ring steps are told of one training step in so many; 1 = of all.
  std::int64_t stride() const { return stride_; }
  /// The stride if it has changed since the last call.
  std::optional<std::int64_t> news();
  bool holds() const { return !held_.empty(); }

 private:
  void begin_call(const Record& record);
  void end_call(const Record& record);
  void choose(std::int64_t t);

  double per_second_ = 0;  // of this rank; 0 = no limit
  double left_ = 0;
  std::int64_t last_ns_ = 0;       // when `left_` was right
  std::int64_t window_ns_ = 0;     // when counting began
  std::int64_t counted_ = 0;       // ring steps since, told or not
  std::int64_t stride_ = 1, said_ = 1;
  std::int64_t block_ = -1;        // training step / 64 of the last choice
  bool telling_ = true;            // the call that runs
  bool late_ = false;              // it was held back, and took too long
  std::vector<Record> held_;
};

}  // namespace ringside::backend
