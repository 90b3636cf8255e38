#include "sim/diagnosis/diagnosis.hpp"

#include <array>

#include "sim/base/json_writer.hpp"

namespace ringside::sim {
namespace {

struct KindRow {
  std::string_view word;
  std::string_view meaning;
};

// In the order of the enum.
constexpr std::array<KindRow, kDiagnosisKindCount> kKinds{{
    {"none", "Nothing failed."},
    {"hang_rank_missing", "A rank did not join a collective although it is, or seems, alive."},
    {"sequence_mismatch", "Ranks are at different sequence numbers: one skipped a call or made one more."},
    {"collective_order", "Ranks make different collectives at the same sequence number."},
    {"op_mismatch", "Ranks make the same call with different reduction ops."},
    {"shape_mismatch", "Ranks make the same call with different shapes or element counts."},
    {"dtype_mismatch", "Ranks make the same call with different dtypes."},
    {"rank_crash", "A rank ended by an exception or a signal of its own."},
    {"rank_exit_early", "A rank ended cleanly while the others went on."},
    {"host_oom", "A host ran out of memory and a rank was killed."},
    {"gpu_oom", "A GPU ran out of memory."},
    {"gpu_hw", "A GPU failed in hardware."},
    {"nvlink_hw", "NVLink or an NVSwitch failed."},
    {"pcie_error", "PCIe failed: errors on the bus, power, or a GPU that fell off it."},
    {"ib_error", "InfiniBand or RoCE failed: port error, retries exceeded, adapter fatal."},
    {"link_down", "A link is down."},
    {"link_slow", "A link works, but far below its speed."},
    {"network_config", "The network is set up wrong."},
    {"config_error", "The job or its container is set up wrong."},
    {"rendezvous", "The ranks never met: store or rendezvous failed."},
    {"nan", "NaN or infinity in the loss or the gradients."},
    {"silent_corruption", "Numbers are wrong and nothing reported it."},
    {"uneven_data", "Ranks have different amounts of data, so one ends its epoch first."},
    {"straggler", "One rank is slower than all others, step after step."},
    {"ddp_unused_params", "DDP waits for the gradient of a parameter that the loss did not use."},
    {"node_failure", "A whole node is gone."},
    {"watchdog_false_alarm", "Nothing was wrong; a timeout was shorter than legitimate work."},
    {"unknown", "The evidence does not decide."},
}};

void string_array(JsonWriter& json, std::string_view name, const std::vector<std::string>& values) {
  json.key(name).begin_array();
  for (const auto& value : values) json.string(value);
  json.end_array();
}

void int_array(JsonWriter& json, std::string_view name, const std::vector<int>& values) {
  json.key(name).begin_array();
  for (const int value : values) json.integer(value);
  json.end_array();
}

void append_first_cause(JsonWriter& json, const FirstCause& cause) {
  const auto optional_int = [&](std::string_view name, const auto& value) {
    json.key(name);
    if (value) {
      json.integer(*value);
    } else {
      json.null();
    }
  };
  json.key("first_cause").begin_object();
  optional_int("rank", cause.rank);
  json.key("node");
  if (cause.node) {
    json.string(*cause.node);
  } else {
    json.null();
  }
  optional_int("step", cause.step);
  optional_int("seq", cause.seq);
  optional_int("t_ns", cause.t_ns);
  json.field("what", cause.what).end_object();
}

void append_evidence(JsonWriter& json, const Evidence& evidence) {
  json.begin_object();
  if (evidence.t_ns) json.field("t_ns", *evidence.t_ns);
  if (evidence.event) json.field("event", *evidence.event);
  if (!evidence.file.empty()) json.field("file", evidence.file);
  if (evidence.line > 0) json.field("line", evidence.line);
  json.field("text", evidence.text).end_object();
}

}  // namespace

std::string_view to_word(DiagnosisKind kind) {
  return kKinds[static_cast<std::size_t>(kind)].word;
}
std::string_view meaning(DiagnosisKind kind) {
  return kKinds[static_cast<std::size_t>(kind)].meaning;
}

std::optional<DiagnosisKind> diagnosis_kind_from(std::string_view word) {
  for (std::size_t i = 0; i < kKinds.size(); ++i)
    if (kKinds[i].word == word) return static_cast<DiagnosisKind>(i);
  return std::nullopt;
}

std::string_view to_word(Confidence confidence) {
  constexpr std::array<std::string_view, 3> kWords{"certain", "likely", "unknown"};
  return kWords[static_cast<std::size_t>(confidence)];
}

std::string_view to_word(ToolVerdict verdict) {
  constexpr std::array<std::string_view, 3> kWords{"right", "misleading", "silent"};
  return kWords[static_cast<std::size_t>(verdict)];
}

void append_diagnosis_json(std::string& out, const Diagnosis& diagnosis, std::string_view extra) {
  JsonWriter json(out);
  json.begin_object().field("kind", to_word(diagnosis.kind));
  append_first_cause(json, diagnosis.first_cause);
  int_array(json, "culprits", diagnosis.culprits);
  string_array(json, "culprit_nodes", diagnosis.culprit_nodes);
  int_array(json, "victims", diagnosis.victims);
  json.field("confidence", to_word(diagnosis.confidence));
  json.key("evidence").begin_array();
  for (const auto& evidence : diagnosis.evidence) append_evidence(json, evidence);
  json.end_array().key("waits_for").begin_array();
  for (const auto& [from, to] : diagnosis.waits_for) json.begin_array().integer(from).integer(to).end_array();
  json.end_array().key("tools_would_say").begin_array();
  for (const auto& says : diagnosis.tools_would_say)
    json.begin_object()
        .field("tool", says.tool)
        .field("text", says.text)
        .field("verdict", to_word(says.verdict))
        .end_object();
  json.end_array();
  string_array(json, "next_steps", diagnosis.next_steps);
  json.key("alternatives").begin_array();
  for (const auto& other : diagnosis.alternatives) {
    json.begin_object().field("kind", to_word(other.kind));
    int_array(json, "culprits", other.culprits);
    json.field("why_not", other.why_not).end_object();
  }
  json.end_array().field("world_size", diagnosis.world_size);
  out += extra;
  json.end_object();
}

}  // namespace ringside::sim
