// The job's data plane against the executor: equal calls take the same time in both, whenever the ranks come.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "sim/collective/executor.hpp"
#include "sim/job/mover.hpp"
#include "time_case.hpp"

namespace ringside::sim {
namespace {

using test::TimeCase;

/// When each rank has finished, by the machine that jobs use.
std::vector<std::int64_t> moved(const TimeCase& c) {
  const auto program = make_program(make_schedule(c.request));
  Mover mover(c.topology, c.reduce_ns, SizeCheck::None, /*by_kind=*/false, /*with_samples=*/false);
  std::vector<std::int64_t> finish(c.arrival.size(), -1);
  const auto take = [&](const std::vector<MoveNote>& notes) {
    for (const MoveNote& note : notes)
      if (note.kind == MoveNote::Kind::Finished) finish[static_cast<std::size_t>(note.rank)] = note.t;
  };
  std::vector<int> order(c.arrival.size());
  std::iota(order.begin(), order.end(), 0);
  const auto arrival = [&](int rank) { return c.arrival[static_cast<std::size_t>(rank)]; };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return arrival(a) < arrival(b); });
  for (const int rank : order) {
    while (mover.next_time() && *mover.next_time() < arrival(rank)) take(mover.step());
    MoveCall call;
    call.program = program;
    call.buffer = Tensor(c.request.dtype, Shape{{c.request.count}});
    take(mover.enter(rank, arrival(rank), std::move(call)));
  }
  while (mover.next_time()) take(mover.step());
  return finish;
}

std::vector<std::int64_t> executed(const TimeCase& c) {
  return execute_times(make_schedule(c.request), c.request.dtype, c.topology, c.arrival, c.reduce_ns).finish;
}

RC_GTEST_PROP(Mover, TakesAsLongAsTheExecutorSays, ()) {
  TimeCase c = test::random_case(*rc::gen::arbitrary<bool>());
  if (c.request.count > 100'000) c.request.count = 60'000;  // it moves numbers
  if (schedule_problem(c.request)) return;
  RC_ASSERT(moved(c) == executed(c));
}

/// Every algorithm, with ranks that come one after the other: those that once differed by some ns.
TEST(Mover, TakesAsLongAsTheExecutorSaysForEveryAlgorithm) {
  for (int algorithm = 0; algorithm < kAlgorithmCount; ++algorithm)
    for (const int world : {4, 6, 8, 16})
      for (const int channels : {1, 2})
        for (const std::int64_t apart : {0, 3, 700, 20'000}) {
          TimeCase c;
          c.request = {.algorithm = static_cast<Algorithm>(algorithm),
                       .count = 6'000,
                       .world_size = world,
                       .channels = channels,
                       .gpus_per_node = 2};
          if (schedule_problem(c.request)) continue;
          c.topology = {.world_size = world,
                        .gpus_per_node = 2,
                        .intra = {700, 200'000'000'000},
                        .inter = {9'000, 4'000'000'000},
                        .overrides = {}};
          for (int r = 0; r < world; ++r) c.arrival.push_back((r * 7 % world) * apart);
          c.reduce_ns = 300;
          EXPECT_EQ(moved(c), executed(c)) << to_word(c.request.algorithm) << ", " << world << " ranks, "
                                           << channels << " channels, " << apart << " ns apart";
        }
}

}  // namespace
}  // namespace ringside::sim
