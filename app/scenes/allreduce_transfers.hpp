// Every transfer of one collective as the trace tells it: begin, arrival, end, and the numbers before and
// after. Built once and extended when the trace grows; frames are looked up in it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "sim/trace/trace.hpp"

namespace ringside::app {

struct TransferRecord {
  std::uint32_t step = 0, chunk = 0;
  std::int32_t src = 0, dst = 0;
  std::uint16_t channel = 0, loop = 0;
  bool reduces = false;
  std::int64_t start = -1, arrive = -1, done = -1;  // -1 = the trace does not say (yet)
  std::int64_t bytes = 0;
  std::uint32_t sample = sim::kNone;  // what travels
  std::uint32_t own = sim::kNone;     // the receiver's working numbers before; kNone = its input
  std::uint32_t after = sim::kNone;   // the receiver's chunk after
};

class TransferTable {
 public:
  /// Makes the table that of `coll`; cheap when nothing changed. `revision` changes when the trace was
  /// replaced.
  void update(const sim::Trace& trace, std::uint32_t coll, std::uint64_t revision);

  /// Ordered by (step, src, channel, loop, chunk).
  const std::vector<TransferRecord>& all() const { return records_; }
  /// Index of the last transfer into (rank, chunk) that is done at t; -1 = none.
  int last_into(int rank, std::uint32_t chunk, std::int64_t t) const;
  /// True if `rank` began to send `chunk` away to be reduced before t.
  bool gave_away(int rank, std::uint32_t chunk, std::int64_t t) const;
  /// The transfers of one ring step: [first, last) in all().
  std::pair<std::size_t, std::size_t> of_step(std::uint32_t step) const;
  /// The collective went through, but the trace does not say how: its ring steps were sampled or lost. `total` of
  /// its schedule on `world` ranks; 0 = not known.
  bool untold(std::size_t total, int world) const {
    return finished_ > 0 && (records_.empty() || (finished_ >= world && records_.size() < total));
  }

 private:
  using Key = std::array<std::uint32_t, 6>;
  using Place = std::pair<std::int32_t, std::uint32_t>;  // rank, chunk
  void take(const sim::Event& event);
  void rebuild(const sim::Trace& trace);

  std::uint32_t coll_ = sim::kNone;
  std::uint64_t revision_ = 0;
  std::size_t seen_ = 0;
  int finished_ = 0;  // ranks
  std::map<Key, TransferRecord> by_key_;
  std::vector<TransferRecord> records_;
  std::map<Place, std::vector<std::uint32_t>> into_, out_of_;
};

}  // namespace ringside::app
