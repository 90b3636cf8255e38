// What the real stack prints, word for word: PyTorch 2.7, NCCL 2.27, Gloo, Open MPI 4.1, torchrun, Slurm and
// the Linux kernel. Pure functions from facts to text; who prints what and when is said by the rules.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/collective/schedule.hpp"
#include "sim/tensor/dtype.hpp"
#include "sim/tensor/shape.hpp"

namespace ringside::sim {

/// Who prints, for prefixes.
struct Printer {
  int rank = 0, local_rank = 0;
  std::int64_t pid = 0;
  std::string host;
  std::string pci;  // "0000:1b:00.0"
};

/// A collective as PyTorch's watchdog knows it.
struct WorkText {
  std::uint32_t seq = 0;
  Collective collective = Collective::AllReduce;
  std::int64_t numel = 0;
  std::int64_t timeout_ms = 0, ran_ms = 0;
  std::uint32_t enqueued = 0, completed = 0;
};

/// Simulated jobs start at this wall-clock time: 2026-03-02 09:00:00 UTC.
inline constexpr std::int64_t kLogEpochUnixS = 1'772'442'000;

// Times since the start of the job, as the layers print them.
std::string c10_time(std::int64_t t);      // 302 09:00:12.345678901
std::string nccl_time(std::int64_t t);     // 2026-03-02 09:00:12
std::string elastic_time(std::int64_t t);  // 2026-03-02_09:00:12
std::string glog_time(std::int64_t t);     // 0302 09:00:12.345000
std::string kernel_time(std::int64_t t);   // Mon Mar  2 09:00:12 2026
std::string slurm_time(std::int64_t t);    // 2026-03-02T09:00:12

/// "ALLREDUCE", "_REDUCE_SCATTER_BASE": c10d's OpType.
std::string_view op_type(Collective collective);

// PyTorch, ProcessGroupNCCL. Each gives whole lines with their prefix.
std::string watchdog_timeout(const Printer& who, std::int64_t t, const WorkText& work);
std::vector<std::string> watchdog_aftermath(const Printer& who, std::int64_t t, const WorkText& work);
std::vector<std::string> watchdog_error(const Printer& who, std::int64_t t, std::string_view error);
std::string heartbeat_stuck(const Printer& who, std::int64_t t, std::int64_t seconds);
std::string nccl_remote_error(std::string_view last_error);

// NCCL.
std::string nccl_init(const Printer& who, int world);
std::string nccl_closed(const Printer& who, std::int64_t t, std::string_view peer_host, int port);
std::string nccl_ib_retry(const Printer& who, std::int64_t t, std::string_view peer_host, int hca);
std::string nccl_port_event(const Printer& who, std::int64_t t, int hca, bool error);

// Python and Gloo.
std::vector<std::string> traceback(const Printer& who, std::string_view call, std::string_view error);
std::string nan_assertion(const Printer& who);
std::string gloo_timeout(std::int64_t ms, bool send);
std::string gloo_closed(std::string_view address, bool reset);
std::string gloo_enforce(std::int64_t got, std::int64_t room);
/// One side of ProcessGroupWrapper's message.
struct Fingerprint {
  std::uint32_t seq = 0;
  Collective collective = Collective::AllReduce;
  Shape shape;
  DType dtype = DType::Float32;
  bool cuda = true;
  bool operator==(const Fingerprint& o) const {
    return collective == o.collective && shape == o.shape && dtype == o.dtype;
  }
};
std::string wrapper_mismatch(int mine_rank, const Fingerprint& mine, int theirs_rank,
                             const Fingerprint& theirs);
std::string ddp_shape(int rank, const Shape& mine);
std::string loss_scale_skip(int rank, std::int64_t step);

// MPI and launchers.
std::vector<std::string> mpi_truncate(const Printer& who);
std::vector<std::string> mpirun_ended(int rank, std::string_view host, int code, bool by_signal);
std::string elastic_failed(std::int64_t t, int code, int local_rank, std::int64_t pid);
std::string elastic_sigterm(std::int64_t t, std::int64_t pid);
std::string elastic_sigkill(std::int64_t t, std::int64_t pid);
/// One process in torchrun's table.
struct ElasticRow {
  int rank = 0, local_rank = 0;
  std::int64_t pid = 0, t = 0;
  int code = 0;  // negative = by that signal
  std::string host;
};
std::vector<std::string> elastic_table(const std::vector<ElasticRow>& rows);
std::string_view signal_word(int signal);  // "Killed", "Aborted", "Terminated"

// Kernel.
std::string kernel_xid(const Printer& who, std::int64_t t, int xid, std::string_view text);
std::vector<std::string> kernel_oom(const Printer& who, std::int64_t t);
std::vector<std::string> kernel_aer(std::string_view pci, std::int64_t t);
std::string kernel_port(std::int64_t t, int hca, bool up);

}  // namespace ringside::sim
