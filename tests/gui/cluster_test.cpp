// The cluster scene in the window: it fits at every moment, names nobody too early, and leads from the
// cluster to the ring step. With RINGSIDE_PICTURES=FOLDER its pages are written there as PNG.
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "app/i18n/phrases.hpp"
#include "app/scenes/cluster_log.hpp"
#include "sim/diagnosis/from_trace.hpp"
#include "tests/gui/harness.hpp"

namespace ringside::app::test {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

/// 8 nodes × 8 ranks, one of them struck in step 3: the same story as the big one, made in milliseconds.
std::string job_text(const std::string& fault, const std::string& more = "") {
  return "title = \"test\"\n[cluster]\nnodes = 8\ngpus_per_node = 8\n[tensor]\nshape = [64]\nvalues = "
         "\"none\"\n"
         "[training]\nsteps = 6\nforward = \"400ms\"\nbackward = \"800ms\"\noptimizer = \"30ms\"\njitter = "
         "0.02\n"
         "checkpoint_steps = 2\n[stack]\ntransport = \"ib\"\nlauncher = \"torchrun\"\n" +
         more + "[[fault]]\nrank = 19\nstep = 5\n" + fault;
}

void open_text(Harness& h, const std::string& text) {
  auto scenario = sim::parse_scenario(text, "test.toml");
  ASSERT_TRUE(scenario) << scenario.error().message();
  h.session().open_scenario(std::move(*scenario), "test");
  h.session().finish_simulation();
  h.session().scene_id = "cluster";
  h.frames(2);
}

void go(Harness& h, std::int64_t t) {
  h.session().playhead().t = t;
  h.frames(2);
}

std::int64_t struck_at(Harness& h) {
  for (const sim::Event& e : h.session().trace().events())
    if (e.type == sim::EventType::Command) return e.t;
  return -1;
}

/// Any text of the last frame that contains this.
bool says(const Harness& h, std::string_view part) {
  return std::any_of(h.record().texts.begin(), h.record().texts.end(),
                     [&](const DrawnText& t) { return t.text.find(part) != std::string::npos; });
}

void keep(const Harness& h, const std::string& name) {
  const char* folder = std::getenv("RINGSIDE_PICTURES");
  if (folder == nullptr) return;
  EXPECT_TRUE(write_png(std::string(folder) + "/" + name + ".png", h.image()));
}

class ClusterPages : public testing::TestWithParam<std::tuple<Lang, ThemeChoice, int>> {};

TEST_P(ClusterPages, FitAtEveryMoment) {
  const auto [lang, theme, width] = GetParam();
  const bool pictures = std::getenv("RINGSIDE_PICTURES") != nullptr;
  Harness h({.width = width, .height = width * 9 / 16, .lang = lang, .theme = theme, .offscreen = pictures});
  const std::string suffix = "-" + std::string(to_word(lang)) +
                             (theme == ThemeChoice::Dark ? "-dark-" : "-light-") + std::to_string(width);
  const std::array<std::pair<const char*, std::string>, 4> jobs = {
      std::pair("crash", job_text("kind = \"crash\"\nat = \"backward\"\n")),
      std::pair("hang", job_text("kind = \"hang\"\nat = \"backward\"\n")),
      std::pair("reset", job_text("kind = \"gpu_reset\"\nat = \"backward\"\n")),
      std::pair("skip", job_text("kind = \"skip_step\"\n"))};
  for (const auto& [name, text] : jobs) {
    open_text(h, text);
    const std::int64_t at = struck_at(h), end = h.session().end_time();
    for (const std::int64_t t : {std::int64_t{0}, at - 1, at + 10 * kSecond, at + 40 * kSecond, end}) {
      go(h, std::min(t, end));
      EXPECT_EQ(h.problems(), "") << name << " at " << t;
    }
    for (int tab = 0; tab < 3; ++tab) {
      if (!h.has("cluster.tab." + std::to_string(tab))) break;
      h.click("cluster.tab." + std::to_string(tab));
      for (int i = 0; i < 600 && says(h, lang == Lang::En ? "Simulating" : "시뮬레이션하는"); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        h.frames(1);
      }
      EXPECT_EQ(h.problems(), "") << name << ", page " << tab;
      keep(h, std::string("cluster-") + name + "-page" + std::to_string(tab) + suffix);
    }
    h.session().selection.rank = 20;
    h.frames(2);
    EXPECT_TRUE(h.has("cluster.down")) << "the page of the rank";
    EXPECT_EQ(h.problems(), "") << name << ", a rank selected";
    keep(h, std::string("cluster-") + name + "-rank" + suffix);
    go(h, at - 1);
    EXPECT_EQ(h.problems(), "") << name << ", a rank selected before anything happened";
    keep(h, std::string("cluster-") + name + "-before" + suffix);
    h.session().selection = {};
  }
  h.frames(2);
  h.click("cluster.reliability");
  h.frames(12);
  EXPECT_EQ(h.problems(), "") << "reliability";
  EXPECT_TRUE(h.has("cluster.rel.back"));
  keep(h, "cluster-reliability" + suffix);
}

INSTANTIATE_TEST_SUITE_P(All, ClusterPages,
                         testing::Combine(testing::Values(Lang::En, Lang::Ko),
                                          testing::Values(ThemeChoice::Dark, ThemeChoice::Light),
                                          testing::Values(1280, 2560)),
                         [](const testing::TestParamInfo<std::tuple<Lang, ThemeChoice, int>>& param) {
                           return std::string(to_word(std::get<0>(param.param))) +
                                  (std::get<1>(param.param) == ThemeChoice::Dark ? "_dark_" : "_light_") +
                                  std::to_string(std::get<2>(param.param));
                         });

TEST(Cluster, NamesNobodyBeforeItHappened) {
  Harness h;
  open_text(h, job_text("kind = \"crash\"\nat = \"backward\"\n"));
  const std::int64_t at = struck_at(h);
  go(h, at - 1);
  EXPECT_FALSE(h.has("cluster.culprit"));
  EXPECT_FALSE(says(h, "stopped the job"));
  EXPECT_TRUE(says(h, "working"));
  go(h, at + kSecond);
  EXPECT_TRUE(h.has("cluster.culprit"));
  EXPECT_TRUE(says(h, "R19 stopped the job."));
  EXPECT_TRUE(says(h, "waiting"));
}

TEST(Cluster, AHangIsAccusedAfterTwentySeconds) {
  Harness h;
  open_text(h, job_text("kind = \"hang\"\nat = \"backward\"\n"));
  const std::int64_t at = struck_at(h);
  go(h, at + 10 * kSecond);
  EXPECT_FALSE(h.has("cluster.culprit"));
  EXPECT_TRUE(says(h, "63 ranks wait for R19."));
  go(h, at + 30 * kSecond);
  EXPECT_TRUE(h.has("cluster.culprit"));
  EXPECT_TRUE(says(h, "R19 is missing."));
}

TEST(Cluster, RewindsToTheCauseAndGoesDown) {
  Harness h;
  open_text(h, job_text("kind = \"crash\"\nat = \"backward\"\n"));
  const std::int64_t at = struck_at(h);
  go(h, h.session().end_time());
  h.click("cluster.rewind");
  h.frames(2);
  EXPECT_EQ(h.session().playhead().t, at);
  h.click("cluster.culprit");
  h.frames(2);
  EXPECT_EQ(h.session().selection.rank, 19);
  EXPECT_EQ(h.session().selection.node, 2);
  go(h, at + 10 * kSecond);
  h.click("cluster.rank.20");
  h.frames(2);
  EXPECT_EQ(h.session().selection.rank, 20);
  h.click("cluster.down");
  h.frames(2);
  EXPECT_EQ(h.session().scene_id, "allreduce");
  EXPECT_EQ(h.session().selection.rank, 20) << "the rank stays selected";
}

TEST(Cluster, AFaultByHandIsFoundLikeOneOfTheScenario) {
  Harness h;
  std::string healthy = job_text("");
  healthy.resize(healthy.find("[[fault]]"));
  open_text(h, healthy);
  go(h, 3 * kSecond);
  sim::Fault crash;
  crash.kind = sim::FaultKind::Crash;
  crash.rank = 42;
  h.session().apply(action::Inject{crash});
  h.session().finish_simulation();
  go(h, h.session().end_time());
  EXPECT_TRUE(says(h, "R42 stopped the job."));
  EXPECT_TRUE(says(h, "matches the injected fault"));
}

TEST(Cluster, TheReportSaysWhatTheScreenSays) {
  Harness h;
  open_text(h, job_text("kind = \"gpu_reset\"\nat = \"backward\"\n"));
  go(h, h.session().end_time());
  h.take_actions();
  h.click("cluster.report");
  h.frames(1);
  std::string text;
  for (const Action& a : h.take_actions())
    if (const auto* copy = std::get_if<action::CopyText>(&a)) text = copy->text;
  EXPECT_NE(text.find("R19 stopped the job."), std::string::npos) << text;
  EXPECT_NE(text.find("Xid"), std::string::npos) << text;
  EXPECT_NE(text.find("scontrol update nodename=n2"), std::string::npos) << text;
}

/// Whatever the engine says is said in Korean too: sentences of every kind of failure have a pattern.
TEST(Cluster, EverySentenceOfTheEngineIsTranslated) {
  Harness h({.lang = Lang::Ko});
  const std::array<const char*, 13> faults = {"kind = \"crash\"\nat = \"backward\"\n",
                                              "kind = \"hang\"\nat = \"backward\"\n",
                                              "kind = \"gpu_reset\"\nat = \"backward\"\n",
                                              "kind = \"pcie_power\"\n",
                                              "kind = \"oom\"\n",
                                              "kind = \"skip_step\"\n",
                                              "kind = \"extra_step\"\n",
                                              "kind = \"early_exit\"\n",
                                              "kind = \"shape\"\nshape = [12]\n",
                                              "kind = \"dtype\"\ndtype = \"float16\"\n",
                                              "kind = \"op\"\nop = \"sum\"\n",
                                              "kind = \"skip_collective\"\n",
                                              "kind = \"slow\"\nfactor = 0.3\n"};
  const auto is_own = [](const std::string& text) {
    return !text.empty() && text.find(' ') != std::string::npos && text.back() == '.';
  };
  for (const char* fault : faults) {
    const auto scenario = sim::parse_scenario(job_text(fault), "test.toml");
    ASSERT_TRUE(scenario) << fault << scenario.error().message();
    const sim::Diagnosis d = sim::diagnose(sim::simulate(*scenario).trace);
    EXPECT_TRUE(d.first_cause.what.empty() || is_known_phrase(d.first_cause.what))
        << fault << d.first_cause.what;
    for (const std::string& step : d.next_steps) EXPECT_TRUE(!is_own(step) || is_known_phrase(step)) << step;
    for (const sim::Alternative& a : d.alternatives) EXPECT_TRUE(is_known_phrase(a.why_not)) << a.why_not;
  }
  EXPECT_EQ(known_phrase("R137 ended by SIGKILL."), "R137이 SIGKILL로 끝났습니다.");
  EXPECT_EQ(known_phrase("R1, R2 and R5 brought an infinity into the AllReduce."),
            "R1, R2, R5가 AllReduce에 무한대를 가져왔습니다.");
  EXPECT_EQ(known_phrase("dcgmi diag -r 3"), "dcgmi diag -r 3");
}

/// The cost by hand: every GPU of the job from the stop on, and the work since the last checkpoint.
TEST(Cluster, CountsWhatAStopCosts) {
  for (const char* fault : {"kind = \"crash\"\nat = \"backward\"\n", "kind = \"skip_step\"\n"}) {
    SCOPED_TRACE(fault);
    const auto scenario = sim::parse_scenario(job_text(fault), "test.toml");
    ASSERT_TRUE(scenario) << scenario.error().message();
    const sim::Trace trace = sim::simulate(*scenario).trace;
    std::int64_t died = -1, saved = 0, last_call = 0;
    for (const sim::Event& e : trace.events()) {
      if (e.type == sim::EventType::Exit && e.text.code != 0 && died < 0) died = e.t;
      if (e.type == sim::EventType::CollectiveEnqueued) last_call = e.t;
    }
    const std::int64_t stop = std::min(died, last_call);
    for (const sim::Event& e : trace.events())
      if (e.type == sim::EventType::PhaseEnd && e.phase.phase == sim::Phase::Optimizer &&
          e.phase.step % 2 == 0 && e.t <= stop)
        saved = e.t;
    ClusterStory story;
    story.update(trace, 1, 2);
    ASSERT_EQ(story.episodes().size(), 1u);
    EXPECT_EQ(story.episodes()[0].failed, stop);
    EXPECT_EQ(story.episodes()[0].saved, saved);
    EXPECT_EQ(story.cost_at(stop - 1).total(), 0);
    const Cost later = story.cost_at(stop + 7 * kSecond);
    EXPECT_EQ(later.waiting, 64.0 * 7 * kSecond);
    EXPECT_EQ(later.redo, 64.0 * static_cast<double>(stop - saved));
  }
}

TEST(Cluster, LogsFoldWhatIsAlikeAndSaveAllOfIt) {
  Harness h;
  open_text(h, job_text("kind = \"crash\"\nat = \"backward\"\n"));
  const sim::Trace& trace = h.session().trace();
  ClusterStory story;
  story.update(trace, 1, 2);
  const auto rows = log_rows(trace, story, trace.end_time(), LogFilter::Merged, -1, 400);
  EXPECT_LT(rows.size(), story.logs().size() / 4) << "64 ranks say the same";
  EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [](const LogRow& r) { return r.count > 5; }));
  EXPECT_TRUE(log_rows(trace, story, struck_at(h) - 1, LogFilter::Merged, -1, 400).empty());
  std::size_t lines = 0;
  for (const LogFile& file : log_files(trace, story, trace.end_time()))
    if (file.name != "merged.log")
      lines += static_cast<std::size_t>(std::count(file.text.begin(), file.text.end(), '\n'));
  EXPECT_EQ(lines, story.logs().size());
}

