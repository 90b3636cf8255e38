// Forms of NCCL 2.4 to 2.30: who is who, settings, COLL lines, its own checks, shared memory, NVLS, memory.
#include "backend/import/messages.hpp"

namespace ringside::backend {
namespace {

constexpr MessageForm kForms[] = {
    // "comm 0x… rank R nranks N cudaDev D [nvmlDev D] [busId B] [commId 0x…] - Init START|COMPLETE"
    {FactKind::NcclInit, Layer::Nccl, Role::Context, " nranks ",
     R"(rank (?P<rank>\d+) nranks (?P<value>\d+) cudaDev (?P<device>\d+)(?: nvmlDev \d+)?(?: busId (?P<bus>[0-9a-fA-F]+))?(?: commId (?P<pg>0x[0-9a-f]+))?(?:.* - (?P<name>\w+ \w+))?)"},
    {FactKind::NcclInit, Layer::Nccl, Role::Context, " nRanks ",
     R"(rank (?P<rank>\d+) nRanks (?P<value>\d+) nNodes \d+ localRanks \d+ localRank (?P<local_rank>\d+))",
     "topology"},
    {FactKind::NcclInit, Layer::Nccl, Role::Context, "Bootstrap : Using",
     R"(Bootstrap : Using (?:\[\d+\])?[\w.-]+:(?P<peer>[0-9a-fA-F.:]+)<)", "address"},
    {FactKind::NcclInit, Layer::Nccl, Role::Context, "Bootstrap: Using",
     R"(Bootstrap: Using (?:\[\d+\])?[\w.-]+:(?P<peer>[0-9a-fA-F.:]+)<)", "address"},
    {FactKind::NcclInit, Layer::Nccl, Role::Context, "OOB ", R"(OOB [\w.-]+:(?P<peer>[0-9a-fA-F.:]+)<)",
     "address"},
    {FactKind::NcclInit, Layer::Nccl, Role::Context, "NET/Socket : Using",
     R"(NET/Socket : Using (?:\[\d+\])?[\w.-]+:(?P<peer>[0-9a-fA-F.:]+)<)", "address"},
    // nccl-tests: "#  Rank  0 Group  0 Pid 2187864 on    gpu-k01 device  0 [1b] NVIDIA H100"
    {FactKind::NcclInit, Layer::Nccl, Role::Context, " Pid ",
     R"(^#\s+Rank\s+(?P<rank>\d+) (?:Group\s+\d+ )?Pid\s+(?P<pid>\d+) on\s+(?P<host>[\w.-]+) device\s+(?P<device>\d+) \[(?P<port>[0-9a-fx:]+)\])",
     "nccl-tests"},
    {FactKind::NcclEnv, Layer::Nccl, Role::Context, "set by environment to",
     R"((?P<op>NCCL_\w+) set by environment to (?P<name>[^\s]+?)\.?$)"},
    {FactKind::NcclColl, Layer::Nccl, Role::Context, ": opCount ",
     R"((?P<op>\w+): opCount (?P<hexseq>[0-9a-f]+) sendbuff \S+ recvbuff \S+ count (?P<numel_in>\d+) datatype (?P<dtype>\d+) op (?P<name>\d+) root (?P<code>\d+) comm (?P<pg>0x[0-9a-f]+)(?: \[nranks=(?P<value>\d+)\])?)"},
    {FactKind::NcclSelfCheck, Layer::Nccl, Role::Names, "Mismatched collective detected",
     R"(Mismatched collective detected, .*around rank (?P<named>\d+))", "mismatch"},
    {FactKind::NcclSelfCheck, Layer::Nccl, Role::Names, "collective mismatch around rank",
     R"(caused by a collective mismatch around rank (?P<named>\d+))", "hang"},
    {FactKind::DuplicateGpu, Layer::Nccl, Role::Names, "Duplicate GPU detected",
     R"(Duplicate GPU detected : rank (?P<named>\d+) and rank (?P<also>\d+) both on CUDA device (?P<bus>[0-9a-fA-F]+))"},
    {FactKind::SharedMemory, Layer::Nccl, Role::Root, "posix_fallocate failed",
     R"(posix_fallocate failed : (?P<name>.*))"},
    {FactKind::SharedMemory, Layer::Nccl, Role::Root, "failed to extend /dev/shm",
     R"(failed to extend /dev/shm/\S+ to (?P<value>\d+) bytes(?:, error: (?P<name>.*))?)"},
    {FactKind::SharedMemory, Layer::Nccl, Role::Root, "creating shared memory segment",
     R"(Error while creating shared memory segment \S+(?: \(size (?P<value>\d+)\))?)"},
    {FactKind::SharedMemory, Layer::Nccl, Role::Root, "/dev/shm/nccl-",
     R"(/dev/shm/nccl-.*(?P<name>No space left on device))"},
    {FactKind::SharedMemory, Layer::Python, Role::Root, "out of shared memory", R"(out of shared memory)",
     "DataLoader workers: Bus error"},
    {FactKind::SharedMemory, Layer::Python, Role::Root, "insufficient shared memory",
     "insufficient shared memory", "DataLoader workers"},
    {FactKind::BadSetup, Layer::Nccl, Role::Root, "Too many open files",
     R"(NCCL WARN (?P<name>Call to \w+ failed.*Too many open files))"},
    {FactKind::BadSetup, Layer::Python, Role::Root, "expected, but not set",
     R"((?P<name>environment variable \w+ expected, but not set))"},
    {FactKind::BadSetup, Layer::Cuda, Role::Root, "driver on your system is too old",
     R"((?P<name>NVIDIA driver on your system is too old(?: \(found version \d+\))?))"},
    {FactKind::BadSetup, Layer::Cuda, Role::Root, "driver version is insufficient",
     R"((?P<name>CUDA driver version is insufficient for CUDA runtime version))"},
    {FactKind::NvlsFailed, Layer::Nccl, Role::Root, "nvls.cc",
     R"(nvls\.cc:\d+ (?:\(\w+\) )?NCCL WARN (?P<name>.*))"},
    {FactKind::NvlsFailed, Layer::Nccl, Role::Root, "ulticast",
     R"((?P<name>(?:Failed to bind NVLink SHARP|cuMulticast\w+ failed|Multicast.*fail).*))"},
    {FactKind::NcclOutOfMemory, Layer::Nccl, Role::Root, "Failed to CUDA",
     R"(Failed to CUDA (?:calloc|malloc|host alloc)\w* (?P<value>\d+) bytes)"},
    {FactKind::NcclOutOfMemory, Layer::Nccl, Role::Root, "'out of memory'",
     R"(Cuda failure (?:\d+ )?'out of memory')"},
    {FactKind::CudaError, Layer::Nccl, Role::Root, "Cuda failure",
     R"(Cuda failure (?:\d+ )?'(?P<name>[^']+)')"},
    {FactKind::NcclTruncated, Layer::Nccl, Role::Victim, "Message truncated : received",
     R"(Message truncated : received (?P<value>\d+) bytes instead of (?P<limit>\d+))"},
    {FactKind::NcclTruncated, Layer::Nccl, Role::Victim, "essage truncated : receiving",
     R"((?:peer (?P<peer>[^<\s]+)<\d+> )?[Mm]essage truncated : receiving (?P<value>\d+) bytes instead of (?P<limit>\d+))"},
    {FactKind::NcclWarn, Layer::Nccl, Role::Root, "version mismatch", R"((?i)(?P<name>.*version mismatch.*))",
     "versions differ"},
    {FactKind::NcclWarn, Layer::Nccl, Role::Root, "Mismatched NCCL version",
     "(?P<name>Mismatched NCCL version.*)"},
    {FactKind::NcclReturn, Layer::Nccl, Role::Consequence, "NCCL INFO ",
     R"(^(?:NCCL INFO )?[\w./]+:\d+ -> (?P<code>\d+)|NCCL INFO [\w./]+:\d+ -> (?P<limit>\d+))", nullptr,
     true},
    {FactKind::NcclWarn, Layer::Nccl, Role::Victim, "NCCL WARN", R"(NCCL WARN (?P<name>.*))", nullptr, true},
};

}  // namespace

std::span<const MessageForm> nccl_messages() {
  return kForms;
}

}  // namespace ringside::backend
