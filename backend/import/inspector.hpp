// NCCL Inspector (2.28.3 and later): one file a process, one JSON object a line for each collective. Of all
// ranks of one collective, the one that comes last spends the shortest time in it, since the others have to
// wait for it: that is how a straggler shows, without comparing clocks of different hosts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backend/import/evidence.hpp"
#include "sim/diagnosis/diagnosis.hpp"

namespace ringside::backend {

/// What is kept of one rank in one communicator.
struct InspectorRank {
  std::int64_t rank = -1;
  std::string host;
  std::int64_t pid = -1;
  std::int64_t collectives = 0;
  std::int64_t last_sn = 0;
  std::string last_op;
  std::int64_t compared = 0;      // collectives of which another rank's time is known as well
  std::int64_t last_in = 0;       // of these: it was in it for the shortest time, and clearly so
  std::int64_t latest_start = 0;  // of these with start times: it started last
  std::int64_t started = 0;       // collectives of which start times are known
  std::int64_t waited_us = 0;     // time that the others spent waiting for it, summed over `last_in`
  std::uint32_t file = 0;         // index given to begin_file
};

struct InspectorComm {
  std::string id;
  std::string name;
  std::int64_t size = 0;
  std::vector<InspectorRank> ranks;  // ascending rank
  std::int64_t collectives = 0;      // compared
};

/// Reads the files of one job, one after the other. Memory: 56 bytes for each collective of each
/// communicator, at most two million of them; then the newest are left out, which is said.
class InspectorReader {
 public:
  void begin_file(std::uint32_t file) { file_ = file; }
  /// False: the line is not a record of the Inspector (cut, or something else).
  bool line(std::string_view text);
  std::vector<InspectorComm> finish();
  bool left_out() const { return left_out_; }

 private:
  struct Collective;
  struct Comm;
  std::uint32_t file_ = 0;
  std::unordered_map<std::string, std::size_t> comm_ids_;
  std::vector<InspectorComm> comms_;
  struct Key {
    std::uint32_t comm;
    std::int64_t sn;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  struct Times {
    std::int32_t shortest = -1, latest = -1;  // index of the rank in its communicator
    std::int32_t ranks = 0, starts = 0;
    float shortest_us = 0, second_us = 0;  // the two shortest times
    double latest_us = 0, before_us = 0;   // the two latest starts
  };
  std::unordered_map<Key, Times, KeyHash> collectives_;
  bool left_out_ = false;
};

/// Straggler, a rank that is behind the others at the end, or nothing. Ranks are those of the largest
/// communicator.
sim::Diagnosis diagnose(const std::vector<InspectorComm>& comms, const Facts& files);

/// A rank that is late in most collectives, and one that stopped before the others, as Facts
/// (Layer::Inspector).
void append_facts(const std::vector<InspectorComm>& comms, Facts& facts);

}  // namespace ringside::backend
