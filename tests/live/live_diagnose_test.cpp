// What real ranks leave behind, dumps and logs, is read back by `ringside-cli diagnose` to the right verdict,
// for every fault that a live run can do to itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "backend/import/diagnose.hpp"
#include "sim/scenario/fault.hpp"

namespace ringside {
namespace {

namespace fs = std::filesystem;

struct Case {
  const char* fault;
  std::vector<int> culprits;
  bool leaves_dumps;                         // nan and slow stop nobody
  std::vector<sim::DiagnosisKind> together;  // logs and dumps
  std::vector<sim::DiagnosisKind> dumps;     // dumps alone
};

using K = sim::DiagnosisKind;

/// A frozen process writes no dump, as a dead one: dumps alone cannot tell them apart, the logs can. A
/// skipped call shows in the dumps as a rank that is behind.
const std::vector<Case>& cases() {
  static const std::vector<Case> kCases{
      {"crash:rank=2,step=5", {2}, true, {K::RankCrash}, {K::RankCrash, K::HangRankMissing}},
      {"hang:rank=1,step=5", {1}, true, {K::HangRankMissing}, {K::RankCrash, K::HangRankMissing}},
      {"nan:rank=3,step=5", {3}, false, {K::Nan}, {}},
      {"slow:rank=1,step=2,duration=300ms", {1}, false, {K::Straggler}, {}},
      {"shape:rank=0,step=5", {0}, true, {K::ShapeMismatch}, {K::ShapeMismatch}},
      {"skip_step:rank=2,step=5",
       {2},
       true,
       {K::SequenceMismatch},
       {K::SequenceMismatch, K::HangRankMissing}},
      {"early_exit:rank=1,step=5", {1}, true, {K::RankExitEarly}, {K::RankCrash, K::HangRankMissing}},
      {"wrong_order:rank=2,step=5", {2}, true, {K::CollectiveOrder}, {K::CollectiveOrder}}};
  return kCases;
}

class LiveDiagnose : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "ringside-diagnose-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder_); }

  void run() const {
    const std::string command =
        "ASAN_OPTIONS=detect_leaks=0 timeout -k 5 120 " + std::string(RINGSIDE_BIN_DIR) +
        "/ringside-cli live --json --device cpu -n 4 --steps 8 --watchdog 5s --dump-dir " + folder_ +
        " --log-dir " + folder_ + " --fault " + GetParam().fault + " > /dev/null 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }

  static void expect(const sim::Diagnosis& d, const std::vector<sim::DiagnosisKind>& kinds,
                     const std::vector<int>& culprits) {
    EXPECT_NE(std::find(kinds.begin(), kinds.end(), d.kind), kinds.end())
        << to_word(d.kind) << ": " << d.first_cause.what;
    EXPECT_EQ(d.culprits, culprits) << d.first_cause.what;
    EXPECT_NE(d.confidence, sim::Confidence::Unknown);
  }

  std::string folder_;
};

sim::Diagnosis diagnosed(std::vector<std::string> paths) {
  backend::DiagnoseInput input;
  input.paths = std::move(paths);
  auto incident = backend::diagnose_paths(input);
  EXPECT_TRUE(incident) << incident.error().message();
  return incident ? std::move(incident->diagnosis) : sim::Diagnosis{};
}

TEST_P(LiveDiagnose, ReadsBackWhatTheRanksLeft) {
  ASSERT_NO_FATAL_FAILURE(run());
  const Case& c = GetParam();
  std::vector<std::string> dumps, logs;
  for (const auto& entry : fs::directory_iterator(folder_))
    (entry.path().extension() == ".log" ? logs : dumps).push_back(entry.path().string());
  EXPECT_EQ(logs.size(), 4u);
  EXPECT_EQ(dumps.empty(), !c.leaves_dumps);

  expect(diagnosed({folder_}), c.together, c.culprits);
  if (c.leaves_dumps) expect(diagnosed(dumps), c.dumps, c.culprits);
  // Logs alone may not decide, but accuse no innocent.
  const sim::Diagnosis from_logs = diagnosed(logs);
  if (!from_logs.culprits.empty()) {
    EXPECT_EQ(from_logs.culprits, c.culprits) << from_logs.first_cause.what;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, LiveDiagnose, testing::ValuesIn(cases()), [](const auto& test) {
  const std::string_view fault = test.param.fault;
  return std::string(fault.substr(0, fault.find(':')));
});

TEST(LiveDiagnose, KnowsEveryKindThatALiveRunCanDo) {
  for (int i = 0; i < sim::kFaultKindCount; ++i) {
    const auto kind = static_cast<sim::FaultKind>(i);
    const std::string word = std::string(to_word(kind)) + ":";
    const bool here = std::any_of(cases().begin(), cases().end(), [&](const Case& c) {
      return std::string_view(c.fault).substr(0, word.size()) == word;
    });
    EXPECT_EQ(here, sim::supported_live(kind)) << word;
  }
}

}  // namespace
}  // namespace ringside
