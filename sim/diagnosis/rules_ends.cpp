// Ranks that ended, ran out of memory, or never came.
#include <algorithm>

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

/// The first error of a rank that is its own and not an echo of another's end; kNone if it has none.
std::uint32_t own_error(const Case& c, const RankSurvey& rank) {
  for (const std::uint32_t event : rank.errors)
    if (!is_secondary(text_of(c, event))) return event;
  return kNone;
}

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

  if (rank.first_nan) {  // the chain NaN -> raise -> absent
    Diagnosis d = blame_rank(
        c, DiagnosisKind::Nan, first, *rank.first_nan,
        rank_name(first) + " found NaN in its own gradients and raised; it never reached the AllReduce.");
    d.evidence.push_back(cite(c, event));
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

}  // namespace

Verdict rule_rank_absent(const Case& c) {
  const Attendance who = attendance(c.survey);
  if (who.waiting.empty() || who.missing.empty()) return std::nullopt;
  if (Verdict extra = extra_call(c, who)) return extra;
  const Call& call = waiting_call(c, who);
  const std::string where = "seq " + std::to_string(call.seq) + " (step " + std::to_string(call.step) + ")";

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
  return d;
}

Verdict rule_stuck_inside(const Case& c) {
  const Attendance who = attendance(c.survey);
  if (who.waiting.empty() || !who.missing.empty() || is_early(c, who)) return std::nullopt;
  const Call& call = waiting_call(c, who);
  // The transfer that began and never arrived, and the ranks that wait for a peer.
  std::vector<std::pair<int, int>> waits;
  std::vector<std::uint32_t> open;  // ring_step_begin without an end
  for (std::uint32_t i = 0; i < c.trace.size(); ++i) {
    const Event& e = c.trace.events()[i];
    if (e.type != EventType::RingStepBegin && e.type != EventType::RingStepEnd &&
        e.type != EventType::RingStepWait)
      continue;
    if (!c.seen(e)) continue;
    if (e.ring.coll != call.coll) continue;
    if (e.type == EventType::RingStepBegin) open.push_back(i);
    // Who waits for its own GPU waits for nobody else.
    if (e.type == EventType::RingStepWait && static_cast<WaitsFor>(e.flags) != WaitsFor::Gpu)
      waits.emplace_back(e.src_id, e.ring.peer);
    if (e.type != EventType::RingStepEnd) continue;
    std::erase_if(open, [&](std::uint32_t b) {
      const Event& begin = c.trace.events()[b];
      return begin.ring.chunk == e.ring.chunk && begin.ring.step == e.ring.step &&
             begin.src_id == e.ring.peer;
    });
    std::erase(waits, std::pair{e.src_id, e.ring.peer});
  }
  std::vector<int> stopped;  // nobody that they wait for, yet others wait for them
  for (const auto& [from, to] : waits) {
    const bool waits_itself =
        std::any_of(waits.begin(), waits.end(), [to = to](const auto& w) { return w.first == to; });
    if (!waits_itself && std::find(stopped.begin(), stopped.end(), to) == stopped.end())
      stopped.push_back(to);
  }
  if (open.size() == 1) {
    const Event& begin = c.trace.events()[open.front()];
    Diagnosis d = undecided(
        c, DiagnosisKind::LinkDown, {begin.src_id, begin.ring.peer}, open.front(),
        "A chunk left " + rank_name(begin.src_id) + " and never reached " + rank_name(begin.ring.peer) + ".",
        "either end of the link, or what is between them");
    d.confidence = Confidence::Likely;
    d.waits_for = waits;
    return d;
  }
  if (stopped.size() == 1) {
    const RankSurvey& rank = c.survey.ranks[static_cast<std::size_t>(stopped.front())];
    Diagnosis d =
        blame_rank(c, DiagnosisKind::HangRankMissing, stopped.front(), rank.last_own_event,
                   rank_name(stopped.front()) + " stopped inside seq " + std::to_string(call.seq) + ".");
    d.confidence = Confidence::Likely;
    d.waits_for = waits;
    return d;
  }
  std::vector<int> all(static_cast<std::size_t>(c.survey.world()));
  for (int r = 0; r < c.survey.world(); ++r) all[static_cast<std::size_t>(r)] = r;
  Diagnosis d = undecided(
      c, DiagnosisKind::Unknown, all, call.event,
      "All ranks are inside seq " + std::to_string(call.seq) + " and nothing moves.",
      "every rank called, none finished: the network or one GPU, and the trace does not show which");
  d.waits_for = waits;
  return d;
}

}  // namespace ringside::sim
