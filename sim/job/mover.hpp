// The data plane of one communicator, chunk by chunk, as a discrete-event machine that can be disturbed at
// any time: ranks that never come, die or stop, links that slow down or go, numbers that change on the way.
//
// It knows no sequence numbers. Each rank runs the program of its own call (its own count, dtype, op), and
// messages pair up by their order on each connection, as NCCL's do. A mismatch therefore has the outcome that
// the machine gives it: garbage where the number of messages happens to agree, waiting for ever where it does
// not. Every connection has two chunk slots (NCCL's Simple protocol: 8 steps of buffer, 4 steps a chunk); a
// receiver that expects more than was sent reads what the slot held before.
//
// Times are those of the executor (executor.hpp) for equal calls (tested).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "sim/collective/shared_ports.hpp"
#include "sim/collective/topology.hpp"
#include "sim/job/program.hpp"
#include "sim/tensor/tensor.hpp"

namespace ringside::sim {

/// What a size check does with a message that does not fit (CONTRACTS, mismatch table).
enum class SizeCheck : std::uint8_t { None, RefuseLonger };  // nccl: none; gloo and mpi: longer is an error

/// One rank's call, as it makes it.
struct MoveCall {
  std::shared_ptr<const Program> program;
  ReduceOp op = ReduceOp::Sum;
  std::uint32_t coll = 0;  // Trace::collectives, for events only
  Tensor buffer;           // its numbers, prepared; the result is here when it has finished
};

/// What happened in one step of the machine.
struct MoveNote {
  enum class Kind : std::uint8_t { Begin, Wait, Arrive, End, Finished, SizeError };
  Kind kind = Kind::Begin;
  std::int64_t t = 0;
  std::int32_t rank = 0, peer = 0;     // Begin: the sender and its receiver; else the receiver and its sender
  std::uint32_t transfer = 0;          // in the rank's own program
  std::uint32_t coll = 0;              // of the rank's own call
  std::int64_t bytes = 0;              // that travel
  std::int64_t expected = 0;           // SizeError: what the receiver had room for
  bool in_flight = false;              // Wait: the message is on its way already
  std::uint32_t sample = 0xFFFFFFFFu;  // of the numbers; see Mover::new_samples
};

/// State of a directed link. `bytes_per_s` and `latency_ns` replace the topology's when set.
struct LinkChange {
  bool down = false;
  std::int64_t slow_ppm = 1'000'000;  // bandwidth in parts per million of the healthy one
};

/// A regular type: a copy goes on from the same state.
class Mover {
 public:
  Mover() = default;
  /// `by_kind`: messages of different collectives never meet, as with MPI's tags.
  Mover(const Topology& topology, std::int64_t reduce_ns, SizeCheck check, bool by_kind, bool with_samples);

  /// The rank enters a call at time t. It must not be in another one. Notes as of step().
  const std::vector<MoveNote>& enter(int rank, std::int64_t t, MoveCall call);
  /// The rank stops for good: it sends nothing more, and a message that has not left entirely is lost.
  void stop(int rank, std::int64_t t);
  bool stopped(int rank) const { return ranks_[static_cast<std::size_t>(rank)].stopped_at >= 0; }
  void change_link(int from, int to, std::int64_t t, LinkChange change);
  bool link_is_down(int from, int to) const;

  bool busy(int rank) const { return ranks_[static_cast<std::size_t>(rank)].in_call; }
  const MoveCall& call(int rank) const { return ranks_[static_cast<std::size_t>(rank)].call; }
  /// The working numbers of a rank that is in a call, to be changed from outside (a bit flip, a NaN).
  Tensor& buffer(int rank) {
    RankState& state = ranks_[static_cast<std::size_t>(rank)];
    std::fill(state.chunk_sample.begin(), state.chunk_sample.end(), kNoTransfer);
    return state.call.buffer;
  }
  /// Takes the result of a finished call out.
  MoveCall take(int rank);

  /// The peer that the rank's next receive must come from; -1 when it waits for nobody.
  int waits_for(int rank) const;
  /// True if the rank has begun to send to `peer` in its present call, or still has to.
  bool has_sends_to(int rank, int peer) const;
  bool has_receives_from(int rank, int peer) const;
  /// Ring step of the latest receive that is done in the present call.
  std::uint32_t ring_step(int rank) const { return ranks_[static_cast<std::size_t>(rank)].last_step; }

  std::optional<std::int64_t> next_time() const;
  /// Does the earliest thing. Notes are valid until the next call.
  const std::vector<MoveNote>& step();
  /// Samples made by the last enter() or step(); they are numbered on and on, from 0. What travels unchanged
  /// keeps its number.
  const std::vector<Sample>& new_samples() const { return samples_; }

  std::int64_t transfers_done(int rank) const { return ranks_[static_cast<std::size_t>(rank)].received; }

