// Next steps for each kind of verdict, as commands where there are some, and what single tools would have
// said.
#include <algorithm>

#include "backend/import/codes.hpp"
#include "backend/import/reason.hpp"
#include "sim/base/text.hpp"

namespace ringside::backend {
namespace {

using sim::DiagnosisKind;

/// The first host whose name may stand in a command; otherwise a placeholder that says so.
std::string host_for_command(const sim::Diagnosis& d) {
  for (const std::string& host : d.culprit_nodes)
    if (sim::is_safe_host_name(host)) return host;
  return {};
}

std::string on_host(const std::string& host, const std::string& command) {
  return host.empty() ? command : "ssh " + host + " " + command;
}

void drain(std::vector<std::string>& steps, const std::string& host, const char* reason) {
  if (!host.empty())
    steps.push_back("scontrol update nodename=" + host + " state=drain reason=\"" + reason + "\"");
  else
    steps.push_back("take the node out of service");
}

bool slurm(const Case& c) {
  return c.has(FactKind::TaskEnded) || c.has(FactKind::StepCancelled) || c.has(FactKind::NodeFailed) ||
         c.has(FactKind::SchedOom);
}

void steps_for_gpu(const Case& c, std::vector<std::string>& steps, const std::string& host) {
  drain(steps, host, "GPU error");
  steps.push_back(on_host(host, "nvidia-smi -q -d ECC,ROW_REMAPPER,PERFORMANCE"));
  for (const Fact* xid : c.of(FactKind::Xid))
    if (xid_meaning(xid->code).of != XidClass::Consequence) {
      steps.push_back("Xid " + std::to_string(xid->code) + ": " + xid_meaning(xid->code).next_en);
      break;
    }
  steps.push_back(on_host(host, "dcgmi diag -r 3"));
  steps.push_back(on_host(host, "nvidia-bug-report.sh"));
}

void steps_for_hang(const sim::Diagnosis& d, std::vector<std::string>& steps, const std::string& host) {
  if (!d.culprits.empty())
    steps.push_back("read the output of " + name_ranks(d.culprits) + " around its last line");
  steps.push_back(on_host(host, "py-spy dump --pid PID") +
                  "   (of the rank that is missing, next time before the job is stopped)");
  steps.push_back(
      "export TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1   (Flight Recorder dumps for "
      "the next run)");
  steps.push_back("ncclras -v   (NCCL 2.24 and later: who is behind, while the job hangs)");
}

void steps_for_mismatch(std::vector<std::string>& steps) {
  steps.push_back("run a few steps with TORCH_DISTRIBUTED_DEBUG=DETAIL   (names the call and both sides)");
  steps.push_back(
      "export TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1   (stack of the call that "
      "differs)");
}

}  // namespace

std::vector<std::string> next_steps(const Case& c, const sim::Diagnosis& d) {
  std::vector<std::string> steps;
  const std::string host = host_for_command(d);
  const std::string who =
      d.culprits.empty() ? std::string("the rank that failed first") : name_ranks(d.culprits);
  switch (d.kind) {
    case DiagnosisKind::None:
      break;
    case DiagnosisKind::HangRankMissing:
      steps_for_hang(d, steps, host);
      break;
    case DiagnosisKind::SequenceMismatch:
      steps.push_back(
          "look for a branch that " + who +
          " takes alone: a skipped batch, an early end of its data, a call inside \"if rank == 0\"");
      steps_for_mismatch(steps);
      break;
    case DiagnosisKind::CollectiveOrder:
      steps.push_back("compare the code path of " + who + " with that of the others up to this call");
      steps_for_mismatch(steps);
      break;
    case DiagnosisKind::OpMismatch:
    case DiagnosisKind::ShapeMismatch:
      steps.push_back(
          "print the shape that each rank passes just before the call; pad or drop the odd batch");
      steps_for_mismatch(steps);
      break;
    case DiagnosisKind::DtypeMismatch:
      steps.push_back("print the dtype on every rank before the call; check how " + who +
                      " loaded its weights and its autocast");
      steps_for_mismatch(steps);
      break;
    case DiagnosisKind::RankCrash:
      steps.push_back("read the output of " + who + " above the first line about a lost connection");
      steps.push_back(
          "decorate main with torch.distributed.elastic.multiprocessing.errors.record   (the table then "
          "shows the traceback)");
      steps.push_back(on_host(host, "dmesg -T | tail -n 200") +
                      "   (a SIGKILL of the OOM killer or an Xid would stand there)");
      break;
    case DiagnosisKind::RankExitEarly:
    case DiagnosisKind::UnevenData:
      steps.push_back(
          "give every rank the same number of batches: drop_last=True, DistributedSampler, or the Join "
          "context manager");
      steps.push_back("reduce a \"has data\" flag before each step, so that all ranks stop together");
      break;
    case DiagnosisKind::HostOom:
      steps.push_back(on_host(host, "dmesg -T | grep -i -E 'out of memory|oom-kill'"));
      if (slurm(c)) steps.push_back("sacct -j JOBID -o JobID,State,ExitCode,NodeList,MaxRSS");
      steps.push_back(
          "fewer loader workers, a smaller prefetch, no caching of decoded samples; or more memory for the "
          "job");
      break;
    case DiagnosisKind::GpuOom:
      steps.push_back("look at the batch of " + who +
                      " in that step: an unusually long sample fills the memory of one rank only");
      steps.push_back("export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
      break;
    case DiagnosisKind::GpuHw:
      steps_for_gpu(c, steps, host);
      break;
    case DiagnosisKind::NvlinkHw:
      steps_for_gpu(c, steps, host);
      steps.push_back(on_host(host, "nvidia-smi nvlink -e"));
      break;
    case DiagnosisKind::PcieError:
      drain(steps, host, "PCIe errors");
      steps.push_back("power cycle the node, reseat the GPU or its riser, check the power cable");
      steps.push_back(on_host(host, "lspci -vv | grep -E 'LnkSta|DevSta'"));
      break;
    case DiagnosisKind::IbError:
    case DiagnosisKind::LinkDown:
    case DiagnosisKind::LinkSlow:
      steps.push_back(on_host(host, "ibstat"));
      steps.push_back("ibqueryerrors -s SymbolErrorCounter,LinkDownedCounter,PortRcvErrors");
      if (host.empty())
        steps.push_back(
            "get the logs of the hosts at both ends: asynchronous events of an adapter name the guilty one");
      else
        steps.push_back("srun --exclude=" + host +
                        " …   (run again without it; then all_reduce_perf of nccl-tests pair by pair)");
      break;
    case DiagnosisKind::NetworkConfig:
      steps.push_back(
          "export NCCL_DEBUG=INFO NCCL_SOCKET_IFNAME=IFACE   (which interface and address each rank takes)");
      steps.push_back(
          "show_gids   (RoCE: the right NCCL_IB_GID_INDEX); PCIe ACS off, or NCCL_NET_GDR_LEVEL=0 as a test");
      break;
    case DiagnosisKind::ConfigError:
      if (c.has(FactKind::SharedMemory))
        steps.push_back("docker run --shm-size=16g …, or an emptyDir with medium: Memory on /dev/shm");
      if (c.has(FactKind::DuplicateGpu))
        steps.push_back("start as many processes per node as CUDA_VISIBLE_DEVICES has devices");
      if (c.has(FactKind::NvlsFailed)) {
        steps.push_back(on_host(host, "systemctl status nvidia-fabricmanager"));
        steps.push_back("NCCL_NVLS_ENABLE=0 as a test");
      }
      if (c.has(FactKind::IbVerbs))
        steps.push_back("ulimit -l unlimited   (limits.conf, or --ulimit memlock=-1 in a container)");
      if (c.has(FactKind::IbSizeMismatch))
        steps.push_back("give all nodes the same NCCL environment   (env | grep NCCL_ on each)");
      if (c.has(FactKind::PortInUse))
        steps.push_back(on_host(host, "ss -ltnp") +
                        "   (who listens on the port); choose another --rdzv-endpoint port");
      if (c.has(FactKind::TimeLimit))
        steps.push_back("ask for more time, and write checkpoints before it ends");
      if (steps.empty()) steps.push_back("compare environment and versions of all nodes");
      break;
    case DiagnosisKind::Rendezvous:
      steps.push_back(
          "check the address and port of the store, and that its node's agent runs; get that node's log");
      steps.push_back("nc -vz HOST PORT   (from each node that failed)");
      break;
    case DiagnosisKind::Nan:
      if (d.culprits.empty())
        steps.push_back("print the local loss and gradient norm of every rank before the all-reduce");
      else
        steps.push_back("save the batch of " + who + " in that step and run it alone");
      steps.push_back(
          "torch.autograd.set_detect_anomaly(True), or TORCH_NCCL_NAN_CHECK=1   (stops at the first NaN)");
      if (!d.culprits.empty())
        steps.push_back(
            "run the same batch on another GPU: if only this GPU gives NaN, it is the hardware (dcgmi diag "
            "-r 3)");
      break;
    case DiagnosisKind::SilentCorruption:
      steps.push_back("compare digests of the gradients over ranks; dcgmi diag -r 4");
      break;
    case DiagnosisKind::Straggler:
      steps.push_back(on_host(host, "nvidia-smi -q -d CLOCK,PERFORMANCE,POWER,TEMPERATURE"));
      steps.push_back("compare the loader time and the clocks of all ranks in the same step");
      break;
    case DiagnosisKind::DdpUnusedParams:
      steps.push_back(
          "make every rank use all parameters in each step, or pass find_unused_parameters=True to "
          "DistributedDataParallel");
      steps.push_back("TORCH_DISTRIBUTED_DEBUG=DETAIL   (names the parameters)");
      break;
    case DiagnosisKind::NodeFailure:
      if (!host.empty()) steps.push_back("scontrol show node " + host);
      steps.push_back(host.empty()
                          ? "find the node in the scheduler's log"
                          : "sbatch --exclude=" + host + " …   (start again from the last checkpoint)");
      steps.push_back("look at power, BMC log and the switch of the rack");
      break;
    case DiagnosisKind::WatchdogFalseAlarm:
      steps.push_back(
          "nothing has to be repeated: call torch.distributed.destroy_process_group() at the end of the "
          "program");
      break;
    case DiagnosisKind::Unknown:
      steps.push_back("collect the output of all ranks and nodes, and dmesg -T of the nodes that were lost");
      steps.push_back(
          "export TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1 NCCL_DEBUG=WARN   (for the "
          "next run)");
      break;
  }
  return steps;
}

std::vector<sim::ToolSays> tools_would_say(const Case& c, const sim::Diagnosis& d) {
  std::vector<sim::ToolSays> tools;
  const auto judged = [&d](int rank) {
    if (d.culprits.empty())
      return d.confidence == sim::Confidence::Unknown ? sim::ToolVerdict::Silent
                                                      : sim::ToolVerdict::Misleading;
    return std::find(d.culprits.begin(), d.culprits.end(), rank) != d.culprits.end()
               ? sim::ToolVerdict::Right
               : sim::ToolVerdict::Misleading;
  };
  for (const Fact* root : c.of(FactKind::ElasticRoot)) {
    if (tools.size() >= 4) break;
    const int rank = c.rank(*root);
    bool tie = false;
    for (const Fact* entry : c.of(FactKind::ElasticEntry))
      tie = tie || (entry->file == root->file && entry->t_ns == root->t_ns);
    tools.push_back({"torchrun",
                     "Root Cause (first observed failure): rank " + std::to_string(rank) + ", exit code " +
                         std::to_string(root->code) +
                         (tie ? "; a tie of time stamps (1 s), won by the lowest local rank" : ""),
                     judged(rank)});
  }
  const auto& timeouts = c.of(FactKind::WatchdogTimeout);
  if (!timeouts.empty()) {
    std::set<int> ranks;
    for (const Fact* fact : timeouts)
      if (const int rank = c.torch_rank(*fact); rank >= 0) ranks.insert(rank);
    const bool accused = std::any_of(d.culprits.begin(), d.culprits.end(),
                                     [&ranks](int rank) { return ranks.count(rank) != 0; });
    tools.push_back(
        {"watchdog",
         "timeouts on " + name_ranks({ranks.begin(), ranks.end()}) + ": those who report have waited",
         accused ? sim::ToolVerdict::Right : sim::ToolVerdict::Misleading});
  }
  for (const FactKind kind : {FactKind::MpiSignal, FactKind::MpiExit})
    if (const auto& noticed = c.of(kind); !noticed.empty() && c.rank(*noticed.front()) >= 0)
      tools.push_back({"mpirun",
                       "the first process that ended was rank " + std::to_string(c.rank(*noticed.front())),
                       judged(c.rank(*noticed.front()))});
  if (const auto& cancelled = c.of(FactKind::StepCancelled);
      !cancelled.empty() && d.kind == DiagnosisKind::NodeFailure) {
    const std::string& host = cancelled.front()->who.host;
    const bool right =
        std::find(d.culprit_nodes.begin(), d.culprit_nodes.end(), host) != d.culprit_nodes.end();
    tools.push_back({"slurmstepd", "STEP … ON " + host + " CANCELLED: the node that prints the line",
                     right ? sim::ToolVerdict::Right : sim::ToolVerdict::Misleading});
  }
  return tools;
}

}  // namespace ringside::backend
