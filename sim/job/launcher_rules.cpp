// What the launcher does when a process ends badly: torchrun ends the others of its own node, mpirun and
// srun --kill-on-bad-exit end the whole job, plain srun and mpirun --enable-recovery only report.
#include <algorithm>

#include "sim/job/rules.hpp"

namespace ringside::sim {
namespace {

constexpr std::int64_t kMs = 1'000'000, kSecond = 1'000'000'000;
constexpr std::int64_t kTorchrunMonitorNs = 100 * kMs;  // monitor_interval
constexpr std::int64_t kMpirunNoticeNs = 5 * kMs;
constexpr std::int64_t kSrunNoticeNs = 10 * kMs;
/// After this long without an end, SIGKILL follows SIGTERM.
constexpr std::int64_t kTorchrunKillNs = 30 * kSecond, kMpirunKillNs = 5 * kSecond,
                       kSrunKillNs = 32 * kSecond;
constexpr int kSigTerm = 15, kSigKill = 9;

bool ended_badly(const Rank& rank) {
  return rank.life == Life::Exited && (rank.by_signal || rank.exit_code != 0);
}

bool is_srun(Launcher launcher) {
  return launcher == Launcher::Srun || launcher == Launcher::SrunKillOnBadExit;
}

int first_of_node(const Simulator& sim, int node) {
  return node * sim.scenario->cluster.gpus_per_node;
}
int end_of_node(const Simulator& sim, int node) {
  return std::min(sim.world(), first_of_node(sim, node + 1));
}

void send_term(Simulator& sim, int first, int end, std::int64_t kill_after) {
  for (int r = first; r < end; ++r) {
    if (sim.rank(r).life == Life::Exited) continue;
    sim.push(sim.now + 2 * kMs, ItemKind::Signal, r, kSigTerm);
    sim.push(sim.now + 2 * kMs + kill_after, ItemKind::Signal, r, kSigKill);
  }
}

int elastic_code(const Rank& rank) {
  return rank.by_signal ? -rank.exit_code : rank.exit_code;
}

void torchrun_sees(Simulator& sim, int r) {
  const int node = sim.node_of(r);
  Agent& agent = sim.agents[static_cast<std::size_t>(node)];
  if (agent.failing) return;
  agent.failing = true;
  for (int other = first_of_node(sim, node); other < end_of_node(sim, node); ++other)
    if (sim.rank(other).life != Life::Exited) log_launcher(sim, elastic_sigterm(sim.now, pid_of(sim, other)));
  for (int other = first_of_node(sim, node); other < end_of_node(sim, node); ++other)
    if (ended_badly(sim.rank(other)))
      log_launcher(sim, elastic_failed(sim.now, elastic_code(sim.rank(other)),
                                       other - first_of_node(sim, node), pid_of(sim, other)));
  send_term(sim, first_of_node(sim, node), end_of_node(sim, node), kTorchrunKillNs);
  launcher_after_end(sim, r);
}

/// All processes of the node are gone: torchrun prints its table. Victims of its own SIGTERM are left out.
void torchrun_reports(Simulator& sim, int node) {
  std::vector<ElasticRow> rows;
  for (int r = first_of_node(sim, node); r < end_of_node(sim, node); ++r) {
    const Rank& rank = sim.rank(r);
    if (!ended_badly(rank) || rank.end_reason == EndReason::Terminated) continue;
    rows.push_back({r, r - first_of_node(sim, node), pid_of(sim, r), rank.exited_at, elastic_code(rank),
                    Scenario::node_name(node)});
  }
  if (rows.empty()) return;
  for (const std::string& line : elastic_table(rows)) log_launcher(sim, line);
}

void mpirun_sees(Simulator& sim, int r) {
  Agent& agent = sim.agents.front();
  if (agent.failing || sim.scenario->stack.launcher == Launcher::MpirunEnableRecovery) return;
  agent.failing = true;
  const Rank& rank = sim.rank(r);
  for (const std::string& line :
       mpirun_ended(r, Scenario::node_name(sim.node_of(r)), rank.exit_code, rank.by_signal))
    log_launcher(sim, line);
  send_term(sim, 0, sim.world(), kMpirunKillNs);
}

std::string srun_line(const Simulator& sim, int r) {
  const Rank& rank = sim.rank(r);
  std::string line =
      "srun: error: " + Scenario::node_name(sim.node_of(r)) + ": task " + std::to_string(r) + ": ";
  if (rank.oom) return line + "Out Of Memory";
  if (rank.by_signal) return line + std::string(signal_word(rank.exit_code));
  return line + "Exited with exit code " + std::to_string(rank.exit_code);
}

void srun_sees(Simulator& sim, int r) {
  if (sim.rank(r).oom)
    log_launcher(
        sim,
        "slurmstepd: error: Detected 1 oom_kill event in StepId=773120.0. Some of the step tasks have "
        "been OOM Killed.");
  log_launcher(sim, srun_line(sim, r));
  Agent& agent = sim.agents.front();
  if (sim.scenario->stack.launcher != Launcher::SrunKillOnBadExit || agent.failing) return;
  agent.failing = true;
  log_launcher(sim, "srun: Terminating StepId=773120.0");
  log_launcher(sim, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.");
  log_launcher(sim, "slurmstepd: error: *** STEP 773120.0 ON " + Scenario::node_name(0) + " CANCELLED AT " +
                        slurm_time(sim.now) + " ***");
  send_term(sim, 0, sim.world(), kSrunKillNs);
}

}  // namespace

void on_launcher_sees(Simulator& sim, int r) {
  const Launcher launcher = sim.scenario->stack.launcher;
  if (launcher == Launcher::Torchrun) return torchrun_sees(sim, r);
  if (is_srun(launcher)) return srun_sees(sim, r);
  mpirun_sees(sim, r);
}

void on_signal(Simulator& sim, int r, int signal) {
  const Rank& rank = sim.rank(r);
  if (rank.life == Life::Exited) return;
  if (rank.life == Life::Frozen && signal == kSigTerm) return;  // a stopped process takes it when it goes on
  if (signal == kSigKill && sim.scenario->stack.launcher == Launcher::Torchrun)
    log_launcher(sim, elastic_sigkill(sim.now, pid_of(sim, r)));
  end_process(sim, r, EndReason::Terminated, signal, true);
}

void launcher_after_end(Simulator& sim, int r) {
  const Launcher launcher = sim.scenario->stack.launcher;
  const int node = sim.node_of(r);
  Agent& agent = sim.agents[static_cast<std::size_t>(node)];
  if (launcher == Launcher::Torchrun && agent.failing && !agent.reported) {
    const auto begin = sim.ranks.begin() + first_of_node(sim, node);
    const auto end = sim.ranks.begin() + end_of_node(sim, node);
    if (!std::all_of(begin, end, [](const Rank& rank) { return rank.life == Life::Exited; })) return;
    agent.reported = true;
    return torchrun_reports(sim, node);
  }
  if (!ended_badly(sim.rank(r)) || sim.rank(r).end_reason == EndReason::Terminated) return;
  const std::int64_t notice = launcher == Launcher::Torchrun ? kTorchrunMonitorNs
                              : is_srun(launcher)            ? kSrunNoticeNs
                                                             : kMpirunNoticeNs;
  sim.push(sim.now + notice, ItemKind::LauncherSees, r);
}

}  // namespace ringside::sim
