#include "sim/job/log_text.hpp"

#include <algorithm>
#include <array>

#include "sim/base/text.hpp"

namespace ringside::sim {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

struct Civil {
  std::int64_t year = 0;
  int month = 1, day = 1, weekday = 0, hour = 0, minute = 0, second = 0;
  std::int64_t ns = 0;
};

/// Days since 1970 to a date (proleptic Gregorian calendar; H. Hinnant's algorithm).
Civil civil_of(std::int64_t t) {
  Civil c;
  const std::int64_t seconds = kLogEpochUnixS + t / kSecond;
  c.ns = t % kSecond;
  const std::int64_t days = seconds / 86'400;
  const std::int64_t rest = seconds % 86'400;
  c.hour = static_cast<int>(rest / 3600);
  c.minute = static_cast<int>(rest / 60 % 60);
  c.second = static_cast<int>(rest % 60);
  c.weekday = static_cast<int>((days + 4) % 7);
  const std::int64_t z = days + 719'468;
  const std::int64_t era = z / 146'097;
  const std::int64_t doe = z % 146'097;
  const std::int64_t yoe = (doe - doe / 1460 + doe / 36'524 - doe / 146'096) / 365;
  const std::int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  const std::int64_t mp = (5 * doy + 2) / 153;
  c.day = static_cast<int>(doy - (153 * mp + 2) / 5 + 1);
  c.month = static_cast<int>(mp < 10 ? mp + 3 : mp - 9);
  c.year = yoe + era * 400 + (c.month <= 2 ? 1 : 0);
  return c;
}

std::string padded(std::int64_t value, std::size_t width, char fill = '0') {
  std::string digits;
  append_int(digits, value);
  return std::string(digits.size() < width ? width - digits.size() : 0, fill) + digits;
}

std::string clock_text(const Civil& c) {
  return padded(c.hour, 2) + ":" + padded(c.minute, 2) + ":" + padded(c.second, 2);
}
std::string date_text(const Civil& c) {
  return padded(c.year, 4) + "-" + padded(c.month, 2) + "-" + padded(c.day, 2);
}

std::string number(std::int64_t value) {
  std::string out;
  append_int(out, value);
  return out;
}

std::string torch_prefix(const Printer& who, std::int64_t t, std::string_view severity, int line) {
  return "[rank" + number(who.rank) + "]:[" + std::string(severity) + c10_time(t) +
         " ProcessGroupNCCL.cpp:" + number(line) + "] ";
}
std::string group_prefix(const Printer& who) {
  return "[PG ID 0 PG GUID 0(default_pg) Rank " + number(who.rank) + "] ";
}

std::string nccl_prefix(const Printer& who, int thread) {
  return who.host + ":" + number(who.pid) + ":" + number(who.pid + 160 + thread) + " [" +
         number(who.local_rank) + "] ";
}
std::string nccl_warn(const Printer& who, std::int64_t t, int thread, std::string_view place,
                      std::string_view text) {
  return "[" + nccl_time(t) + "] " + nccl_prefix(who, thread) + std::string(place) + " NCCL WARN " +
         std::string(text);
}

std::string work_text(const WorkText& work) {
  return "WorkNCCL(SeqNum=" + number(work.seq) + ", OpType=" + std::string(op_type(work.collective)) +
         ", NumelIn=" + number(work.numel) + ", NumelOut=" + number(work.numel) +
         ", Timeout(ms)=" + number(work.timeout_ms) + ") ran for " + number(work.ran_ms) +
         " milliseconds before timing out.";
}

std::string kernel_pci(const Printer& who) {
  return who.pci.substr(0, who.pci.find('.'));
}

std::string torch_dtype(DType dtype) {
  constexpr std::array<std::string_view, 6> kNames{"Double", "Float", "Half", "BFloat16", "Int", "Long"};
  return std::string(kNames.at(static_cast<std::size_t>(dtype)));
}

std::string shape_text(const Shape& shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.extents.size(); ++i) {
    if (i > 0) out += ", ";
    append_int(out, shape.extents[i]);
  }
  return out + "]";
}

