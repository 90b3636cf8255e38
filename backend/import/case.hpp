// The case as the rules see it: Facts with resolved authors, indexed by kind, restricted to the first attempt
// of the job.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/import/evidence.hpp"
#include "backend/import/who.hpp"
#include "sim/diagnosis/diagnosis.hpp"

namespace ringside::backend {

/// What one rule concludes. Rules are tried in the order of their evidence class; the first Finding is the
/// verdict and the others become alternatives.
struct Finding {
  sim::DiagnosisKind kind = sim::DiagnosisKind::Unknown;
  std::vector<int> culprits;
  std::vector<std::string> nodes;
  sim::Confidence confidence = sim::Confidence::Likely;
  std::string what;                   // the first cause, one sentence
  std::string why;                    // how the lines lead to it, one or two sentences
  std::vector<const Fact*> evidence;  // strongest first
  std::vector<sim::Alternative> alternatives;
  std::vector<std::pair<int, int>> waits_for;
  std::set<int> victims;  // beyond those that every rule has: ranks with a victim's line
  const char* rule = "";
};

class Case {
 public:
  /// What the case is made of: everything, or what the lines say without the dumps.
  enum class Of : std::uint8_t { All, Lines };
  Case(const Facts& all, const Who& identities, Of of = Of::All);

  const Facts& facts;
  const Who& who;

  /// Facts of a kind, first attempt only, in order of file and line.
  const std::vector<const Fact*>& of(FactKind kind) const;
  bool has(FactKind kind) const { return !of(kind).empty(); }
  int rank(const Fact& fact) const { return who.rank_of(fact); }
  /// Rank of a Torch line: the prefix's rank, or the group rank where the group is the whole job.
  int torch_rank(const Fact& fact) const;
  std::string host(const Fact& fact) const { return who.host_of(fact); }
  std::int64_t world() const { return who.world(); }
  /// Ranks with a line of any of these kinds.
  std::set<int> ranks_with(std::initializer_list<FactKind> kinds) const;
  /// The last thing a rank said, if anything.
  const Fact* last_words(int rank) const;
  /// A note of this kind by this rank, the last one.
  const Fact* note(FactKind kind, int rank) const;
  /// a is certainly earlier than b: same file and smaller line, or stamps that differ by more than the clocks
  /// may.
  bool before(const Fact& a, const Fact& b) const;
  std::string at(const Fact& fact) const;  // "train.log:12"
  std::vector<std::string> hosts_of(
      const std::vector<int>& ranks) const;  // natural order, without unknown ones
  bool restarted() const { return restarted_; }

 private:
  std::vector<std::vector<const Fact*>> by_kind_;
  std::map<int, const Fact*> last_words_;
  bool restarted_ = false;
};

/// "rank 3", "ranks 9 and 11", "ranks 0, 1, 2 and 5 more".
std::string name_ranks(const std::vector<int>& ranks);
std::string name_hosts(const std::vector<std::string>& hosts);

}  // namespace ringside::backend
