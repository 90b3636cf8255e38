#include "backend/import/diagnose.hpp"

#include <algorithm>
#include <map>

#include "backend/import/case.hpp"
#include "backend/import/fr_diagnosis.hpp"
#include "backend/import/inspector.hpp"
#include "backend/import/ras.hpp"
#include "backend/import/reason.hpp"
#include "backend/import/scan.hpp"

namespace ringside::backend {
namespace {

constexpr std::size_t kLanes = 4'096;
constexpr std::size_t kPointsOfLane = 256;

struct Words {
  FactKind kind;
  const char* what;
};
/// What becomes a point of a rank's lane, and how it is called there.
constexpr Words kLaneWords[] = {{FactKind::NcclColl, "called"},
                                {FactKind::WatchdogTimeout, "timed out in"},
                                {FactKind::WatchdogStatus, "failed at"},
                                {FactKind::WrapperMismatch, "disagreed"},
                                {FactKind::GlooTimeout, "timed out in"},
                                {FactKind::PeerClosed, "lost a connection"},
                                {FactKind::PythonException, "raised"},
                                {FactKind::CudaError, "CUDA error"},
                                {FactKind::CudaOom, "out of GPU memory"},
                                {FactKind::NanLocal, "found NaN"},
                                {FactKind::LossValue, "loss not finite"},
                                {FactKind::IbCompletion, "network error"},
                                {FactKind::IbAsyncFatal, "port error"},
                                {FactKind::ElasticEntry, "ended"},
                                {FactKind::ElasticRoot, "ended"},
                                {FactKind::MpiSignal, "ended"},
                                {FactKind::CrashSignal, "crashed"},
                                {FactKind::CleanExit, "left"},
                                {FactKind::EndOfData, "end of data"},
                                {FactKind::HeartbeatStuck, "watchdog stuck"},
                                {FactKind::DdpUnused, "unused parameters"},
                                {FactKind::BarrierVictim, "lost the barrier"},
                                {FactKind::KernelOom, "killed"},
                                {FactKind::Progress, "last line"}};

std::vector<Lane> lanes_of(const Case& c) {
  std::map<int, Lane> lanes;
  std::int64_t first = INT64_MAX;
  for (const Fact& fact : c.facts.facts)
    if (fact.t_ns >= 0 && fact.dated) first = std::min(first, fact.t_ns);
  for (const Words& words : kLaneWords)
    for (const Fact* fact : c.of(words.kind)) {
      const int rank = c.torch_rank(*fact);
      if (rank < 0) continue;
      if (lanes.size() >= kLanes && lanes.find(rank) == lanes.end()) continue;
      Lane& lane = lanes[rank];
      if (lane.points.size() >= kPointsOfLane) continue;
      LanePoint point;
      point.t_ns = fact->t_ns >= 0 && fact->dated && first != INT64_MAX ? fact->t_ns - first : -1;
      point.seq = fact->seq;
      point.op = fact->op;
      point.what = words.what;
      if (words.kind == FactKind::PythonException || words.kind == FactKind::CudaError)
        point.what += " " + fact->name;
      point.file = fact->file;
      point.line = fact->line;
      lane.points.push_back(std::move(point));
    }
  std::vector<Lane> result;
  for (auto& [rank, lane] : lanes) {
    lane.rank = rank;
    lane.host = c.who.host_of_rank(rank);
    std::stable_sort(lane.points.begin(), lane.points.end(), [](const LanePoint& a, const LanePoint& b) {
      if (a.t_ns >= 0 && b.t_ns >= 0 && a.t_ns != b.t_ns) return a.t_ns < b.t_ns;
      return std::tie(a.file, a.line) < std::tie(b.file, b.line);
    });
    result.push_back(std::move(lane));
  }
  return result;
}

/// Configuration, sources and notes that lie in a folder beside the logs are no logs. A file that was named
/// is always read.
bool is_no_log(const InputFile& file, const std::vector<std::string>& given) {
  static constexpr std::string_view kEndings[] = {".toml", ".yaml", ".yml", ".md",  ".rst", ".py",
                                                  ".sh",   ".cfg",  ".ini", ".cpp", ".hpp", ".html"};
  if (std::find(given.begin(), given.end(), file.path) != given.end()) return false;
  for (const std::string_view ending : kEndings)
    if (file.name.size() > ending.size() &&
        std::string_view(file.name).substr(file.name.size() - ending.size()) == ending)
      return true;
  return file.name == "NOTICE" || file.name == "README";
}

Incident conclude(Facts facts, const std::vector<FlightRecorder>& recorders) {
  for (const FlightRecorder& recorder : recorders) append_facts(recorder, facts);
  const Who who(facts);
  const Case c(facts, who);
  Reasoning reasoning = reason(c);
  Incident incident;
  // Dumps show both sides of every call: where the logs only have statements about others, the dumps decide.
  static constexpr std::string_view kBelowDumps[] = {
      "recorder_statements", "watchdog_groups", "gloo_waits",
      "lost_connections",    "victims_only",    "nothing_failed",
      "rendezvous",          "straggler",       ""};
  if (recorders.size() == 1 &&
      std::find(std::begin(kBelowDumps), std::end(kBelowDumps), reasoning.rule) != std::end(kBelowDumps)) {
    sim::Diagnosis dumps = diagnose(recorders.front());
    const bool better = dumps.kind != sim::DiagnosisKind::None &&
                        (dumps.confidence != sim::Confidence::Unknown ||
                         reasoning.diagnosis.confidence == sim::Confidence::Unknown);
    if (better || reasoning.rule == "nothing_failed" || reasoning.rule.empty()) {
      if (dumps.culprit_nodes.empty()) dumps.culprit_nodes = c.hosts_of(dumps.culprits);
      reasoning.explanation = "The Flight Recorder dumps of " +
                              std::to_string(recorders.front().dumps.size()) +
                              " ranks show which call each rank was in, and whom it waited for.";
      reasoning.rule = "flight_recorder";
      if (dumps.next_steps.empty()) dumps.next_steps = next_steps(c, dumps);
      reasoning.diagnosis = std::move(dumps);
    }
  }
  incident.diagnosis = std::move(reasoning.diagnosis);
  incident.explanation = std::move(reasoning.explanation);
  incident.rule = std::move(reasoning.rule);
  incident.lanes = lanes_of(c);
  incident.conflicts = who.conflicts();
  incident.clocks = clock_offsets(facts, who);
  for (const int rank : who.seen()) {
    RankRow row;
    row.rank = rank;
    row.host = who.host_of_rank(rank);
    if (const RankInfo* info = who.info(rank)) {
      row.pid = info->pid;
      row.local_rank = info->local_rank;
      row.device = info->device;
      row.bus = info->bus;
    }
    incident.ranks.push_back(std::move(row));
  }
  for (const FlightRecorder& recorder : recorders)
    incident.problems.insert(incident.problems.end(), recorder.problems.begin(), recorder.problems.end());
  incident.problems.insert(incident.problems.end(), facts.problems.begin(), facts.problems.end());
  incident.lines = facts.lines;
  incident.bytes = facts.bytes;
  incident.unread_lines = facts.unread_lines;
  incident.files = std::move(facts.files);
  return incident;
}

void read_lines(LogScanner& scanner, LineSource& source, Facts& facts) {
  scanner.begin_file(source.name());
  Line line;
  bool cut = false;
  while (source.next(line)) {
    if (line.cut && line.text.size() > 4096) ++facts.unread_lines;
    cut = line.cut;
    scanner.line(line);
  }
  if (cut) ++facts.cut_ends;
  scanner.end_file();
  if (auto problem = source.problem()) facts.problems.push_back(*problem);
}

void read_ras_text(LineSource& source, Facts& facts) {
  RasTextReader reader;
  Line line;
  while (source.next(line)) {
    ++facts.lines;
    facts.bytes += static_cast<std::int64_t>(line.text.size()) + 1;
    reader.line(line.text, line.number);
  }
  append_facts(reader.finish(), source.name(), facts);
}

void read_ras_events(LineSource& source, Facts& facts) {
  const std::uint32_t file = facts.add_file(std::string(source.name()));
  Line line;
  while (source.next(line)) {
    ++facts.lines;
    facts.bytes += static_cast<std::int64_t>(line.text.size()) + 1;
    if (!append_ras_event(line.text, line.number, file, facts) && !line.text.empty()) ++facts.unread_lines;
  }
}

void read_inspector(InspectorReader& reader, LineSource& source, Facts& facts) {
  reader.begin_file(facts.add_file(std::string(source.name())));
  Line line;
  while (source.next(line)) {
    ++facts.lines;
    facts.bytes += static_cast<std::int64_t>(line.text.size()) + 1;
    if (!reader.line(line.text) && !line.text.empty()) ++facts.unread_lines;
  }
}

}  // namespace

sim::Result<Incident> diagnose_paths(const DiagnoseInput& input) {
  if (input.paths.empty())
    return sim::Error{.what = "no file or folder was given", .hint = "give logs, dumps or a folder of them"};
  const InputSet set = find_inputs(input.paths, input.control);
  Facts facts;
  facts.problems = set.problems;
  InputMeter meter(set, input.control);
  LogScanner scanner(facts);
  InspectorReader inspector;
  bool inspected = false;
  std::size_t read = 0;
  for (const InputFile& file : set.files) {
    if (meter.cancelled()) break;
    if (file.kind == InputKind::FlightRecorderPickle || file.kind == InputKind::FlightRecorderJson) {
      ++read;
      continue;  // below, together
    }
    if (file.kind == InputKind::TextLog && is_no_log(file, input.paths)) continue;
    if (file.kind == InputKind::Empty || file.kind == InputKind::Binary ||
        file.kind == InputKind::RingsideTrace)
      continue;
    if (file.kind == InputKind::RasJson) {
      auto document = read_document(file, &meter);
      auto report =
          document ? parse_ras_json(*document, file.name) : sim::Result<RasReport>(document.error());
      if (report)
        append_facts(*report, file.name, facts);
      else
        facts.problems.push_back(report.error());
      read += report ? 1 : 0;
      continue;
    }
    auto source = open_text(file, &meter);
    if (!source) {
      facts.problems.push_back(source.error());
      continue;
    }
    ++read;
    LineSource& lines = **source;
    if (file.kind == InputKind::RasText)
      read_ras_text(lines, facts);
    else if (file.kind == InputKind::RasEvents)
      read_ras_events(lines, facts);
    else if (file.kind == InputKind::InspectorJsonl)
      read_inspector(inspector, lines, facts), inspected = true;
    else
      read_lines(scanner, lines, facts);
  }
  scanner.finish();
  if (inspected) append_facts(inspector.finish(), facts);
  const std::vector<FlightRecorder> recorders = read_flight_recorders(set, &meter);
  if (meter.cancelled()) return sim::Error{.what = "reading was cancelled"};
  std::size_t dumps = 0;
  for (const FlightRecorder& recorder : recorders) dumps += recorder.dumps.size();
  if ((read == 0 || (facts.lines == 0 && dumps == 0 && facts.facts.empty()))) {
    if (!facts.problems.empty()) return facts.problems.front();
    return sim::Error{
        .what = "nothing to read", .file = input.paths.front(), .hint = "the files are empty or not logs"};
  }
  return conclude(std::move(facts), recorders);
}

Incident diagnose_texts(const std::vector<NamedText>& files) {
  Facts facts;
  LogScanner scanner(facts);
  for (const NamedText& file : files) read_lines(scanner, *text_from_memory(file.name, file.text), facts);
  scanner.finish();
  return conclude(std::move(facts), {});
}

}  // namespace ringside::backend
