// How processes end: at once (a signal), or after cleaning up (an exception, an abort).
#include "sim/job/rules.hpp"

namespace ringside::sim {
namespace {

/// Only these can be what ended a job; the others follow from something else.
bool is_primary(EndReason reason) {
  return reason == EndReason::Killed || reason == EndReason::Exception || reason == EndReason::SizeError ||
         reason == EndReason::GpuError;
}

void emit_exit(Simulator& sim, int r) {
  const Rank& rank = sim.rank(r);
  Event e;
  const bool launched = rank.end_reason == EndReason::Terminated;
  e.text = {launched ? sim.trace.intern("ended by the launcher") : kNone, kNone, rank.exit_code, 0};
  e.aux8 = rank.by_signal ? 1 : 0;
  sim.emit(Source::rank(r), EventType::Exit, e);
}

/// It takes no further part in anything.
void drop_out(Simulator& sim, int r) {
  Rank& rank = sim.rank(r);
  ++rank.epoch;
  if (sim.with_numbers) sim.mover.stop(r, sim.now);
  if (sim.with_numbers) return;
  const std::uint32_t first_missing = rank.completed + 1;
  if (sim.broken_from == 0 || first_missing < sim.broken_from) sim.broken_from = first_missing;
}

}  // namespace

void end_process(Simulator& sim, int r, EndReason reason, int code, bool by_signal) {
  Rank& rank = sim.rank(r);
  if (rank.life == Life::Exited) return;
  const bool remote_first = reason == EndReason::RemoteError && !sim.any_timeout;
  sim.any_error = sim.any_error || is_primary(reason) || remote_first;
  rank.life = Life::Exited;
  rank.end_reason = reason;
  rank.exit_code = code;
  rank.by_signal = by_signal;
  rank.exited_at = sim.now;
  drop_out(sim, r);
  emit_exit(sim, r);
  sim.last_thing = sim.now;
  tell_peers(sim, r);
  launcher_after_end(sim, r);
  restart_if_over(sim);
}

void go_down(Simulator& sim, int r, std::int64_t after, EndReason reason, int code, bool by_signal) {
  Rank& rank = sim.rank(r);
  if (rank.life == Life::Exited || rank.life == Life::Ending) return;
  rank.life = Life::Ending;
  rank.end_reason = reason;
  rank.exit_code = code;
  rank.by_signal = by_signal;
  drop_out(sim, r);
  sim.push(sim.now + after, ItemKind::GoDown, r);
}

void on_go_down(Simulator& sim, int r) {
  const Rank& rank = sim.rank(r);
  log_rank(sim, r, rank.last_words);
  end_process(sim, r, rank.end_reason, rank.exit_code, rank.by_signal);
}

/// An uncaught Python exception: traceback, then the interpreter shuts down.
void raise_exception(Simulator& sim, int r, std::string_view call, std::string_view error,
                     std::string_view layer) {
  constexpr std::int64_t kInterpreterExitNs = 40'000'000;
  error_event(sim, r, layer, 1, error);
  log_rank(sim, r, traceback(printer(sim, r), call, error));
  go_down(sim, r, kInterpreterExitNs, EndReason::Exception, 1, false);
}

void freeze(Simulator& sim, int r, Life how) {
  Rank& rank = sim.rank(r);
  if (rank.life != Life::Running) return;
  rank.life = how;
  drop_out(sim, r);
}

}  // namespace ringside::sim
