// Rules on how processes ended, without a word of their own: signals, exit codes, aborts.
#include <algorithm>
#include <map>

#include "backend/import/codes.hpp"
#include "backend/import/rules.hpp"

namespace ringside::backend::rules {
namespace {

using sim::Confidence;
using sim::DiagnosisKind;

/// Intel MPI lists every process that it had to end: SIGKILL is its own where another one ended otherwise.
bool is_clean_up(const Case& c, const Fact& fact) {
  const auto& ends = c.of(FactKind::BadTermination);
  return (fact.code == 9 || fact.code == 15) && std::any_of(ends.begin(), ends.end(), [](const Fact* other) {
           return other->code != 0 && other->code != 2 && other->code != 9 && other->code != 15;
         });
}

/// A launcher that lost a process to a signal of its own making (SIGSEGV, SIGBUS …) kills the others: then
/// most ranks were killed, and few ended otherwise.
void drop_clean_up(std::map<int, const Fact*>& ranks) {
  const auto killed = [](const std::pair<const int, const Fact*>& end) {
    const Fact& fact = *end.second;
    return fact.name.rfind("Killed", 0) == 0 || fact.code == 9 || signal_of_exit(fact.code) == 9;
  };
  const auto kills = static_cast<std::size_t>(std::count_if(ranks.begin(), ranks.end(), killed));
  if (kills > ranks.size() - kills && kills < ranks.size()) std::erase_if(ranks, killed);
}

}  // namespace

/// Signals that nobody inside the job sends: SIGKILL, SIGSEGV, SIGBUS, SIGILL. A -9 outranks the -6 it causes
/// elsewhere.
std::optional<Finding> fatal_signal(const Case& c) {
  std::map<int, const Fact*> ranks;
  std::vector<const Fact*> nameless;
  std::set<std::int64_t> stopped;  // by the agent itself
  for (const Fact* fact : c.of(FactKind::ElasticSigterm)) stopped.insert(fact->who.pid);
  const auto fatal = [](int signal) {
    return signal == 9 || signal == 11 || signal == 7 || signal == 4 || signal == 8;
  };
  const auto add = [&](const Fact* fact, int rank) {
    if (rank >= 0)
      ranks.try_emplace(rank, fact);
    else
      nameless.push_back(fact);
  };
  for (const FactKind kind : {FactKind::ElasticRoot, FactKind::ElasticEntry, FactKind::ElasticFailed})
    for (const Fact* fact : c.of(kind))
      if (fatal(signal_of_exit(fact->code)) && stopped.count(fact->who.pid) == 0) add(fact, c.rank(*fact));
  for (const Fact* fact : c.of(FactKind::MpiSignal))
    if (fatal(fact->code)) add(fact, c.rank(*fact));
  for (const Fact* fact : c.of(FactKind::BadTermination))
    if ((fatal(fact->code) || fatal(signal_of_exit(fact->code))) && !is_clean_up(c, *fact))
      add(fact, c.rank(*fact));
  for (const Fact* fact : c.of(FactKind::TaskEnded)) {
    // What Slurm kills after it has cancelled the step is a consequence.
    const bool cleaned_up =
        std::any_of(c.of(FactKind::StepCancelled).begin(), c.of(FactKind::StepCancelled).end(),
                    [&](const Fact* cancel) { return c.before(*cancel, *fact); });
    if (cleaned_up && (fact->name.starts_with("Killed") || signal_of_exit(fact->code) == 9)) continue;
    static constexpr std::string_view kEnds[] = {"Segmentation fault", "Killed", "Bus error",
                                                 "Illegal instruction", "Floating point exception"};
    const bool ended = fatal(signal_of_exit(fact->code)) ||  // a shell in between: 128 + signal
                       std::any_of(std::begin(kEnds), std::end(kEnds),
                                   [&](std::string_view end) { return fact->name.starts_with(end); });
    if (!ended) continue;
    for (const int task : fact->named) add(fact, c.who.task_is_rank() ? task : -1);
  }
  for (const Fact* fact : c.of(FactKind::CrashSignal))
    if (fact->name != "Aborted" && fact->code != 6) {
      const int rank = c.rank(*fact);
      if (rank >= 0 || ranks.empty()) add(fact, rank);
    }
  for (const Fact* fact : c.of(FactKind::ProcessEnd))
    if (fact->role == Role::Root)
      if (const int rank = c.rank(*fact); rank >= 0) add(fact, rank);
  if (ranks.empty() && nameless.empty()) return std::nullopt;
  drop_clean_up(ranks);
  Finding finding;
  std::vector<int> names;
  for (const auto& [rank, fact] : ranks) names.push_back(rank);
  const bool most = names.size() > 1 && static_cast<std::int64_t>(names.size()) * 2 > c.world();
  finding = crash_of(c, most ? std::vector<int>{} : names, "fatal_signal");
  for (const auto& [rank, fact] : ranks) finding.evidence.push_back(fact);
  finding.evidence.insert(finding.evidence.end(), nameless.begin(), nameless.end());
  if (finding.nodes.empty() && ranks.empty())
    if (const std::string host = c.host(*nameless.front()); !host.empty()) finding.nodes = {host};
  // Hydra names the machine of the process that died of itself; SIGKILL may be anybody's clean-up.
  const bool host_said = names.empty() && !finding.nodes.empty() &&
                         nameless.front()->kind == FactKind::BadTermination && nameless.front()->code != 9 &&
                         signal_of_exit(nameless.front()->code) != 9;
  finding.confidence = host_said               ? Confidence::Likely
                       : names.empty() || most ? Confidence::Unknown
                       : names.size() > 2 && static_cast<std::int64_t>(names.size()) * 4 > c.world()
                           ? Confidence::Likely
                           : Confidence::Certain;
  const Fact& first = *finding.evidence.front();
  int signal = signal_of_exit(first.code);
  if (signal == 0) signal = first.code;
  const CodeMeaning& meaning = signal_meaning(signal);
  finding.what = (names.empty() ? std::string("a process") : name_ranks(names)) + " ended by " +
                 (meaning.code != 0 ? std::string(meaning.name) + ": " + meaning.meaning_en : first.name);
  finding.why = most ? "Most ranks were killed together, from outside."
                     : "Nothing inside the job sends this signal; aborts (-6), exit code 1 and SIGTERM (-15) "
                       "on other ranks are its echo, whatever \"Root Cause\" says.";
  return finding;
}

/// Exit codes and aborts without any text about the reason.
std::optional<Finding> plain_exit(const Case& c) {
  for (const Fact* fact : c.of(FactKind::MpiAbort)) {
    const int rank = c.rank(*fact);
    Finding finding = crash_of(c, rank >= 0 ? std::vector<int>{rank} : std::vector<int>{}, "plain_exit");
    finding.evidence = {fact};
    finding.confidence = rank >= 0 ? Confidence::Certain : Confidence::Unknown;
    finding.what = name_ranks(finding.culprits) + " called MPI_Abort" +
                   (fact->code != 0 ? " with code " + std::to_string(fact->code) : "");
    finding.why = "The program ended the job on purpose; no signal and no other rank is involved.";
    return finding;
  }
  const auto nonzero = [&](FactKind kind) -> const Fact* {
    for (const Fact* fact : c.of(kind))
      if (fact->role == Role::Root && c.rank(*fact) >= 0 && fact->code != 0 && !is_clean_up(c, *fact) &&
          (kind == FactKind::MpiExit || (fact->code != 2 && fact->code != 15)))
        return fact;
    return nullptr;
  };
  for (const FactKind kind : {FactKind::MpiExit, FactKind::MpiSignal, FactKind::BadTermination}) {
    const Fact* fact = nonzero(kind);
    if (fact == nullptr) continue;
    // mpirun names the first that it noticed; with victims about, that may be one of them.
    const bool victims = c.has(FactKind::PeerClosed) || c.has(FactKind::WatchdogTimeout) ||
                         c.has(FactKind::NcclErrorText) || c.has(FactKind::MpiError);
    if (victims) continue;
    Finding finding = crash_of(c, {c.rank(*fact)}, "plain_exit");
    finding.evidence = {fact};
    finding.confidence = kind == FactKind::MpiExit ? Confidence::Certain : Confidence::Likely;
    finding.what = rank_on_host(c, c.rank(*fact)) + " left with " +
                   (kind == FactKind::MpiSignal ? "signal " : "exit code ") + std::to_string(fact->code);
    finding.why = "It is the only process that the launcher reports, and no line shows another failure.";
    if (kind == FactKind::MpiExit) finding.nodes = c.hosts_of(finding.culprits);
    return finding;
  }
  // torch.multiprocessing names the process that left, without any traceback.
  const auto& left = c.of(FactKind::ElasticFailed);
  if (left.size() == 1 && left.front()->name == "spawned" && c.rank(*left.front()) >= 0 &&
      left.front()->code != 0 && !c.has(FactKind::PeerClosed) && !c.has(FactKind::NcclErrorText) &&
      !c.has(FactKind::WatchdogTimeout) && !c.has(FactKind::GlooTimeout)) {
    Finding finding = crash_of(c, {c.rank(*left.front())}, "plain_exit");
    finding.evidence = {left.front()};
    finding.confidence = Confidence::Likely;
    finding.what =
        rank_on_host(c, c.rank(*left.front())) + " left with exit code " + std::to_string(left.front()->code);
    finding.why = "It is the only process that the launcher reports, and it left without a traceback.";
    return finding;
  }
  // torchrun: one entry with exit code 1, everybody else stopped by the agent, and no text at all.
  const auto entries = launcher_entries(c);
  if (entries.size() == 1 && entries.front()->code == 1 &&
      victim_ranks(c).count(c.rank(*entries.front())) != 0 && !c.has(FactKind::PeerClosed) &&
      !c.has(FactKind::NcclErrorText) && !c.has(FactKind::WatchdogTimeout) && !c.has(FactKind::GlooTimeout)) {
    Finding finding = crash_of(c, {c.rank(*entries.front())}, "plain_exit");
    finding.evidence = {entries.front()};
    finding.confidence = Confidence::Likely;
    finding.what = rank_on_host(c, c.rank(*entries.front())) + " left with exit code 1";
    finding.why =
        "It is the only failure in torchrun's table; the agent stopped the others. Its own output is not "
        "here.";
    return finding;
  }
  return std::nullopt;
}

}  // namespace ringside::backend::rules
