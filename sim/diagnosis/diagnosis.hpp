// The one Diagnosis: what happened, who did it, who only waited, why we think so, what to do next. The same
// struct comes out of a simulated job, a live one and the logs of a dead one; its JSON is the schema of the
// project's contracts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ringside::sim {

/// What kind of failure. Words and meaning are fixed: they stand in JSON, in truth files and on screen.
enum class DiagnosisKind : std::uint8_t {
  None,                // nothing failed
  HangRankMissing,     // a rank did not join a collective and is (or seems) alive
  SequenceMismatch,    // ranks are at different sequence numbers of one communicator: a call skipped or made
                       // once more
  CollectiveOrder,     // same sequence number, different collective: calls in another order
  OpMismatch,          // same call, another reduction op
  ShapeMismatch,       // same call, another shape or element count
  DtypeMismatch,       // same call, another dtype
  RankCrash,           // a rank ended by an exception or a signal of its own
  RankExitEarly,       // a rank ended cleanly while the others went on
  HostOom,             // the host's memory ran out: the kernel or the scheduler killed a rank
  GpuOom,              // CUDA out of memory
  GpuHw,               // a GPU failed: Xid 48, 79, 94, 95, 119 …, uncorrectable ECC
  NvlinkHw,            // NVLink or NVSwitch failed: Xid 74, 144–150
  PcieError,           // PCIe: AER storm, power, GPU off the bus with AER before it
  IbError,             // InfiniBand or RoCE: port error, retry exceeded, HCA fatal
  LinkDown,            // a link is down for good
  LinkSlow,            // a link works, but far below its speed
  NetworkConfig,       // interface, address, firewall, GID, ACS: the network is set up wrong
  ConfigError,         // the job is set up wrong: shm size, ports, device mapping, versions
  Rendezvous,          // ranks never met: store or rendezvous failed
  Nan,                 // NaN or infinity in loss or gradients
  SilentCorruption,    // wrong numbers without any error
  UnevenData,          // ranks have different amounts of data: one ends its loader first
  Straggler,           // one rank is slower than all others, step after step
  DdpUnusedParams,     // DDP waits for a gradient that never comes: parameters not used in the loss
  NodeFailure,         // a whole node is gone
  WatchdogFalseAlarm,  // nothing is wrong but a timeout was shorter than legitimate work
  Unknown,             // the evidence does not decide
};
inline constexpr int kDiagnosisKindCount = 28;

/// The word in JSON and files, for example "hang_rank_missing".
std::string_view to_word(DiagnosisKind kind);
/// One English sentence on what the kind means.
std::string_view meaning(DiagnosisKind kind);
std::optional<DiagnosisKind> diagnosis_kind_from(std::string_view word);

enum class Confidence : std::uint8_t { Certain, Likely, Unknown };
std::string_view to_word(Confidence confidence);

/// Whether a tool's own statement points the right way.
enum class ToolVerdict : std::uint8_t { Right, Misleading, Silent };
std::string_view to_word(ToolVerdict verdict);

struct FirstCause {
  std::optional<int> rank;
  std::optional<std::string> node;
  std::optional<std::int64_t> step;  // training step
  std::optional<std::int64_t> seq;
  std::optional<std::int64_t> t_ns;
  std::string what;  // one sentence
};

struct Evidence {
  std::optional<std::int64_t> t_ns;
  std::optional<std::int64_t> event;  // index in the trace
  std::string file;                   // logs: where the line stands
  std::int64_t line = 0;              // from 1; 0 = not from a file
  std::string text;
};

struct ToolSays {
  std::string tool;  // "torchrun", "watchdog", "flight recorder", "RAS", "nvidia-smi", "loss curve"
  std::string text;
  ToolVerdict verdict = ToolVerdict::Silent;
};

struct Alternative {
  DiagnosisKind kind = DiagnosisKind::Unknown;
  std::vector<int> culprits;
  std::string why_not;
};

struct Diagnosis {
  DiagnosisKind kind = DiagnosisKind::None;
  FirstCause first_cause;
  std::vector<int> culprits;               // ranks, ascending
  std::vector<std::string> culprit_nodes;  // hosts
  std::vector<int> victims;                // ranks, ascending
  Confidence confidence = Confidence::Certain;
  std::vector<Evidence> evidence;              // strongest first
  std::vector<std::pair<int, int>> waits_for;  // [from, to], both ranks
  std::vector<ToolSays> tools_would_say;
  std::vector<std::string> next_steps;  // text or command, in order
  std::vector<Alternative> alternatives;
  std::int64_t world_size = 0;  // 0 = not known
};

/// One JSON object, keys in the order of the contract. `extra` is appended inside the object
/// (",\"unread_lines\":3") or empty.
void append_diagnosis_json(std::string& out, const Diagnosis& diagnosis, std::string_view extra = {});

}  // namespace ringside::sim