 private:
  using Bytes = std::shared_ptr<const std::vector<std::byte>>;
  struct Message {
    Bytes content;           // what the slot holds after the write
    std::int64_t bytes = 0;  // how much of it was written now
    std::int64_t start = -1, left = -1, arrive = -1;
    std::int32_t src = 0, dst = 0;
    std::uint32_t transfer = 0, coll = 0;
    const Program* program = nullptr;  // the sender's, to be compared only
    std::uint64_t lane = 0;
    std::uint32_t epoch = 0;  // of the link when it began
    std::uint32_t sample = kNoTransfer;
    DType dtype = DType::Float32;  // of what was sent
    bool served = false;           // it stands in line: the next send has its turn
    bool joined = false;           // it stands in line at its sender's port, or has left it
    bool leaves = true,
         enters = true;  // whether it takes the sender's port, the receiver's (switches add for free)
  };
  struct Lane {                          // one connection and channel
    std::vector<std::uint32_t> arrived;  // message ids, in order, from `first`
    std::size_t first = 0;
    std::uint32_t on_the_way = 0;
    std::vector<std::uint32_t> expected;  // the receiver's transfers in this call, from `cursor`
    std::size_t cursor = 0;
  };
  struct Slots {
    std::array<Bytes, 2> content;
    std::uint64_t count = 0;
  };
  struct RankState {
    bool in_call = false;
    MoveCall call;
    std::int64_t entered = 0, stopped_at = -1, last_left = 0, received = 0;
    std::uint32_t sends_left = 0, receives_left = 0, last_step = 0;
    std::vector<std::uint8_t> done;           // per receive of its program
    std::uint32_t waited_for = kNoTransfer;   // the receive of its last wait note
    std::vector<std::uint8_t> sending;        // per send: kHasData, kHasTurn
    std::vector<std::uint32_t> incoming;      // per receive: the message that it takes
    std::vector<std::uint32_t> early;         // receives that came before the one into the same chunk
    std::vector<std::uint32_t> chunk_sample;  // per chunk: the sample of what it holds
    std::vector<std::uint32_t> gates;         // per channel and loop: receives still to come
  };
  /// What a sender's port is doing: busy until `free`, then it takes the first of `waiting`, which is in the
  /// queue already if `next_is_queued`.
  struct Egress {
    std::int64_t free = 0;
    bool next_is_queued = false;
    std::deque<std::uint32_t> waiting;  // message ids
  };
  struct Link {
    LinkChange change;
    std::uint32_t epoch = 0;          // counts the times it went down
    std::vector<std::uint32_t> held;  // messages that wait for it to come back
  };
  enum class ItemKind : std::uint8_t {
    Arrive,
    Done,
    Ready,
    Begin,
    Wait,
    Finish
  };  // in this order at equal times
  struct Item {
    std::int64_t t;
    std::uint64_t id;  // Ready: the transfer, so that ties go as in the executor; else by insertion
    ItemKind kind;
    std::int32_t rank;
    std::uint32_t what;  // message id, or transfer
    bool operator>(const Item& o) const {
      return std::tie(t, kind, id, rank) > std::tie(o.t, o.kind, o.id, o.rank);
    }
  };

  void push(std::int64_t t, ItemKind kind, std::int32_t rank, std::uint32_t what);
  void pass_gate(int rank, const Chunk& chunk, std::int64_t t);
  void on_ready(const Item& item);
  void send(std::uint32_t id, std::int64_t t);
  void free_port(Egress& egress, std::int64_t at);
  void begin(std::uint32_t id, std::int64_t t);
  void on_arrive(const Item& item);
  void on_done(const Item& item);
  void on_finish(const Item& item);
  void release(int rank, std::uint32_t transfer, std::int64_t t);
  void give_first_turns(RankState& state, const std::vector<std::uint32_t>& sends);
  void pass_turn(Message& message, std::int64_t t);
  void make_message(int rank, std::uint32_t transfer, std::int64_t t);
  static void expect_first(Lane& lane, const Program& program, const Message& message);
  void match(std::uint64_t lane, std::int64_t t);
  void apply(RankState& state, std::uint32_t transfer);
  void take_in(RankState& state, int rank, std::uint32_t transfer, std::int64_t t);
  void retry_early(RankState& state, int rank, std::int64_t t);
  void settle(int rank, std::int64_t t);
  void expect_wait(std::uint64_t lane, std::int64_t t);
  void on_wait(const Item& item);
  std::uint32_t add_sample(DType dtype, std::span<const std::byte> data);
  std::uint32_t new_message(Message message);
  std::int64_t wire(int from, int to, std::int64_t bytes) const;
  std::uint16_t plug_of(const Program& program, std::uint16_t channel) const;
  std::uint64_t lane_of(const Program& program, std::uint32_t transfer) const;
  bool after_is_done(const RankState& state, std::uint32_t transfer) const;
  RankState& rank_state(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  const RankState& rank_state(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }

  Topology topology_;
  std::int64_t reduce_ns_ = 0;
  SizeCheck check_ = SizeCheck::None;
  bool by_kind_ = false, with_samples_ = false;
  std::vector<RankState> ranks_;
  std::vector<Egress> egress_;  // per rank
  std::vector<std::int64_t> ingress_free_;
  SharedPorts shared_;
  std::vector<Message> messages_;
  std::vector<std::uint32_t> free_messages_;
  std::map<std::uint64_t, Lane> lanes_;
  std::map<std::uint64_t, Slots> slots_;
  std::map<std::uint64_t, Link> links_;  // only links that were ever changed
  std::vector<Item> queue_;
  std::uint64_t next_id_ = 0;
  std::vector<MoveNote> notes_;
  std::vector<Sample> samples_;
  std::uint32_t next_sample_ = 0;
};

}  // namespace ringside::sim
