// Ranks that ended or ran out of memory.
#include <algorithm>

#include "sim/base/text.hpp"
#include "sim/diagnosis/rules.hpp"

namespace ringside::sim {
namespace {

constexpr int kSigKill = 9, kSigAbrt = 6, kSigTerm = 15;

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

}  // namespace

std::uint32_t own_error(const Case& c, const RankSurvey& rank) {
  for (const std::uint32_t event : rank.errors)
    if (!is_secondary(c.text_of(event))) return event;
  return kNone;
}

namespace {

/// Whether the end of a rank can be the cause: not a signal that a watchdog or a launcher sends to victims.
bool ended_by_itself(const Case& c, const RankSurvey& rank) {
  if (!rank.end || rank.ended_well()) return false;
  if (rank.end->by_signal && rank.end->code == kSigTerm) return false;
  const std::string& how = c.text_of(rank.end->event);  // a launcher or supervisor that cleans up says so
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
    const std::string& text = c.text_of(event);
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
      if (contains(c.text_of(event), "CUDA out of memory") || contains(c.text_of(event), "OutOfMemoryError"))
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
      if (!contains(c.text_of(event), "appears not to match") || (!say_so.empty() && say_so.back() == r))
        continue;
      say_so.push_back(r);
      if (first == kNone) first = event;
    }
  if (say_so.empty()) return std::nullopt;
  const std::string what =
      "DDP's construction: the parameters of " + rank_list(say_so) + " have other shapes than rank 0's.";
  const std::size_t others = static_cast<std::size_t>(c.survey.world()) - say_so.size();
  if (say_so.size() == others) {
    return undecided(c, DiagnosisKind::ShapeMismatch, c.all_ranks(), first, what,
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
    if (rank.first_nan || (error != kNone && contains(c.text_of(error), "found NaN"))) raised.push_back(r);
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

  const bool says_nan = error != kNone && contains(c.text_of(error), "found NaN");
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

}  // namespace ringside::sim
