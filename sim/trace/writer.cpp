// The one writer of events: one JSON object a line, keys in documented order, no spaces, numbers by
// std::to_chars.
#include "sim/base/json_writer.hpp"
#include "sim/base/text.hpp"
#include "sim/trace/trace.hpp"

namespace ringside::sim {
namespace {

void append_source(std::string& out, Source source) {
  switch (source.kind) {
    case Source::Kind::Sim:
      out += "\"sim\"";
      return;
    case Source::Kind::Hub:
      out += "\"hub\"";
      return;
    case Source::Kind::Launcher:
      out += "\"launcher\"";
      return;
    case Source::Kind::Rank:
      out += "\"r";
      break;
    case Source::Kind::Node:
      out += "\"n";
      break;
  }
  append_int(out, source.id);
  out += '"';
}

void scalar_field(JsonWriter& json, std::string_view name, Scalar value) {
  std::string text;
  append_scalar_json(text, value);
  json.key(name).raw(text);
}

/// "values":{"dtype":…,"count":…,"all":[…]} up to 64 elements, else first, last, min, max, nan, inf; always
/// the digest.
void sample_field(JsonWriter& json, std::string_view name, const Trace& trace, std::uint32_t id) {
  if (id == kNone) return;
  const Sample& sample = trace.sample(id);
  json.key(name).begin_object().field("dtype", to_word(sample.dtype)).field("count", sample.count);
  const auto list = [&](std::string_view key, std::size_t first, std::size_t last) {
    std::string text;
    json.key(key).begin_array();
    for (std::size_t i = first; i < last; ++i) {
      text.clear();
      append_scalar_json(text, sample.values[i]);
      json.raw(text);
    }
    json.end_array();
  };
  if (sample.complete()) {
    list("all", 0, sample.values.size());
  } else {
    list("first", 0, 4);
    list("last", 4, 8);
    scalar_field(json, "min", sample.min);
    scalar_field(json, "max", sample.max);
  }
  if (sample.nan_count > 0) json.field("nan", sample.nan_count);
  if (sample.inf_count > 0) json.field("inf", sample.inf_count);
  json.key("digest").hex64(sample.digest).end_object();
}

void shape_field(JsonWriter& json, const Trace& trace, std::uint32_t id) {
  if (id == kNone) return;
  json.key("shape").begin_array();
  for (const std::int64_t extent : trace.shape(id).extents) json.integer(extent);
  json.end_array();
}

void text_field(JsonWriter& json, std::string_view name, const Trace& trace, std::uint32_t id) {
  if (id != kNone) json.field(name, trace.string(id));
}

/// Which collective: communicator and sequence number mean something only together.
void collective_key(JsonWriter& json, const Trace& trace, std::uint32_t coll) {
  const CollectiveInfo& info = trace.collective(coll);
  json.field("comm", trace.string(info.comm)).field("seq", info.seq);
}

void write_hello(JsonWriter& json, const Trace& trace, const Event& e) {
  const Hello& hello = trace.hello(e.hello.hello);
  const auto optional = [&](std::string_view name, const std::string& text) {
    if (!text.empty()) json.field(name, text);
  };
  json.field("host", hello.host).field("pid", hello.pid).field("local_rank", hello.local_rank);
  optional("device", hello.device);
  optional("uuid", hello.uuid);
  optional("pci", hello.pci);
  optional("driver", hello.driver);
  optional("cuda", hello.cuda);
  optional("nccl", hello.nccl);
  optional("mpi", hello.mpi);
}

void write_comm(JsonWriter& json, const Trace& trace, const Event& e) {
  text_field(json, "comm", trace, e.comm.comm);
  json.field("world_size", e.comm.world_size);
  if (e.comm.members == kNone) return;
  json.key("members").begin_array();
  for (const std::int32_t member : trace.list(e.comm.members)) json.integer(member);
  json.end_array();
}

void write_phase(JsonWriter& json, const Event& e) {
  json.field("phase", to_word(e.phase.phase)).field("step", e.phase.step);
  if (e.phase.has & kHasLoss) json.field("loss", e.phase.loss);
  if (e.phase.has & kHasGradNorm) json.field("grad_norm", e.phase.grad_norm);
}

void write_collective(JsonWriter& json, const Trace& trace, const Event& e) {
  const CollectivePayload& call = e.collective;
  const CollectiveInfo& info = trace.collective(call.coll);
  collective_key(json, trace, call.coll);
  json.field("step", info.step);
  if (e.type != EventType::CollectiveEnqueued) return;
  json.field("collective", to_word(call.collective))
      .field("op", to_word(call.op))
      .field("root", std::int64_t{call.root});
  json.field("dtype", to_word(call.dtype)).field("count", call.count);
  shape_field(json, trace, call.shape);
  json.field("algorithm", to_word(call.algorithm)).field("order", to_word(info.order));
  json.field("chunking", to_word(info.chunking)).field("channels", std::int64_t{call.channels});
  json.field("world_size", info.world_size).field("ring_steps", info.steps);
  json.field("reduce_steps", info.reduce_steps).field("transfers", info.transfers);
}

void write_ring_step(JsonWriter& json, const Trace& trace, const Event& e) {
  const RingStepPayload& ring = e.ring;
  collective_key(json, trace, ring.coll);
  json.field("channel", std::int64_t{ring.channel}).field("loop", std::int64_t{ring.loop});
  json.field("step", ring.step).field("chunk", ring.chunk).field("peer", ring.peer).field("bytes", e.aux32);
  if (e.type == EventType::RingStepWait) {
    json.field("waits_for", to_word(static_cast<WaitsFor>(e.flags)));
  } else {
    json.field("primitive", to_word(static_cast<Primitive>(e.aux8)));
  }
  sample_field(json, "values", trace, ring.sample);
}

void write_text(JsonWriter& json, const Trace& trace, const Event& e) {
  const TextPayload& text = e.text;
  switch (e.type) {
    case EventType::Error:
      text_field(json, "layer", trace, text.channel);
      json.field("code", text.code);
      break;
    case EventType::LogLine:
      text_field(json, "stream", trace, text.channel);
      break;
    case EventType::NicState:
      json.field("up", text.code != 0);
      break;
    case EventType::Exit:
      json.field(e.aux8 != 0 ? "signal" : "code", text.code);
      break;
    default:
      break;
  }
  text_field(json, e.type == EventType::NodeState ? "state" : "text", trace, text.text);
}

void write_command(JsonWriter& json, const Fault& fault) {
  json.field("kind", to_word(fault.kind));
  if (fault.rank >= 0) json.field("rank", fault.rank);
  if (fault.node >= 0) json.field("node", fault.node);
  if (fault.from >= 0) json.field("from", fault.from).field("to", fault.to);
  if (fault.at_ns) {
    json.field("at_ns", *fault.at_ns);
  } else {
    json.field("step", fault.step).field("at", to_word(fault.at));
  }
  if (fault.duration_ns > 0) json.field("duration_ns", fault.duration_ns);
  if (fault.factor_ppm > 0) json.field("factor_ppm", fault.factor_ppm);
  if (fault.element > 0) json.field("element", fault.element);
  if (fault.bit > 0) json.field("bit", fault.bit);
  if (fault.shape) {
    json.key("shape").begin_array();
    for (const std::int64_t extent : fault.shape->extents) json.integer(extent);
    json.end_array();
  }
  if (fault.dtype) json.field("dtype", to_word(*fault.dtype));
  if (fault.op) json.field("op", to_word(*fault.op));
}

void write_payload(JsonWriter& json, const Trace& trace, const Event& e) {
  switch (e.type) {
    case EventType::Hello:
      write_hello(json, trace, e);
      break;
    case EventType::CommInit:
    case EventType::CommFinalize:
    case EventType::CommAbort:
      write_comm(json, trace, e);
      break;
    case EventType::PhaseBegin:
    case EventType::PhaseEnd:
      write_phase(json, e);
      break;
    case EventType::CollectiveEnqueued:
    case EventType::CollectiveStarted:
    case EventType::CollectiveFinished:
      write_collective(json, trace, e);
      break;
    case EventType::RingStepBegin:
    case EventType::RingStepWait:
    case EventType::RingStepArrive:
    case EventType::RingStepEnd:
      write_ring_step(json, trace, e);
      break;
    case EventType::TensorValues:
      text_field(json, "name", trace, e.tensor.name);
      shape_field(json, trace, e.tensor.shape);
      json.field("dtype", to_word(e.tensor.dtype));
      sample_field(json, "values", trace, e.tensor.sample);
      break;
    case EventType::Weights:
      json.field("step", e.weights.step).key("digest").hex64(e.weights.digest);
      break;
    case EventType::NanFound:
      text_field(json, "tensor", trace, e.nan.tensor);
      json.field("step", e.nan.step).field("index", e.nan.index).field("count", e.nan.count);
      break;
    case EventType::Heartbeat:
      text_field(json, "comm", trace, e.heartbeat.comm);
      json.field("step", e.heartbeat.step).field("phase", to_word(e.heartbeat.phase));
      json.field("enqueued", e.heartbeat.enqueued).field("started", e.heartbeat.started);
      json.field("completed", e.heartbeat.completed);
      break;
    case EventType::WatchdogWarned:
    case EventType::WatchdogExpired:
      if (e.watchdog.coll != kNone) collective_key(json, trace, e.watchdog.coll);
      json.field("waited_ns", e.watchdog.waited_ns);
      text_field(json, "text", trace, e.watchdog.text);
      break;
    case EventType::DeviceSample:
      json.key("power_w").number(e.device.power_w).key("utilisation").number(e.device.utilisation);
      json.key("sm_clock_mhz")
          .number(e.device.sm_clock_mhz)
          .key("temperature_c")
          .number(e.device.temperature_c);
      json.field("ecc_errors", e.device.ecc_errors).field("xid", e.device.xid);
      break;
    case EventType::EventsDropped:
      json.field("count", e.dropped.count);
      break;
    case EventType::Command:
      write_command(json, trace.command(e.command.command));
      break;
    case EventType::Left:
    case EventType::Error:
    case EventType::NicState:
    case EventType::NodeState:
    case EventType::LogLine:
    case EventType::Exit:
      write_text(json, trace, e);
      break;
  }
}

}  // namespace

void append_header_json(std::string& out, const TraceHeader& header) {
  JsonWriter json(out);
  json.begin_object().field("magic", "ringside-trace").field("version", std::int64_t{header.version});
  json.field("source", header.source).field("world_size", header.world_size);
  json.field("gpus_per_node", header.gpus_per_node).field("clock", header.clock);
  json.field("origin_unix_ns", header.origin_unix_ns).field("title", header.title).field("seed", header.seed);
  json.field("detail", to_word(header.detail));
  if (!header.scenario_toml.empty()) json.field("scenario", header.scenario_toml);
  json.end_object();
}

void append_event_json(std::string& out, const Trace& trace, const Event& event) {
  out += "{\"t\":";
  append_int(out, event.t);
  out += ",\"src\":";
  append_source(out, event.source());
  out += ",\"n\":";
  append_uint(out, event.n);
  out += ",\"type\":\"";
  out += to_word(event.type);
  out += '"';
  // Straight behind what is there: a trace is millions of lines.
  out += ',';
  const std::size_t before = out.size();
  JsonWriter json(out);
  write_payload(json, trace, event);
  if (out.size() == before) out.pop_back();
  out += '}';
}

}  // namespace ringside::sim
