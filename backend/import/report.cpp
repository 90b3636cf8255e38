// An Incident as text for people and as JSON.
#include <fmt/format.h>

#include "backend/import/diagnose.hpp"
#include "sim/base/text.hpp"

namespace ringside::backend {
namespace {

constexpr std::size_t kEvidenceOfText = 10;
constexpr std::size_t kLineWidth = 220;

std::string ranks_text(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i == 16 && ranks.size() > 18) return text + fmt::format(" … ({} in all)", ranks.size());
    // runs of ranks: 8-15
    std::size_t end = i;
    while (end + 1 < ranks.size() && ranks[end + 1] == ranks[end] + 1) ++end;
    if (!text.empty()) text += ", ";
    if (end > i + 1) {
      text += fmt::format("{}-{}", ranks[i], ranks[end]);
      i = end;
    } else {
      text += std::to_string(ranks[i]);
    }
  }
  return text;
}

std::string escaped(std::string_view text) {
  if (text.size() > kLineWidth) return sim::escape_for_display(text.substr(0, kLineWidth)) + " …";
  return sim::escape_for_display(text);
}

std::string hosts_text(const std::vector<std::string>& hosts) {
  std::string text;
  for (const std::string& host : hosts) text += (text.empty() ? "" : ", ") + escaped(host);
  return text;
}

}  // namespace

std::string to_text(const Incident& incident) {
  const sim::Diagnosis& d = incident.diagnosis;
  std::string out;
  std::string first = d.first_cause.what.empty() ? std::string(sim::meaning(d.kind)) : d.first_cause.what;
  if (!first.empty() && first[0] >= 'a' && first[0] <= 'z')
    first[0] = static_cast<char>(first[0] - 'a' + 'A');
  if (first.ends_with('.')) first.pop_back();
  out += fmt::format("{}: {}.\n{}\n", sim::to_word(d.kind), escaped(first), escaped(incident.explanation));
  out += fmt::format("\nconfidence   {}\n", sim::to_word(d.confidence));
  if (!d.culprits.empty())
    out += fmt::format("culprits     {} {}\n", d.culprits.size() == 1 ? "rank" : "ranks",
                       ranks_text(d.culprits));
  if (!d.culprit_nodes.empty()) out += fmt::format("nodes        {}\n", hosts_text(d.culprit_nodes));
  if (!d.victims.empty())
    out +=
        fmt::format("victims      {} {}\n", d.victims.size() == 1 ? "rank" : "ranks", ranks_text(d.victims));
  if (d.world_size > 0) out += fmt::format("world size   {}\n", d.world_size);
  if (!d.evidence.empty()) {
    out += "\nevidence\n";
    for (std::size_t i = 0; i < d.evidence.size() && i < kEvidenceOfText; ++i) {
      const sim::Evidence& evidence = d.evidence[i];
      const std::string where = evidence.line > 0
                                    ? fmt::format("{}:{}", escaped(evidence.file), evidence.line)
                                    : escaped(evidence.file);
      out += fmt::format("  {}\n      {}\n", where, escaped(evidence.text));
    }
    if (d.evidence.size() > kEvidenceOfText)
      out += fmt::format("  and {} more\n", d.evidence.size() - kEvidenceOfText);
  }
  if (!d.tools_would_say.empty()) {
    out += "\nwhat single tools say\n";
    for (const sim::ToolSays& tool : d.tools_would_say)
      out += fmt::format("  {} [{}]: {}\n", tool.tool, sim::to_word(tool.verdict), escaped(tool.text));
  }
  if (!d.alternatives.empty()) {
    out += "\nalso considered\n";
    for (const sim::Alternative& other : d.alternatives) {
      const std::string ranks =
          other.culprits.empty() ? std::string() : fmt::format(", rank {}", ranks_text(other.culprits));
      out += fmt::format("  {}{}: {}\n", sim::to_word(other.kind), ranks, escaped(other.why_not));
    }
  }
  if (!d.next_steps.empty()) {
    out += "\nnext steps\n";
    for (std::size_t i = 0; i < d.next_steps.size(); ++i)
      out += fmt::format("  {}. {}\n", i + 1, escaped(d.next_steps[i]));
  }
  out += fmt::format("\nread {} lines, {} of {} file(s)", sim::with_commas(incident.lines),
                     sim::format_bytes(incident.bytes), incident.files.size());
  if (incident.unread_lines > 0)
    out += fmt::format(", {} lines could not be read", sim::with_commas(incident.unread_lines));
  out += ".\n";
  for (const std::string& conflict : incident.conflicts)
    out += fmt::format("contradiction: {}\n", escaped(conflict));
  for (const ClockOffset& clock : incident.clocks)
    if (clock.offset_ns > clock.error_ns || -clock.offset_ns > clock.error_ns)
      out += fmt::format("clock: {} differs from {} by {} ± {} ({} shared events{})\n", escaped(clock.host),
                         escaped(clock.reference),
                         clock.offset_ns < 0 ? "-" + sim::format_duration(-clock.offset_ns)
                                             : sim::format_duration(clock.offset_ns),
                         sim::format_duration(clock.error_ns), clock.events,
                         clock.zone ? ", another time zone" : "");
  for (const sim::Error& problem : incident.problems)
    out += fmt::format("not read: {}\n", escaped(problem.message()));
  return out;
}

void append_json(std::string& out, const Incident& incident) {
  sim::append_diagnosis_json(out, incident.diagnosis,
                             fmt::format(",\"unread_lines\":{}", incident.unread_lines));
}

}  // namespace ringside::backend
