// Timing without a schedule against timing with one; shared links; worlds too big for a schedule.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/collective/executor.hpp"
#include "time_case.hpp"

namespace ringside::sim {
namespace {

using test::random_case;
using test::TimeCase;

void check_against_schedule(const TimeCase& c) {
  if (schedule_problem(c.request)) return;
  const FinishTimes fast = finish_times(c.request, c.topology, c.arrival, c.reduce_ns);
  RC_ASSERT(fast.exact);
  const ExecutionTimes slow =
      execute_times(make_schedule(c.request), c.request.dtype, c.topology, c.arrival, c.reduce_ns);
  RC_ASSERT(fast.finish == slow.finish);
}

RC_GTEST_PROP(FinishTimes, AreTheSchedules, ()) {
  check_against_schedule(random_case(false));
}
RC_GTEST_PROP(FinishTimes, AreTheSchedulesWhenAllRanksAreAlike, ()) {
  check_against_schedule(random_case(true));
}

// Each algorithm on a symmetric world, so that no random draw decides whether the short ways were taken.
TEST(FinishTimes, OneRankStandsForAll) {
  for (const int world : {1, 2, 4, 8, 16, 32, 64}) {
    for (const int local : {1, 4, 8}) {
      if (world % local != 0 && world > local) continue;
      for (const Algorithm algorithm : {Algorithm::Ring, Algorithm::RecursiveDoubling,
                                        Algorithm::Rabenseifner, Algorithm::Hierarchical}) {
        for (const int channels : {1, 2}) {
          for (const std::int64_t reduce : {std::int64_t{0}, std::int64_t{2'000}}) {
            const ScheduleRequest request{.algorithm = algorithm,
                                          .count = 64 * 1024,
                                          .world_size = world,
                                          .channels = channels,
                                          .gpus_per_node = std::min(local, world)};
            const Topology topology{.world_size = world,
                                    .gpus_per_node = local,
                                    .intra = {700, 200'000'000'000},
                                    .inter = {9'000, 40'000'000'000},
                                    .overrides = {}};
            const std::vector<std::int64_t> arrival(static_cast<std::size_t>(world), 1000);
            const auto slow =
                execute_times(make_schedule(request), DType::Float32, topology, arrival, reduce).finish;
            EXPECT_EQ(finish_times(request, topology, arrival, reduce).finish, slow)
                << to_word(algorithm) << " world " << world << " local " << local << " channels " << channels;
          }
        }
      }
    }
  }
}

// --- shared links
// ------------------------------------------------------------------------------------------------------

Topology two_nodes(SharedLinks shared) {
  return {.world_size = 16,
          .gpus_per_node = 8,
          .intra = {0, 1'000'000'000'000},
          .inter = {0, 1'000'000'000},
          .overrides = {},
          .shared = shared};
}

TEST(SharedLinks, PathsAreNumbered) {
  Topology topology{.world_size = 64,
                    .gpus_per_node = 8,
                    .intra = {},
                    .inter = {},
                    .overrides = {},
                    .shared = {.nics_per_node = 4,
                               .nic_bytes_per_s = 1,
                               .nodes_per_leaf = 2,
                               .rails = true,
                               .spine_bytes_per_s = 1}};
  EXPECT_EQ(topology.shared_path(0, 7), SharedPath{}) << "within a node";
  EXPECT_EQ(topology.shared_path(2, 8 + 3), (SharedPath{1, 4 + 1, -1, -1}))
      << "NIC 1 to NIC 1 under one leaf switch";
  EXPECT_EQ(topology.shared_path(2, 8 + 7), (SharedPath{1, 4 + 3, 1, 3})) << "another rail: over the spine";
  EXPECT_EQ(topology.shared_path(0, 16), (SharedPath{0, 8, 0, 4})) << "another group of nodes";
  topology.shared.rails = false;
  EXPECT_EQ(topology.shared_path(2, 8 + 7), (SharedPath{1, 4 + 3, -1, -1})) << "one leaf switch for all NICs";
  topology.shared = {};
  EXPECT_EQ(topology.shared_path(0, 16), SharedPath{});
}

// Eight GPUs send 1 MB each to the other node at once: hierarchical's ring between two nodes.
TEST(SharedLinks, EightGpusBehindOneNicTakeEightTimesAsLong) {
  const ScheduleRequest request{
      .algorithm = Algorithm::Hierarchical, .count = 4'000'000, .world_size = 16, .gpus_per_node = 8};
  const std::vector<std::int64_t> arrival(16, 0);
  const auto time = [&](const SharedLinks& shared) {
    return finish_times(request, two_nodes(shared), arrival, 0).finish[0];
  };
  // A GPU's wire between the nodes: two steps of 1/16 of 16 MB, 1 MB each at 1 GB/s.
  const std::int64_t alone = time({});
  EXPECT_EQ(time({.nics_per_node = 8, .nic_bytes_per_s = 1'000'000'000}), alone)
      << "a NIC each changes nothing";
  const std::int64_t one_nic = time({.nics_per_node = 1, .nic_bytes_per_s = 1'000'000'000});
  EXPECT_GT(one_nic, alone + 13'000'000) << "8 GPUs, 2 MB each, one after the other: 16 ms instead of 2";
  EXPECT_LT(one_nic, alone + 15'000'000);
  EXPECT_LT(time({.nics_per_node = 1, .nic_bytes_per_s = 8'000'000'000}), one_nic - 10'000'000);
}

TEST(SharedLinks, RailsAvoidAnOversubscribedSpine) {
  const ScheduleRequest request{
      .algorithm = Algorithm::Hierarchical, .count = 4'000'000, .world_size = 16, .gpus_per_node = 8};
  const std::vector<std::int64_t> arrival(16, 0);
  const auto time = [&](int nodes_per_leaf, bool rails, std::int64_t spine) {
    return finish_times(request,
                        two_nodes({.nics_per_node = 8,
                                   .nic_bytes_per_s = 1'000'000'000,
                                   .nodes_per_leaf = nodes_per_leaf,
                                   .rails = rails,
                                   .spine_bytes_per_s = spine}),
                        arrival, 0)
        .finish[0];
  };
  const std::int64_t below_one_leaf = time(2, true, 1'000'000'000);
  EXPECT_EQ(time(2, false, 1'000'000'000), below_one_leaf) << "nothing crosses the spine";
  EXPECT_GT(time(1, false, 1'000'000'000), below_one_leaf + 13'000'000)
      << "eight NICs on uplinks for one: 8 : 1";
  EXPECT_LT(time(1, false, 8'000'000'000), below_one_leaf + 4'000'000) << "not oversubscribed";
}

// --- big worlds
// --------------------------------------------------------------------------------------------------------

TEST(BigWorlds, HierarchicalIsItsThreeParts) {
  // 16,384 nodes of 8: 7 + 32,766 + 7 steps. All chunks are equal: 131,072 × 192 float32.
  const int world = 131'072;
  const ScheduleRequest request{.algorithm = Algorithm::Hierarchical,
                                .count = std::int64_t{world} * 192,
                                .world_size = world,
                                .gpus_per_node = 8};
  const Topology topology{.world_size = world,
                          .gpus_per_node = 8,
                          .intra = {1'000, 100'000'000'000},
                          .inter = {10'000, 10'000'000'000},
                          .overrides = {}};
  const std::vector<std::int64_t> arrival(static_cast<std::size_t>(world), 0);
  const FinishTimes times = finish_times(request, topology, arrival, 0);
  EXPECT_TRUE(times.exact);
  // Between the nodes: 768 bytes in 77 ns and 10 µs; the first piece leaves after 7 hops inside, the last
  // ones walk 7 more.
  const std::int64_t between = 2 * std::int64_t{16'383} * (77 + 10'000);
  EXPECT_GE(times.finish[0], between);
  EXPECT_LE(times.finish[0], between + 4 * 7 * (16'384 * 8 + 1'000)) << "and the parts inside";
  std::vector<std::int64_t> late = arrival;
  late[77'777] = 5'000;
  const FinishTimes jittered = finish_times(request, topology, late, 0);
  EXPECT_FALSE(jittered.exact);
  EXPECT_EQ(jittered.finish[0], times.finish[0] + 5'000);
}

TEST(BigWorlds, AreNotExactWhereTheyCannotBe) {
  const int world = 32'768;
  const Topology topology{.world_size = world, .gpus_per_node = 8, .intra = {}, .inter = {}, .overrides = {}};
  const std::vector<std::int64_t> arrival(static_cast<std::size_t>(world), 0);
  const auto run = [&](ScheduleRequest request) { return finish_times(request, topology, arrival, 0); };
  const std::int64_t count = std::int64_t{world} * 100;
  EXPECT_TRUE(run({.count = count, .world_size = world}).exact);
  EXPECT_TRUE(run({.algorithm = Algorithm::BinomialTree, .count = count, .world_size = world}).exact);
  const FinishTimes all = run({.collective = Collective::AllToAll, .count = count, .world_size = world});
  EXPECT_FALSE(all.exact);
  EXPECT_GT(all.finish[0], 0);
}

}  // namespace
}  // namespace ringside::sim
