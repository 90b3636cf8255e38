#include "app/cli/training_report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "sim/job/gradient_proof.hpp"
#include "sim/job/training.hpp"

namespace ringside::app {
namespace {

constexpr double kMostWork = 2e9;  // multiply-adds: a few seconds

struct Losses {
  double first = 0, last = 0;
};

/// The largest figures over all steps.
struct Proof {
  double difference = 0, bound = 0;
  bool within = true;
  std::size_t same_order_different = 0;
};

struct Report {
  std::int64_t steps = 0,
               equal_steps = 0;  // after which all ranks have said their weights; and these are equal
  int models = 0;                // after the last of them
  std::optional<Losses> all, own;
  std::optional<Proof> proof;
};

/// From the trace alone.
void count_models(Report& report, const sim::Trace& trace) {
  std::map<std::int64_t, std::map<int, std::uint64_t>> digests;
  for (const sim::Event& e : trace.events())
    if (e.type == sim::EventType::Weights && e.rank() >= 0)
      digests[e.weights.step][e.rank()] = e.weights.digest;
  for (const auto& [step, of_ranks] : digests) {
    if (static_cast<int>(of_ranks.size()) < trace.header.world_size) continue;
    std::set<std::uint64_t> different;
    for (const auto& [rank, digest] : of_ranks) different.insert(digest);
    ++report.steps;
    if (different.size() == 1) ++report.equal_steps;
    report.models = static_cast<int>(different.size());
  }
}

Losses losses(const sim::TrainingHistory& h, std::int64_t last, const auto& loss) {
  const int world = h.scenario().world_size();
  Losses out;
  for (int r = 0; r < world; ++r) {
    out.first += loss(r, 0) / world;
    out.last += loss(r, last) / world;
  }
  return out;
}

Proof prove_all(const sim::TrainingHistory& h, std::int64_t last) {
  Proof out;
  for (std::int64_t step = 1; step <= last; ++step) {
    const sim::GradientProof proof = sim::prove_gradient(h, step);
    if (!(proof.largest_difference <= out.difference)) out.difference = proof.largest_difference;
    out.bound = std::max(out.bound, proof.largest_bound);
    out.within = out.within && proof.within_bound;
    out.same_order_different += proof.same_order_different;
  }
  return out;
}

Report make_report(const sim::Scenario& s, const sim::Simulation& simulation) {
  Report report;
  count_models(report, simulation.trace);
  const double work = sim::history_cost(s).per_step * static_cast<double>(s.training.steps);
  if (work > kMostWork || report.steps == 0) return report;
  sim::TrainingHistory h(s);
  while (h.known() < report.steps && h.advance()) {
  }
  if (sim::first_difference(simulation.trace, h)) return report;  // a fault changed numbers
  const std::int64_t last = h.known();
  report.all = losses(h, last, [&](int r, std::int64_t step) { return h.loss_on_all(r, step); });
  report.own = losses(h, last, [&](int r, std::int64_t step) { return h.own_loss(r, step); });
  if (!sim::proof_problem(s)) report.proof = prove_all(h, last);
  return report;
}

void append_losses(sim::JsonWriter& json, std::string_view name, const std::optional<Losses>& losses) {
  json.key(name);
  if (!losses) {
    json.null();
    return;
  }
  json.begin_object().field("first", losses->first).field("last", losses->last).end_object();
}

}  // namespace

void append_training(sim::JsonWriter& json, const sim::Scenario& s, const sim::Simulation& simulation) {
  if (!s.training.network.enabled) return;
  const Report report = make_report(s, simulation);
  json.key("training").begin_object().field("steps", report.steps).field("models", report.models);
  json.field("steps_with_equal_weights", report.equal_steps);
  append_losses(json, "loss_on_all", report.all);
  append_losses(json, "own_loss", report.own);
  json.key("proof");
  if (report.proof) {
    json.begin_object().field("largest_difference", report.proof->difference);
    json.field("bound", report.proof->bound).field("within_bound", report.proof->within);
    json.field("same_order_different", static_cast<std::int64_t>(report.proof->same_order_different));
    json.end_object();
  } else {
    json.null();
  }
  json.end_object();
}

std::string training_text(const sim::Scenario& s, const sim::Simulation& simulation) {
  if (!s.training.network.enabled) return {};
  const Report report = make_report(s, simulation);
  std::string out =
      fmt::format("\ntraining  {} step{} on all ranks\n", report.steps, report.steps == 1 ? "" : "s");
  out += fmt::format("  {:<12} {} model{} on {} rank{}; equal weights after {} of {} steps\n", "weights",
                     report.models, report.models == 1 ? "" : "s", s.world_size(),
                     s.world_size() == 1 ? "" : "s", report.equal_steps, report.steps);
  if (report.all)
    out += fmt::format("  {:<12} {:.4g} -> {:.4g} on everyone's data, {:.4g} -> {:.4g} on each rank's own\n",
                       "loss", report.all->first, report.all->last, report.own->first, report.own->last);
  else
    out +=
        fmt::format("  {:<12} not computed: a fault changed numbers, or the network is too large\n", "loss");
  if (!report.proof) return out;
  out += fmt::format(
      "  {:<12} {} ranks x {} samples against one process x {}: differ by at most {:.2g} ({} the "
      "rounding bound, {:.2g}); in the same order {}\n",
      "proof", s.world_size(), s.training.network.batch,
      std::int64_t{s.world_size()} * s.training.network.batch, report.proof->difference,
      report.proof->within ? "within" : "OUTSIDE", report.proof->bound,
      report.proof->same_order_different == 0
          ? std::string("exactly 0")
          : fmt::format("{} numbers differ", report.proof->same_order_different));
  return out;
}

}  // namespace ringside::app
