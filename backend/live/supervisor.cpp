#include "backend/live/supervisor.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>
#include <thread>

#include "backend/live/compare.hpp"
#include "sim/base/text.hpp"
#include "sim/trace/trace.hpp"

namespace ringside::backend {
namespace {

using sim::EventType;
using namespace std::chrono_literals;

std::int64_t unix_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// Makes lines out of records. Pools are thrown away with every batch; only `n` lives on.
class LineMaker {
 public:
  LineMaker(const SharedRank& shared, std::int64_t origin) : shared_(shared), origin_(origin) {}

  void add(const Record& record) {
    sim::Event e = record.event;
    e.set_source(sim::Source::rank(shared_.rank.load()));
    e.n = next_n_++;
    fill(e, record);
    sim::append_event_json(lines_, pools_, e);
    lines_ += '\n';
  }

  void add_hello() {
    sim::Hello hello;
    hello.host = shared_.host;
    hello.device = shared_.device;
    hello.mpi = shared_.mpi_version;
    hello.nccl = shared_.nccl_version;
    hello.pci = shared_.pci;
    hello.pid = ::getpid();
    hello.local_rank = shared_.local_rank;
    Record record = now(EventType::Hello);
    record.event.hello = sim::HelloPayload{pools_.add_hello(hello)};
    add(record);
  }

  void add_heartbeat() {
    Record record = now(EventType::Heartbeat);
    record.event.heartbeat = sim::HeartbeatPayload{comm(),
                                                   shared_.step.load(),
                                                   shared_.enqueued.load(),
                                                   shared_.started.load(),
                                                   shared_.completed.load(),
                                                   static_cast<sim::Phase>(shared_.phase.load()),
                                                   {}};
    add(record);
  }

  void add_dropped(std::uint64_t count) {
    next_n_ += static_cast<std::uint32_t>(count);  // the gap in n is where they are missing
    Record record = now(EventType::EventsDropped);
    record.event.dropped = sim::DroppedPayload{count};
    add(record);
  }

  void add_exit(bool by_signal, int code, std::string_view text) {
    Record record = now(EventType::Exit);
    record.event.aux8 = by_signal ? 1 : 0;
    record.event.text = sim::TextPayload{sim::kNone, sim::kNone, code, 0};
    record.set_text(text);
    add(record);
  }

  bool empty() const { return lines_.empty(); }
  std::size_t size() const { return lines_.size(); }
  std::string take() {
    pools_ = sim::Trace{};
    std::string out = std::move(lines_);
    lines_.clear();
    return out;
  }

 private:
  Record now(EventType type) const {
    Record record;
    record.event.t = unix_ns() - origin_;
    record.event.type = type;
    return record;
  }
  std::uint32_t comm() { return pools_.intern("default_pg"); }

  std::uint32_t collective(const Record& record) {
    sim::CollectiveInfo info;
    info.comm = comm();
    info.seq = record.seq;
    info.step = record.step;
    info.order = record.order;
    info.chunking = record.chunking;
    info.world_size = shared_.world_size.load();
    info.steps = record.steps;
    info.reduce_steps = record.reduce_steps;
    info.transfers = record.transfers;
    return pools_.add_collective(info);
  }

