// Forms of PyTorch: ProcessGroupNCCL (1.9 to main), the debug wrapper, monitored_barrier, Gloo, DDP and FSDP.
#include "backend/import/messages.hpp"

namespace ringside::backend {
namespace {

constexpr MessageForm kForms[] = {
    // ---- watchdog: 1.9 "[Rank 0] Caught …", later "Watchdog caught …"; TensorShape only in NVIDIA's 1.9 build
    {FactKind::WatchdogTimeout, Layer::Torch, Role::Victim, "aught collective operation timeout",
     R"((?:\[Rank (?P<group_rank>\d+)\] )?(?:Watchdog c|C)aught collective operation timeout: Work\w+\((?:SeqNum=(?P<seq>\d+),? ?)?OpType=(?P<op>\w+)(?:, TensorShape=\[(?P<shape>[^\]]*)\])?(?:, NumelIn=(?P<numel_in>\d+), NumelOut=(?P<numel_out>\d+))?(?:, Timeout\(ms\)=(?P<limit>\d+))?\)?(?: ran for (?P<value>\d+) milliseconds)?)"},
    {FactKind::WatchdogTimeout, Layer::Torch, Role::Victim, "timed out in blocking wait",
     R"((?:\[Rank (?P<group_rank>\d+)\] )?Work Work\w+\((?:SeqNum=(?P<seq>\d+), )?OpType=(?P<op>\w+)(?:, NumelIn=(?P<numel_in>\d+), NumelOut=(?P<numel_out>\d+))?(?:, Timeout\(ms\)=(?P<limit>\d+))?\) timed out in blocking wait)"},
    {FactKind::WatchdogTimeout, Layer::Torch, Role::Victim, "Async operation timed out", "Async operation timed out"},
    {FactKind::WatchdogTimeout, Layer::Torch, Role::Victim, "Operation timed out!", "^(?:RuntimeError: )?Operation timed out!"},
    {FactKind::WatchdogStatus, Layer::Torch, Role::Victim, "ast enqueued",
     R"((?:Timeout at \w+ work: |detected by watchdog at work(?: sequence id)?: )(?P<seq>\d+),? (?:PG status: )?last enqueued (?:\w+ )?work: (?P<enqueued>-?\d+), last completed (?:\w+ )?work: (?P<completed>-?\d+))"},
    {FactKind::DumpNotice, Layer::Torch, Role::Consequence, "Received a dump signal",
     R"(Received a dump signal due to (?P<name>[^.]*?) and we will try our best.*?(?:Last enqueued \w+ work: (?P<enqueued>-?\d+), last completed \w+ work: (?P<completed>-?\d+)))"},
    {FactKind::DumpNotice, Layer::Torch, Role::Consequence, "Received a dump signal", "Received a dump signal"},
    {FactKind::DumpNotice, Layer::Torch, Role::Consequence, "global timeout from another rank", "Received a global timeout from another rank"},
    {FactKind::DumpNotice, Layer::Torch, Role::Consequence, "flight recorder dump signal", "Observed flight recorder dump signal from another rank"},
    {FactKind::DumpNotice, Layer::Torch, Role::Consequence, "to signal dumping", "First PG on this rank to signal dumping"},
    {FactKind::DumpNotice, Layer::Torch, Role::Consequence, "preparing to dump debug info", "preparing to dump debug info"},
    {FactKind::DumpNotice, Layer::Torch, Role::Consequence, "after attempting to dump debug info", "(?P<name>Terminating the process after attempting to dump debug info.*)"},
    {FactKind::DumpNotice, Layer::Torch, Role::Consequence, "Could not acquire GIL", "Could not acquire GIL within"},
    {FactKind::DumpNotice, Layer::Torch, Role::Consequence, "taking the entire process down", "we are taking the entire process down"},
    {FactKind::DumpNotice, Layer::Torch, Role::Consequence, "Some NCCL operations have failed", "Some NCCL operations have failed or timed out"},
    {FactKind::DumpNotice, Layer::Torch, Role::Consequence, "should dump", R"(Failed to check the "should dump" flag on TCPStore)", "store closed"},
    {FactKind::DumpNotice, Layer::Torch, Role::Context, "Stack trace of the failed collective", "Stack trace of the failed collective"},
    {FactKind::WatchdogError, Layer::Torch, Role::Victim, "watchdog thread terminated",
     R"((?:NCCL|Process group) watchdog thread terminated with exception: (?P<name>.*))"},
    {FactKind::WatchdogError, Layer::Torch, Role::Victim, "async exception",
     R"((?:Collective Work\w+\((?:SeqNum=(?P<seq>\d+), )?OpType=(?P<op>\w+)[^)]*\)(?:, Timeout[^)]*\))? )?(?:raised the following async exception|found async exception when checking for NCCL errors): (?P<name>.*))"},
    {FactKind::HeartbeatStuck, Layer::Torch, Role::Victim, "watchdog got stuck for", R"(watchdog got stuck for (?P<value>\d+) seconds)"},
    {FactKind::HeartbeatStuck, Layer::Torch, Role::Victim, "Heartbeat monitor timed out", R"(Heartbeat monitor timed out!(?:.*workMetaList_\.size\(\)=(?P<enqueued>\d+))?)"},
    {FactKind::HeartbeatStuck, Layer::Torch, Role::Victim, "detected no heartbeat", "First PG on this rank that detected no heartbeat of its watchdog"},
    {FactKind::RemoteErrorFrom, Layer::Torch, Role::Victim, "remote error detected from rank", R"(remote error detected from rank: (?P<named>\d+))"},
    {FactKind::NcclErrorText, Layer::Torch, Role::Victim, "NCCL error", R"(NCCL error(?: in)?: (?P<name>.*))"},
    {FactKind::NcclErrorText, Layer::Torch, Role::Victim, "ncclCommGetAsyncError", R"(ncclCommGetAsyncError failed: (?P<name>.*))"},
    {FactKind::CommAborted, Layer::Torch, Role::Consequence, "communicator was aborted", R"(NCCL communicator was aborted(?: on rank (?P<group_rank>\d+))?)"},
    {FactKind::CommAborted, Layer::Torch, Role::Consequence, "communicator encountered error set", "NCCL communicator encountered error set by ProcessGroupNCCL"},
    {FactKind::UniqueIdFailed, Layer::Torch, Role::Victim, "is setting up NCCL communicator",
     R"(\[(?P<group_rank>\d+)\] is setting up NCCL communicator and (?:retrieving|retreiving) ncclUniqueId from \[(?P<named>\d+)\].*got error: (?P<name>[^.]*))"},
    {FactKind::NanLocal, Layer::Torch, Role::Root, "NanCheck.cu", R"(NanCheck\.cu.*Assertion .*isnan)", "NaN check before a collective"},
    // ---- desync report (TraceUtils.h); the numbers in brackets are ranks of the process group
    {FactKind::DesyncNever, Layer::Torch, Role::Names, "They never joined any collectives",
     R"(ranks \[(?P<named>[\d, ]*)\] are the lagging ranks that caused this timeout)"},
    {FactKind::DesyncLagging, Layer::Torch, Role::Names, "but didn't join collective",
     R"(\[(?P<named>[\d, ]+)\] finished collective #(?P<completed>\d+), but didn't join collective #(?P<seq>\d+))"},
    {FactKind::DesyncState, Layer::Torch, Role::Names, "joined but didn't finish collective",
     R"(\[(?P<named>[\d, ]+)\] joined but didn't finish collective #(?P<seq>\d+))", "joined"},
    {FactKind::DesyncState, Layer::Torch, Role::Context, "] started ", R"(^\s+\[(?P<named>[\d, ]+)\] started (?P<op>[A-Z_]+))", "started"},
    {FactKind::DesyncState, Layer::Torch, Role::Context, "] finished ", R"(^\s+\[(?P<named>[\d, ]+)\] finished (?P<op>[A-Z_]+)$)", "finished"},
    // ---- debug wrapper; the fingerprints are read by hand (mismatch.cpp)
    {FactKind::WrapperMismatch, Layer::Wrapper, Role::Names, "is running collective: CollectiveFingerPrint",
     R"(Rank (?P<group_rank>\d+) is running collective: CollectiveFingerPrint\(.*?but Rank (?P<named>\d+) is running collective)"},
    {FactKind::WrapperMismatch, Layer::Wrapper, Role::Names, "is running inconsistent collective",
     R"(Rank (?P<group_rank>\d+) is running inconsistent collective)"},
    // ---- monitored_barrier
    {FactKind::BarrierMissing, Layer::Torch, Role::Names, "failed to pass monitoredBarrier",
     R"(Ranks? (?P<named>\d+(?:, \d+)*) failed to pass monitoredBarrier in (?P<limit>\d+) ms)"},
    {FactKind::BarrierVictim, Layer::Torch, Role::Victim, "successfully reached monitoredBarrier", R"(Rank (?P<group_rank>\d+) successfully reached monitoredBarrier)"},
    {FactKind::BarrierVictim, Layer::Torch, Role::Victim, "timed out in monitoredBarrier",
     R"(Rank (?P<group_rank>\d+) timed out in monitoredBarrier after (?P<limit>\d+) ms)", "timed out"},
    {FactKind::BarrierVictim, Layer::Torch, Role::Context, "Successfully processed ranks:", R"(Successfully processed ranks: (?P<named>[\d, ]*))", "processed"},
    // ---- Gloo
    {FactKind::GlooTimeout, Layer::Gloo, Role::Victim, "ms for recv operation", R"(Timed out waiting (?P<value>\d+)ms for (?P<name>recv) operation to complete)"},
    {FactKind::GlooTimeout, Layer::Gloo, Role::Victim, "ms for send operation", R"(Timed out waiting (?P<value>\d+)ms for (?P<name>send) operation to complete)"},
    {FactKind::GlooTimeout, Layer::Gloo, Role::Consequence, "Application timeout caused pair closure", "Application timeout caused pair closure", "repetition"},
    {FactKind::GlooSize, Layer::Gloo, Role::Victim, "op.preamble.length <= op.nbytes", R"(op\.preamble\.length <= op\.nbytes\. (?P<value>\d+) vs (?P<limit>\d+))"},
    {FactKind::GlooSize, Layer::Gloo, Role::Victim, "Received data size doesn't match expected size", "Received data size doesn't match expected size"},
    // ---- DDP, FSDP
    {FactKind::DdpUnused, Layer::Ddp, Role::Root, "did not receive grad for rank", R"(Parameter(?:s| indices) which did not receive grad for rank (?P<rank>\d+)(?:: (?P<name>.*))?)"},
    {FactKind::DdpUnused, Layer::Ddp, Role::Root, "did not get gradient in backwards pass", R"(\[Rank (?P<group_rank>\d+)\] Parameter: (?P<name>\S+) did not get gradient in backwards pass)"},
    {FactKind::DdpUnused, Layer::Ddp, Role::Root, "Expected to have finished reduction in the prior iteration", "Expected to have finished reduction in the prior iteration"},
    {FactKind::DdpReadyTwice, Layer::Ddp, Role::Root, "Expected to mark a variable ready only once", "Expected to mark a variable ready only once"},
    {FactKind::DdpShape, Layer::Ddp, Role::Names, "appears not to match", R"(params?\[\d+\] in this process with sizes (?P<shape>\[[^\]]*\]) appears not to match)"},
    {FactKind::DdpShape, Layer::Ddp, Role::Names, "expects same model across all ranks", R"(DDP expects same model across all ranks, but Rank (?P<group_rank>\d+) has (?P<value>\d+) params, while rank (?P<named>\d+) has inconsistent (?P<limit>\d+) params)"},
    {FactKind::DdpShape, Layer::Ddp, Role::Names, "expects same model across all ranks", "DDP expects same model across all ranks"},
    {FactKind::FsdpOrder, Layer::Ddp, Role::Root, "order differs from that of the first iteration", R"(order differs from that of the first iteration on rank (?P<rank>\d+))"},
};

}  // namespace

std::span<const MessageForm> torch_messages() { return kForms; }

}  // namespace ringside::backend
