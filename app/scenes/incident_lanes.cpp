// How rows come about. A timeout line says when it was printed and how long its author had waited: so it
// worked until then, waited until now. A rank that is named and printed nothing is drawn with a broken
// outline from the moment when the others began to wait: what it did is not visible. The time axis starts a
// little before the first wait; lines hours earlier (the start of the job) would press everything into one
// pixel.
#include "app/scenes/incident_lanes.hpp"

#include <algorithm>
#include <map>

namespace ringside::app {
namespace {

using backend::FactKind;
using backend::LanePoint;
using parts::Mark;
using parts::Truth;

constexpr std::int64_t kLeastSpan = 1'000'000;  // less is one moment, and no axis
constexpr double kWorkShare = 0.3;              // of the axis shows work before the first wait

bool is_timeout(FactKind kind) {
  return kind == FactKind::WatchdogTimeout || kind == FactKind::GlooTimeout ||
         kind == FactKind::HeartbeatStuck || kind == FactKind::WatchdogStatus;
}

/// How strongly a point says how its rank ended: larger wins. 0 = it does not.
int weight(const LanePoint& point) {
  switch (point.kind) {
    case FactKind::KernelOom:
    case FactKind::MpiSignal:
    case FactKind::CrashSignal:
    case FactKind::CudaError:
    case FactKind::CudaOom:
      return 6;
    case FactKind::WatchdogTimeout:
    case FactKind::GlooTimeout:
    case FactKind::WatchdogStatus:
    case FactKind::HeartbeatStuck:
      return 5;
    case FactKind::PythonException:
      return 4;
    case FactKind::ElasticEntry:
    case FactKind::ElasticRoot:
      return point.code == -9 || point.code == -11 || point.code == -7 ? 6 : 3;
    case FactKind::CleanExit:
    case FactKind::EndOfData:
    case FactKind::PeerClosed:
    case FactKind::BarrierVictim:
      return 2;
    default:
      return 0;
  }
}

Mark mark_of(const LanePoint& point, bool culprit) {
  if (is_timeout(point.kind)) return Mark::TimedOut;
  switch (point.kind) {
    case FactKind::KernelOom:
    case FactKind::MpiSignal:
    case FactKind::CrashSignal:
    case FactKind::CudaError:
    case FactKind::CudaOom:
      return point.code == 6 || point.code == -6     ? Mark::Aborted
             : point.code == 15 || point.code == -15 ? Mark::Terminated
                                                     : Mark::Dead;
    case FactKind::PythonException:
      return culprit ? Mark::Dead : Mark::Aborted;
    case FactKind::ElasticEntry:
    case FactKind::ElasticRoot:
      if (point.code == -6) return Mark::Aborted;
      if (point.code == -15) return Mark::Terminated;
      return culprit || point.code == -9 || point.code == -11 || point.code == -7 ? Mark::Dead
                                                                                  : Mark::Aborted;
    case FactKind::PeerClosed:
    case FactKind::BarrierVictim:
      return Mark::Aborted;
    default:
      return Mark::Idle;  // it left by itself
  }
}

void read_points(const backend::Lane& lane, IncidentRow& row) {
  int best = 0;
  for (const LanePoint& point : lane.points) {
    if (point.kind == FactKind::NcclColl && point.waited_ns == 0) {  // a dump: called then, and still in it
      row.waits_from = point.t_ns;
      row.call = point.op;
      continue;
    }
    if (point.t_ns >= 0) row.ends_at = std::max(row.ends_at, point.t_ns);
    if (is_timeout(point.kind) && point.t_ns >= 0 && point.waited_ns > 0) {
      const std::int64_t from = point.t_ns - point.waited_ns;
      row.waits_from = row.waits_from == -1 ? from : std::min(row.waits_from, from);
    }
    const int w = weight(point);
    if (w > best) {
      best = w;
      row.ended = true;
      row.end = mark_of(point, row.culprit);
      row.file = point.file;
      row.line = point.line;
    }
    if (w > 0 && point.code != 0) row.code = point.code;
    if (best == 0 && point.line > 0) {  // at least its last words
      row.file = point.file;
      row.line = point.line;
    }
    if (point.kind == FactKind::NanLocal && row.culprit) {
      best = 9;
      row.ended = true;
      row.end = Mark::Poisoned;
      row.file = point.file;
      row.line = point.line;
    }
  }
  row.truth = row.ended || row.ends_at >= 0 || row.waits_from != -1 ? Truth::Measured : Truth::Hidden;
}

/// The newest call of each row, and who is behind.
void set_last_seq(const backend::Incident& incident, std::vector<IncidentRow>& rows) {
  const std::int64_t verdict = incident.diagnosis.first_cause.seq.value_or(-1);
  std::int64_t newest = verdict;
  std::map<int, const backend::Lane*> lanes;
  for (const backend::Lane& lane : incident.lanes) lanes[lane.rank] = &lane;
  for (IncidentRow& row : rows) {
    const auto found = lanes.find(row.rank);
    if (found == lanes.end()) continue;
    const backend::Lane& lane = *found->second;
    // The call it timed out in; what was enqueued behind that call tells nothing.
    for (const LanePoint& point : lane.points) {
      const bool nearer = row.last_seq < 0 || (verdict >= 0 && point.seq == verdict);
      if (is_timeout(point.kind) && point.seq >= 0 && nearer) row.last_seq = point.seq;
    }
    const bool calls_ahead = verdict >= 0 && lane.last_enqueued > verdict && lane.last_completed < verdict;
    if (row.last_seq < 0) row.last_seq = calls_ahead ? verdict : lane.last_enqueued;
    if (row.last_seq < 0) row.last_seq = lane.last_completed;
    if (row.last_seq >= 0) row.seq_truth = Truth::Measured;
    newest = std::max(newest, verdict >= 0 ? verdict : row.last_seq);
  }
  using sim::DiagnosisKind;
  const DiagnosisKind kind = incident.diagnosis.kind;
  for (IncidentRow& row : rows) {
    // Nobody printed its number, but the verdict is that it did not enter this call.
    if (row.last_seq < 0 && row.culprit && verdict > 0 && kind == DiagnosisKind::HangRankMissing) {
      row.last_seq = verdict - 1;
      row.seq_truth = Truth::Inferred;
    }
    row.behind = row.culprit && row.last_seq >= 0 && row.last_seq < newest;
  }
}

/// From lane time to picture time, and what the axis shows.
void set_axis(IncidentPicture& picture) {
  std::int64_t first = 0, last = -1, first_wait = -1;
  for (const IncidentRow& row : picture.rows) {
    last = std::max({last, row.ends_at, row.waits_from});
    if (row.waits_from != -1) {
      first_wait = first_wait == -1 ? row.waits_from : std::min(first_wait, row.waits_from);
      if (row.ends_at >= 0) {
        ++picture.waited;
        picture.wait_ns = std::max(picture.wait_ns, row.ends_at - row.waits_from);
        picture.waited_total_ns += row.ends_at - row.waits_from;
      }
    }
  }
  const bool open_end = picture.waited == 0 && first_wait != -1;  // dumps do not say when they were written
  if (open_end) {
    picture.still_waiting =
        static_cast<int>(std::count_if(picture.rows.begin(), picture.rows.end(),
                                       [](const IncidentRow& row) { return row.waits_from != -1; }));
    last += std::max<std::int64_t>(kLeastSpan, 2 * (last - first_wait));
  }
  picture.timed = last >= 0 && (last >= kLeastSpan || picture.waited > 0);
  if (!picture.timed) return;
  std::int64_t from = 0;
  if (first_wait != -1) {
    from = first_wait - static_cast<std::int64_t>(kWorkShare * static_cast<double>(last - first_wait));
    first = std::min(first, from);
  }
  picture.zero_ns = first;
  picture.from = std::max<std::int64_t>(0, from - first);
  picture.to = std::max(last - first, picture.from + 1);
  picture.cause_ns = first_wait != -1 ? first_wait - first : picture.from;
  for (IncidentRow& row : picture.rows) {
    if (row.waits_from != -1) row.waits_from -= first;
    if (row.ends_at >= 0) row.ends_at -= first;
    if (row.culprit && row.ended && row.ends_at >= 0 && row.end == Mark::Dead) picture.cause_ns = row.ends_at;
  }
}

}  // namespace

const IncidentRow* IncidentPicture::row(int rank) const {
  const auto found = std::lower_bound(rows.begin(), rows.end(), rank,
                                      [](const IncidentRow& row, int wanted) { return row.rank < wanted; });
  return found != rows.end() && found->rank == rank ? &*found : nullptr;
}

IncidentPicture picture_of(const backend::Incident& incident) {
  const sim::Diagnosis& d = incident.diagnosis;
  std::map<int, IncidentRow> rows;
  const auto row_of = [&](int rank) -> IncidentRow& {
    IncidentRow& row = rows[rank];
    row.rank = rank;
    return row;
  };
  const auto has_room = [&](int rank) {
    return rank >= 0 && (rows.size() < kMostRows || rows.count(rank) > 0);
  };
  for (const int rank : d.culprits)
    if (has_room(rank)) row_of(rank).culprit = true;
  for (const backend::Lane& lane : incident.lanes)
    if (has_room(lane.rank)) row_of(lane.rank).host = lane.host;
  for (const int rank : d.victims)
    if (has_room(rank)) row_of(rank).victim = true;
  for (const backend::RankRow& known : incident.ranks)
    if (has_room(known.rank)) row_of(known.rank).host = known.host;
  // A small job is shown whole, with the ranks that said nothing.
  constexpr std::int64_t kWhole = 64;
  if (d.world_size > 0 && d.world_size <= kWhole)
    for (int rank = 0; rank < static_cast<int>(d.world_size); ++rank) row_of(rank);
  for (const backend::Lane& lane : incident.lanes)
    if (const auto found = rows.find(lane.rank); found != rows.end()) read_points(lane, found->second);
  if (d.culprits.size() == 1 && d.culprit_nodes.size() == 1) row_of(d.culprits[0]).host = d.culprit_nodes[0];
  IncidentPicture picture;
  for (auto& [rank, row] : rows) picture.rows.push_back(std::move(row));
  set_last_seq(incident, picture.rows);
  set_axis(picture);
  return picture;
}

}  // namespace ringside::app
