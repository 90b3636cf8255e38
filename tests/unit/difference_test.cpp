// Where two traces part.
#include "sim/trace/difference.hpp"

#include "tests/unit/job_helpers.hpp"

namespace ringside::sim::test {
namespace {

JobText job() {
  JobText text;
  text.steps = 3;
  return text;
}

Command command(std::string_view fault, std::int64_t t) {
  auto parsed = parse_fault(fault);
  EXPECT_TRUE(parsed);
  return {t, *parsed};
}

TEST(FirstDifference, TheSameJobHasNone) {
  EXPECT_FALSE(first_difference(run(job()).trace, run(job()).trace));
}

TEST(FirstDifference, ACommandAloneIsNone) {
  // A crash of a rank that is already dead does nothing; only the two commands differ.
  const Simulation once = run(job(), {command("crash:rank=1", 100'000'000)});
  const Simulation twice =
      run(job(), {command("crash:rank=1", 100'000'000), command("hang:rank=1", 200'000'000)});
  EXPECT_FALSE(first_difference(once.trace, twice.trace));
}

TEST(FirstDifference, NamesTheRankItsStepAndPhase) {
  const Simulation healthy = run(job());
  // 95 ms a step: at 150 ms rank 3 is in backward of step 2.
  const Simulation broken = run(job(), {command("crash:rank=3", 150'000'000)});
  const auto found = first_difference(healthy.trace, broken.trace, 150'000'000);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->in_second) << "the exit is only in the second";
  EXPECT_EQ(found->source, Source::rank(3));
  EXPECT_EQ(found->step, 2);
  EXPECT_EQ(found->phase, Phase::Backward);
  EXPECT_EQ(found->t, 150'000'000);
  EXPECT_EQ(first_difference(healthy.trace, broken.trace), found) << "from the start it is the same place";
  const auto mirrored = first_difference(broken.trace, healthy.trace);
  ASSERT_TRUE(mirrored);
  EXPECT_FALSE(mirrored->in_second);
  EXPECT_EQ(mirrored->t, found->t);
}

TEST(FirstDifference, ANumberIsEnough) {
  // The events of a poisoned AllReduce have the same times; only what travels differs.
  JobText text;
  text.faults = fault("kind=\"nan\";rank=2;element=5");
  const auto found = first_difference(run(JobText{}).trace, run(text).trace);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->source, Source::rank(2));
}

TEST(FirstDifference, OneThatGoesOnDiffersWhereTheOtherEnds) {
  const Simulation whole = run(job());
  JobText two = job();
  two.steps = 2;
  const Simulation less = run(two);
  const auto found = first_difference(whole.trace, less.trace);
  ASSERT_TRUE(found);
  EXPECT_GE(found->step, 2);
}

TEST(WatchedSimulation, GivesTheSameBytesAndStopsWhenTold) {
  const Scenario scenario = scenario_of(job());
  std::int64_t asked = 0;
  const auto whole = simulate_watched(scenario, {}, [&](const SimulationProgress& progress) {
    ++asked;
    EXPECT_EQ(progress.steps, 3);
    return true;
  });
  ASSERT_TRUE(whole);
  EXPECT_GT(asked, 0);
  EXPECT_EQ(bytes_of(whole->trace), bytes_of(simulate(scenario).trace));
  EXPECT_FALSE(simulate_watched(scenario, {}, [](const SimulationProgress&) { return false; }));
  JobText large;
  large.nodes = 1'024;
  large.gpus_per_node = 8;
  large.values = "\"none\"";
  large.steps = 5;
  std::int64_t steps = 0;
  EXPECT_FALSE(simulate_watched(scenario_of(large), {}, [&](const SimulationProgress& progress) {
    steps = progress.step;
    return progress.step < 2;
  }));
  EXPECT_EQ(steps, 2);
}

}  // namespace
}  // namespace ringside::sim::test
