// A schedule as each rank runs it: its own sends and receives in order, and what waits for what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/collective/schedule.hpp"
#include "sim/model/nccl_tuner.hpp"

namespace ringside::sim {

/// A schedule with what the machine needs to run it: who sends and receives what, and what waits for what.
/// Shared by all ranks and calls with equal schedules.
struct Program {
  Schedule schedule;
  std::vector<std::vector<std::uint32_t>> sends,
      receives;                      // per rank, transfers in (loop, step) or step order
  std::vector<std::uint32_t> needs;  // per transfer, for its sender: the receive that must be done first
  std::vector<std::uint32_t> after;  // per transfer, for its receiver: the receive into the same chunk before
  std::vector<std::uint32_t> place;  // per transfer: its index in receives[dst]
  std::vector<std::uint32_t> send_place;   // per transfer: its index in sends[src]
  std::vector<std::uint32_t> next_send;    // in program order: the send whose turn comes after this one
  std::vector<std::uint32_t> unlock_from;  // per transfer: [from, next from) in `unlocked`
  std::vector<std::uint32_t> unlocked;     // the sends that the end of a receive lets go
  std::uint32_t loops = 1;  // > 1: a rank begins a loop of a channel when the last one is received
  NcclProtocol protocol = NcclProtocol::Simple;  // of the connections that it runs on
  std::size_t gate_of(const Chunk& chunk) const { return std::size_t{chunk.channel} * loops + chunk.loop; }
};
inline constexpr std::uint32_t kNoTransfer = 0xFFFFFFFFu;
std::shared_ptr<const Program> make_program(Schedule schedule, NcclProtocol protocol = NcclProtocol::Simple);

}  // namespace ringside::sim
