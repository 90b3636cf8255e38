// The NaN scene: who holds NaN after k ring steps, from the trace alone; the window on it.
#include <gtest/gtest.h>

#include "app/scenes/nan_view.hpp"
#include "harness.hpp"
#include "sim/job/simulate.hpp"
#include "sim/scenario/scenario.hpp"

namespace ringside::app::test {
namespace {

struct Spread {
  sim::Simulation simulation;
  sim::FrameSource frames;
  TransferTable table;
  PoisonHistory history;
  explicit Spread(const std::string& toml)
      : simulation(sim::simulate(*sim::parse_scenario(toml, "t.toml"))), frames(simulation.trace) {
    history.update(simulation.trace, 1);
  }
  PoisonView at(std::int64_t t) {
    const sim::Frame& frame = frames.frame_at(t);
    table.update(simulation.trace, frame.collective.coll, 1);
    ring = make_view(simulation.trace, frame, table, {});
    return make_poison_view(simulation.trace, frame, ring, table, history, -1);
  }
  /// End of ring step k of the first collective.
  std::int64_t end_of(std::uint32_t step) {
    table.update(simulation.trace, 0, 1);
    std::int64_t t = 0;
    for (const TransferRecord& r : table.all())
      if (r.step <= step) t = std::max(t, r.done);
    return t;
  }
  RingView ring;
};

std::string ring_of(int world, int bad, const std::string& op) {
  std::string text = "[cluster]\nnodes = 1\ngpus_per_node = " + std::to_string(world) +
                     "\n[tensor]\nshape = [" + std::to_string(world) +
                     "]\nvalues = \"index\"\n[collective]\nop = \"" + op +
                     "\"\n[[fault]]\nkind = \"nan\"\nrank = " + std::to_string(bad) + "\nelement = 1\n";
  return text;
}

TEST(NanSpread, OneRankMoreWithEveryRingStep) {
  for (const int world : {2, 3, 4, 5, 8, 16})
    for (const int bad : {0, world / 2, world - 1}) {
      Spread spread(ring_of(world, bad, "sum"));
      // NCCL's order: chunk c starts at rank c + 1 and its sum is complete at rank c after N - 1 steps.
      const int begin = 2 % world, ahead = (bad - begin + world) % world;
      const PoisonView end = spread.at(spread.simulation.trace.end_time());
      EXPECT_EQ(end.first_rank, bad);
      EXPECT_EQ(end.chunk, 1u);
      EXPECT_EQ(end.ranks_poisoned, world);
      EXPECT_EQ(end.cells_poisoned, world) << "the chunk on every rank, and no other";
      EXPECT_EQ(end.cells_at_end, world);
      EXPECT_EQ(end.cells, world * world);
      for (std::uint32_t k = 0; k <= static_cast<std::uint32_t>(2 * (world - 1)); ++k) {
        const PoisonView view = spread.at(spread.end_of(k));
        const int steps = static_cast<int>(k);
        const int expected = std::min(world, 1 + std::max(0, std::min(steps, 2 * (world - 1)) - ahead));
        EXPECT_EQ(view.ranks_poisoned, expected) << world << " ranks, R" << bad << ", after " << k;
        EXPECT_EQ(view.cells_at_end, world) << "the end is known from the start";
      }
    }
}

TEST(NanSpread, MinAndMaxHideIt) {
  for (const char* op : {"min", "max"}) {
    Spread spread(ring_of(4, 2, op));
    const PoisonView end = spread.at(spread.simulation.trace.end_time());
    EXPECT_TRUE(end.hides);
    EXPECT_TRUE(end.hidden);
    EXPECT_EQ(end.ranks_poisoned, 0);
    EXPECT_EQ(end.cells_at_end, 0);
    EXPECT_EQ(poison_sentences(end, spread.ring).at(0).key, "nan.now.hidden");
  }
}

TEST(NanSpread, ReachesTheLossesAndThenTheWeights) {
  for (const char* phases :
       {"forward = \"3ms\"\nloss = \"1ms\"\nbackward = \"5ms\"\noptimizer = \"1ms\"\n", ""}) {
    Spread spread(std::string("[cluster]\nnodes = 1\ngpus_per_node = 4\n[training]\nsteps = 3\n") + phases +
                  "[training.network]\nenabled = true\nlayers = [2, 8, 8, 1]\n[collective]\nop = \"avg\"\n"
                  "[[fault]]\nkind = \"nan\"\nrank = 2\nstep = 1\nelement = 0\n");
    const PoisonStages s = spread.at(spread.simulation.trace.end_time()).stages;
    EXPECT_GE(s.element, 0);
    EXPECT_GT(s.update, s.element);
    EXPECT_GE(s.losses, s.update) << "the loss of the next step";
    EXPECT_GE(s.weights, s.losses);
    if (*phases == '\0') continue;  // no loss events
    EXPECT_EQ(s.losses_nan, 4);
    EXPECT_EQ(spread.at(s.update).stages.losses_nan, 0);
  }
}

TEST(NanSpread, ACleanRunHasNone) {
  Spread spread("[cluster]\nnodes = 1\ngpus_per_node = 4\n[tensor]\nshape = [4]\n");
  const PoisonView view = spread.at(spread.simulation.trace.end_time());
  EXPECT_FALSE(view.in_trace);
  EXPECT_TRUE(view.path.empty());
  EXPECT_EQ(poison_sentences(view, spread.ring).at(0).key, "nan.now.none");
}

}  // namespace
}  // namespace ringside::app::test
