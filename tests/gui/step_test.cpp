// The training-step scene in the window: every job fits at every moment, the switches edit, a number is
// followed to the ring, nothing without phases or of too many ranks breaks it.
#include <cstdlib>

#include "app/scenes/allreduce_numbers.hpp"
#include "sim/job/training.hpp"
#include "sim/tensor/reduce.hpp"
#include "tests/gui/harness.hpp"

namespace ringside::app::test {
namespace {

void keep(const Harness& h, const std::string& name) {
  const char* folder = std::getenv("RINGSIDE_PICTURES");
  if (folder == nullptr) return;
  EXPECT_TRUE(write_png(std::string(folder) + "/" + name + ".png", h.image()));
}

bool wants_pictures() {
  return std::getenv("RINGSIDE_PICTURES") != nullptr;
}

sim::Scenario job(int gpus, const std::string& training, const std::string& more = {}) {
  const std::string text = "title = \"test\"\n[cluster]\nnodes = 1\ngpus_per_node = " + std::to_string(gpus) +
                           "\nintra_latency = \"900us\"\n" + training + more;
  auto parsed = sim::parse_scenario(text, "test.toml");
  EXPECT_TRUE(parsed) << parsed.error().message();
  return *parsed;
}

const std::string kPhases =
    "[training]\nsteps = 4\nforward = \"30ms\"\nloss = \"1ms\"\nbackward = \"60ms\"\noptimizer = \"8ms\"\n"
    "jitter = 0.05\n";
const std::string kNetwork = "[training.network]\nlayers = [4, 8, 8, 1]\nlearning_rate = 0.02\n";

void open(Harness& h, sim::Scenario scenario) {
  h.session().open_scenario(std::move(scenario), "test");
  h.session().finish_simulation();
  h.session().scene_id = "step";
  h.frames(3);
}

sim::TrainingHistory history_until(const sim::Scenario& scenario, std::int64_t step) {
  sim::TrainingHistory history(scenario);
  while (history.known() < step) history.advance();
  return history;
}

void check_moments(Harness& h, const std::string& what) {
  for (const double share : {0.0, 0.03, 0.13, 0.3, 0.52, 0.77, 1.0}) {
    h.session().playhead().t = static_cast<std::int64_t>(share * static_cast<double>(h.session().end_time()));
    h.frames(2);
    EXPECT_EQ(h.problems(), "") << what << " at " << share;
  }
}

struct Look {
  Lang lang;
  ThemeChoice theme;
  int width, height;
};

class StepScene : public testing::TestWithParam<Look> {};

TEST_P(StepScene, FitsInAllViewsAtAllMoments) {
  const Look& look = GetParam();
  Harness h({.width = look.width,
             .height = look.height,
             .lang = look.lang,
             .theme = look.theme,
             .offscreen = wants_pictures()});
  const std::string suffix = "-" + std::string(to_word(look.lang)) +
                             (look.theme == ThemeChoice::Dark ? "-dark-" : "-light-") +
                             std::to_string(look.width);
  for (const char* file : {"training-step", "training-alone"}) {
    h.open(std::string(file) + ".toml");
    h.session().scene_id = "step";
    for (const int mode : {0, 1, 2}) {
      h.frames(2);
      h.click("step.mode." + std::to_string(mode));
      check_moments(h, std::string(file) + ", view " + std::to_string(mode));
      h.session().playhead().t = h.session().end_time() * 23 / 100;
      h.frames(30);
      keep(h, std::string(file) + "-" + std::to_string(mode) + suffix);
    }
    h.click("step.mode.0");
  }
}

INSTANTIATE_TEST_SUITE_P(Looks, StepScene,
                         testing::Values(Look{Lang::En, ThemeChoice::Dark, 1280, 720},
                                         Look{Lang::Ko, ThemeChoice::Light, 1280, 720},
                                         Look{Lang::Ko, ThemeChoice::Dark, 2560, 1440},
                                         Look{Lang::En, ThemeChoice::Light, 1600, 900}),
                         [](const testing::TestParamInfo<Look>& param) {
                           return std::string(to_word(param.param.lang)) + std::to_string(param.param.width);
                         });

TEST(StepSceneJobs, EveryWorldFits) {
  Harness h({.lang = Lang::Ko, .offscreen = wants_pictures()});
  for (const int gpus : {1, 2, 3, 5, 8, 9, 16, 33, 64}) {
    open(h, job(gpus, kPhases + "buckets = 3\noverlap = true\n" + kNetwork));
    for (const int mode : {0, 1, 2}) {
      h.click("step.mode." + std::to_string(mode));
      check_moments(h, std::to_string(gpus) + " ranks, view " + std::to_string(mode));
      h.session().playhead().t = h.session().end_time() * 40 / 100;
      h.frames(2);
      keep(h, "step-world-" + std::to_string(gpus) + "-" + std::to_string(mode));
    }
    h.click("step.mode.0");
  }
}

TEST(StepSceneJobs, OtherJobsFitAndSayWhatTheyCannot) {
  Harness h({.offscreen = wants_pictures()});
  const auto look = [&](const std::string& name, sim::Scenario scenario) {
    open(h, std::move(scenario));
    check_moments(h, name);
    keep(h, "step-" + name);
  };
  look("no-network", job(4, kPhases + "buckets = 2\n", "[tensor]\nshape = [64]\n"));
  look("no-numbers", job(8, kPhases, "[tensor]\nshape = [\"1M\"]\nvalues = \"none\"\n"));
  look("many-ranks", job(512, kPhases, "[tensor]\nshape = [\"1M\"]\nvalues = \"none\"\n"));
  look("groups", job(8192, kPhases, "[tensor]\nshape = [\"1M\"]\nvalues = \"none\"\n"));
  look("many-buckets", job(4, kPhases + "buckets = 40\noverlap = true\n" + kNetwork));
  look("hang",
       job(4, kPhases + kNetwork, "[[fault]]\nkind = \"hang\"\nrank = 1\nstep = 2\nat = \"forward\"\n"));
  look("crash",
       job(4, kPhases + kNetwork, "[[fault]]\nkind = \"crash\"\nrank = 1\nstep = 2\nat = \"backward\"\n"));
  look("nan", job(4, kPhases + kNetwork, "[[fault]]\nkind = \"nan\"\nrank = 1\nstep = 2\n"));
  look("tree", job(8, kPhases + kNetwork, "[collective]\nalgorithm = \"recursive_doubling\"\n"));
  look("big-network", job(2, kPhases + "[training.network]\nlayers = [64, 300, 40, 3]\n"));
  look("half", job(4, kPhases + kNetwork, "[tensor]\ndtype = \"float16\"\n"));
  h.open("four-gpus.toml");
  h.session().scene_id = "step";
  h.frames(2);
  EXPECT_EQ(h.problems(), "");
  h.open("reference.toml");
  h.session().scene_id = "step";
  check_moments(h, "reference");
}

TEST(StepSceneJobs, ATraceWithoutPhasesSaysSo) {
  Harness h;
  auto trace = std::make_unique<sim::Trace>();
  trace->header.world_size = 4;
  sim::Event e;
  e.set_source(sim::Source::rank(2));
  e.type = sim::EventType::Heartbeat;
  e.heartbeat = {};
  e.heartbeat.comm = sim::kNone;
  trace->emit(e);
  h.session().open_trace(std::move(trace), "nothing", {});
  h.session().scene_id = "step";
  h.frames(3);
  EXPECT_EQ(h.problems(), "");
  EXPECT_FALSE(h.has("step.axis"));
}

class StepEdits : public testing::Test {
 protected:
  StepEdits() {
    h.open("training-step.toml");
    h.session().playhead().t = 1'500'000'000;
    h.frames(20);
    h.take_actions();
  }
  std::vector<std::string> edits() {
    std::vector<std::string> out;
    for (const Action& action : h.take_actions())
      if (const auto* edit = std::get_if<action::EditScenario>(&action)) out.push_back(edit->what);
    return out;
  }
  Harness h{{.offscreen = wants_pictures()}};
};

TEST_F(StepEdits, ATrainingJobOpensHere) {
  EXPECT_EQ(h.session().scene_id, "step");
  EXPECT_EQ(h.session().playhead().unit, sim::StepUnit::Phase);
}

TEST_F(StepEdits, AllReduceIsSwitchedOffAndOn) {
  h.click("step.all_reduce.1");
  h.frames(30);
  EXPECT_EQ(edits(), std::vector<std::string>{"all_reduce=false"});
  EXPECT_FALSE(h.session().scenario()->training.network.all_reduce);
  EXPECT_TRUE(h.shows(tr("step.alone.models", {"4"})));
  EXPECT_TRUE(h.has("step.same_speed")) << "R2 is the slow one still, though it is steps behind";
  EXPECT_EQ(h.problems(), "");
  h.click("step.mode.2");
  h.click("step.proof.together");
  h.frames(30);
  EXPECT_EQ(edits(), std::vector<std::string>{"all_reduce=true"});
  EXPECT_TRUE(h.session().scenario()->training.network.all_reduce);
  EXPECT_EQ(h.problems(), "");
}

TEST_F(StepEdits, OverlapBucketsAndTheSlowRankAreEdited) {
  h.click("step.overlap");
  h.frames(3);
  EXPECT_FALSE(h.session().scenario()->training.overlap);
  h.click("step.same_speed");
  h.frames(3);
  EXPECT_TRUE(h.session().scenario()->faults.empty());
  h.click("step.slow_down");
  h.frames(3);
  EXPECT_EQ(h.session().scenario()->faults.size(), 1u);
  EXPECT_EQ(edits(), (std::vector<std::string>{"overlap=false", "R2 not slow", "R2 slow"}));
}

TEST_F(StepEdits, ANumberIsFollowedToTheRing) {
  h.click("step.bucket.1");  // b1: fc2, 72 numbers from 40 on; its last one
  h.frames(3);
  EXPECT_EQ(h.problems(), "");
  ASSERT_TRUE(h.has("step.open_ring"));
  h.click("step.element.back");
  h.click("step.open_ring");
  h.frames(40);
  EXPECT_EQ(h.session().scene_id, "allreduce");
  const Selection chosen = h.session().selection;
  EXPECT_EQ(chosen.element, 70) << "of the bucket: element 110 of the gradient";
  EXPECT_EQ(chosen.chunk, 3);
  EXPECT_EQ(chosen.rank, 0);
  const std::uint32_t coll = h.session().frame().collective.coll;
  const sim::CollectiveInfo& info = h.session().trace().collective(coll);
  EXPECT_EQ(info.step, 12) << "the ring shows this step's collective";
  EXPECT_EQ(info.count, 72);
  EXPECT_EQ(h.problems(), "");
  EXPECT_TRUE(h.shows(tr("allreduce.followed.title", {"70", "c3"})));
  const sim::TrainingHistory history = history_until(*h.session().scenario(), 12);
  const sim::Scalar own = history.gradient(0, 12)->at(110),
                    quarter = sim::prepare(sim::ReduceOp::Avg, 4, own);
  EXPECT_TRUE(h.shows(number_text(quarter))) << "R0 brings a quarter of its own gradient";
  std::int64_t here = -1;
  for (const sim::Event& e : h.session().trace().events())
    if (e.type == sim::EventType::RingStepEnd && e.ring.coll == coll && e.ring.chunk == 3 && e.rank() == 0)
      here = e.t;
  h.session().playhead().t = here;
  h.frames(40);
  EXPECT_TRUE(h.shows(number_text(history.update(0, 12)->at(110)))) << "and gets the mean";
  EXPECT_EQ(h.problems(), "");
  keep(h, "step-in-ring");
}

TEST_F(StepEdits, TheLossLeadsToAnyStep) {
  h.drag("step.loss", .5f, .8f);
  h.frames(3);
  EXPECT_NEAR(h.session().frame().step, 40, 1);
  h.drag("step.axis", .5f, .25f);
  h.frames(3);
  EXPECT_NEAR(h.session().frame().step, 40, 1) << "the axis stays inside the step";
}

TEST(StepSceneJobs, ThePresenterSeesNothingBelow28) {
  for (const Lang lang : {Lang::En, Lang::Ko}) {
    Harness h({.lang = lang, .theme = ThemeChoice::Light, .offscreen = wants_pictures()});
    h.open("training-step.toml");
    h.app->shell().presenter = true;
    for (const double share : {0.0, 0.007, 0.014, 0.23, 1.0}) {
      h.session().playhead().t =
          static_cast<std::int64_t>(share * static_cast<double>(h.session().end_time()));
      h.frames(2);
      EXPECT_EQ(h.problems(), "") << share;
      for (const DrawnText& text : h.record().texts) EXPECT_GE(text.box.h, .82f * 27.9f) << text.text;
      keep(h, "step-presenter-" + std::string(to_word(lang)));
    }
  }
}

}  // namespace
}  // namespace ringside::app::test
