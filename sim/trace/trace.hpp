// The Trace: an append-only list of Events with the pools they point into. Three producers write it
// (simulator, live hub, file); everything else reads it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/collective/schedule.hpp"
#include "sim/scenario/fault.hpp"
#include "sim/tensor/tensor.hpp"
#include "sim/trace/event.hpp"

namespace ringside::sim {

enum class Detail : std::uint8_t { Chunks, Ranks, Groups };
std::string_view to_word(Detail detail);

/// First line of every file and stream.
struct TraceHeader {
  int version = 1;
  std::string source = "simulator";  // simulator | live | import
  std::int32_t world_size = 0;
  std::int32_t gpus_per_node = 0;
  std::string clock = "virtual";    // virtual | hub | estimated
  std::int64_t origin_unix_ns = 0;  // 0 for a simulation
  std::string title;
  std::uint64_t seed = 0;
  Detail detail = Detail::Chunks;
  std::string scenario_toml;  // the scenario that made it, if any
};

/// A rank introduces itself.
struct Hello {
  std::string host, device, uuid, pci, driver, cuda, nccl, mpi;
  std::int64_t pid = 0;
  std::int32_t local_rank = -1;
  bool operator==(const Hello&) const = default;
};

/// One collective of one communicator: what its first caller said. Ranks that call it otherwise say so in
/// their own events.
struct CollectiveInfo {
  std::uint32_t comm = 0;  // string id of the communicator
  std::int64_t seq = 0;
  std::int64_t step = 0;  // training step
  Collective collective = Collective::AllReduce;
  ReduceOp op = ReduceOp::Sum;
  DType dtype = DType::Float32;
  Algorithm algorithm = Algorithm::Ring;
  RingOrder order = RingOrder::Nccl;
  Chunking chunking = Chunking::Even;
  std::int64_t count = 0;
  std::uint32_t shape = 0;
  std::uint16_t channels = 1;
  std::int32_t world_size = 0;
  ChunkTable chunks;  // empty when ring steps are not visible
  std::uint32_t steps = 0, reduce_steps = 0;
  std::uint32_t transfers = 0;  // of the whole schedule; 0 = not known
};

class Trace {
 public:
  TraceHeader header;

  const std::vector<Event>& events() const { return events_; }
  std::size_t size() const { return events_.size(); }
  bool empty() const { return events_.empty(); }
  /// Time of the last event in time order; 0 when empty.
  std::int64_t end_time() const { return end_time_; }

  /// Appends as it is; `n` must already be set (readers keep gaps visible).
  void append(const Event& event);
  /// Appends with the source's next n (producers).
  void emit(Event event);
  /// How many events of the same source are missing right before event `index`, in the order of `n`; events that
  /// come late fill their gap.
  std::uint32_t lost_before(std::uint32_t index) const {
    if (lost_.empty()) return 0;
    const auto found = lost_.find(index);
    return found == lost_.end() ? 0 : found->second;
  }
  /// Room for so many events: a producer that knows about how many come saves copies and memory.
  void reserve(std::size_t events);

  /// Indices of all events sorted by (t, src, n): the order in which a Frame applies them. Appending keeps it
  /// up to date.
  const std::vector<std::uint32_t>& order() const;

  // Pools. intern() returns the same id for the same text.
  std::uint32_t intern(std::string_view text);
  const std::string& string(std::uint32_t id) const;
  std::uint32_t add_sample(Sample sample);
  const Sample& sample(std::uint32_t id) const { return samples_[id]; }
  std::size_t sample_count() const { return samples_.size(); }
  std::uint32_t add_shape(const Shape& shape);
  const Shape& shape(std::uint32_t id) const { return shapes_[id]; }
  std::size_t shape_count() const { return shapes_.size(); }
  std::uint32_t add_hello(Hello hello);
  const Hello& hello(std::uint32_t id) const { return hellos_[id]; }
  std::uint32_t add_command(const Fault& fault);
  const Fault& command(std::uint32_t id) const { return commands_[id]; }
  std::uint32_t add_list(std::vector<std::int32_t> members);
  const std::vector<std::int32_t>& list(std::uint32_t id) const { return lists_[id]; }
  /// The collective (communicator, seq); added if new.
  std::uint32_t add_collective(CollectiveInfo info);
  std::uint32_t find_collective(std::uint32_t comm, std::int64_t seq) const;  // kNone if unknown
  const CollectiveInfo& collective(std::uint32_t id) const { return collectives_[id]; }
  CollectiveInfo& collective(std::uint32_t id) { return collectives_[id]; }
  std::size_t collective_count() const { return collectives_.size(); }

 private:
  std::vector<Event> events_;
  mutable std::vector<std::uint32_t> order_;
  mutable bool order_sorted_ = true;  // false: too far out of order, sorted when next asked
  std::int64_t end_time_ = 0;
  /// The next n of each source: by kind and id, and a map for ids that only a hostile file would use.
  std::uint32_t& next_n(Source source);
  std::array<std::vector<std::uint32_t>, 5> next_n_;
  std::map<Source, std::uint32_t> far_next_n_;
  /// Missing numbers `first` … the key, and the event after them.
  struct Gap {
    std::uint32_t first = 0, event = kNone;
  };
  void note_gap(const Event& event, std::uint32_t index, std::uint32_t next);
  std::map<Source, std::map<std::uint32_t, Gap>> gaps_;
  std::map<std::uint32_t, std::uint32_t> lost_;  // event -> how many are missing before it
  std::vector<std::string> strings_;
  std::map<std::string, std::uint32_t, std::less<>> string_ids_;
  std::vector<Sample> samples_;
  std::vector<Shape> shapes_;
  std::vector<Hello> hellos_;
  std::vector<Fault> commands_;
  std::vector<std::vector<std::int32_t>> lists_;
  std::vector<CollectiveInfo> collectives_;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> collective_ids_;
};

/// The file's first line, without the line feed.
void append_header_json(std::string& out, const TraceHeader& header);
/// One event as one JSON object, keys in documented order (docs/trace-format.md), without the line feed.
void append_event_json(std::string& out, const Trace& trace, const Event& event);

}  // namespace ringside::sim
