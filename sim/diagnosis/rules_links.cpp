// Links: one that a NIC gave up on, one that is slow, one that was silent for a while. A link has two ends
// and what lies between them, so a link's verdict names the link and lists both ends as candidates; no rank
// is a culprit.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "sim/base/text.hpp"
#include "sim/diagnosis/ring_traffic.hpp"

namespace ringside::sim {
namespace {

constexpr std::string_view kTwoEnds = "a link has two ends; the trace shows the link, not which end";

Diagnosis blame_link(const Case& c, DiagnosisKind kind, int from, int to, std::uint32_t event,
                     std::string what) {
  Diagnosis d = undecided(c, kind, {from, to}, event, std::move(what), kTwoEnds);
  d.confidence = Confidence::Likely;
  d.waits_for = {{to, from}};
  return d;
}

std::string link_name(int from, int to) {
  return rank_name(from) + " to " + rank_name(to);
}

/// The host after `before` in an error text: "… from peer n1 with status=…" gives "n1".
std::string host_after(std::string_view text, std::string_view before) {
  const std::size_t at = text.find(before);
  if (at == std::string_view::npos) return {};
  const std::size_t begin = at + before.size();
  const std::size_t end = text.find_first_of(" <:\n", begin);
  return std::string(text.substr(begin, end == std::string_view::npos ? end : end - begin));
}

/// The rank of that host which this rank sends to: its neighbour on the ring if it lives there.
int rank_on_host(const Case& c, const std::string& host, int sender) {
  const int next = (sender + 1) % c.survey.world();
  if (c.survey.host_of(next) == host) return next;
  for (int r = 0; r < c.survey.world(); ++r)
    if (r != sender && c.survey.host_of(r) == host) return r;
  return -1;
}

}  // namespace

/// A NIC that used up its retries says so, and to whom. If the other end were dead the rules before this one
/// would know: it is alive, so the way between them is not.
Verdict rule_nic_gave_up(const Case& c) {
  std::uint32_t first = kNone;
  for (const RankSurvey& rank : c.survey.ranks)
    for (const std::uint32_t event : rank.errors) {
      const std::string& text = c.text_of(event);
      const bool gave_up =
          contains(text, "IBV_WC_RETRY_EXC_ERR") || contains(text, "transport retry counter");
      if (gave_up && (first == kNone || c.trace.events()[event].t < c.trace.events()[first].t)) first = event;
    }
  if (first == kNone) return std::nullopt;
  const Event& e = c.trace.events()[first];
  const std::string host = host_after(c.trace.string(e.text.text), "from peer ");
  const int to = rank_on_host(c, host, e.src_id);
  if (to < 0) return std::nullopt;
  Diagnosis d = blame_link(c, DiagnosisKind::LinkDown, e.src_id, to, first,
                           "The link " + link_name(e.src_id, to) + " is down: " + rank_name(e.src_id) +
                               "'s NIC used up its retries, and " + host + " is alive.");
  d.first_cause.node = c.survey.host_of(e.src_id);
  return d;
}

namespace {

// On a real machine a transfer also waits for its process to be scheduled: below this, and of fewer
// transfers, nothing is said.
constexpr std::int64_t kScheduleNs = 1'000'000;
constexpr std::size_t kLeastTransfers = 8;
constexpr std::uint32_t kLeastBytes = 64 * 1024;
// Above this ratio to its like nothing ordinary explains the difference; in virtual time a link's own past is
// exact.
constexpr std::int64_t kSlowPercent = 300, kPastPercent = 130;

/// One link in one collective, for chunks of one size. A late receiver makes some transfers of a good link
/// look long; the shortest one is the link's own.
struct Crossing {
  std::uint32_t coll = 0, event = kNone;
  std::int64_t least = INT64_MAX;
  std::size_t transfers = 0;
};
using Link = std::tuple<int, int, std::uint32_t>;             // from, to, bytes
using Like = std::tuple<std::uint32_t, bool, std::uint32_t>;  // collective, within a node, bytes
using Crossings = std::map<Link, std::vector<Crossing>>;

Crossings crossings_of(const Case& c) {
  using Place =
      std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, int>;  // collective, step, chunk, rank
  const bool measured = c.trace.header.clock != "virtual";
  Crossings out;
  std::map<Place, std::uint32_t> begun;
  std::set<Place> awaited;  // the receiver was there first: the time is the link's alone
  for (const std::uint32_t i : c.trace.order()) {
    const Event& e = c.trace.events()[i];
    if (!c.seen(e)) break;
    if (e.type == EventType::RingStepBegin) begun[{e.ring.coll, e.ring.step, e.ring.chunk, e.src_id}] = i;
    if (e.type == EventType::RingStepWait) awaited.insert({e.ring.coll, e.ring.step, e.ring.chunk, e.src_id});
    if (e.type != EventType::RingStepEnd) continue;
    const bool waited = awaited.erase({e.ring.coll, e.ring.step, e.ring.chunk, e.src_id}) > 0;
    const auto found = begun.find({e.ring.coll, e.ring.step, e.ring.chunk, e.ring.peer});
    if (found == begun.end()) continue;
    const std::uint32_t event = found->second;
    begun.erase(found);
    if (!waited && !measured) continue;
    auto& list = out[{e.ring.peer, e.src_id, e.aux32}];
    if (list.empty() || list.back().coll != e.ring.coll) list.push_back({e.ring.coll, event, INT64_MAX, 0});
    Crossing& crossing = list.back();
    crossing.least = std::min(crossing.least, e.t - c.trace.events()[event].t);
    ++crossing.transfers;
  }
  return out;
}

struct SlowLink {
  Link link;
  const Crossing* first = nullptr;
  std::int64_t usual = 0, here = 0;
};

/// What a link usually takes, and from which per cent on it is slow: against its own kind in the same
/// collective, or against its own best so far.
struct Usual {
  std::int64_t ns = 0, percent = 0;
  bool is_slow(std::int64_t here) const { return ns > 0 && here * 100 >= ns * percent; }
};

Usual usual_of(const std::vector<std::int64_t>& like, std::int64_t best, bool measured) {
  const std::size_t least = measured ? 3 : 2;
  if (best != INT64_MAX && (!measured || like.size() < least))
    return {best, measured ? kSlowPercent : kPastPercent};
  if (like.size() < least) return {};
  const bool two = like.size() == 2;
  return {two ? std::min(like[0], like[1]) : median(like), kSlowPercent};
}

/// From the first time that it is slow on in at least half of the collectives.
std::optional<SlowLink> slowness(const Case& c, const Link& link, const std::vector<Crossing>& list,
                                 const std::map<Like, std::vector<std::int64_t>>& like) {
  const bool measured = c.trace.header.clock != "virtual";
  const auto [from, to, bytes] = link;
  const bool within = c.survey.node_of(from) == c.survey.node_of(to);
  SlowLink out{link, nullptr, 0, 0};
  std::int64_t slow = 0, since = 0, best = INT64_MAX;
  std::size_t transfers = 0;
  for (const Crossing& crossing : list) {
    const auto& others = like.at({crossing.coll, within, bytes});
    Usual usual = usual_of(others, best, measured);
    if (!usual.is_slow(crossing.least)) usual = usual_of(others, INT64_MAX, measured);
    best = std::min(best, crossing.least);
    if (out.first != nullptr) ++since;
    if (!usual.is_slow(crossing.least)) continue;
    if (measured && crossing.least - usual.ns < kScheduleNs) continue;
    if (out.first == nullptr) {
      out.first = &crossing;
      since = 1;
    }
    ++slow;
    transfers += crossing.transfers;
    if (crossing.least * std::max<std::int64_t>(1, out.usual) > out.here * usual.ns) {
      out.here = crossing.least;
      out.usual = usual.ns;
    }
  }
  if (out.first == nullptr || slow * 2 < since) return std::nullopt;
  if (measured && (bytes < kLeastBytes || transfers < kLeastTransfers)) return std::nullopt;
  // In the middle of a collective a receiver that has not come yet makes up to world - 1 sends look long.
  if (measured && c.survey.patience > 0 && transfers < c.survey.ranks.size()) return std::nullopt;
  return out;
}

/// "3.2", "17"
std::string times(std::int64_t here, std::int64_t usual) {
  const std::int64_t tenths = here * 10 / std::max<std::int64_t>(1, usual);
  if (tenths >= 100) return std::to_string(tenths / 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

Verdict slow_link_by_ring_steps(const Case& c) {
  const Crossings crossings = crossings_of(c);
  std::map<Like, std::vector<std::int64_t>> like;
  for (const auto& [link, list] : crossings) {
    const auto [from, to, bytes] = link;
    for (const Crossing& crossing : list)
      like[{crossing.coll, c.survey.node_of(from) == c.survey.node_of(to), bytes}].push_back(crossing.least);
  }
  std::optional<SlowLink> worst;
  for (const auto& [link, list] : crossings) {
    const auto found = slowness(c, link, list, like);
    if (!found) continue;
    if (!worst || found->here * worst->usual > worst->here * found->usual) worst = found;
  }
  if (!worst) return std::nullopt;
  const auto [from, to, bytes] = worst->link;
  Diagnosis d = blame_link(c, DiagnosisKind::LinkSlow, from, to, worst->first->event,
                           "The link " + link_name(from, to) + " takes " + times(worst->here, worst->usual) +
                               " times as long as its like.");
  const CollectiveInfo& info = c.trace.collective(worst->first->coll);
  d.first_cause.seq = info.seq;
  d.first_cause.step = info.step;
  return d;
}

/// One collective that all ranks made and finished.
struct Span {
  std::size_t at = 0;  // index in every rank's calls
  std::uint32_t coll = 0, event = kNone;
  std::int64_t took = 0;               // last finish - last call
  std::vector<std::int64_t> finished;  // per rank, from the first finish
};

std::vector<Span> spans_of(const Survey& survey) {
  std::vector<Span> spans;
  if (survey.world() < 2) return spans;
  for (std::size_t k = 0; k < survey.ranks.front().calls.size(); ++k) {
    Span span;
    span.at = k;
    span.coll = survey.ranks.front().calls[k].coll;
    std::int64_t called = 0, first = INT64_MAX, last = 0;
    bool whole = true;
    for (const RankSurvey& rank : survey.ranks) {
      whole =
          whole && rank.calls.size() > k && rank.calls[k].coll == span.coll && rank.calls[k].finished >= 0;
      if (!whole) break;
      if (rank.calls[k].enqueued >= called) {
        called = rank.calls[k].enqueued;
        span.event = rank.calls[k].event;
      }
      first = std::min(first, rank.calls[k].finished);
      last = std::max(last, rank.calls[k].finished);
      span.finished.push_back(rank.calls[k].finished);
    }
    if (!whole) continue;
    for (std::int64_t& t : span.finished) t -= first;
    span.took = last - called;
    spans.push_back(std::move(span));
  }
  return spans;
}

// A collective that a slow network explains is at least so much longer than before.
constexpr std::int64_t kLeastExtraNs = 20'000, kLeastMeasuredExtraNs = 100'000'000;

/// The collectives of the same size, and those that took far longer than the ones before them.
struct Held {
  std::vector<const Span*> usual, slow;
  std::size_t since = 0;  // collectives from the first slow one on
};

Held held_up(const Case& c, const std::vector<Span>& spans) {
  const std::int64_t least = c.trace.header.clock == "virtual" ? kLeastExtraNs : kLeastMeasuredExtraNs;
  Held out;
  std::map<std::pair<std::int64_t, DType>, std::vector<std::int64_t>> before;
  for (const Span& span : spans) {
    const CollectiveInfo& info = c.trace.collective(span.coll);
    auto& past = before[{info.count, info.dtype}];
    const std::int64_t usual = median(past);
    const bool slow = !past.empty() && span.took * 100 >= usual * kSlowPercent && span.took - usual >= least;
    if (!out.slow.empty() || slow) ++out.since;
    (slow ? out.slow : out.usual).push_back(&span);
    if (!slow) past.push_back(span.took);
  }
  return out;
}

/// In a ring the receiver behind the slow link is the last to finish, each rank after it one slow chunk
/// earlier, and the sender, which has its last chunk to send, with the receiver: a staircase that begins at
/// the link. -1 if the finish times are no such staircase.
int foot_of_stairs(const Span& slow, const Span& usual) {
  const auto n = static_cast<int>(slow.finished.size());
  if (n < 3) return -1;
  const auto later = [&](int r) {
    const auto i = static_cast<std::size_t>((r % n + n) % n);
    return slow.finished[i] - usual.finished[i];
  };
  int last = 0;
  for (int r = 1; r < n; ++r)
    if (later(r) > later(last)) last = r;
  for (const int receiver : {last, last + 1}) {  // the sender may be last by its latency
    bool down = later(receiver) > later(receiver + 1) && later(receiver - 1) > later(receiver + 1);
    for (int j = 1; down && j + 2 < n; ++j) down = later(receiver + j) >= later(receiver + j + 1);
    if (down) return receiver % n;
  }
  return -1;
}

Verdict slow_link_by_finish_times(const Case& c, const Held& held) {
  const Span& slow = *held.slow.front();
  const CollectiveInfo& info = c.trace.collective(slow.coll);
  const std::string what = "Since seq " + std::to_string(info.seq) + " a collective takes " +
                           format_duration(slow.took) + " instead of " +
                           format_duration(held.usual.back()->took) + " after all ranks have called it";
  const int to = info.algorithm == Algorithm::Ring ? foot_of_stairs(slow, *held.usual.back()) : -1;
  Diagnosis d;
  if (to >= 0) {
    const int from = (to + c.survey.world() - 1) % c.survey.world();
    d = blame_link(c, DiagnosisKind::LinkSlow, from, to, slow.event,
                   what + "; the ranks finish one after the other from " + rank_name(to) + " on: the link " +
                       link_name(from, to) + " is slow.");
  } else {
    d = undecided(c, DiagnosisKind::LinkSlow, c.all_ranks(), slow.event, what + ": a link is slow.",
                  "all ranks come and go together; without ring steps the trace does not show which link");
  }
  d.first_cause.seq = info.seq;
  d.first_cause.step = info.step;
  return d;
}

/// The longest silence inside a collective: no chunk began or ended. [from, to) in ns.
std::pair<std::int64_t, std::int64_t> longest_silence(const Case& c, std::uint32_t coll) {
  std::pair<std::int64_t, std::int64_t> longest{0, 0};
  std::int64_t last = -1;
  for (const std::uint32_t i : c.trace.order()) {
    const Event& e = c.trace.events()[i];
    if (!c.seen(e)) break;
    const bool moves = e.type == EventType::RingStepBegin || e.type == EventType::RingStepEnd;
    if (!moves || e.ring.coll != coll) continue;
    if (last >= 0 && e.t - last > longest.second - longest.first) longest = {last, e.t};
    last = e.t;
  }
  return longest;
}

Diagnosis silence_verdict(const Case& c, const Span& span, std::int64_t silent,
                          const std::optional<BlockedEdge>& edge) {
  const CollectiveInfo& info = c.trace.collective(span.coll);
  const std::string where = "seq " + std::to_string(info.seq) + " (step " + std::to_string(info.step) + ")";
  Diagnosis d;
  if (edge) {
    d = blame_link(
        c, DiagnosisKind::LinkDown, edge->from, edge->to, edge->event == kNone ? span.event : edge->event,
        "Nothing moved from " + link_name(edge->from, edge->to) + " for " + format_duration(silent) + " in " +
            where + ", then it went on: the link was down for a while.");
  } else {
    d = undecided(c, DiagnosisKind::LinkDown, c.all_ranks(), span.event,
                  "All ranks were inside " + where + " for " + format_duration(silent) + ", then it went on.",
                  "every rank had called; without ring steps the trace does not show which link was silent");
  }
  d.first_cause.seq = info.seq;
  d.first_cause.step = info.step;
  return d;
}

}  // namespace

Verdict rule_link_slow(const Case& c) {
  if (Verdict by_steps = slow_link_by_ring_steps(c)) return by_steps;
  const std::vector<Span> spans = spans_of(c.survey);
  const Held held = held_up(c, spans);
  if (held.usual.empty() || held.slow.size() * 2 < held.since || held.slow.size() < 2) return std::nullopt;
  return slow_link_by_finish_times(c, held);
}

Verdict rule_link_paused(const Case& c) {
  const std::int64_t least = c.trace.header.clock == "virtual" ? 50'000'000 : 1'000'000'000;
  const std::vector<Span> spans = spans_of(c.survey);
  const Held held = held_up(c, spans);
  const Span* longest = nullptr;
  for (const Span& span : spans)
    if (longest == nullptr || span.took > longest->took) longest = &span;
  if (longest == nullptr || longest->took < least) return std::nullopt;
  const auto [from, to] = longest_silence(c, longest->coll);
  // By its own ring steps (also in a job of one collective), or against the collectives before it.
  if (to - from >= least && to - from >= 10 * (longest->took - (to - from)))
    return silence_verdict(c, *longest, to - from, ring_state(c, longest->coll, from).blocked);
  const bool held_once = std::find(held.slow.begin(), held.slow.end(), longest) != held.slow.end();
  if (!held_once) return std::nullopt;
  return silence_verdict(c, *longest, longest->took, std::nullopt);
}

}  // namespace ringside::sim
