// The rules of the job, by what they are about. Each handles one kind of thing; simulator.cpp has the switch.
#pragma once

#include <cstdint>
#include <string>

#include "sim/job/simulator.hpp"

namespace ringside::sim {

// rank_rules.cpp: a rank's way through its training steps.
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

// fault_rules.cpp: what breaks, and how.
void arm(Simulator& sim, const Fault& fault);

// end_rules.cpp: how processes end, who notices, and what they do then.
void end_process(Simulator& sim, int r, EndReason reason);

// outcome.cpp
void judge(Simulator& sim);

// simulator.cpp
void handle(Simulator& sim, const Item& item);

}  // namespace ringside::sim
