#include "sim/diagnosis/from_trace.hpp"

#include <algorithm>

#include "sim/base/text.hpp"
#include "sim/diagnosis/rules.hpp"

namespace ringside::sim {
namespace {

using Rule = Verdict (*)(const Case&);

// Strongest evidence first. Calls come before ends: a mismatch makes ranks end, an end makes no mismatch.
constexpr Rule kRules[] = {
    rule_kernel_says_hardware,
    rule_node_down,
    rule_memory_ran_out,
    rule_bad_number_first,
    rule_calls_differ,
    rule_ddp_construction,
    rule_rank_ended_by_itself,
    rule_port_down,
    rule_rank_absent,
    rule_nic_gave_up,
    rule_late_for_the_watchdog,
    rule_stuck_inside,
    rule_number_changed,
    rule_nan,
    rule_weights_differ,
    rule_straggler,
    rule_link_slow,
    rule_link_paused,
    rule_input_stands_out,
};

bool anything_wrong(const Survey& s) {
  return std::any_of(s.ranks.begin(), s.ranks.end(), [](const RankSurvey& rank) {
    return rank.timeout || !rank.errors.empty() || (rank.end && !rank.ended_well());
  });
}

/// Everybody who was stopped or held up without being a culprit.
std::vector<int> victims_of(const Case& c, const Diagnosis& d) {
  std::vector<int> victims;
  for (int r = 0; r < c.survey.world(); ++r) {
    if (std::binary_search(d.culprits.begin(), d.culprits.end(), r)) continue;
    const RankSurvey& rank = c.survey.ranks[static_cast<std::size_t>(r)];
    const bool held_up = rank.pending() != nullptr || rank.timeout || !rank.errors.empty() ||
                         (rank.end && !rank.ended_well()) || rank.first_nan;
    if (held_up) victims.push_back(r);
  }
  return victims;
}

bool is_culprit(const Diagnosis& d, int rank) {
  return std::binary_search(d.culprits.begin(), d.culprits.end(), rank);
}

/// torchrun's "Root Cause (first observed failure)": the smallest time stamp with 1 s resolution, on a tie
/// the lowest rank.
void torchrun_says(const Case& c, Diagnosis& d) {
  int named = -1;
  std::int64_t second = INT64_MAX;
  for (int r = 0; r < c.survey.world(); ++r) {
    const auto& end = c.survey.ranks[static_cast<std::size_t>(r)].end;
    if (!end || (!end->by_signal && end->code == 0) || end->t / 1'000'000'000 >= second) continue;
    second = end->t / 1'000'000'000;
    named = r;
  }
  if (named < 0) return;
  d.tools_would_say.push_back({"torchrun",
                               "Root Cause (first observed failure): rank " + std::to_string(named),
                               is_culprit(d, named) ? ToolVerdict::Right : ToolVerdict::Misleading});
}

void watchdog_says(const Case& c, Diagnosis& d) {
  std::vector<int> shouting;
  for (int r = 0; r < c.survey.world(); ++r)
    if (c.survey.ranks[static_cast<std::size_t>(r)].timeout) shouting.push_back(r);
  if (shouting.empty()) {
    d.tools_would_say.push_back({"watchdog", "", ToolVerdict::Silent});
    return;
  }
  const bool all_guilty =
      std::all_of(shouting.begin(), shouting.end(), [&](int r) { return is_culprit(d, r); });
  d.tools_would_say.push_back({"watchdog",
                               "Watchdog caught collective operation timeout on " + rank_list(shouting),
                               all_guilty ? ToolVerdict::Right : ToolVerdict::Misleading});
}

/// With equal counts the Flight Recorder's analyzer still compares sizes, dtypes and types of the calls of
/// one sequence number. It takes the first rank for innocent: where rank 0 is the odd one it lists all
/// others.
ToolSays recorder_on_equal_counts(const Diagnosis& d) {
  const bool compares = d.kind == DiagnosisKind::ShapeMismatch || d.kind == DiagnosisKind::DtypeMismatch ||
                        d.kind == DiagnosisKind::CollectiveOrder;
  if (!compares || d.culprits.empty() || !d.first_cause.seq)
    return {"flight recorder", "", ToolVerdict::Silent};
  const bool first_is_odd = is_culprit(d, 0);
  return {"flight recorder",
          "Input/output mismatch in the collective sequence number: " + std::to_string(*d.first_cause.seq) +
              (first_is_odd ? ", culprits: all ranks but 0" : ", culprit " + rank_list(d.culprits)),
          first_is_odd ? ToolVerdict::Misleading : ToolVerdict::Right};
}

/// Flight Recorder and RAS count calls: they are right about who is behind, and silent or misleading where
/// the count is equal.
void counters_say(const Case& c, Diagnosis& d) {
  std::size_t least = SIZE_MAX, most = 0;
  for (const RankSurvey& rank : c.survey.ranks) {
    least = std::min(least, rank.calls.size());
    most = std::max(most, rank.calls.size());
  }
  if (c.survey.ranks.empty() || least == most) {
    d.tools_would_say.push_back(recorder_on_equal_counts(d));
    d.tools_would_say.push_back({"RAS", "", ToolVerdict::Silent});
    return;
  }
  std::vector<int> behind;
  for (int r = 0; r < c.survey.world(); ++r)
    if (c.survey.ranks[static_cast<std::size_t>(r)].calls.size() == least) behind.push_back(r);
  const bool right = !d.culprits.empty() &&
                     std::all_of(behind.begin(), behind.end(), [&](int r) { return is_culprit(d, r); });
  const ToolVerdict verdict = right ? ToolVerdict::Right : ToolVerdict::Misleading;
  d.tools_would_say.push_back({"flight recorder",
                               "Not all ranks joining collective, sequence number: " +
                                   std::to_string(least + 1) + ", missing " + rank_list(behind),
                               verdict});
  d.tools_would_say.push_back({"RAS",
                               std::to_string(c.survey.world() - static_cast<int>(behind.size())) +
                                   " ranks have launched up to operation " + std::to_string(most) + ", " +
                                   std::to_string(behind.size()) + " up to operation " +
                                   std::to_string(least),
                               verdict});
}

bool numbers_are_wrong(DiagnosisKind kind) {
  return kind == DiagnosisKind::SilentCorruption || kind == DiagnosisKind::OpMismatch ||
         kind == DiagnosisKind::ShapeMismatch || kind == DiagnosisKind::DtypeMismatch ||
         kind == DiagnosisKind::SequenceMismatch;
}

void gauges_say(const Case& c, Diagnosis& d) {
  const bool waiting = std::any_of(c.survey.ranks.begin(), c.survey.ranks.end(),
                                   [](const RankSurvey& rank) { return rank.pending() != nullptr; });
  if (waiting) {
    d.tools_would_say.push_back(
        {"nvidia-smi", "100 % utilisation on the ranks that wait (the NCCL kernel spins); their power is low",
         ToolVerdict::Misleading});
  } else {
    d.tools_would_say.push_back({"nvidia-smi", "", ToolVerdict::Silent});
  }
}

/// The loss is logged by one rank or averaged over all: NaN there says when, never who; and numbers that are
/// only wrong do not show in it.
void loss_curve_says(const Case& c, Diagnosis& d) {
  std::int32_t first_nan = INT32_MAX, latest = 0;
  for (const RankSurvey& rank : c.survey.ranks)
    for (const LossAt& at : rank.losses) {
      if (at.loss - at.loss != 0.0) first_nan = std::min(first_nan, at.step);
      latest = std::max(latest, at.step);
    }
  if (first_nan != INT32_MAX) {
    d.tools_would_say.push_back({"loss curve",
                                 "NaN from step " + std::to_string(first_nan) + " on, whoever began it",
                                 ToolVerdict::Misleading});
  } else if (latest > 0 && numbers_are_wrong(d.kind)) {
    d.tools_would_say.push_back({"loss curve",
                                 "finite up to step " + std::to_string(latest) + ": as if nothing were wrong",
                                 ToolVerdict::Misleading});
  } else {
    d.tools_would_say.push_back({"loss curve", "", ToolVerdict::Silent});
  }
}

std::string drain(const Diagnosis& d) {
  if (d.culprit_nodes.empty() || !is_safe_host_name(d.culprit_nodes.front())) return "Drain the node.";
  return "scontrol update nodename=" + d.culprit_nodes.front() +
         " state=drain reason=" + std::string(to_word(d.kind));
}

/// What an operator does next, cheapest check first (failures: a look at the gradient norm costs seconds, a
/// stack minutes).
std::vector<std::string> next_steps_for(const Diagnosis& d) {
  const std::string who = d.culprits.empty() ? "each candidate" : rank_list(d.culprits);
  switch (d.kind) {
    case DiagnosisKind::None:
      return {};
    case DiagnosisKind::Nan:
      return {"Look at the gradient norm and the batch of " + who + " in that step.",
              "Run that batch again on another GPU: NaN again = data or code, no NaN = suspect the GPU.",
              "Restart from the last checkpoint before the step."};
    case DiagnosisKind::HangRankMissing:
      return {"py-spy dump the process of " + who + " on its node.",
              "Read its last log lines before the others' timeout.",
              "Set TORCH_FR_BUFFER_SIZE=2000 so that the next hang leaves Flight Recorder dumps.", drain(d)};
    case DiagnosisKind::SequenceMismatch:
    case DiagnosisKind::CollectiveOrder:
    case DiagnosisKind::ShapeMismatch:
    case DiagnosisKind::DtypeMismatch:
    case DiagnosisKind::OpMismatch:
      return {"Compare the code path of " + who +
                  " with the others' before this call (if, continue, break, data length).",
              "Run a few steps with TORCH_DISTRIBUTED_DEBUG=DETAIL: it turns the mismatch into an error with "
              "both sides."};
    case DiagnosisKind::RankCrash:
    case DiagnosisKind::RankExitEarly:
      return {"Read the log of " + who + " above the first line of the others.",
              "Restart from the last checkpoint."};
    case DiagnosisKind::UnevenData:
      return {"Give all ranks the same number of batches (drop_last, join)."};
    case DiagnosisKind::HostOom:
      return {"dmesg -T | grep -i oom", "Use fewer loader workers or a smaller cache on that host.",
              drain(d)};
    case DiagnosisKind::GpuOom:
      return {"Use a smaller batch or activation checkpointing on " + who + "."};
    case DiagnosisKind::GpuHw:
    case DiagnosisKind::NvlinkHw:
    case DiagnosisKind::PcieError:
      return {drain(d), "nvidia-smi -q -d ECC,ROW_REMAPPER,PERFORMANCE", "dcgmi diag -r 3",
              "Restart from the last checkpoint without the node."};
    case DiagnosisKind::IbError:
    case DiagnosisKind::LinkDown:
    case DiagnosisKind::LinkSlow:
      return {"ibqueryerrors", "Run nccl-tests between the two ends of the link.", drain(d)};
    case DiagnosisKind::NodeFailure:
      return {drain(d), "Restart from the last checkpoint without the node."};
    case DiagnosisKind::SilentCorruption:
      return {"Compare the weights of " + who + " with another rank's.", "Run a GPU stress test on its node.",
              drain(d)};
    case DiagnosisKind::WatchdogFalseAlarm:
      return {
          "Look at what " + who + " did in that step: checkpoint, evaluation, a long batch.",
          "Give the process group a longer timeout, or put a barrier with its own timeout before that work."};
    case DiagnosisKind::Straggler:
      return {"Compare clocks, temperature and power of " + who +
                  " with its neighbours: nvidia-smi -q -d CLOCK,POWER,TEMPERATURE",
              "Look at its data loader and its CPU load."};
    default:
      return {"Collect Flight Recorder dumps and the log of every rank, and ask again."};
  }
}

void finish(const Case& c, Diagnosis& d) {
  d.world_size = c.trace.header.world_size;
  std::sort(d.culprits.begin(), d.culprits.end());
  if (d.kind == DiagnosisKind::None) return;
  d.victims = victims_of(c, d);
  torchrun_says(c, d);
  watchdog_says(c, d);
  counters_say(c, d);
  gauges_say(c, d);
  loss_curve_says(c, d);
  d.next_steps = next_steps_for(d);
}

}  // namespace

namespace {

Diagnosis judge(const Trace& trace, const Survey& all) {
  const Case c{trace, all};
  Diagnosis result;
  for (const Rule rule : kRules) {
    if (Verdict verdict = rule(c)) {
      result = std::move(*verdict);
      break;
    }
  }
  if (result.kind == DiagnosisKind::None && anything_wrong(all)) {
    result.kind = DiagnosisKind::Unknown;
    result.confidence = Confidence::Unknown;
    result.first_cause.what = "Something failed, and the trace does not show what.";
  }
  finish(c, result);
  return result;
}

}  // namespace

namespace {

/// A recording of a live job that ends because somebody stopped the job or the recording, not because of what
/// the job did: no rank ended, gave up or complained, all were heard of a moment ago, and nobody had been in a call
/// for long. Then somebody is inside a call as always, and that is no failure.
bool was_cut(const Trace& trace, const Survey& all) {
  if (trace.header.source != "live" || all.ranks.empty()) return false;
  std::int64_t last = -1;
  std::vector<std::int64_t> took;
  for (const RankSurvey& rank : all.ranks) {
    if (rank.end || rank.timeout || !rank.errors.empty() || rank.calls.empty()) return false;
    last = std::max(last, rank.last_event_t);
    constexpr std::size_t kLatest = 48;
    for (std::size_t i = rank.calls.size(), seen = 0; i-- > 0 && seen < kLatest; ++seen)
      if (rank.calls[i].finished >= 0) took.push_back(rank.calls[i].finished - rank.calls[i].enqueued);
  }
  if (took.empty()) return false;
  const auto middle = took.begin() + static_cast<std::ptrdiff_t>(took.size() / 2);
  std::nth_element(took.begin(), middle, took.end());
  const std::int64_t long_wait = long_wait_ns(*middle);
  return std::all_of(all.ranks.begin(), all.ranks.end(), [&](const RankSurvey& rank) {
    const Call* call = rank.pending();
    return last - rank.last_event_t < kSilentAfterNs && (call == nullptr || last - call->enqueued < long_wait);
  });
}

}  // namespace

Diagnosis diagnose(const Trace& trace) {
  Survey all = survey(trace);
  if (was_cut(trace, all)) all.patience = kStalledAfterNs;
  return judge(trace, all);
}

Diagnosis diagnose_at(const Trace& trace, std::int64_t t) {
  if (t >= trace.end_time()) return diagnose(trace);
  Survey all = survey(trace, t);
  all.patience = kStalledAfterNs;
  // A node that is up again is a failure of the past: the one that is open now is asked for.
  std::erase_if(all.node_down, [&](std::uint32_t down) {
    const Event& d = trace.events()[down];
    return std::any_of(all.node_up.begin(), all.node_up.end(), [&](std::uint32_t up) {
      const Event& u = trace.events()[up];
      return u.src_id == d.src_id && u.t > d.t;
    });
  });
  return judge(trace, all);
}

}  // namespace ringside::sim
