#include "backend/import/fr_writer.hpp"

#include <algorithm>
#include <charconv>

#include "sim/base/json_writer.hpp"

namespace ringside::backend {
namespace {

using sim::JsonWriter;

std::string ranks_text(const FrGroup& group) {
  std::string out = "[";
  for (std::size_t i = 0; i < group.ranks.size(); ++i)
    out += (i > 0 ? ", " : "") + std::to_string(group.ranks[i]);
  return out + "]";
}

/// "train_step (loop.py:131)" as the frame that it came from.
void append_frames(JsonWriter& json, std::string_view site) {
  json.key("frames").begin_array();
  const std::size_t open = site.rfind(" (");
  const std::size_t colon = site.rfind(':');
  if (open != std::string_view::npos && colon != std::string_view::npos && colon > open) {
    std::int64_t line = 0;
    std::from_chars(site.data() + colon + 1, site.data() + site.size(), line);
    json.begin_object()
        .field("name", site.substr(0, open))
        .field("filename", site.substr(open + 2, colon - open - 2));
    json.field("line", line).end_object();
  }
  json.end_array();
}

/// "nccl:send 1->2" with group ranks.
std::string profiling_name(const FlightRecorder& recorder, const FrDump& dump, const FrEntry& entry) {
  const std::string op(recorder.text(entry.op));
  if (!entry.p2p || entry.peer < 0) return "nccl:" + op;
  const auto& ranks = recorder.groups[entry.group].ranks;
  const auto me = std::find(ranks.begin(), ranks.end(), dump.rank) - ranks.begin();
  return "nccl:" + op + " " + std::to_string(me) + (op == "recv" ? "<-" : "->") + std::to_string(entry.peer);
}

void append_dtypes(JsonWriter& json, std::string_view key, std::string_view dtypes) {
  json.key(key).begin_array();
  if (!dtypes.empty()) json.string(dtypes);
  json.end_array();
}

void append_entry(JsonWriter& json, const FlightRecorder& recorder, const FrDump& dump, const FrEntry& entry,
                  int local_id) {
  const FrGroup& group = recorder.groups[entry.group];
  json.begin_object().field("record_id", entry.record_id).field("pg_id", local_id);
  json.key("process_group").begin_array().string(group.name).string(group.desc).end_array();
  json.field("collective_seq_id", entry.seq).field("p2p_seq_id", entry.p2p_seq);
  json.field("op_id", entry.seq + entry.p2p_seq)
      .field("profiling_name", profiling_name(recorder, dump, entry));
  json.field("time_created_ns", entry.created_ns);
  const auto sizes = [&](std::uint32_t id) { return id == 0 ? std::string_view("[]") : recorder.text(id); };
  json.key("input_sizes").raw(sizes(entry.input_sizes)).key("output_sizes").raw(sizes(entry.output_sizes));
  append_dtypes(json, "input_dtypes", recorder.text(entry.input_dtypes));
  append_dtypes(json, "output_dtypes", recorder.text(entry.output_dtypes));
  json.field("state", to_word(entry.state)).field("time_discovered_started_ns", std::int64_t{0});
  json.field("time_discovered_completed_ns", entry.completed_ns).field("retired", entry.retired);
  json.field("timeout_ms", entry.timeout_ms).field("is_p2p", entry.p2p);
  append_frames(json, recorder.text(entry.site));
  json.end_object();
}

}  // namespace

std::string flight_recorder_json(const FlightRecorder& recorder, const FrDump& dump) {
  std::string out;
  JsonWriter json(out);
  std::map<std::uint32_t, int> local_ids;
  json.begin_object().field("version", dump.version).field("comm_lib_version", dump.library);
  json.key("pg_config").begin_object();
  for (std::uint32_t id = 0; id < recorder.groups.size(); ++id) {
    const FrGroup& group = recorder.groups[id];
    if (std::find(group.ranks.begin(), group.ranks.end(), dump.rank) == group.ranks.end()) continue;
    local_ids.emplace(id, static_cast<int>(local_ids.size()));
    json.key(group.name).begin_object().field("name", group.name).field("desc", group.desc);
    json.field("ranks", ranks_text(group)).end_object();
  }
  json.end_object().key("pg_status").begin_object();
  for (const auto& [id, status] : dump.status) {
    const auto local = local_ids.find(id);
    if (local == local_ids.end()) continue;
    json.key(std::to_string(local->second)).begin_object();
    json.field("last_enqueued_collective", std::to_string(status.enqueued));
    json.field("last_started_collective", std::to_string(status.started));
    json.field("last_completed_collective", std::to_string(status.completed)).end_object();
  }
  json.end_object().key("entries").begin_array();
  for (const auto& entry : dump.entries) {
    const auto local = local_ids.find(entry.group);
    append_entry(json, recorder, dump, entry, local == local_ids.end() ? -1 : local->second);
  }
  json.end_array().end_object();
  return out;
}

}  // namespace ringside::backend