/// Two branches of a job of 512 ranks side by side: the crash of the scenario, and a rank that hangs instead; the
/// first difference is named, each half shows its own states.
TEST(ClusterBranches, SideBySideWithTheFirstDifference) {
  for (const Lang lang : {Lang::En, Lang::Ko})
    for (const auto& [width, height, scale] :
         {std::tuple{1280, 720, 1.0f}, std::tuple{2560, 1440, 1.0f}, std::tuple{1280, 720, 1.25f}}) {
      Harness h({.width = width,
                 .height = height,
                 .lang = lang,
                 .user_scale = scale,
                 .offscreen = std::getenv("RINGSIDE_PICTURES") != nullptr});
      std::string text = job_text("kind = \"crash\"\nat = \"backward\"\n");
      text.replace(text.find("nodes = 8"), 9, "nodes = 64");
      open_text(h, text);
      h.session().apply(action::RemoveFault{0});
      h.session().finish_simulation();
      go(h, h.session().end_time() / 2);
      sim::Fault hang;
      hang.kind = sim::FaultKind::Hang;
      hang.rank = 300;
      h.session().apply(action::Inject{hang});
      h.session().finish_simulation();
      ASSERT_EQ(h.session().branches().size(), 3u);
      h.session().apply(action::Compare{0});
      h.session().finish_simulation();
      h.frames(3);
      ASSERT_TRUE(h.has("compare.end"));
      ASSERT_TRUE(h.session().difference());
      EXPECT_TRUE(h.shows(difference_text(*h.session().difference())));
      for (const double share : {0.0, .002, .01, .4, 1.0}) {
        go(h, static_cast<std::int64_t>(share * static_cast<double>(h.session().end_time())));
        for (int i = 0; i < 4; ++i) {  // the diagnoses of both are made on other threads
          std::this_thread::sleep_for(std::chrono::milliseconds(150));
          h.frames(1);
        }
        if (share == .4) {
          EXPECT_TRUE(h.shows("511")) << "stalled on the branch on screen";
          EXPECT_TRUE(h.shows("440")) << "stalled beside it: no count is left out, however narrow the half is";
        }
        EXPECT_EQ(h.problems(), "") << share << " " << width << " × " << scale << " " << to_word(lang);
        keep(h, "branches-" + std::string(to_word(lang)) + "-" + std::to_string(width) + "-" +
                    std::to_string(static_cast<int>(scale * 100)) + "-" +
                    std::to_string(static_cast<int>(share * 1000)));
      }
      h.click("compare.go");
      EXPECT_EQ(h.session().playhead().t, h.session().difference()->t);
      h.click("compare.end");
      EXPECT_FALSE(h.has("compare.end"));
    }
}

}  // namespace
}  // namespace ringside::app::test
