// The rules of a diagnosis, one function each; every rule says nothing unless its own evidence is in the
// trace.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/diagnosis/diagnosis.hpp"
#include "sim/diagnosis/survey.hpp"

namespace ringside::sim {

using Verdict = std::optional<Diagnosis>;

struct Case {
  const Trace& trace;
  const Survey& survey;
  /// What rule_number_changed found; it reads all ring steps, and two rules ask.
  mutable std::optional<Verdict> number_changed = std::nullopt;
  /// For rules that read the trace itself: whether the event had happened by the time that is judged.
  bool seen(const Event& e) const { return e.t <= survey.end_t; }
  /// The text of an event that has one: a log line, an error, the end of a process.
  const std::string& text_of(std::uint32_t event) const {
    return trace.string(trace.events()[event].text.text);
  }
  /// 0 … world size - 1.
  std::vector<int> all_ranks() const;
};

// In the order in which they are tried. rules_hardware.cpp
Verdict rule_kernel_says_hardware(const Case& c);  // Xid, ECC, NVLink, PCIe lines and device samples
Verdict rule_node_down(const Case& c);
Verdict rule_port_down(const Case& c);
// rules_numbers.cpp
Verdict rule_bad_number_first(const Case& c);  // made inside a collective, before anything else went wrong
// rules_calls.cpp
Verdict rule_calls_differ(const Case& c);  // shape, dtype, op, order, skipped or extra calls
// rules_ends.cpp
Verdict rule_memory_ran_out(const Case& c);        // host OOM killer, CUDA out of memory
Verdict rule_ddp_construction(const Case& c);      // other parameter shapes, before the first call
Verdict rule_rank_ended_by_itself(const Case& c);  // exception, signal
// rules_absent.cpp
Verdict rule_rank_absent(const Case& c);  // somebody waits for a rank that never came
Verdict rule_late_for_the_watchdog(const Case& c);
Verdict rule_stuck_inside(const Case& c);  // everybody came, data does not arrive
// rules_numbers.cpp
Verdict rule_nan(const Case& c);
Verdict rule_weights_differ(const Case& c);
Verdict rule_input_stands_out(const Case& c);
// rules_ring_numbers.cpp
Verdict rule_number_changed(const Case& c);  // inside a rank, in the middle of a collective
// rules_speed.cpp
Verdict rule_straggler(const Case& c);
// rules_links.cpp
Verdict rule_nic_gave_up(const Case& c);
Verdict rule_link_slow(const Case& c);
Verdict rule_link_paused(const Case& c);  // silent for a while, then it went on

/// When the first call was made that differs from the others' at its place; INT64_MAX if all agree.
/// rules_calls.cpp
std::int64_t first_difference(const Survey& survey);
/// A collective's result held NaN or infinity before time t: what came later is everybody's.
/// rules_numbers.cpp
bool result_was_bad_before(const Case& c, std::int64_t t);
/// The own error of a rank that no other's end explains; kNone if it has none. rules_ends.cpp
std::uint32_t own_error(const Case& c, const RankSurvey& rank);

// Shared by the rules. rule_tools.cpp
bool contains(std::string_view text, std::string_view part);
/// The upper one of the two in the middle of an even number of values; 0 of none.
std::int64_t median(std::vector<std::int64_t> values);
/// The largest absolute value of a sample.
double magnitude(const Sample& sample);
/// The event as evidence: its time, its index, and what it says in one line (or `text`, if given).
Evidence cite(const Case& c, std::uint32_t event, std::string text = {});
/// "R3"
std::string rank_name(int rank);
/// "R1, R2 and R5"; more than six: "R1, R2, R3, R4, R5, R6 and 12 more".
std::string rank_list(const std::vector<int>& ranks);
/// A verdict on one rank (and its node), with the event that shows it.
Diagnosis blame_rank(const Case& c, DiagnosisKind kind, int rank, std::uint32_t event, std::string what);
/// Unknown who: the candidates become alternatives, culprits stay empty.
Diagnosis undecided(const Case& c, DiagnosisKind kind, const std::vector<int>& candidates,
                    std::uint32_t event, std::string what, std::string_view why);
/// The first cause of a skipped or missing call is the NaN for which its rank left the step (on_nan =
/// skip-here): turns the verdict on one rank into that, if the trace shows it. `step`: where the others wait.
void trace_back_to_nan(const Case& c, Diagnosis& d, std::int64_t step);
/// The number N of the first "Xid (…): N" in a kernel line; 0 if there is none.
int xid_in(std::string_view line);

}  // namespace ringside::sim
