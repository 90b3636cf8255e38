// The lesson desk without a window: places, the rule of time, score, progress, files that change.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "app/lesson/glossary.hpp"
#include "app/session/files.hpp"
#include "app/session/session.hpp"

namespace ringside::app {
namespace {
namespace fs = std::filesystem;

/// A folder of assets of its own, with the shipped scenarios.
class Desk : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) /
            ("desk-" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(root_);
    fs::create_directories(root_ / "lessons");
    fs::create_directory_symlink(fs::path(RINGSIDE_SOURCE_DIR) / "assets/scenarios", root_ / "scenarios");
    ASSERT_TRUE(load_languages(std::string(RINGSIDE_SOURCE_DIR) + "/assets/lang"));
    write("a.toml", kLesson);
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& name, std::string_view text) {
    std::ofstream(root_ / "lessons" / name, std::ios::binary) << text;
  }
  std::string state() const { return (root_ / "state/progress.toml").string(); }
  void open(Session& session, bool keep = false) {
    session.lessons.open(root_.string(), keep ? state() : "", session.notices);
  }

  static constexpr std::string_view kLesson = R"(id = "a"
order = 1
title = { en = "A" }
[[step]]
text = { en = "one" }
scene = "allreduce"
scenario = "four-gpus.toml"
at = "ring:2"
[step.question]
text = { en = "What comes?" }
choices = [{ en = "x" }, { en = "y" }]
answer = 2
why = { en = "y it is" }
[[step]]
text = { en = "two" }
at = "ring:4"
task = { en = "go to the end" }
until = [{ fact = "at_end", is = 1 }]
[[step]]
text = { en = "three" }
)";
  fs::path root_;
};

TEST_F(Desk, AStepOpensItsScenarioAndGoesToItsMoment) {
  Session session;
  open(session);
  ASSERT_TRUE(session.lessons.start(session, "a", 0));
  EXPECT_EQ(session.scene_id, "lesson");
  EXPECT_EQ(session.lessons.scene(), "allreduce");
  EXPECT_EQ(session.trace().header.title, "Four GPUs, one number each");
  EXPECT_EQ(session.playhead().t, sim::ring_step_end(session.trace(), 0, 2));
}

TEST_F(Desk, NobodySeesPastAnOpenQuestion) {
  Session session;
  open(session);
  session.lessons.start(session, "a", 0);
  const std::int64_t fence = session.playhead().t;
  session.apply(action::SeekEnd{});
  session.update(0);
  EXPECT_EQ(session.playhead().t, fence);
  session.apply(action::TogglePlay{});
  session.update(3'600'000'000'000);
  EXPECT_EQ(session.playhead().t, fence) << "playing stops at the question";
  EXPECT_EQ(session.playhead().mode, sim::PlayMode::Paused);
  session.apply(action::SeekStart{});
  session.update(0);
  EXPECT_EQ(session.playhead().t, 0) << "the past is free";
  session.lessons.go(session, 1);
  EXPECT_EQ(session.lessons.step_index(), 0) << "choose first";
  session.lessons.answer(0);
  session.apply(action::SeekEnd{});
  session.update(0);
  EXPECT_EQ(session.playhead().t, session.end_time()) << "wrong is fine: the future is open";
}

TEST_F(Desk, AnEditWhileAQuestionIsOpenMovesTheFenceAlong) {
  Session session;
  open(session);
  session.lessons.start(session, "a", 0);
  session.apply(action::EditScenario{"slower links",
                                     [](sim::Scenario& s) {
                                       s.cluster.topology.intra.latency_ns *= 3;
                                       for (auto& o : s.cluster.topology.overrides) o.spec.latency_ns *= 3;
                                     },
                                     {}});
  session.finish_simulation();
  session.update(0);
  session.apply(action::SeekEnd{});
  session.update(0);
  EXPECT_EQ(session.playhead().t, sim::ring_step_end(session.trace(), 0, 2));
}

TEST_F(Desk, TheFirstAnswerCounts) {
  Session session;
  open(session);
  session.lessons.start(session, "a", 0);
  session.lessons.answer(7);
  EXPECT_TRUE(session.lessons.question_open()) << "there is no such choice";
  session.lessons.answer(0);
  session.lessons.answer(1);
  EXPECT_EQ(session.lessons.choice(), 0);
  const sim::Lesson& lesson = *session.lessons.lesson();
  EXPECT_EQ(score_of(lesson, *session.lessons.progress().of("a")), 0);
  session.lessons.restart(session);
  EXPECT_TRUE(session.lessons.question_open());
  session.lessons.answer(1);
  EXPECT_EQ(score_of(lesson, *session.lessons.progress().of("a")), 1);
}

