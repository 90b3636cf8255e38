#include "sim/job/mover.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/job/nccl_fifo.hpp"
#include "sim/tensor/reduce.hpp"

namespace ringside::sim {
namespace {

constexpr std::uint8_t kHasData = 1, kHasTurn = 2;

std::uint64_t lane_key(std::int32_t src, std::int32_t dst, std::uint16_t channel) {
  return static_cast<std::uint64_t>(src) << 40 | static_cast<std::uint64_t>(dst) << 16 | channel;
}
std::int32_t lane_dst(std::uint64_t lane) {
  return static_cast<std::int32_t>(lane >> 16 & 0xFFFFFFu);
}
std::int32_t lane_src(std::uint64_t lane) {
  return static_cast<std::int32_t>(lane >> 40);
}
std::uint64_t link_key(std::int32_t src, std::int32_t dst) {
  return static_cast<std::uint64_t>(src) << 32 | static_cast<std::uint32_t>(dst);
}

template <class T>
std::span<T> chunk_bytes(std::span<T> data, const Chunk& chunk, DType dtype) {
  const auto size = static_cast<std::size_t>(size_of(dtype));
  return data.subspan(static_cast<std::size_t>(chunk.offset) * size,
                      static_cast<std::size_t>(chunk.count) * size);
}

/// Copies what was sent, and beyond it what the slot held before.
std::vector<std::byte> overlay(std::span<const std::byte> fresh, const std::vector<std::byte>* old) {
  std::vector<std::byte> content(fresh.begin(), fresh.end());
  if (old != nullptr && old->size() > fresh.size())
    content.insert(content.end(), old->begin() + static_cast<std::ptrdiff_t>(fresh.size()), old->end());
  return content;
}

}  // namespace

/// What a connection is, apart from its two ends: the channel, the protocol's buffer, and with MPI the kind
/// of collective.
std::uint16_t Mover::plug_of(const Program& program, std::uint16_t channel) const {
  const unsigned kind = by_kind_ ? static_cast<unsigned>(program.schedule.collective) : 0u;
  const unsigned buffer =
      static_cast<unsigned>(NcclProtocol::Simple) - static_cast<unsigned>(program.protocol);
  return static_cast<std::uint16_t>(buffer << 12 | kind << 8 | channel);
}

std::uint64_t Mover::lane_of(const Program& program, std::uint32_t transfer) const {
  const Transfer& x = program.schedule.transfers[transfer];
  const Chunk& chunk = program.schedule.chunks.chunks[x.to_chunk];
  return lane_key(x.src, x.dst, plug_of(program, chunk.channel));
}

Mover::Mover(const Topology& topology, std::int64_t reduce_ns, SizeCheck check, bool by_kind,
             bool with_samples)
    : topology_(topology),
      reduce_ns_(reduce_ns),
      check_(check),
      by_kind_(by_kind),
      with_samples_(with_samples) {
  const auto world = static_cast<std::size_t>(topology.world_size);
  ranks_.resize(world);
  egress_.resize(world);
  ingress_free_.resize(world);
}

void Mover::push(std::int64_t t, ItemKind kind, std::int32_t rank, std::uint32_t what) {
  const std::uint64_t id = kind == ItemKind::Ready ? messages_[what].transfer : next_id_++;
  queue_.push_back({t, id, kind, rank, what});
  std::push_heap(queue_.begin(), queue_.end(), std::greater<>{});
}

std::optional<std::int64_t> Mover::next_time() const {
  if (queue_.empty()) return std::nullopt;
  return queue_.front().t;
}

const std::vector<MoveNote>& Mover::enter(int rank, std::int64_t t, MoveCall call) {
  notes_.clear();
  samples_.clear();
  RankState& state = rank_state(rank);
  RINGSIDE_CHECK(!state.in_call);
  const Program& program = *call.program;
  const auto& sends = program.sends[static_cast<std::size_t>(rank)];
  const auto& receives = program.receives[static_cast<std::size_t>(rank)];
  state.in_call = true;
  state.call = std::move(call);
  state.entered = t;
  state.last_left = t;
  state.sends_left = static_cast<std::uint32_t>(sends.size());
  state.receives_left = static_cast<std::uint32_t>(receives.size());
  state.last_step = 0;
  state.done.assign(receives.size(), 0);
  state.incoming.assign(receives.size(), 0);
  state.early.clear();
  state.waited_for = kNoTransfer;
  state.chunk_sample.assign(program.schedule.chunks.chunks.size(), kNoTransfer);
  state.gates.assign(std::size_t{program.schedule.chunks.channels} * program.loops, 0);
  const auto& chunks = program.schedule.chunks.chunks;
  for (const std::uint32_t i : receives)
    ++state.gates[program.gate_of(chunks[program.schedule.transfers[i].to_chunk])];
  give_first_turns(state, sends);
  for (const std::uint32_t i : sends)
    if (program.needs[i] == kNoTransfer &&
        (program.loops == 1 || chunks[program.schedule.transfers[i].chunk].loop == 0))
      release(rank, i, t);
  std::vector<std::uint64_t> lanes;
  for (const std::uint32_t i : receives) {
    const std::uint64_t key = lane_of(program, i);
    Lane& lane = lanes_[key];
    if (lane.expected.empty()) lanes.push_back(key);
    lane.expected.push_back(i);
  }
  for (const std::uint64_t key : lanes) {
    match(key, t);
    expect_wait(key, t);
  }
  settle(rank, t);
  return notes_;
}

void Mover::stop(int rank, std::int64_t t) {
  RankState& state = rank_state(rank);
  if (state.stopped_at < 0) state.stopped_at = t;
}

MoveCall Mover::take(int rank) {
  RankState& state = rank_state(rank);
  RINGSIDE_CHECK(!state.in_call);
  return std::move(state.call);
}

std::uint32_t Mover::new_message(Message message) {
  if (!free_messages_.empty()) {
    const std::uint32_t id = free_messages_.back();
    free_messages_.pop_back();
    messages_[id] = std::move(message);
    return id;
  }
  messages_.push_back(std::move(message));
  return static_cast<std::uint32_t>(messages_.size() - 1);
}

/// In program order the first send of each channel has its turn; without, all have.
void Mover::give_first_turns(RankState& state, const std::vector<std::uint32_t>& sends) {
  const Program& program = *state.call.program;
  state.sending.assign(sends.size(), kHasTurn);
  if (!program.schedule.in_program_order) return;
  for (const std::uint32_t i : sends)
    if (program.next_send[i] != kNoTransfer) state.sending[program.send_place[program.next_send[i]]] = 0;
}

/// The data of a send is there.
void Mover::release(int rank, std::uint32_t transfer, std::int64_t t) {
  RankState& state = rank_state(rank);
  std::uint8_t& sending = state.sending[state.call.program->send_place[transfer]];
  sending |= kHasData;
  if (sending & kHasTurn) make_message(rank, transfer, t);
}

void Mover::pass_turn(Message& message, std::int64_t t) {
  if (message.served) return;
  message.served = true;
  const std::int32_t rank = message.src;
  RankState& state = rank_state(rank);
  const Program& program = *state.call.program;
  if (!program.schedule.in_program_order) return;
  const std::uint32_t next = program.next_send[message.transfer];
  if (next == kNoTransfer) return;
  std::uint8_t& sending = state.sending[program.send_place[next]];
  sending |= kHasTurn;
  if (sending & kHasData) make_message(rank, next, t);
}

/// What the sender's chunk holds now goes into the connection's next slot.
void Mover::make_message(int rank, std::uint32_t transfer, std::int64_t t) {
  RankState& state = rank_state(rank);
  const Schedule& schedule = state.call.program->schedule;
  const Transfer& x = schedule.transfers[transfer];
  const Chunk& chunk = schedule.chunks.chunks[x.chunk];
  const auto fresh =
      chunk_bytes(std::span<const std::byte>(state.call.buffer.data), chunk, state.call.buffer.dtype);
  Slots& slots = slots_[lane_key(x.src, x.dst, plug_of(*state.call.program, chunk.channel))];
  Bytes& slot = slots.content[slots.count++ % slots.content.size()];
  slot = std::make_shared<const std::vector<std::byte>>(overlay(fresh, slot.get()));
  Message message;
  message.content = slot;
  message.bytes = static_cast<std::int64_t>(fresh.size());
  message.src = x.src;
  message.dst = x.dst;
  message.transfer = transfer;
  message.leaves = !(x.in_switch && x.action == Action::Copy);
  message.enters = !(x.in_switch && x.action == Action::Reduce);
  message.program = state.call.program.get();
  message.coll = state.call.coll;
  message.lane = lane_of(*state.call.program, transfer);
  message.sample = state.chunk_sample[x.chunk];
  message.dtype = state.call.buffer.dtype;
  push(t, ItemKind::Ready, rank, new_message(std::move(message)));
}

std::int64_t Mover::wire(int from, int to, std::int64_t bytes) const {
  std::int64_t rate = topology_.link(from, to).bytes_per_s;
  const auto found = links_.find(link_key(from, to));
  if (found != links_.end()) {
    const auto slowed = static_cast<__int128>(rate) * found->second.change.slow_ppm / 1'000'000;
    rate = std::max<std::int64_t>(1, static_cast<std::int64_t>(slowed));
  }
  return wire_ns(bytes, rate);
}

bool Mover::link_is_down(int from, int to) const {
  const auto found = links_.find(link_key(from, to));
  return found != links_.end() && found->second.change.down;
}

void Mover::change_link(int from, int to, std::int64_t t, LinkChange change) {
  Link& link = links_[link_key(from, to)];
  if (change.down && !link.change.down) ++link.epoch;
  link.change = change;
  if (change.down) return;
  for (const std::uint32_t message : link.held) {
    messages_[message].joined = false;
    push(t, ItemKind::Ready, from, message);
  }
  link.held.clear();
}

const std::vector<MoveNote>& Mover::step() {
  notes_.clear();
  samples_.clear();
  std::pop_heap(queue_.begin(), queue_.end(), std::greater<>{});
  const Item item = queue_.back();
  queue_.pop_back();
  switch (item.kind) {
    case ItemKind::Ready:
      on_ready(item);
      break;
    case ItemKind::Begin:
      begin(item.what, item.t);
      break;
    case ItemKind::Arrive:
      on_arrive(item);
      break;
    case ItemKind::Done:
      on_done(item);
      break;
    case ItemKind::Wait:
      on_wait(item);
      break;
    case ItemKind::Finish:
      on_finish(item);
      break;
  }
  return notes_;
}

/// A send is ready: it stands in line at its own port. Only the first of the line asks for the receiver's
/// port and for shared links, so that nobody keeps a port waiting that could serve another (as the executor
/// does it).
void Mover::on_ready(const Item& item) {
  Message& message = messages_[item.what];
  if (rank_state(message.src).stopped_at >= 0) return;
  if (message.joined) return send(item.what, item.t);
  message.joined = true;
  const bool leaves = message.leaves;
  Egress& egress = egress_[static_cast<std::size_t>(message.src)];
  pass_turn(message, item.t);  // may move the messages in memory
  if (!leaves || (!egress.next_is_queued && egress.free <= item.t)) return send(item.what, item.t);
  if (egress.next_is_queued) return egress.waiting.push_back(item.what);
  egress.next_is_queued = true;
  push(egress.free, ItemKind::Ready, messages_[item.what].src, item.what);
}

/// The sender's port is free: the bytes leave as soon as all else on the way is.
void Mover::send(std::uint32_t id, std::int64_t t) {
  Message& message = messages_[id];
  std::int64_t& ingress = ingress_free_[static_cast<std::size_t>(message.dst)];
  message.start = message.enters ? std::max(t, ingress) : t;
  const std::int64_t shared = shared_.take(topology_.shared, topology_.shared_path(message.src, message.dst),
                                           message.bytes, message.start);
  message.left = message.start + std::max(wire(message.src, message.dst, message.bytes), shared);
  if (message.enters) ingress = message.left;
  if (message.leaves) free_port(egress_[static_cast<std::size_t>(message.src)], message.left);
  if (message.start > t) return push(message.start, ItemKind::Begin, message.src, id);
  begin(id, t);
}

void Mover::free_port(Egress& egress, std::int64_t at) {
  egress.free = at;
  egress.next_is_queued = !egress.waiting.empty();
  if (!egress.next_is_queued) return;
  const std::uint32_t next = egress.waiting.front();
  egress.waiting.pop_front();
  push(at, ItemKind::Ready, messages_[next].src, next);
}

void Mover::begin(std::uint32_t id, std::int64_t t) {
  Message& message = messages_[id];
  RankState& sender = rank_state(message.src);
  if (sender.stopped_at >= 0) return;
  const auto link = links_.find(link_key(message.src, message.dst));
  if (link != links_.end()) {
    if (link->second.change.down) return link->second.held.push_back(id);
    message.epoch = link->second.epoch;
  }
  const bool again = message.arrive >= 0;  // sent once more after the link came back
  message.arrive = message.left + topology_.link(message.src, message.dst).latency_ns;
  push(message.arrive, ItemKind::Arrive, message.dst, id);
  if (again) return;
  ++lanes_[message.lane].on_the_way;
  MoveNote note;
  note.kind = MoveNote::Kind::Begin;
  note.t = message.start;
  note.rank = message.src;
  note.peer = message.dst;
  note.transfer = message.transfer;
  note.coll = message.coll;
  note.bytes = message.bytes;
  if (with_samples_) {
    if (message.sample == kNoTransfer)
      message.sample = add_sample(message.dtype,
                                  std::span(*message.content).first(static_cast<std::size_t>(message.bytes)));
    note.sample = message.sample;
  }
  notes_.push_back(note);
  sender.last_left = std::max(sender.last_left, message.left);
  --sender.sends_left;
  settle(message.src, t);
}

void Mover::on_arrive(const Item& item) {
  Message& message = messages_[item.what];
  const std::int64_t stopped = rank_state(message.src).stopped_at;
  if (stopped >= 0 && stopped < message.left) return;  // its last byte never left
  const auto link = links_.find(link_key(message.src, message.dst));
  if (link != links_.end() && link->second.epoch != message.epoch) {  // lost on the way: sent again
    if (link->second.change.down) return link->second.held.push_back(item.what);
    message.joined = false;
    return push(item.t, ItemKind::Ready, message.src, item.what);
  }
  Lane& lane = lanes_[message.lane];
  --lane.on_the_way;
  lane.arrived.push_back(item.what);
  match(message.lane, item.t);
}

bool Mover::after_is_done(const RankState& state, std::uint32_t transfer) const {
  const Program& program = *state.call.program;
  const std::uint32_t before = program.after[transfer];
  return before == kNoTransfer || state.done[program.place[before]] != 0;
}

/// Algorithms without a program order send a chunk as soon as they have it, so on one connection a later
/// transfer may overtake an earlier one (Rabenseifner's, when ranks come at different times). Both sides run
/// the same schedule then, and the message is the one that it says it is, as a tag would tell.
void Mover::expect_first(Lane& lane, const Program& program, const Message& message) {
  if (program.schedule.in_program_order || message.program != &program) return;
  const auto next = lane.expected.begin() + static_cast<std::ptrdiff_t>(lane.cursor);
  const auto found = std::find(next, lane.expected.end(), message.transfer);
  if (found != lane.expected.end()) std::rotate(next, found, found + 1);
}

/// Arrived messages of a connection meet the receives of the call that the receiver is in, in order.
void Mover::match(std::uint64_t key, std::int64_t t) {
  Lane& lane = lanes_[key];
  RankState& state = rank_state(lane_dst(key));
  if (!state.in_call || state.stopped_at >= 0) return;
  while (lane.first < lane.arrived.size() && lane.cursor < lane.expected.size()) {
    const std::uint32_t id = lane.arrived[lane.first];
    expect_first(lane, *state.call.program, messages_[id]);
    const std::uint32_t transfer = lane.expected[lane.cursor];
    const Schedule& schedule = state.call.program->schedule;
    const std::int64_t room = schedule.chunks.chunks[schedule.transfers[transfer].to_chunk].count *
                              size_of(state.call.buffer.dtype);
    MoveNote note;
    note.t = t;
    note.rank = lane_dst(key);
    note.peer = lane_src(key);
    note.transfer = transfer;
    note.coll = state.call.coll;
    note.bytes = messages_[id].bytes;
    note.expected = room;
    if (check_ == SizeCheck::RefuseLonger && note.bytes > room) {
      note.kind = MoveNote::Kind::SizeError;
      notes_.push_back(note);
      state.stopped_at = t;
      return;
    }
    if (check_ == SizeCheck::None && !receive_gets_done(state.call.program->protocol, note.bytes, room)) {
      if (state.waited_for != transfer) push(t, ItemKind::Wait, note.rank, transfer);
      return;  // what it still expects never comes
    }
    ++lane.first;
    ++lane.cursor;
    state.incoming[state.call.program->place[transfer]] = id;
    take_in(state, lane_dst(key), transfer, t);
  }
  if (lane.first == lane.arrived.size()) {
    lane.arrived.clear();
    lane.first = 0;
  }
}

/// A message that is here is reduced or copied, once the one into the same chunk before it has been.
void Mover::take_in(RankState& state, int rank, std::uint32_t transfer, std::int64_t t) {
  if (!after_is_done(state, transfer)) return state.early.push_back(transfer);
  const Transfer& x = state.call.program->schedule.transfers[transfer];
  MoveNote note;
  note.kind = MoveNote::Kind::Arrive;
  note.t = t;
  note.rank = rank;
  note.peer = x.src;
  note.transfer = transfer;
  note.coll = state.call.coll;
  note.bytes = messages_[state.incoming[state.call.program->place[transfer]]].bytes;
  notes_.push_back(note);
  push(t + (x.action == Action::Reduce ? reduce_ns_ : 0), ItemKind::Done, rank, transfer);
}

void Mover::on_done(const Item& item) {
  RankState& state = rank_state(item.rank);
  if (state.stopped_at >= 0) return;
  const Program& program = *state.call.program;
  const Transfer& x = program.schedule.transfers[item.what];
  const std::uint32_t place = program.place[item.what];
  apply(state, item.what);
  const std::uint32_t id = state.incoming[place];
  state.done[place] = 1;
  state.last_step = std::max(state.last_step, x.step);
  ++state.received;
  --state.receives_left;
  MoveNote note;
  note.kind = MoveNote::Kind::End;
  note.t = item.t;
  note.rank = item.rank;
  note.peer = x.src;
  note.transfer = item.what;
  note.coll = state.call.coll;
  note.bytes = messages_[id].bytes;
  if (with_samples_) {
    const DType dtype = state.call.buffer.dtype;
    const auto own = chunk_bytes(std::span<const std::byte>(state.call.buffer.data),
                                 program.schedule.chunks.chunks[x.to_chunk], dtype);
    const Message& message = messages_[id];
    const bool as_sent =
        x.action == Action::Copy && std::ssize(own) == message.bytes && message.dtype == dtype;
    note.sample = as_sent ? message.sample : add_sample(dtype, own);
    state.chunk_sample[x.to_chunk] = note.sample;
  }
  notes_.push_back(note);
  const std::uint64_t key = lane_of(program, item.what);
  messages_[id] = Message{};
  free_messages_.push_back(id);
  for (std::uint32_t i = program.unlock_from[item.what]; i < program.unlock_from[item.what + 1]; ++i)
    release(item.rank, program.unlocked[i], item.t);
  pass_gate(item.rank, program.schedule.chunks.chunks[x.to_chunk], item.t);
  retry_early(state, item.rank, item.t);
  expect_wait(key, item.t);
  settle(item.rank, item.t);
}

/// The last receive of a loop lets the rank begin the next one.
void Mover::pass_gate(int rank, const Chunk& chunk, std::int64_t t) {
  RankState& state = rank_state(rank);
  const Program& program = *state.call.program;
  if (--state.gates[program.gate_of(chunk)] > 0 || program.loops == 1) return;
  const Schedule& schedule = program.schedule;
  for (const std::uint32_t i : program.sends[static_cast<std::size_t>(rank)]) {
    const Chunk& next = schedule.chunks.chunks[schedule.transfers[i].chunk];
    if (program.needs[i] == kNoTransfer && next.channel == chunk.channel && next.loop == chunk.loop + 1)
      release(rank, i, t);
  }
}

void Mover::retry_early(RankState& state, int rank, std::int64_t t) {
  std::vector<std::uint32_t> early;
  early.swap(state.early);
  for (const std::uint32_t transfer : early) take_in(state, rank, transfer, t);
}

/// The receiver reads as much as it expects: of another size than was sent, that is what the slot held
/// before, or nothing (a fresh buffer is zeroed).
void Mover::apply(RankState& state, std::uint32_t transfer) {
  const Program& program = *state.call.program;
  const Transfer& x = program.schedule.transfers[transfer];
  const std::vector<std::byte>& content = *messages_[state.incoming[program.place[transfer]]].content;
  const DType dtype = state.call.buffer.dtype;
  const auto own = chunk_bytes(std::span<std::byte>(state.call.buffer.data),
                               program.schedule.chunks.chunks[x.to_chunk], dtype);
  std::vector<std::byte> padded;
  std::span<const std::byte> arrived = content;
  if (arrived.size() < own.size()) {
    padded.assign(content.begin(), content.end());
    padded.resize(own.size());
    arrived = padded;
  }
  arrived = arrived.first(own.size());
  if (x.action == Action::Reduce)
    reduce_into(dtype, state.call.op, arrived, own);
  else if (!own.empty())
    std::memcpy(own.data(), arrived.data(), own.size());
}

/// A rank has finished when its last receive is done and its last send has left.
void Mover::settle(int rank, std::int64_t t) {
  const RankState& state = rank_state(rank);
  if (!state.in_call || state.sends_left > 0 || state.receives_left > 0) return;
  push(std::max(t, state.last_left), ItemKind::Finish, rank, 0);
}

void Mover::on_finish(const Item& item) {
  RankState& state = rank_state(item.rank);
  if (state.stopped_at >= 0) return;
  for (const std::uint32_t i : state.call.program->receives[static_cast<std::size_t>(item.rank)]) {
    Lane& lane = lanes_[lane_of(*state.call.program, i)];
    lane.expected.clear();
    lane.cursor = 0;
  }
  state.in_call = false;
  MoveNote note;
  note.kind = MoveNote::Kind::Finished;
  note.t = item.t;
  note.rank = item.rank;
  note.coll = state.call.coll;
  notes_.push_back(note);
}

/// If nothing is there for the receiver when everything else of this moment has happened, it waits.
void Mover::expect_wait(std::uint64_t key, std::int64_t t) {
  const Lane& lane = lanes_[key];
  if (lane.cursor >= lane.expected.size() || lane.first < lane.arrived.size()) return;
  push(t, ItemKind::Wait, lane_dst(key), lane.expected[lane.cursor]);
}

void Mover::on_wait(const Item& item) {
  RankState& state = rank_state(item.rank);
  if (!state.in_call || state.stopped_at >= 0) return;
  const Program& program = *state.call.program;
  const Transfer& x = program.schedule.transfers[item.what];
  const Lane& lane = lanes_[lane_of(program, item.what)];
  if (lane.cursor >= lane.expected.size() || lane.expected[lane.cursor] != item.what) return;
  if (std::exchange(state.waited_for, item.what) == item.what) return;
  MoveNote note;
  note.kind = MoveNote::Kind::Wait;
  note.t = item.t;
  note.rank = item.rank;
  note.peer = x.src;
  note.transfer = item.what;
  note.coll = state.call.coll;
  note.bytes = program.schedule.chunks.chunks[x.to_chunk].count * size_of(state.call.buffer.dtype);
  note.in_flight = lane.on_the_way > 0;
  notes_.push_back(note);
}

std::uint32_t Mover::add_sample(DType dtype, std::span<const std::byte> data) {
  samples_.push_back(sample_of(dtype, data));
  return next_sample_++;
}

int Mover::waits_for(int rank) const {
  const RankState& state = rank_state(rank);
  if (!state.in_call) return -1;
  const Program& program = *state.call.program;
  const auto& receives = program.receives[static_cast<std::size_t>(rank)];
  for (std::size_t i = 0; i < receives.size(); ++i)
    if (state.done[i] == 0) return program.schedule.transfers[receives[i]].src;
  return -1;
}

bool Mover::has_sends_to(int rank, int peer) const {
  const RankState& state = rank_state(rank);
  if (!state.in_call) return false;
  const Program& program = *state.call.program;
  for (const std::uint32_t i : program.sends[static_cast<std::size_t>(rank)])
    if (program.schedule.transfers[i].dst == peer) return true;
  return false;
}

bool Mover::has_receives_from(int rank, int peer) const {
  const RankState& state = rank_state(rank);
  if (!state.in_call) return false;
  const Program& program = *state.call.program;
  const auto& receives = program.receives[static_cast<std::size_t>(rank)];
  for (std::size_t i = 0; i < receives.size(); ++i)
    if (state.done[i] == 0 && program.schedule.transfers[receives[i]].src == peer) return true;
  return false;
}

}  // namespace ringside::sim
