#include "backend/model/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <set>

namespace ringside::backend {
namespace {

using sim::LinkClass;
using sim::ModelConstants;
using sim::NicClass;

/// A constant is exp(sum of its logarithms): a common value and, for hops, a class's deviation from it.
struct Parameter {
  double mean = 0;   // the guess: logarithm
  double sigma = 1;  // how far from it is still plausible
  double low = -20, high = 20;
  double step = 0.2;
};

// The guesses. Where a class has no table, its constant is the guess or its kin's value.
constexpr double kLinkHopGuessUs = 0.3, kNicHopGuessUs = 4, kLinkRampGuessUs = 4, kNicRampGuessUs = 3;
constexpr double kNicEfficiencyGuess = 0.96;
constexpr double kSocketHops =
    5;  // no healthy table of sockets is known: a hop through the kernel, in verbs' hops
constexpr double kPriorWeight = 0.1;

// Errors below these (as logarithms) count squared, above them linearly: one odd row cannot pull a constant.
// The largest sizes weigh most: there the bandwidth alone is measured, and tables agree within a few percent.
constexpr std::array<double, sim::kSizeBands> kHuber = {0.15, 0.15, 0.1, 0.1};
constexpr std::array<double, sim::kSizeBands> kBandWeight = {3, 3, 3, 9};

enum Slot : std::size_t {
  kLinkHop,
  kNicHop,
  kLinkRamp,
  kNicRamp,
  kLinkHopOf,
  kEfficiencyOf = kLinkHopOf + sim::kLinkClasses,
  kSwitchOf = kEfficiencyOf + sim::kLinkClasses,
  kNicHopOf = kSwitchOf + sim::kLinkClasses,
  kNicRampOf = kNicHopOf + sim::kNicClasses,
  kNicEfficiencyOf = kNicRampOf + sim::kNicClasses,
  kSlots = kNicEfficiencyOf + sim::kNicClasses
};
using Values = std::array<double, kSlots>;

std::array<Parameter, kSlots> make_parameters() {
  std::array<Parameter, kSlots> all;
  all[kLinkHop] = {std::log(kLinkHopGuessUs), 0.7};
  all[kNicHop] = {std::log(kNicHopGuessUs), 0.5};
  all[kLinkRamp] = {std::log(kLinkRampGuessUs), 0.7};
  all[kNicRamp] = {std::log(kNicRampGuessUs), 0.7};
  // A class's hop may differ from the common one by a factor e. NCCL's link constants were measured, so a
  // ring stays near them; its NVLS figures were not. A NIC cannot exceed its wire rate.
  for (std::size_t i = 0; i < sim::kLinkClasses; ++i) {
    all[kLinkHopOf + i] = {0, 1, -3, 3};
    all[kEfficiencyOf + i] = {0, 0.08, std::log(0.8), std::log(1.25), 0.03};
    all[kSwitchOf + i] = {0, 0.3, std::log(0.8), std::log(1.25), 0.03};
  }
  for (std::size_t i = 0; i < sim::kNicClasses; ++i) {
    all[kNicHopOf + i] = {0, 1, -3, 3};
    all[kNicRampOf + i] = {0, 1, -3, 3};
    all[kNicEfficiencyOf + i] = {std::log(kNicEfficiencyGuess), 0.04, std::log(0.8), 0, 0.03};
  }
  all[kNicHopOf + static_cast<std::size_t>(NicClass::Tcp)].mean = std::log(kSocketHops);
  return all;
}

ModelConstants constants_of(const Values& v) {
  ModelConstants c;
  c.link_ramp_us = std::exp(v[kLinkRamp]);
  for (std::size_t i = 0; i < sim::kLinkClasses; ++i) {
    c.links[i].hop_us = std::exp(v[kLinkHop] + v[kLinkHopOf + i]);
    c.links[i].efficiency = std::exp(v[kEfficiencyOf + i]);
    c.links[i].switch_efficiency = std::exp(v[kSwitchOf + i]);
  }
  for (std::size_t i = 0; i < sim::kNicClasses; ++i) {
    c.nics[i].hop_us = std::exp(v[kNicHop] + v[kNicHopOf + i]);
    c.nics[i].ramp_us = std::exp(v[kNicRamp] + v[kNicRampOf + i]);
    c.nics[i].efficiency = std::exp(v[kNicEfficiencyOf + i]);
  }
  return c;
}

/// One measured row with everything that does not depend on the constants.
struct Point {
  LinkClass link = LinkClass::NvLink4;
  NicClass nic = NicClass::Verbs;
  std::vector<sim::ModelTerm> terms;
  double measured_us = 0;
  double tuner_us = 0;
  std::size_t band = 0;
  double weight = 1;
};

std::vector<Point> points_of(const CatalogTable& table) {
  std::vector<Point> points;
  std::array<double, sim::kSizeBands> count{};
  const sim::TunerJob job = sim::tuner_job(table.preset, table.table.nodes, table.table.gpus_per_node);
  for (const MeasuredRow& row : table.table.rows) {
    const auto rows = sim::tuner_rows(job, table.table.collective, row.bytes);
    if (rows.empty()) continue;
    Point point;
    point.link = sim::link_class(table.preset);
    point.nic = sim::nic_class(table.preset);
    point.terms = sim::model_terms(table.preset, job, rows, table.table.gpus_per_node, row.bytes);
    point.tuner_us = sim::tuner_choice(rows)->tuner_us;
    point.measured_us = row.time_us;
    point.band = sim::size_band(row.bytes);
    count[point.band] += 1;
    points.push_back(std::move(point));
  }
  // A long table counts more than a short one, but not in proportion.
  for (Point& point : points) point.weight = kBandWeight[point.band] / std::sqrt(count[point.band]);
  return points;
}

double predicted_us(const Point& point, const ModelConstants& constants) {
  double best = 0;
  for (const sim::ModelTerm& term : point.terms) {
    const double time = sim::model_time_us(term, constants, point.link, point.nic);
    if (best == 0 || time < best) best = time;
  }
  return best;
}

double cost_of(const std::vector<Point>& points, const std::array<Parameter, kSlots>& parameters,
               const Values& v) {
  const ModelConstants constants = constants_of(v);
  double cost = 0;
  for (const Point& point : points) {
    const double d = std::fabs(std::log(predicted_us(point, constants) / point.measured_us)),
                 h = kHuber[point.band];
    cost += point.weight * (d < h ? d * d / 2 : h * (d - h / 2));
  }
  for (std::size_t i = 0; i < kSlots; ++i) {
    const double z = (v[i] - parameters[i].mean) / parameters[i].sigma;
    cost += kPriorWeight * z * z / 2;
  }
  return cost;
}

/// One descent of a pattern search, one coordinate after another.
void descend(const std::vector<Point>& points, const std::array<Parameter, kSlots>& parameters, Values& v,
             double& cost) {
  Values step{};
  for (std::size_t i = 0; i < kSlots; ++i) step[i] = parameters[i].step;
  for (int round = 0; round < 200; ++round) {
    bool better = false;
    for (std::size_t i = 0; i < kSlots; ++i) {
      bool moved = false;
      for (const double sign : {1.0, -1.0}) {
        Values next = v;
        next[i] = std::clamp(v[i] + sign * step[i], parameters[i].low, parameters[i].high);
        const double next_cost = cost_of(points, parameters, next);
        if (!(next_cost < cost - 1e-9)) continue;
        v = next;
        cost = next_cost;
        moved = better = true;
        break;
      }
      step[i] *= moved ? 1.5 : 0.5;
    }
    if (!better && *std::max_element(step.begin(), step.end()) < 0.001) break;
  }
}

/// Slow, simple, and the same on every machine. The cost has kinks where another algorithm becomes the
/// fastest, so the search starts again with long steps until that gains nothing more.
Values minimise(const std::vector<Point>& points) {
  const auto parameters = make_parameters();
  Values v{};
  for (std::size_t i = 0; i < kSlots; ++i) v[i] = parameters[i].mean;
  double cost = cost_of(points, parameters, v), before = 0;
  for (int start = 0; start < 20; ++start) {
    before = cost;
    descend(points, parameters, v, cost);
    if (before - cost < 1e-6) break;
  }
  return v;
}

double four_digits(double value) {
  return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr);
}
double one_decimal(double value) {
  return std::strtod(fmt::format("{:.1f}", value).c_str(), nullptr);
}

void round_constants(ModelConstants& c) {
  c.link_ramp_us = four_digits(c.link_ramp_us);
  for (sim::LinkConstants& link : c.links)
    link = {four_digits(link.hop_us), four_digits(link.efficiency), four_digits(link.switch_efficiency)};
  for (sim::NicConstants& nic : c.nics)
    nic = {four_digits(nic.hop_us), four_digits(nic.ramp_us), four_digits(nic.efficiency)};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

void add(BandSamples& to, const BandSamples& from) {
  for (std::size_t band = 0; band < sim::kSizeBands; ++band)
    to[band].insert(to[band].end(), from[band].begin(), from[band].end());
}

std::string cell(const BandSamples& samples, std::size_t band) {
  return samples[band].empty() ? "-" : fmt::format("{:.1f}", *median_absolute_percent(samples)[band]);
}

}  // namespace

sim::ModelConstants fit_constants(const std::vector<const CatalogTable*>& tables) {
  std::vector<Point> points;
  for (const CatalogTable* table : tables) {
    std::vector<Point> more = points_of(*table);
    points.insert(points.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  ModelConstants constants = constants_of(minimise(points));
  round_constants(constants);
  return constants;
}

sim::BandErrors median_absolute_percent(const BandSamples& samples) {
  sim::BandErrors errors;
  for (std::size_t band = 0; band < sim::kSizeBands; ++band) {
    if (samples[band].empty()) continue;
    std::vector<double> absolute;
    for (const double error : samples[band]) absolute.push_back(100 * std::fabs(error));
    errors[band] = one_decimal(median(std::move(absolute)));
  }
  return errors;
}

FitReport fit_and_hold_out(const std::vector<CatalogTable>& catalog) {
  std::vector<const CatalogTable*> used;
  for (const CatalogTable& table : catalog)
    if (table.use == TableUse::Fit) used.push_back(&table);
  FitReport report;
  report.model.constants = fit_constants(used);
  std::set<std::string> machines;
  for (const CatalogTable* table : used) machines.insert(table->machine);
  for (const std::string& machine : machines) {
    std::vector<const CatalogTable*> others;
    for (const CatalogTable* table : used)
      if (table->machine != machine) others.push_back(table);
    const ModelConstants constants = fit_constants(others);
    for (const CatalogTable* table : used) {
      if (table->machine != machine) continue;
      HeldOutTable held{table, constants, {}, {}};
      for (const Point& point : points_of(*table)) {
        held.model[point.band].push_back(predicted_us(point, constants) / point.measured_us - 1);
        held.tuner[point.band].push_back(point.tuner_us / point.measured_us - 1);
      }
      report.held_out.push_back(std::move(held));
    }
  }
  std::sort(report.held_out.begin(), report.held_out.end(),
            [](const HeldOutTable& a, const HeldOutTable& b) { return a.table->file < b.table->file; });
  BandSamples model, tuner;
  for (const HeldOutTable& held : report.held_out) {
    add(model, held.model);
    add(tuner, held.tuner);
  }
  report.model.error = median_absolute_percent(model);
  report.model.tuner_error = median_absolute_percent(tuner);
  for (const sim::Preset& preset : sim::builtin_presets()) {
    sim::FittedPreset fitted;
    fitted.name = preset.name;
    BandSamples samples;
    for (const HeldOutTable& held : report.held_out) {
      if (held.table->preset.name != preset.name) continue;
      fitted.tables.push_back(held.table->file);
      add(samples, held.model);
    }
    fitted.error = median_absolute_percent(samples);
    if (!fitted.tables.empty()) report.model.presets.push_back(std::move(fitted));
  }
  return report;
}

std::string hold_out_table(const FitReport& report) {
  std::string out =
      "Median absolute error in percent, time model / NCCL's formula alone, on machines held out of the "
      "fit:\n\n"
      "| table | preset |";
  for (std::size_t band = 0; band < sim::kSizeBands; ++band)
    out += fmt::format(" {} |", sim::size_band_name(band));
  out += "\n|---|---|---|---|---|---|\n";
  BandSamples model, tuner;
  for (const HeldOutTable& held : report.held_out) {
    out += fmt::format("| {} | {} |", held.table->file.substr(0, held.table->file.rfind('.')),
                       held.table->preset.name);
    for (std::size_t band = 0; band < sim::kSizeBands; ++band)
      out += fmt::format(" {} / {} |", cell(held.model, band), cell(held.tuner, band));
    out += '\n';
    add(model, held.model);
    add(tuner, held.tuner);
  }
  out += fmt::format("| **all {} tables** | |", report.held_out.size());
  for (std::size_t band = 0; band < sim::kSizeBands; ++band)
    out += fmt::format(" **{}** / {} |", cell(model, band), cell(tuner, band));
  out += "\n| points | |";
  for (std::size_t band = 0; band < sim::kSizeBands; ++band) out += fmt::format(" {} |", model[band].size());
  return out + "\n";
}

}  // namespace ringside::backend
