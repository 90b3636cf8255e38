#include "app/cli/reliability.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "sim/base/json_writer.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

/// At most 4 significant digits: more would pretend a precision that published rates do not have.
double four_digits(double value) {
  return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr);
}

std::string hours_text(double hours) {
  return sim::format_duration(static_cast<std::int64_t>(hours * 3.6e12));
}

void append_ettr(sim::JsonWriter& json, const sim::ReliabilitySpec& spec, const sim::Reliability& r) {
  json.key("ettr").begin_object().field("checkpoint_minutes", spec.checkpoint_minutes);
  json.field("write_minutes", spec.write_minutes).field("restart_minutes", spec.restart_minutes);
  json.field("linear", four_digits(r.ettr_linear)).field("exact", four_digits(r.ettr_exact));
  json.key("monte_carlo").begin_object().field("mean", four_digits(r.ettr_simulated.mean));
  json.field("low_95", four_digits(r.ettr_simulated.low))
      .field("high_95", four_digits(r.ettr_simulated.high));
  json.field("failures_per_run", four_digits(r.ettr_simulated.failures_per_run)).field("runs", spec.runs);
  json.field("seed", spec.seed).end_object();
  if (r.best_checkpoint_minutes > 0)
    json.field("best_checkpoint_minutes", four_digits(r.best_checkpoint_minutes));
  json.end_object();
}

}  // namespace

std::string reliability_json(const sim::ReliabilitySpec& spec) {
  const sim::Reliability r = sim::reliability(spec);
  std::string out;
  sim::JsonWriter json(out);
  json.begin_object()
      .field("gpus", spec.gpus)
      .field("gpus_per_node", spec.gpus_per_node)
      .field("nodes", r.nodes);
  json.field("rate_per_1000_node_days", four_digits(spec.failures_per_1000_node_days));
  json.field("mttf_hours", four_digits(r.mttf_hours));
  json.field("run_hours", spec.run_hours).field("failure_odds", four_digits(r.failure_odds));
  append_ettr(json, spec, r);
  json.key("published").begin_array();
  for (const sim::PublishedPoint& point : sim::published_points()) {
    json.begin_object().field("source", point.source).field("what", point.what).field("gpus", point.gpus);
    json.field("hours", four_digits(point.hours)).field("measured", point.measured);
    if (!point.note.empty()) json.field("note", point.note);
    json.end_object();
  }
  json.end_array().end_object();
  return out;
}

std::string reliability_text(const sim::ReliabilitySpec& spec) {
  const sim::Reliability r = sim::reliability(spec);
  std::string out =
      fmt::format("{} GPUs on {} nodes, {:.4g} failures per 1,000 node-days\n", sim::with_commas(spec.gpus),
                  sim::with_commas(r.nodes), spec.failures_per_1000_node_days);
  out += fmt::format("  a failure every   {}\n", hours_text(r.mttf_hours));
  out += fmt::format("  odds of one in    {}: {:.1f} %\n", hours_text(spec.run_hours), 100 * r.failure_odds);
  out += fmt::format("Useful time (ETTR), checkpoint every {}, restart {}, write {}\n",
                     hours_text(spec.checkpoint_minutes / 60), hours_text(spec.restart_minutes / 60),
                     hours_text(spec.write_minutes / 60));
  out += fmt::format("  the paper's linear formula  {:.3f}{}\n", r.ettr_linear,
                     r.ettr_linear < 0 ? "   (out of its range: failures come faster than checkpoints)" : "");
  out += fmt::format("  exact renewal formula       {:.3f}\n", r.ettr_exact);
  if (r.ettr_simulated.mean > 0) {
    out += fmt::format("  Monte Carlo, {} runs        {:.3f}   (95 %: {:.3f} to {:.3f})\n", spec.runs,
                       r.ettr_simulated.mean, r.ettr_simulated.low, r.ettr_simulated.high);
  } else {
    out += "  Monte Carlo                 not run: such a job hardly moves\n";
  }
  if (r.best_checkpoint_minutes > 0)
    out += fmt::format("  best checkpoint interval    {} (first order: Young, Daly)\n",
                       hours_text(r.best_checkpoint_minutes / 60));
  out += "Published\n";
  for (const sim::PublishedPoint& point : sim::published_points())
    out += fmt::format("  {:>8} GPUs  {:<38} {:>10}  {}{}{}\n", sim::with_commas(point.gpus), point.what,
                       hours_text(point.hours), point.measured ? "measured" : "projected",
                       point.note.empty() ? "" : ". ", point.note);
  return out;
}

}  // namespace ringside::app
