#include <algorithm>

#include "sim/base/text.hpp"
#include "sim/diagnosis/rules.hpp"

namespace ringside::sim {
namespace {

std::string call_text(const Case& c, const Event& e) {
  const CollectivePayload& call = e.collective;
  std::string out = "calls ";
  out += to_word(call.collective);
  out += ", seq " + std::to_string(c.trace.collective(call.coll).seq) + ", op ";
  out += to_word(call.op);
  out += ", ";
  out += to_word(call.dtype);
  if (call.shape != kNone) out += ", shape " + c.trace.shape(call.shape).text();
  return out + ", count " + with_commas(call.count);
}

std::string event_text(const Case& c, const Event& e) {
  switch (e.type) {
    case EventType::CollectiveEnqueued:
      return call_text(c, e);
    case EventType::CollectiveFinished:
      return "finished seq " + std::to_string(c.trace.collective(e.collective.coll).seq);
    case EventType::PhaseBegin:
      return "begins " + std::string(to_word(e.phase.phase)) + " of step " + std::to_string(e.phase.step);
    case EventType::PhaseEnd:
      return "ends " + std::string(to_word(e.phase.phase)) + " of step " + std::to_string(e.phase.step);
    case EventType::NanFound:
      return "NaN in " + c.trace.string(e.nan.tensor) + ", first at index " + std::to_string(e.nan.index) +
             ", step " + std::to_string(e.nan.step);
    case EventType::Exit:
      return (e.aux8 != 0 ? "ended by signal " : "exits with code ") + std::to_string(e.text.code);
    case EventType::Left:
      return "is gone: " + c.trace.string(e.text.text);
    case EventType::WatchdogExpired:
      return "watchdog: waited " + format_duration(e.watchdog.waited_ns);
    case EventType::DeviceSample:
      return "Xid " + std::to_string(e.device.xid);
    case EventType::Weights:
      return "weights after step " + std::to_string(e.weights.step);
    case EventType::NicState:
      return "port " + c.trace.string(e.text.text) + (e.text.code != 0 ? " is up" : " is down");
    case EventType::Error:
    case EventType::LogLine:
    case EventType::NodeState:
      return c.trace.string(e.text.text);
    default:
      return std::string(to_word(e.type));
  }
}

std::string source_name(const Case& c, const Event& e) {
  switch (e.src_kind) {
    case Source::Kind::Rank:
      return rank_name(e.src_id);
    case Source::Kind::Node: {
      const int first = e.src_id * c.survey.gpus_per_node;
      return first < c.survey.world() ? c.survey.host_of(first) : "n" + std::to_string(e.src_id);
    }
    case Source::Kind::Launcher:
      return "launcher";
    case Source::Kind::Hub:
      return "hub";
    case Source::Kind::Sim:
      return "simulator";
  }
  return {};
}

}  // namespace

std::vector<int> Case::all_ranks() const {
  std::vector<int> all(static_cast<std::size_t>(survey.world()));
  for (std::size_t r = 0; r < all.size(); ++r) all[r] = static_cast<int>(r);
  return all;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::int64_t median(std::vector<std::int64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double magnitude(const Sample& sample) {
  const double low = to_double(sample.min), high = to_double(sample.max);
  return std::max(low < 0 ? -low : low, high < 0 ? -high : high);
}

Evidence cite(const Case& c, std::uint32_t event, std::string text) {
  const Event& e = c.trace.events()[event];
  Evidence evidence;
  evidence.t_ns = e.t;
  evidence.event = event;
  evidence.text = source_name(c, e) + ": " + (text.empty() ? event_text(c, e) : text);
  return evidence;
}

std::string rank_name(int rank) {
  return "R" + std::to_string(rank);
}

std::string rank_list(const std::vector<int>& ranks) {
  constexpr std::size_t kShown = 6;
  std::string out;
  const std::size_t shown = std::min(ranks.size(), kShown);
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) out += i + 1 == ranks.size() ? " and " : ", ";
    out += rank_name(ranks[i]);
  }
  if (ranks.size() > kShown) out += " and " + std::to_string(ranks.size() - kShown) + " more";
  return out;
}

Diagnosis blame_rank(const Case& c, DiagnosisKind kind, int rank, std::uint32_t event, std::string what) {
  const Event& e = c.trace.events()[event];
  Diagnosis d;
  d.kind = kind;
  d.confidence = Confidence::Certain;
  d.culprits = {rank};
  d.culprit_nodes = {c.survey.host_of(rank)};
  d.first_cause.rank = rank;
  d.first_cause.node = c.survey.host_of(rank);
  d.first_cause.t_ns = e.t;
  d.first_cause.what = std::move(what);
  const std::int32_t step = c.survey.ranks[static_cast<std::size_t>(rank)].step;
  if (e.type == EventType::PhaseBegin || e.type == EventType::PhaseEnd) {
    d.first_cause.step = e.phase.step;
  } else if (e.type == EventType::NanFound) {
    d.first_cause.step = e.nan.step;
  } else if (step > 0) {
    d.first_cause.step = step;
  }
  if (e.type == EventType::CollectiveEnqueued || e.type == EventType::CollectiveFinished)
    d.first_cause.seq = c.trace.collective(e.collective.coll).seq;
  d.evidence.push_back(cite(c, event));
  return d;
}

Diagnosis undecided(const Case& c, DiagnosisKind kind, const std::vector<int>& candidates,
                    std::uint32_t event, std::string what, std::string_view why) {
  Diagnosis d;
  d.kind = kind;
  d.confidence = Confidence::Unknown;
  d.first_cause.t_ns = c.trace.events()[event].t;
  d.first_cause.what = std::move(what);
  d.evidence.push_back(cite(c, event));
  constexpr std::size_t kListed = 64;
  for (std::size_t i = 0; i < std::min(candidates.size(), kListed); ++i)
    d.alternatives.push_back({kind, {candidates[i]}, std::string(why)});
  return d;
}

void trace_back_to_nan(const Case& c, Diagnosis& d, std::int64_t step) {
  if (d.culprits.size() != 1) return;
  const RankSurvey& rank = c.survey.ranks[static_cast<std::size_t>(d.culprits.front())];
  if (!rank.first_nan) return;
  const Event& e = c.trace.events()[*rank.first_nan];
  const bool called = std::any_of(rank.calls.begin(), rank.calls.end(),
                                  [&](const Call& call) { return call.step == e.nan.step; });
  if (e.nan.step > step || called) return;
  d.kind = DiagnosisKind::Nan;
  d.first_cause.step = e.nan.step;
  d.first_cause.t_ns = e.t;
  d.first_cause.what = rank_name(d.culprits.front()) + " found NaN in its own gradient in step " +
                       std::to_string(e.nan.step) + " and made no call in that step; the others did.";
  d.evidence.insert(d.evidence.begin(), cite(c, *rank.first_nan));
}

int xid_in(std::string_view line) {
  const std::size_t at = line.find("Xid (");
  if (at == std::string_view::npos) return 0;
  const std::size_t colon = line.find("): ", at);
  if (colon == std::string_view::npos) return 0;
  int number = 0;
  for (std::size_t i = colon + 3; i < line.size() && line[i] >= '0' && line[i] <= '9' && number < 100'000;
       ++i)
    number = number * 10 + (line[i] - '0');
  return number;
}

}  // namespace ringside::sim
