// What readers say and reasoning hears: one Fact per meaningful line of a log or entry of a dump, in one
// vocabulary for every layer and version. Readers (logs, Flight Recorder, RAS, Inspector) only state what a
// line says; who is guilty is decided in one place, from all Facts together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/result.hpp"

namespace ringside::backend {

/// Which program or library printed a line.
enum class Layer : std::uint8_t {
  Unknown,
  Torch,
  Wrapper,
  Ddp,
  Elastic,
  Store,
  Gloo,
  Nccl,
  Ib,
  Cuda,
  Kernel,
  Slurm,
  Mpi,
  Horovod,
  Numeric,
  Python,
  Shell,
  FlightRecorder,
  Ras,
  Inspector,
  Job,
};
std::string_view to_word(Layer layer);

/// What the author of a line usually is. A hint for `explain`; reasoning decides from all lines together.
enum class Role : std::uint8_t {
  Root,         // the author, or the thing it names, may be the first cause
  Names,        // a report that names somebody else as missing, dead or different
  Victim,       // the author waited for, or lost, somebody else
  Consequence,  // clean-up or repetition: never a cause
  Context,      // who is who, progress, settings
};
std::string_view to_word(Role role);

/// What one line or dump entry states. Fields of Fact that each kind fills stand behind it.
enum class FactKind : std::uint8_t {
  // PyTorch, ProcessGroupNCCL
  WatchdogTimeout,  // group_rank|rank, pg, seq, op, numel_in/out, value = ran for ms, limit = timeout ms
  WatchdogStatus,   // group_rank|rank, pg, seq (failed work), enqueued, completed
  WatchdogError,    // watchdog or async handler ended by an error that is not a timeout; name = error text
  HeartbeatStuck,   // watchdog thread made no progress; value = seconds
  DumpNotice,       // flight recorder dump signals; seq, enqueued, completed when given
  RemoteErrorFrom,  // "remote error detected from rank: N": named = {N}, group ranks
  NcclErrorText,    // "NCCL error in: …": code = ncclResult, name = text
  CommAborted,      // "NCCL communicator was aborted on rank R"
  UniqueIdFailed,   // store->get failed while exchanging the unique id: rank, named = {root}
  DesyncLagging,    // named = group ranks that finished `seq` - 1 but did not join `seq`
  DesyncNever,      // named = group ranks that never joined any collective
  DesyncState,      // named = group ranks at #seq; op; name = "started" | "finished"
  WrapperMismatch,  // rank = A with mine, named = {B} with theirs
  BarrierMissing,   // named = ranks that did not reach monitored_barrier
  BarrierVictim,    // reached it and lost rank 0, or timed out in it
  // Gloo
  GlooTimeout,  // value = ms; name = "recv" | "send"
  GlooSize,     // value > limit: message larger than the posted buffer; reported by the innocent neighbour
  // connections, any library
  PeerClosed,        // a connection was closed, reset or broken; peer = address or host of the other end
  StoreUnreachable,  // cannot connect to the store or rendezvous; peer = address
  StoreLost,         // the store answered with an error after it had worked
  PortInUse,
  NoInterface,  // no usable network interface, or address that cannot be resolved; peer
  // DDP and FSDP
  DdpUnused,  // rank = the one whose parameters got no gradient (when the text says so)
  DdpShape,   // parameter shapes differ between ranks at construction; rank = reporter
  DdpReadyTwice,
  FsdpOrder,  // all-gather order differs; rank
  // torchrun
  ElasticEntry,   // one entry of the failure table: rank, local_rank, host, pid, code, name = traceback text,
                  // time
  ElasticRoot,    // the entry under "Root Cause (first observed failure)": same fields
  ElasticFailed,  // agent line "failed (exitcode: C) local_rank: L (pid: P)"
  ElasticSigterm,  // agent stopped pid itself
  ElasticSuccess,  // worker group finished
  ElasticRestart,  // the agent restarts the worker group: name = what is known of the attempt
  // NCCL
  NcclInit,         // who is who: rank, nranks = value, device, bus, name = communicator
  NcclWarn,         // a WARN that no other kind covers
  NcclReturn,       // "file:line -> code" chains: code
  NcclColl,         // COLL line: comm = pg, seq = opCount, op, numel_in = count, dtype, root = code
  NcclSelfCheck,    // named = {rank}: 2.4's own check "at and around rank N"; name = "mismatch" | "hang"
  NcclEnv,          // "X set by environment to Y": name = "X=Y"
  DuplicateGpu,     // named = {a, b}, bus
  SharedMemory,     // /dev/shm too small or segment not created
  BadSetup,         // a driver, variable or limit does not fit the program: name
  NvlsFailed,       // multicast or NVLS could not be bound
  NcclOutOfMemory,  // "Failed to CUDA calloc", "Cuda failure 'out of memory'"
  NcclTruncated,    // message truncated: value = got, limit = expected; author is the receiver
  // InfiniBand / RoCE
  IbCompletion,    // code = ibv_wc_status, limit = vendor err, peer, name = hca
  IbAsyncFatal,    // port error, local catastrophic error, device fatal, QP/CQ fatal: name = text, bus =
                   // hca[:port]
  IbAsyncOther,    // port active, client reregistration, LID/GID change
  IbVerbs,         // a verbs call failed: name = call and error
  IbSizeMismatch,  // collective mismatch error: value = local, limit = remote, peer
  // CUDA and GPU
  CudaOom,    // rank or bus or device when given
  CudaError,  // name = error text; device-side assert, illegal access, launch failure
  GpuEcc,     // uncorrectable ECC or NVLink error seen by a process
  // kernel and host
  Xid,           // code = Xid, bus, pid, name = text
  DeviceFault,   // a GPU or NVSwitch reports a fault that is no Xid: bus, code, name
  GpuLost,       // fallen off the bus, handle unknown: bus
  Aer,           // PCIe error report: bus = reporting port, name = severity
  KernelOom,     // OOM killer killed pid: pid, name = comm, value = rss KiB
  TaskBlocked,   // kernel: task blocked for more than N seconds: pid
  MachineCheck,  // host hardware: MCE, memory
  LinkState,     // kernel or switch text about an Ethernet or IB port; name
  // schedulers and launchers
  NodeFailed,      // named by the scheduler or launcher: host
  StepCancelled,   // "STEP … ON host CANCELLED": host = printing node; name = reason
  SchedOom,        // host, named = tasks
  TaskEnded,       // host, named = tasks, name = reason, code = exit code or signal
  TimeLimit,       // wall clock limit or preemption: name
  MpiSignal,       // rank, pid, host, code = signal
  MpiExit,         // rank, code
  MpiAbort,        // rank, code
  MpiError,        // name = error class, op = call; rank = reporter (victim)
  BadTermination,  // Hydra / Intel MPI: pid, host, code, rank when given
  CrashSignal,     // a process reports its own fatal signal: host, pid, code, rank
  // Horovod
  HorovodStall,     // op = tensor; named = ready ranks, or missing ranks (name = "ready" | "missing")
  HorovodMismatch,  // name = what differs; named = ranks when given
  // numbers
  NanLocal,        // NaN or Inf found before communication: rank, host, device
  NanSeen,         // NaN seen where the author need not be its source
  Overflow,        // loss scaler skipped a step; rank = printing rank only
  ScaleExhausted,  // loss scale at its minimum
  LossFinite,  // the loss of this author was finite again: value = times since the last that was not; line
               // = the last one
  LossValue,   // rank, step, x = loss; only kept when not finite, or as the last finite one before it
  // programs
  Identity,         // a program says who is who: rank (or named = several) with any of host, pid, local_rank,
                    // device, bus, peer
  MemoryNote,       // host memory: x = used, y = limit, same unit
  PythonException,  // name = type, text after it in what; primary when role = Root
  ProcessEnd,       // shell text: Killed, Aborted, Terminated, Segmentation fault, Bus error: code
  CleanExit,        // the rank says that it is finished or leaves
  JobDone,          // training finished, checkpoint saved, scheduler says COMPLETED
  EndOfData,        // a rank says that it has no more samples, or skips or drops a batch
  StepTime,         // rank, step, x = ms of computing, y = ms of waiting in communication
  Progress,  // rank, step: the last of each rank is kept; completed = line, enqueued = stamp of its last
             // new step
  RankNote,  // rank said something that no table knows: the last of each rank is kept
  // analysed dumps and other tools
  FrMissing,   // named = missing ranks, pg, seq, op
  FrMismatch,  // named = ranks that differ, pg, seq, op; name = what differs; numel or shape in mine/theirs
  FrState,     // state alone differs: names nobody
  RasOutlier,  // named = ranks with another operation count: value = count, limit = count of the others
  RasMissing,  // named = ranks whose data is missing
  RasDead,     // named or host/pid: unreachable
  RasError,    // named = ranks with an asynchronous error: name
  InspectorLate,    // named = the rank that is last in most collectives: value of limit of them, x = ms that
                    // others wait
  InspectorBehind,  // named = a rank whose records end at an earlier collective (seq) than the others'
};

/// One side of a mismatch, as the wrapper or a dump prints it. Empty strings: not given.
struct CallPrint {
  std::int64_t seq = -1;
  std::string op;
  std::string shape;   // "[20, 10]"
  std::string dtype;   // "Float"
  std::string device;  // "cuda"
};

/// Who printed a Fact, as far as the line itself says; completed later by who-is-who.
struct Author {
  int rank = -1;  // global
  int local_rank = -1;
  int group_rank = -1;  // "Rank R" inside a process group
  int task = -1;  // number of a Slurm task or launcher label; the rank only where one task runs one rank
  std::int64_t pid = -1;
  int device = -1;  // CUDA index inside the process
  std::string host;
};

struct Fact {
  FactKind kind = FactKind::RankNote;
  Role role = Role::Context;
  Layer layer = Layer::Unknown;
  Author who;
  std::uint32_t file = 0;           // index into Facts::files
  std::int64_t line = 0;            // from 1; 0 = an entry of a dump
  std::int64_t t_ns = -1;           // as printed; -1 unknown. Comparable between hosts through Clock only
  bool dated = false;               // t_ns counts from 1 January of its year; otherwise from midnight
  std::int32_t zone_s = INT32_MIN;  // what the stamp is ahead of UTC, where it says so
  std::string text;                 // the line, prefixes kept, at most kMaxFactText bytes