std::string fingerprint_text(const Fingerprint& f) {
  return "CollectiveFingerPrint(SequenceNumber=" + number(f.seq) +
         ", OpType=" + std::string(op_type(f.collective)) + ", TensorShape=" + shape_text(f.shape) +
         ", TensorDtypes=" + torch_dtype(f.dtype) +
         ", TensorDeviceTypes=TensorOptions(dtype=float (default), device=" + (f.cuda ? "cuda" : "cpu") +
         ", layout=Strided (default), requires_grad=false (default), pinned_memory=false (default), "
         "memory_format=(nullopt)))";
}

std::string table_row(std::string_view index, const ElasticRow& row) {
  const std::string status =
      row.code < 0 ? "Signal " + number(-row.code) + " (" +
                         (row.code == -9    ? "SIGKILL"
                          : row.code == -6  ? "SIGABRT"
                          : row.code == -15 ? "SIGTERM"
                                            : "SIGNAL") +
                         ") received by PID " + number(row.pid)
                   : "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html";
  return std::string(index) + "\n  time      : " + elastic_time(row.t) + "\n  host      : " + row.host +
         "\n  rank      : " + number(row.rank) + " (local_rank: " + number(row.local_rank) +
         ")\n  exitcode  : " + number(row.code) + " (pid: " + number(row.pid) +
         ")\n  error_file: <N/A>\n  traceback : " + status;
}

