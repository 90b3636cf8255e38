#include "app/cli/run_report.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "app/cli/training_report.hpp"
#include "sim/base/json_writer.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

constexpr std::int64_t kMostNumbers = 65'536;

/// How much more than the result's bytes crosses the busiest link (nccl-tests, doc/PERFORMANCE.md).
double bus_factor(sim::Collective collective, std::int64_t world) {
  const auto n = static_cast<double>(world);
  switch (collective) {
    case sim::Collective::AllReduce:
      return 2 * (n - 1) / n;
    case sim::Collective::ReduceScatter:
    case sim::Collective::AllGather:
    case sim::Collective::AllToAll:
      return (n - 1) / n;
    case sim::Collective::Broadcast:
    case sim::Collective::Reduce:
      return 1;
  }
  return 1;
}

bool finished(const sim::CollectiveOutcome& collective) {
  return collective.finished_ns >= collective.enqueued_ns && collective.outcome != sim::Outcome::Hang &&
         collective.outcome != sim::Outcome::Timeout && collective.outcome != sim::Outcome::Error;
}

/// The sum of a tensor's numbers, one after the other; integers wrap as int64 do.
std::string sum_text(const sim::Tensor& tensor) {
  std::string out;
  const std::int64_t count = tensor.count();
  if (!sim::is_floating(tensor.dtype)) {
    std::uint64_t sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += static_cast<std::uint64_t>(sim::to_int64(tensor.at(i)));
    sim::append_int(out, static_cast<std::int64_t>(sum));
    return out;
  }
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += sim::to_double(tensor.at(i));
  sim::append_scalar_json(out, sim::make_scalar(sim::DType::Float64, sum));
  return out;
}

std::string scalar_json(sim::Scalar value) {
  std::string out;
  sim::append_scalar_json(out, value);
  return out;
}

void append_numbers(sim::JsonWriter& json, const sim::Tensor& tensor) {
  json.begin_array();
  for (std::int64_t i = 0; i < tensor.count(); ++i) json.raw(scalar_json(tensor.at(i)));
  json.end_array();
}

void append_summary(sim::JsonWriter& json, const sim::Tensor& tensor) {
  const sim::Sample sample = sim::sample_of(tensor);
  json.begin_object().key("min").raw(scalar_json(sample.min)).key("max").raw(scalar_json(sample.max));
  json.key("sum").raw(sum_text(tensor)).key("digest").hex64(sample.digest).end_object();
}

void append_result(sim::JsonWriter& json, const std::vector<std::shared_ptr<const sim::Tensor>>& result) {
  std::int64_t numbers = 0;
  for (const auto& tensor : result) numbers += tensor ? tensor->count() : 0;
  json.key("result").begin_array();
  for (const auto& tensor : result) {
    if (!tensor) {
      json.null();  // this rank never had one
    } else if (numbers <= kMostNumbers) {
      append_numbers(json, *tensor);
    } else {
      append_summary(json, *tensor);
    }
  }
  json.end_array();
}

void append_collective(sim::JsonWriter& json, const RunReport& report,
                       const sim::CollectiveOutcome& collective) {
  const sim::Trace& trace = report.simulation.trace;
  const sim::CollectiveInfo& info = trace.collective(collective.coll);
  json.begin_object().field("comm", trace.string(info.comm)).field("seq", info.seq).field("step", info.step);
  json.field("collective", sim::to_word(info.collective)).field("op", sim::to_word(info.op));
  json.field("algorithm", sim::to_word(info.algorithm)).field("order", sim::to_word(info.order));
  json.field("dtype", sim::to_word(info.dtype)).field("count", info.count);
  json.field("outcome", sim::to_word(collective.outcome)).field("ring_steps", info.steps);
  json.field("transfers", collective.transfers).field("bytes_sent_per_rank", collective.bytes_sent_per_rank);
  json.key("time_ns");
  finished(collective) ? json.integer(collective.finished_ns - collective.enqueued_ns) : json.null();
  const auto bandwidth = bandwidth_of(trace, collective);
  json.key("algbw_GBps");
  bandwidth ? json.number(bandwidth->algbw) : json.null();
  json.key("busbw_GBps");
  bandwidth ? json.number(bandwidth->busbw) : json.null();
  if (!collective.result.empty()) append_result(json, collective.result);
  json.end_object();
}

