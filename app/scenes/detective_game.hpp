// One game of the detective as a person plays it: the engine (sim/detective), and beside it what only the
// player knows: marks on nodes with undo, the rank in question, the page that is open. What the screen may show
// before the verdict comes from here, and the injected fault is not among it. No ImGui.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/detective/detective.hpp"

namespace ringside::app {

/// A player's hypothesis about a node.
enum class NodeMark : std::uint8_t { None, Suspect, Cleared };

/// What the player may do next that makes sense, from what they have done and seen.
enum class DetectiveHint : std::uint8_t {
  Begin,   // nothing was run yet
  Deeper,  // what was run says the same of all ranks, and the log names none
  Follow,  // something stands out, nothing is suspected
  Decide,  // there is a suspect
  Late,    // the watchdog has ended the job
};

/// The largest seed that can be typed.
inline constexpr std::uint64_t kMostDetectiveSeed = 999'999;

class DetectiveGame {
 public:
  explicit DetectiveGame(sim::DetectiveCase made);

  std::uint64_t seed() const { return seed_; }
  const sim::Detective& engine() const { return engine_; }
  /// The program that started the job, as its lines in the log are called: "srun".
  std::string_view launcher() const { return launcher_; }
  std::int64_t watchdog_ns() const { return watchdog_ns_; }
  const std::vector<sim::NodeTile>& dashboard() const { return dashboard_; }
  const std::vector<sim::LogRow>& logs() const { return logs_; }
  /// Rows of the log that were there before the last look; the others are new.
  std::size_t logs_before() const { return logs_before_; }
  /// Utilisation and power that most nodes show: what differs from it stands out.
  const sim::NodeTile& usual() const { return usual_; }
  int node_of(int rank) const { return rank / engine_.gpus_per_node(); }

  // What an operator reads off: since when no step was finished, what that cost, when the watchdog is due.
  std::int64_t stopped_for_ns() const { return stopped_at_ns(engine_.now()); }
  /// How long it had been stopped at a time of the job.
  std::int64_t stopped_at_ns(std::int64_t t_ns) const { return t_ns - progress_ns_; }
  double gpu_hours_lost() const;
  /// Until the job's watchdog is due (10 minutes after the last step); negative once that is past.
  std::int64_t watchdog_left_ns() const;
  /// A tile, the log or a look tells something of few ranks.
  bool something_stands_out() const;
  /// Its line stands in the log.
  bool watchdog_struck() const { return watchdog_struck_; }
  DetectiveHint hint() const;

  /// Runs a tool; Stacks on the chosen node. Not of a closed game.
  void look(sim::Tool tool);
  /// Why the tool cannot run now (a text key); "" = it can.
  std::string_view why_not(sim::Tool tool) const;
  bool used(sim::Tool tool) const;

  int node() const { return node_; }
  int rank() const { return rank_; }
  void choose_node(int node);
  /// Chooses the rank and its node; -1 = no rank.
  void choose_rank(int rank);

  NodeMark mark_of(int node) const { return marks_[static_cast<std::size_t>(node)]; }
  /// Sets the mark of a node; the same mark again takes it away.
  void mark(int node, NodeMark mark);
  int count(NodeMark mark) const;
  bool can_undo(bool redo) const { return redo ? done_ < history_.size() : done_ > 0; }
  /// Takes the last marking back (or makes it again); false if there is none.
  bool undo(bool redo);

  // The accusation while it is being made.
  std::optional<sim::DiagnosisKind> kind;
  /// The node that will be taken out of the job: that of the rank until another one is chosen. -1 = none yet.
  int node_out() const { return node_out_ ? *node_out_ : rank_ < 0 ? -1 : node_of(rank_); }
  void choose_node_out(int node) { node_out_ = node; }
  /// What is still missing before it can be made (a text key); "" = nothing.
  std::string_view missing() const;
  /// Makes it: kind, rank and node as chosen.
  void close();
  bool closed() const { return engine_.closed(); }
  const sim::Score& score() const { return score_; }
  const sim::Accusation& accusation() const { return accusation_; }

  /// The game as a text: "seed:12,do:nan_check+stacks/45,mark:45/suspect,rank:361,kind:nan,closed"; and back, from
  /// a case of that seed. False if a part is not understood; then the game has what stood before it.
  std::string to_text() const;
  bool replay(std::string_view text);

 private:
  struct Marking {
    int node = 0;
    NodeMark before = NodeMark::None, after = NodeMark::None;
  };
  void see();
  bool replay_part(std::string_view key, std::string_view value);

  std::uint64_t seed_ = 0;
  std::int64_t progress_ns_ = 0, watchdog_ns_ = 0;
  std::string_view launcher_;
  sim::Detective engine_;
  std::vector<sim::NodeTile> dashboard_;
  std::vector<sim::LogRow> logs_;
  sim::NodeTile usual_;
  std::size_t logs_before_ = 0;
  bool watchdog_struck_ = false;
  int node_ = 0, rank_ = -1;
  std::optional<int> node_out_;
  std::vector<NodeMark> marks_;
  std::vector<Marking> history_;
  std::size_t done_ = 0;  // of the history; the rest can be made again
  sim::Accusation accusation_;
  sim::Score score_;
};

/// The seed of a text that to_text() made; nothing if there is none or it is out of range.
std::optional<std::uint64_t> detective_seed(std::string_view text);

/// One line of the notebook: findings that say the same of several ranks are one.
struct NotebookLine {
  sim::Finding finding;  // its ranks: all of them, in order
  bool odd = false;      // says of few ranks what the other lines do not say
};
std::vector<NotebookLine> notebook_lines(const sim::ToolReport& report);
/// "R361", "R0 – R31, R33", at most `most` ranges; the number of ranks that are left out comes back in `left`.
std::string rank_ranges(const std::vector<int>& ranks, std::size_t most, int& left);

}  // namespace ringside::app
