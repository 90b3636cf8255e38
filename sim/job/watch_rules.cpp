// The clocks that run while others wait: PyTorch's watchdog (looks every 100 ms, ends a call after its
// timeout), its heartbeat monitor (480 s), and a ladder of heartbeats (1, 5, 20, 60 s, then every minute) by
// which a trace tells a rank that waits from one that is silent.
#include <algorithm>
#include <array>

#include "sim/job/rules.hpp"

namespace ringside::sim {
namespace {

constexpr std::int64_t kPollNs = 100'000'000;
constexpr std::int64_t kMs = 1'000'000, kSecond = 1'000'000'000;
constexpr std::array<std::int64_t, 4> kRungs{1 * kSecond, 5 * kSecond, 20 * kSecond, 60 * kSecond};
/// Above this many ranks only the four rungs are written.
constexpr int kMaxMinuteHeartbeats = 1'024;

std::int64_t rung_at(std::int32_t rung) {
  const auto i = static_cast<std::size_t>(rung);
  return i < kRungs.size() ? kRungs[i]
                           : kRungs.back() + static_cast<std::int64_t>(i - kRungs.size() + 1) * 60 * kSecond;
}

WorkText work_of(const Simulator& sim, int r) {
  const Rank& rank = sim.rank(r);
  const OpenCall& call = rank.open.front();
  WorkText work;
  work.seq = call.seq;
  work.collective = call.collective;
  work.numel = call.count;
  work.timeout_ms = sim.scenario->stack.watchdog_ns / kMs;
  work.ran_ms = (sim.now - call.enqueued_at) / kMs;
  work.enqueued = rank.enqueued;
  work.completed = rank.completed;
  return work;
}

void emit_expired(Simulator& sim, int r, std::string_view text) {
  const OpenCall& call = sim.rank(r).open.front();
  Event e;
  e.watchdog = {call.coll, sim.trace.intern(text), sim.now - call.enqueued_at};
  sim.emit(Source::rank(r), EventType::WatchdogExpired, e);
  sim.any_timeout = true;
}

void nccl_expired(Simulator& sim, int r) {
  constexpr std::int64_t kDumpAndAbortNs = 350 * kMs;
  const Printer who = printer(sim, r);
  const WorkText work = work_of(sim, r);
  const std::string text = watchdog_timeout(who, sim.now, work);
  emit_expired(sim, r, text);
  log_rank(sim, r, text);
  std::vector<std::string> lines = watchdog_aftermath(who, sim.now, work);
  constexpr std::size_t kAtOnce = 3;  // the rest comes when the dump is written
  sim.rank(r).last_words.assign(lines.begin() + kAtOnce, lines.end());
  lines.resize(kAtOnce);
  log_rank(sim, r, lines);
  Event e;
  e.comm = {sim.comm, sim.world(), kNone};
  sim.emit(Source::rank(r), EventType::CommAbort, e);
  go_down(sim, r, kDumpAndAbortNs, EndReason::Watchdog, 6, true);
}

/// Gloo's wait() throws in the calling thread; a message that was to be sent or received timed out. MPI has
/// no timeout of its own: one that is asked for is the program's.
void wait_expired(Simulator& sim, int r) {
  const bool gloo = sim.scenario->stack.library == Library::Gloo;
  const std::int64_t ms = sim.scenario->stack.watchdog_ns / kMs;
  const std::string text =
      gloo ? gloo_timeout(ms, false)
           : "TimeoutError: MPI_Allreduce did not return within " + std::to_string(ms) + " ms";
  emit_expired(sim, r, text);
  error_event(sim, r, gloo ? "gloo" : "python", 1, text);
  log_rank(sim, r, traceback(printer(sim, r), "dist.all_reduce(grad)", text));
  go_down(sim, r, 40 * kMs, EndReason::Watchdog, 1, false);
}

/// The oldest open call of all ranks that still run; -1 if nobody waits.
std::int64_t oldest_wait(const Simulator& sim) {
  std::int64_t oldest = -1;
  for (const Rank& rank : sim.ranks)
    if (rank.life == Life::Running && !rank.open.empty() &&
        (oldest < 0 || rank.open.front().enqueued_at < oldest))
      oldest = rank.open.front().enqueued_at;
  return oldest;
}

/// A heartbeat and a look at the GPU: one that waits in a kernel spins, busy for nvidia-smi and cool.
void beat(Simulator& sim, int r) {
  const Rank& rank = sim.rank(r);
  const bool waits = !rank.open.empty();
  Event e;
  e.heartbeat = {sim.comm,
                 rank.step,
                 rank.enqueued,
                 rank.open.empty() ? rank.enqueued : rank.open.front().seq,
                 rank.completed,
                 rank.phase,
                 {}};
  sim.emit(Source::rank(r), EventType::Heartbeat, e);
  Event device;
  device.device = {waits ? 118.0F : 640.0F, waits ? 100.0F : 97.0F, 1980.0F, waits ? 41.0F : 66.0F, 0, 0};
  sim.emit(Source::rank(r), EventType::DeviceSample, device);
}

void beat_all(Simulator& sim) {
  for (int r = 0; r < sim.world(); ++r)
    if (sim.rank(r).life == Life::Running || sim.rank(r).life == Life::Stuck) beat(sim, r);
}

void set_ladder(Simulator& sim, std::int64_t t) {
  sim.ladder_set = true;
  sim.push(t, ItemKind::LadderTick);
}

}  // namespace

std::int64_t poll_tick(int r, std::int64_t t) {
  const std::int64_t offset = (static_cast<std::int64_t>(r) * 37 % 100) * kMs;
  const std::int64_t ticks = (std::max<std::int64_t>(0, t - offset) + kPollNs - 1) / kPollNs;
  return offset + ticks * kPollNs;
}

/// The rank has an open call: its watchdog will look when the oldest one is due. One look is queued at a
/// time.
void watch(Simulator& sim, int r) {
  Rank& rank = sim.rank(r);
  const std::int64_t timeout = sim.scenario->stack.watchdog_ns;
  if (timeout == 0 || rank.watchdog_at >= 0 || rank.open.empty()) return;
  const std::int64_t due = rank.open.front().enqueued_at + timeout;
  rank.watchdog_at = sim.scenario->stack.library == Library::Nccl ? poll_tick(r, due) : due;
  sim.push(rank.watchdog_at, ItemKind::WatchdogPoll, r);
}

void on_watchdog_poll(Simulator& sim, int r) {
  Rank& rank = sim.rank(r);
  rank.watchdog_at = -1;
  if (rank.life != Life::Running || rank.open.empty()) return;
  if (sim.now < rank.open.front().enqueued_at + sim.scenario->stack.watchdog_ns) return watch(sim, r);
  if (sim.scenario->stack.library == Library::Nccl) return nccl_expired(sim, r);
  wait_expired(sim, r);
}

/// The watchdog thread of a rank whose GPU is gone hangs in the driver; this monitor ends the process.
void on_heartbeat_poll(Simulator& sim, int r) {
  if (sim.rank(r).life != Life::Stuck) return;
  const std::string text =
      heartbeat_stuck(printer(sim, r), sim.now, sim.scenario->stack.heartbeat_ns / kSecond);
  error_event(sim, r, "nccl", 6, text);
  log_rank(sim, r, text);
  end_process(sim, r, EndReason::Watchdog, 6, true);
}

void start_ladder(Simulator& sim) {
  if (sim.ladder_set) return;
  sim.ladder_rung = 0;
  set_ladder(sim, sim.now + rung_at(0));
}

void on_ladder_tick(Simulator& sim) {
  sim.ladder_set = false;
  const bool nothing_else = sim.queue_is_empty();
  const std::int64_t oldest = oldest_wait(sim);
  if (oldest < 0) return;
  if (sim.now < oldest + rung_at(sim.ladder_rung)) {  // that wait is over, another one goes on
    while (sim.ladder_rung > 0 && oldest + rung_at(sim.ladder_rung - 1) > sim.now) --sim.ladder_rung;
    return set_ladder(sim, oldest + rung_at(sim.ladder_rung));
  }
  beat_all(sim);
  sim.last_thing = sim.now;
  ++sim.ladder_rung;
  const bool past_rungs = static_cast<std::size_t>(sim.ladder_rung) >= kRungs.size();
  if (past_rungs && (nothing_else || sim.world() > kMaxMinuteHeartbeats)) return;
  set_ladder(sim, oldest + rung_at(sim.ladder_rung));
}

}  // namespace ringside::sim
