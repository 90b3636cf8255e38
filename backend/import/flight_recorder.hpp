// PyTorch's Flight Recorder dumps (one file a rank, pickle or JSON, versions 2.0 to 2.10), read into one
// structure for the whole job: process groups, the last calls of every rank with their states, and each
// rank's counters.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backend/import/input.hpp"
#include "backend/import/plain_data.hpp"
#include "sim/base/result.hpp"

namespace ringside::backend {

enum class FrState : std::uint8_t { Scheduled, Started, Completed };
std::string_view to_word(FrState state);

/// One call of one rank. Numbers that index texts or groups belong to the FlightRecorder.
struct FrEntry {
  std::int64_t record_id = 0;  // counts the calls of a process, over all groups
  std::int64_t seq =
      0;  // collective sequence number in its group; a p2p call carries that of the last collective
  std::int64_t p2p_seq = 0;
  std::int64_t created_ns = 0;    // Unix time on the rank's clock; 0 unknown
  std::int64_t completed_ns = 0;  // when its watchdog saw the end; 0 unknown
  std::uint32_t group = 0;
  std::uint32_t op = 0;  // "all_reduce", "send", "coalesced" …: without the library's name
  std::uint32_t input_sizes = 0, output_sizes = 0;  // "[[4096, 1, 5120]]"
  std::uint32_t input_dtypes = 0, output_dtypes = 0;
  std::uint32_t site = 0;  // innermost frame that is not torch's: "train_step (loop.py:131)"
  std::int32_t peer = -1;  // p2p: group rank of the other end
  std::int32_t timeout_ms = 0;
  FrState state = FrState::Scheduled;  // of a call inside a coalesced batch: that of the batch
  bool p2p = false;
  bool retired = false;  // the watchdog has dropped it; not completed then means timed out
};

/// Counters of one rank in one group; -1 unknown. In a group that also sends point to point, torch counts
/// both in one.
struct FrStatus {
  std::int64_t enqueued = -1, started = -1, completed = -1;
};

struct FrGroup {
  std::string name;        // "0", "43", or a hash
  std::string desc;        // "default_pg", "TENSOR_MODEL_PARALLEL_GROUP"; may be empty
  std::vector<int> ranks;  // global ranks in the order of group ranks
  bool certain = true;     // false: no dump states the members; they are the ranks that used it
};

struct FrDump {
  int rank = -1;
  std::string file;
  std::string version;           // of the format: "2.9"
  std::string library;           // NCCL's version
  std::vector<FrEntry> entries;  // ascending record_id; all unfinished ones and the newest completed ones
  std::map<std::uint32_t, FrStatus> status;  // by group
};

/// All dumps of one job.
struct FlightRecorder {
  std::vector<FrGroup> groups;
  std::vector<FrDump> dumps;       // ascending rank
  std::vector<std::string> texts;  // [0] is empty
  std::vector<sim::Error> problems;
  std::string_view text(std::uint32_t id) const { return texts[id]; }
  const FrDump* dump_of(int rank) const;
  /// Ranks of the default group, or of all groups together: those that should have a dump. Ascending.
  std::vector<int> expected_ranks() const;
};

/// Rank in a dump's file name: after .json, .pickle, .pkl, .gz and .zst are stripped, its trailing digits; -1
/// without any.
int rank_from_dump_name(std::string_view name);

/// Collects dumps of one job, one at a time, so that only one document is in memory.
class FrReader {
 public:
  /// `document` is the whole dump; `kind` FlightRecorderPickle or FlightRecorderJson. Errors: not a dump,
  /// broken, no rank in its name, a rank that was there before. The others stay.
  sim::Status add(std::string_view name, std::string_view document, InputKind kind);
  /// Completes what the dumps together say. The reader is empty afterwards.
  FlightRecorder finish();
  bool has_rank(int rank) const { return ranks_.count(rank) > 0; }

 private:
  struct Config;  // one dump's groups by name and by local id
  std::uint32_t text_id(std::string_view text);
  std::uint32_t group_id(std::string_view name, std::string_view desc, const std::string& ranks);
  void read_config(const PlainData::Ref& root, Config& config);
  std::uint32_t group_of(const PlainData::Ref& entry, Config& config);
  FrEntry read_entry(const PlainData::Ref& entry, Config& config);
  void read_status(const PlainData::Ref& root, const Config& config, FrDump& dump);

  FlightRecorder recorder_;
  std::unordered_map<std::string, std::uint32_t> text_ids_;
  std::unordered_map<std::string, std::uint32_t> group_ids_;
  std::map<int, std::size_t> ranks_;
  std::size_t members_ = 0;
};

/// Reads every dump of a set. Dumps with the same rank in different folders are different jobs: then there is
/// one recorder for each folder. Files of other kinds are left alone. `problems` of each recorder name the
/// dumps that could not be read.
std::vector<FlightRecorder> read_flight_recorders(const InputSet& set, InputMeter* meter = nullptr);

}  // namespace ringside::backend
