#include "app/scenes/duel_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "sim/collective/executor.hpp"

namespace ringside::app {
namespace {

constexpr std::int64_t kMostTransfers = 400'000;              // of one schedule that is built to be looked at
constexpr std::int64_t kMostNumbers = std::int64_t{1} << 20;  // of all ranks, to be added up
constexpr std::int64_t kLeastBytes = 1 << 10, kMostBytes = std::int64_t{8} << 30;
constexpr int kMostNodes = 1024, kMostScenarioNodes = 16;

double busbw_of(std::int64_t bytes, double us, double factor) {
  return us > 0 ? static_cast<double>(bytes) / (1000 * us) * factor : 0;
}

// --- the model of NCCL ---

std::optional<sim::PredictedRow> fastest_row(const sim::Prediction& prediction, const std::string& word) {
  const sim::PredictedRow* best = nullptr;
  for (const sim::PredictedRow& row : prediction.rows)
    if (sim::to_word(row.algorithm) == word && (best == nullptr || row.time_us < best->time_us)) best = &row;
  return best == nullptr ? std::nullopt : std::optional(*best);
}

void model_sides(DuelView& out, const sim::TimeModel& model, const sim::Preset& preset) {
  const auto prediction = sim::predict(model, preset, {.nodes = out.setup.nodes, .bytes = out.setup.bytes});
  if (!prediction) {
    out.problem = prediction.error();
    return;
  }
  out.error_percent = prediction->error_percent;
  const sim::PredictedRow& choice = prediction->nccl_choice;
  out.nccl_choice =
      std::string(sim::to_word(choice.algorithm)) + ", " + std::string(sim::to_word(choice.protocol));
  const double factor = sim::bus_factor(sim::Collective::AllReduce, out.ranks);
  for (const std::string& word : out.setup.sides) {
    DuelSide side{.word = word};
    if (const auto row = fastest_row(*prediction, word)) {
      side.time_us = row->time_us;
      side.protocol = sim::to_word(row->protocol);
      side.hops = row->hops;
      side.parts = row->parts;
      side.algbw_GBps = busbw_of(out.setup.bytes, row->time_us, 1);
      side.busbw_GBps = busbw_of(out.setup.bytes, row->time_us, factor);
    } else {
      side.available = false;
      side.why_not = "duel.not_on_this_machine";
    }
    out.sides.push_back(std::move(side));
  }
}

DuelPoint model_point(const DuelView& view, const sim::TimeModel& model, const sim::Preset& preset,
                      double x) {
  const int nodes = view.setup.over_nodes ? static_cast<int>(x) : view.setup.nodes;
  const std::int64_t bytes = view.setup.over_nodes ? view.setup.bytes : static_cast<std::int64_t>(x);
  DuelPoint point{.x = x, .bytes = bytes};
  const std::int64_t ranks = std::int64_t{nodes} * preset.links.gpus_per_node;
  point.factor = sim::bus_factor(sim::Collective::AllReduce, ranks);
  const auto prediction = sim::predict(model, preset, {.nodes = nodes, .bytes = bytes});
  for (const std::string& word : view.setup.sides) {
    const auto row = prediction ? fastest_row(*prediction, word) : std::nullopt;
    point.time_us.push_back(row ? std::optional(row->time_us) : std::nullopt);
  }
  return point;
}

// --- the schedules on the open scenario ---

sim::ScheduleRequest request_of(const sim::Scenario& s, const std::string& word, int nodes,
                                std::int64_t bytes) {
  sim::ScheduleRequest request = s.schedule_request();
  request.collective = sim::Collective::AllReduce;
  request.algorithm = sim::algorithm_from(word).value_or(sim::Algorithm::Ring);
  request.world_size = nodes * s.cluster.gpus_per_node;
  request.gpus_per_node = s.cluster.gpus_per_node;
  request.count = std::max<std::int64_t>(1, bytes / sim::size_of(s.tensor.dtype));
  if (request.algorithm != sim::Algorithm::Ring) request.rings.clear();
  return request;
}

/// The scenario's links, for as many nodes as asked: links named one by one stay where both ends exist.
sim::Topology topology_for(const sim::Scenario& s, int nodes) {
  sim::Topology topology = s.cluster.topology;
  topology.world_size = nodes * s.cluster.gpus_per_node;
  std::erase_if(topology.overrides, [&](const sim::LinkOverride& link) {
    return link.from >= topology.world_size || link.to >= topology.world_size;
  });
  return topology;
}

std::optional<double> scenario_time(const sim::Scenario& s, const std::string& word, int nodes,
                                    std::int64_t bytes) {
  const sim::ScheduleRequest request = request_of(s, word, nodes, bytes);
  if (sim::schedule_problem(request) || sim::transfer_count(request) > kMostTransfers) return std::nullopt;
  const sim::Topology topology = topology_for(s, nodes);
  const std::vector<std::int64_t> arrival(static_cast<std::size_t>(request.world_size), 0);
  const sim::FinishTimes times = sim::finish_times(request, topology, arrival, s.collective.reduce_ns);
  return static_cast<double>(*std::max_element(times.finish.begin(), times.finish.end())) / 1000;
}

void look_at_schedule(DuelSide& side, const sim::Scenario& s, const sim::ScheduleRequest& request) {
  const sim::Schedule schedule = sim::make_schedule(request);
  side.steps = schedule.steps;
  side.transfers = static_cast<std::int64_t>(schedule.transfers.size());
  for (int r = 0; r < request.world_size; ++r)
    side.bytes_sent = std::max(side.bytes_sent, sim::bytes_sent(schedule, s.tensor.dtype, r));
  for (const sim::LinkLoad& load : sim::link_loads(schedule, s.tensor.dtype))
    if (load.bytes > side.busiest.bytes) side.busiest = load;
}

using Result = std::shared_ptr<const sim::Tensor>;

Result result_of(const sim::Scenario& s, const sim::ScheduleRequest& request) {
  const auto inputs = sim::make_inputs(s);
  return sim::execute_numbers(sim::make_schedule(request), s.collective.op, inputs).result[0];
}

/// The same inputs, added in another order: how many elements of the result differ, and by how much.
void compare_numbers(DuelSide& side, const Result& first, const Result& own) {
  side.has_numbers = true;
  for (std::int64_t i = 0; i < own->count(); ++i) {
    const double a = sim::to_double(first->at(i)), b = sim::to_double(own->at(i));
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    ++side.differing;
    side.most_different = std::max(side.most_different, std::fabs(a - b));
  }
}

void scenario_sides(DuelView& out, const sim::Scenario& s) {
  const double factor = sim::bus_factor(sim::Collective::AllReduce, out.ranks);
  // The numbers are the scenario's own only at its own size and world.
  const bool own_size = out.setup.nodes == s.cluster.nodes &&
                        out.setup.bytes == s.tensor.shape.count() * sim::size_of(s.tensor.dtype) &&
                        s.tensor.values != sim::ValueSource::None && !s.training.network.enabled &&
                        s.tensor.shape.count() * out.ranks <= kMostNumbers;
  Result first;
  for (const std::string& word : out.setup.sides) {
    DuelSide side{.word = word};
    const sim::ScheduleRequest request = request_of(s, word, out.setup.nodes, out.setup.bytes);
    const auto time = scenario_time(s, word, out.setup.nodes, out.setup.bytes);
    if (!time) {
      side.available = false;
      side.why_not = sim::schedule_problem(request) ? "duel.no_schedule" : "duel.too_many_transfers";
    } else {
      side.time_us = *time;
      side.algbw_GBps = busbw_of(out.setup.bytes, *time, 1);
      side.busbw_GBps = busbw_of(out.setup.bytes, *time, factor);
      look_at_schedule(side, s, request);
      if (own_size) {
        const Result own = result_of(s, request);
        if (!first) first = own;
        compare_numbers(side, first, own);
      }
    }
    out.sides.push_back(std::move(side));
  }
}

DuelPoint scenario_point(const DuelView& view, const sim::Scenario& s, double x) {
  const int nodes = view.setup.over_nodes ? static_cast<int>(x) : view.setup.nodes;
  const std::int64_t bytes = view.setup.over_nodes ? view.setup.bytes : static_cast<std::int64_t>(x);
  DuelPoint point{.x = x, .bytes = bytes};
  point.factor = sim::bus_factor(sim::Collective::AllReduce, std::int64_t{nodes} * s.cluster.gpus_per_node);
  for (const std::string& word : view.setup.sides)
    point.time_us.push_back(scenario_time(s, word, nodes, bytes));
  return point;
}

// --- both ---

/// The x of the curves: powers of two, with steps between them for sizes.
std::vector<double> axis(const DuelView& view) {
  std::vector<double> out;
  if (view.setup.over_nodes) {
    for (int n = static_cast<int>(view.least_x); n <= static_cast<int>(view.most_x); n *= 2) out.push_back(n);
    return out;
  }
  const int between = view.setup.source == DuelSource::Model ? 4 : 1;
  for (std::int64_t b = kLeastBytes; b <= kMostBytes; b *= 2)
    for (int i = 0; i < between && (b < kMostBytes || i == 0); ++i)
      out.push_back(static_cast<double>(b) * std::exp2(static_cast<double>(i) / between));
  return out;
}

/// The fastest side of a point, or -1 where the runner-up is less than 20 % slower (or nothing is known).
int leader(const DuelPoint& point) {
  int best = -1;
  double least = 0, second = 0;
  for (std::size_t i = 0; i < point.time_us.size(); ++i) {
    if (!point.time_us[i]) continue;
    const double t = *point.time_us[i];
    if (best < 0 || t < least) {
      second = best < 0 ? 0 : least;
      least = t;
      best = static_cast<int>(i);
    } else if (second == 0 || t < second) {
      second = t;
    }
  }
  return best >= 0 && second > 0 && second < least * (1 + kTie) ? -1 : best;
}

std::vector<DuelBand> bands_of(const std::vector<DuelPoint>& points) {
  std::vector<DuelBand> out;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const int side = leader(points[i]);
    if (out.empty() || out.back().side != side) {
      if (!out.empty()) out.back().to = points[i].x;
      out.push_back({points[i].x, points[i].x, side});
    }
    out.back().to = points[i].x;
  }
  return out;
}

}  // namespace

