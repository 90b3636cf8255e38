// Lessons: the shipped ones are right, a typo gives its place, conditions are about what happened.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "sim/job/simulate.hpp"
#include "sim/lesson/facts.hpp"
#include "sim/lesson/lesson.hpp"

namespace ringside::sim {
namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<Lesson> shipped() {
  std::vector<Lesson> lessons;
  for (const auto& entry : std::filesystem::directory_iterator(RINGSIDE_SOURCE_DIR "/assets/lessons")) {
    auto lesson = parse_lesson(read(entry.path()), entry.path().filename().string());
    EXPECT_TRUE(lesson) << lesson.error().message();
    if (lesson) lessons.push_back(*lesson);
  }
  return lessons;
}

TEST(Lesson, ShippedLessonsAreCompleteInBothLanguages) {
  std::set<std::string> ids;
  for (const Lesson& lesson : shipped()) {
    EXPECT_TRUE(ids.insert(lesson.id).second) << lesson.id;
    EXPECT_FALSE(lesson.title.ko.empty()) << lesson.file;
    for (const LessonStep& step : lesson.steps) {
      EXPECT_FALSE(step.text.ko.empty()) << lesson.file << ":" << step.line;
      if (!step.scenario.empty()) {
        EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(RINGSIDE_SOURCE_DIR "/assets/scenarios") /
                                            step.scenario));
      }
      if (step.question) {
        for (const LocalText& choice : step.question->choices) EXPECT_FALSE(choice.ko.empty()) << lesson.file;
      }
    }
  }
  EXPECT_GE(ids.size(), 5u);
}

TEST(Lesson, ATypoGivesItsPlaceAndWhatIsLegal) {
  const auto lesson = parse_lesson(
      "id = \"x\"\ntitle = { en = \"X\" }\n[[step]]\ntext = { en = \"a\" }\nscene = \"allredcue\"\n",
      "x.toml");
  ASSERT_FALSE(lesson);
  EXPECT_EQ(lesson.error().line, 5);
  EXPECT_NE(lesson.error().message().find("allreduce"), std::string::npos) << lesson.error().message();
  const auto key =
      parse_lesson("id = \"x\"\ntitel = { en = \"X\" }\n[[step]]\ntext = { en = \"a\" }\n", "x.toml");
  ASSERT_FALSE(key);
  EXPECT_EQ(key.error().line, 2);
  EXPECT_NE(key.error().message().find("title"), std::string::npos);
}

TEST(Lesson, RefusesWhatCannotBe) {
  const auto refused = [](const std::string& step) {
    return !parse_lesson("id = \"x\"\ntitle = { en = \"X\" }\n[[step]]\ntext = { en = \"a\" }\n" + step,
                         "x.toml");
  };
  EXPECT_TRUE(refused("until = [{ fact = \"clicked\", is = 1 }]\ntask = { en = \"t\" }\n"));
  EXPECT_TRUE(refused("until = [{ fact = \"ring_step\", is = \"three\" }]\ntask = { en = \"t\" }\n"));
  EXPECT_TRUE(refused("until = [{ fact = \"value\", is = 3 }]\ntask = { en = \"t\" }\n"));
  EXPECT_TRUE(refused("until = [{ fact = \"ring_step\", is = 3 }]\n")) << "a condition without a task";
  EXPECT_TRUE(refused("until = [{ fact = \"op\", at_least = \"sum\" }]\ntask = { en = \"t\" }\n"));
  EXPECT_TRUE(refused("at = \"ring:x\"\n"));
  EXPECT_TRUE(refused("scenario = \"../secret.toml\"\n"));
  EXPECT_TRUE(
      refused("[step.question]\ntext = { en = \"q\" }\nwhy = { en = \"w\" }\nanswer = 3\nchoices = [{ en = "
              "\"1\" }, { en = \"2\" }]\n"));
  EXPECT_FALSE(refused("at = \"ring:2\"\n"));
}

/// The conditions of every shipped lesson can come true on its own scenario, or after the edit that its task
/// asks for.
TEST(Lesson, FactsFollowTheRing) {
  const auto scenario = parse_scenario(read(RINGSIDE_SOURCE_DIR "/assets/scenarios/four-gpus-vector.toml"),
                                       "four-gpus-vector.toml");
  ASSERT_TRUE(scenario) << scenario.error().message();
  const Simulation job = simulate(*scenario);
  FrameSource frames(job.trace);
  LessonWorld world;
  world.trace = &job.trace;
  world.scenario = &*scenario;
  world.end_time = job.trace.end_time();
  const auto at = [&](std::int64_t t, const Condition& condition) {
    world.frame = &frames.frame_at(t);
    return holds(condition, world);
  };
  const Condition complete{"complete_chunks", Comparison::AtLeast, 4.0, -1, -1, 0};
  EXPECT_FALSE(at(0, complete));
  EXPECT_TRUE(at(world.end_time, complete));
  const Condition value{"value", Comparison::Is, 20.0, 3, 0, 0};
  EXPECT_FALSE(at(0, value));
  EXPECT_TRUE(at(world.end_time, {"at_end", Comparison::Is, 1.0, -1, -1, 0}));
  EXPECT_TRUE(at(0, {"value", Comparison::Is, 8.0, 3, 0, 0}));
  EXPECT_TRUE(at(0, {"op", Comparison::Is, std::string(to_word(scenario->collective.op)), -1, -1, 0}));
  EXPECT_FALSE(at(0, {"tensor_dims", Comparison::Is, 2.0, -1, -1, 0})) << "unknown facts do not hold";
}

}  // namespace
}  // namespace ringside::sim
