// What watchdog lines say, sorted by process group: which ranks wait in which call of the group, and who is
// not there.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "backend/import/case.hpp"

namespace ringside::backend {

/// One rank's oldest unfinished call in a group.
struct StuckCall {
  const Fact* fact = nullptr;
  std::int64_t seq = -1;
  std::string op;
  std::int64_t numel_in = -1;
  std::int64_t numel_out = -1;
};

struct WatchedGroup {
  std::string key;                   // GUID or id; empty: the log gives no group (torch <= 2.1)
  std::string name;                  // description
  std::map<int, StuckCall> waiting;  // global rank -> call
  std::map<int, std::int64_t>
      enqueued;  // global rank -> last enqueued, also of ranks that only answered a dump signal
  std::map<int, int> global_of;     // group rank -> global rank, where lines give both
  std::vector<const Fact*> desync;  // lines that name lagging ranks (group ranks)
  std::int64_t size = 0;            // members; 0 unknown
  bool whole_job = false;
  std::int64_t started_ns = -1;  // when the first stuck call began to wait

  /// Global rank of a group rank: known, or by the constant stride that all known pairs have. -1 unknown.
  int to_global(int group_rank) const;
  /// All members, if size and mapping are known; otherwise empty.
  std::vector<int> members() const;
};

/// Groups in the order in which they got stuck.
std::vector<WatchedGroup> watched_groups(const Case& c);

}  // namespace ringside::backend
