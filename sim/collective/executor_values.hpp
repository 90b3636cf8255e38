// Inside of execute_numbers: the way by values, for schedules in which every chunk keeps its place.
#pragma once

#include <memory>
#include <span>

#include "sim/collective/executor.hpp"

namespace ringside::sim {

/// Evaluates the value program of each chunk in blocks that fit the cache: every input is read once, every
/// result written once, and the digests of what travels are taken while the numbers are in the cache.
Numbers numbers_by_values(const Schedule& schedule, ReduceOp op,
                          std::span<const std::shared_ptr<const Tensor>> inputs, bool want_digests);

}  // namespace ringside::sim
