// Forms of InfiniBand and RoCE (NCCL 2.4 to 2.30, HPC-X), of CUDA inside programs, and of the kernel log.
#include "backend/import/messages.hpp"

namespace ringside::backend {
namespace {

constexpr MessageForm kForms[] = {
    // ---- IB completions: "error 12, opcode …", "status=12 opcode=…", "status=IBV_WC_RETRY_EXC_ERR(12) …"
    {FactKind::IbCompletion, Layer::Ib, Role::Victim, "Got completion",
     R"(Got completion (?:from peer (?P<peer>[^<\s]+)<\d+> )?with (?:error |status=(?:\w+\()?)(?P<code>\d+)\)?.*?vendor[ _]err[ =](?P<limit>\d+)(?:.* hca (?P<name>[\w.-]+))?)"},
    {FactKind::IbCompletion, Layer::Ib, Role::Victim, "Got completion",
     R"(Got completion (?:from peer (?P<peer>[^<\s]+)<\d+> )?with (?:error |status=(?:\w+\()?)(?P<code>\d+))"},
    {FactKind::IbCompletion, Layer::Ib, Role::Victim, "retry count exceeded",
     R"(retry count exceeded on (?P<name>[\w.-]+))"},
    {FactKind::IbSizeMismatch, Layer::Ib, Role::Names, "collective mismatch error",
     R"((?:peer (?P<peer>[^<\s]+)<\d+> )?collective mismatch error,? local size (?P<value>\d+) remote size (?P<limit>\d+))"},
    // ---- IB asynchronous events
    {FactKind::IbAsyncFatal, Layer::Ib, Role::Root, "Got ",
     R"((?:NET/IB ?: )?(?:(?P<port>[\w.-]+:\d+) )?Got (?:non-fatal )?async (?:error |fatal )?event ?: (?P<name>port error|local catastrophic error|device fatal|QP fatal|CQ error|SRQ error|local access violation work queue error|local work queue catastrophic error|path migration request error)\b)"},
    {FactKind::IbAsyncFatal, Layer::Ib, Role::Root, "async fatal event",
     R"((?:(?P<port>[\w.-]+:\d+) )?async fatal event(?: on (?P<name>\w+))?)"},
    {FactKind::IbAsyncOther, Layer::Ib, Role::Context, "Got ",
     R"((?:NET/IB ?: )?(?:(?P<port>[\w.-]+:\d+) )?Got (?:non-fatal )?async (?:error )?event ?: (?P<name>port active|client reregistration|LID change|GID table change|SM change|PKEY change|[\w ]+))"},
    {FactKind::IbAsyncOther, Layer::Ib, Role::Context, "GID table changed", "GID table changed",
     "GID table changed"},
    {FactKind::IbVerbs, Layer::Ib, Role::Root, "Call to ibv_",
     R"(Call to (?P<op>ibv_\w+) failed(?: with (?:error )?(?P<name>.*))?)"},
    // ---- CUDA in programs
    {FactKind::CudaOom, Layer::Cuda, Role::Root, "out of memory. Tried to allocate",
     R"((?:CUDA|HIP) out of memory\. Tried to allocate (?P<name>[\d.]+ \w+)(?:[^G]*GPU (?P<device>\d+))?)"},
    {FactKind::CudaOom, Layer::Cuda, Role::Root, "CUDA out of memory", "CUDA out of memory"},
    {FactKind::CudaOom, Layer::Cuda, Role::Root, "CUDA error: out of memory", "CUDA error: out of memory"},
    {FactKind::CudaOom, Layer::Cuda, Role::Root, "HIP out of memory", "HIP out of memory"},
    {FactKind::CudaOom, Layer::Cuda, Role::Root, "OutOfMemoryError",
     R"(\btorch\.(?:cuda\.)?OutOfMemoryError\b)"},
    {FactKind::CudaOom, Layer::Cuda, Role::Root, "cudaErrorMemoryAllocation", "cudaErrorMemoryAllocation"},
    {FactKind::CudaOom, Layer::Cuda, Role::Root, "RESOURCE_EXHAUSTED",
     "RESOURCE_EXHAUSTED: .*(?i:out of memory)"},
    {FactKind::GpuEcc, Layer::Cuda, Role::Root, "uncorrectable ECC error",
     R"(uncorrectable ECC error(?: encountered|[.,;'")]|\s*$))",  // "… errors: 0" is a health check
     "uncorrectable ECC error"},
    {FactKind::GpuEcc, Layer::Cuda, Role::Root, "uncorrectable NVLink error", R"(uncorrectable NVLink error)",
     "uncorrectable NVLink error"},
    {FactKind::GpuLost, Layer::Cuda, Role::Root, "GPU is lost", R"(GPU is lost)"},
    {FactKind::GpuLost, Layer::Cuda, Role::Root, "device handle for GPU",
     R"(Unable to determine the device handle for GPU ?(?P<bus>[0-9A-Fa-f:.]+):)"},
    {FactKind::CudaError, Layer::Cuda, Role::Root, "CUDA error", R"(CUDA error(?: \d+)?: (?P<name>.*))"},
    {FactKind::CudaError, Layer::Cuda, Role::Root, "HIP error", R"(HIP error: (?P<name>.*))"},
    {FactKind::CudaError, Layer::Cuda, Role::Root, "emory access fault by GPU",
     R"((?P<name>Memory access fault by GPU node-\d+.*))"},
    {FactKind::CudaError, Layer::Cuda, Role::Root, "HW Exception by GPU",
     R"((?P<name>HW Exception by GPU node-\d+.*))"},
    {FactKind::CudaError, Layer::Cuda, Role::Root, "HSA_STATUS_ERROR",
     R"((?P<name>HSA_STATUS_ERROR(?:_\w+)?))"},
    {FactKind::CudaError, Layer::Cuda, Role::Root, "device-side assert",
     "(?P<name>device-side assert triggered)"},
    {FactKind::CudaError, Layer::Cuda, Role::Root, "CUBLAS_STATUS_",
     R"(CUDA error: (?P<name>CUBLAS_STATUS_\w+)|(?P<op>CUBLAS_STATUS_(?:EXECUTION_FAILED|INTERNAL_ERROR)))"},
    // ---- kernel log
    {FactKind::Xid, Layer::Kernel, Role::Root, "NVRM: Xid",
     R"(Xid \((?P<bus>[0-9A-Za-z:.]+)\): (?P<code>\d+),? (?:pid='?(?:(?P<pid>\d+)|<unknown>)'?, (?:name=[^,]*, )?)?(?P<name>.*))"},
    {FactKind::Xid, Layer::Kernel, Role::Root, "NVRM: Xid",
     R"(Xid \((?P<bus>[0-9A-Za-z:.]+)\): (?P<code>\d+))"},
    {FactKind::GpuLost, Layer::Kernel, Role::Root, "fallen off the bus",
     R"(GPU (?:at )?(?:PCI:)?(?P<bus>[0-9A-Fa-f]+:[0-9A-Fa-f:.]+).*fallen off the bus)"},
    {FactKind::GpuLost, Layer::Kernel, Role::Root, "fallen off the bus",
     "fallen off the bus and is not responding"},
    {FactKind::GpuLost, Layer::Kernel, Role::Root, "NV_ERR_RESET_REQUIRED", "NV_ERR_RESET_REQUIRED"},
    {FactKind::GpuLost, Layer::Kernel, Role::Context, "The NVIDIA GPU ",
     R"(NVRM: The NVIDIA GPU (?P<bus>[0-9A-Fa-f:.]+))", "address"},
    {FactKind::DeviceFault, Layer::Kernel, Role::Root,
     "SXid (PCI:", R"(SXid \(PCI:(?P<bus>[0-9A-Fa-f:.]+)\): (?P<code>\d+), (?P<name>Fatal.*))", "NVSwitch"},
    {FactKind::DeviceFault, Layer::Kernel, Role::Root, "uncorrectable hardware errors detected in",
     R"(amdgpu (?P<bus>[0-9a-f:.]+): .*?(?P<name>[1-9]\d* uncorrectable hardware errors detected in .*))"},
    {FactKind::Aer, Layer::Kernel, Role::Root, "PCIe Bus Error",
     R"((?:pcieport|nvidia|mlx5_core) (?P<bus>[0-9a-f:.]+): (?:AER: )?PCIe Bus Error: severity=(?P<name>[\w ()-]+?), type)"},
    {FactKind::Aer, Layer::Kernel, Role::Root, "AER: ",
     R"((?:pcieport|nvidia|mlx5_core) (?P<bus>[0-9a-f:.]+): AER: (?:Multiple )?(?P<name>Corrected|Uncorrected(?: \([\w-]+\))?|Uncorrectable(?: \([\w-]+\))?) error)"},
    {FactKind::Aer, Layer::Kernel, Role::Root, "pciehp: Slot",
     R"(pcieport (?P<bus>[0-9a-f:.]+): pciehp: Slot\([^)]*\): (?P<name>Link Down|Card not present|Power fault))"},
    {FactKind::KernelOom, Layer::Kernel, Role::Root, "ut of memory: Kill",
     R"((?:Memory cgroup o|O)ut of memory: Kill(?:ed)? process (?P<pid>\d+) \((?P<name>[^)]*)\)(?:.*anon-rss:(?P<value>\d+)kB)?)"},
    {FactKind::KernelOom, Layer::Kernel, Role::Root, "oom-kill:constraint",
     R"(oom-kill:constraint=.*task=(?P<name>[^,]*),pid=(?P<pid>\d+))"},
    {FactKind::KernelOom, Layer::Kernel, Role::Context, "invoked oom-killer",
     R"((?P<name>\S+) invoked oom-killer)"},
    {FactKind::TaskBlocked, Layer::Kernel, Role::Victim, "blocked for more than",
     R"(task (?P<name>\S+):(?P<pid>\d+) blocked for more than (?P<value>\d+) seconds)"},
    {FactKind::MachineCheck, Layer::Kernel, Role::Root, "[Hardware Error]",
     R"(\[Hardware Error\]: (?P<name>.*))"},
    {FactKind::MachineCheck, Layer::Kernel, Role::Root, " UE ", R"(EDAC \w+: \d+ UE (?P<name>.*))"},
    {FactKind::LinkState, Layer::Kernel, Role::Root, "Port module event",
     R"(mlx5_core (?P<bus>[0-9a-f:.]+).*Port module event\w*: module \d+, (?P<name>Cable unplugged|Cable error.*|.*))"},
    {FactKind::LinkState, Layer::Kernel, Role::Root, "mlx5_core",
     R"(mlx5_core (?P<bus>[0-9a-f:.]+).*(?P<name>[Ll]ink down|health compromised|device error|assert_var.*|Fatal.*))"},
};

}  // namespace

std::span<const MessageForm> device_messages() {
  return kForms;
}

}  // namespace ringside::backend
