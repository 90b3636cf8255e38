#include "backend/perfetto.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "sim/base/json_writer.hpp"
#include "sim/base/text.hpp"
#include "sim/scenario/scenario.hpp"

namespace ringside::backend {
namespace {

using sim::Event;
using sim::EventType;

/// One slice of a rank's track. `level` puts a phase around a collective around what happens in it.
struct Slice {
  std::int64_t begin = 0, end = 0;
  int level = 0;
  std::string name;
  const char* category = "";
  std::string arguments;  // the inside of an object
};

struct Instant {
  std::int64_t t = 0;
  std::string name;
  std::string text;
};

/// A transfer as an arrow from its sender to its receiver.
struct Arrow {
  std::int64_t begin = 0, end = 0;
  std::int32_t from = 0, to = 0;
};

struct RankTrack {
  std::vector<Slice> slices;
  std::vector<Instant> instants;
  std::optional<Slice> phase;
  std::map<std::uint32_t, Slice> open_collectives;
  std::int64_t waiting_since = -1;
  std::int64_t received_until = 0;  // receives follow each other on the track
  std::int64_t last = 0;
  std::string host;
};

std::string integer_text(std::int64_t value) {
  std::string out;
  sim::append_int(out, value);
  return out;
}

/// Nanoseconds as microseconds with exactly three decimals.
std::string microseconds(std::int64_t ns) {
  const bool negative = ns < 0;
  const std::int64_t magnitude = negative ? -ns : ns;
  std::string fraction = integer_text(magnitude % 1000);
  fraction.insert(0, 3 - fraction.size(), '0');
  return (negative ? "-" : "") + integer_text(magnitude / 1000) + "." + fraction;
}

/// Walks the trace once, in time order, and gathers what each track shows.
class Collector {
 public:
  explicit Collector(const sim::Trace& trace) : trace_(trace) {}

  void run() {
    for (const std::uint32_t index : trace_.order()) take(trace_.events()[index]);
    for (auto& [rank, track] : tracks) close(track);
  }

  std::map<std::int32_t, RankTrack> tracks;
  std::vector<Arrow> arrows;
  std::vector<Instant> job_instants;  // of no rank

 private:
  /// What names a transfer at both of its ends.
  using TransferKey =
      std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::int32_t, std::int32_t>;

  static TransferKey key_of(const sim::RingStepPayload& ring, std::int32_t from, std::int32_t to) {
    return {ring.coll, std::uint32_t{ring.channel} << 16 | ring.loop, ring.step, ring.chunk, from, to};
  }

  void take(const Event& e) {
    if (e.rank() < 0) return take_job_event(e);
    RankTrack& track = tracks[e.rank()];
    track.last = std::max(track.last, e.t);
    switch (e.type) {
      case EventType::Hello:
        track.host = trace_.hello(e.hello.hello).host;
        break;
      case EventType::PhaseBegin:
      case EventType::PhaseEnd:
        on_phase(track, e);
        break;
      case EventType::CollectiveEnqueued:
      case EventType::CollectiveStarted:
      case EventType::CollectiveFinished:
        on_collective(track, e);
        break;
      case EventType::RingStepBegin:
        sent_[key_of(e.ring, e.rank(), e.ring.peer)] = e.t;
        break;
      case EventType::RingStepWait:
        track.waiting_since = e.t;
        break;
      case EventType::RingStepEnd:
        on_received(track, e);
        break;
      default:
        on_other(track.instants, e);
    }
  }

  void take_job_event(const Event& e) { on_other(job_instants, e); }

  void on_phase(RankTrack& track, const Event& e) {
    if (track.phase) {
      track.phase->end = e.t;
      track.slices.push_back(std::move(*track.phase));
      track.phase.reset();
    }
    if (e.type == EventType::PhaseEnd) return;
    Slice slice;
    slice.begin = e.t;
    slice.name = std::string(sim::to_word(e.phase.phase));
    slice.category = "phase";
    slice.arguments = "\"step\":" + integer_text(e.phase.step);
    track.phase = std::move(slice);
  }

  void on_collective(RankTrack& track, const Event& e) {
    const std::uint32_t id = e.collective.coll;
    if (e.type == EventType::CollectiveEnqueued) {
      Slice slice;
      slice.begin = e.t;
      slice.level = 1;
      slice.name =
          std::string(sim::to_word(e.collective.collective)) + " " + integer_text(trace_.collective(id).seq);
      slice.category = "collective";
      sim::JsonWriter json(slice.arguments);
      json.field("op", sim::to_word(e.collective.op)).field("dtype", sim::to_word(e.collective.dtype));
      json.field("count", e.collective.count).field("algorithm", sim::to_word(e.collective.algorithm));
      track.open_collectives[id] = std::move(slice);
      return;
    }
    const auto open = track.open_collectives.find(id);
    if (open == track.open_collectives.end()) return;
    if (e.type == EventType::CollectiveStarted) {
      if (e.t > open->second.begin) add_wait(track, open->second.begin, e.t, "wait for all ranks");
      return;
    }
    open->second.end = e.t;
    track.slices.push_back(std::move(open->second));
    track.open_collectives.erase(open);
  }