std::string numbers_text(const sim::Tensor& tensor) {
  constexpr std::int64_t kShown = 8;
  std::string out;
  for (std::int64_t i = 0; i < std::min(tensor.count(), kShown); ++i) {
    if (i > 0) out += "  ";
    sim::append_scalar(out, tensor.at(i));
  }
  if (tensor.count() > kShown) out += fmt::format("  … ({} numbers)", sim::with_commas(tensor.count()));
  return out;
}

/// "0–2, 5": ranks that hold the same, in short.
std::string ranks_text(const std::vector<std::size_t>& ranks) {
  std::string out;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!out.empty()) out += ", ";
    out += last == i ? fmt::format("{}", ranks[i]) : fmt::format("{}–{}", ranks[i], ranks[last]);
    i = last + 1;
  }
  return out;
}

/// Ranks with the same bits share a line.
void append_result_text(std::string& out, const std::vector<std::shared_ptr<const sim::Tensor>>& result) {
  constexpr std::size_t kMostLines = 16;
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t r = 0; r < result.size(); ++r) {
    const auto same = [&](const std::vector<std::size_t>& group) {
      const auto& first = result[group.front()];
      return first == result[r] || (first && result[r] && first->data == result[r]->data);
    };
    const auto found = std::find_if(groups.begin(), groups.end(), same);
    if (found == groups.end()) {
      groups.push_back({r});
    } else {
      found->push_back(r);
    }
  }
  for (std::size_t g = 0; g < groups.size() && g < kMostLines; ++g) {
    const auto& tensor = result[groups[g].front()];
    const std::string who = groups.size() == 1
                                ? "every rank"
                                : (groups[g].size() == 1 ? "rank " : "ranks ") + ranks_text(groups[g]);
    out += fmt::format("  {:<12} {}\n", who, tensor ? numbers_text(*tensor) : "nothing");
  }
  if (groups.size() > kMostLines) out += fmt::format("  … and {} more\n", groups.size() - kMostLines);
}

/// 10^9 bytes a second in a unit that people can read: "213 KB/s", "48.2 GB/s".
std::string rate_text(double gigabytes_per_s) {
  if (gigabytes_per_s >= 1) return fmt::format("{:.3g} GB/s", gigabytes_per_s);
  if (gigabytes_per_s >= 1e-3) return fmt::format("{:.3g} MB/s", gigabytes_per_s * 1e3);
  return fmt::format("{:.3g} KB/s", gigabytes_per_s * 1e6);
}

std::string collective_text(const RunReport& report, const sim::CollectiveOutcome& collective) {
  const sim::CollectiveInfo& info = report.simulation.trace.collective(collective.coll);
  std::string line =
      fmt::format("  {} {}  {}", sim::to_word(info.collective), info.seq, sim::to_word(collective.outcome));
  if (finished(collective))
    line += fmt::format(" in {}", sim::format_duration(collective.finished_ns - collective.enqueued_ns));
  line +=
      fmt::format("  {} ring steps, {} transfers, {} sent per rank", info.steps,
                  sim::with_commas(collective.transfers), sim::format_bytes(collective.bytes_sent_per_rank));
  if (const auto bandwidth = bandwidth_of(report.simulation.trace, collective))
    line += ", busbw " + rate_text(bandwidth->busbw);
  return line + "\n";
}

/// "12 completed, 3 nan": how many collectives ended how, in the order of Outcome.
std::string outcomes_text(const std::vector<sim::CollectiveOutcome>& all) {
  std::string out;
  for (int word = 0; word <= static_cast<int>(sim::Outcome::Completed); ++word) {
    const auto outcome = static_cast<sim::Outcome>(word);
    const auto count =
        std::count_if(all.begin(), all.end(), [&](const auto& one) { return one.outcome == outcome; });
    if (count == 0) continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", sim::with_commas(count), sim::to_word(outcome));
  }
  return out;
}

/// All collectives of a short job; of a long one the first, the last, and the first of each other outcome.
void append_collectives_text(std::string& out, const RunReport& report) {
  constexpr std::size_t kEdge = 3;
  const auto& all = report.simulation.collectives;
  std::uint32_t seen = 1u << static_cast<unsigned>(sim::Outcome::Completed);
  bool gap = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::uint32_t bit = 1u << static_cast<unsigned>(all[i].outcome);
    const bool shown = i < kEdge || i + kEdge >= all.size() || (seen & bit) == 0;
    seen |= bit;
    if (shown) out += (gap ? "  …\n" : "") + collective_text(report, all[i]);
    gap = !shown;
  }
  if (all.size() > 2 * kEdge)
    out += fmt::format("  {} collectives: {}\n", sim::with_commas(static_cast<std::int64_t>(all.size())),
                       outcomes_text(all));
}

}  // namespace

