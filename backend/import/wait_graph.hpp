// Who waits for whom, from Flight Recorder dumps: the picture of a hang, and its roots (ranks that wait for
// nobody).
//
// Every rank is represented by its oldest unfinished call. A p2p call waits for its peer; a collective
// (group, seq) waits for every member that has not called it: no entry for it, and fewer calls enqueued in
// that group. Members that finished it are "ahead". A rank without outgoing edges is a root, and what it does
// tells the kind of the hang.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/import/flight_recorder.hpp"

namespace ringside::backend {

/// The collectives of one dump by (group, seq), and how far the rank is in each group.
class FrCallIndex {
 public:
  explicit FrCallIndex(const FrDump& dump);  // `dump` must outlive it
  /// First entry of this call, or null when the dump does not hold it.
  const FrEntry* find(std::uint32_t group, std::int64_t seq) const;
  /// Collectives that the rank has enqueued in a group, as far as the dump shows; -1 unknown.
  std::int64_t enqueued(std::uint32_t group) const;
  /// Whether a call that was enqueued, and whose entry is gone, has finished.
  bool completed(std::uint32_t group, std::int64_t seq) const;

 private:
  // In a group that also sends point to point, torch's counters hold whichever came last and compare with
  // nothing; the entries, which carry the number of collectives so far, still do.
  struct Counters {
    std::int64_t enqueued = -1, completed = -1;
    bool p2p = false;
  };
  const FrDump* dump_;
  std::vector<std::tuple<std::uint32_t, std::int64_t, std::uint32_t>> places_;
  std::map<std::uint32_t, Counters> groups_;
};

/// What a rank does at the moment of the dumps.
enum class FrStand : std::uint8_t {
  Waits,      // for other ranks
  Idle,       // has no unfinished call: its host side does something else, or nothing
  Stuck,      // its own call was finished by other members, so its GPU or stream is what does not move
  AllJoined,  // every member has called, nobody is missing, and still it does not end
  NoDump,     // expected, or waited for, and without a dump
};

/// One call that somebody waits in.
struct FrOp {
  std::uint32_t group = 0;
  std::int64_t seq = 0;  // collective; p2p: the p2p sequence number
  bool p2p = false;
  std::uint32_t op = 0;      // text
  std::vector<int> waiters;  // ranks whose oldest unfinished call it is, ascending
  std::vector<int> missing;  // members (p2p: the peer) that it waits for, ascending
  std::vector<int> ahead;    // members that finished it
  std::vector<int> unseen;   // members without a dump; also in `missing` when nothing else explains the wait
};

struct FrNode {
  int rank = -1;
  FrStand stand = FrStand::Idle;
  std::int32_t op = -1;           // index into WaitGraph::ops, -1 none
  const FrEntry* call = nullptr;  // the oldest unfinished one
  bool awaited = false;           // somebody waits for it
};

struct WaitGraph {
  std::vector<FrNode> nodes;    // ascending rank: every rank with a dump, and every one that is waited for
  std::vector<FrOp> ops;        // by (group, seq)
  std::vector<int> roots;       // ascending: Idle and awaited, Stuck and awaited, NoDump and awaited
  std::vector<int> all_joined;  // ranks that wait in a call that all members have joined
  std::vector<std::vector<int>> cycles;  // each ascending: ranks that wait for each other, with no way out
  const FrNode* node(int rank) const;
  /// [from, to] pairs, at most `limit`.
  std::vector<std::pair<int, int>> edges(std::size_t limit = 65'536) const;
};

/// The graph of one job. Points into `recorder`, which must outlive it.
WaitGraph wait_graph(const FlightRecorder& recorder);

}  // namespace ringside::backend