TEST_F(Desk, ShowWhatHappensPlaysToTheNextMomentOfTheLesson) {
  Session session;
  open(session);
  session.lessons.start(session, "a", 0);
  session.lessons.answer(1);
  session.lessons.show_what_happens(session);
  EXPECT_EQ(session.playhead().mode, sim::PlayMode::Playing);
  session.update(3'600'000'000'000);
  EXPECT_EQ(session.playhead().t, sim::ring_step_end(session.trace(), 0, 4));
  EXPECT_EQ(session.playhead().mode, sim::PlayMode::Paused);
}

TEST_F(Desk, ATaskHoldsThePageUntilItIsFulfilledOrSkipped) {
  Session session;
  open(session);
  session.lessons.start(session, "a", 1);
  session.lessons.go(session, 1);
  EXPECT_EQ(session.lessons.step_index(), 1);
  session.lessons.fulfil();
  session.lessons.go(session, 1);
  EXPECT_EQ(session.lessons.step_index(), 2);
  session.lessons.go(session, -1);
  EXPECT_FALSE(session.lessons.fulfilled()) << "a new visit, a new try";
  session.lessons.go(session, 1, true);
  session.lessons.go(session, 1);
  EXPECT_TRUE(session.lessons.at_last_page());
  EXPECT_TRUE(session.lessons.progress().of("a")->done);
  session.lessons.go(session, 1);
  EXPECT_TRUE(session.lessons.at_last_page());
}

TEST_F(Desk, AStepBackSetsItsPlaceUpAnew) {
  Session session;
  open(session);
  session.lessons.start(session, "a", 0);
  session.lessons.answer(1);
  session.lessons.go(session, 1);
  session.apply(
      action::EditScenario{"op", [](sim::Scenario& s) { s.collective.op = sim::ReduceOp::Max; }, {}});
  session.finish_simulation();
  session.lessons.go(session, -1);
  EXPECT_EQ(session.scenario()->collective.op, sim::ReduceOp::SumThenDivide);
  EXPECT_EQ(session.playhead().t, sim::ring_step_end(session.trace(), 0, 2));
}

TEST_F(Desk, AScenarioThatIsMissingIsSaidAtTheStep) {
  write("b.toml",
        "id = \"b\"\ntitle = { en = \"B\" }\n[[step]]\ntext = { en = \"t\" }\nscenario = \"no-such.toml\"\n");
  Session session;
  open(session);
  session.lessons.start(session, "b", 0);
  EXPECT_NE(session.lessons.problem().find("no-such.toml"), std::string::npos) << session.lessons.problem();
  EXPECT_FALSE(session.problem());
}

TEST_F(Desk, AMomentThatIsNotThereIsSaid) {
  write("b.toml",
        "id = \"b\"\ntitle = { en = \"B\" }\n[[step]]\ntext = { en = \"t\" }\nscenario = "
        "\"four-gpus.toml\"\nat = "
        "\"ring:99\"\n");
  Session session;
  open(session);
  session.lessons.start(session, "b", 0);
  EXPECT_NE(session.lessons.problem().find("99"), std::string::npos) << session.lessons.problem();
}

TEST_F(Desk, ProgressIsKeptBetweenRuns) {
  {
    Session session;
    open(session, true);
    session.lessons.start(session, "a", 0);
    session.lessons.answer(1);
    session.lessons.go(session, 1);
    session.lessons.keep(session.notices);
    EXPECT_TRUE(session.notices.empty());
  }
  Session session;
  open(session, true);
  EXPECT_EQ(session.lessons.next_to_read()->lesson.id, "a");
  ASSERT_TRUE(session.lessons.resume(session, "a"));
  EXPECT_EQ(session.lessons.step_index(), 1);
  EXPECT_EQ(session.lessons.progress().of("a")->answers.at(0), 1);
  const Progress& progress = session.lessons.progress();
  const auto again = parse_progress(to_toml(progress), "x");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(*again, progress);
}

TEST_F(Desk, ABrokenProgressFileIsSaidAndPutAside) {
  fs::create_directories(root_ / "state");
  std::ofstream(state()) << "last = \"a\"\n[lesson.a]\nstep = -3\n";
  Session session;
  open(session, true);
  ASSERT_EQ(session.notices.size(), 1u);
  EXPECT_NE(session.notices[0].text.find(":3:"), std::string::npos) << session.notices[0].text;
  EXPECT_TRUE(fs::exists(state() + ".broken"));
  session.lessons.start(session, "a", 0);
  session.lessons.keep(session.notices);
  EXPECT_TRUE(fs::exists(state()));
  EXPECT_EQ(session.notices.size(), 1u);
}

