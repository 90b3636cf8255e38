// The scenarios of assets/scenarios/failures: what comes of each, and whom the diagnosis names. It sees the
// trace alone; what is right stands here.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "backend/files.hpp"
#include "sim/diagnosis/from_trace.hpp"
#include "sim/job/invariants.hpp"
#include "sim/job/simulate.hpp"

namespace ringside::backend {
namespace {

namespace fs = std::filesystem;
using sim::DiagnosisKind;
using sim::Outcome;
const fs::path kFolder = fs::path(RINGSIDE_SOURCE_DIR) / "assets/scenarios/failures";

struct Row {
  std::string_view file;
  Outcome outcome;
  DiagnosisKind kind;
  std::vector<int> culprits;
  std::vector<std::string> nodes;  // culprit nodes
  std::vector<int> candidates;     // where no rank is named: the ends of the link, or who stands out
};

std::vector<Row> rows() {
  using K = DiagnosisKind;
  using O = Outcome;
  return {
      {"bit-flip-gradient", O::WrongResult, K::SilentCorruption, {}, {}, {1}},
      {"bit-flip-inside", O::WrongResult, K::SilentCorruption, {1}, {"n0"}, {}},
      {"bit-flip-weights", O::WrongResult, K::SilentCorruption, {1}, {"n0"}, {}},
      {"buckets-swapped", O::WrongResult, K::SilentCorruption, {1}, {"n0"}, {}},
      {"crash-gloo", O::Error, K::RankCrash, {1}, {"n1"}, {}},
      {"crash-ib-torchrun", O::Error, K::RankCrash, {5}, {"n1"}, {}},
      {"crash-mpirun", O::Error, K::RankCrash, {0}, {"n0"}, {}},
      {"crash-nvlink-srun", O::Error, K::RankCrash, {2}, {"n0"}, {}},
      {"dtype-gloo", O::Error, K::DtypeMismatch, {2}, {"n0"}, {}},
      {"dtype-mpi", O::Error, K::DtypeMismatch, {1}, {"n0"}, {}},
      {"dtype-same-width", O::WrongResult, K::DtypeMismatch, {2}, {"n0"}, {}},
      {"exit-early", O::Timeout, K::RankExitEarly, {3}, {"n0"}, {3}},
      {"extra-step", O::Timeout, K::SequenceMismatch, {1}, {"n0"}, {}},
      {"gpu-reset", O::Error, K::GpuHw, {6}, {"n1"}, {}},
      {"halt-64-nodes", O::Error, K::RankCrash, {77}, {"n9"}, {}},
      {"halt-64-nodes-gpu", O::Timeout, K::PcieError, {323}, {"n40"}, {}},
      {"halt-64-nodes-hang", O::Timeout, K::HangRankMissing, {300}, {"n37"}, {}},
      {"hang-gloo", O::Timeout, K::HangRankMissing, {3}, {"n3"}, {}},
      {"hang-inside", O::Timeout, K::HangRankMissing, {1}, {"n0"}, {}},
      {"hang-mpi", O::Hang, K::HangRankMissing, {1}, {"n0"}, {}},
      {"hang-one-rank", O::Timeout, K::HangRankMissing, {2}, {"n0"}, {}},
      {"ib-flap", O::Completed, K::IbError, {}, {"n1"}, {}},
      {"ib-flap-long", O::Error, K::IbError, {}, {"n1"}, {}},
      {"inf-overflow", O::Nan, K::Nan, {2}, {"n0"}, {}},
      {"late-for-the-watchdog", O::Timeout, K::WatchdogFalseAlarm, {5}, {"n1"}, {}},
      {"link-down-ib", O::Error, K::LinkDown, {}, {}, {3, 4}},
      {"link-down-nvlink", O::Error, K::NvlinkHw, {2}, {"n0"}, {}},
      {"link-down-shm", O::Timeout, K::LinkDown, {}, {}, {1, 2}},
      {"link-flap", O::Completed, K::LinkDown, {}, {}, {3, 4}},
      {"link-slow", O::Completed, K::LinkSlow, {}, {}, {1, 2}},
      {"link-slow-64", O::Completed, K::LinkSlow, {}, {}, {103, 104}},
      {"nan-hides-in-max", O::WrongResult, K::Nan, {3}, {"n0"}, {}},
      {"nan-raise-watchdog", O::Error, K::Nan, {5}, {"n1"}, {}},
      {"nan-skip-all", O::Nan, K::Nan, {1}, {"n0"}, {}},
      {"nan-skip-here", O::Timeout, K::Nan, {1}, {"n0"}, {}},
      {"nan-spreads", O::Nan, K::Nan, {1}, {"n0"}, {}},
      {"oom-host", O::Error, K::HostOom, {4}, {"n1"}, {}},
      {"op-detail", O::WrongResult, K::OpMismatch, {3}, {"n0"}, {}},
      {"op-max", O::WrongResult, K::OpMismatch, {3}, {"n0"}, {}},
      {"order-gloo-detail", O::Error, K::CollectiveOrder, {1}, {"n0"}, {}},
      {"order-mpi", O::Hang, K::CollectiveOrder, {1}, {"n0"}, {}},
      {"order-nccl", O::Timeout, K::CollectiveOrder, {1}, {"n0"}, {}},
      {"pcie-power", O::Timeout, K::PcieError, {2}, {"n0"}, {}},
      {"shape-ddp", O::Error, K::ShapeMismatch, {1}, {"n0"}, {}},
      {"shape-detail", O::Error, K::ShapeMismatch, {2}, {"n0"}, {}},
      {"shape-gloo", O::Error, K::ShapeMismatch, {2}, {"n0"}, {}},
      {"shape-gloo-neighbour", O::Error, K::ShapeMismatch, {2}, {"n0"}, {}},
      {"shape-mpi", O::Error, K::ShapeMismatch, {2}, {"n0"}, {}},
      {"shape-nvlink", O::Timeout, K::ShapeMismatch, {2}, {"n0"}, {}},
      {"shape-pcie", O::WrongResult, K::ShapeMismatch, {2}, {"n0"}, {}},
      {"shape-same-count", O::WrongResult, K::ShapeMismatch, {1}, {"n0"}, {}},
      {"skip-allreduce-50", O::WrongResult, K::SilentCorruption, {3}, {"n0"}, {}},
      {"skip-step-50", O::Timeout, K::SequenceMismatch, {3}, {"n0"}, {}},
      {"skip-step-gloo", O::Error, K::SequenceMismatch, {3}, {"n0"}, {}},
      {"slow-rank", O::Completed, K::Straggler, {3}, {"n0"}, {}},
      {"wrong-tail-invisible", O::WrongResult, K::ShapeMismatch, {3}, {"n0"}, {}},
      {"wrong-tail-published", O::WrongResult, K::ShapeMismatch, {0}, {"n0"}, {}},
  };
}

std::vector<int> candidates_of(const sim::Diagnosis& d) {
  std::vector<int> out;
  for (const sim::Alternative& one : d.alternatives)
    out.insert(out.end(), one.culprits.begin(), one.culprits.end());
  std::sort(out.begin(), out.end());
  return out;
}

sim::Simulation run(const std::string& file) {
  const auto scenario = load_scenario((kFolder / (file + ".toml")).string());
  if (!scenario) {
    ADD_FAILURE() << scenario.error().message();
    return {};
  }
  return sim::simulate(*scenario);
}

class FailureScenario : public testing::TestWithParam<Row> {};

TEST_P(FailureScenario, ComesOutAndIsDiagnosedRight) {
  const Row& row = GetParam();
  const sim::Simulation result = run(std::string(row.file));
  EXPECT_EQ(to_word(result.outcome), to_word(row.outcome));
  EXPECT_FALSE(sim::broken_invariant(result.trace).has_value());
  const sim::Diagnosis d = sim::diagnose(result.trace);
  EXPECT_EQ(to_word(d.kind), to_word(row.kind)) << d.first_cause.what;
  EXPECT_EQ(d.culprits, row.culprits) << d.first_cause.what;
  EXPECT_EQ(d.culprit_nodes, row.nodes) << d.first_cause.what;
  EXPECT_EQ(candidates_of(d), row.candidates) << d.first_cause.what;
  EXPECT_FALSE(d.evidence.empty());
  EXPECT_FALSE(d.next_steps.empty());
  std::set<std::string> tools;
  for (const sim::ToolSays& says : d.tools_would_say) tools.insert(says.tool);
  for (const char* tool : {"watchdog", "flight recorder", "RAS", "nvidia-smi", "loss curve"})
    EXPECT_TRUE(tools.contains(tool)) << tool;
}

INSTANTIATE_TEST_SUITE_P(Folder, FailureScenario, testing::ValuesIn(rows()), [](const auto& row) {
  std::string name(row.param.file);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(FailureScenarios, EveryFileIsInTheTableAndEveryKindOfFaultInAFile) {
  std::set<std::string> files, named;
  std::set<sim::FaultKind> kinds;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".toml") continue;
    files.insert(entry.path().stem().string());
    const auto scenario = load_scenario(entry.path().string());
    ASSERT_TRUE(scenario) << scenario.error().message();
    for (const sim::Fault& fault : scenario->faults) kinds.insert(fault.kind);
  }
  for (const Row& row : rows()) named.insert(std::string(row.file));
  EXPECT_EQ(files, named);
  EXPECT_GE(files.size(), 30u);
  EXPECT_EQ(kinds.size(), static_cast<std::size_t>(sim::kFaultKindCount));
}

TEST(FailureScenarios, ThePublishedTailIsSixAndTheOtherOneCannotBeSeen) {
  const auto tail = [](const std::string& file, std::size_t odd) {
    const sim::Simulation result = run(file);
    const auto& results = result.collectives.back().result;
    EXPECT_EQ(results.size(), 8u);
    for (std::size_t r = 0; r < 8; ++r)
      EXPECT_EQ(to_double(results[r]->at(409'597)), 8.0) << r << " of " << odd;
    return std::pair(to_double(results[odd]->at(409'598)), to_double(results[odd]->at(409'599)));
  };
  EXPECT_EQ(tail("wrong-tail-published", 0), std::pair(6.0, 6.0));
  EXPECT_EQ(tail("wrong-tail-invisible", 3), std::pair(8.0, 8.0));
}

/// "Many ranks wait, one did it": what the tools say about the lesson's crash is marked for what it is.
TEST(FailureScenarios, ToolsAreMarkedRightOrMisleading) {
  const auto says = [](const std::string& file, std::string_view tool) {
    const sim::Diagnosis d = sim::diagnose(run(file).trace);
    for (const sim::ToolSays& one : d.tools_would_say)
      if (one.tool == tool) return std::string(to_word(one.verdict));
    return std::string("absent");
  };
  EXPECT_EQ(says("hang-one-rank", "watchdog"), "misleading");  // only victims print it
  EXPECT_EQ(says("hang-one-rank", "flight recorder"), "right");
  EXPECT_EQ(says("extra-step", "flight recorder"), "misleading");  // it blames those who are done
  EXPECT_EQ(says("hang-inside", "RAS"), "silent");                 // all have launched it
  EXPECT_EQ(says("shape-nvlink", "flight recorder"), "right");
  EXPECT_EQ(says("wrong-tail-published", "flight recorder"), "misleading");  // takes rank 0 for innocent
  EXPECT_EQ(says("nan-spreads", "loss curve"), "misleading");
  EXPECT_EQ(says("hang-one-rank", "nvidia-smi"), "misleading");
}

}  // namespace
}  // namespace ringside::backend
