#include "app/scenes/incident_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/i18n/i18n.hpp"
#include "app/scenes/incident_trace.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

constexpr std::size_t kNamed = 3;
constexpr std::size_t kLongest = 400;  // of a text from outside that is shown

std::string shown(std::string_view text) {
  return sim::escape_for_display(text.substr(0, kLongest));
}

/// Does the text fit the pattern ("read {0} around {1}")? Fills what stood for the arguments.
bool fits(std::string_view pattern, std::string_view text, std::array<std::string_view, 3>& arguments) {
  while (true) {
    const std::size_t slot = pattern.find('{');
    if (slot == std::string_view::npos) return pattern == text;
    if (text.substr(0, slot) != pattern.substr(0, slot)) return false;
    text.remove_prefix(slot);
    const auto index = static_cast<std::size_t>(pattern[slot + 1] - '0');
    const std::size_t close = pattern.find('}', slot);
    if (close == std::string_view::npos || index >= arguments.size()) return false;
    pattern.remove_prefix(close + 1);
    const std::size_t next = pattern.find('{');
    const std::string_view literal = pattern.substr(0, next);
    std::size_t end = text.size();
    if (next == std::string_view::npos) {  // the rest must end the text
      if (text.size() < literal.size() || text.substr(text.size() - literal.size()) != literal) return false;
      end = text.size() - literal.size();
    } else {
      end = literal.empty() ? std::string_view::npos : text.find(literal);
      if (end == std::string_view::npos) return false;
    }
    if (end == 0) return false;
    arguments[index] = text.substr(0, end);
    text.remove_prefix(end);
  }
}

/// "rank 300", "ranks 9 and 11", "ranks 0, 1, 2 and 5 more" as the window writes ranks: "R300", "R9, R11",
/// "R0, R1, R2 and 5 more". Other text stays.
std::string with_rank_names(std::string_view text) {
  std::string_view rest = text;
  if (rest.starts_with("ranks "))
    rest.remove_prefix(6);
  else if (rest.starts_with("rank "))
    rest.remove_prefix(5);
  else
    return shown(text);
  std::string out, number;
  std::string more;
  for (std::size_t i = 0; i <= rest.size(); ++i) {
    const char c = i < rest.size() ? rest[i] : ',';
    if (c >= '0' && c <= '9') {
      number += c;
      continue;
    }
    if (!number.empty()) {
      if (rest.substr(i) == " more")
        more = number;
      else
        out += (out.empty() ? "R" : ", R") + number;
      number.clear();
    }
    if (!more.empty()) break;
    const bool filler = c == ',' || c == ' ' || rest.substr(i, 3) == "and" ||
                        (i > 0 && rest.substr(i - 1, 3) == "and") ||
                        (i > 1 && rest.substr(i - 2, 3) == "and");
    if (!filler) return shown(text);
  }
  if (out.empty()) return shown(text);
  return more.empty() ? out : tr("incident.and_more", {out, more});
}

/// The pattern of the table that fits with the most letters of its own.
const std::string* known_pattern(std::string_view table, std::string_view english,
                                 std::array<std::string_view, 3>& arguments) {
  const std::string prefix = std::string(table) + ".";
  const TextTable& en = text_table(Lang::En);
  const std::string* best = nullptr;
  std::size_t longest = 0;
  for (auto it = en.lower_bound(prefix); it != en.end() && it->first.starts_with(prefix); ++it) {
    std::array<std::string_view, 3> found{};
    if (it->second.size() <= longest || !fits(it->second, english, found)) continue;
    best = &it->first;
    longest = it->second.size();
    arguments = found;
  }
  return best;
}

}  // namespace

std::string ranks_text(const std::vector<int>& ranks) {
  std::string out;
  if (ranks.size() > kNamed + 1)
    return tr("incident.and_others", {parts::rank_name(ranks.front()),
                                      sim::with_commas(static_cast<std::int64_t>(ranks.size()) - 1)});
  for (const int rank : ranks) out += (out.empty() ? "" : ", ") + parts::rank_name(rank);
  return out;
}

std::string culprits_text(const sim::Diagnosis& d) {
  const std::string node = d.culprit_nodes.empty() ? std::string() : shown(d.culprit_nodes.front());
  if (d.culprits.empty()) {
    if (d.culprit_nodes.size() > 1)
      return tr("incident.and_others",
                {node, sim::with_commas(static_cast<std::int64_t>(d.culprit_nodes.size()) - 1)});
    return node;
  }
  const std::string ranks = ranks_text(d.culprits);
  return d.culprit_nodes.size() == 1 ? tr("incident.rank_on_host", {ranks, node}) : ranks;
}

std::string call_text(const backend::Incident& incident) {
  const sim::Diagnosis& d = incident.diagnosis;
  const std::int64_t seq = d.first_cause.seq.value_or(-1);
  const auto words = [](const backend::LanePoint& point) {
    const auto collective = collective_of(point.op);
    return tr("incident.call",
              {collective ? tr_word("collective", sim::to_word(*collective)) : shown(point.op),
               sim::with_commas(point.seq)});
  };
  for (const backend::Lane& lane : incident.lanes) {
    const bool culprit = std::find(d.culprits.begin(), d.culprits.end(), lane.rank) != d.culprits.end();
    for (const backend::LanePoint& point : lane.points)
      if (!point.op.empty() && point.seq >= 0 && (seq >= 0 ? point.seq == seq : culprit)) return words(point);
  }
  return seq < 0 ? tr("incident.same_call") : tr("incident.call_seq", {sim::with_commas(seq)});
}

