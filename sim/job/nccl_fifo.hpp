// How NCCL's connections treat data that does not fit: what decides between a hang and silently wrong numbers
// when two ranks call one AllReduce with different counts. Nothing on a connection says how much was sent;
// a receiver knows only that its FIFO moved on.
//
// - Simple: the sender posts a step, the receiver takes as much as it expects from it. More expected than
//   sent reads what the slot held before (the published wrong tail).
// - LL and LL128: every line of 8 (120) bytes carries its own flag and the receiver polls the flag of each
//   line that it expects. Lines that were never written never get it: it waits for ever.
// - The protocol is chosen from the byte count, each rank for itself, and each protocol has its own buffer:
//   ranks that chose differently look into different buffers and never meet.
// - A chunk larger than a chunk's steps (32 KiB LL, 562.5 KiB LL128, 2 MiB Simple) travels in several; ranks
//   that count them differently hang.
#pragma once

#include <cstdint>

#include "sim/model/nccl_tuner.hpp"
#include "sim/scenario/scenario.hpp"

namespace ringside::sim {

/// The protocol that NCCL takes on this rank for a ring AllReduce of so many bytes, by NCCL's cost model on
/// the scenario's preset (without one: dgx-a100, whose NVLink is the default of all link keys). chunking =
/// "nccl" is the cut of Simple (NCCL_PROTO=Simple), so it is Simple there; so it is below two ranks and for
/// libraries other than NCCL.
NcclProtocol nccl_protocol(const Scenario& scenario, std::int64_t bytes);

/// Whether a receiver that expects `room` bytes of a chunk gets done with one of `sent` bytes. False: it
/// waits for ever.
bool receive_gets_done(NcclProtocol protocol, std::int64_t sent, std::int64_t room);

}  // namespace ringside::sim