void append_lines(std::vector<std::string>& out, std::string_view text) {
  while (true) {
    const std::size_t end = text.find('\n');
    out.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::string c10_time(std::int64_t t) {
  const Civil c = civil_of(t);
  return number(c.month) + padded(c.day, 2) + " " + clock_text(c) + "." + padded(c.ns, 9);
}
std::string nccl_time(std::int64_t t) {
  const Civil c = civil_of(t);
  return date_text(c) + " " + clock_text(c);
}
std::string elastic_time(std::int64_t t) {
  const Civil c = civil_of(t);
  return date_text(c) + "_" + clock_text(c);
}
std::string glog_time(std::int64_t t) {
  const Civil c = civil_of(t);
  return padded(c.month, 2) + padded(c.day, 2) + " " + clock_text(c) + "." + padded(c.ns / 1'000'000, 3) +
         "000";
}
std::string kernel_time(std::int64_t t) {
  constexpr std::array<std::string_view, 7> kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const Civil c = civil_of(t);
  return std::string(kDays.at(static_cast<std::size_t>(c.weekday))) + " " +
         std::string(kMonths.at(static_cast<std::size_t>(c.month - 1))) + " " + padded(c.day, 2, ' ') + " " +
         clock_text(c) + " " + padded(c.year, 4);
}
std::string slurm_time(std::int64_t t) {
  const Civil c = civil_of(t);
  return date_text(c) + "T" + clock_text(c);
}

std::string_view op_type(Collective collective) {
  constexpr std::array<std::string_view, 6> kTypes{
      "ALLREDUCE", "_REDUCE_SCATTER_BASE", "_ALLGATHER_BASE", "BROADCAST", "REDUCE", "ALLTOALL_BASE"};
  return kTypes.at(static_cast<std::size_t>(collective));
}

std::string watchdog_timeout(const Printer& who, std::int64_t t, const WorkText& work) {
  return torch_prefix(who, t, "E", 632) + "[Rank " + number(who.rank) +
         "] Watchdog caught collective operation timeout: " + work_text(work);
}

std::vector<std::string> watchdog_aftermath(const Printer& who, std::int64_t t, const WorkText& work) {
  const std::string rank = "[Rank " + number(who.rank) + "] ";
  return {
      torch_prefix(who, t + 812'000, "E", 2271) + group_prefix(who) +
          " failure detected by watchdog at work sequence id: " + number(work.seq) +
          " PG status: last enqueued work: " + number(work.enqueued) +
          ", last completed work: " + number(work.completed),
      torch_prefix(who, t + 831'000, "E", 670) +
          "Stack trace of the failed collective not found, potentially because FlightRecorder is disabled. "
          "You can "
          "enable it by setting TORCH_NCCL_TRACE_BUFFER_SIZE to a non-zero value.",
      torch_prefix(who, t + 846'000, "E", 2106) + group_prefix(who) +
          "First PG on this rank to signal dumping.",
      torch_prefix(who, t + 344'000'000, "E", 684) + rank +
          "Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, "
          "subsequent "
          "GPU operations might run on corrupted/incomplete data.",
      torch_prefix(who, t + 344'012'000, "E", 698) + rank +
          "To avoid data inconsistency, we are taking the entire process down.",
      torch_prefix(who, t + 346'000'000, "E", 1899) + group_prefix(who) +
          "Process group watchdog thread terminated with exception: " + rank +
          "Watchdog caught collective operation timeout: " + work_text(work),
  };
}

std::vector<std::string> watchdog_error(const Printer& who, std::int64_t t, std::string_view error) {
  return {torch_prefix(who, t, "E", 1899) + group_prefix(who) +
              "Process group watchdog thread terminated with exception: " + std::string(error),
          "terminate called after throwing an instance of 'c10::DistBackendError'",
          "  what():  " + group_prefix(who) +
              "Process group watchdog thread terminated with exception: " + std::string(error)};
}

std::string heartbeat_stuck(const Printer& who, std::int64_t t, std::int64_t seconds) {
  return torch_prefix(who, t, "F", 1557) + group_prefix(who) + "[PG ID 0 PG GUID 0(default_pg) Rank " +
         number(who.rank) + "] ProcessGroupNCCL's watchdog got stuck for " + number(seconds) +
         " seconds without making progress in monitoring enqueued collectives. This typically indicates a "
         "NCCL/CUDA "
         "API (e.g., CudaEventDestroy) hang blocking the watchdog, and could be triggered by another thread "
         "holding "
         "the GIL inside a CUDA api, or other deadlock-prone behaviors.";
}

std::string nccl_remote_error(std::string_view last_error) {
  return "NCCL error: remote process exited or there was a network error, NCCL version 2.27.3 "
         "ncclRemoteError: A call "
         "failed possibly due to a network error or a remote process exiting prematurely. Last error: " +
         std::string(last_error);
}

std::string nccl_init(const Printer& who, int world) {
  std::string bus = who.pci.size() >= 7 ? who.pci.substr(5, 2) : "00";
  return nccl_prefix(who, 0) + "NCCL INFO ncclCommInitRankConfig comm 0x55a0" + padded(who.pid, 8) +
         " rank " + number(who.rank) + " nranks " + number(world) + " cudaDev " + number(who.local_rank) +
         " nvmlDev " + number(who.local_rank) + " busId " + bus +
         "000 commId 0x5d3fa9e5ef9fb512 - Init COMPLETE";
}

std::string nccl_closed(const Printer& who, std::int64_t t, std::string_view peer_host, int port) {
  return nccl_warn(who, t, 31, "misc/socket.cc:50",
                   "socketProgress: Connection closed by remote peer " + std::string(peer_host) + "<" +
                       number(port) + ">");
}

std::string nccl_ib_retry(const Printer& who, std::int64_t t, std::string_view peer_host, int hca) {
  return nccl_warn(
      who, t, 31, "transport/net_ib.cc:2293",
      "NET/IB: Got completion from peer " + std::string(peer_host) +
          "<49208> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_RDMA_WRITE(1) reqSize=0 vendor_err=129 "
          "req_type=Send localGid fe80::1 remoteGids fe80::2 hca mlx5_" +
          number(hca));
}

std::string nccl_port_event(const Printer& who, std::int64_t t, int hca, bool error) {
  return nccl_warn(
      who, t, 47, "transport/net_ib.cc:149",
      "NET/IB : mlx5_" + number(hca) + ":1 Got async event : " + (error ? "port error" : "port active"));
}

std::vector<std::string> traceback(const Printer& who, std::string_view call, std::string_view error) {
  const std::string prefix = "[rank" + number(who.rank) + "]: ";
  return {prefix + "Traceback (most recent call last):",
          prefix + "  File \"/opt/train/train.py\", line 118, in <module>",
          prefix + "    main()",
          prefix + "  File \"/opt/train/train.py\", line 97, in main",
          prefix + "    " + std::string(call),
          prefix + std::string(error)};
}

std::string nan_assertion(const Printer& who) {
  return "AssertionError: Rank " + number(who.rank) +
         ": found NaN in local grad norm in backward pass before data-parallel communication collective. "
         "Device: " +
         number(who.local_rank) + ", node: " + who.host;
}

std::string gloo_timeout(std::int64_t ms, bool send) {
  return "RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:" +
         std::string(send ? "133" : "81") + "] Timed out waiting " + number(ms) + "ms for " +
         (send ? "send" : "recv") + " operation to complete";
}

std::string gloo_closed(std::string_view address, bool reset) {
  const std::string place = "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:";
  return reset ? place + "589] Read error [" + std::string(address) + "]:16283: Connection reset by peer"
               : place + "598] Connection closed by peer [" + std::string(address) + "]:16283";
}

std::string gloo_enforce(std::int64_t got, std::int64_t room) {
  return "[enforce fail at ../third_party/gloo/gloo/transport/tcp/pair.cc:510] op.preamble.length <= "
         "op.nbytes. " +
         number(got) + " vs " + number(room);
}

std::string wrapper_mismatch(int mine_rank, const Fingerprint& mine, int theirs_rank,
                             const Fingerprint& theirs) {
  std::string out = "RuntimeError: Detected mismatch between collectives on ranks. Rank " +
                    number(mine_rank) + " is running collective: " + fingerprint_text(mine) + ", but Rank " +
                    number(theirs_rank) + " is running collective: " + fingerprint_text(theirs) +
                    ".Collectives differ in the following aspects: ";
  if (mine.collective != theirs.collective)
    out += "\t Op type: " + std::string(op_type(mine.collective)) + "vs " +
           std::string(op_type(theirs.collective));
  if (mine.shape != theirs.shape)
    out += "\t Tensor Tensor shapes: " + shape_text(mine.shape) + "vs " + shape_text(theirs.shape);
  if (mine.dtype != theirs.dtype)
    out += "\t Tensor Tensor dtypes: " + torch_dtype(mine.dtype) + "vs " + torch_dtype(theirs.dtype);
  return out;
}

std::string ddp_shape(int rank, const Shape& mine) {
  return "RuntimeError: [" + number(rank) + "]: params[0] in this process with sizes " + shape_text(mine) +
         " appears not to match sizes of the same param in process 0.";
}

std::string loss_scale_skip(int rank, std::int64_t step) {
  return "[" + number(rank) + "] step " + number(step) + ": OVERFLOW! Rank " + number(rank) +
         " Skipping step. Attempted loss scale: 65536, reducing to 32768";
}

std::vector<std::string> mpi_truncate(const Printer& who) {
  const std::string prefix = "[" + who.host + ":" + number(who.pid) + "] *** ";
  return {prefix + "An error occurred in MPI_Allreduce",
          prefix + "reported by process [1044512769," + number(who.rank) + "]",
          prefix + "on communicator MPI_COMM_WORLD",
          prefix + "MPI_ERR_TRUNCATE: message truncated",
          prefix + "MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,",
          prefix + "   and potentially your MPI job)"};
}

std::vector<std::string> mpirun_ended(int rank, std::string_view host, int code, bool by_signal) {
  const std::string rule(74, '-');
  std::vector<std::string> lines{rule, "Primary job  terminated normally, but 1 process returned",
                                 "a non-zero exit code. Per user-direction, the job has been aborted.", rule,
                                 rule};
  if (by_signal) {
    lines.push_back("mpirun noticed that process rank " + number(rank) + " with PID 0 on node " +
                    std::string(host) + " exited on signal " + number(code) + " (" +
                    std::string(signal_word(code)) + ").");
  } else {
    lines.emplace_back(
        "mpirun detected that one or more processes exited with non-zero status, thus causing");
    lines.emplace_back("the job to be terminated. The first process to do so was:");
    lines.emplace_back("");
    lines.push_back("  Process name: [[15972,1]," + number(rank) + "]");
    lines.push_back("  Exit code:    " + number(code));
  }
  lines.push_back(rule);
  return lines;
}

std::string elastic_failed(std::int64_t t, int code, int local_rank, std::int64_t pid) {
  return "E" + glog_time(t) +
         " 40990 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: " + number(code) +
         ") local_rank: " + number(local_rank) + " (pid: " + number(pid) +
         ") of binary: /opt/venv/bin/python3";
}

std::string elastic_sigterm(std::int64_t t, std::int64_t pid) {
  return "W" + glog_time(t) +
         " 40990 torch/distributed/elastic/multiprocessing/api.py:897] Sending process " + number(pid) +
         " closing signal SIGTERM";
}

std::string elastic_sigkill(std::int64_t t, std::int64_t pid) {
  return "W" + glog_time(t) +
         " 40990 torch/distributed/elastic/multiprocessing/api.py:916] Unable to shutdown process " +
         number(pid) + " via Signals.SIGTERM, forcefully exiting via Signals.SIGKILL";
}

std::vector<std::string> elastic_table(const std::vector<ElasticRow>& rows) {
  std::vector<std::string> lines;
  const std::string thick(60, '='), thin(60, '-');
  // "First observed": the smallest time stamp, which has a resolution of 1 s; on a tie the lowest local rank.
  const auto root = std::min_element(rows.begin(), rows.end(), [](const ElasticRow& a, const ElasticRow& b) {
    return a.t / kSecond != b.t / kSecond ? a.t / kSecond < b.t / kSecond : a.local_rank < b.local_rank;
  });
  lines.emplace_back("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ");
  lines.push_back(thick);
  lines.emplace_back("train.py FAILED");
  lines.push_back(thin);
  lines.emplace_back("Failures:");
  int index = 0;
  for (auto row = rows.begin(); row != rows.end(); ++row)
    if (row != root) append_lines(lines, table_row("[" + number(++index) + "]:", *row));
  if (index == 0) lines.emplace_back("  <NO_OTHER_FAILURES>");
  lines.push_back(thin);
  lines.emplace_back("Root Cause (first observed failure):");
  append_lines(lines, table_row("[0]:", *root));
  lines.push_back(thick);
  return lines;
}

std::string_view signal_word(int signal) {
  switch (signal) {
    case 6:
      return "Aborted";
    case 9:
      return "Killed";
    case 15:
      return "Terminated";
    default:
      return "Signal";
  }
}

std::string kernel_xid(const Printer& who, std::int64_t t, int xid, std::string_view text) {
  return "[" + kernel_time(t) + "] NVRM: Xid (PCI:" + kernel_pci(who) + "): " + number(xid) +
         ", pid=" + number(who.pid) + ", name=python3, " + std::string(text);
}

std::vector<std::string> kernel_oom(const Printer& who, std::int64_t t) {
  const std::string time = "[" + kernel_time(t) + "] ";
  return {
      time +
          "pt_data_worker invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, "
          "oom_score_adj=0",
      time +
          "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/"
          ",mems_allowed=0-1,global_oom,task=python3"
          ",pid=" +
          number(who.pid) + ",uid=1001",
      time + "Out of memory: Killed process " + number(who.pid) +
          " (python3) total-vm:164093200kB, anon-rss:123219840kB, file-rss:22140kB, shmem-rss:2820kB, "
          "UID:1001 "
          "pgtables:245420kB oom_score_adj:0"};
}

std::vector<std::string> kernel_aer(std::string_view pci, std::int64_t t) {
  const std::string time = "[" + kernel_time(t) + "] ";
  const std::string port = "pcieport 0000:00:03.0: ";
  return {time + port + "AER: Uncorrected (Fatal) error received: " + std::string(pci),
          time + port + "PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Receiver ID)",
          time + port + "pciehp: Slot(5): Power fault"};
}

std::string kernel_port(std::int64_t t, int hca, bool up) {
  return "[" + kernel_time(t) + "] mlx5_core 0000:5e:00.0 ib" + number(hca) + ": Link " +
         (up ? "up" : "down");
}

}  // namespace ringside::sim
