// Runs one collective: real numbers (what every rank holds after every step) and virtual time (when), apart
// from each other.
//
// Time of one transfer: start = max(ready, link_free); wire = ceil(bytes·10⁹/bytes_per_s); link_free = start
// + wire; arrive = link_free + latency; done = max(arrive, receiver in the collective, what it adds to is
// there) + reduce (copies take no time of their own). There is no barrier per ring step: each rank goes on
// when its own input is there. Every rank has one egress and one ingress port, so that a gather into one root
// queues at the root; on a ring that is the link itself. Sends stand in line at their own port in the order
// (ready, schedule index); the first of the line then takes the receiver's port, in the order (time, schedule
// index). So nobody keeps a port waiting that could serve another. A ring's sends leave in program order
// (Schedule::in_program_order). What a switch adds or multiplies (Transfer::in_switch) takes no room in the
// port on its far side. Links that are shared between nodes (Topology::shared) are queues of the same kind as
// the receiver's port, which a transfer holds together with it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "sim/collective/schedule.hpp"
#include "sim/collective/topology.hpp"
#include "sim/tensor/tensor.hpp"

namespace ringside::sim {

/// When one transfer of the schedule happened. Same index as Schedule::transfers.
struct TransferTimes {
  std::int64_t wait_from =
      0;  // the receiver was ready for it since then (its previous receive of this channel done)
  std::int64_t start = 0;   // first byte leaves the sender
  std::int64_t arrive = 0;  // last byte is at the receiver
  std::int64_t done = 0;    // reduced or copied
};

struct ExecutionTimes {
  std::vector<TransferTimes> transfers;
  std::vector<std::int64_t> finish;  // per rank: its last receive is done and its last send has left
};

/// `arrival[r]` = when rank r enters the collective. `reduce_ns` = time of one reduction.
ExecutionTimes execute_times(const Schedule& schedule, DType dtype, const Topology& topology,
                             std::span<const std::int64_t> arrival, std::int64_t reduce_ns);

struct FinishTimes {
  std::vector<std::int64_t> finish;  // per rank
  // False where a world is too big for an exact evaluation: then all ranks are taken to come with the last
  // one, all chunks to be as long as the longest, and links not to be shared. Never below 16 million
  // transfers.
  bool exact = true;
};

/// Timing only, for any request: the finish times of execute_times on make_schedule (tested) without building
/// either where that can be helped. Rings are evaluated over arrays of world_size, or of one node where all
/// nodes are alike; symmetric algorithms for one rank; the rest through a schedule.
FinishTimes finish_times(const ScheduleRequest& request, const Topology& topology,
                         std::span<const std::int64_t> arrival, std::int64_t reduce_ns);

/// finish_times of a ring AllReduce: per rank, exact for every world.
std::vector<std::int64_t> ring_finish_times(const ScheduleRequest& request, const Topology& topology,
                                            std::span<const std::int64_t> arrival, std::int64_t reduce_ns);

/// The numbers after the collective. Ranks that hold the same result share one tensor.
struct Numbers {
  std::vector<std::shared_ptr<const Tensor>> result;  // per rank
  std::vector<std::uint64_t>
      digests;  // per transfer: digest_of the bytes that travel (execute_numbers_with_digests)
};

/// What the numbers pass calls for every transfer, in schedule order, if given: the bytes that travel, the
/// receiver's chunk before and after. Spans are valid during the call only.
using TransferObserver =
    std::function<void(std::size_t transfer, std::span<const std::byte> arrived,
                       std::span<const std::byte> before, std::span<const std::byte> after)>;

/// Runs the schedule on the inputs (one per rank, same dtype and count: mismatches are the job simulator's).
/// Applies prepare (avg) first and, where a rank holds the result (Schedule::holds_result), finish
/// (sum_then_divide) last; only in collectives that reduce. Without an observer nothing is materialised per
/// transfer and a ring is evaluated chunk by chunk in cache-sized blocks.
Numbers execute_numbers(const Schedule& schedule, ReduceOp op,
                        std::span<const std::shared_ptr<const Tensor>> inputs,
                        const TransferObserver& observer = {});

/// The same, with the digest of what every transfer carries, taken while the numbers are in the cache:
/// nothing is materialised per transfer here either.
Numbers execute_numbers_with_digests(const Schedule& schedule, ReduceOp op,
                                     std::span<const std::shared_ptr<const Tensor>> inputs);

/// One element on demand: the value that `rank` works with in place `element` after the first
/// `transfers_done` transfers (in schedule order), computed from the inputs along the schedule; cost = the
/// transfers that touch its chunk. The finish division is not applied.
Scalar element_after(const Schedule& schedule, ReduceOp op,
                     std::span<const std::shared_ptr<const Tensor>> inputs, int rank, std::int64_t element,
                     std::size_t transfers_done);

}  // namespace ringside::sim
