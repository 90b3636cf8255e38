#include "backend/live/supervisor.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#include "backend/live/line_maker.hpp"
#include "backend/live/nic_watch.hpp"
#include "backend/live/rank_log.hpp"
#include "sim/base/text.hpp"

namespace ringside::backend {
namespace {

using sim::EventType;
using namespace std::chrono_literals;

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
/// Whether the job has ranks on other hosts, as its launcher says (Open MPI).
bool on_several_hosts() {
  const char* world = std::getenv("OMPI_COMM_WORLD_SIZE");
  const char* here = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  return world != nullptr && here != nullptr && std::atoi(here) < std::atoi(world);
}

/// MPI_Init waits for every rank of the job; one that died in it leaves the others there for ever.
constexpr auto kStartLimit = 60s;

}  // namespace

int supervise(SharedRank& shared, int pid, const SupervisorOptions& options) {
  LineMaker lines(shared, options.origin_unix_ns, options.ring_steps_per_second);
  RankLog log(shared, pid, options.log_folder, options.origin_unix_ns);
  std::atomic<int> welcomes{0};  // outlives the connection, whose thread counts
  std::unique_ptr<HubConnection> hub;
  std::unique_ptr<DeviceMonitor> device;  // of a rank on a GPU, where NVML is to be had
  std::uint64_t seen_beats = 0;
  auto last_beat = std::chrono::steady_clock::now();
  bool killed = false, said_hello = false;
  std::uint64_t lost_lines = 0;
  NicWatch nics;  // the first rank of each host tells of its host's ports
  bool tells_nics = false;
  int welcomes_seen = 0;

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
        log.add(record);
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
        callbacks.welcomed = [&welcomes](const ServerAnswer&) { ++welcomes; };
        callbacks.received = [&shared](std::string_view text) {
          if (const auto fault = parse_command(text))
            shared.give_order({fault->kind, fault->step, fault->duration_ns, fault->element});
        };
        hub = std::make_unique<HubConnection>(options.hub, std::move(callbacks));
      }
      lines.add_hello();
      log.begin();
      tells_nics = shared.local_rank == 0 && on_several_hosts();
      if (tells_nics) nics.changes();
      if (shared.pci[0] != '\0') device = DeviceMonitor::open(shared.pci);
    }
    if (const int now_welcomed = welcomes.load(); now_welcomed != welcomes_seen) {
      if (welcomes_seen > 0) lines.add_hello();  // another hub may be there that does not know who this is
      welcomes_seen = now_welcomed;
    }
    pump();
    lines.tick();
    if (device)
      for (const DeviceReading& reading : device->take()) lines.add_device(reading);
    const std::uint64_t beats = shared.beats.load(std::memory_order_relaxed);
    const auto now = std::chrono::steady_clock::now();
    if (beats != seen_beats) {
      seen_beats = beats;
      last_beat = now;
      lines.add_heartbeat();
      if (tells_nics)
        for (const NicChange& change : nics.changes()) lines.add_nic(change.port, change.up);
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
  log.ended(end->by_signal, end->code, killed);
  flush();
  if (hub) hub->drain(hub->connected() ? 20'000 : 2'000);
  return end->by_signal ? 128 + end->code : end->code;
}

}  // namespace ringside::backend