std::string verdict_text(const backend::Incident& incident) {
  const sim::Diagnosis& d = incident.diagnosis;
  const std::string who = culprits_text(d), call = call_text(incident);
  const bool stuck = d.kind == sim::DiagnosisKind::HangRankMissing &&
                     d.first_cause.what.find("does not move") != std::string::npos;
  if (stuck && !who.empty())
    return d.culprits.size() > 1 ? tr("incident.stuck_many", {who, call}) : tr("incident.stuck", {who, call});
  const std::string& pattern = who.empty() ? tr_word("incident_open", sim::to_word(d.kind))
                                           : tr_word("incident_verdict", sim::to_word(d.kind));
  return fill_pattern(pattern, {who, call});
}

std::string others_text(const backend::Incident& incident, const IncidentPicture& picture) {
  const sim::Diagnosis& d = incident.diagnosis;
  const auto victims = static_cast<std::int64_t>(d.victims.size());
  if (d.kind == sim::DiagnosisKind::None) return tr("incident.others_none");
  if (picture.waited > 0 && picture.wait_ns > 0) {
    const std::string n = sim::with_commas(picture.waited), time = wait_text(picture.wait_ns);
    return picture.waited == 1 ? tr("incident.others_waited_one", {time})
                               : tr("incident.others_waited", {n, time});
  }
  if (picture.still_waiting > 1) return tr("incident.others_wait", {sim::with_commas(picture.still_waiting)});
  if (victims > 1) return tr("incident.others_ended", {sim::with_commas(victims)});
  if (victims == 1) return tr("incident.others_ended_one", {parts::rank_name(d.victims.front())});
  return tr("incident.others_unknown");
}

std::string why_text(const backend::Incident& incident) {
  const sim::Diagnosis& d = incident.diagnosis;
  if (language() == Lang::En) {
    std::string what = d.first_cause.what;
    while (what.ends_with('.')) what.pop_back();
    if (!what.empty() && what[0] >= 'a' && what[0] <= 'z') what[0] = static_cast<char>(what[0] - 'a' + 'A');
    return shown(what.empty() ? incident.explanation : what + ". " + incident.explanation);
  }
  const std::string key = "incident_rule." + incident.rule;
  return has_text(key) ? tr_word("incident_rule", incident.rule) : shown(incident.explanation);
}

std::string translated(std::string_view table, std::string_view english) {
  std::array<std::string_view, 3> arguments{};
  const std::string* key = known_pattern(table, english, arguments);
  if (key == nullptr) return shown(english);
  const std::string a = with_rank_names(arguments[0]), b = with_rank_names(arguments[1]),
                    c = with_rank_names(arguments[2]);
  return fill_pattern(tr(*key), {a, b, c});
}

bool has_translation(std::string_view table, std::string_view english) {
  std::array<std::string_view, 3> arguments{};
  return known_pattern(table, english, arguments) != nullptr;
}

NextStep next_step_of(std::string_view text) {
  static constexpr std::string_view kPrograms[] = {"ssh ",
                                                   "scontrol ",
                                                   "nvidia-smi",
                                                   "nvidia-bug-report.sh",
                                                   "dcgmi ",
                                                   "py-spy ",
                                                   "export ",
                                                   "ncclras ",
                                                   "dmesg ",
                                                   "sacct ",
                                                   "ibstat",
                                                   "ibqueryerrors",
                                                   "srun --",
                                                   "show_gids",
                                                   "nc -vz",
                                                   "ss -ltnp",
                                                   "docker ",
                                                   "ulimit ",
                                                   "systemctl ",
                                                   "sbatch ",
                                                   "TORCH_DISTRIBUTED_DEBUG=",
                                                   "lspci ",
                                                   "NCCL_NVLS"};
  NextStep step;
  const std::size_t note = text.find("   (");
  std::string_view command = text.substr(0, note);
  if (note != std::string_view::npos) {
    std::string_view rest = text.substr(note + 3);
    if (rest.starts_with('(')) rest.remove_prefix(1);
    if (rest.ends_with(')')) rest.remove_suffix(1);
    step.note = translated("incident_note", rest);
  }
  const bool runs = std::any_of(std::begin(kPrograms), std::end(kPrograms),
                                [&](std::string_view p) { return command.starts_with(p); });
  if (runs)
    step.command = shown(command);
  else
    step.note = step.note.empty() ? translated("incident_step", command)
                                  : translated("incident_step", command) + " (" + step.note + ")";
  return step;
}

std::string wait_text(std::int64_t ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  if (ns < kSecond) return sim::format_duration(ns);
  const double seconds = static_cast<double>(ns) / 1e9;
  const double value = seconds < 60 ? seconds : seconds < 3600 ? seconds / 60 : seconds / 3600;
  std::string number = fmt::format("{:.1f}", value);
  if (number.ends_with(".0")) number.resize(number.size() - 2);
  return seconds < 60     ? tr("incident.wait_s", {number})
         : seconds < 3600 ? tr("incident.wait_min", {number})
                          : tr("incident.wait_h", {number});
}

std::string rank_hours(std::int64_t ns) {
  constexpr double kHour = 3.6e12;
  const double hours = static_cast<double>(ns) / kHour;
  if (hours >= 0.1) return tr("incident.rank_hours", {fmt::format("{:.1f}", hours)});
  return sim::format_duration(ns);
}

std::string clock_of(const backend::Incident& incident, const IncidentPicture& picture, std::int64_t t) {
  if (incident.first_stamp_ns < 0) return sim::format_duration(t);
  constexpr std::int64_t kSecond = 1'000'000'000, kDay = 86'400;
  std::int64_t seconds = (incident.first_stamp_ns + picture.zero_ns + t) / kSecond % kDay;
  if (seconds < 0) seconds += kDay;
  return fmt::format("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

}  // namespace ringside::app
