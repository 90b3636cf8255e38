// Logs in the window: dropped, read in the background, drawn in both languages and sizes, clicked through.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "app/session/incident_desk.hpp"
#include "tests/gui/harness.hpp"

namespace ringside::app::test {
namespace {

std::string logs(std::string_view name) {
  return source_path("tests/data/logs/" + std::string(name));
}

void read(Harness& h, const std::string& path) {
  h.app->drop_files({path});
  h.session().finish_simulation();
  h.frames(3);
}

bool shows_part(const Harness& h, std::string_view part) {
  return std::any_of(h.record().texts.begin(), h.record().texts.end(),
                     [&](const DrawnText& t) { return t.text.find(part) != std::string::npos; });
}

class EveryIncident : public testing::TestWithParam<std::tuple<Lang, ThemeChoice, int>> {};

TEST_P(EveryIncident, FitsLayout) {
  const auto [lang, theme, height] = GetParam();
  Harness h({.width = height * 16 / 9, .height = height, .lang = lang, .theme = theme});
  h.session().scene_id = "incident";
  h.frames(2);
  EXPECT_EQ(h.problems(), "") << "nothing open";
  for (const char* name :
       {"desync-report-lagging-rank", "xid79-one-node-others-time-out", "large-job-guilty-file-absent",
        "local-perrank-hang", "local-gloo-shape-nodebug", "finished-run-noisy-exit", "local-openmpi-kill",
        "two-nodes-gone-same-second", "nan-check-before-dp-reduce", "ib-size-check-odd-node-setting",
        "slurm-cgroup-oom-two-tasks", "one-rank-slow-in-every-step"}) {
    read(h, logs(name));
    ASSERT_EQ(h.session().scene_id, "incident") << name;
    EXPECT_EQ(h.problems(), "") << name;
    h.session().playhead().t = h.session().end_time() / 3;
    h.frames(2);
    EXPECT_EQ(h.problems(), "") << name << ", in the middle";
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryIncident,
                         testing::Combine(testing::Values(Lang::En, Lang::Ko),
                                          testing::Values(ThemeChoice::Dark, ThemeChoice::Light),
                                          testing::Values(720, 1440)));

TEST(Incident, DroppedLogsGiveTheVerdictTheLanesAndTheEvidence) {
  Harness h;
  h.app->drop_files({logs("desync-report-lagging-rank")});
  EXPECT_TRUE(h.session().incidents().reading());
  h.frames(1);
  h.session().finish_simulation();
  h.frames(3);
  EXPECT_TRUE(h.shows("R11 on gpu-a04 did not enter AllReduce, seq 413."));
  EXPECT_TRUE(h.shows("412"));
  EXPECT_TRUE(h.shows("train.log:101"));
  EXPECT_EQ(h.session().trace().header.source, "import");
  EXPECT_FALSE(h.session().abilities().can_fork());
  // A line of the evidence opens its file there.
  h.click("incident.evidence.0");
  EXPECT_TRUE(h.app->ui().popup_open("incident.excerpt"));
  EXPECT_TRUE(h.shows("101"));
  EXPECT_EQ(h.problems(), "");
  h.press(Key::Escape);
  // Rewind: nobody waits yet.
  h.click("incident.rewind");
  EXPECT_LT(h.session().playhead().t, h.session().end_time() / 2);
  // A lane leads to the end of its rank.
  h.click("incident.rank.3");
  EXPECT_EQ(h.session().selection.rank, 3);
  EXPECT_GT(h.session().playhead().t, h.session().end_time() / 2);
}

TEST(Incident, ACommandIsCopiedAndTheReportToo) {
  Harness h;
  read(h, logs("desync-report-lagging-rank"));
  h.take_actions();
  h.click("incident.step.1");
  h.click("incident.copy");
  std::vector<std::string> copied;
  for (const Action& action : h.take_actions())
    if (const auto* copy = std::get_if<action::CopyText>(&action)) copied.push_back(copy->text);
  ASSERT_EQ(copied.size(), 2u);
  EXPECT_EQ(copied[0], "ssh gpu-a04 py-spy dump --pid PID");
  EXPECT_NE(copied[1].find("hang_rank_missing"), std::string::npos);
}

TEST(Incident, IsBuiltInTheSimulatorAndSaysWhatWasAssumed) {
  Harness h;
  read(h, logs("desync-report-lagging-rank"));
  h.click("incident.rebuild");
  h.session().finish_simulation();
  h.frames(2);
  ASSERT_NE(h.session().scenario(), nullptr);
  EXPECT_EQ(h.session().scenario()->world_size(), 16);
  ASSERT_EQ(h.session().scenario()->faults.size(), 1u);
  EXPECT_EQ(h.session().scenario()->faults[0].rank, 11);
  EXPECT_EQ(h.session().scenario()->faults[0].kind, sim::FaultKind::Hang);
  EXPECT_TRUE(shows_part(h, "Assumed"));
  // The incident is still there, and its own timeline comes back.
  h.session().scene_id = "incident";
  h.frames(2);
  EXPECT_TRUE(h.shows("R11 on gpu-a04 did not enter AllReduce, seq 413."));
  h.click("incident.rewind");
  EXPECT_EQ(h.session().trace().header.source, "import");
}

TEST(Incident, SaysWhenNothingCanBeReadAndKeepsWhatWasOpen) {
  Harness h;
  const std::string folder = testing::TempDir() + "/ringside-no-logs";
  std::filesystem::create_directories(folder);
  read(h, folder);
  EXPECT_TRUE(h.shows(tr("incident.error")));
  EXPECT_EQ(h.problems(), "");
  EXPECT_FALSE(h.session().has_trace());
  read(h, logs("local-openmpi-kill"));
  read(h, folder + "/gone.log");
  EXPECT_TRUE(h.shows(tr("incident.error")));
  h.click("incident.back");
  EXPECT_TRUE(shows_part(h, "R2"));
}

TEST(Incident, CanBeCancelled) {
  Harness h;
  const std::string folder = testing::TempDir() + "/ringside-big-logs";
  std::filesystem::create_directories(folder);
  {
    std::ofstream out(folder + "/big.log");
    const std::string line = "step 1 loss 2.5 lr 0.1 throughput 1234 samples per second on this machine\n";
    for (int i = 0; i < 1'500'000; ++i) out << line;
  }
  h.app->drop_files({folder});
  h.frames(2);
  if (!h.session().incidents().reading()) GTEST_SKIP() << "read before the first frame";
  EXPECT_EQ(h.problems(), "");
  ASSERT_TRUE(h.has("incident.cancel"));
  h.click("incident.cancel");
  EXPECT_FALSE(h.session().incidents().reading());
  EXPECT_EQ(h.session().incidents().incident(), nullptr);
  std::filesystem::remove_all(folder);
}

TEST(Incident, APathCanBeTyped) {
  Harness h;
  h.click("home.open");
  EXPECT_EQ(h.session().scene_id, "incident");
  h.click("incident.path");
  h.frames(4);
  h.type(logs("local-openmpi-kill"));
  h.press(Key::Enter);
  h.frames(2);
  h.session().finish_simulation();
  h.frames(3);
  ASSERT_NE(h.session().incidents().incident(), nullptr);
  EXPECT_EQ(h.session().incidents().incident()->diagnosis.culprits, std::vector<int>{2});
}

TEST(Explain, HomeTellsWhatALineMeans) {
  for (const Lang lang : {Lang::En, Lang::Ko}) {
    Harness h({.lang = lang});
    h.click("home.explain");
    h.frames(4);
    h.type("NVRM: Xid (PCI:0000:4e:00): 79, pid=2536569, GPU has fallen off the bus.");
    h.press(Key::Enter);
    h.frames(3);
    EXPECT_TRUE(h.app->ui().popup_open("home.explain.popup"));
    EXPECT_TRUE(h.shows("kernel"));
    EXPECT_TRUE(h.shows(tr("explain_role.root")));
    EXPECT_EQ(h.problems(), "");
  }
}

TEST(Recording, OpensAsATraceNotAsLogs) {
  Harness h;
  const std::string path = testing::TempDir() + "/ringside-open.jsonl";
  h.open("four-gpus.toml");
  std::string text;
  sim::append_header_json(text, h.session().trace().header);
  text += '\n';
  for (const sim::Event& event : h.session().trace().events()) {
    sim::append_event_json(text, h.session().trace(), event);
    text += '\n';
  }
  std::ofstream(path, std::ios::binary) << text;
  const std::size_t events = h.session().trace().size();
  read(h, path);
  EXPECT_EQ(h.session().trace().size(), events);
  EXPECT_EQ(h.session().scene_id, "allreduce");
  EXPECT_EQ(h.session().incidents().incident(), nullptr);
  EXPECT_EQ(h.problems(), "");
}

}  // namespace
}  // namespace ringside::app::test
