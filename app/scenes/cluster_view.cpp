#include "app/scenes/cluster_view.hpp"

#include <algorithm>

namespace ringside::app {
namespace {

using parts::Mark;
using sim::RankStatus;

bool is_gone(const sim::RankFrame& rank) {
  return rank.status == RankStatus::Dead || rank.status == RankStatus::Terminated ||
         rank.status == RankStatus::Aborted || rank.status == RankStatus::Exited;
}

bool waits(const sim::RankFrame& rank) {
  return rank.status == RankStatus::Waiting ||
         (rank.status == RankStatus::Stalled && rank.waiting_since >= 0);
}

Mark working_mark(const sim::RankFrame& rank) {
  switch (rank.phase) {
    case sim::Phase::Forward:
      return Mark::Forward;
    case sim::Phase::Backward:
      return Mark::Backward;
    case sim::Phase::AllReduce:
      return Mark::Reducing;
    case sim::Phase::Loss:
    case sim::Phase::Divide:
    case sim::Phase::Optimizer:
    case sim::Phase::Checkpoint:
    case sim::Phase::Restart:
      return Mark::Update;
    default:
      return rank.in_collective != sim::kNone ? Mark::Reducing : Mark::Idle;
  }
}

/// What a node of a job without listed ranks does: it is down, or does what the whole job does.
struct JobState {
  Mark healthy = Mark::Idle;
  bool finished = false;
};

JobState job_state(const ClusterStory& story, const sim::Frame& frame, std::int64_t end_time) {
  const Episode* stop = story.episode_at(frame.t);
  if (frame.t >= end_time)
    return stop != nullptr ? JobState{Mark::Terminated, false} : JobState{Mark::Idle, true};
  const JobPhase* phase = story.job_phase_at(frame.t);
  // Between the end of all and the new start: their processes are gone.
  if (phase != nullptr && phase->phase == sim::Phase::Restart) return {Mark::Terminated, false};
  if (stop != nullptr)
    return {frame.t - stop->failed >= sim::kStalledAfterNs ? Mark::Stalled : Mark::Waiting, false};
  sim::RankFrame rank;
  rank.phase = phase != nullptr ? phase->phase : sim::Phase::Backward;
  return {working_mark(rank), false};
}

/// Higher = shown where a node's ranks differ.
int severity(Mark mark) {
  switch (mark) {
    case Mark::Dead:
      return 9;
    case Mark::TimedOut:
      return 8;
    case Mark::Silent:
      return 7;
    case Mark::Poisoned:
      return 6;
    case Mark::Aborted:
    case Mark::Terminated:
      return 5;
    case Mark::Stalled:
      return 4;
    case Mark::Waiting:
      return 3;
    default:
      return 1;
  }
}

void mark_direct_waiters(ClusterView& view, const sim::Trace& trace, const sim::Frame& frame) {
  const std::uint32_t coll = frame.collective.coll;
  if (coll == sim::kNone || trace.collective(coll).algorithm != sim::Algorithm::Ring) return;
  const auto world = view.ranks.size();
  for (std::size_t r = 0; r < world; ++r) {
    if (!waits(frame.ranks[r])) continue;
    const sim::RankFrame &before = frame.ranks[(r + world - 1) % world],
                         &after = frame.ranks[(r + 1) % world];
    const auto missing = [](const sim::RankFrame& rank) {
      return is_gone(rank) || !(waits(rank) || rank.status == RankStatus::Working);
    };
    view.ranks[r].direct = missing(before) || missing(after);
  }
}

/// Host names, where they are not n0, n1 …
void read_hosts(ClusterView& view, const sim::Trace& trace, const sim::Frame& frame) {
  for (int n = 0; n < view.nodes; ++n) {
    const std::uint32_t hello = frame.ranks[static_cast<std::size_t>(n * view.per_node)].hello;
    if (hello == sim::kNone) continue;
    const std::string& host = trace.hello(hello).host;
    if (host.empty() || host == "n" + std::to_string(n)) continue;
    if (view.node_names.empty())
      for (int i = 0; i < view.nodes; ++i) view.node_names.push_back("n" + std::to_string(i));
    view.node_names[static_cast<std::size_t>(n)] = host;
  }
}

void count_listed(ClusterView& view, const sim::Trace& trace, const sim::Frame& frame) {
  view.ranks.resize(frame.ranks.size());
  std::array<int, 15> by_mark{};
  for (std::size_t r = 0; r < frame.ranks.size(); ++r) {
    const sim::RankFrame& rank = frame.ranks[r];
    RankTile& tile = view.ranks[r];
    tile.mark = mark_of(rank);
    tile.finished = rank.status == RankStatus::Exited;
    const Group group = tile.finished ? Group::Finished : group_of(tile.mark);
    ++view.counts[static_cast<std::size_t>(group)];
    ++by_mark[static_cast<std::size_t>(tile.mark)];
    if (waits(rank) && rank.waiting_since >= 0 &&
        (view.waits_since < 0 || rank.waiting_since < view.waits_since))
      view.waits_since = rank.waiting_since;
    NodeTile& node = view.tiles[static_cast<std::size_t>(view.node_of(static_cast<int>(r)))];
    const bool first = r % static_cast<std::size_t>(view.per_node) == 0;
    if (!first && node.mark != tile.mark) node.mixed = true;
    if (first || severity(tile.mark) > severity(node.mark)) node.mark = tile.mark;
  }
  mark_direct_waiters(view, trace, frame);
  for (std::size_t m = 0; m < by_mark.size(); ++m)
    if (group_of(static_cast<Mark>(m)) == Group::Working &&
        by_mark[m] > by_mark[static_cast<std::size_t>(view.working_mark)])
      view.working_mark = static_cast<Mark>(m);
}

void count_nodes(ClusterView& view, const sim::Frame& frame, const ClusterStory& story,
                 std::int64_t end_time) {
  const JobState job = job_state(story, frame, end_time);
  if (group_of(job.healthy) == Group::Working) view.working_mark = job.healthy;
  for (std::size_t n = 0; n < view.tiles.size(); ++n) {
    const bool down = n < frame.node_down.size() && frame.node_down[n] != 0;
    view.tiles[n].mark = down ? Mark::Dead : job.healthy;
    const Group group = down ? Group::Dead : job.finished ? Group::Finished : group_of(job.healthy);
    const int ranks = std::min(view.per_node, view.world - static_cast<int>(n) * view.per_node);
    view.counts[static_cast<std::size_t>(group)] += ranks;
  }
  if (const Episode* stop = story.episode_at(frame.t)) view.waits_since = stop->failed;
}

/// The node of a host name: its ranks said it, or it is called n17.
int node_named(const ClusterView& view, const std::string& name) {
  for (int n = 0; n < view.nodes; ++n)
    if (view.node_name(n) == name) return n;
  return -1;
}

void name_culprits(ClusterView& view, const sim::Diagnosis& verdict) {
  for (const int rank : verdict.culprits) {
    if (rank < 0 || rank >= view.world) continue;
    if (!view.ranks.empty()) view.ranks[static_cast<std::size_t>(rank)].culprit = true;
    view.tiles[static_cast<std::size_t>(view.node_of(rank))].culprit = true;
    if (view.culprit_rank < 0) view.culprit_rank = rank;
  }
  const auto point_at = [&](const std::string& name) {
    const int node = node_named(view, name);
    if (node < 0) return;
    view.tiles[static_cast<std::size_t>(node)].culprit = true;
    if (view.culprit_node < 0) view.culprit_node = node;
  };
  if (view.culprit_rank >= 0) {
    view.culprit_node = view.node_of(view.culprit_rank);
  } else {
    for (const std::string& name : verdict.culprit_nodes) point_at(name);
    if (verdict.culprit_nodes.empty() && verdict.first_cause.node && !verdict.first_cause.rank)
      point_at(*verdict.first_cause.node);
  }
}

}  // namespace

Group group_of(Mark mark) {
  switch (mark) {
    case Mark::Dead:
      return Group::Dead;
    case Mark::Terminated:
      return Group::Terminated;
    case Mark::Aborted:
      return Group::Aborted;
    case Mark::TimedOut:
      return Group::TimedOut;
    case Mark::Silent:
      return Group::Silent;
    case Mark::Stalled:
      return Group::Stalled;
    case Mark::Waiting:
      return Group::Waiting;
    case Mark::Poisoned:
      return Group::Poisoned;
    case Mark::Idle:
      return Group::Idle;
    default:
      return Group::Working;
  }
}

Mark mark_of(Group group) {
  constexpr std::array kMarks = {Mark::Dead,    Mark::Terminated, Mark::Aborted, Mark::TimedOut,
                                 Mark::Silent,  Mark::Stalled,    Mark::Waiting, Mark::Poisoned,
                                 Mark::Forward, Mark::Idle,       Mark::Idle};
  return kMarks[static_cast<std::size_t>(group)];
}

std::string_view word_of(Group group) {
  constexpr std::array<std::string_view, kGroupCount> kWords = {
      "dead",    "terminated", "aborted", "timed_out", "silent",  "stalled",
      "waiting", "poisoned",   "working", "idle",      "finished"};
  return kWords[static_cast<std::size_t>(group)];
}

std::string_view word_of(Mark mark) {
  constexpr std::array<std::string_view, 15> kWords = {
      "idle",    "forward",   "backward",   "sending", "receiving", "reducing", "update", "waiting",
      "stalled", "timed_out", "terminated", "aborted", "dead",      "poisoned", "silent"};
  return kWords[static_cast<std::size_t>(mark)];
}

int ClusterView::gone() const {
  const auto of = [&](Group g) { return counts[static_cast<std::size_t>(g)]; };
  return of(Group::Dead) + of(Group::Terminated) + of(Group::Aborted) + of(Group::TimedOut);
}

Mark mark_of(const sim::RankFrame& rank) {
  switch (rank.status) {
    case RankStatus::Dead:
      return Mark::Dead;
    case RankStatus::Terminated:
      return Mark::Terminated;
    case RankStatus::Aborted:
      return Mark::Aborted;
    case RankStatus::TimedOut:
      return Mark::TimedOut;
    case RankStatus::Silent:
      return Mark::Silent;
    case RankStatus::Stalled:  // one that waits, or one that has not been heard of for as long
      return rank.waiting_since >= 0 ? Mark::Stalled : Mark::Silent;
    case RankStatus::Exited:
      return Mark::Idle;
    case RankStatus::Waiting:
      return Mark::Waiting;
    case RankStatus::Idle:
      return rank.poisoned ? Mark::Poisoned : Mark::Idle;
    case RankStatus::Working:
      return rank.poisoned ? Mark::Poisoned : working_mark(rank);
  }
  return Mark::Idle;
}

int waits_for(const sim::Trace& trace, const sim::Frame& frame, int rank) {
  const auto world = static_cast<int>(frame.ranks.size());
  if (rank < 0 || rank >= world || !waits(frame.ranks[static_cast<std::size_t>(rank)])) return -1;
  const std::uint32_t coll = frame.ranks[static_cast<std::size_t>(rank)].in_collective;
  const auto missing = [&](int r) {
    const sim::RankFrame& other = frame.ranks[static_cast<std::size_t>(r)];
    return is_gone(other) ||
           (other.in_collective != coll && !(coll != sim::kNone && other.last_finished == coll));
  };
  if (coll != sim::kNone && trace.collective(coll).algorithm == sim::Algorithm::Ring) {
    const int before = (rank + world - 1) % world, after = (rank + 1) % world;
    if (missing(before)) return before;
    if (missing(after)) return after;
  }
  // Behind its neighbour the whole ring waits for who has not come: the nearest one against its direction.
  for (int d = 1; d < world; ++d)
    if (const int other = (rank + world - d) % world; missing(other)) return other;
  return -1;
}

ClusterView make_cluster_view(const sim::Trace& trace, const sim::Frame& frame, const ClusterStory& story,
                              const sim::Diagnosis* verdict, int nodes_per_rack, std::int64_t end_time) {
  ClusterView view;
  view.world = std::max(0, trace.header.world_size);
  view.per_node = std::max(1, trace.header.gpus_per_node);
  view.nodes = (view.world + view.per_node - 1) / view.per_node;
  view.nodes_per_rack = std::max(1, nodes_per_rack);
  view.tiles.resize(static_cast<std::size_t>(view.nodes));
  view.step = std::max(story.step_at(frame.t), frame.step);
  view.t = frame.t;
  view.ranks_listed = !frame.ranks.empty();
  if (view.ranks_listed) {
    read_hosts(view, trace, frame);
    count_listed(view, trace, frame);
  } else {
    count_nodes(view, frame, story, end_time);
  }
  if (verdict != nullptr) name_culprits(view, *verdict);
  return view;
}

}  // namespace ringside::app
