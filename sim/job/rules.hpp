// The rules of the job, by what they are about. Each handles one kind of thing; simulator.cpp has the switch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/job/simulator.hpp"

namespace ringside::sim {

// rank_rules.cpp: a rank's way through its training steps.
bool shows_weights(const Simulator& sim);
/// A fault by hand in the middle of backward; false if there is no gradient that it can change.
bool strike_gradient(Simulator& sim, const Fault& fault);
/// A number that is not finite went into the weights: after one step none is left.
void spoil_all_weights(Rank& rank);
std::int64_t pid_of(const Simulator& sim, int r);
void on_start(Simulator& sim, int r);
void next_step(Simulator& sim, int r);
void begin_step(Simulator& sim, int r);
void begin_phase(Simulator& sim, int r, Phase phase);
void on_phase_end(Simulator& sim, int r);
void next_phase(Simulator& sim, int r);
void begin_all_reduce(Simulator& sim, int r);
void finish_training(Simulator& sim, int r);

// call_rules.cpp: collectives, from the call to the result.
void call_bucket(Simulator& sim, int r, int bucket);
/// False where every rank trains alone.
bool calls_collectives(const Simulator& sim);
/// A broadcast that only this rank calls.
void call_broadcast(Simulator& sim, int r);
void place_call(Simulator& sim, int r, OpenCall call, const Shape& shape);
void enter_next(Simulator& sim, int r);
void on_bucket_ready(Simulator& sim, int r, int bucket);
void on_moves(Simulator& sim, const std::vector<MoveNote>& notes);
void on_call_due(Simulator& sim, int r);
std::shared_ptr<const Program> program_for(Simulator& sim, Collective collective, DType dtype,
                                           std::int64_t count);
/// The part of the flat gradient that is bucket b: [offset, offset + count).
Chunk bucket_range(const Simulator& sim, std::int64_t count, int bucket);
void show_tensor(Simulator& sim, int r, std::string_view name, const Shape& shape, const Tensor& tensor);

/// The part of a flat tensor that is one bucket, as a tensor of its own.
std::shared_ptr<const Tensor> slice(const std::shared_ptr<const Tensor>& tensor, const Chunk& range);

// mismatch_rules.cpp: calls that do not agree.
void size_error(Simulator& sim, int r, std::int64_t bytes, std::int64_t room);
bool timed_mismatch_passes(Simulator& sim);
std::uint8_t suspicion(const Simulator& sim, int r, const OpenCall& call);
bool fingerprints_agree(Simulator& sim, std::uint32_t seq);
bool may_enter(const Simulator& sim, std::uint32_t seq);

// fault_rules.cpp: what breaks, and how.
void arm(Simulator& sim, const Fault& fault);
/// Writes the fault's command, once.
void announce(Simulator& sim, ArmedFault& armed);
void on_command(Simulator& sim, std::uint32_t index);
void on_strike(Simulator& sim, std::uint32_t index);
void on_recover(Simulator& sim, std::uint32_t index);
/// The armed fault of that kind for this rank's present step, announced; nullptr if there is none.
const Fault* fault_now(Simulator& sim, int r, FaultKind kind);
/// Queues what strikes in the middle of the phase that the rank begins. True if it strikes at once and the
/// rank does not go on.
bool strikes_in_phase(Simulator& sim, int r, std::int64_t duration);

// number_rules.cpp: faults that change numbers.
bool is_number(FaultKind kind);
/// In the middle of a collective: the buffer that it works in.
void strike_number(Simulator& sim, const Fault& fault);
/// What faults do to the data, to the gradient before anything is sent, and to the weights of this step.
void spoil_forward(Simulator& sim, int r);
void spoil_gradient(Simulator& sim, int r);
/// One fault, on the gradient that is there.
void spoil_gradient_once(Simulator& sim, const Fault& fault);
void spoil_weights(Simulator& sim, int r);

// nan_rules.cpp: numbers that are not finite, and what the program does about them.
/// Weights that are not finite leave no number of the gradient whole.
void spread_bad_weights(Simulator& sim, int r);
/// At the end of backward: writes what it finds; true if the program raised or left the step.
bool nan_stops_rank(Simulator& sim, int r);
/// After the collectives: true if the optimizer is skipped.
bool nan_skips_update(Simulator& sim, int r);
bool all_finite(const Tensor& tensor);

// end_rules.cpp: how processes end.
void end_process(Simulator& sim, int r, EndReason reason, int code, bool by_signal);
/// Ends later: cleans up first.
void go_down(Simulator& sim, int r, std::int64_t after, EndReason reason, int code, bool by_signal);
void on_go_down(Simulator& sim, int r);
void raise_exception(Simulator& sim, int r, std::string_view call, std::string_view error,
                     std::string_view layer);
void freeze(Simulator& sim, int r, Life how);

// notice_rules.cpp: who notices that another one is gone, by transport.
void tell_peers(Simulator& sim, int r);
void on_peer_gone(Simulator& sim, int r, int peer);
void on_retry_exceeded(Simulator& sim, int r, int peer);
/// A rank enters a call: connections that are closed, or dead behind RDMA, show now.
void notice_on_entry(Simulator& sim, int r);
bool same_node(const Simulator& sim, int a, int b);
Transport transport_between(const Simulator& sim, int a, int b);

// watch_rules.cpp: watchdog, heartbeat monitor, the ladder of heartbeats.
void watch(Simulator& sim, int r);
void on_watchdog_poll(Simulator& sim, int r);
void on_heartbeat_poll(Simulator& sim, int r);
void start_ladder(Simulator& sim);
void on_ladder_tick(Simulator& sim);
/// The next time at or after t when the rank's watchdog looks: every 100 ms.
std::int64_t poll_tick(int r, std::int64_t t);

// failure_rules.cpp: nodes that fail at random, checkpoints, restarts.
/// The rank begins a step: its node may fail in it.
void draw_failure(Simulator& sim, int r);
void on_node_fails(Simulator& sim, int node);
void remember_checkpoint(Simulator& sim, int r);
/// A process has ended: when all have, the job begins again if it is to.
void restart_if_over(Simulator& sim);
void on_restart(Simulator& sim);

// launcher_rules.cpp: torchrun, mpirun, srun.
void on_launcher_sees(Simulator& sim, int r);
void on_signal(Simulator& sim, int r, int signal);
void launcher_after_end(Simulator& sim, int r);

// logs.cpp: lines into the trace.
Printer printer(const Simulator& sim, int r);
void log_rank(Simulator& sim, int r, std::string_view text);
void log_rank(Simulator& sim, int r, const std::vector<std::string>& lines);
void log_kernel(Simulator& sim, int node, std::string_view text);
void log_launcher(Simulator& sim, std::string_view text);
void error_event(Simulator& sim, int r, std::string_view layer, int code, std::string_view text);
std::string pci_of(const Simulator& sim, int r);

// outcome.cpp: what ended a job and its collectives.
/// The collective is over on all ranks.
void judge_collective(Simulator& sim, std::uint32_t coll);
void judge(Simulator& sim);

// simulator.cpp
void handle(Simulator& sim, const Item& item);

}  // namespace ringside::sim