std::vector<std::string> duel_choices(DuelSource source) {
  std::vector<std::string> out;
  if (source == DuelSource::Model) {
    for (const auto a : {sim::NcclAlgorithm::Ring, sim::NcclAlgorithm::Tree, sim::NcclAlgorithm::Nvls,
                         sim::NcclAlgorithm::NvlsTree})
      out.emplace_back(sim::to_word(a));
    return out;
  }
  for (int i = 0; i < sim::kAlgorithmCount; ++i)
    out.emplace_back(sim::to_word(static_cast<sim::Algorithm>(i)));
  return out;
}

DuelView make_duel(const DuelSetup& setup, const sim::TimeModel& model, const sim::Scenario* scenario) {
  DuelView out;
  out.setup = setup;
  const bool by_model = setup.source == DuelSource::Model;
  const auto preset = sim::find_preset(setup.preset);
  if (by_model && !preset) out.problem = preset.error();
  if (!by_model && scenario == nullptr) out.problem = sim::Error{.what = "no scenario is open"};
  if (out.problem) return out;
  const int per_node = by_model ? preset->links.gpus_per_node : scenario->cluster.gpus_per_node;
  out.ranks = setup.nodes * per_node;
  out.least_x = setup.over_nodes ? (per_node > 1 ? 1 : 2) : static_cast<double>(kLeastBytes);
  out.most_x =
      setup.over_nodes ? (by_model ? kMostNodes : kMostScenarioNodes) : static_cast<double>(kMostBytes);
  if (by_model)
    model_sides(out, model, *preset);
  else
    scenario_sides(out, *scenario);
  if (out.problem) return out;
  for (const double x : axis(out))
    out.points.push_back(by_model ? model_point(out, model, *preset, x) : scenario_point(out, *scenario, x));
  out.bands = bands_of(out.points);
  for (std::size_t i = 0; i < out.sides.size(); ++i)
    if (out.sides[i].available &&
        (out.fastest < 0 || out.sides[i].time_us < out.sides[static_cast<std::size_t>(out.fastest)].time_us))
      out.fastest = static_cast<int>(i);
  return out;
}

std::string microseconds_text(double us) {
  const char* unit = " μs";
  if (us >= 1e6) {
    us /= 1e6;
    unit = " s";
  } else if (us >= 1e3) {
    us /= 1e3;
    unit = " ms";
  }
  char text[32];
  std::snprintf(text, sizeof text, us >= 100 ? "%.0f" : us >= 10 ? "%.1f" : "%.2f", us);
  return text + std::string(unit);
}

}  // namespace ringside::app
