// The detective: a job on 64 nodes stands still, and the player has what an operator has. Logs, a dashboard
// of utilisation by node, and tools that each cost minutes of the whole cluster. They name a kind and a rank,
// isolate a node, and get the true story.
//
// Pure and deterministic: a case is a function of its seed, and every answer of a tool is read off the
// simulated trace up to the present minute, never off the injected fault. The fault is known to the verdict
// alone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/diagnosis/diagnosis.hpp"
#include "sim/job/simulate.hpp"

namespace ringside::sim {

/// A case as it was made: nothing of this is for the player's eyes but `called_ns`.
struct DetectiveCase {
  std::uint64_t seed = 0;
  Scenario job;
  std::shared_ptr<const Simulation> run;
  std::int64_t struck_ns = 0;  // when the fault struck
  std::int64_t called_ns = 0;  // when the operator is called: kAlarmNs after the last step was finished
};
/// No step for so long wakes the operator.
inline constexpr std::int64_t kAlarmNs = 180'000'000'000;
/// 64 nodes of 8 GPUs; one fault, of a kind and at a place that the seed chooses. Every case stops the job
/// and can be solved: its whole trace names the rank.
DetectiveCase make_detective_case(std::uint64_t seed);

/// The kinds that a case may have, in a fixed order: what the player chooses from.
const std::vector<DiagnosisKind>& detective_kinds();

/// What an operator can run.
enum class Tool : std::uint8_t {
  NanCheck,   // gradient norms of all ranks
  KernelLog,  // dmesg of all nodes, searched for Xid, AER, out of memory, port errors
  Ping,       // which processes answer
  Counters,   // NCCL RAS: how many operations each rank has launched
  Dump,       // Flight Recorder: the oldest open call of every rank, side by side
  Stacks,     // py-spy on all ranks of one node
};
inline constexpr int kToolCount = 6;
/// What it costs: all GPUs wait meanwhile. Cheap ones first, as in the operator's checklist.
std::int64_t cost_ns(Tool tool);
/// "nan_check", "kernel_log", "ping", "counters", "dump", "stacks".
std::string_view to_word(Tool tool);

/// One thing that a tool found.
enum class FindingKind : std::uint8_t {
  AllFinite,   // no NaN in any gradient norm
  NanIn,       // ranks, seq = training step
  KernelLine,  // node, text
  NoLine,      // the kernel logs hold nothing of the kind
  Answers,     // ranks: the process is there and answers
  NoProcess,   // ranks: no such process
  NoAnswer,    // ranks: the process is there and does not answer
  Launched,    // ranks have launched up to operation seq
  OpenCall,    // ranks wait in seq with count elements
  NoOpenCall,  // ranks have no open call; seq = the last one they finished
  InCall,      // stack: ranks stand in all_reduce seq
  InPhase,     // stack: ranks stand in a phase of the program (text)
  NoStack,     // ranks: nothing to attach to, or it does not stop for the debugger
};
struct Finding {
  FindingKind kind = FindingKind::AllFinite;
  std::vector<int> ranks;
  int node = -1;
  std::int64_t seq = 0, count = 0;
  std::string text;  // as the tool prints it; for phases the phase's word
};
struct ToolReport {
  Tool tool = Tool::NanCheck;
  int node = -1;          // Stacks
  std::int64_t t_ns = 0;  // when it was ready
  std::vector<Finding> findings;
};

/// A node on the dashboard: what nvidia-smi on it says, averaged over its GPUs.
struct NodeTile {
  int utilisation_percent = 0;  // GPUs that spin in a kernel that waits count as busy
  int power_w = 0;
};

struct LogRow {
  std::int64_t t_ns = 0;
  int rank = -1;  // -1: the launcher
  std::string text;
};

struct Accusation {
  DiagnosisKind kind = DiagnosisKind::Unknown;
  int rank = -1;
  int node = -1;  // that is taken out of the job
};

inline constexpr int kKindPoints = 40, kRankPoints = 40, kNodePoints = 20, kInnocentCost = 20,
                     kMostMinutesCost = 30;
/// 40 points for the kind, 40 for the rank, 20 for the node; from these, one for every minute that the tools
/// took (at most 30), and 20 more for isolating a node that had nothing to do with it. Never below 0.
struct Score {
  bool kind_right = false, rank_right = false, node_right = false;
  int points = 0;
  int minutes = 0;             // that the tools took
  double gpu_hours = 0;        // of the cluster, from the fault to the accusation
  double least_gpu_hours = 0;  // had one known at the alarm
  /// Points that the minutes took.
  int minutes_cost() const { return minutes < kMostMinutesCost ? minutes : kMostMinutesCost; }
};

/// The true story, for the replay.
struct Story {
  Fault fault;
  std::int64_t struck_ns = 0, called_ns = 0, named_ns = 0;
  std::optional<std::int64_t> watchdog_ns;  // the first watchdog that expired, or would have
  Diagnosis diagnosis;                      // of the whole trace
};

/// One game. A regular type.
class Detective {
 public:
  explicit Detective(DetectiveCase game);

  std::int64_t now() const { return now_; }
  int world_size() const { return game_.job.world_size(); }
  int nodes() const { return game_.job.cluster.nodes; }
  int gpus_per_node() const { return game_.job.cluster.gpus_per_node; }

  /// What is on the screen without running anything, at now().
  std::vector<NodeTile> dashboard() const;
  /// The merged log of ranks and launcher up to now(), in order of time.
  std::vector<LogRow> logs() const;

  /// Runs a tool: the clock moves on by its cost, then it looks. `node` for Stacks. Not after close().
  const ToolReport& use(Tool tool, int node = -1);
  const std::vector<ToolReport>& reports() const { return reports_; }

  /// Names the culprit; the game is over.
  Score close(const Accusation& accusation);
  bool closed() const { return score_.has_value(); }
  /// Only of a closed game.
  const Story& story() const;
  const Simulation& replay() const;
  /// The job with its fault: simulated, it gives replay() again.
  const Scenario& replay_job() const;

 private:
  DetectiveCase game_;
  std::int64_t now_ = 0, tools_ns_ = 0;
  std::vector<ToolReport> reports_;
  std::optional<Score> score_;
  Story story_;
};

}  // namespace ringside::sim
