// The incident scene without a window: rows, verdict sentences, next steps, the trace, and the scenario that
// fails in the same way. On the labelled logs of tests/data/logs.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "app/i18n/i18n.hpp"
#include "app/scenes/incident_lanes.hpp"
#include "app/scenes/incident_rebuild.hpp"
#include "app/scenes/incident_trace.hpp"
#include "app/scenes/incident_words.hpp"
#include "sim/diagnosis/from_trace.hpp"
#include "sim/job/simulate.hpp"
#include "sim/trace/frame.hpp"

namespace ringside::app {
namespace {
namespace fs = std::filesystem;

std::string logs() {
  return std::string(RINGSIDE_SOURCE_DIR) + "/tests/data/logs";
}

backend::Incident read(const std::string& path) {
  backend::DiagnoseInput input;
  input.paths = {path};
  auto incident = backend::diagnose_paths(input);
  EXPECT_TRUE(incident) << path;
  return incident ? std::move(*incident) : backend::Incident{};
}

/// All labelled cases, read once.
const std::map<std::string, backend::Incident>& cases() {
  static const std::map<std::string, backend::Incident> kCases = [] {
    std::map<std::string, backend::Incident> all;
    for (const auto& folder : fs::directory_iterator(logs()))
      if (folder.is_directory()) all[folder.path().filename().string()] = read(folder.path().string());
    return all;
  }();
  return kCases;
}

class Incidents : public testing::Test {
 protected:
  void SetUp() override {
    const sim::Status status = load_languages(std::string(RINGSIDE_SOURCE_DIR) + "/assets/lang");
    ASSERT_TRUE(status) << status.error().message();
    set_language(Lang::En);
  }
  void TearDown() override { set_language(Lang::En); }
};

TEST_F(Incidents, TheLaneOneSequenceNumberBehind) {
  const backend::Incident& incident = cases().at("desync-report-lagging-rank");
  const IncidentPicture picture = picture_of(incident);
  ASSERT_EQ(picture.rows.size(), 16u);
  EXPECT_TRUE(picture.timed);
  EXPECT_EQ(picture.waited, 15);
  EXPECT_NEAR(static_cast<double>(picture.wait_ns), 600e9, 3e9);
  for (const IncidentRow& row : picture.rows) {
    EXPECT_EQ(row.culprit, row.rank == 11);
    EXPECT_EQ(row.behind, row.rank == 11);
    EXPECT_EQ(row.last_seq, row.rank == 11 ? 412 : 413);
    EXPECT_EQ(row.seq_truth, row.rank == 11 ? parts::Truth::Inferred : parts::Truth::Measured);
    if (row.rank == 11) {
      EXPECT_EQ(row.truth, parts::Truth::Hidden) << "it printed nothing, so what it did is not visible";
      EXPECT_FALSE(row.ended);
      EXPECT_EQ(row.host, "gpu-a04");
    } else {
      EXPECT_EQ(row.end, parts::Mark::TimedOut);
      EXPECT_LT(row.waits_from, row.ends_at);
      EXPECT_GE(row.waits_from, picture.from);
      EXPECT_LE(row.ends_at, picture.to);
    }
  }
  EXPECT_EQ(verdict_text(incident), "R11 on gpu-a04 did not enter AllReduce, seq 413.");
  EXPECT_EQ(others_text(incident, picture), "15 ranks waited 10 min, then a timeout ended the job.");
  set_language(Lang::Ko);
  EXPECT_EQ(verdict_text(incident), "gpu-a04의 R11이 AllReduce(seq 413)에 들어오지 않았습니다.");
}

TEST_F(Incidents, EveryCaseHasAPictureThatFitsItsVerdict) {
  ASSERT_GE(cases().size(), 80u);
  for (const auto& [name, incident] : cases()) {
    const IncidentPicture picture = picture_of(incident);
    const sim::Diagnosis& d = incident.diagnosis;
    for (const int rank : d.culprits) {
      ASSERT_NE(picture.row(rank), nullptr) << name;
      EXPECT_TRUE(picture.row(rank)->culprit) << name;
    }
    EXPECT_TRUE(std::is_sorted(picture.rows.begin(), picture.rows.end(),
                               [](const IncidentRow& a, const IncidentRow& b) { return a.rank < b.rank; }))
        << name;
    for (const IncidentRow& row : picture.rows) {
      EXPECT_EQ(row.culprit, std::count(d.culprits.begin(), d.culprits.end(), row.rank) > 0) << name;
      EXPECT_LE(row.ends_at, picture.to) << name;
      EXPECT_TRUE(!row.behind || row.culprit) << name << ": nobody else is shown as the one behind";
    }
    EXPECT_LE(picture.from, picture.to) << name;
    EXPECT_LE(picture.cause_ns, picture.to) << name;
    for (const Lang lang : {Lang::En, Lang::Ko}) {
      set_language(lang);
      const std::string verdict = verdict_text(incident);
      EXPECT_FALSE(verdict.empty()) << name;
      EXPECT_EQ(verdict.find('{'), std::string::npos) << name << ": " << verdict;
      for (const int rank : d.culprits) {
        if (d.culprits.size() > 4) break;
        EXPECT_NE(verdict.find("R" + std::to_string(rank)), std::string::npos) << verdict;
      }
    }
    set_language(Lang::En);
  }
}

TEST_F(Incidents, TheTraceSaysWhatTheLinesSay) {
  for (const auto& [name, incident] : cases()) {
    const IncidentPicture picture = picture_of(incident);
    const sim::Trace trace = trace_of(incident, picture);
    EXPECT_EQ(trace.header.source, "import");
    EXPECT_GE(trace.header.world_size, incident.diagnosis.world_size) << name;
    EXPECT_LE(trace.end_time(), picture.timed ? picture.to : 1'000'000) << name;
    std::map<int, std::uint32_t> next;
    for (const sim::Event& event : trace.events()) {
      EXPECT_EQ(event.n, next[event.rank()]++) << name << ": a gap would mean lost events";
      EXPECT_NE(picture.row(event.rank()), nullptr) << name;
    }
  }
  const backend::Incident& incident = cases().at("desync-report-lagging-rank");
  const IncidentPicture picture = picture_of(incident);
  const sim::Trace trace = trace_of(incident, picture);
  sim::FrameSource frames(trace);
  const sim::Frame& waiting = frames.frame_at(picture.cause_ns + 1'000'000'000);
  EXPECT_EQ(waiting.ranks[0].status, sim::RankStatus::Waiting);
  EXPECT_EQ(waiting.ranks[11].status, sim::RankStatus::Idle);
  const sim::RankStatus end = frames.frame_at(trace.end_time()).ranks[12].status;
  EXPECT_TRUE(end == sim::RankStatus::Aborted || end == sim::RankStatus::Dead) << sim::to_word(end);
}

TEST_F(Incidents, NextStepsAreCommandsOrTranslatedSentences) {
  for (const auto& [name, incident] : cases())
    for (const std::string& step : incident.diagnosis.next_steps) {
      const NextStep next = next_step_of(step);
      if (!next.command.empty()) continue;
      const std::size_t note = step.find("   (");
      EXPECT_TRUE(has_translation("incident_step", step.substr(0, note))) << name << ": " << step;
    }
  const NextStep step = next_step_of(
      "ssh n1 py-spy dump --pid PID   (of the rank that is missing, next time before the job is stopped)");
  EXPECT_EQ(step.command, "ssh n1 py-spy dump --pid PID");
  set_language(Lang::Ko);
  EXPECT_EQ(next_step_of("read the output of rank 11 around its last line").note,
            "R11의 마지막 줄 앞뒤 출력을 읽습니다");
  EXPECT_EQ(translated("incident_tool", "timeouts on ranks 0, 5 and 14 more: those who report have waited"),
            "R0, R5 외 14개의 시간 초과: 보고한 쪽은 기다린 쪽입니다");
  EXPECT_EQ(
      translated("incident_tool",
                 "Root Cause (first observed failure): rank 0, exit code -6; a tie of time stamps (1 s), won "
                 "by the lowest local rank"),
      tr("incident_tool.root_tie", {"0", "-6"}));
  EXPECT_EQ(translated("incident_step", "a sentence that no table knows"), "a sentence that no table knows");
}

TEST_F(Incidents, HostileNamesStayText) {
  const std::string evil = "gpu;reboot\x1b[31m";
  std::string log;
  for (int rank = 0; rank < 4; ++rank)
    if (rank != 2)
      log += "[rank" + std::to_string(rank) + "]:[E612 03:24:15.826795710 ProcessGroupNCCL.cpp:685] [Rank " +
             std::to_string(rank) +
             "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=413, OpType=ALLREDUCE, "
             "NumelIn=18, "
             "NumelOut=18, Timeout(ms)=600000) ran for 600013 milliseconds before timing out.\n";
  log += evil + ":77:88 [0] NCCL INFO comm 0x1 rank 2 nranks 4 cudaDev 2 busId 1000 - Init COMPLETE\n";
  backend::Incident incident = backend::diagnose_texts({{"\xe2\x80\xaetrain.log", log}});
  incident.diagnosis.culprit_nodes = {evil};
  const std::string verdict =
      verdict_text(incident) + others_text(incident, picture_of(incident)) + why_text(incident);
  EXPECT_EQ(verdict.find('\x1b'), std::string::npos);
  for (const std::string& step : incident.diagnosis.next_steps)
    EXPECT_EQ(next_step_of(step).command.find("reboot"), std::string::npos) << step;
}

TEST_F(Incidents, TheRebuiltScenarioFailsInTheSameWay) {
  std::map<sim::DiagnosisKind, int> built;
  for (const auto& [name, incident] : cases()) {
    const sim::Diagnosis& d = incident.diagnosis;
    const IncidentPicture picture = picture_of(incident);
    const auto rebuilt = rebuild(incident, picture);
    EXPECT_EQ(static_cast<bool>(rebuilt), can_rebuild(d.kind))
        << name << ": " << (rebuilt ? "" : rebuilt.error().message());
    if (!rebuilt || rebuilt->scenario.world_size() > 64 || built[d.kind]++ > 1) continue;
    const sim::Simulation simulation = sim::simulate(rebuilt->scenario);
    const sim::Diagnosis again = sim::diagnose(simulation.trace);
    const auto& possible = sim::may_lead_to(rebuilt->fault);
    EXPECT_NE(std::find(possible.begin(), possible.end(), again.kind), possible.end())
        << name << ": " << to_word(d.kind) << " became " << to_word(again.kind);
    if (!d.culprits.empty() && again.culprits.size() == 1) {
      EXPECT_EQ(again.culprits.front(), d.culprits.front()) << name;
    }
    if (d.world_size > 1) {
      EXPECT_EQ(rebuilt->scenario.world_size(), d.world_size) << name;
    }
  }
  EXPECT_GE(built.size(), 8u);
}

TEST_F(Incidents, AnExcerptIsTheLineWithItsNeighbours) {
  const std::string folder = testing::TempDir() + "/ringside-excerpt";
  fs::create_directories(folder);
  std::ofstream(folder + "/a.log") << "one\ntwo\nthree\nfour\nfive\n";
  const auto excerpt = backend::read_excerpt(folder + "/a.log", 4, 1);
  ASSERT_TRUE(excerpt);
  EXPECT_EQ(excerpt->first, 3);
  EXPECT_EQ(excerpt->lines, (std::vector<std::string>{"three", "four", "five"}));
  EXPECT_FALSE(backend::read_excerpt(folder + "/a.log", 99, 1));
  EXPECT_FALSE(backend::read_excerpt(folder + "/gone.log", 1, 1));
}

TEST_F(Incidents, FindingsAndFilesAreToldWhileReading) {
  backend::DiagnoseInput input;
  input.paths = {logs() + "/large-job-guilty-file-absent"};
  int found = 0, calls = 0, last = 0;
  input.found = [&](const backend::EarlyFinding& finding) {
    ++found;
    EXPECT_FALSE(finding.file.empty());
  };
  input.control.progress = [&](const backend::InputProgress& progress) {
    ++calls;
    EXPECT_GE(progress.files_done, last);
    last = progress.files_done;
    EXPECT_LE(progress.files_done, progress.files_total);
  };
  ASSERT_TRUE(backend::diagnose_paths(input));
  EXPECT_GT(found, 0);
  EXPECT_GE(calls, 20);
}

}  // namespace
}  // namespace ringside::app