TEST_F(Desk, ANewFileAppearsAndAMistakeIsKeptWithItsPlace) {
  Session session;
  open(session);
  session.lessons.start(session, "a", 1);
  EXPECT_FALSE(session.lessons.refresh()) << "nothing changed";
  write("c.toml", "id = \"c\"\norder = 2\ntitle = { en = \"C\" }\n[[step]]\ntext = { en = \"t\" }\n");
  write("d.toml",
        "id = \"d\"\ntitle = { en = \"D\" }\n[[step]]\ntext = { en = \"t\" }\nscene = \"allredcue\"\n");
  EXPECT_TRUE(session.lessons.refresh());
  const auto& files = session.lessons.library().files();
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files[1].lesson.id, "c");
  ASSERT_TRUE(files[2].error);
  EXPECT_EQ(files[2].error->line, 5);
  EXPECT_EQ(files[2].line_text, "scene = \"allredcue\"");
  EXPECT_NE(files[2].error->message().find("allreduce"), std::string::npos);
  EXPECT_EQ(session.lessons.step_index(), 1) << "the lesson that is read stays where it is";
  EXPECT_EQ(session.lessons.library().after("a")->lesson.id, "c");
  EXPECT_EQ(session.lessons.library().after("c"), nullptr);
}

TEST_F(Desk, TwoLessonsCannotShareAnId) {
  write("z.toml", kLesson);
  Session session;
  open(session);
  const auto& files = session.lessons.library().files();
  ASSERT_EQ(files.size(), 2u);
  EXPECT_FALSE(files[0].error);
  ASSERT_TRUE(files[1].error);
  EXPECT_NE(files[1].error->message().find("a.toml"), std::string::npos);
}

TEST_F(Desk, ALessonFileFromElsewhereOpens) {
  const fs::path file = root_ / "mine.toml";
  std::ofstream(file) << "id = \"mine\"\ntitle = { en = \"Mine\" }\n[[step]]\ntext = { en = \"t\" }\n";
  Session session;
  open(session);
  ASSERT_TRUE(session.open_file(file.string()));
  EXPECT_EQ(session.scene_id, "lesson");
  EXPECT_EQ(session.lessons.lesson()->id, "mine");
  std::ofstream(file) << "id = \"mine\"\ntitle = { en = \"Mine\" }\n[[step]]\ntetx = { en = \"t\" }\n";
  EXPECT_FALSE(session.open_file(file.string()));
  ASSERT_TRUE(session.problem());
  EXPECT_EQ(session.problem()->error.line, 4);
}

Glossary shipped_glossary() {
  const std::string path = std::string(RINGSIDE_SOURCE_DIR) + "/assets/glossary.toml";
  const auto text = read_file(path);
  EXPECT_TRUE(text);
  auto glossary = parse_glossary(*text, path);
  EXPECT_TRUE(glossary) << glossary.error().message();
  return glossary ? *glossary : Glossary{};
}

TEST(Words, EveryWordLeadsToAPlaceThatIsThere) {
  const Glossary glossary = shipped_glossary();
  Session session;
  session.lessons.open(std::string(RINGSIDE_SOURCE_DIR) + "/assets", "", session.notices);
  EXPECT_GE(glossary.words.size(), 25u);
  for (const GlossaryWord& word : glossary.words) {
    if (!word.lesson.empty()) {
      const LessonFile* file = session.lessons.library().find(word.lesson);
      ASSERT_NE(file, nullptr) << word.word.en << ": lesson " << word.lesson;
      EXPECT_LT(static_cast<std::size_t>(word.step), file->lesson.steps.size()) << word.word.en;
      continue;
    }
    Session fresh;
    const sim::Status gone = go_to(fresh, std::string(RINGSIDE_SOURCE_DIR) + "/assets", word.place);
    EXPECT_TRUE(gone) << word.word.en << ": " << gone.error().message();
  }
}

TEST(Words, AreFoundInBothLanguages) {
  const Glossary glossary = shipped_glossary();
  const auto names = [&](const std::vector<const GlossaryWord*>& words) {
    std::string out;
    for (const GlossaryWord* word : words) out += word->word.en + " ";
    return out;
  };
  EXPECT_EQ(names(glossary.search("청크")).find("chunk"), 0u) << names(glossary.search("청크"));
  EXPECT_EQ(names(glossary.search("CHUNK")).find("chunk"), 0u);
  EXPECT_TRUE(glossary.search("zzzz").empty());
  EXPECT_EQ(glossary.search("").size(), glossary.words.size());
  EXPECT_NE(names(glossary.in_text("Ranks wait in AllReduce.", 5)).find("rank "), std::string::npos)
      << "a plural";
  EXPECT_NE(names(glossary.in_text("청크를 보냅니다.", 5)).find("chunk"), std::string::npos) << "a particle";
  EXPECT_EQ(names(glossary.in_text("He shopped.", 5)), "") << "op is not inside shopped";
}

TEST(Words, AMistakeHasItsPlace) {
  const auto wrong = parse_glossary("[[word]]\nword = { en = \"a\", ko = \"b\" }\ntexxt = 3\n", "g.toml");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().line, 3);
  const auto nowhere = parse_glossary(
      "[[word]]\nword = { en = \"a\", ko = \"b\" }\ntext = { en = \"a\", ko = \"b\" }\n", "g.toml");
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().message().find("leads to one place"), std::string::npos);
}

}  // namespace
}  // namespace ringside::app