  void add_wait(RankTrack& track, std::int64_t begin, std::int64_t end, std::string name) {
    Slice slice;
    slice.begin = std::max(begin, track.received_until);
    slice.end = end;
    slice.level = 2;
    slice.name = std::move(name);
    slice.category = "wait";
    if (slice.end <= slice.begin) return;
    track.received_until = slice.end;
    track.slices.push_back(std::move(slice));
  }

  void on_received(RankTrack& track, const Event& e) {
    const auto sent = sent_.find(key_of(e.ring, e.ring.peer, e.rank()));
    const std::int64_t left = sent == sent_.end() ? e.t : sent->second;
    if (track.waiting_since >= 0)
      add_wait(track, track.waiting_since, std::min(left, e.t), "wait for rank " + integer_text(e.ring.peer));
    track.waiting_since = -1;
    Slice slice;
    slice.begin = std::min(std::max(left, track.received_until), e.t);
    slice.end = e.t;
    slice.level = 2;
    slice.name = std::string(sim::to_word(static_cast<sim::Primitive>(e.aux8))) + " chunk " +
                 integer_text(e.ring.chunk);
    slice.category = "receive";
    sim::JsonWriter json(slice.arguments);
    json.field("ring_step", e.ring.step).field("from", e.ring.peer).field("bytes", e.aux32);
    json.field("channel", std::int64_t{e.ring.channel});
    track.received_until = e.t;
    track.slices.push_back(std::move(slice));
    if (sent == sent_.end()) return;
    arrows.push_back({left, e.t, e.ring.peer, e.rank()});
    sent_.erase(sent);
  }

  void on_other(std::vector<Instant>& instants, const Event& e) {
    Instant instant{e.t, std::string(sim::to_word(e.type)), {}};
    switch (e.type) {
      case EventType::Error:
      case EventType::LogLine:
      case EventType::Left:
      case EventType::NicState:
      case EventType::NodeState:
        instant.text = trace_.string(e.text.text);
        break;
      case EventType::Exit:
        instant.text = (e.aux8 != 0 ? "signal " : "code ") + integer_text(e.text.code);
        break;
      case EventType::WatchdogWarned:
      case EventType::WatchdogExpired:
        instant.text = trace_.string(e.watchdog.text);
        break;
      case EventType::NanFound:
        instant.text = integer_text(e.nan.count) + " in " + trace_.string(e.nan.tensor);
        break;
      case EventType::Command:
        instant.name = "fault " + std::string(sim::to_word(trace_.command(e.command.command).kind));
        break;
      case EventType::CommAbort:
      case EventType::EventsDropped:
        break;
      default:
        return;  // values, weights, heartbeats and samples are no marks
    }
    instants.push_back(std::move(instant));
  }

  /// What never ended reaches to the last thing that is known.
  void close(RankTrack& track) {
    const std::int64_t end = std::max(track.last, trace_.end_time());
    if (track.waiting_since >= 0) add_wait(track, track.waiting_since, end, "wait (never ended)");
    for (auto& [id, slice] : track.open_collectives) {
      slice.end = end;
      slice.name += " (never finished)";
      track.slices.push_back(std::move(slice));
    }
    if (!track.phase) return;
    track.phase->end = end;
    track.slices.push_back(std::move(*track.phase));
  }

  const sim::Trace& trace_;
  std::map<TransferKey, std::int64_t> sent_;
};

class Document {
 public:
  Document(const sim::Trace& trace, const ByteSink& sink) : trace_(trace), sink_(sink) {}

  sim::Status write(Collector& collected) {
    out_ = "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"title\":";
    sim::append_json_string(out_, trace_.header.title);
    out_ += "},\"traceEvents\":[\n";
    for (auto& [rank, track] : collected.tracks) {
      names(rank, track);
      slices(rank, track);
      for (const Instant& instant : track.instants) mark(instant, node_of(rank), rank, "t");
      if (auto done = flush(false); !done) return done;
    }
    for (const Instant& instant : collected.job_instants) mark(instant, 0, 0, "g");
    std::int64_t id = 0;
    for (const Arrow& arrow : collected.arrows) {
      arrows(arrow, ++id);
      if (auto done = flush(false); !done) return done;
    }
    out_ += "\n]}\n";
    return flush(true);
  }

 private:
  std::int64_t node_of(std::int32_t rank) const { return rank / std::max(1, trace_.header.gpus_per_node); }

