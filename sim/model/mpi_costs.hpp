// What the parts of an AllReduce cost on a machine, by size: a message, an exchange, a reduction, a copy. A
// byte has no one price: short messages are copied twice through shared memory, long ones once; what fits in
// a cache is moved several times as fast as what does not; ranks that share cores wait for each other's turn.
// So each part is a curve through measured points.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/model/mpi_model.hpp"

namespace ringside::sim {

struct CostKnot {
  double bytes = 0, us = 0;
};

/// Time by size: straight between knots, which is a latency and a bandwidth for each stretch; constant before
/// the first, with the last stretch's bandwidth after the last.
class CostCurve {
 public:
  CostCurve() = default;
  /// Knots by rising size. Without any it costs nothing.
  explicit CostCurve(std::vector<CostKnot> knots);
  /// `fixed_us` + bytes / `bytes_per_us`.
  static CostCurve straight(double fixed_us, double bytes_per_us);
  double us(double bytes) const;
  const std::vector<CostKnot>& knots() const { return knots_; }

 private:
  std::vector<CostKnot> knots_;
};

struct MpiCosts {
  /// Every rank sends so many bytes, receives as many and reduces them into what it sends next, all at once.
  CostCurve reduce_step;
  /// The same without a reduction: what came stands where it belongs.
  CostCurve pass_step;
  /// A step of a binomial tree, up and down: one rank of a pair sends to the other, which reduces and sends
  /// back.
  CostCurve tree_step;
};

/// All parts from three constants, as textbooks have it.
MpiCosts costs_of(const MpiMachine& machine);

/// Time of an AllReduce in µs, step by step as Open MPI's algorithms go (coll/base), all ranks in step. 0 for
/// one rank. `segment_bytes`: of the segmented ring.
double mpi_allreduce_us(MpiAlgorithm algorithm, const MpiCosts& costs, std::int64_t ranks, std::int64_t bytes,
                        std::int64_t segment_bytes = 1 << 20);

}  // namespace ringside::sim
