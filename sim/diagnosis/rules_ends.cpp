// Ranks that ended, ran out of memory, or never came.
#include <algorithm>

#include "sim/base/text.hpp"
#include "sim/diagnosis/ring_traffic.hpp"
#include "sim/diagnosis/rules.hpp"

namespace ringside::sim {
namespace {

constexpr int kSigKill = 9, kSigAbrt = 6, kSigTerm = 15;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Texts that only repeat that somebody else is gone: their author is a victim.
bool is_secondary(std::string_view text) {
  constexpr std::string_view kSecondary[] = {"Connection closed by peer",
                                             "Connection reset by peer",
                                             "Broken pipe",
                                             "remote process exited",
                                             "ncclRemoteError",
                                             "NCCL communicator was aborted",
                                             "Watchdog caught",
                                             "watchdog thread terminated",
                                             "Application timeout caused pair closure",
                                             "Timed out waiting",
                                             "timed out in blocking wait",
                                             "closing signal SIGTERM",
                                             "failed to pass monitoredBarrier",
                                             "received errors while waiting"};
  return std::any_of(std::begin(kSecondary), std::end(kSecondary),
                     [&](std::string_view part) { return contains(text, part); });
}

const std::string& text_of(const Case& c, std::uint32_t event) {
  return c.trace.string(c.trace.events()[event].text.text);
}

}  // namespace

std::uint32_t own_error(const Case& c, const RankSurvey& rank) {
  for (const std::uint32_t event : rank.errors)
    if (!is_secondary(text_of(c, event))) return event;
  return kNone;
}

namespace {

/// Whether the end of a rank can be the cause: not a signal that a watchdog or a launcher sends to victims.
bool ended_by_itself(const Case& c, const RankSurvey& rank) {
  if (!rank.end || rank.ended_well()) return false;
  if (rank.end->by_signal && rank.end->code == kSigTerm) return false;
  const std::string& how = text_of(c, rank.end->event);  // a launcher or supervisor that cleans up says so
  if (contains(how, "ended by the launcher") || contains(how, "ended by its supervisor")) return false;
  const bool after_timeout = rank.timeout && c.trace.events()[*rank.timeout].t <= rank.end->t;
  if (after_timeout) return false;
  const bool echo_only = !rank.errors.empty() && own_error(c, rank) == kNone;
  if (echo_only) return false;
  return !(rank.end->by_signal && rank.end->code == kSigAbrt && rank.errors.empty());
}

std::string signal_name(int signal) {
  switch (signal) {
    case 4:
      return "SIGILL";
    case 6:
      return "SIGABRT";
    case 7:
      return "SIGBUS";
    case 9:
      return "SIGKILL";
    case 11:
      return "SIGSEGV";
    case 15:
      return "SIGTERM";
    default:
      return "signal " + std::to_string(signal);
  }
}

/// Kernel or launcher lines of the OOM killer, on the node of the rank.
std::uint32_t oom_line(const Case& c, int node) {
  const auto is_oom = [&](std::uint32_t event) {
    const std::string& text = text_of(c, event);
    return contains(text, "Out of memory: Killed process") || contains(text, "oom-kill") ||
           contains(text, "oom_kill") || contains(text, "Out Of Memory");
  };
  for (const std::uint32_t event : c.survey.kernel_lines)
    if (c.trace.events()[event].src_id == node && is_oom(event)) return event;
  return kNone;
}

}  // namespace

Verdict rule_memory_ran_out(const Case& c) {
  for (int r = 0; r < c.survey.world(); ++r) {
    const RankSurvey& rank = c.survey.ranks[static_cast<std::size_t>(r)];
    for (const std::uint32_t event : rank.errors)
      if (contains(text_of(c, event), "CUDA out of memory") ||
          contains(text_of(c, event), "OutOfMemoryError"))
        return blame_rank(c, DiagnosisKind::GpuOom, r, event, rank_name(r) + " ran out of GPU memory.");
    if (!rank.end || !rank.end->by_signal || rank.end->code != kSigKill) continue;
    const std::uint32_t line = oom_line(c, c.survey.node_of(r));
    if (line == kNone) continue;
    Diagnosis d = blame_rank(
        c, DiagnosisKind::HostOom, r, line,
        "The host " + c.survey.host_of(r) + " ran out of memory and its kernel killed " + rank_name(r) + ".");
    d.evidence.push_back(cite(c, rank.end->event));
    return d;
  }
  return std::nullopt;
}

/// DDP compares the shapes of all parameters with rank 0's at construction. Who differs from rank 0 says so;
/// if most ranks say so, rank 0 is the odd one.
Verdict rule_ddp_construction(const Case& c) {
  std::vector<int> say_so;
  std::uint32_t first = kNone;
  for (int r = 0; r < c.survey.world(); ++r)
    for (const std::uint32_t event : c.survey.ranks[static_cast<std::size_t>(r)].errors) {
      if (!contains(text_of(c, event), "appears not to match") || (!say_so.empty() && say_so.back() == r))
        continue;
      say_so.push_back(r);
      if (first == kNone) first = event;
    }
  if (say_so.empty()) return std::nullopt;
  const std::string what =
      "DDP's construction: the parameters of " + rank_list(say_so) + " have other shapes than rank 0's.";
  const std::size_t others = static_cast<std::size_t>(c.survey.world()) - say_so.size();
  if (say_so.size() == others) {
    std::vector<int> all(static_cast<std::size_t>(c.survey.world()));
    for (int r = 0; r < c.survey.world(); ++r) all[static_cast<std::size_t>(r)] = r;
    return undecided(c, DiagnosisKind::ShapeMismatch, all, first, what,
                     "as many ranks stand on the other side, so the shapes do not decide who is wrong");
  }
  const std::vector<int> odd = say_so.size() < others ? say_so : std::vector<int>{0};
  Diagnosis d = blame_rank(c, DiagnosisKind::ShapeMismatch, odd.front(), first, what);
  d.culprits = odd;
  return d;
}

namespace {

/// Ranks that raise for NaN after a result was bad, or several in one step, are not the ones that made it:
/// the first to raise is the first to look.
Verdict nan_of_many(const Case& c, const std::vector<int>& ended, std::uint32_t event) {
  std::vector<int> raised;
  for (const int r : ended) {
    const RankSurvey& rank = c.survey.ranks[static_cast<std::size_t>(r)];
    const std::uint32_t error = own_error(c, rank);
    if (rank.first_nan || (error != kNone && contains(text_of(c, error), "found NaN"))) raised.push_back(r);
  }
  const bool from_a_result = result_was_bad_before(c, c.trace.events()[event].t);
  if (raised.size() < 2 && !from_a_result) return std::nullopt;
  std::sort(raised.begin(), raised.end());
  if (from_a_result) {
    raised.resize(static_cast<std::size_t>(c.survey.world()));
    for (int r = 0; r < c.survey.world(); ++r) raised[static_cast<std::size_t>(r)] = r;
  }
  return undecided(c, DiagnosisKind::Nan, raised, event,
                   "NaN or infinity reached several ranks before anything could tell them apart.",
                   from_a_result ? "the result of an AllReduce was bad before; it went to everybody"
                                 : "several ranks found NaN in the same step");
}

}  // namespace

Verdict rule_rank_ended_by_itself(const Case& c) {
  std::vector<int> ended;
  for (int r = 0; r < c.survey.world(); ++r)
    if (ended_by_itself(c, c.survey.ranks[static_cast<std::size_t>(r)])) ended.push_back(r);
  if (ended.empty()) return std::nullopt;
  const auto time_of = [&](int r) {
    const RankSurvey& rank = c.survey.ranks[static_cast<std::size_t>(r)];
    const std::uint32_t error = own_error(c, rank);
    return error == kNone ? rank.end->t : std::min(rank.end->t, c.trace.events()[error].t);
  };
  std::stable_sort(ended.begin(), ended.end(), [&](int a, int b) { return time_of(a) < time_of(b); });
  const int first = ended.front();
  const RankSurvey& rank = c.survey.ranks[static_cast<std::size_t>(first)];
  const std::uint32_t error = own_error(c, rank);
  const std::uint32_t event = error == kNone ? rank.end->event : error;

  const bool says_nan = error != kNone && contains(text_of(c, error), "found NaN");
  if (rank.first_nan || says_nan) {  // the chain NaN -> raise -> absent
    if (Verdict shared = nan_of_many(c, ended, event)) return shared;
    Diagnosis d = blame_rank(
        c, DiagnosisKind::Nan, first, rank.first_nan.value_or(event),
        rank_name(first) + " found NaN in its own gradients and raised; it never reached the AllReduce.");
    if (rank.first_nan) d.evidence.push_back(cite(c, event));
    d.evidence.push_back(cite(c, rank.end->event));
    return d;
  }
  const std::string how = rank.end->by_signal ? "by " + signal_name(rank.end->code)
                                              : "with exit code " + std::to_string(rank.end->code);
  Diagnosis d =
      blame_rank(c, DiagnosisKind::RankCrash, first, event, rank_name(first) + " ended " + how + ".");
  if (event != rank.end->event) d.evidence.push_back(cite(c, rank.end->event));
  for (const int other : ended) {  // several at the very same moment: all are named
    if (other == first || time_of(other) != time_of(first)) continue;
    d.culprits.push_back(other);
    d.evidence.push_back(cite(c, c.survey.ranks[static_cast<std::size_t>(other)].end->event));
  }
  std::sort(d.culprits.begin(), d.culprits.end());
  return d;
}

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
      if (contains(text_of(c, event), "exhausted") || contains(text_of(c, event), "StopIteration") ||
          contains(text_of(c, event), "skipping step"))
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
  std::vector<int> all(static_cast<std::size_t>(c.survey.world()));
  for (int r = 0; r < c.survey.world(); ++r) all[static_cast<std::size_t>(r)] = r;
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
