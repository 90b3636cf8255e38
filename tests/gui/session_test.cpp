// The session without a window: actions, the place in time over edits, background simulation.
#include <gtest/gtest.h>

#include "app/session/files.hpp"
#include "app/session/session.hpp"

namespace ringside::app {
namespace {

std::string scenario_path(std::string_view name) {
  return std::string(RINGSIDE_SOURCE_DIR) + "/assets/scenarios/" + std::string(name);
}

TEST(Session, OpensPausedAtTheStartWithAComfortableSpeed) {
  Session session;
  ASSERT_TRUE(session.open_file(scenario_path("four-gpus.toml")));
  EXPECT_EQ(session.playhead().t, 0);
  EXPECT_EQ(session.playhead().mode, sim::PlayMode::Paused);
  const double seconds = static_cast<double>(session.end_time()) / (session.playhead().speed * 1e9);
  EXPECT_GT(seconds, 5);
  EXPECT_LE(seconds, 16);
}

TEST(Session, AMissingFileIsAProblemAndNothingElseChanges) {
  Session session;
  ASSERT_TRUE(session.open_file(scenario_path("four-gpus.toml")));
  const std::uint64_t generation = session.generation();
  EXPECT_FALSE(session.open_file("/nowhere/x.toml"));
  EXPECT_TRUE(session.problem());
  EXPECT_EQ(session.generation(), generation);
}

TEST(Session, KeepsThePlaceWhenTheWorldChangesItsSpeed) {
  Session session;
  ASSERT_TRUE(session.open_file(scenario_path("four-gpus-vector.toml")));
  const std::int64_t end2 = sim::ring_step_end(session.trace(), 0, 2),
                     end3 = sim::ring_step_end(session.trace(), 0, 3);
  session.playhead().t = (end2 + end3) / 2;
  session.apply(action::EditScenario{"slower links",
                                     [](sim::Scenario& s) {
                                       s.cluster.topology.intra.latency_ns *= 3;
                                       for (auto& o : s.cluster.topology.overrides) o.spec.latency_ns *= 3;
                                     },
                                     {}});
  session.finish_simulation();
  const sim::Trace& after = session.trace();
  EXPECT_GT(session.playhead().t, sim::ring_step_end(after, 0, 2));
  EXPECT_LT(session.playhead().t, sim::ring_step_end(after, 0, 3));
}

TEST(Session, APlaceIsTheSameInAJobOfManyCollectives) {
  Session session;
  ASSERT_TRUE(session.open_file(scenario_path("training-step.toml")));
  session.finish_simulation();
  const sim::Trace& trace = session.trace();
  ASSERT_GT(trace.collective_count(), 10u);
  for (int i = 0; i <= 50; ++i) {
    const std::int64_t t = trace.end_time() / 50 * i;
    EXPECT_EQ(same_place(trace, t, trace), t);
  }
  const auto times = sim::ring_step_times(trace);
  for (std::uint32_t step = 1; step <= trace.collective(3).steps; ++step)
    EXPECT_EQ(times.at({3, step}), sim::ring_step_end(trace, 3, step));
}

TEST(Session, EditsOfOneDragAreOneUndo) {
  Session session;
  ASSERT_TRUE(session.open_file(scenario_path("four-gpus.toml")));
  const auto seed = session.scenario()->seed;
  for (std::uint64_t s = 10; s < 20; ++s)
    session.apply(action::EditScenario{"seed", [s](sim::Scenario& x) { x.seed = s; }, "seed"});
  EXPECT_EQ(session.scenario()->seed, 19u);
  session.apply(action::Undo{});
  EXPECT_EQ(session.scenario()->seed, seed);
  EXPECT_FALSE(session.can_undo());
  session.apply(action::Redo{});
  EXPECT_EQ(session.scenario()->seed, 19u);
}

TEST(Session, ScenariosWithFilesCanBeEditedToo) {
  Session session;
  ASSERT_TRUE(session.open_file(scenario_path("own-npy.toml")));
  session.apply(
      action::EditScenario{"op", [](sim::Scenario& s) { s.collective.op = sim::ReduceOp::Max; }, {}});
  session.finish_simulation();
  EXPECT_EQ(session.scenario()->collective.op, sim::ReduceOp::Max);
  EXPECT_TRUE(session.notices.empty());
}

TEST(Session, PlaysToTheEndAndStops) {
  Session session;
  ASSERT_TRUE(session.open_file(scenario_path("four-gpus.toml")));
  session.apply(action::TogglePlay{});
  session.update(3'600'000'000'000);
  EXPECT_EQ(session.playhead().t, session.end_time());
  EXPECT_EQ(session.playhead().mode, sim::PlayMode::Paused);
  session.apply(action::TogglePlay{});
  EXPECT_EQ(session.playhead().t, 0) << "playing at the end starts over";
}

TEST(Session, BigOnesRunInTheBackground) {
  Session session;
  sim::Scenario scenario;
  ASSERT_TRUE(session.open_file(scenario_path("four-gpus.toml")));
  session.apply(action::EditScenario{"a big job",
                                     [](sim::Scenario& s) {
                                       s.tensor.values = sim::ValueSource::None;
                                       s.tensor.list.clear();
                                       s.cluster.nodes = 64;
                                       s.cluster.topology.world_size = s.world_size();
                                       s.training.steps = 1'000;
                                     },
                                     {}});
  EXPECT_GT(simulation_cost(*session.scenario()) + (session.simulating() ? kBackgroundCost : 0),
            kBackgroundCost);
  session.finish_simulation();
  EXPECT_EQ(session.scenario()->world_size(), 256);
  EXPECT_FALSE(session.simulating());
}

TEST(Files, LinesAndStems) {
  EXPECT_EQ(line_of("a\nb\r\nc", 2), "b");
  EXPECT_EQ(line_of("a\nb", 3), "");
  EXPECT_EQ(file_stem("/x/four-gpus.toml"), "four-gpus");
  EXPECT_FALSE(read_file("/dev/zero")) << "regular files only";
}

TEST(Files, AScenarioReachesOnlyItsOwnFolder) {
  const auto load = folder_loader(scenario_path("own-npy.toml"));
  EXPECT_FALSE(load("../lang/en/window.toml"));
  EXPECT_FALSE(load("/etc/passwd"));
  EXPECT_TRUE(load("reference.toml"));
}

}  // namespace
}  // namespace ringside::app
