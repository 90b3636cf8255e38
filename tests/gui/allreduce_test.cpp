// The AllReduce scene in the window: all worlds and scenarios fit at all moments, the panel edits, cells are
// typed over, toggles, steps, the presenter.
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "tests/gui/harness.hpp"

namespace ringside::app::test {
namespace {

sim::Scenario world_of(int gpus, std::int64_t count, std::string_view collective = {},
                       std::string_view values = "\"index\"") {
  const std::string text = "title = \"test\"\n[cluster]\nnodes = 1\ngpus_per_node = " + std::to_string(gpus) +
                           "\n[tensor]\nshape = [" + std::to_string(count) +
                           "]\ndtype = \"float32\"\nvalues = " + std::string(values) +
                           "\n[collective]\nreduce = \"300ns\"\n" + std::string(collective);
  auto parsed = sim::parse_scenario(text, "test.toml");
  EXPECT_TRUE(parsed) << parsed.error().message();
  return *parsed;
}

void open(Harness& h, sim::Scenario scenario) {
  h.session().open_scenario(std::move(scenario), "test");
  h.session().finish_simulation();
  h.session().scene_id = "allreduce";
  h.frames(3);
}

void check_moments(Harness& h, const std::string& what) {
  for (const double share : {0.0, 0.13, 0.3, 0.52, 0.77, 1.0}) {
    h.session().playhead().t = static_cast<std::int64_t>(share * static_cast<double>(h.session().end_time()));
    h.frames(2);
    EXPECT_EQ(h.problems(), "") << what << " at " << share;
  }
}

TEST(AllReduceScene, EveryScenarioFits) {
  for (const Lang lang : {Lang::En, Lang::Ko}) {
    Harness h({.lang = lang});
    for (const auto& entry : std::filesystem::directory_iterator(source_path("assets/scenarios"))) {
      if (entry.path().extension() != ".toml") continue;
      h.open(entry.path().filename().string());
      h.session().finish_simulation();
      h.session().scene_id = "allreduce";
      check_moments(h, entry.path().filename().string());
    }
  }
}

TEST(AllReduceScene, EveryWorldFitsAsRingAndAsRow) {
  Harness h({.lang = Lang::Ko});
  for (const int gpus : {1, 2, 3, 5, 6, 7, 8, 9, 16, 33, 64}) {
    open(h, world_of(gpus, gpus));
    check_moments(h, std::to_string(gpus) + " GPUs");
  }
  open(h, world_of(4, 4));
  h.click("allreduce.shape.1");
  for (const int gpus : {2, 4, 8, 16, 64}) {
    open(h, world_of(gpus, gpus));
    check_moments(h, std::to_string(gpus) + " GPUs, row");
  }
}

TEST(AllReduceScene, OtherAlgorithmsChunkingsAndBigTensorsFit) {
  Harness h;
  for (const int gpus : {2, 4, 8, 12}) {
    open(h, world_of(gpus, 2 * gpus, "algorithm = \"naive\"\n"));
    check_moments(h, "naive, " + std::to_string(gpus));
  }
  open(h, world_of(4, 5000, "chunking = \"nccl\"\nchannels = 2\n", "{ random = \"normal\" }"));
  check_moments(h, "two channels");
  open(h, world_of(8, 70'000, {}, "{ random = \"normal\" }"));
  check_moments(h, "big");
}

TEST(AllReduceScene, RingStepsThatAreNotVisibleAreSaidToBe) {
  for (const Lang lang : {Lang::En, Lang::Ko}) {
    auto trace = std::make_unique<sim::Trace>();
    trace->header.world_size = 2;
    sim::CollectiveInfo info;
    info.comm = trace->intern("world");
    info.seq = 7;
    info.world_size = 2;
    info.count = 1024;
    const std::uint32_t coll = trace->add_collective(info);
    for (int r = 0; r < 2; ++r) {
      sim::Event e;
      e.t = 1000 * (r + 1);
      e.set_source(sim::Source::rank(r));
      e.type = sim::EventType::CollectiveEnqueued;
      e.collective = sim::CollectivePayload{};
      e.collective.coll = coll;
      e.collective.shape = sim::kNone;
      trace->emit(e);
    }
    Harness h({.lang = lang});
    h.session().open_trace(std::move(trace), "fused", {});
    h.session().scene_id = "allreduce";
    for (const std::int64_t t : {0, 1500, 2000}) {
      h.session().playhead().t = t;
      h.frames(2);
      EXPECT_EQ(h.problems(), "");
    }
    EXPECT_TRUE(h.shows(tr("allreduce.now.hidden")));
  }
}

class Edits : public testing::Test {
 protected:
  Edits() {
    h.open("four-gpus.toml");
    h.session().scene_id = "allreduce";
    h.session().playhead().t = sim::ring_step_end(h.session().trace(), 0, 2);
    h.frames(80);
    h.take_actions();
  }
  std::vector<std::string> edits() {
    std::vector<std::string> out;
    for (const Action& action : h.take_actions())
      if (const auto* edit = std::get_if<action::EditScenario>(&action)) out.push_back(edit->what);
    return out;
  }
  Harness h;
};

TEST_F(Edits, OneMoreGpuGoesOnAsTheOthersDidAndKeepsThePlace) {
  h.click("allreduce.edit");
  EXPECT_EQ(h.problems(), "");
  h.click("allreduce.edit.world.more");
  EXPECT_EQ(edits(), std::vector<std::string>{"world=5"});
  h.frames(3);
  EXPECT_EQ(h.session().scenario()->world_size(), 5);
  EXPECT_EQ(sim::to_double(h.session().scenario()->tensor.list[4]->at(0)), 10);
  EXPECT_EQ(h.session().playhead().t, sim::ring_step_end(h.session().trace(), 0, 2))
      << "still after ring step 2";
  EXPECT_EQ(h.problems(), "");
}

TEST_F(Edits, TheOpIsChosenFromAList) {
  h.click("allreduce.edit");
  h.click("allreduce.edit.op");
  EXPECT_EQ(h.problems(), "");
  h.click("allreduce.edit.op.menu.5");
  h.frames(3);
  EXPECT_EQ(edits(), std::vector<std::string>{"op=max"});
  EXPECT_EQ(h.session().scenario()->collective.op, sim::ReduceOp::Max);
}

TEST_F(Edits, AClickedCellIsTypedOver) {
  h.click("allreduce.rank1.c0");
  h.frames(2);
  ASSERT_TRUE(h.has("allreduce.cell.value0"));
  EXPECT_EQ(h.problems(), "");
  h.click("allreduce.cell.value0");
  h.press_with_ctrl(Key::A);
  h.type("100");
  h.press(Key::Enter);
  h.frames(3);
  EXPECT_EQ(edits(), std::vector<std::string>{"R1[0]=100"});
  EXPECT_EQ(sim::to_double(h.session().scenario()->tensor.list[1]->at(0)), 100);
  h.press(Key::Escape);
  h.press_with_ctrl(Key::Z);
  EXPECT_EQ(sim::to_double(h.session().scenario()->tensor.list[1]->at(0)), 4);
}

TEST_F(Edits, OneLinkIsEditedAlone) {
  h.click("allreduce.link0.1.1");
  EXPECT_EQ(h.session().selection.link_to, 1);
  h.click("allreduce.edit");
  h.click("allreduce.edit.latency.more");
  h.frames(3);
  EXPECT_EQ(edits(), std::vector<std::string>{"latency=3500"});
  EXPECT_EQ(h.session().scenario()->cluster.topology.link(0, 1).latency_ns, 3500);
  EXPECT_EQ(h.session().scenario()->cluster.topology.link(2, 3).latency_ns, 3400);
}

TEST_F(Edits, TheTensorShowsItsOwnNumber) {
  EXPECT_TRUE(h.shows("18"));
  h.click("allreduce.transit.0");
  h.frames(3);
  EXPECT_FALSE(std::any_of(h.record().texts.begin(), h.record().texts.end(), [](const DrawnText& t) {
    return t.text == "18" && t.box.h > 40;
  })) << "R3's tensor still holds 8";
  EXPECT_EQ(h.problems(), "");
}

TEST(AllReduceScene, AStepIsShownAsTheWayThere) {
  Harness h;
  open(h, world_of(4, 4));
  const auto flies = [&] {
    return std::any_of(h.record().texts.begin(), h.record().texts.end(),
                       [](const DrawnText& t) { return t.text.ends_with(" %"); });
  };
  h.press(Key::Right);
  h.frames(20);  // a third of a second later the chunks are on their way
  EXPECT_TRUE(flies());
  EXPECT_FALSE(h.shows("="));
  h.frames(60);
  EXPECT_FALSE(flies());
  EXPECT_TRUE(h.shows("=")) << "what was added stays on its link until that is used again";
  h.press(Key::Left);
  h.frames(2);
  EXPECT_FALSE(flies()) << "back at once";
}

TEST(AllReduceScene, ThePresenterSeesNothingBelow28) {
  for (const Lang lang : {Lang::En, Lang::Ko}) {
    Harness h({.lang = lang, .theme = ThemeChoice::Light});
    h.open("four-gpus-vector.toml");
    h.session().scene_id = "allreduce";
    h.app->shell().presenter = true;
    for (const double share : {0.0, 0.2, 0.31, 0.6, 1.0}) {
      h.session().playhead().t =
          static_cast<std::int64_t>(share * static_cast<double>(h.session().end_time()));
      h.frames(2);
      EXPECT_EQ(h.problems(), "") << share;
      for (const DrawnText& text : h.record().texts) EXPECT_GE(text.box.h, .82f * 27.9f) << text.text;
    }
  }
}

TEST(AllReduceScene, FramesAreQuick) {
  Harness h;
  for (const int gpus : {8, 64}) {
    open(h, world_of(gpus, gpus));
    h.session().playhead().t = h.session().end_time() / 3;
    h.frames(5);
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 20; ++i) {
      h.session().playhead().t += 100;
      h.frames(1);
    }
    const double ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count() / 20;
    RecordProperty("ms_per_frame_" + std::to_string(gpus), std::to_string(ms));
    std::printf("frame with %d GPUs: %.2f ms\n", gpus, ms);
    EXPECT_LT(ms, 250) << "even with sanitizers on a busy machine";
  }
}

}  // namespace
}  // namespace ringside::app::test
