// Random collectives on random machines, for tests that compare ways to tell when they are over.
#pragma once

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/collective/schedule.hpp"
#include "sim/collective/topology.hpp"

namespace ringside::sim::test {

inline LinkSpec random_link() {
  return {*rc::gen::element<std::int64_t>(0, 1, 100, 3400),
          *rc::gen::element<std::int64_t>(1'000'000, 1'000'000'000, 48'000'000'000, 240'000'000'000)};
}

struct TimeCase {
  ScheduleRequest request;
  Topology topology;
  std::vector<std::int64_t> arrival;
  std::int64_t reduce_ns = 0;
};

/// Half of the cases are symmetric: everybody comes together, nodes are full, nothing is special.
inline TimeCase random_case(bool symmetric) {
  TimeCase out;
  const int local = *rc::gen::element(1, 2, 3, 4, 8), nodes = *rc::gen::element(1, 2, 3, 4, 5, 8);
  const int world = symmetric ? local * nodes : *rc::gen::inRange(1, 20);
  out.request.algorithm = static_cast<Algorithm>(*rc::gen::inRange(0, kAlgorithmCount));
  out.request.collective = static_cast<Collective>(*rc::gen::inRange(0, 6));
  out.request.order = *rc::gen::element(RingOrder::Nccl, RingOrder::Textbook);
  out.request.chunking = *rc::gen::element(Chunking::Even, Chunking::Nccl);
  out.request.dtype = *rc::gen::elementOf(kAllDTypes);
  out.request.count = *rc::gen::element<std::int64_t>(1, 17, 24 * 25, 4096, 55440, 3'000'000) *
                      *rc::gen::element(1, symmetric ? world : 1);
  out.request.world_size = world;
  out.request.channels = *rc::gen::element(1, 1, 2, 3);
  out.request.gpus_per_node = *rc::gen::element(0, local);
  out.request.inter_tree = *rc::gen::arbitrary<bool>();
  out.request.root = *rc::gen::inRange(0, world);
  if (*rc::gen::inRange(0, 4) == 0) {
    for (int channel = 0; channel < out.request.channels; ++channel) {  // rotated within each node
      std::vector<int> ring;
      for (int r = 0; r < world; ++r) {
        const int node = r / local, size = std::min(local, world - node * local);
        ring.push_back(node * local + (r % local + channel) % size);
      }
      out.request.rings.push_back(ring);
    }
  }
  out.topology = {.world_size = world,
                  .gpus_per_node = local,
                  .intra = random_link(),
                  .inter = random_link(),
                  .overrides = {}};
  if (!symmetric && world > 2 && *rc::gen::arbitrary<bool>())
    out.topology.overrides.push_back({1, 2, random_link()});
  if (*rc::gen::inRange(0, 6) == 0) {
    out.topology.shared = {.nics_per_node = *rc::gen::inRange(1, local + 1),
                           .nic_bytes_per_s = 10'000'000'000,
                           .nodes_per_leaf = *rc::gen::element(0, 1, 2),
                           .rails = *rc::gen::arbitrary<bool>(),
                           .spine_bytes_per_s = 7'000'000'000};
  }
  const auto late = [&] { return *rc::gen::element<std::int64_t>(0, 0, 7, 5000, 1'000'000); };
  const std::int64_t together = late();
  for (int r = 0; r < world; ++r) out.arrival.push_back(symmetric ? together : late());
  out.reduce_ns = *rc::gen::element<std::int64_t>(0, 1, 300, 100'000);
  return out;
}

}  // namespace ringside::sim::test
