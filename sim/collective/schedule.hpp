// A Schedule says who sends which chunk to whom at which ring step, and nothing about time or numbers. The
// same schedule is run by the executor on real numbers and virtual time, by the MPI ranks, and by the NCCL
// plane.
//
// Meaning of a list of transfers: at step s every transfer of step s reads the sender's chunk as it was after
// all transfers of steps < s, then the receiver either reduces it into its own chunk or overwrites its own
// chunk. Within one step a (rank, chunk) is received at most once (naive gathers use one step a sender).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/collective/chunk.hpp"

namespace ringside::sim {

enum class Collective : std::uint8_t { AllReduce, ReduceScatter, AllGather, Broadcast, Reduce, AllToAll };
std::string_view to_word(Collective collective);
std::optional<Collective> collective_from(std::string_view word);

enum class Algorithm : std::uint8_t {
  Ring,
  Naive,
  RecursiveDoubling,
  Rabenseifner,
  BinomialTree,
  NcclTree,
  Hierarchical,
  Nvls,
};
inline constexpr int kAlgorithmCount = 8;
std::string_view to_word(Algorithm algorithm);
std::optional<Algorithm> algorithm_from(std::string_view word);

/// Ring order: NCCL's (ring position r sends chunk r-1 first and owns chunk r after reduce-scatter) or the
/// textbook's (sends chunk r first, ends owning chunk r+1).
enum class RingOrder : std::uint8_t { Nccl, Textbook };
std::string_view to_word(RingOrder order);
std::optional<RingOrder> ring_order_from(std::string_view word);

/// NCCL's names of what a rank does in one go (src/device/prims_simple.h).
enum class Primitive : std::uint8_t {
  Send,
  Recv,
  RecvReduceSend,
  RecvReduceCopySend,
  RecvCopySend,
  RecvReduce,
  RecvReduceCopy
};
std::string_view to_word(Primitive primitive);
std::optional<Primitive> primitive_from(std::string_view word);

enum class Action : std::uint8_t { Reduce, Copy };

/// One chunk crossing one link.
struct Transfer {
  std::uint32_t step = 0;   // ring step, from 1
  std::uint32_t chunk = 0;  // index into the chunk table
  std::int32_t src = 0, dst = 0;
  Action action = Action::Copy;
  Primitive sender_primitive = Primitive::Send;    // what the sender does when it sends this chunk
  Primitive receiver_primitive = Primitive::Recv;  // what the receiver does when it takes it
  std::uint32_t to_chunk = 0;  // the chunk's place at the receiver: `chunk`, except in an all_to_all
  // The switch adds or multiplies it on the way (NVLS), so it takes no room in the port on the far side: a
  // Reduce not in the receiver's, a Copy not in the sender's.
  bool in_switch = false;
};

struct Schedule {
  Collective collective = Collective::AllReduce;
  Algorithm algorithm = Algorithm::Ring;
  RingOrder order = RingOrder::Nccl;
  int world_size = 1;
  int root = 0;
  std::uint32_t steps = 0;         // the largest Transfer::step
  std::uint32_t reduce_steps = 0;  // steps 1 … reduce_steps are the reduce-scatter (or reduce) phase
  // Each rank runs a channel as one program, as NCCL's ring does: its sends leave in the order (loop, step),
  // and it begins the next loop when it has received all of the last one. Otherwise a send waits for its data
  // and the port only.
  bool in_program_order = false;
  ChunkTable chunks;
  std::vector<Transfer> transfers;  // ordered by (step, channel, loop, src): the order that breaks ties
  std::vector<std::uint32_t> chunk_first, chunk_transfers;  // index: see transfers_into

  /// True if the rank holds the collective's result in this chunk at the end: every rank and chunk of an
  /// all_reduce, the root's of a reduce, chunk r of rank r in a reduce_scatter. Elsewhere it keeps working
  /// values.
  bool holds_result(int rank, std::uint32_t chunk) const;
  /// Indices of the transfers into a chunk (Transfer::to_chunk) of any rank, in schedule order.
  std::span<const std::uint32_t> transfers_into(std::uint32_t chunk) const;
};

struct ScheduleRequest {
  Collective collective = Collective::AllReduce;
  Algorithm algorithm = Algorithm::Ring;
  RingOrder order = RingOrder::Nccl;
  Chunking chunking = Chunking::Even;
  DType dtype = DType::Float32;
  std::int64_t count = 1;
  int world_size = 1;
  int channels = 1;
  int gpus_per_node = 0;                  // 0 = all on one node; used by NcclTree, Hierarchical and Nvls
  int root = 0;                           // Broadcast, Reduce, Naive, BinomialTree
  std::vector<std::vector<int>> rings{};  // Ring: each channel's ranks in ring order (the last one for all
                                          // further ones); empty: 0, 1, 2 …
  bool inter_tree = false;                // Hierarchical: a tree between the nodes instead of a ring

  /// The order of a channel's ring.
  std::vector<int> ring(int channel) const;
};

/// True for the collectives that reduce: the op, prepare and finish apply.
bool reduces(Collective collective);

/// Builds the schedule. World size 1 gives no transfers. Aborts on requests that `schedule_problem` would
/// refuse.
Schedule make_schedule(const ScheduleRequest& request);
/// Why a request cannot be scheduled ("nvls has no all_gather"), or nothing.
std::optional<std::string> schedule_problem(const ScheduleRequest& request);

/// How many transfers make_schedule makes, without making them: for worlds that are only timed.
std::int64_t transfer_count(const ScheduleRequest& request);

/// Who owns the finished chunk after the reduce-scatter phase of a ring: the rank that holds all
/// contributions first.
int owner_after_reduce_scatter(RingOrder order, int world_size, std::uint32_t slot);

/// What one directed link carries in a whole collective.
struct LinkLoad {
  int from = 0, to = 0;
  std::int64_t bytes = 0;
  std::int64_t transfers = 0;
  bool operator==(const LinkLoad&) const = default;
};
/// The links that carry anything, by (from, to). The busiest one is the one with the most bytes over its
/// bandwidth.
std::vector<LinkLoad> link_loads(const Schedule& schedule, DType dtype);

/// Bytes that one rank sends; for the ring 2(N-1)/N of the buffer when the count divides.
std::int64_t bytes_sent(const Schedule& schedule, DType dtype, int rank);

}  // namespace ringside::sim