std::optional<Bandwidth> bandwidth_of(const sim::Trace& trace, const sim::CollectiveOutcome& collective) {
  const std::int64_t time = collective.finished_ns - collective.enqueued_ns;
  if (!finished(collective) || time <= 0) return std::nullopt;
  const sim::CollectiveInfo& info = trace.collective(collective.coll);
  const auto bytes = static_cast<double>(info.count * sim::size_of(info.dtype));
  const double algbw = bytes / static_cast<double>(time);  // bytes a nanosecond are 10^9 bytes a second
  return Bandwidth{algbw, algbw * bus_factor(info.collective, info.world_size)};
}

std::string diagnosis_text(const sim::Diagnosis& diagnosis) {
  std::string out;
  constexpr std::size_t kShown = 4;
  if (diagnosis.kind == sim::DiagnosisKind::None) return out;
  const auto safe = [](std::string_view text) { return sim::escape_for_display(text); };
  out +=
      fmt::format("\ndiagnosis  {} ({})\n", sim::to_word(diagnosis.kind), sim::to_word(diagnosis.confidence));
  out += fmt::format("  {}\n", safe(diagnosis.first_cause.what));
  const auto ranks = [&](const char* label, const std::vector<int>& list) {
    if (list.empty()) return;
    out += fmt::format("  {:<12} {}\n", label, ranks_text({list.begin(), list.end()}));
  };
  ranks("culprit", diagnosis.culprits);
  ranks("victims", diagnosis.victims);
  for (std::size_t i = 0; i < std::min(kShown, diagnosis.evidence.size()); ++i)
    out += fmt::format("  {:<12} {}\n", i == 0 ? "evidence" : "", safe(diagnosis.evidence[i].text));
  for (std::size_t i = 0; i < std::min(kShown, diagnosis.next_steps.size()); ++i)
    out += fmt::format("  {:<12} {}\n", i == 0 ? "next" : "", safe(diagnosis.next_steps[i]));
  return out;
}

std::string run_json(const RunReport& report) {
  std::string out;
  sim::JsonWriter json(out);
  json.begin_object().field("title", report.scenario.title).field("seed", report.scenario.seed);
  json.field("world_size", report.scenario.world_size());
  json.field("outcome", sim::to_word(report.simulation.outcome)).field("time_ns", report.simulation.time_ns);
  json.field("events", static_cast<std::int64_t>(report.simulation.trace.size()));
  json.field("trace_hash", report.trace_hash).key("collectives").begin_array();
  for (const auto& collective : report.simulation.collectives) append_collective(json, report, collective);
  json.end_array();
  append_training(json, report.scenario, report.simulation);
  std::string diagnosis;
  sim::append_diagnosis_json(diagnosis, report.diagnosis);
  json.key("diagnosis").raw(diagnosis).end_object();
  return out + "\n";
}

std::string run_text(const RunReport& report) {
  const sim::Scenario& scenario = report.scenario;
  const sim::Simulation& simulation = report.simulation;
  std::string out = scenario.title.empty() ? std::string() : sim::escape_for_display(scenario.title) + "\n";
  const std::int64_t bytes = scenario.tensor.shape.count() * sim::size_of(scenario.tensor.dtype);
  out += fmt::format("{} rank{} on {} node{}, {} {} ({} a rank), {} {}, op {}\n",
                     sim::with_commas(scenario.world_size()), scenario.world_size() == 1 ? "" : "s",
                     sim::with_commas(scenario.cluster.nodes), scenario.cluster.nodes == 1 ? "" : "s",
                     sim::to_word(scenario.tensor.dtype), scenario.tensor.shape.text(),
                     sim::format_bytes(bytes), sim::to_word(scenario.collective.algorithm),
                     sim::to_word(scenario.collective.collective), sim::to_word(scenario.collective.op));
  out += fmt::format("\n{} after {}\n", sim::to_word(simulation.outcome),
                     sim::format_duration(simulation.time_ns));
  append_collectives_text(out, report);
  if (!simulation.collectives.empty() && !simulation.collectives.back().result.empty()) {
    out += "\nresult\n";
    append_result_text(out, simulation.collectives.back().result);
  }
  out += training_text(scenario, simulation);
  out += diagnosis_text(report.diagnosis);
  out += fmt::format("\ntrace  {} events, hash {}\n",
                     sim::with_commas(static_cast<std::int64_t>(simulation.trace.size())), report.trace_hash);
  return out;
}

}  // namespace ringside::app
