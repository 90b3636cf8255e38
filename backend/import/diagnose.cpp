#include "backend/import/diagnose.hpp"

#include <algorithm>
#include <map>

#include "backend/import/case.hpp"
#include "backend/import/fr_diagnosis.hpp"
#include "backend/import/inspector.hpp"
#include "backend/import/ras.hpp"
#include "backend/import/reason.hpp"
#include "backend/import/scan.hpp"
#include "backend/import/wait_graph.hpp"

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

/// Which stamps one picture may show, and the first of them. Stamps with a date if there are any, otherwise
/// times of day; never both.
struct Stamps {
  bool dated = false;
  std::int64_t first = -1;
};
Stamps stamps_of(const Facts& facts) {
  Stamps out;
  for (const Fact& fact : facts.facts) {
    if (fact.t_ns < 0 || (out.dated && !fact.dated)) continue;
    const bool better = out.first < 0 || fact.t_ns < out.first || (fact.dated && !out.dated);
    if (better) out.first = fact.t_ns;
    out.dated = out.dated || fact.dated;
  }
  return out;
}

/// How long the author of a timeout had waited, as its line says.
std::int64_t waited_ns(const Fact& fact) {
  constexpr std::int64_t kMs = 1'000'000, kSecond = 1'000'000'000,
                         kMost = std::int64_t{365} * 86'400 * kSecond;
  const std::int64_t unit = fact.kind == FactKind::HeartbeatStuck ? kSecond : kMs;
  const bool waits = fact.kind == FactKind::WatchdogTimeout || fact.kind == FactKind::GlooTimeout ||
                     fact.kind == FactKind::HeartbeatStuck;
  return waits && fact.value > 0 && fact.value < kMost / unit ? fact.value * unit : -1;
}

/// The newest calls of each rank in the group of the verdict, from what the lines say.
void set_last_calls(const Case& c, std::map<int, Lane>& lanes, std::int64_t verdict_seq) {
  for (const FactKind kind : {FactKind::WatchdogTimeout, FactKind::WatchdogStatus, FactKind::NcclColl})
    for (const Fact* fact : c.of(kind)) {
      const auto lane = lanes.find(c.torch_rank(*fact));
      if (lane == lanes.end()) continue;
      // Each group counts for itself: where the verdict is about one call, only its neighbours are
      // comparable.
      constexpr std::int64_t kNear = 64;
      const auto near = [&](std::int64_t seq) {
        return seq >= 0 && (verdict_seq < 0 || (seq <= verdict_seq + kNear && seq >= verdict_seq - kNear));
      };
      const std::int64_t called = kind == FactKind::WatchdogStatus ? fact->enqueued : fact->seq;
      if (near(called)) lane->second.last_enqueued = std::max(lane->second.last_enqueued, called);
      if (kind == FactKind::WatchdogStatus && near(fact->completed))
        lane->second.last_completed = std::max(lane->second.last_completed, fact->completed);
    }
}

