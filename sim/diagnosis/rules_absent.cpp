// Ranks that others wait for: one that never came, one that came late, one that stopped inside, and the case
// that everybody is there and nothing moves.
#include <algorithm>

#include "sim/base/text.hpp"
#include "sim/diagnosis/ring_traffic.hpp"

namespace ringside::sim {
namespace {

/// Who made call `at` and never finished it, who never made it, who finished it.
struct Attendance {
  std::size_t at = SIZE_MAX;
  std::vector<int> waiting, missing, ahead;
};

Attendance attendance(const Survey& survey) {
  Attendance out;
  for (const RankSurvey& rank : survey.ranks)
    if (const Call* call = rank.pending())
      out.at = std::min(out.at, static_cast<std::size_t>(call - rank.calls.data()));
  if (out.at == SIZE_MAX) return out;
  for (int r = 0; r < survey.world(); ++r) {
    const auto& calls = survey.ranks[static_cast<std::size_t>(r)].calls;
    if (calls.size() <= out.at) {
      out.missing.push_back(r);
    } else if (calls[out.at].finished < 0) {
      out.waiting.push_back(r);
    } else {
      out.ahead.push_back(r);
    }
  }
  return out;
}

void draw_waits(Diagnosis& d, const std::vector<int>& waiting, const std::vector<int>& on) {
  constexpr std::size_t kMaxEdges = 4096;
  for (const int from : waiting)
    for (const int to : on)
      if (d.waits_for.size() < kMaxEdges) d.waits_for.emplace_back(from, to);
}

/// Nobody has waited for long yet: who is missing and alive may still come.
bool is_early(const Case& c, const Attendance& who) {
  return std::all_of(who.waiting.begin(), who.waiting.end(), [&](int r) {
    const RankSurvey& rank = c.survey.ranks[static_cast<std::size_t>(r)];
    return !rank.timeout && rank.errors.empty() &&
           c.survey.end_t - rank.calls[who.at].enqueued < c.survey.patience;
  });
}

const Call& waiting_call(const Case& c, const Attendance& who) {
  return c.survey.ranks[static_cast<std::size_t>(who.waiting.front())].calls[who.at];
}

/// One rank made a call that nobody else makes, after all others are through: the extra call is the fault,
/// not the absence.
Verdict extra_call(const Case& c, const Attendance& who) {
  const bool others_are_through = std::all_of(who.missing.begin(), who.missing.end(), [&](int r) {
    return c.survey.ranks[static_cast<std::size_t>(r)].ended_well();
  });
  if (who.waiting.size() >= who.missing.size() || !others_are_through) return std::nullopt;
  const Call& call = waiting_call(c, who);
  Diagnosis d = blame_rank(c, DiagnosisKind::SequenceMismatch, who.waiting.front(), call.event,
                           rank_list(who.waiting) + " made one call more than the others, who were done.");
  d.culprits = who.waiting;
  return d;
}

/// As many wait as are done (always so with two ranks): one call too many on this side or too few on that
/// one. A rank that left early says so in its log.
Verdict equal_sides(const Case& c, const Attendance& who) {
  if (who.waiting.size() < who.missing.size()) return std::nullopt;
  for (const int r : who.missing) {
    const RankSurvey& rank = c.survey.ranks[static_cast<std::size_t>(r)];
    if (!rank.ended_well()) return std::nullopt;
    for (const std::uint32_t event : rank.logs)
      if (contains(c.text_of(event), "exhausted") || contains(c.text_of(event), "StopIteration") ||
          contains(c.text_of(event), "skipping step"))
        return std::nullopt;
  }
  if (who.waiting.size() != who.missing.size()) return std::nullopt;
  std::vector<int> all = who.waiting;
  all.insert(all.end(), who.missing.begin(), who.missing.end());
  std::sort(all.begin(), all.end());
  const Call& call = waiting_call(c, who);
  return undecided(c, DiagnosisKind::SequenceMismatch, all, call.event,
                   rank_list(who.waiting) + " made seq " + std::to_string(call.seq) + ", " +
                       rank_list(who.missing) + " ended before it.",
                   "one call too many on one side looks like one too few on the other");
}

}  // namespace

Verdict rule_rank_absent(const Case& c) {
  const Attendance who = attendance(c.survey);
  if (who.waiting.empty() || who.missing.empty()) return std::nullopt;
  if (Verdict extra = extra_call(c, who)) return extra;
  const Call& call = waiting_call(c, who);
  const std::string where = "seq " + std::to_string(call.seq) + " (step " + std::to_string(call.step) + ")";

  if (Verdict even = equal_sides(c, who)) return even;
  std::vector<int> left, alive;
  for (const int r : who.missing)
    (c.survey.ranks[static_cast<std::size_t>(r)].ended_well() ? left : alive).push_back(r);
  if (is_early(c, who)) alive.clear();
  std::erase_if(alive, [&](int r) {  // at work a moment ago: it may still come
    return c.survey.end_t - c.survey.ranks[static_cast<std::size_t>(r)].last_event_t < c.survey.patience;
  });
  if (alive.empty() && left.empty()) return std::nullopt;
  const std::vector<int>& suspects = alive.empty() ? left : alive;
  const RankSurvey& first = c.survey.ranks[static_cast<std::size_t>(suspects.front())];
  const std::uint32_t event = alive.empty() ? first.end->event : first.last_own_event;
  if (event == kNone) return std::nullopt;
  Diagnosis d = blame_rank(
      c, alive.empty() ? DiagnosisKind::RankExitEarly : DiagnosisKind::HangRankMissing, suspects.front(),
      event,
      alive.empty() ? rank_list(suspects) + " ended cleanly before " + where + "; the others wait for it."
                    : rank_list(suspects) + " never joined " + where + " and is silent since.");
  d.culprits = suspects;
  d.first_cause.seq = call.seq;
  d.first_cause.step = call.step;
  d.evidence.push_back(cite(c, call.event, "waits in " + where));
  draw_waits(d, who.waiting, suspects);
  if (alive.empty())
    d.alternatives.push_back(
        {DiagnosisKind::UnevenData, suspects,
         "a loader that ends first looks the same from outside; its log would show the last batch"});
  trace_back_to_nan(c, d, call.step);
  return d;
}

namespace {

/// Inside the call but without a sign of life while others give one: ranks whose last heartbeat is more than
/// a second older than the newest that they could have joined.
std::vector<int> silent_ranks(const Survey& survey) {
  constexpr std::int64_t kSilentNs = 1'000'000'000;
  std::int64_t newest = -1;
  for (const RankSurvey& rank : survey.ranks) newest = std::max(newest, rank.last_heartbeat_t);
  std::vector<int> silent;
  for (int r = 0; r < survey.world(); ++r) {
    const RankSurvey& rank = survey.ranks[static_cast<std::size_t>(r)];
    const std::int64_t until = rank.end ? std::min(newest, rank.end->t) : newest;
    if (newest >= 0 && rank.last_heartbeat_t < until - kSilentNs) silent.push_back(r);
  }
  return silent;
}

Diagnosis blame_silent(const Case& c, const std::vector<int>& silent, const Call& call) {
  const RankSurvey& rank = c.survey.ranks[static_cast<std::size_t>(silent.front())];
  Diagnosis d = blame_rank(c, DiagnosisKind::HangRankMissing, silent.front(), rank.last_own_event,
                           rank_list(silent) + " stopped inside seq " + std::to_string(call.seq) +
                               " and gives no sign of life; the others do.");
  d.culprits = silent;
  return d;
}

}  // namespace

/// The watchdogs of the others ran out before this rank called; then it called. It was late, not gone.
Verdict rule_late_for_the_watchdog(const Case& c) {
  std::int64_t expired = INT64_MAX, waited = 0;
  std::size_t at = SIZE_MAX;
  for (const RankSurvey& rank : c.survey.ranks) {
    const Call* call = rank.pending();
    if (!rank.timeout || call == nullptr || c.trace.events()[*rank.timeout].t >= expired) continue;
    expired = c.trace.events()[*rank.timeout].t;
    waited = c.trace.events()[*rank.timeout].watchdog.waited_ns;
    at = static_cast<std::size_t>(call - rank.calls.data());
  }
  if (at == SIZE_MAX) return std::nullopt;
  std::vector<int> late;
  for (int r = 0; r < c.survey.world(); ++r) {
    const auto& calls = c.survey.ranks[static_cast<std::size_t>(r)].calls;
    if (calls.size() > at && calls[at].enqueued >= expired) late.push_back(r);
  }
  if (late.empty() || late.size() * 2 >= c.survey.ranks.size()) return std::nullopt;
  const Call& call = c.survey.ranks[static_cast<std::size_t>(late.front())].calls[at];
  Diagnosis d = blame_rank(c, DiagnosisKind::WatchdogFalseAlarm, late.front(), call.event,
                           rank_list(late) + " called seq " + std::to_string(call.seq) + " " +
                               format_duration(call.enqueued - expired + waited) +
                               " after the others, whose watchdogs had given up after " +
                               format_duration(waited) + ": late, not gone.");
  d.culprits = late;
  return d;
}

Verdict rule_stuck_inside(const Case& c) {
  const Attendance who = attendance(c.survey);
  if (who.waiting.empty() || !who.missing.empty() || is_early(c, who)) return std::nullopt;
  const Call& call = waiting_call(c, who);
  const RingState state = ring_state(c, call.coll, INT64_MAX);
  const std::vector<int> silent = silent_ranks(c.survey);
  const std::vector<int> all = c.all_ranks();
  Diagnosis d;
  if (!silent.empty() && silent.size() * 2 <= all.size()) {
    d = blame_silent(c, silent, call);
  } else if (state.blocked) {
    const BlockedEdge& edge = *state.blocked;
    d = undecided(c, DiagnosisKind::LinkDown, {edge.from, edge.to},
                  edge.event == kNone ? call.event : edge.event,
                  "A chunk " + std::string(edge.on_the_way ? "left " : "waits on ") + rank_name(edge.from) +
                      " and never reached " + rank_name(edge.to) + ".",
                  "either end of the link, or what is between them");
    d.confidence = Confidence::Likely;
  } else if (state.stopped.size() == 1) {
    const RankSurvey& rank = c.survey.ranks[static_cast<std::size_t>(state.stopped.front())];
    d = blame_rank(
        c, DiagnosisKind::HangRankMissing, state.stopped.front(), rank.last_own_event,
        rank_name(state.stopped.front()) + " stopped inside seq " + std::to_string(call.seq) + ".");
    d.confidence = Confidence::Likely;
  } else {
    d = undecided(
        c, DiagnosisKind::Unknown, all, call.event,
        "All ranks are inside seq " + std::to_string(call.seq) + " and nothing moves.",
        "every rank called, none finished: the network or one GPU, and the trace does not show which");
  }
  d.waits_for = state.waits;
  return d;
}

}  // namespace ringside::sim
