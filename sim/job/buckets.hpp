// How a training job cuts its gradient into buckets, each of which is one collective a step, and when in the
// backward pass each of them is full.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace ringside::sim {

/// One bucket: a range of the flat gradient. Bucket 0 is called first.
struct Bucket {
  std::int64_t offset = 0, count = 0;
  std::int64_t ready_ppm = 1'000'000;  // share of the backward pass after which all its numbers are there
};

/// With a network, as DistributedDataParallel does it: backward begins at the last layer, so bucket 0 holds
/// the last parameters and is full first; a bucket holds whole layers (or whole parameters, if there are more
/// buckets than layers) as long as there are enough of them. Without a network nobody knows in which order
/// the numbers come about: equal parts in the order of the tensor, full one after the other. `count` =
/// elements of the gradient; 1 <= training.buckets <= count.
std::vector<Bucket> bucket_plan(const TrainingSpec& training, std::int64_t count);

/// One layer's part of the backward pass, in the order in which it runs: the last layer first.
struct BackwardPart {
  int layer = 0;
  std::int64_t from_ppm = 0, to_ppm = 0;
};
/// Shares by multiply-adds: in · out for the gradient of the weights, and as many for what goes on to the
/// layer below (the first layer has none), and one a bias. Empty without a network.
std::vector<BackwardPart> backward_parts(const NetworkSpec& network);

}  // namespace ringside::sim