std::vector<Lane> lanes_of(const Case& c, std::int64_t verdict_seq) {
  std::map<int, Lane> lanes;
  const Stamps stamps = stamps_of(c.facts);
  for (const Words& words : kLaneWords)
    for (const Fact* fact : c.of(words.kind)) {
      const int rank = c.torch_rank(*fact);
      if (rank < 0) continue;
      if (lanes.size() >= kLanes && lanes.find(rank) == lanes.end()) continue;
      Lane& lane = lanes[rank];
      if (lane.points.size() >= kPointsOfLane) continue;
      LanePoint point;
      point.t_ns = fact->t_ns >= 0 && fact->dated == stamps.dated ? fact->t_ns - stamps.first : -1;
      point.kind = words.kind;
      point.seq = fact->seq;
      point.waited_ns = waited_ns(*fact);
      point.code = fact->code;
      point.op = fact->op;
      point.what = words.what;
      if (words.kind == FactKind::PythonException || words.kind == FactKind::CudaError)
        point.what += " " + fact->name;
      point.file = fact->file;
      point.line = fact->line;
      lane.points.push_back(std::move(point));
    }
  set_last_calls(c, lanes, verdict_seq);
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

/// Lanes from dumps: the oldest unfinished call of each rank, and what it finished last in the same group.
std::vector<Lane> lanes_of(const FlightRecorder& recorder) {
  std::int64_t first = INT64_MAX;
  for (const FrDump& dump : recorder.dumps)
    for (const FrEntry& entry : dump.entries)
      if (entry.created_ns > 0) first = std::min(first, entry.created_ns);
  const WaitGraph graph = wait_graph(recorder);
  std::vector<Lane> result;
  for (const FrNode& node : graph.nodes) {
    Lane lane;
    lane.rank = node.rank;
    const FrDump* dump = recorder.dump_of(node.rank);
    if (dump != nullptr && node.call != nullptr) {
      const FrEntry& call = *node.call;
      LanePoint point;
      point.kind = FactKind::NcclColl;
      point.t_ns = call.created_ns > 0 && first != INT64_MAX ? call.created_ns - first : -1;
      point.seq = call.p2p ? call.p2p_seq : call.seq;
      point.waited_ns = 0;
      point.op = recorder.text(call.op);
      point.what = "called";
      lane.last_enqueued = point.seq;
      for (const FrEntry& entry : dump->entries)
        if (entry.group == call.group && entry.p2p == call.p2p && entry.state == FrState::Completed)
          lane.last_completed = std::max(lane.last_completed, entry.p2p ? entry.p2p_seq : entry.seq);
      lane.points.push_back(std::move(point));
    }
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

/// Dumps know better than lines which call each rank was in.
void add_dump_lanes(const FlightRecorder& recorder, Incident& incident) {
  std::map<int, Lane> lanes;
  for (Lane& lane : incident.lanes) lanes[lane.rank] = std::move(lane);
  for (Lane& dump : lanes_of(recorder)) {
    Lane& lane = lanes[dump.rank];
    lane.rank = dump.rank;
    lane.last_enqueued = dump.last_enqueued;
    lane.last_completed = dump.last_completed;
    if (lane.points.empty()) lane.points = std::move(dump.points);
  }
  incident.lanes.clear();
  for (auto& [rank, lane] : lanes)
    if (incident.lanes.size() < kLanes) incident.lanes.push_back(std::move(lane));
}

/// Dumps show both sides of every call: where the logs only have statements about others, or do not decide,
/// the dumps do. Where both name the same ranks, the logs say more: that a rank had left, what it skipped.
bool dumps_decide(const Reasoning& logs, const sim::Diagnosis& dumps) {
  static constexpr std::string_view kBelowDumps[] = {
      "recorder_statements", "watchdog_groups", "gloo_waits", "lost_connections",
      "victims_only",        "rendezvous",      "straggler"};
  if (logs.rule == "nothing_failed" || logs.rule.empty()) return true;
  if (dumps.kind == sim::DiagnosisKind::None) return false;
  // A rank that aborted leaves no dump; that is no reason to call it guilty.
  if (logs.rule == "aborted" &&
      (dumps.kind == sim::DiagnosisKind::RankCrash || dumps.kind == sim::DiagnosisKind::HangRankMissing))
    return false;
  const sim::Confidence said = logs.diagnosis.confidence;
  if (said == sim::Confidence::Unknown) return true;
  if (std::find(std::begin(kBelowDumps), std::end(kBelowDumps), logs.rule) == std::end(kBelowDumps))
    return false;
  return dumps.culprits == logs.diagnosis.culprits ? dumps.confidence < said : dumps.confidence <= said;
}

/// The verdict of the dumps in the place of the logs' one.
void take_dumps(const Case& c, const FlightRecorder& recorder, sim::Diagnosis dumps, Reasoning& reasoning) {
  if (dumps.culprit_nodes.empty()) dumps.culprit_nodes = c.hosts_of(dumps.culprits);
  reasoning.explanation = "The Flight Recorder dumps of " + std::to_string(recorder.dumps.size()) +
                          " ranks show which call each rank was in, and whom it waited for.";
  reasoning.rule = "flight_recorder";
  if (dumps.next_steps.empty()) dumps.next_steps = next_steps(c, dumps);
  reasoning.diagnosis = std::move(dumps);
}

Incident conclude(Facts facts, const std::vector<FlightRecorder>& recorders) {
  for (const FlightRecorder& recorder : recorders) append_facts(recorder, facts);
  const Who who(facts);
  const Case c(facts, who);
  const bool one_job = recorders.size() == 1;
  Reasoning reasoning = one_job ? reason(Case(facts, who, Case::Of::Lines)) : reason(c);
  if (one_job) {
    sim::Diagnosis dumps = diagnose(recorders.front());
    if (dumps_decide(reasoning, dumps)) take_dumps(c, recorders.front(), std::move(dumps), reasoning);
  }
  Incident incident;
  incident.diagnosis = std::move(reasoning.diagnosis);
  incident.explanation = std::move(reasoning.explanation);
  incident.rule = std::move(reasoning.rule);
  incident.lanes = lanes_of(c, incident.diagnosis.first_cause.seq.value_or(-1));
  incident.first_stamp_ns = stamps_of(c.facts).first;
  if (recorders.size() == 1) add_dump_lanes(recorders.front(), incident);
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

sim::Status read_ras_json(const InputFile& file, InputMeter& meter, Facts& facts) {
  const auto document = read_document(file, &meter);
  if (!document) return document.error();
  const auto report = parse_ras_json(*document, file.name);
  if (!report) return report.error();
  append_facts(*report, file.name, facts);
  return sim::ok();
}

void read_source(InputKind kind, LineSource& lines, LogScanner& scanner, InspectorReader& inspector,
                 Facts& facts) {
  if (kind == InputKind::RasText)
    read_ras_text(lines, facts);
  else if (kind == InputKind::RasEvents)
    read_ras_events(lines, facts);
  else if (kind == InputKind::InspectorJsonl)
    read_inspector(inspector, lines, facts);
  else
    read_lines(scanner, lines, facts);
}

/// A file of lines, whatever they are lines of.
sim::Status read_text(const InputFile& file, InputMeter& meter, LogScanner& scanner,
                      InspectorReader& inspector, Facts& facts) {
  auto source = open_text(file, &meter);
  if (!source) return source.error();
  read_source(file.kind, **source, scanner, inspector, facts);
  return sim::ok();
}

/// Tells the caller about lines that name a cause, as soon as their file is read.
void tell_new(const DiagnoseInput& input, const Facts& facts, std::size_t& told) {
  for (; told < facts.facts.size(); ++told) {
    const Fact& fact = facts.facts[told];
    if (!input.found || (fact.role != Role::Root && fact.role != Role::Names)) continue;
    const std::string file = fact.file < facts.files.size() ? facts.files[fact.file] : std::string();
    input.found({fact.role, fact.who.rank, file, fact.line, fact.text});
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
  std::size_t read = 0, told = 0;
  for (const InputFile& file : set.files) {
    if (meter.cancelled()) break;
    if (file.kind == InputKind::FlightRecorderPickle || file.kind == InputKind::FlightRecorderJson) {
      ++read;
      continue;  // below, together
    }
    const bool skipped = (file.kind == InputKind::TextLog && is_no_log(file, input.paths)) ||
                         file.kind == InputKind::Empty || file.kind == InputKind::Binary ||
                         file.kind == InputKind::RingsideTrace;
    if (!skipped) {
      auto status = file.kind == InputKind::RasJson ? read_ras_json(file, meter, facts)
                                                    : read_text(file, meter, scanner, inspector, facts);
      if (status)
        ++read;
      else
        facts.problems.push_back(status.error());
      inspected = inspected || (status && file.kind == InputKind::InspectorJsonl);
    }
    meter.file_done();
    tell_new(input, facts, told);
  }
  scanner.finish();
  tell_new(input, facts, told);
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
  Incident incident = conclude(std::move(facts), recorders);
  std::map<std::string_view, const InputFile*> by_name;
  for (const InputFile& file : set.files) by_name.emplace(file.name, &file);
  for (const std::string& name : incident.files) {
    const auto found = by_name.find(name);
    incident.paths.push_back(found == by_name.end() ? std::string() : found->second->path);
  }
  return incident;
}

sim::Result<FileExcerpt> read_excerpt(const std::string& path, std::int64_t line, int around) {
  const std::string paths[] = {path};
  const InputSet set = find_inputs(paths);
  if (set.files.empty())
    return set.problems.empty() ? sim::Error{.what = "the file is no longer there", .file = path}
                                : set.problems.front();
  auto source = open_text(set.files.front());
  if (!source) return source.error();
  FileExcerpt excerpt;
  excerpt.first = std::max<std::int64_t>(1, line - around);
  Line read;
  while ((*source)->next(read)) {
    if (read.number > line + around) break;
    if (read.number >= excerpt.first) excerpt.lines.emplace_back(read.text.substr(0, kMaxFactText));
  }
  if (excerpt.lines.empty() || excerpt.first + static_cast<std::int64_t>(excerpt.lines.size()) <= line)
    return sim::Error{.what = "the file has no line " + std::to_string(line), .file = path};
  return excerpt;
}

Incident diagnose_texts(const std::vector<NamedText>& files) {
  Facts facts;
  LogScanner scanner(facts);
  InspectorReader inspector;
  bool inspected = false;
  for (const NamedText& file : files) {
    constexpr std::size_t kHead = std::size_t{64} << 10;
    const InputKind kind = classify(file.text.substr(0, kHead), file.text.size() <= kHead);
    if (kind == InputKind::RasJson) {
      const auto report = parse_ras_json(file.text, file.name);
      if (report)
        append_facts(*report, file.name, facts);
      else
        facts.problems.push_back(report.error());
      continue;
    }
    inspected = inspected || kind == InputKind::InspectorJsonl;
    read_source(kind, *text_from_memory(file.name, file.text), scanner, inspector, facts);
  }
  scanner.finish();
  if (inspected) append_facts(inspector.finish(), facts);
  return conclude(std::move(facts), {});
}

}  // namespace ringside::backend
