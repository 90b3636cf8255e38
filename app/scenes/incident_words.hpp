// The sentences of an incident in the language of the window. The verdict is said by its kind; sentences of
// the reasoning (English) are translated where the table of texts knows them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/scenes/incident_lanes.hpp"

namespace ringside::app {

/// "R11", "R12, R14", "R0 and 15 others".
std::string ranks_text(const std::vector<int>& ranks);
/// "R11 on gpu-a08", "R12, R14", "gpu-v03", "R0 and 15 others"; empty if nobody is named. Escaped.
std::string culprits_text(const sim::Diagnosis& diagnosis);
/// "AllReduce, seq 8,214", "seq 8,214", or "the same collective".
std::string call_text(const backend::Incident& incident);
/// The verdict in one sentence.
std::string verdict_text(const backend::Incident& incident);
/// What the others did: "The other 15 ranks waited 10 min, then the watchdog ended the job."
std::string others_text(const backend::Incident& incident, const IncidentPicture& picture);
/// How the lines lead to the verdict. Escaped.
std::string why_text(const backend::Incident& incident);

/// A sentence of the reasoning in the current language: texts of `table` ("incident_step") are patterns with
/// {0} and {1}; the first English one that fits gives its translation. Unknown sentences stay as they are.
std::string translated(std::string_view table, std::string_view english);
/// True if some pattern of the table fits.
bool has_translation(std::string_view table, std::string_view english);

/// A next step: a command to copy with a note behind it, or a sentence (then `command` is empty).
struct NextStep {
  std::string command, note;
};
NextStep next_step_of(std::string_view text);

/// "12 s", "10 min", "1.5 h": a wait, as people say it.
std::string wait_text(std::int64_t ns);
/// "2.7 GPU hours": rank hours that were waited.
std::string rank_hours(std::int64_t ns);
/// Clock time of a moment of the picture, "03:12:41"; relative time where lines have no stamps.
std::string clock_of(const backend::Incident& incident, const IncidentPicture& picture, std::int64_t t);

}  // namespace ringside::app
