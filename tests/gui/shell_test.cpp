// The frame around the scenes: keys, transport, settings, help, notices, broken files, undo.
#include <unistd.h>

#include <fstream>

#include "app/session/files.hpp"
#include "sim/tensor/npy.hpp"
#include "tests/gui/harness.hpp"

namespace ringside::app::test {
namespace {

class Shell_ : public testing::Test {
 protected:
  Shell_() { h.open("four-gpus-vector.toml"); }
  Harness h;
  sim::Playhead& playhead() { return h.session().playhead(); }
};

TEST_F(Shell_, SpacePlaysAndPauses) {
  h.press(Key::Space);
  EXPECT_EQ(playhead().mode, sim::PlayMode::Playing);
  const std::int64_t t = playhead().t;
  h.frames(20);
  EXPECT_GT(playhead().t, t);
  h.press(Key::Space);
  EXPECT_EQ(playhead().mode, sim::PlayMode::Paused);
}

TEST_F(Shell_, ArrowsStepByRingSteps) {
  playhead().unit = sim::StepUnit::RingStep;
  h.press(Key::Right);
  EXPECT_EQ(playhead().t, sim::ring_step_end(h.session().trace(), 0, 1));
  h.press(Key::Right);
  EXPECT_EQ(playhead().t, sim::ring_step_end(h.session().trace(), 0, 2));
  h.press(Key::Left);
  EXPECT_EQ(playhead().t, sim::ring_step_end(h.session().trace(), 0, 1));
  h.press(Key::End);
  EXPECT_EQ(playhead().t, h.session().end_time());
  h.press(Key::Home);
  EXPECT_EQ(playhead().t, 0);
}

TEST_F(Shell_, UpAndDownChangeTheStep) {
  playhead().unit = sim::StepUnit::RingStep;
  h.press(Key::Up);
  EXPECT_EQ(playhead().unit, sim::StepUnit::Phase);
  h.press(Key::Down);
  h.press(Key::Down);
  EXPECT_EQ(playhead().unit, sim::StepUnit::Transfer);
}

TEST_F(Shell_, TouchingTheTimelinePauses) {
  h.press(Key::Space);
  h.drag("transport.timeline", 0.2f, 0.5f);
  EXPECT_EQ(playhead().mode, sim::PlayMode::Paused);
  EXPECT_NEAR(static_cast<double>(playhead().t), 0.5 * static_cast<double>(h.session().end_time()),
              0.02 * static_cast<double>(h.session().end_time()));
}

TEST_F(Shell_, ButtonsOfTheTransport) {
  h.click("transport.on");
  EXPECT_GT(playhead().t, 0);
  h.click("transport.last");
  EXPECT_EQ(playhead().t, h.session().end_time());
  h.click("transport.first");
  EXPECT_EQ(playhead().t, 0);
  h.click("transport.play");
  EXPECT_EQ(playhead().mode, sim::PlayMode::Playing);
}

TEST_F(Shell_, SpeedPopupChangesSpeedAndLoops) {
  const double before = playhead().speed;
  h.click("transport.speed");
  ASSERT_TRUE(h.has("transport.speed.slider"));
  EXPECT_EQ(h.problems(), "");
  h.drag("transport.speed.slider", 0.5f, 0.9f);
  EXPECT_GT(playhead().speed, before);
  h.click("transport.loop");
  EXPECT_TRUE(playhead().loop);
  h.press(Key::Escape);
  EXPECT_FALSE(h.has("transport.speed.slider"));
}

TEST_F(Shell_, UnitMenuChooses) {
  h.click("transport.unit");
  ASSERT_TRUE(h.has("transport.unit.menu.1"));
  EXPECT_EQ(h.problems(), "");
  h.click("transport.unit.menu.1");
  h.frames(2);
  EXPECT_EQ(playhead().unit, sim::StepUnit::Transfer);
}

TEST_F(Shell_, LanguageThemeAndScaleSwitchLive) {
  h.click("top.language");
  EXPECT_EQ(language(), Lang::Ko);
  h.frames(2);
  EXPECT_TRUE(h.shows("속도"));
  EXPECT_EQ(h.problems(), "");
  h.click("top.theme");
  EXPECT_FALSE(h.app->theme().dark);
  h.click("settings");
  ASSERT_TRUE(h.has("settings.scale"));
  EXPECT_EQ(h.problems(), "");
  h.drag("settings.scale", 0.2f, 0.9f);
  EXPECT_GT(h.app->settings().user_scale, 1.5f);
  h.frames(3);
}

TEST_F(Shell_, HelpListsTheKeys) {
  h.press(Key::F1);
  EXPECT_TRUE(h.shows("Play, pause"));
  EXPECT_EQ(h.problems(), "");
  h.press(Key::Escape);
  EXPECT_FALSE(h.shows("Play, pause"));
}

TEST_F(Shell_, FullScreenIsAskedOfThePlatform) {
  h.press(Key::F11);
  EXPECT_TRUE(h.app->take_full_screen());
  EXPECT_FALSE(h.app->take_full_screen());
}

TEST_F(Shell_, PresenterComesAndGoes) {
  h.click("top.presenter");
  EXPECT_TRUE(h.app->shell().presenter);
  EXPECT_FALSE(h.app->theme().dark) << "projectors want light";
  const std::int64_t t = playhead().t;
  h.press(Key::PageDown);
  EXPECT_GT(playhead().t, t);
  h.press(Key::Escape);
  EXPECT_FALSE(h.app->shell().presenter);
  EXPECT_TRUE(h.app->theme().dark);
}

TEST_F(Shell_, EditsUndoAndKeepThePlace) {
  playhead().t = sim::ring_step_end(h.session().trace(), 0, 2);
  const auto edit = [](sim::ReduceOp op) {
    return action::EditScenario{"op", [op](sim::Scenario& s) { s.collective.op = op; }, {}};
  };
  h.session().apply(edit(sim::ReduceOp::Max));
  EXPECT_EQ(h.session().scenario()->collective.op, sim::ReduceOp::Max);
  EXPECT_EQ(playhead().t, sim::ring_step_end(h.session().trace(), 0, 2));
  h.press_with_ctrl(Key::Z);
  EXPECT_NE(h.session().scenario()->collective.op, sim::ReduceOp::Max);
  h.press_with_ctrl(Key::Y);
  EXPECT_EQ(h.session().scenario()->collective.op, sim::ReduceOp::Max);
}

TEST_F(Shell_, AnEditThatTheFileFormatRefusesIsRefused) {
  h.session().apply(action::EditScenario{
      "seven channels of nothing", [](sim::Scenario& s) { s.collective.channels = 0; }, {}});
  h.frames(2);
  EXPECT_NE(h.session().scenario()->collective.channels, 0);
  EXPECT_TRUE(h.has("notice.close.0"));
  EXPECT_EQ(h.problems(), "");
  h.click("notice.close.0");
  EXPECT_FALSE(h.has("notice.close.0"));
}

TEST_F(Shell_, TabWalksAndEnterActs) {
  h.press(Key::Tab);
  const std::string first = h.app->ui().focused();
  EXPECT_FALSE(first.empty());
  h.press(Key::Tab);
  EXPECT_NE(h.app->ui().focused(), first);
  h.app->ui().focus("transport.last");
  h.press(Key::Enter);
  EXPECT_EQ(playhead().t, h.session().end_time());
}

TEST_F(Shell_, HoverExplains) {
  h.move_to("transport.unit");
  h.frames(40);
  EXPECT_TRUE(std::any_of(h.record().texts.begin(), h.record().texts.end(),
                          [](const DrawnText& t) { return t.layer > 1; }));
  EXPECT_EQ(h.problems(), "");
}

TEST_F(Shell_, NothingMovesWhenNothingHappens) {
  h.frames(10);
  EXPECT_GT(h.app->next_frame_in(), 1e6) << "the loop would sleep until input";
}

class BrokenFile : public testing::TestWithParam<Lang> {};

TEST_P(BrokenFile, IsACardWithLineColumnAndLegalValues) {
  const auto good = read_file(source_path("assets/scenarios/four-gpus.toml"));
  ASSERT_TRUE(good);
  const std::string path = testing::TempDir() + "broken-" + std::to_string(::getpid()) + ".toml";
  const auto write = [&](const std::string& text) { std::ofstream(path) << text; };
  write("title = \"x\"\nseed = \"one\"\n" + good->substr(good->find("[cluster]")));
  Harness h({.lang = GetParam()});
  h.app->drop_files({path});
  h.frames(2);
  ASSERT_TRUE(h.session().problem());
  EXPECT_EQ(h.session().problem()->error.line, 2);
  EXPECT_TRUE(h.shows("seed = \"one\""));
  EXPECT_EQ(h.problems(), "");
  write(*good);
  h.click("problem.retry");
  EXPECT_FALSE(h.session().problem());
  EXPECT_TRUE(h.session().has_trace());
}

INSTANTIATE_TEST_SUITE_P(Languages, BrokenFile, testing::Values(Lang::En, Lang::Ko));

TEST(NpyFiles, DroppedOnTheWindowBecomeRanks) {
  Harness h;
  std::vector<std::string> paths;
  for (int r = 0; r < 3; ++r) {
    sim::Tensor tensor(sim::DType::Float32, sim::Shape{{2}});
    tensor.as<float>()[0] = static_cast<float>(r);
    tensor.as<float>()[1] = 1;
    paths.push_back(testing::TempDir() + "drop" + std::to_string(r) + ".npy");
    std::ofstream(paths.back(), std::ios::binary) << sim::write_npy(tensor);
  }
  h.app->drop_files(paths);
  h.frames(2);
  ASSERT_TRUE(h.session().has_trace());
  EXPECT_EQ(h.session().scenario()->world_size(), 3);
  EXPECT_EQ(h.session().scenario()->tensor.list[2]->at(0), sim::make_scalar(sim::DType::Float32, 2));
}

}  // namespace
}  // namespace ringside::app::test
