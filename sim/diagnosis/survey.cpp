#include "sim/diagnosis/survey.hpp"

#include <algorithm>

namespace ringside::sim {
namespace {

Call* call_of(RankSurvey& rank, std::uint32_t coll) {
  // Nearly always the last one.
  for (std::size_t i = rank.calls.size(); i-- > 0;)
    if (rank.calls[i].coll == coll) return &rank.calls[i];
  return nullptr;
}

void on_phase(RankSurvey& rank, const Event& e, std::uint32_t index) {
  const bool begins = e.type == EventType::PhaseBegin;
  const bool computes =
      e.phase.phase == Phase::Forward || e.phase.phase == Phase::Loss || e.phase.phase == Phase::Backward;
  if (!begins && computes && rank.in_phase && rank.phase == e.phase.phase && e.phase.step >= 1) {
    const auto at = static_cast<std::size_t>(e.phase.step - 1);
    if (rank.compute_ns.size() <= at && at < (std::size_t{1} << 24)) rank.compute_ns.resize(at + 1);
    if (at < rank.compute_ns.size()) rank.compute_ns[at] += e.t - rank.phase_since;
  }
  rank.phase = e.phase.phase;
  rank.in_phase = begins;
  rank.phase_since = e.t;
  rank.step = e.phase.step;
  if (e.phase.has & kHasLoss) rank.losses.push_back({e.phase.step, e.phase.loss, index});
}

void on_enqueued(RankSurvey& rank, const Trace& trace, const Event& e, std::uint32_t index) {
  Call call;
  call.coll = e.collective.coll;
  call.event = index;
  call.seq = trace.collective(call.coll).seq;
  call.enqueued = e.t;
  call.count = e.collective.count;
  call.shape = e.collective.shape;
  call.step = rank.step;
  call.collective = e.collective.collective;
  call.op = e.collective.op;
  call.dtype = e.collective.dtype;
  rank.calls.push_back(call);
}

void on_rank_event(RankSurvey& rank, const Trace& trace, const Event& e, std::uint32_t index) {
  rank.last_event_t = e.t;
  rank.last_event = index;
  if (e.type != EventType::Exit && e.type != EventType::Heartbeat && e.type != EventType::Left)
    rank.last_own_event = index;
  switch (e.type) {
    case EventType::Hello:
      rank.host = trace.hello(e.hello.hello).host;
      break;
    case EventType::PhaseBegin:
    case EventType::PhaseEnd:
      on_phase(rank, e, index);
      break;
    case EventType::CollectiveEnqueued:
      on_enqueued(rank, trace, e, index);
      break;
    case EventType::CollectiveStarted:
      if (Call* call = call_of(rank, e.collective.coll)) call->started = e.t;
      break;
    case EventType::CollectiveFinished:
      if (Call* call = call_of(rank, e.collective.coll)) call->finished = e.t;
      break;
    case EventType::Heartbeat:
      rank.last_heartbeat_t = e.t;
      break;
    case EventType::NanFound:
      if (!rank.first_nan) rank.first_nan = index;
      break;
    case EventType::WatchdogExpired:
      if (!rank.timeout) rank.timeout = index;
      break;
    case EventType::Error:
      rank.errors.push_back(index);
      break;
    case EventType::LogLine:
      rank.logs.push_back(index);
      break;
    case EventType::Weights:
      rank.weights.push_back({e.weights.step, e.weights.digest, index});
      break;
    case EventType::DeviceSample:
      if (e.device.xid != 0 && !rank.xid) rank.xid = index;
      break;
    case EventType::Exit:
      if (!rank.end) rank.end = EndOfRank{e.t, index, e.aux8 != 0, e.text.code};
      break;
    case EventType::Left:
      if (!rank.end) rank.end = EndOfRank{e.t, index, true, 9};
      break;
    default:
      break;
  }
}

void on_node_event(Survey& all, const Trace& trace, const Event& e, std::uint32_t index) {
  if (e.type == EventType::NodeState && trace.string(e.text.text) == "down") all.node_down.push_back(index);
  if (e.type == EventType::NodeState && trace.string(e.text.text) == "up") all.node_up.push_back(index);
  if (e.type == EventType::LogLine) all.kernel_lines.push_back(index);
}

/// From a node, or from a rank about a port of its host.
void on_port(Survey& all, const Trace& trace, const Event& e, std::uint32_t index) {
  const int rank = e.src_kind == Source::Kind::Rank ? e.src_id : -1;
  const int node = rank >= 0 ? all.node_of(rank) : e.src_id;
  const std::string& port = trace.string(e.text.text);
  for (NicSurvey& nic : all.nics)
    if (nic.node == node && nic.rank == rank && nic.port == port) {
      if (e.text.code != 0 && nic.up_t < 0) nic.up_t = e.t;
      return;
    }
  if (e.text.code == 0) all.nics.push_back({node, rank, port, e.t, -1, index});
}

}  // namespace

const Call* RankSurvey::pending() const {
  const auto found =
      std::find_if(calls.begin(), calls.end(), [](const Call& call) { return call.finished < 0; });
  return found == calls.end() ? nullptr : &*found;
}

Survey survey(const Trace& trace, std::int64_t until) {
  Survey all;
  all.gpus_per_node = std::max(1, trace.header.gpus_per_node);
  all.end_t = std::min(until, trace.end_time());
  if (trace.header.detail != Detail::Groups)
    all.ranks.resize(static_cast<std::size_t>(std::max(0, trace.header.world_size)));
  for (const std::uint32_t index : trace.order()) {
    const Event& e = trace.events()[index];
    if (e.t > until) break;
    if (e.type == EventType::NicState) on_port(all, trace, e, index);
    switch (e.src_kind) {
      case Source::Kind::Rank:
        if (e.src_id >= 0 && e.src_id < all.world())
          on_rank_event(all.ranks[static_cast<std::size_t>(e.src_id)], trace, e, index);
        break;
      case Source::Kind::Node:
        on_node_event(all, trace, e, index);
        break;
      default:
        break;
    }
  }
  for (int r = 0; r < all.world(); ++r) {
    std::string& host = all.ranks[static_cast<std::size_t>(r)].host;
    if (host.empty()) host = "n" + std::to_string(all.node_of(r));
  }
  return all;
}

}  // namespace ringside::sim
