// What a lesson asks for can happen: from the place where a step begins, its conditions come true on its own
// scenario. (What the reader has to do, a selection or an edit, is theirs.)
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "backend/files.hpp"
#include "sim/job/simulate.hpp"
#include "sim/lesson/facts.hpp"

namespace ringside::backend {
namespace {

namespace fs = std::filesystem;
const fs::path kAssets = fs::path(RINGSIDE_SOURCE_DIR) / "assets";

bool from_the_trace(const sim::Condition& condition) {
  for (const char* fact :
       {"timed_out_ranks", "waiting_ranks", "dead_ranks", "poisoned_ranks", "weights_equal", "at_end"})
    if (condition.fact == fact) return true;
  return false;
}

std::int64_t start_of(const sim::Trace& trace, const std::string& at) {
  if (at.empty() || at == "start") return 0;
  if (at == "end") return trace.end_time();
  if (!at.starts_with("step:")) return 0;
  const int step = std::stoi(at.substr(5));
  for (const std::uint32_t i : trace.order()) {
    const sim::Event& e = trace.events()[i];
    if (e.type == sim::EventType::PhaseBegin && e.phase.step >= step) return e.t;
  }
  ADD_FAILURE() << "there is no " << at;
  return 0;
}

/// Whether all conditions hold at one moment from `t` on.
bool comes_true(const sim::Simulation& job, std::vector<sim::Condition> conditions, std::int64_t t) {
  std::erase_if(conditions, [](const sim::Condition& one) { return !from_the_trace(one); });
  if (conditions.empty()) return true;
  sim::FrameSource frames(job.trace);
  sim::LessonWorld world;
  world.trace = &job.trace;
  world.end_time = job.trace.end_time();
  std::int64_t last = -1;
  for (const std::uint32_t i : job.trace.order()) {
    const std::int64_t now = job.trace.events()[i].t;
    if (now < t || now == last) continue;
    last = now;
    world.frame = &frames.frame_at(now);
    if (all_hold(conditions, world)) return true;
  }
  return false;
}

class FailureLesson : public testing::TestWithParam<const char*> {};

TEST_P(FailureLesson, ItsConditionsCanComeTrue) {
  const fs::path file = kAssets / "lessons" / (std::string(GetParam()) + ".toml");
  const auto text = read_file(file.string(), 1 << 20);
  ASSERT_TRUE(text) << text.error().message();
  const auto lesson = sim::parse_lesson(*text, file.string());
  ASSERT_TRUE(lesson) << lesson.error().message();
  EXPECT_GE(lesson->steps.size(), 5u);
  EXPECT_LE(lesson->steps.size(), 8u);
  sim::Simulation job;
  std::string at;
  for (const sim::LessonStep& step : lesson->steps) {
    SCOPED_TRACE("line " + std::to_string(step.line));
    if (!step.scenario.empty()) {
      const auto scenario = load_scenario((kAssets / "scenarios" / step.scenario).string());
      ASSERT_TRUE(scenario) << scenario.error().message();
      job = sim::simulate(*scenario);
      at.clear();
    }
    if (!step.at.empty()) at = step.at;
    EXPECT_TRUE(comes_true(job, step.until, start_of(job.trace, at)));
  }
  const auto asks = std::count_if(lesson->steps.begin(), lesson->steps.end(),
                                  [](const auto& step) { return step.question.has_value(); });
  EXPECT_GE(asks + 1, std::ssize(lesson->steps)) << "a prediction in nearly every step";
}

INSTANTIATE_TEST_SUITE_P(Lessons, FailureLesson,
                         testing::Values("11-shape-mismatch", "12-step-mismatch", "13-crash-and-hang",
                                         "14-nan-spread", "15-straggler", "16-the-64-node-halt",
                                         "17-the-operators-checklist"));

}  // namespace
}  // namespace ringside::backend
