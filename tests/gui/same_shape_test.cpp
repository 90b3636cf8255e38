// The same-shape scene in the window: rows, libraries, shapes, the job that it opens, the paper story, and
// that every state fits.
#include "app/scenes/same_shape_scene.hpp"
#include "tests/gui/harness.hpp"

namespace ringside::app::test {
namespace {

class SameShape_ : public testing::Test {
 protected:
  SameShape_() {
    h.session().scene_id = "same-shape";
    h.frames(2);
  }
  SameShapeScene& scene() { return dynamic_cast<SameShapeScene&>(h.app->shell().scene("same-shape")); }
  Harness h;
};

TEST_F(SameShape_, RowsAndColumnsAreChosen) {
  h.click("same.row.op.gloo");
  EXPECT_EQ(scene().row(), Mismatch::Op);
  EXPECT_EQ(scene().stack(), Stack::Gloo);
  h.press(Key::Down);
  EXPECT_EQ(scene().row(), Mismatch::Order);
  h.press(Key::Right);
  EXPECT_EQ(scene().stack(), Stack::Mpi);
  EXPECT_EQ(h.problems(), "");
}

TEST_F(SameShape_, TheLessonsPairAndTypedShapesAreSimulated) {
  EXPECT_EQ(scene().verdict(Mismatch::OtherCount, Stack::Nccl).ending, Ending::TimesOut);
  h.click("same.lesson_pair");
  EXPECT_EQ(scene().shapes().odd.text(), "(512, 512)");
  EXPECT_TRUE(h.shows("silent: wrong numbers"));
  h.click("same.odd");
  h.frames(4);
  h.type("256x4096");
  h.press(Key::Enter);
  EXPECT_EQ(scene().row(), Mismatch::SameCount);  // as many numbers
  h.click("same.odd");
  h.frames(4);
  h.type("1024, 1024");
  h.press(Key::Enter);
  h.frames(2);
  EXPECT_TRUE(h.shows("completes, right"));
  EXPECT_EQ(h.problems(), "");
}

TEST_F(SameShape_, RunOpensTheJobThatWasShown) {
  h.click("same.row.same_width.nccl");
  h.frames(2);
  h.click("same.run");
  h.session().finish_simulation();
  h.frames(2);
  ASSERT_TRUE(h.session().has_trace());
  EXPECT_EQ(h.session().simulation()->outcome, sim::Outcome::WrongResult);
  ASSERT_EQ(h.session().scenario()->faults.size(), 1u);
  EXPECT_EQ(h.session().scenario()->faults[0].dtype, sim::DType::Int32);
  EXPECT_EQ(h.session().scene_id, "allreduce");
}

TEST_F(SameShape_, ThePaperStoryRuns) {
  ASSERT_TRUE(scene().go_to("half"));
  h.frames(2);
  EXPECT_LT(scene().paper_share(), .2);
  h.frames(60 * 8);
  EXPECT_EQ(scene().paper_share(), 1);
  EXPECT_TRUE(h.shows("2 of 4 sheets"));
  EXPECT_TRUE(h.shows("50"));
  EXPECT_EQ(scene().place(), "part:6+half");
}

TEST_F(SameShape_, EveryPlaceLeadsBack) {
  for (const char* place : {"part:1", "tail+gloo", "construction+nccl", "part:6+absent", "skip+mpi"}) {
    ASSERT_TRUE(scene().go_to(place)) << place;
    EXPECT_EQ(scene().place(), place);
  }
  EXPECT_FALSE(scene().go_to("part:9"));
  EXPECT_FALSE(scene().go_to("construction+mpi"));  // nobody does that
  EXPECT_EQ(scene().place(), "skip+mpi");
}

TEST(SameShapeStates, FitInBothLanguagesAndAllSizes) {
  for (const Lang lang : {Lang::En, Lang::Ko})
    for (const auto& [width, height] : {std::pair{1280, 720}, std::pair{1600, 900}, std::pair{2560, 1440}}) {
      Harness h({.width = width,
                 .height = height,
                 .lang = lang,
                 .theme = lang == Lang::En ? ThemeChoice::Dark : ThemeChoice::Light});
      h.app->settings().reduced_motion = true;
      h.session().scene_id = "same-shape";
      h.frames(2);
      auto& scene = dynamic_cast<SameShapeScene&>(h.app->shell().scene("same-shape"));
      std::vector<std::string> states{"part:1", "all", "half", "absent"};
      for (const Mismatch m : kMismatches)
        for (const Stack s : kStacks)
          if (VerdictTable::applies(m, s))
            states.push_back(std::string(to_word(m)) + "+" + std::string(to_word(s)));
      for (const char* world : {"same.world.1", "same.world.0"}) {
        ASSERT_TRUE(scene.go_to("part:1"));
        h.frames(2);
        h.click(world);
        for (const std::string& state : states) {
          ASSERT_TRUE(scene.go_to(state)) << state;
          h.frames(2);
          EXPECT_EQ(h.problems(), "") << to_word(lang) << " " << width << " " << state << " " << world;
        }
      }
    }
}

TEST(SameShapeStates, FitForAPresenter) {
  for (const Lang lang : {Lang::En, Lang::Ko}) {
    Harness h({.lang = lang, .theme = ThemeChoice::Light});
    h.app->settings().reduced_motion = true;
    h.app->shell().presenter = true;
    h.session().scene_id = "same-shape";
    auto& scene = dynamic_cast<SameShapeScene&>(h.app->shell().scene("same-shape"));
    for (const char* place : {"part:1", "other_count", "tail", "same_count", "same_width", "op", "order",
                              "skip", "construction+nccl", "all", "half", "absent"}) {
      ASSERT_TRUE(scene.go_to(place));
      h.frames(3);
      EXPECT_EQ(h.problems(), "") << to_word(lang) << " " << place;
    }
  }
}

}  // namespace
}  // namespace ringside::app::test