  void fill(sim::Event& e, const Record& record) {
    const auto text = [&] { return record.text[0] == '\0' ? sim::kNone : pools_.intern(record.text); };
    const auto sample = [&] { return record.has_sample ? pools_.add_sample(record.sample()) : sim::kNone; };
    switch (e.type) {
      case EventType::CommInit:
      case EventType::CommFinalize:
      case EventType::CommAbort:
        e.comm = sim::CommPayload{comm(), shared_.world_size.load(), sim::kNone};
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

  static std::string_view word_of(std::uint32_t from) {
    switch (static_cast<TextFrom>(from)) {
      case TextFrom::Mpi:
        return "mpi";
      case TextFrom::Nccl:
        return "nccl";
      case TextFrom::Compare:
        return kCompareStream;
      case TextFrom::Stderr:
        break;
    }
    return "stderr";
  }

  const SharedRank& shared_;
  std::int64_t origin_;
  std::uint32_t next_n_ = 0;
  sim::Trace pools_;
  std::string lines_;
};

struct Ended {
  bool by_signal = false;
  int code = 0;
};

std::optional<Ended> ended(int pid) {
  int status = 0;
  if (::waitpid(pid, &status, WNOHANG) != pid) return std::nullopt;
  if (WIFSIGNALED(status)) return Ended{true, WTERMSIG(status)};
  return Ended{false, WEXITSTATUS(status)};
}

constexpr std::size_t kBatchBytes = 128 * 1024;
constexpr auto kTick = 10ms;
/// MPI_Init waits for every rank of the job; one that died in it leaves the others there for ever.
constexpr auto kStartLimit = 60s;

}  // namespace

int supervise(SharedRank& shared, int pid, const SupervisorOptions& options) {
  LineMaker lines(shared, options.origin_unix_ns);
  std::unique_ptr<HubConnection> hub;
  std::uint64_t seen_beats = 0;
  auto last_beat = std::chrono::steady_clock::now();
  bool killed = false, said_hello = false;
  std::uint64_t lost_lines = 0;

  const auto flush = [&] {
    if (lines.empty()) return;
    if (hub == nullptr) {
      lines.take();
      return;
    }
    if (!hub->send(lines.take())) ++lost_lines;  // the hub is away for long: the gap in n shows it
  };
  const auto pump = [&] {
    Record record;
    for (RecordQueue* queue : {&shared.main, &shared.side}) {
      while (queue->pop(record)) {
        lines.add(record);
        if (lines.size() > kBatchBytes) flush();
      }
      if (const std::uint64_t dropped = queue->take_dropped()) lines.add_dropped(dropped);
    }
  };

  std::optional<Ended> end;
  while (!end) {
    std::this_thread::sleep_for(kTick);
    end = ended(pid);
    if (!shared.ready.load(std::memory_order_acquire)) {
      if (!killed && std::chrono::steady_clock::now() - last_beat > kStartLimit) {
        killed = true;
        std::fprintf(stderr, "ringside-rank: MPI did not start within 60 s; the worker is ended\n");
        ::kill(pid, SIGKILL);
      }
      continue;
    }
    if (!said_hello) {
      said_hello = true;
      if (options.has_hub) {
        HubConnection::Callbacks callbacks;
        callbacks.hello = [&shared] {
          ClientHello hello;
          hello.role = ClientRole::Rank;
          hello.agent = "ringside-rank";
          hello.rank = shared.rank.load();
          hello.world_size = shared.world_size.load();
          return hello;
        };
        callbacks.received = [&shared](std::string_view text) {
          if (const auto fault = parse_command(text))
            shared.give_order({fault->kind, fault->step, fault->duration_ns, fault->element});
        };
        hub = std::make_unique<HubConnection>(options.hub, std::move(callbacks));
      }
      lines.add_hello();
    }
    pump();
    const std::uint64_t beats = shared.beats.load(std::memory_order_relaxed);
    const auto now = std::chrono::steady_clock::now();
    if (beats != seen_beats) {
      seen_beats = beats;
      last_beat = now;
      lines.add_heartbeat();
    } else if (!killed && options.silent_limit_ns > 0 &&
               now - last_beat > std::chrono::nanoseconds(options.silent_limit_ns)) {
      killed = true;  // stopped for longer than any watchdog waits: nobody else would ever end it
      ::kill(pid, SIGKILL);
    }
    flush();
  }
  pump();
  lines.add_exit(end->by_signal, end->code,
                 killed ? "stopped for longer than the watchdog waits; ended by its supervisor" : "");
  flush();
  if (hub) hub->drain(2000);
  return end->by_signal ? 128 + end->code : end->code;
}

}  // namespace ringside::backend
