// Who is who: rank <-> host <-> pid <-> local rank <-> device <-> PCI address <-> network address, put
// together from whatever lines give it. Contradictions are kept as conflicts, never averaged.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backend/import/evidence.hpp"

namespace ringside::backend {

struct RankInfo {
  std::string host;
  bool host_inferred = false;  // from its neighbours in rank, not from a line
  std::int64_t pid = -1;
  int local_rank = -1;
  int device = -1;
  std::string bus;
};

class Who {
 public:
  explicit Who(const Facts& facts);

  /// Global rank of a Fact's author; -1 if nothing gives it. Group ranks are not used: see Groups.
  int rank_of(const Fact& fact) const;
  /// Host of a Fact's author, or of the rank it names; empty if unknown.
  std::string host_of(const Fact& fact) const;
  std::string host_of_rank(int rank) const;
  std::string host_of_address(const std::string& address) const;
  int rank_at_bus(const std::string& host, const std::string& bus) const;
  int rank_of_pid(const std::string& host, std::int64_t pid) const;
  int rank_of_local(const std::string& host, int local_rank) const;
  const RankInfo* info(int rank) const;
  /// Ranks that printed anything, or that a launcher names; ascending.
  const std::set<int>& seen() const { return seen_; }
  const std::vector<std::string>& hosts() const { return hosts_; }  // natural order
  bool task_is_rank() const { return task_is_rank_; }
  std::int64_t world() const { return world_; }  // 0 unknown
  bool world_is_stated() const { return world_stated_; }
  const std::vector<std::string>& conflicts() const { return conflicts_; }
  const std::string& file_host(std::uint32_t file) const;
  int file_rank(std::uint32_t file) const;

 private:
  void read_file_names(const Facts& facts);
  void decide_tasks(const Facts& facts);
  void collect_hosts(const Facts& facts);
  void learn(const Facts& facts);
  void learn_one(const Fact& fact);
  void set_host(int rank, const std::string& host);
  void infer_hosts();
  void note_conflict(std::string text);

  std::map<int, RankInfo> ranks_;
  std::map<std::pair<std::string, std::int64_t>, int> by_pid_;
  std::map<std::int64_t, int> by_bare_pid_;  // -2: several ranks have this pid
  std::map<std::pair<std::string, int>, int> by_local_;
  std::map<std::pair<std::uint32_t, int>, int> by_file_local_;  // -2: several ranks
  bool several_nodes_ = false;                                  // the same local rank speaks in several files
  std::map<std::pair<std::string, std::string>, int> by_bus_;
  std::map<std::string, std::string> by_address_;
  std::set<std::string> sure_hosts_;
  std::vector<std::string> hosts_;
  std::vector<std::string> file_hosts_;
  std::vector<int> file_ranks_;
  std::vector<int> file_locals_;
  std::set<int> seen_;
  std::vector<std::string> conflicts_;
  std::int64_t world_ = 0;
  bool world_stated_ = false;
  std::int64_t largest_comm_ = 0;
  bool task_is_rank_ = true;
};

}  // namespace ringside::backend
