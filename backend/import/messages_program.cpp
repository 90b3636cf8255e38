// Forms of Horovod, of NaN and overflow checks (Megatron, DeepSpeed, torch, detectron2, DETR, HF), of Python and shells, and
// the notes that training programs print about the end of their data or their work.
#include "backend/import/messages.hpp"

namespace ringside::backend {
namespace {

constexpr MessageForm kForms[] = {
    // ---- Horovod (the stalled operations behind it are read by scan.cpp)
    {FactKind::HorovodMismatch, Layer::Horovod, Role::Names, "Mismatched ", R"((?P<name>Mismatched (?:\w+ )?(?:tensor shapes|data types|collective operations|root ranks|.*device selection|.*).*))"},
    {FactKind::HorovodStall, Layer::Horovod, Role::Names, " ranks: ", R"((?P<op>[^\s\[\]]+) \[(?P<name>ready|missing) ranks: (?P<named>[\d, ]+)\])"},
    {FactKind::HorovodStall, Layer::Horovod, Role::Names, " [ready: ", R"((?P<op>[^\s\[\]]+) \[(?P<name>ready): (?P<named>[\d, ]+)\])"},
    // ---- torchfrtrace (its text output; the dumps themselves have their own reader)
    {FactKind::FrMissing, Layer::FlightRecorder, Role::Names, "issing ranks: {", R"([Mm]issing ranks: \{(?P<named>[\d, ]+)\})"},
    {FactKind::FrState, Layer::FlightRecorder, Role::Context, "COLLECTIVE_STATE_MISMATCH", R"((?:Culprit rank (?P<named>\d+); )?Error type: (?P<name>COLLECTIVE_STATE_MISMATCH))"},
    {FactKind::FrMismatch, Layer::FlightRecorder, Role::Names, "Error type: ", R"(Culprit rank (?P<named>\d+); Error type: (?P<name>COLLECTIVE_TYPE_MISMATCH|SIZE_OR_SYNTAX_MISMATCH|COLLECTIVE_DTYPE_MISMATCH|\w*MISMATCH))"},
    // ---- NaN, before communication: names its source
    {FactKind::NanLocal, Layer::Numeric, Role::Root, "in local grad norm", R"(Rank (?P<rank>\d+): found (?P<name>NaN|Inf|nan|inf)\w* in local grad norm.*?(?:Device: (?P<device>\d+))?(?:, node: (?P<host>[\w.-]+))?$)"},
    {FactKind::NanLocal, Layer::Numeric, Role::Root, "Unexpected result ", R"(Rank (?P<rank>\d+), node (?P<host>[\w.-]+), device (?P<device>\d+), iteration (?P<step>-?\d+): Unexpected result (?P<name>\w+))"},
    {FactKind::NanLocal, Layer::Numeric, Role::Root, "found NaN in local", "found NaN in local", "NaN in local gradient"},
    {FactKind::NanLocal, Layer::Numeric, Role::Root, "returned nan values", R"(Function '(?P<name>\w+)' returned nan values)"},
    {FactKind::NanLocal, Layer::Numeric, Role::Root, "Loss became infinite or NaN", R"(Loss became infinite or NaN at iteration=(?P<step>\d+))", "loss"},
    {FactKind::NanLocal, Layer::Numeric, Role::Root, "stopping training", R"((?i)loss is (?P<name>nan|inf|-inf),? stopping training)"},
    {FactKind::NanLocal, Layer::Numeric, Role::Root, "device='cuda:", R"(tensor\(nan, device='cuda:(?P<device>\d+)')", "loss"},
    {FactKind::LossValue, Layer::Numeric, Role::Names, " nan", R"((?i)\bloss\w*['"]?[ =:|]+\(?(?P<name>-?(?:nan|inf))\b)"},
    {FactKind::LossValue, Layer::Numeric, Role::Names, " inf", R"((?i)\bloss\w*['"]?[ =:|]+\(?(?P<name>-?(?:nan|inf))\b)"},
    {FactKind::LossValue, Layer::Numeric, Role::Names, "=nan", R"((?i)loss\w*=(?P<name>nan))"},
    {FactKind::LossValue, Layer::Numeric, Role::Names, "=inf", R"((?i)loss\w*=(?P<name>inf))"},
    {FactKind::LossValue, Layer::Numeric, Role::Names, ":nan", R"((?i)loss\w*['"]?:(?P<name>nan))"},
    {FactKind::LossValue, Layer::Numeric, Role::Names, "NaN", R"((?i)\bloss\w*['"]?[ =:|]+(?:is )?(?P<name>NaN)\b)"},
    {FactKind::NanSeen, Layer::Numeric, Role::Victim, " nan", R"((?i)grad[_ ]?norm['"]?[ =:|]+(?P<name>nan|inf)\b)"},
    {FactKind::NanSeen, Layer::Numeric, Role::Victim, "=nan", R"((?i)grad[_ ]?norm=(?P<name>nan|inf)\b)"},
    {FactKind::NanSeen, Layer::Numeric, Role::Victim, "NaN", R"((?i)(?:found|detected|encountered|got) NaN)", "NaN", true},
    {FactKind::Overflow, Layer::Numeric, Role::Victim, "OVERFLOW! Rank", R"(OVERFLOW! Rank (?P<rank>\d+) Skipping step)"},
    {FactKind::Overflow, Layer::Numeric, Role::Victim, "Grad overflow on iteration", R"(Grad overflow on iteration (?P<step>\d+))"},
    {FactKind::Overflow, Layer::Numeric, Role::Victim, "Gradient overflow.", "Gradient overflow.  Skipping step"},
    {FactKind::ScaleExhausted, Layer::Numeric, Role::Victim, "loss scale already at minimum", "Current loss scale already at minimum"},
    {FactKind::ScaleExhausted, Layer::Numeric, Role::Victim, "Minimum loss scale reached", "Minimum loss scale reached"},
    // ---- ends of processes
    {FactKind::CrashSignal, Layer::Python, Role::Root, "Fatal Python error: ", R"(Fatal Python error: (?P<name>Segmentation fault|Bus error|Illegal instruction|Floating point exception|Aborted))"},
    {FactKind::KernelOom, Layer::Python, Role::Root, "killed by signal: Killed", R"(DataLoader worker \(pid(?:\(s\))? (?P<value>\d+)\) is killed by signal: Killed)", "DataLoader worker"},
    {FactKind::CrashSignal, Layer::Python, Role::Root, "is killed by signal: ", R"(DataLoader worker \(pid(?:\(s\))? \d+\) is killed by signal: (?P<name>Segmentation fault|Bus error|Aborted))"},
    {FactKind::ProcessEnd, Layer::Shell, Role::Root, "egmentation fault", R"(^(?:\S+: line \d+:\s+\d+ )?(?P<name>Segmentation fault)(?: +\(core dumped\))?)"},
    {FactKind::ProcessEnd, Layer::Shell, Role::Victim, "Aborted", R"(^(?:\S+: line \d+:\s+\d+ )?(?P<name>Aborted)(?: +\(core dumped\))?)"},
    {FactKind::ProcessEnd, Layer::Shell, Role::Root, "Killed", R"(^(?:\S+: line \d+:\s+\d+ )?(?P<name>Killed)\s*(?:$|\S))"},
    {FactKind::ProcessEnd, Layer::Shell, Role::Victim, "Terminated", R"(^(?:\S+: line \d+:\s+\d+ )?(?P<name>Terminated)\s*$)"},
    {FactKind::ProcessEnd, Layer::Shell, Role::Root, "Bus error", R"(^(?:\S+: line \d+:\s+\d+ )?(?P<name>Bus error)(?: +\(core dumped\))?)"},
    {FactKind::ProcessEnd, Layer::Shell, Role::Victim, "terminate called after throwing", R"(terminate called after throwing an instance of '(?P<name>[^']*)')"},
    // ---- Consequences that look like causes
    {FactKind::RankNote, Layer::Elastic, Role::Consequence, "ChildFailedError", "ChildFailedError", "launcher"},
    {FactKind::RankNote, Layer::Python, Role::Consequence, "CalledProcessError", "CalledProcessError", "launcher"},
    {FactKind::RankNote, Layer::Python, Role::Consequence, "ActorDiedError", "ActorDiedError", "launcher"},
    {FactKind::RankNote, Layer::Python, Role::Consequence, "can only test a child process", "can only test a child process", "exit noise"},
    {FactKind::RankNote, Layer::Python, Role::Consequence, "Exception ignored in", "Exception ignored in", "exit noise"},
    {FactKind::RankNote, Layer::Python, Role::Consequence, "KeyboardInterrupt", "KeyboardInterrupt", "interrupt"},
    {FactKind::RankNote, Layer::Python, Role::Consequence, "SystemExit", "SystemExit", "exit"},
    {FactKind::RankNote, Layer::Torch, Role::Consequence, "destroy_process_group() was not called", "destroy_process_group.. was not called", "exit noise"},
    // ---- notes of the job
    {FactKind::JobDone, Layer::Job, Role::Context, "Trainer.fit` stopped", R"(`Trainer\.fit` stopped: (?P<name>.*))"},
    {FactKind::JobDone, Layer::Job, Role::Context, "state COMPLETED", "state COMPLETED", "scheduler"},
    {FactKind::JobDone, Layer::Job, Role::Context, "after training is done", "after training is done", "training"},
    {FactKind::JobDone, Layer::Job, Role::Context, "raining", R"((?i)\btraining (?:is )?(?:has )?(?:been )?(?P<name>complete|completed|finished|done)\b)"},
    {FactKind::JobDone, Layer::Job, Role::Context, "inished training", "(?i)finished training", "training"},
    {FactKind::JobDone, Layer::Job, Role::Context, "raining", R"((?i)\bend of training\b)", "training"},
    {FactKind::JobDone, Layer::Job, Role::Context, "inal checkpoint", R"((?i)final checkpoint (?:was )?(?:saved|written))", "checkpoint"},
    {FactKind::JobDone, Layer::Job, Role::Context, " epochs done", "all epochs done", "training"},
    {FactKind::JobDone, Layer::Job, Role::Context, "all steps finished", "all steps finished", "training"},
    {FactKind::CleanExit, Layer::Job, Role::Context, "leaving", R"((?i)\bleaving\b)"},
    {FactKind::CleanExit, Layer::Job, Role::Context, " bye", R"((?i)\bbye\b)"},
    {FactKind::CleanExit, Layer::Job, Role::Context, "exit 0", R"(\bexit 0\b)"},
    {FactKind::CleanExit, Layer::Job, Role::Context, "exit code 0", R"(\bexit code 0\b)"},
    {FactKind::CleanExit, Layer::Job, Role::Context, "xiting", R"((?i)\bexiting(?: normally| cleanly|\.|$))"},
    {FactKind::CleanExit, Layer::Job, Role::Context, "inished", R"((?i)\b(?:run|work|job|rank|process) finished\b)"},
    {FactKind::EndOfData, Layer::Job, Role::Root, "StopIteration", R"(StopIteration)", "end"},
    {FactKind::EndOfData, Layer::Job, Role::Root, "ran out of", R"((?i)ran out of (?:samples|data|batches|examples|files|shards))", "end"},
    {FactKind::EndOfData, Layer::Job, Role::Root, "exhausted", R"((?i)(?:loader|stream|iterator|dataset|data|shards?) (?:is |was )?exhausted)", "end"},
    {FactKind::EndOfData, Layer::Job, Role::Root, "no more ", R"((?i)no more (?:samples|data|batches|examples|files|shards))", "end"},
    {FactKind::EndOfData, Layer::Job, Role::Root, "end of ", R"((?i)\bend of (?:the )?(?:data|dataset|stream|loader|shard))", "end"},
    {FactKind::EndOfData, Layer::Job, Role::Root, "skipping", R"((?i)skipping (?:step|batch|micro.?batch|iteration|update))", "skip"},
    {FactKind::EndOfData, Layer::Job, Role::Root, "skipped", R"((?i)(?:step|batch|micro.?batch) (?:was )?skipped|skipped (?:step|batch|this batch))", "skip"},
    {FactKind::EndOfData, Layer::Job, Role::Root, "empty batch", R"((?i)empty batch)", "skip"},
    {FactKind::EndOfData, Layer::Job, Role::Root, " dropped", R"((?i)(?:batch|step|sample) dropped)", "skip"},
    // ---- Python exceptions, when nothing above explains the line
    {FactKind::PythonException, Layer::Python, Role::Root, "Error", R"(^(?P<name>[A-Za-z_][\w.]*Error)(?:: .*|$))", nullptr, true},
    {FactKind::PythonException, Layer::Python, Role::Root, "Exception", R"(^(?P<name>[A-Za-z_][\w.]*Exception)(?:: .*|$))", nullptr, true},
    {FactKind::PythonException, Layer::Python, Role::Root, "NotImplemented", R"(^(?P<name>NotImplementedError)(?:: .*|$))", nullptr, true},
    {FactKind::PythonException, Layer::Python, Role::Root, "Unhandled exception", R"(^Unhandled exception <class '(?P<name>\w+)'>.*proc (?P<pid>\d+))", "announcement"},
};

}  // namespace

std::span<const MessageForm> program_messages() { return kForms; }

}  // namespace ringside::backend
