#include "backend/live/flight_log.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "sim/base/json_writer.hpp"

namespace ringside::backend {
namespace {

/// PyTorch's names of dtypes in dumps.
std::string_view torch_dtype(sim::DType dtype) {
  switch (dtype) {
    case sim::DType::Float64:
      return "Double";
    case sim::DType::Float32:
      return "Float";
    case sim::DType::Float16:
      return "Half";
    case sim::DType::BFloat16:
      return "BFloat16";
    case sim::DType::Int32:
      return "Int";
    case sim::DType::Int64:
      return "Long";
  }
  return "Float";
}

void sizes(sim::JsonWriter& json, std::string_view name, const sim::Shape& shape) {
  json.key(name).begin_array().begin_array();
  for (const std::int64_t extent : shape.extents) json.integer(extent);
  json.end_array().end_array();
}

}  // namespace

void FlightLog::enqueued(std::int64_t seq, sim::Collective collective, sim::DType dtype,
                         const sim::Shape& shape, std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  enqueued_ = seq;
  entries_.push_back({next_id_++, seq, now_ns, 0, 0, collective, dtype, shape});
  if (entries_.size() > kEntries) entries_.pop_front();
}

void FlightLog::started(std::int64_t seq, std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  started_ = seq;
  if (!entries_.empty() && entries_.back().seq == seq) entries_.back().started_ns = now_ns;
}

void FlightLog::completed(std::int64_t seq, std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  completed_ = seq;
  if (!entries_.empty() && entries_.back().seq == seq) entries_.back().completed_ns = now_ns;
}

std::string FlightLog::json() const {
  const std::lock_guard lock(mutex_);
  std::string ranks = "[";
  for (int r = 0; r < world_size_; ++r) ranks += (r > 0 ? ", " : "") + std::to_string(r);
  ranks += "]";
  std::string out;
  sim::JsonWriter json(out);
  json.begin_object().field("version", "2.9").field("comm_lib_version", "ringside");
  json.key("pg_config").begin_object().key("0").begin_object();
  json.field("name", "0").field("desc", "default_pg").field("ranks", ranks).end_object().end_object();
  json.key("pg_status").begin_object().key("0").begin_object();
  json.field("last_enqueued_collective", enqueued_).field("last_started_collective", started_);
  json.field("last_completed_collective", completed_).end_object().end_object();
  json.key("entries").begin_array();
  for (const Entry& e : entries_) {
    const bool done = e.completed_ns != 0;
    json.begin_object().field("record_id", e.id).field("pg_id", std::int64_t{0});
    json.key("process_group").begin_array().string("0").string("default_pg").end_array();
    json.field("collective_seq_id", e.seq).field("p2p_seq_id", std::int64_t{0}).field("op_id", e.seq);
    json.field("profiling_name", std::string("nccl:") + std::string(sim::to_word(e.collective)));
    json.field("time_created_ns", e.created_ns);
    sizes(json, "input_sizes", e.shape);
    json.key("input_dtypes").begin_array().string(torch_dtype(e.dtype)).end_array();
    sizes(json, "output_sizes", e.shape);
    json.key("output_dtypes").begin_array().string(torch_dtype(e.dtype)).end_array();
    json.field("state", done ? "completed" : e.started_ns != 0 ? "started" : "scheduled");
    json.field("time_discovered_started_ns", e.started_ns)
        .field("time_discovered_completed_ns", e.completed_ns);
    json.field("retired", done).field("timeout_ms", timeout_ms_).field("is_p2p", false).end_object();
  }
  json.end_array().end_object();
  return out;
}

sim::Status FlightLog::write(const std::string& folder) const {
  const std::string path = folder + "/nccl_trace_rank_" + std::to_string(rank_);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << json();
  file.flush();
  if (!file)
    return sim::Error{.what = std::string("cannot write the dump: ") + std::strerror(errno), .file = path};
  return sim::ok();
}

}  // namespace ringside::backend
