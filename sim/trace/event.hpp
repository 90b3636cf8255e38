// One thing that happened, at an integer nanosecond, from one source. 48 bytes; everything of variable size
// (strings, samples, shapes) lives in the Trace's pools and is named by index.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "sim/collective/schedule.hpp"
#include "sim/scenario/fault.hpp"

namespace ringside::sim {

/// Who says it: r3 (a rank), n17 (a node), hub, launcher, sim. Ordered: (kind, id).
struct Source {
  enum class Kind : std::uint8_t { Sim, Rank, Node, Hub, Launcher };
  Kind kind = Kind::Sim;
  std::int32_t id = 0;  // rank, or node number
  static Source rank(int r) { return {Kind::Rank, r}; }
  static Source node(int n) { return {Kind::Node, n}; }
  auto operator<=>(const Source&) const = default;
};

enum class EventType : std::uint8_t {
  Hello,
  Left,
  CommInit,
  CommFinalize,
  CommAbort,
  PhaseBegin,
  PhaseEnd,
  CollectiveEnqueued,
  CollectiveStarted,
  CollectiveFinished,
  RingStepBegin,
  RingStepWait,
  RingStepArrive,
  RingStepEnd,
  TensorValues,
  Weights,
  NanFound,
  Heartbeat,
  WatchdogWarned,
  WatchdogExpired,
  Error,
  DeviceSample,
  NicState,
  LogLine,
  EventsDropped,
  Exit,
  Command,
  NodeState,
};
inline constexpr int kEventTypeCount = 28;
/// "hello", "ring_step_begin", "log" …: the word in the file.
std::string_view to_word(EventType type);
std::optional<EventType> event_type_from(std::string_view word);

/// What a rank waits for in a ring step (NCCL profiler's states: GPU, peer, network).
enum class WaitsFor : std::uint8_t { Gpu, Peer, Network };
std::string_view to_word(WaitsFor waits);

inline constexpr std::uint32_t kNone = 0xFFFFFFFFu;  // "no index" in every pool

// Conventions of producers (docs/trace-format.md):
// - tensor events: name "input" before the first collective; "prepared" right after collective_enqueued when
// the op changes the
//   input first (avg: times 1/n); "result" when the op's finish is done (sum_then_divide: at the end of phase
//   "divide").
// - collective_enqueued = the rank called it; collective_started = its data began to move (all peers it needs
// are there).
// - ring_step_begin at the sender when the first byte leaves; ring_step_wait at a receiver that is ready and
// has nothing yet;
//   ring_step_arrive at the receiver when the last byte is there and a reduction of > 0 ns begins;
//   ring_step_end at the receiver when its chunk holds the new numbers (also for copies).

// Payloads: at most 24 bytes, trivially copyable. Indices point into the Trace's pools.
struct HelloPayload {
  std::uint32_t hello;
};  // Trace::hellos
struct CommPayload {
  std::uint32_t comm;
  std::int32_t world_size;
  std::uint32_t members;
};  // comm: string id; members: list id
struct PhasePayload {
  std::int32_t step;
  Phase phase;
  std::uint8_t has;
  std::uint16_t pad;
  double loss;
  double grad_norm;
};
inline constexpr std::uint8_t kHasLoss = 1, kHasGradNorm = 2;
struct CollectivePayload {  // as this rank called it
  std::uint32_t coll;       // Trace::collectives: (communicator, seq)
  std::uint32_t shape;      // Trace::shapes
  std::int64_t count;
  Collective collective;
  ReduceOp op;
  DType dtype;
  Algorithm algorithm;
  std::uint8_t protocol, channels;
  std::uint16_t root;
};
struct RingStepPayload {
  std::uint32_t coll;
  std::uint16_t channel, loop;
  std::uint32_t step;    // ring step, from 1
  std::uint32_t chunk;   // index into the collective's chunk table
  std::int32_t peer;     // begin: the receiver; wait, arrive, end: the sender
  std::uint32_t sample;  // begin: what travels; end: the receiver's chunk after; kNone if no numbers
};
struct TensorPayload {
  std::uint32_t name;
  std::uint32_t shape;
  std::uint32_t sample;
  DType dtype;
  std::uint8_t pad[3];
};
struct WeightsPayload {
  std::int64_t step;
  std::uint64_t digest;
};
struct NanPayload {
  std::uint32_t tensor;
  std::int32_t step;
  std::int64_t index;
  std::int64_t count;
};  // tensor: string id
struct HeartbeatPayload {
  std::uint32_t comm;
  std::int32_t step;
  std::uint32_t enqueued, started, completed;
  Phase phase;
  std::uint8_t pad[3];
};
struct WatchdogPayload {
  std::uint32_t coll;
  std::uint32_t text;
  std::int64_t waited_ns;
};
struct TextPayload {
  std::uint32_t text;
  std::uint32_t channel;
  std::int32_t code;
  std::int32_t detail;
};
// Error: text, channel = layer string id ("nccl", "cuda", "python"), code. LogLine: text, channel = stream
// string id. Exit: code or signal (aux8 = 1 when a signal), text. Left: text. NicState: text = port name,
// code = 1 up / 0 down. NodeState: text = state word.
struct DevicePayload {
  float power_w;
  float utilisation;
  float sm_clock_mhz;
  float temperature_c;
  std::uint32_t ecc_errors;
  std::uint32_t xid;
};
struct DroppedPayload {
  std::uint64_t count;
};
struct CommandPayload {
  std::uint32_t command;
};  // Trace::commands

struct Event {
  std::int64_t t = 0;   // ns since the origin (the start of the job)
  std::uint32_t n = 0;  // gapless per source, from 0
  Source::Kind src_kind = Source::Kind::Sim;
  EventType type = EventType::Hello;
  std::uint8_t aux8 =
      0;  // ring steps: Primitive; wait: WaitsFor (in aux8's high nibble); exit: 1 = by signal
  std::uint8_t flags = 0;
  std::int32_t src_id = 0;
  std::uint32_t aux32 = 0;  // ring steps: bytes (saturated)
  union {
    HelloPayload hello;
    CommPayload comm;
    PhasePayload phase;
    CollectivePayload collective;
    RingStepPayload ring;
    TensorPayload tensor;
    WeightsPayload weights;
    NanPayload nan;
    HeartbeatPayload heartbeat;
    WatchdogPayload watchdog;
    TextPayload text;
    DevicePayload device;
    DroppedPayload dropped;
    CommandPayload command;
  };
  Event() : dropped{0} {}
  Source source() const { return {src_kind, src_id}; }
  void set_source(Source s) {
    src_kind = s.kind;
    src_id = s.id;
  }
  int rank() const { return src_kind == Source::Kind::Rank ? src_id : -1; }
};
static_assert(sizeof(Event) <= 48, "an Event in memory is at most 48 bytes");
static_assert(std::is_trivially_copyable_v<Event>);

}  // namespace ringside::sim
