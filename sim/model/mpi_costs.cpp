#include "sim/model/mpi_costs.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"

namespace ringside::sim {
namespace {

struct Ranks {
  double all = 1;      // p
  double rounds = 0;   // log2 of the power of two below
  double ceiling = 0;  // rounds of a binomial tree
  bool power_of_two = true;
};
Ranks ranks_of(std::int64_t ranks) {
  Ranks r{.all = static_cast<double>(ranks), .power_of_two = (ranks & (ranks - 1)) == 0};
  for (std::int64_t x = ranks; x > 1; x >>= 1) r.rounds += 1;
  r.ceiling = r.power_of_two ? r.rounds : r.rounds + 1;
  return r;
}

double rabenseifner_us(const MpiCosts& costs, const Ranks& ranks, double m) {
  double us = 0, part = m / 2;
  for (int round = 0; round < static_cast<int>(ranks.rounds); ++round, part /= 2)
    us += costs.reduce_step.us(part) + costs.pass_step.us(part);  // halved there, doubled on the way back
  if (ranks.power_of_two) return us;
  // Surplus ranks and their neighbours reduce a half each, and bring the halves together; the result comes
  // back whole.
  return us + costs.reduce_step.us(m / 2) + costs.pass_step.us(m / 2) + costs.pass_step.us(m);
}

double segmented_ring_us(const MpiCosts& costs, const Ranks& ranks, double m, double segment_bytes) {
  // As the ring, but in the reduce-scatter half a chunk travels in segments: more messages, and all
  // reductions but the last one are hidden behind them.
  const double chunk = m / ranks.all, segments = std::max(1.0, chunk / segment_bytes);
  return (ranks.all - 1) * ((segments - 1) * costs.pass_step.us(chunk / segments) +
                            costs.reduce_step.us(chunk / segments) + costs.pass_step.us(chunk));
}

}  // namespace

CostCurve::CostCurve(std::vector<CostKnot> knots) : knots_(std::move(knots)) {
  for (std::size_t i = 1; i < knots_.size(); ++i) RINGSIDE_CHECK(knots_[i - 1].bytes < knots_[i].bytes);
}

CostCurve CostCurve::straight(double fixed_us, double bytes_per_us) {
  constexpr double kFar = 1 << 20;
  return CostCurve({{0, fixed_us}, {kFar, fixed_us + kFar / bytes_per_us}});
}

double CostCurve::us(double bytes) const {
  if (knots_.empty()) return 0;
  if (knots_.size() == 1 || bytes <= knots_.front().bytes) return knots_.front().us;
  auto to = std::lower_bound(knots_.begin(), knots_.end(), bytes,
                             [](const CostKnot& knot, double size) { return knot.bytes < size; });
  if (to == knots_.end()) --to;
  const CostKnot &a = *(to - 1), &b = *to;
  return std::max(0.0, a.us + (b.us - a.us) * (bytes - a.bytes) / (b.bytes - a.bytes));
}

MpiCosts costs_of(const MpiMachine& machine) {
  const double a = machine.alpha_us, beta = 1 / machine.bytes_per_us, gamma = 1 / machine.reduce_per_us;
  return {CostCurve::straight(a, 1 / (beta + gamma)), CostCurve::straight(a, 1 / beta),
          CostCurve::straight(2 * a, 1 / (2 * beta + gamma))};
}

double mpi_allreduce_us(MpiAlgorithm algorithm, const MpiCosts& costs, std::int64_t ranks, std::int64_t bytes,
                        std::int64_t segment_bytes) {
  RINGSIDE_CHECK_LE(std::int64_t{1}, ranks);
  if (ranks == 1) return 0;
  const Ranks r = ranks_of(ranks);
  const double m = static_cast<double>(bytes), others = r.all - 1, chunk = m / r.all;
  switch (algorithm) {
    case MpiAlgorithm::BasicLinear:
      return others * costs.tree_step.us(m);
    case MpiAlgorithm::NonOverlapping:
      return r.ceiling * costs.tree_step.us(m);
    case MpiAlgorithm::RecursiveDoubling:
      // Surplus ranks give everything to a neighbour first, and get everything back.
      return r.rounds * costs.reduce_step.us(m) + (r.power_of_two ? 0 : costs.tree_step.us(m));
    case MpiAlgorithm::Ring:
      return others * (costs.reduce_step.us(chunk) + costs.pass_step.us(chunk));
    case MpiAlgorithm::SegmentedRing:
      return segmented_ring_us(costs, r, m, static_cast<double>(segment_bytes));
    case MpiAlgorithm::Rabenseifner:
      return rabenseifner_us(costs, r, m);
    case MpiAlgorithm::AllgatherReduce:
      return others * costs.reduce_step.us(m);
  }
  return 0;
}

}  // namespace ringside::sim
