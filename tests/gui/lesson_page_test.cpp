// The lesson page in the window: every step of every shipped lesson fits, asked and answered, in both
// languages; what the keys do; what is covered; home's path; the glossary.
#include <cstdlib>

#include "tests/gui/harness.hpp"

namespace ringside::app::test {
namespace {

void keep(const Harness& h, const std::string& name) {
  const char* folder = std::getenv("RINGSIDE_PICTURES");
  if (folder == nullptr || h.image().rgba.empty()) return;
  EXPECT_TRUE(write_png(std::string(folder) + "/" + name + ".png", h.image()));
}

struct Size {
  int width, height;
};

/// True if the last frame drew all of this text, however it was broken into lines.
bool shows_all_of(const Harness& h, std::string_view text) {
  const auto without_spaces = [](std::string_view s) {
    std::string out(s);
    std::erase(out, ' ');
    return out;
  };
  std::string drawn;
  for (const DrawnText& t : h.record().texts) drawn += without_spaces(t.text);
  return drawn.find(without_spaces(text)) != std::string::npos;
}

class EveryStep : public testing::TestWithParam<std::tuple<Lang, ThemeChoice, Size>> {};

TEST_P(EveryStep, FitsAskedAnsweredAndDone) {
  const auto [lang, theme, size] = GetParam();
  Harness h({.width = size.width, .height = size.height, .lang = lang, .theme = theme});
  LessonDesk& desk = h.session().lessons;
  for (const LessonFile& file : desk.library().files()) {
    ASSERT_FALSE(file.error) << file.error->message();
    for (int step = 0; step <= static_cast<int>(file.lesson.steps.size()); ++step) {
      const std::string where = file.lesson.id + ":" + std::to_string(step + 1);
      ASSERT_TRUE(desk.start(h.session(), file.lesson.id, step));
      h.frames(40);  // the column has its width, marks have closed in
      EXPECT_EQ(desk.problem(), "") << where;
      EXPECT_EQ(h.problems(), "") << where;
      if (desk.question_open()) {
        const sim::Question& question = *desk.step()->question;
        for (std::size_t i = 0; i < question.choices.size(); ++i)
          EXPECT_TRUE(h.has("lesson.choice." + std::to_string(i))) << where << ", choice " << i;
        desk.answer(static_cast<int>((question.answer + 1) % question.choices.size()));
        h.frames(40);  // the column has come to the explanation
        EXPECT_EQ(h.problems(), "") << where << ", answered";
        EXPECT_TRUE(shows_all_of(h, question.why.in(lang == Lang::Ko))) << where;
      }
      if (!desk.fulfilled()) {
        desk.fulfil();
        h.frames(3);
        EXPECT_EQ(h.problems(), "") << where << ", done";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryStep,
                         testing::Values(std::tuple{Lang::En, ThemeChoice::Dark, Size{1280, 720}},
                                         std::tuple{Lang::Ko, ThemeChoice::Light, Size{1280, 720}},
                                         std::tuple{Lang::En, ThemeChoice::Light, Size{2560, 1440}},
                                         std::tuple{Lang::Ko, ThemeChoice::Dark, Size{2560, 1440}}));

TEST(LessonPage, KeysTurnThePagesChooseAndAnswer) {
  Harness h;
  LessonDesk& desk = h.session().lessons;
  ASSERT_TRUE(desk.start(h.session(), "why-allreduce", 0));
  h.frames(2);
  h.press(Key::PageDown);
  EXPECT_EQ(desk.step_index(), 1);
  h.press(Key::PageDown);
  EXPECT_EQ(desk.step_index(), 1) << "an open question holds the page";
  EXPECT_FALSE(h.has("allreduce.edit")) << "the goal would give it away";
  EXPECT_TRUE(h.shows("covered until you choose"));
  h.press(Key::Enter);
  EXPECT_FALSE(desk.choice()) << "nothing is chosen before the arrows were used";
  h.press(Key::Down);
  h.press(Key::Down);
  h.press(Key::Enter);
  EXPECT_EQ(desk.choice(), 1);
  EXPECT_TRUE(h.shows("Yes."));
  EXPECT_FALSE(h.shows("covered until you choose"));
  h.press(Key::PageDown);
  EXPECT_EQ(desk.step_index(), 2);
  h.press(Key::PageUp);
  EXPECT_EQ(desk.step_index(), 1);
  EXPECT_EQ(desk.choice(), 1) << "what was answered stays answered";
}

TEST(LessonPage, WaitsForWhatHappenedAndThenShowsTheCard) {
  Harness h;
  LessonDesk& desk = h.session().lessons;
  ASSERT_TRUE(desk.start(h.session(), "why-allreduce", 2));
  h.frames(2);
  EXPECT_FALSE(desk.fulfilled());
  EXPECT_FALSE(h.shows("In the real stack"));
  h.press(Key::End);
  h.frames(2);
  EXPECT_TRUE(desk.fulfilled());
  EXPECT_TRUE(h.shows("In the real stack"));
  EXPECT_TRUE(h.has("lesson.next"));
  h.click("lesson.next");
  EXPECT_EQ(desk.step_index(), 3);
}

TEST(LessonPage, NextStaysAtOnePlaceInEverySceneAndTheFigureToo) {
  for (const Lang lang : {Lang::En, Lang::Ko}) {
    Harness h({.lang = lang});
    LessonDesk& desk = h.session().lessons;
    std::optional<Rect> place;
    for (const LessonFile& file : desk.library().files())
      for (int step = 0; step < static_cast<int>(file.lesson.steps.size()); ++step) {
        ASSERT_TRUE(desk.start(h.session(), file.lesson.id, step));
        h.frames(2);
        const auto here = h.app->ui().probe("lesson.next");
        ASSERT_TRUE(here) << file.lesson.id;
        if (!place) place = here;
        EXPECT_EQ(*here, *place) << file.lesson.id << ":" << step + 1;
        for (const std::string& id : h.app->ui().probe_ids()) {
          if (!id.starts_with("transport.")) continue;
          EXPECT_GE(h.app->ui().probe(id)->y, here->bottom() - 1) << id << " at " << file.lesson.id;
        }
      }
  }
}

TEST(LessonPage, ATaskWhoseMomentHasPassedShowsTheWayBack) {
  Harness h;
  LessonDesk& desk = h.session().lessons;
  ASSERT_TRUE(desk.start(h.session(), "ring-all-gather", 2));  // until R3 has 20: at the end it has 5
  h.frames(3);
  const std::int64_t begin = h.session().playhead().t;
  EXPECT_FALSE(h.has("lesson.step_begin"));
  h.press(Key::End);
  h.frames(3);
  EXPECT_FALSE(desk.fulfilled());
  ASSERT_TRUE(h.has("lesson.step_begin"));
  EXPECT_EQ(h.problems(), "");
  h.click("lesson.step_begin");
  h.frames(2);
  EXPECT_EQ(h.session().playhead().t, begin);
  EXPECT_FALSE(h.has("lesson.step_begin"));
  // Where nothing has passed, nothing is said: an edit is asked for.
  ASSERT_TRUE(desk.start(h.session(), "why-allreduce", 3));
  h.press(Key::End);
  h.frames(3);
  EXPECT_FALSE(desk.fulfilled());
  EXPECT_FALSE(h.has("lesson.step_begin"));
}

TEST(LessonPage, EnterOpensTheBreakMenuOnlyAboutWhatTheReaderSelected) {
  Harness h;
  LessonDesk& desk = h.session().lessons;
  ASSERT_TRUE(desk.start(h.session(), "ring-reduce-scatter", 1));
  h.frames(3);
  h.take_actions();
  h.press(Key::Enter);
  EXPECT_FALSE(h.emitted<action::OpenBreakMenu>());
  h.session().apply(action::Select{{.rank = 2}});
  h.frames(2);
  h.press(Key::Enter);
  EXPECT_TRUE(h.emitted<action::OpenBreakMenu>());
}

TEST(LessonPage, AComplaintGoesWithTheNextInputOrStepAndLeavesNextFree) {
  Harness h;
  LessonDesk& desk = h.session().lessons;
  ASSERT_TRUE(desk.start(h.session(), "shape-and-dtype", 5));
  h.frames(3);
  if (!h.has("tensor.shape")) h.click("lesson.inspector");
  const auto type_into_shape = [&](std::string_view text) {
    h.click("tensor.shape");
    h.frames(3);
    h.type(text);
    h.press(Key::Enter);
    h.frames(4);
  };
  type_into_shape("nonsense");
  ASSERT_TRUE(h.has("notice.close.0"));
  const Rect next = *h.app->ui().probe("lesson.next"), close = *h.app->ui().probe("notice.close.0");
  EXPECT_LE(close.bottom(), 720 - 92) << "above the scene's own bar";
  EXPECT_GT(close.x, next.right());
  h.frames(60);
  EXPECT_TRUE(h.has("notice.close.0")) << "it stays to be read";
  type_into_shape("(2, 3)");
  EXPECT_FALSE(h.has("notice.close.0"));
  type_into_shape("nonsense");
  ASSERT_TRUE(h.has("notice.close.0"));
  desk.go(h.session(), 1, true);
  h.frames(2);
  EXPECT_FALSE(h.has("notice.close.0"));
}

TEST(LessonPage, TheInspectorComesAndGoesAsTheReaderWants) {
  Harness h;
  LessonDesk& desk = h.session().lessons;
  ASSERT_TRUE(desk.start(h.session(), "why-allreduce", 0));
  h.frames(2);
  EXPECT_FALSE(h.has("allreduce.edit"));
  h.click("lesson.inspector");
  h.frames(2);
  EXPECT_TRUE(h.has("allreduce.edit"));
  EXPECT_EQ(h.problems(), "");
  h.click("lesson.inspector");
  h.frames(2);
  EXPECT_FALSE(h.has("allreduce.edit"));
  h.press(Key::PageDown);
  EXPECT_FALSE(h.has("lesson.inspector")) << "an open question keeps it away";
}

TEST(LessonPage, AnEditInTheHostedSceneFulfilsItsTask) {
  Harness h;
  LessonDesk& desk = h.session().lessons;
  ASSERT_TRUE(desk.start(h.session(), "why-allreduce", 3));
  h.frames(3);
  ASSERT_TRUE(h.has("allreduce.edit")) << "the step speaks of the inspector, so it is there";
  h.session().apply(
      action::EditScenario{"op=avg", [](sim::Scenario& s) { s.collective.op = sim::ReduceOp::Avg; }, {}});
  h.session().finish_simulation();
  h.frames(3);
  EXPECT_TRUE(desk.fulfilled());
}

TEST(LessonPage, ANewFileAppearsAtHomeWithoutARebuild) {
  Harness h;
  const int count = static_cast<int>(h.session().lessons.library().files().size());
  EXPECT_GE(count, 5);
  for (const LessonFile& file : h.session().lessons.library().files()) EXPECT_FALSE(file.error);
  h.session().lessons.add_file(source_path("tests/gui/harness.cpp"));
  h.frames(2);
  const auto& files = h.session().lessons.library().files();
  ASSERT_EQ(static_cast<int>(files.size()), count + 1);
  ASSERT_TRUE(files.back().error);
  while (!h.has("home.lesson.harness") && h.has("home.path.later")) h.click("home.path.later");
  ASSERT_TRUE(h.has("home.lesson.harness")) << "the broken file is in the list";
  EXPECT_EQ(h.problems(), "");
  h.click("home.lesson.harness");
  EXPECT_TRUE(h.session().problem());
  EXPECT_TRUE(h.has("problem.retry"));
}

TEST(LessonPage, HomeContinuesWhereTheReaderWas) {
  Harness h;
  LessonDesk& desk = h.session().lessons;
  desk.start(h.session(), "ring-reduce-scatter", 2);
  h.session().scene_id = "home";
  h.frames(2);
  EXPECT_EQ(h.problems(), "");
  h.click("home.start");
  EXPECT_EQ(h.session().scene_id, "lesson");
  EXPECT_EQ(desk.lesson()->id, "ring-reduce-scatter");
  EXPECT_EQ(desk.step_index(), 2);
}

class GlossaryOverlay : public testing::TestWithParam<Lang> {};

TEST_P(GlossaryOverlay, SearchesAndLeadsToThePlace) {
  Harness h({.lang = GetParam(), .offscreen = true});
  h.press(Key::F2);
  h.frames(3);
  ASSERT_TRUE(h.has("glossary.search"));
  EXPECT_EQ(h.problems(), "");
  keep(h, std::string("glossary-") + std::string(to_word(GetParam())));
  h.type("chunk");
  h.frames(3);
  EXPECT_EQ(h.problems(), "");
  keep(h, std::string("glossary-chunk-") + std::string(to_word(GetParam())));
  h.click("glossary.show");
  h.session().finish_simulation();
  h.frames(2);
  EXPECT_NE(h.session().scene_id, "home");
  EXPECT_FALSE(h.has("glossary.search"));
}

INSTANTIATE_TEST_SUITE_P(Both, GlossaryOverlay, testing::Values(Lang::En, Lang::Ko));

TEST(Glossary, EveryWordFits) {
  for (const Lang lang : {Lang::En, Lang::Ko}) {
    Harness h({.lang = lang});
    for (const GlossaryWord& word : h.session().glossary.words) {
      h.app->shell().glossary.open(h.session().glossary, word.word.en);
      h.frames(3);
      EXPECT_EQ(h.problems(), "") << word.word.en;
      h.app->ui().close_popup();
      h.frames(1);
    }
  }
}

}  // namespace
}  // namespace ringside::app::test