  std::string pg;       // process group or communicator: GUID, id or hash
  std::string pg_name;  // its description
  std::int64_t seq = -1;
  std::string op;  // capitals, as torch's OpType: ALLREDUCE
  std::int64_t numel_in = -1;
  std::int64_t numel_out = -1;
  std::string dtype;
  std::int64_t enqueued = -1;
  std::int64_t completed = -1;
  std::int64_t value = -1;
  std::int64_t limit = -1;
  int code = 0;
  double x = 0;
  double y = 0;
  std::int64_t step = -1;
  std::string bus;   // PCI address, domain:bus:device in lower case without function; or HCA:port
  std::string peer;  // the other end: address or host
  std::string name;
  std::vector<int> named;  // ranks that the line names; group ranks where the kind says so
  CallPrint mine, theirs;
};
inline constexpr std::size_t kMaxFactText = 600;

/// Everything that was read of one incident.
struct Facts {
  std::vector<std::string> files;  // names as the user gave them (inside a folder: relative to it)
  std::vector<Fact> facts;         // in order of file and line
  std::int64_t world_size = 0;     // largest size that a line states; 0 unknown
  std::int64_t lines = 0;
  std::int64_t bytes = 0;
  std::int64_t unread_lines = 0;  // cut, too long or not text
  std::int64_t cut_ends = 0;      // files whose last line has no end: they may have been cut off
  std::vector<sim::Error> problems;

  std::uint32_t add_file(std::string name) {
    files.push_back(std::move(name));
    return static_cast<std::uint32_t>(files.size() - 1);
  }
};

/// One line of a text file. `text` has no line end and is valid until the next call.
struct Line {
  std::int64_t number = 0;  // from 1
  std::string_view text;
  bool cut = false;  // longer than the limit (the rest was dropped), or the last line without an end
};

/// A text file, whatever it is packed in. Bounded: a source never holds more than one line and one buffer.
class LineSource {
 public:
  virtual ~LineSource() = default;
  virtual std::string_view name() const = 0;
  /// False at the end, or when the file cannot be read further (then `problem()` says why).
  virtual bool next(Line& line) = 0;
  virtual std::optional<sim::Error> problem() const { return std::nullopt; }
};

}  // namespace ringside::backend
