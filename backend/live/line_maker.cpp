#include "backend/live/line_maker.hpp"

#include <unistd.h>

#include <chrono>

#include "backend/live/clock.hpp"
#include "backend/live/compare.hpp"

namespace ringside::backend {

using sim::EventType;

namespace {

std::string_view word_of(std::uint32_t from) {
  switch (static_cast<TextFrom>(from)) {
    case TextFrom::Mpi:
      return "mpi";
    case TextFrom::Nccl:
      return "nccl";
    case TextFrom::Compare:
      return kCompareStream;
    case TextFrom::Nvml:
      return "nvml";
    case TextFrom::Telemetry:
      return "telemetry";
    case TextFrom::Stderr:
      break;
  }
  return "stderr";
}

}  // namespace

void LineMaker::add(const Record& record) {
  if (record.event.type == EventType::CommInit)
    sampler_.set_budget(ring_steps_per_second_, shared_.world_size.load());
  const bool tell = sampler_.look(record);
  if (sampler_.holds())
    for (const Record& held : sampler_.due(record.event.t)) write(held);
  if (tell) write(record);
  if (const auto stride = sampler_.news(); stride && shared_.rank.load() == 0) add_stride(*stride);
}

void LineMaker::tick() {
  if (!sampler_.holds()) return;
  for (const Record& held : sampler_.due(now(EventType::LogLine).event.t)) write(held);
}

/// One rank says it for all: they choose alike.
void LineMaker::add_stride(std::int64_t stride) {
  Record record = now(EventType::LogLine);
  record.event.text = sim::TextPayload{sim::kNone, static_cast<std::uint32_t>(TextFrom::Telemetry), 0, 0};
  record.set_text(stride == 1 ? "ring steps are told of every training step again"
                              : "ring steps come too fast to tell them all: they are told of one training step in " +
                                    std::to_string(stride));
  write(record);
}

void LineMaker::write(const Record& record) {
  sim::Event e = record.event;
  e.set_source(sim::Source::rank(shared_.rank.load()));
  e.n = next_n_++;
  fill(e, record);
  sim::append_event_json(lines_, pools_, e);
  lines_ += '\n';
}

void LineMaker::add_hello() {
  sim::Hello hello;
  hello.host = shared_.host;
  hello.device = shared_.device;
  hello.mpi = shared_.mpi_version;
  hello.nccl = shared_.nccl_version;
  hello.pci = shared_.pci;
  hello.pid = shared_.pid != 0 ? shared_.pid : ::getpid();
  hello.local_rank = shared_.local_rank;
  Record record = now(EventType::Hello);
  record.event.hello = sim::HelloPayload{pools_.add_hello(hello)};
  add(record);
}

void LineMaker::add_heartbeat() {
  Record record = now(EventType::Heartbeat);
  const auto tell = [&](const std::atomic<std::uint32_t>& enqueued, const std::atomic<std::uint32_t>& started,
                        const std::atomic<std::uint32_t>& completed) {
    record.event.heartbeat = sim::HeartbeatPayload{comm_of(record),
                                                   shared_.step.load(),
                                                   enqueued.load(),
                                                   started.load(),
                                                   completed.load(),
                                                   static_cast<sim::Phase>(shared_.phase.load()),
                                                   {}};
    add(record);
  };
  const std::uint32_t comms = shared_.comm_count.load(std::memory_order_acquire);
  if (comms == 0) return tell(shared_.enqueued, shared_.started, shared_.completed);
  for (std::uint32_t i = 0; i < comms; ++i) {
    const CommCounters& comm = shared_.comms[i];
    std::memcpy(record.comm, comm.name, sizeof record.comm);
    tell(comm.enqueued, comm.started, comm.completed);
  }
}

void LineMaker::add_dropped(std::uint64_t count) {
  next_n_ += static_cast<std::uint32_t>(count);  // the gap in n is where they are missing
  Record record = now(EventType::EventsDropped);
  record.event.dropped = sim::DroppedPayload{count};
  add(record);
}

void LineMaker::add_exit(bool by_signal, int code, std::string_view text) {
  for (const Record& held : sampler_.all()) write(held);
  Record record = now(EventType::Exit);
  record.event.aux8 = by_signal ? 1 : 0;
  record.event.text = sim::TextPayload{sim::kNone, sim::kNone, code, 0};
  record.set_text(text);
  add(record);
}

void LineMaker::add_device(const DeviceReading& reading) {
  Record record;
  record.event.t = reading.unix_ns - origin_;
  record.event.type = EventType::DeviceSample;
  record.event.device = reading.device;
  add(record);
  if (reading.link_errors.empty()) return;
  record.event.type = EventType::LogLine;
  record.event.text = sim::TextPayload{sim::kNone, static_cast<std::uint32_t>(TextFrom::Nvml), 0, 0};
  record.set_text(reading.link_errors);
  add(record);
}

void LineMaker::add_nic(std::string_view port, bool up) {
  Record record = now(EventType::NicState);
  record.event.text = sim::TextPayload{sim::kNone, sim::kNone, up ? 1 : 0, 0};
  record.set_text(port);
  add(record);
}

void LineMaker::add_left(std::string_view text) {
  for (const Record& held : sampler_.all()) write(held);
  Record record = now(EventType::Left);
  record.event.text = sim::TextPayload{sim::kNone, sim::kNone, 0, 0};
  record.set_text(text);
  add(record);
}

std::string LineMaker::take() {
  pools_ = sim::Trace{};
  std::string out = std::move(lines_);
  lines_.clear();
  return out;
}

Record LineMaker::now(EventType type) const {
  Record record;
  record.event.t = unix_ns() + shared_.clock_shift_ns - origin_;
  record.event.type = type;
  return record;
}
std::uint32_t LineMaker::comm_of(const Record& record) {
  return pools_.intern(record.comm[0] == '\0' ? "default_pg" : record.comm);
}

std::uint32_t LineMaker::collective(const Record& record) {
  sim::CollectiveInfo info;
  info.comm = comm_of(record);
  info.seq = record.seq;
  info.step = record.step;
  info.order = record.order;
  info.chunking = record.chunking;
  info.world_size = record.world_size > 0 ? record.world_size : shared_.world_size.load();
  info.steps = record.steps;
  info.reduce_steps = record.reduce_steps;
  info.transfers = record.transfers;
  return pools_.add_collective(info);
}

void LineMaker::fill(sim::Event& e, const Record& record) {
  const auto text = [&] { return record.text[0] == '\0' ? sim::kNone : pools_.intern(record.text); };
  const auto sample = [&] { return record.has_sample ? pools_.add_sample(record.sample()) : sim::kNone; };
  switch (e.type) {
    case EventType::CommInit:
    case EventType::CommFinalize:
    case EventType::CommAbort:
      e.comm = sim::CommPayload{
          comm_of(record), record.world_size > 0 ? record.world_size : shared_.world_size.load(), sim::kNone};
      break;
    case EventType::CollectiveEnqueued:
    case EventType::CollectiveStarted:
    case EventType::CollectiveFinished:
      e.collective.coll = collective(record);
      e.collective.shape = sim::kNone;
      break;
    case EventType::RingStepBegin:
    case EventType::RingStepWait:
    case EventType::RingStepArrive:
    case EventType::RingStepEnd:
      e.ring.coll = collective(record);
      e.ring.sample = sample();
      break;
    case EventType::NicState:
      e.text.text = text();
      break;
    case EventType::TensorValues:
      e.tensor.name = text();
      e.tensor.sample = sample();
      break;
    case EventType::NanFound:
      e.nan.tensor = text();
      break;
    case EventType::WatchdogWarned:
    case EventType::WatchdogExpired:
      e.watchdog.coll = collective(record);
      e.watchdog.text = text();
      break;
    case EventType::Error:
      e.text.text = text();
      e.text.channel = pools_.intern(word_of(record.event.text.channel));
      break;
    case EventType::LogLine:
      e.text.text = text();
      e.text.channel = pools_.intern(word_of(record.event.text.channel));
      break;
    case EventType::Exit:
    case EventType::Left:
      e.text.text = text();
      break;
    default:
      break;
  }
}

}  // namespace ringside::backend
