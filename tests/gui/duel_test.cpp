// The duel: the model's numbers are predict's, the schedules' are the executor's; the window on them.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "app/scenes/duel_model.hpp"
#include "harness.hpp"
#include "imgui.h"
#include "sim/collective/executor.hpp"

namespace ringside::app::test {
namespace {

sim::TimeModel shipped_model() {
  std::ifstream in(source_path("assets/presets.toml"));
  std::ostringstream text;
  text << in.rdbuf();
  return *sim::parse_time_model(text.str(), "presets.toml");
}

TEST(Duel, TheModelsSidesAreWhatPredictSays) {
  const sim::TimeModel model = shipped_model();
  DuelSetup setup;
  setup.sides = duel_choices(DuelSource::Model);
  const DuelView duel = make_duel(setup, model, nullptr);
  ASSERT_FALSE(duel.problem);
  ASSERT_EQ(duel.sides.size(), 4u);
  const auto prediction =
      sim::predict(model, *sim::find_preset("dgx-h100"), {.nodes = 8, .bytes = setup.bytes});
  double least = 1e300;
  for (const DuelSide& side : duel.sides) {
    if (!side.available) continue;
    least = std::min(least, side.time_us);
    EXPECT_DOUBLE_EQ(side.parts.total(), side.time_us);
    EXPECT_NEAR(side.busbw_GBps / side.algbw_GBps, 2.0 * 63 / 64, 1e-9);
  }
  EXPECT_DOUBLE_EQ(least, prediction->time_us) << "the fastest side is the prediction";
  EXPECT_DOUBLE_EQ(duel.sides[static_cast<std::size_t>(duel.fastest)].time_us, least);
}

TEST(Duel, BandsCoverTheAxisAndTiesAreClose) {
  const sim::TimeModel model = shipped_model();
  const DuelView duel = make_duel({}, model, nullptr);
  ASSERT_GE(duel.bands.size(), 2u) << "tree wins small messages, ring long ones";
  EXPECT_EQ(duel.bands.front().from, duel.least_x);
  EXPECT_EQ(duel.bands.back().to, duel.most_x);
  for (std::size_t i = 1; i < duel.bands.size(); ++i) EXPECT_EQ(duel.bands[i].from, duel.bands[i - 1].to);
  for (const DuelPoint& p : duel.points)
    for (const DuelBand& band : duel.bands) {
      if (p.x < band.from || p.x >= band.to) continue;
      const double a = *p.time_us[0], b = *p.time_us[1], ratio = std::max(a, b) / std::min(a, b);
      if (band.side < 0) {
        EXPECT_LT(ratio, 1.2) << p.x;
      } else {
        EXPECT_GE(ratio, 1.2) << p.x;
        EXPECT_EQ(band.side, a < b ? 0 : 1) << p.x;
      }
    }
}

TEST(Duel, SchedulesRunOnTheScenariosLinksAndNumbers) {
  const auto scenario = sim::parse_scenario(
      "[cluster]\nnodes = 1\ngpus_per_node = 4\n[tensor]\nshape = [1024]\nvalues = { random = \"normal\" "
      "}\n[collective]\nop = \"sum\"\n",
      "t");
  ASSERT_TRUE(scenario);
  DuelSetup setup;
  setup.source = DuelSource::Scenario;
  setup.nodes = 1;
  setup.bytes = 4096;
  setup.sides = {"ring", "recursive_doubling", "naive", "rabenseifner"};
  const DuelView duel = make_duel(setup, {}, &*scenario);
  ASSERT_FALSE(duel.problem);
  for (const DuelSide& side : duel.sides) {
    sim::ScheduleRequest request = scenario->schedule_request();
    request.algorithm = *sim::algorithm_from(side.word);
    const sim::Schedule schedule = sim::make_schedule(request);
    const std::vector<std::int64_t> arrival(4, 0);
    const auto times =
        sim::execute_times(schedule, sim::DType::Float32, scenario->cluster.topology, arrival, 0);
    EXPECT_DOUBLE_EQ(side.time_us,
                     static_cast<double>(*std::max_element(times.finish.begin(), times.finish.end())) / 1000)
        << side.word;
    EXPECT_EQ(side.steps, schedule.steps);
    EXPECT_TRUE(side.has_numbers);
  }
  EXPECT_EQ(duel.sides[0].bytes_sent, 2 * 3 * 1024) << "2(N-1)/N of 4,096 bytes";
  EXPECT_EQ(duel.sides[0].differing, 0);
  EXPECT_GT(duel.sides[1].differing, 0) << "another order of the same float32 sums";
  EXPECT_LT(duel.sides[1].most_different, 1e-5);
}

TEST(Duel, WithoutAScenarioThereIsAReason) {
  DuelSetup setup;
  setup.source = DuelSource::Scenario;
  EXPECT_TRUE(make_duel(setup, {}, nullptr).problem);
}

constexpr const char* kTable =
    "# nThread 1 nGpus 8\n"
    "    8388608       2097152     float     sum      -1    251.9   33.30   65.56      0\n"
    "   16777216       4194304     float     sum      -1    301.1   55.72  109.70      0\n";

TEST(Duel, ATableIsPastedIntoTheWindow) {
  Harness h;
  h.session().scene_id = "duel";
  h.frames(2);
  const std::string before = h.app->shell().scene("duel").place();
  ImGui::SetClipboardText("no table at all");
  h.click("duel.table");
  h.frames(2);
  h.click("duel.table.paste");
  h.frames(2);
  EXPECT_FALSE(h.shows("2 sizes"));
  ImGui::SetClipboardText(kTable);
  h.click("duel.table.paste");
  h.press(Key::Escape);
  h.frames(2);
  EXPECT_EQ(h.problems(), "");
  std::string all;
  for (const auto& text : h.record().texts) all += text.text + " ";
  EXPECT_NE(all.find("2 sizes"), std::string::npos) << all;
  EXPECT_EQ(h.app->shell().scene("duel").place(), before);
}

TEST(Duel, PlacesComeBack) {
  Harness h;
  Scene& scene = h.app->shell().scene("duel");
  EXPECT_TRUE(scene.go_to("sides:Ring+Tree+NVLS,x:nodes,y:busbw,bytes:65536,nodes:16,preset:dgx-a100"));
  const std::string place = scene.place();
  EXPECT_TRUE(scene.go_to("sides:Tree+NVLS,bytes:1024"));
  EXPECT_NE(scene.place(), place);
  EXPECT_TRUE(scene.go_to(place));
  EXPECT_EQ(scene.place(), place);
  for (const char* bad : {"bytes", "bytes:x", "sides:Ring", "sides:Ring+Nothing", "preset:none",
                          "sides:Ring+Ring+Ring+Ring+Ring"}) {
    EXPECT_FALSE(scene.go_to(bad)) << bad;
    EXPECT_EQ(scene.place(), place);
  }
}

}  // namespace
}  // namespace ringside::app::test
