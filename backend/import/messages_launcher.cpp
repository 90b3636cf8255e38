// Forms of torchrun's agent, Slurm, PBS, Open MPI, MPICH and Intel MPI. torchrun's failure table is read by
// scan.cpp.
#include "backend/import/messages.hpp"

namespace ringside::backend {
namespace {

constexpr MessageForm kForms[] = {
    // ---- torchrun
    {FactKind::ElasticFailed, Layer::Elastic, Role::Root, "failed (exitcode:",
     R"(failed \(exitcode: (?P<code>-?\d+)\) local_rank: (?P<local_rank>\d+) \(pid: (?P<pid>\d+)\))"},
    {FactKind::ElasticSigterm, Layer::Elastic, Role::Consequence, "closing signal SIG",
     R"(Sending process (?P<pid>\d+) closing signal (?P<name>SIG\w+))"},
    {FactKind::ElasticSigterm, Layer::Elastic, Role::Consequence, "forcefully exiting via",
     R"(Unable to shutdown process (?P<pid>\d+) via \S+, forcefully exiting via (?P<name>\S+))"},
    {FactKind::ElasticSigterm, Layer::Elastic, Role::Consequence, "] Killing subprocess",
     R"(Killing subprocess (?P<pid>\d+))"},
    {FactKind::ElasticSuccess, Layer::Elastic, Role::Context, "worker group successfully finished",
     "worker group successfully finished"},
    {FactKind::ElasticRestart, Layer::Elastic, Role::Context, "will restart worker group",
     R"(Worker group (?P<name>\w+)\. .*will restart worker group)"},
    {FactKind::ElasticRestart, Layer::Elastic, Role::Context, "detected membership change",
     "(?i)membership change", "membership change"},
    // Lightning, torch.multiprocessing. The command in the lines of DeepSpeed and of torch.distributed.launch
    // (to 1.8) is
    // always that of the last process that was started, whoever failed: only the code counts.
    {FactKind::ElasticFailed, Layer::Elastic, Role::Root, "Child process with PID",
     R"(\[rank: (?P<rank>\d+)\] Child process with PID (?P<pid>\d+) terminated with code (?P<code>-?\d+))"},
    {FactKind::ElasticFailed, Layer::Elastic, Role::Root, " terminated with signal ",
     R"(process (?P<rank>\d+) terminated with signal (?P<name>SIG\w+))"},
    {FactKind::ElasticFailed, Layer::Elastic, Role::Root, "exits with return code = -",
     R"(exits with return code = (?P<code>-\d+))"},
    {FactKind::ElasticFailed, Layer::Elastic, Role::Root, "died with <Signals.",
     R"(Command '\[.*died with <Signals\.(?P<name>SIG\w+): \d+>)"},
    {FactKind::ElasticFailed, Layer::Elastic, Role::Victim, "returned non-zero exit status",
     R"(CalledProcessError: Command '\[.*returned non-zero exit status (?P<code>\d+))"},
    // ---- Slurm
    {FactKind::NodeFailed, Layer::Slurm, Role::Root, "ode failure on ",
     R"([Nn]ode failure on (?P<host>[\w.-]+(?:\[[\d,-]+\])?))"},
    {FactKind::NodeFailed, Layer::Slurm, Role::Root, "not responding",
     R"(error: [Nn]odes? (?P<host>[\w.-]+(?:\[[\d,-]+\])?) not responding)"},
    {FactKind::StepCancelled, Layer::Slurm, Role::Consequence, " CANCELLED AT ",
     R"(\*\*\* (?:STEP|JOB) [\d._+]+ ON (?P<host>[\w.-]+) CANCELLED AT \S+(?: DUE (?:TO|to) (?P<name>[A-Z][A-Za-z ]+))?)"},
    {FactKind::StepCancelled, Layer::Slurm, Role::Consequence, " FAILED (non-zero exit code",
     R"(\*\*\* (?:STEP|JOB) [\d._+]+ ON (?P<host>[\w.-]+) FAILED)", "FAILED"},
    {FactKind::NodeFailed, Layer::Slurm, Role::Root, "UNCORRECTABLE MEMORY ERROR",
     R"(ON (?P<host>[\w.-]+) UNCORRECTABLE MEMORY ERROR)", "uncorrectable memory error"},
    {FactKind::SchedOom, Layer::Slurm, Role::Root, "oom_kill event",
     R"(Detected (?P<value>\d+) oom[_-]kill event)"},
    {FactKind::SchedOom, Layer::Slurm, Role::Root, "oom-kill event",
     R"(Detected (?P<value>\d+) oom[_-]kill event)"},
    {FactKind::SchedOom, Layer::Slurm, Role::Root, "killed by the cgroup out-of-memory",
     "killed by the cgroup out-of-memory handler"},
    {FactKind::SchedOom, Layer::Slurm, Role::Root, "xceeded memory limit",
     R"((?:exceeded|Exceeded) memory limit \((?P<value>\d+) > (?P<limit>\d+)\))"},
    {FactKind::SchedOom, Layer::Slurm, Role::Root, "xceeded job memory limit",
     "(?i)exceeded job memory limit"},
    {FactKind::SchedOom, Layer::Python, Role::Root, "node running low on memory",
     "due to the node running low on memory", "Ray"},
    {FactKind::SchedOom, Layer::Job, Role::Root, "low on resource: memory",
     "node was low on resource: memory", "Kubernetes"},
    {FactKind::NodeFailed, Layer::Job, Role::Root, "NodeNotReady",
     R"((?:node/(?P<host>[\w.-]+).*)?NodeNotReady)", "Kubernetes"},
    {FactKind::SchedOom, Layer::Job, Role::Root, "OOMKilled",
     R"((?:[Pp]od[/ :"]+(?P<host>[\w.-]+\w).*)?OOMKilled)", "Kubernetes"},
    {FactKind::RankNote, Layer::Job, Role::Context, "Name:  ", R"(^Name:\s+(?P<host>[\w.-]+)\s*$)",
     "described pod"},  // kubectl describe: what follows is about this pod
    {FactKind::SchedOom, Layer::Job, Role::Root, "TERM_MEMLIMIT", "TERM_MEMLIMIT: job killed", "LSF"},
    {FactKind::TimeLimit, Layer::Job, Role::Root, "TERM_RUNLIMIT", "TERM_RUNLIMIT: job killed", "time limit"},
    {FactKind::TimeLimit, Layer::Job, Role::Root, "TERM_PREEMPT", "TERM_PREEMPT: job killed", "preemption"},
    {FactKind::TaskEnded, Layer::Slurm, Role::Victim, "srun: error: ",
     R"(srun: error: (?P<host>[\w.-]+): tasks? (?P<named>[\d,\- ]+): (?P<name>Exited with exit code (?P<code>\d+)|.*))"},
    {FactKind::TimeLimit, Layer::Slurm, Role::Root, "DUE TO TIME LIMIT", "DUE TO TIME LIMIT", "time limit"},
    {FactKind::TimeLimit, Layer::Slurm, Role::Root, "DUE TO PREEMPTION", "DUE TO PREEMPTION", "preemption"},
    {FactKind::TimeLimit, Layer::Slurm, Role::Root, "DUE TO JOB REQUEUE", "DUE TO JOB REQUEUE", "requeue"},
    {FactKind::TimeLimit, Layer::Slurm, Role::Root, "PBS: job killed: walltime",
     R"(PBS: job killed: walltime (?P<value>\d+) exceeded limit (?P<limit>\d+))", "time limit"},
    // ---- Open MPI 4 and 5 (PRRTE)
    {FactKind::MpiSignal, Layer::Mpi, Role::Root, "noticed that process rank",
     R"(noticed that process rank (?P<rank>\d+) with PID (?P<pid>\d+) on node (?P<host>[\w.-]+) exited on(?: signal (?P<code>\d+))?)"},
    {FactKind::MpiSignal, Layer::Mpi, Role::Context, "signal ",
     R"(^signal (?P<code>\d+)(?: \([\w ]+\))?\.?\s*$)", "code"},  // PRRTE breaks the line before it
    {FactKind::MpiExit, Layer::Mpi, Role::Root, "Process name: [",
     R"(Process name: \[(?:\[\d+,\d+\],|[^\]]*@\d+,)(?P<rank>\d+)\])"},
    {FactKind::MpiExit, Layer::Mpi, Role::Context, "Exit code: ", R"(^\s*Exit code:\s+(?P<code>-?\d+))",
     "code"},
    {FactKind::MpiAbort, Layer::Mpi, Role::Root, "MPI_ABORT was invoked on rank",
     R"(MPI_ABORT was invoked on rank (?P<rank>\d+))"},
    {FactKind::MpiAbort, Layer::Mpi, Role::Context, "with errorcode ", R"(^with errorcode (?P<code>-?\d+))",
     "code"},
    {FactKind::MpiAbort, Layer::Mpi, Role::Context, "Errorcode: ", R"(^\s*Errorcode: (?P<code>-?\d+))",
     "code"},
    {FactKind::MpiAbort, Layer::Mpi, Role::Root, "application called MPI_Abort",
     R"(application called MPI_Abort\([^,]*, (?P<code>-?\d+)\)(?: - process (?P<rank>\d+))?)"},
    {FactKind::MpiError, Layer::Mpi, Role::Victim, "*** An error occurred in MPI_",
     R"(\*\*\* An error occurred in (?P<op>MPI_\w+): (?P<name>.+))"},
    {FactKind::MpiError, Layer::Mpi, Role::Victim, "*** An error occurred in MPI_",
     R"(\*\*\* An error occurred in (?P<op>MPI_\w+))", "call"},
    {FactKind::MpiError, Layer::Mpi, Role::Victim, "*** reported by process",
     R"(\*\*\* reported by process \[\d+,(?P<rank>\d+)\])", "reporter"},
    {FactKind::MpiError, Layer::Mpi, Role::Victim, "*** MPI_ERR_", R"(\*\*\* (?P<name>MPI_ERR_\w+)(?::.*)?)"},
    {FactKind::MpiError, Layer::Mpi, Role::Victim, "Fatal error in ",
     R"(Fatal error in (?:internal_|P)?(?P<op>MPI_\w+|\w+): (?P<name>.*))"},
    {FactKind::MpiError, Layer::Mpi, Role::Consequence, "ORTE_ERROR_LOG", R"((?P<name>ORTE_ERROR_LOG.*))"},
    {FactKind::NodeFailed, Layer::Mpi, Role::Names, "lost communication with",
     R"((?P<name>lost communication with (?:a|its) remote daemon))"},
    {FactKind::NodeFailed, Layer::Mpi, Role::Root,
     "Remote daemon: ", R"(Remote daemon:\s+\S+ on node (?P<host>[\w.-]+))"},
    {FactKind::CrashSignal, Layer::Mpi, Role::Root,
     "Signal: ", R"(^Signal: (?P<name>[\w ]+?) \((?P<code>\d+)\))"},
    // ---- MPICH / Hydra, Intel MPI
    {FactKind::BadTermination, Layer::Mpi, Role::Root, " RUNNING AT ",
     R"(^=\s+(?:RANK (?P<rank>\d+) )?PID (?P<pid>\d+) RUNNING AT (?P<host>[\w.-]+))"},
    {FactKind::BadTermination, Layer::Mpi, Role::Context, "EXIT CODE: ", R"(^=\s+EXIT CODE: (?P<code>\d+))",
     "code"},
    {FactKind::BadTermination, Layer::Mpi, Role::Context,
     "KILLED BY SIGNAL: ", R"(^=\s+KILLED BY SIGNAL: (?P<code>\d+))", "code"},
    {FactKind::BadTermination, Layer::Mpi, Role::Context,
     "EXIT STRING: ", R"(EXIT STRING: .*\(signal (?P<code>\d+)\))", "code"},
};

}  // namespace

std::span<const MessageForm> launcher_messages() {
  return kForms;
}

}  // namespace ringside::backend
