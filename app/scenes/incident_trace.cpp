#include "app/scenes/incident_trace.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace ringside::app {
namespace {

using backend::FactKind;

/// Events of all ranks, put in order before they get their numbers.
struct Draft {
  std::int64_t t = 0;
  int rank = 0;
  sim::Event event;
};

class Maker {
 public:
  Maker(const backend::Incident& incident, const IncidentPicture& picture)
      : incident_(incident), picture_(picture) {
    trace_.header.source = "import";
    trace_.header.clock = "estimated";
    trace_.header.detail = sim::Detail::Ranks;
    const int highest = picture.rows.empty() ? 0 : picture.rows.back().rank + 1;
    trace_.header.world_size = static_cast<std::int32_t>(
        std::clamp<std::int64_t>(std::max<std::int64_t>(incident.diagnosis.world_size, highest), 0, 1 << 20));
    trace_.header.gpus_per_node = per_host();
  }

  sim::Trace make() {
    std::map<int, const backend::RankRow*> known;
    for (const backend::RankRow& row : incident_.ranks) known[row.rank] = &row;
    std::map<int, const backend::Lane*> lanes;
    for (const backend::Lane& lane : incident_.lanes) lanes[lane.rank] = &lane;
    for (const IncidentRow& row : picture_.rows) {
      const auto who = known.find(row.rank);
      introduce(row, who == known.end() ? nullptr : who->second);
      const auto lane = lanes.find(row.rank);
      if (lane != lanes.end()) tell(row, *lane->second);
    }
    std::stable_sort(drafts_.begin(), drafts_.end(), [](const Draft& a, const Draft& b) {
      return std::tie(a.t, a.rank) < std::tie(b.t, b.rank);
    });
    for (const Draft& draft : drafts_) trace_.emit(draft.event);
    return std::move(trace_);
  }

 private:
  /// Ranks a host, where all hosts that we know have equally many.
  std::int32_t per_host() const {
    std::map<std::string, std::int32_t> count;
    for (const IncidentRow& row : picture_.rows)
      if (!row.host.empty()) ++count[row.host];
    std::int32_t most = 0;
    for (const auto& [host, n] : count) most = std::max(most, n);
    return most > 0 ? most : trace_.header.world_size;
  }

  sim::Event& add(const IncidentRow& row, std::int64_t t, sim::EventType type) {
    Draft draft{.t = std::max<std::int64_t>(0, t), .rank = row.rank, .event = {}};
    draft.event.t = draft.t;
    draft.event.set_source(sim::Source::rank(row.rank));
    draft.event.type = type;
    drafts_.push_back(draft);
    return drafts_.back().event;
  }

  void introduce(const IncidentRow& row, const backend::RankRow* known) {
    if (row.truth == parts::Truth::Hidden && known == nullptr) return;
    sim::Hello hello;
    hello.host = row.host;
    if (known != nullptr) {
      hello.pid = std::max<std::int64_t>(0, known->pid);
      hello.local_rank = known->local_rank;
      hello.pci = known->bus;
    }
    add(row, 0, sim::EventType::Hello).hello = {trace_.add_hello(std::move(hello))};
  }

  /// The collective that a point speaks of; kNone without a number.
  std::uint32_t collective(const backend::LanePoint& point) {
    if (point.seq < 0) return sim::kNone;
    sim::CollectiveInfo info;
    info.comm = trace_.intern("default_pg");
    info.seq = point.seq;
    info.collective = collective_of(point.op).value_or(sim::Collective::AllReduce);
    info.world_size = trace_.header.world_size;
    return trace_.add_collective(info);
  }

  void text_event(const IncidentRow& row, std::int64_t t, sim::EventType type, const std::string& text,
                  std::string_view channel, int code) {
    sim::Event& e = add(row, t, type);
    e.text = sim::TextPayload{trace_.intern(text), trace_.intern(channel), code, 0};
  }

  void tell(const IncidentRow& row, const backend::Lane& lane) {
    bool waits = false, timed_out = false;
    for (const backend::LanePoint& point : lane.points) {
      if (point.t_ns < 0) continue;
      const std::int64_t t = point.t_ns - picture_.zero_ns;
      const std::string text = point.what + (point.op.empty() ? "" : " " + point.op);
      switch (point.kind) {
        case FactKind::WatchdogTimeout:
        case FactKind::GlooTimeout:
        case FactKind::HeartbeatStuck: {
          const std::uint32_t coll = collective(point);
          if (!waits && row.waits_from >= 0 && coll != sim::kNone) {
            sim::Event& e = add(row, row.waits_from, sim::EventType::CollectiveEnqueued);
            e.collective = {};
            e.collective.coll = coll;
            e.collective.shape = trace_.add_shape(sim::Shape{});
            e.collective.collective = trace_.collective(coll).collective;
            waits = true;
          }
          if (!timed_out) {
            sim::Event& e = add(row, t, sim::EventType::WatchdogExpired);
            e.watchdog = {coll, trace_.intern(text), std::max<std::int64_t>(0, point.waited_ns)};
            timed_out = true;
          }
          break;
        }
        case FactKind::NanLocal: {
          sim::Event& e = add(row, t, sim::EventType::NanFound);
          e.nan = {trace_.intern("gradient"), 0, 0, 1};
          break;
        }
        case FactKind::PythonException:
        case FactKind::CudaError:
        case FactKind::CudaOom:
        case FactKind::PeerClosed:
        case FactKind::IbCompletion:
        case FactKind::IbAsyncFatal:
          text_event(row, t, sim::EventType::Error, text, "log", point.code);
          break;
        case FactKind::ElasticEntry:
        case FactKind::MpiSignal:
        case FactKind::CrashSignal:
        case FactKind::KernelOom:
        case FactKind::CleanExit: {
          const bool signal = point.code < 0 || point.kind == FactKind::MpiSignal ||
                              point.kind == FactKind::CrashSignal || point.kind == FactKind::KernelOom;
          const int code = point.kind == FactKind::KernelOom ? 9 : std::abs(point.code);
          text_event(row, t, sim::EventType::Exit, text, "log", code);
          drafts_.back().event.aux8 = signal ? 1 : 0;
          break;
        }
        default:
          text_event(row, t, sim::EventType::LogLine, text, "log", 0);
          break;
      }
    }
  }

  const backend::Incident& incident_;
  const IncidentPicture& picture_;
  sim::Trace trace_;
  std::vector<Draft> drafts_;
};

}  // namespace

std::optional<sim::Collective> collective_of(std::string_view op) {
  std::string plain;
  for (const char c : op)
    if (c != '_') plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const std::pair<std::string_view, sim::Collective> kNames[] = {
      {"allreduce", sim::Collective::AllReduce}, {"reducescatter", sim::Collective::ReduceScatter},
      {"allgather", sim::Collective::AllGather}, {"broadcast", sim::Collective::Broadcast},
      {"alltoall", sim::Collective::AllToAll},   {"reduce", sim::Collective::Reduce}};
  for (const auto& [name, collective] : kNames)
    if (plain.starts_with(name)) return collective;
  return std::nullopt;
}

sim::Trace trace_of(const backend::Incident& incident, const IncidentPicture& picture) {
  return Maker(incident, picture).make();
}

}  // namespace ringside::app