  void begin(const char* phase, std::int64_t node, std::int64_t rank) {
    if (!first_) out_ += ",\n";
    first_ = false;
    out_ += "{\"ph\":\"";
    out_ += phase;
    out_ += "\",\"pid\":" + integer_text(node) + ",\"tid\":" + integer_text(rank);
  }

  void metadata(const char* what, std::int64_t node, std::int64_t rank, const std::string& name) {
    begin("M", node, rank);
    out_ += std::string(",\"name\":\"") + what + "\",\"args\":{\"name\":";
    sim::append_json_string(out_, name);
    out_ += "}}";
  }

  void names(std::int32_t rank, const RankTrack& track) {
    const std::int64_t node = node_of(rank);
    if (node != named_node_) {
      const std::string host =
          track.host.empty() ? sim::Scenario::node_name(static_cast<int>(node)) : track.host;
      metadata("process_name", node, rank, "node " + host);
      named_node_ = node;
    }
    metadata("thread_name", node, rank, "rank " + integer_text(rank));
    begin("M", node, rank);
    out_ += ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":" + integer_text(rank) + "}}";
  }

  /// Slices of one track must lie inside each other. One that only overlaps its neighbour (a collective that
  /// goes on behind the backward pass) becomes an asynchronous slice, which has a lane of its own.
  void slices(std::int32_t rank, RankTrack& track) {
    std::stable_sort(track.slices.begin(), track.slices.end(), [](const Slice& a, const Slice& b) {
      return std::tuple(a.begin, -a.end, a.level) < std::tuple(b.begin, -b.end, b.level);
    });
    std::vector<std::int64_t> open;
    for (const Slice& slice : track.slices) {
      while (!open.empty() && open.back() <= slice.begin && slice.end > open.back()) open.pop_back();
      const bool inside = open.empty() || slice.end <= open.back();
      if (inside) open.push_back(slice.end);
      inside ? complete(slice, rank) : overlapping(slice, rank);
    }
  }

  void common(const Slice& slice) {
    out_ += ",\"cat\":\"" + std::string(slice.category) + "\",\"name\":";
    sim::append_json_string(out_, slice.name);
  }

  void complete(const Slice& slice, std::int32_t rank) {
    begin("X", node_of(rank), rank);
    common(slice);
    out_ += ",\"ts\":" + microseconds(slice.begin) + ",\"dur\":" + microseconds(slice.end - slice.begin);
    out_ += ",\"args\":{" + slice.arguments + "}}";
  }

  void overlapping(const Slice& slice, std::int32_t rank) {
    const std::string id = integer_text(++async_id_);
    for (const char* phase : {"b", "e"}) {
      begin(phase, node_of(rank), rank);
      common(slice);
      out_ += ",\"id\":" + id + ",\"ts\":" + microseconds(*phase == 'b' ? slice.begin : slice.end);
      out_ += ",\"args\":{" + slice.arguments + "}}";
    }
  }

  void mark(const Instant& instant, std::int64_t node, std::int64_t rank, const char* scope) {
    begin("i", node, rank);
    out_ += std::string(",\"s\":\"") + scope + "\",\"cat\":\"mark\",\"name\":";
    sim::append_json_string(out_, instant.name);
    out_ += ",\"ts\":" + microseconds(instant.t) + ",\"args\":{\"text\":";
    sim::append_json_string(out_, instant.text);
    out_ += "}}";
  }

  /// An arrow leaves the sender's slice when the first byte does, and ends inside the receiver's slice.
  void arrows(const Arrow& arrow, std::int64_t id) {
    const auto end = [&](const char* phase, std::int32_t rank, std::int64_t t) {
      begin(phase, node_of(rank), rank);
      out_ += ",\"cat\":\"transfer\",\"name\":\"transfer\",\"id\":" + integer_text(id) +
              ",\"ts\":" + microseconds(t);
      out_ += *phase == 'f' ? ",\"bp\":\"e\"}" : "}";
    };
    end("s", arrow.from, arrow.begin);
    end("f", arrow.to, std::max(arrow.begin, arrow.end - 1));
  }

  sim::Status flush(bool all) {
    constexpr std::size_t kPiece = std::size_t{1} << 20;
    if (!all && out_.size() < kPiece) return sim::ok();
    auto done = sink_(out_);
    out_.clear();
    return done;
  }

  const sim::Trace& trace_;
  const ByteSink& sink_;
  std::string out_;
  bool first_ = true;
  std::int64_t named_node_ = -1, async_id_ = 0;
};

}  // namespace

sim::Status write_perfetto(const sim::Trace& trace, const ByteSink& sink) {
  Collector collected(trace);
  collected.run();
  return Document(trace, sink).write(collected);
}

}  // namespace ringside::backend
