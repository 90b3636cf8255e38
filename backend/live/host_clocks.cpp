#include "backend/live/host_clocks.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "backend/trace_reader.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/text.hpp"
#include "sim/diagnosis/from_trace.hpp"

namespace ringside::backend {
namespace {

/// Crystals of computers are within 50 ppm each; two may drift apart by both.
constexpr std::int64_t kDriftPpm = 100;
constexpr std::size_t kPiece = 1 << 20;
constexpr std::size_t kCallsKept = 64;  // unfinished ones that are remembered

std::int64_t drift_since(std::int64_t then, std::int64_t now) {
  return (now > then ? now - then : then - now) / 1'000'000 * kDriftPpm;
}

}  // namespace

void HostClocks::lives_on(int rank, const std::string& host) {
  host_of_[rank] = host;
}

bool HostClocks::several_hosts() const {
  std::set<std::string_view> names;
  for (const auto& [rank, host] : host_of_) names.insert(host);
  return names.size() > 1;
}

HostClocks::Call& HostClocks::call_of(std::string_view comm, std::int64_t seq) {
  if (calls_.size() >= kCallsKept) calls_.erase(calls_.begin());  // never finished by all
  return calls_[{std::string(comm), seq}];
}

void HostClocks::started(int rank, std::string_view comm, std::int64_t seq, int, std::int64_t t) {
  call_of(comm, seq).started[rank] = t;
}

void HostClocks::finished(int rank, std::string_view comm, std::int64_t seq, int world, std::int64_t t) {
  Call& call = call_of(comm, seq);
  call.finished[rank] = t;
  if (static_cast<int>(call.finished.size()) < world) return;
  settle(call);
  calls_.erase({std::string(comm), seq});
}

/// Nobody finishes before the last one has started.
void HostClocks::settle(const Call& call) {
  for (const auto& [a, started] : call.started)
    for (const auto& [b, finished] : call.finished) precedes(a, started, b, finished);
}

void HostClocks::precedes(int a, std::int64_t ta, int b, std::int64_t tb) {
  const auto reference = host_of_.find(0);
  const auto at_a = host_of_.find(a), at_b = host_of_.find(b);
  if (reference == host_of_.end() || at_a == host_of_.end() || at_b == host_of_.end()) return;
  if (at_a->second == at_b->second) return;
  if (at_a->second == reference->second) learn(at_b->second, true, tb - ta, tb);
  if (at_b->second == reference->second) learn(at_a->second, false, ta - tb, ta);
}

void HostClocks::learn(const std::string& name, bool is_upper, std::int64_t value, std::int64_t at) {
  Host& host = hosts_[name];
  ++host.events;
  host.latest = std::max(host.latest, at);
  Bound& mine = is_upper ? host.upper : host.lower;
  Bound& other = is_upper ? host.lower : host.upper;
  if (other.known) {
    const std::int64_t loose = drift_since(other.at, at);
    const bool contradicts = is_upper ? value < other.value - loose : value > other.value + loose;
    if (contradicts) {
      other.known = false;
      mine.known = false;
      ++host.resets;
    }
  }
  const std::int64_t loose = drift_since(mine.at, at);
  const bool tighter = is_upper ? value <= mine.value + loose : value >= mine.value - loose;
  if (!mine.known || tighter) mine = {value, at, true};
}

HostOffset HostClocks::offset_of(const std::string& name, const Host& host) const {
  const std::int64_t lower = host.lower.value - drift_since(host.lower.at, host.latest);
  const std::int64_t upper = host.upper.value + drift_since(host.upper.at, host.latest);
  HostOffset out;
  out.host = name;
  out.reference = host_of_.at(0);
  out.offset_ns = lower + (upper - lower) / 2;
  out.error_ns = (upper - lower + 1) / 2;
  out.events = host.events;
  out.resets = host.resets;
  return out;
}

std::vector<HostOffset> HostClocks::offsets() const {
  std::vector<HostOffset> out;
  for (const auto& [name, host] : hosts_)
    if (host.lower.known && host.upper.known) out.push_back(offset_of(name, host));
  return out;
}

std::optional<HostOffset> HostClocks::offset_of(int rank) const {
  const auto name = host_of_.find(rank);
  if (name == host_of_.end()) return std::nullopt;
  const auto host = hosts_.find(name->second);
  if (host == hosts_.end() || !host->second.lower.known || !host->second.upper.known) return std::nullopt;
  return offset_of(host->first, host->second);
}

void TraceClocks::update(const sim::Trace& trace) {
  if (trace.size() < seen_) *this = {};
  const int world = trace.header.world_size;
  for (; seen_ < trace.size(); ++seen_) {
    const sim::Event& e = trace.events()[seen_];
    if (e.rank() < 0) continue;
    if (e.type == sim::EventType::Hello) {
      clocks_.lives_on(e.rank(), trace.hello(e.hello.hello).host);
      met_.insert(e.rank());
    }
    // Lines of a rank may come before another rank's first one, which tells of a second host.
    if (static_cast<int>(met_.size()) >= world && !clocks_.several_hosts()) continue;
    const bool starts = e.type == sim::EventType::CollectiveStarted, ends = e.type == sim::EventType::CollectiveFinished;
    if ((!starts && !ends) || e.collective.collective != sim::Collective::AllReduce) continue;
    const sim::CollectiveInfo& info = trace.collective(e.collective.coll);
    if (starts)
      clocks_.started(e.rank(), trace.string(info.comm), info.seq, world, e.t);
    else
      clocks_.finished(e.rank(), trace.string(info.comm), info.seq, world, e.t);
  }
}

std::vector<HostOffset> host_clocks(const sim::Trace& trace) {
  HostClocks clocks;
  for (const sim::Event& e : trace.events())
    if (e.type == sim::EventType::Hello && e.rank() >= 0) clocks.lives_on(e.rank(), trace.hello(e.hello.hello).host);
  if (!clocks.several_hosts()) return {};
  using Chunk = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, int, int>;  // call, step, chunk, from, to
  std::map<Chunk, std::int64_t> sent;
  const int world = trace.header.world_size;
  for (const sim::Event& e : trace.events()) {  // in order of arrival: hosts' clocks give none
    if (e.rank() < 0) continue;
    const bool of_call = e.type == sim::EventType::CollectiveStarted || e.type == sim::EventType::CollectiveFinished;
    if (of_call && e.collective.collective == sim::Collective::AllReduce) {
      const sim::CollectiveInfo& info = trace.collective(e.collective.coll);
      const std::string& comm = trace.string(info.comm);
      if (e.type == sim::EventType::CollectiveStarted)
        clocks.started(e.rank(), comm, info.seq, world, e.t);
      else
        clocks.finished(e.rank(), comm, info.seq, world, e.t);
    } else if (e.type == sim::EventType::RingStepBegin) {
      sent[{e.ring.coll, e.ring.step, e.ring.chunk, e.rank(), e.ring.peer}] = e.t;
    }
  }
  for (const sim::Event& e : trace.events()) {
    if (e.type != sim::EventType::RingStepEnd || e.rank() < 0) continue;
    const auto found = sent.find({e.ring.coll, e.ring.step, e.ring.chunk, e.ring.peer, e.rank()});
    if (found != sent.end()) clocks.precedes(e.ring.peer, found->second, e.rank(), e.t);
  }
  return clocks.offsets();
}

std::string offset_text(const HostOffset& offset) {
  const std::string within = ", within " + sim::format_duration(offset.error_ns) + ", from " +
                             sim::with_commas(offset.events) + " pairs of events";
  std::string text = "clock of " + sim::escape_for_display(offset.host) + ": ";
  if (offset.may_agree())
    text += "the same as that of " + sim::escape_for_display(offset.reference);
  else
    text += sim::format_duration(std::abs(offset.offset_ns)) + (offset.offset_ns > 0 ? " ahead of " : " behind ") +
            sim::escape_for_display(offset.reference);
  text += within;
  if (offset.resets > 0) text += "; it was set " + std::to_string(offset.resets) + " times";
  return text;
}

namespace {

/// The trace with every host's events moved by its offset, `at` errors away from the estimate.
sim::Trace on_one_time(const sim::Trace& trace, const std::vector<HostOffset>& offsets, int at) {
  std::map<std::string, std::int64_t> by_host;
  for (const HostOffset& offset : offsets) by_host[offset.host] = offset.offset_ns + at * offset.error_ns;
  std::map<int, std::int64_t> by_rank;
  for (const sim::Event& e : trace.events()) {
    if (e.type != sim::EventType::Hello || e.rank() < 0) continue;
    const auto found = by_host.find(trace.hello(e.hello.hello).host);
    if (found != by_host.end()) by_rank[e.rank()] = found->second;
  }
  // Written and read again, as a recording with right clocks would have been.
  TraceReader reader("recording");
  std::string lines;
  sim::append_header_json(lines, trace.header);
  lines += '\n';
  for (sim::Event e : trace.events()) {
    const auto found = e.rank() < 0 ? by_rank.end() : by_rank.find(e.rank());
    if (found != by_rank.end()) e.t -= found->second;
    sim::append_event_json(lines, trace, e);
    lines += '\n';
    if (lines.size() < kPiece) continue;
    reader.feed(lines);
    lines.clear();
  }
  reader.feed(lines);
  return std::move(reader.trace());
}

}  // namespace

sim::Diagnosis diagnose_with_clocks(const sim::Trace& trace, const std::vector<HostOffset>& offsets,
                                    std::optional<std::int64_t> until) {
  const auto judge = [&](const sim::Trace& on_time) {
    return until ? sim::diagnose_at(on_time, *until) : sim::diagnose(on_time);
  };
  if (offsets.empty()) return judge(trace);
  sim::Diagnosis diagnosis = judge(on_one_time(trace, offsets, 0));
  for (const int at : {-1, 1}) {
    const sim::Diagnosis other = judge(on_one_time(trace, offsets, at));
    if (other.kind == diagnosis.kind && other.culprits == diagnosis.culprits) continue;
    diagnosis.alternatives.push_back({other.kind, other.culprits,
                                      "the clocks of the hosts are not known well enough to tell the two apart"});
    diagnosis.confidence = sim::Confidence::Unknown;
  }
  return diagnosis;
}

}  // namespace ringside::backend
