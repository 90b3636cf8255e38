// `ringside-cli live` as its users start it: it completes, its numbers are the simulator's, and each fault
// gets its verdict.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "backend/live/recording.hpp"
#include "sim/job/simulate.hpp"
#include "sim/scenario/scenario.hpp"

namespace ringside {
namespace {

struct Folder {
  std::string path;
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ringside-live-XXXXXX").string();
    path = ::mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

struct LiveRun {
  int exit_code = -1;
  nlohmann::json json;
};

/// On the CPU plane also where there are GPUs: gpu_device_test is for those.
LiveRun live(const std::string& arguments) {
  const bool says_device = arguments.find("--device") != std::string::npos;
  // MPI keeps memory to its end: leaks of its own are not ours to judge.
  const std::string command = "ASAN_OPTIONS=detect_leaks=0 timeout -k 5 90 " + std::string(RINGSIDE_BIN_DIR) +
                              "/ringside-cli live --json " + (says_device ? "" : "--device cpu ") +
                              arguments + " 2>/dev/null";
  LiveRun run;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  std::string text;
  char buffer[4096];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, got);
  run.exit_code = WEXITSTATUS(::pclose(pipe));
  run.json = nlohmann::json::parse(text, nullptr, false);
  return run;
}

int processes_left(const std::string& mark) {
  std::FILE* pipe = ::popen(("pgrep -fc 'ringside-rank .*" + mark + "'").c_str(), "r");
  int count = 0;
  if (std::fscanf(pipe, "%d", &count) != 1) count = 0;
  ::pclose(pipe);
  return count - 1;  // pgrep's own shell has the pattern in its command line
}

using StepKey = std::tuple<int, std::int64_t, std::uint32_t, std::uint32_t>;  // rank, seq, ring step, chunk

std::map<StepKey, std::vector<sim::Scalar>> numbers_of(const sim::Trace& trace) {
  std::map<StepKey, std::vector<sim::Scalar>> out;
  for (const sim::Event& e : trace.events())
    if (e.type == sim::EventType::RingStepEnd && e.ring.sample != sim::kNone)
      out[{e.rank(), trace.collective(e.ring.coll).seq, e.ring.step, e.ring.chunk}] =
          trace.sample(e.ring.sample).values;
  return out;
}

class SameNumbers : public testing::TestWithParam<std::tuple<int, const char*>> {};

/// Ring step by ring step, the real ranks hold the bits that the simulator computes. 105 parameters divide by
/// none of the world sizes.
TEST_P(SameNumbers, AsTheSimulator) {
  const auto [ranks, dtype] = GetParam();
  const Folder folder;
  const std::string recording = folder.path + "/run.rsr";
  const LiveRun run =
      live("-n " + std::to_string(ranks) + " --steps 3 --dtype " + dtype + " --record " + recording);
  ASSERT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.json["outcome"], "completed");
  EXPECT_EQ(run.json["diagnosis"]["kind"], "none");
  const auto trace = backend::read_recording(recording);
  ASSERT_TRUE(trace) << trace.error().message();
  const auto scenario = sim::parse_scenario(trace->header.scenario_toml, "recorded");
  ASSERT_TRUE(scenario) << scenario.error().message();
  const sim::Simulation simulated = sim::simulate(*scenario);
  const auto real = numbers_of(*trace), expected = numbers_of(simulated.trace);
  EXPECT_EQ(real.size(), expected.size());
  EXPECT_EQ(real.size(), static_cast<std::size_t>(3 * 2 * (ranks - 1) * ranks));
  EXPECT_TRUE(real == expected);
}
INSTANTIATE_TEST_SUITE_P(Worlds, SameNumbers,
                         testing::Values(std::tuple(2, "float32"), std::tuple(3, "float32"),
                                         std::tuple(4, "float16"), std::tuple(8, "float32")),
                         [](const auto& test) {
                           return std::to_string(std::get<0>(test.param)) + "_ranks_" +
                                  std::get<1>(test.param);
                         });

class Faults : public testing::TestWithParam<std::tuple<const char*, const char*, const char*, int>> {};

TEST_P(Faults, GetTheirVerdict) {
  const auto [fault, outcome, kind, culprit] = GetParam();
  const Folder folder;
  const LiveRun run = live("-n 4 --steps 8 --watchdog 2s --dump-dir " + folder.path + " --fault " + fault);
  ASSERT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.json["outcome"], outcome);
  EXPECT_EQ(run.json["diagnosis"]["kind"], kind) << run.json["diagnosis"]["first_cause"]["what"];
  EXPECT_EQ(run.json["diagnosis"]["culprits"], nlohmann::json::array({culprit}));
  EXPECT_EQ(processes_left(folder.path), 0);
  if (std::string_view(outcome) == "timeout") {
    EXPECT_TRUE(std::filesystem::exists(folder.path + "/nccl_trace_rank_0")) << "survivors leave dumps";
  }
}
INSTANTIATE_TEST_SUITE_P(
    Kinds, Faults,
    testing::Values(std::tuple("crash:rank=2,step=5", "error", "rank_crash", 2),
                    std::tuple("hang:rank=1,step=5", "timeout", "hang_rank_missing", 1),
                    std::tuple("nan:rank=3,step=5", "nan", "nan", 3),
                    std::tuple("shape:rank=0,step=5", "error", "shape_mismatch", 0),
                    std::tuple("skip_step:rank=2,step=5", "timeout", "sequence_mismatch", 2),
                    std::tuple("early_exit:rank=1,step=5", "timeout", "rank_exit_early", 1)),
    [](const auto& test) {
      const std::string_view fault = std::get<0>(test.param);
      return std::string(fault.substr(0, fault.find(':')));
    });

/// Integers add up to the same in any order, so both ways must agree; floats may not, and then it is said.
TEST(Live, BothWaysOnTheSameDataAreCompared) {
  const LiveRun integers = live("-n 3 --steps 2 --both --elements 1000 --dtype int32 --op sum --device cpu");
  ASSERT_EQ(integers.exit_code, 0);
  EXPECT_EQ(integers.json["outcome"], "completed");
  EXPECT_EQ(integers.json["mode"], "both");
  EXPECT_EQ(integers.json["collectives"], 4);
  EXPECT_EQ(integers.json["comparison"]["collectives"], 6);
  EXPECT_EQ(integers.json["comparison"]["equal"], 6);
  const LiveRun halves = live("-n 4 --steps 1 --both --elements 1001 --dtype float16 --op sum --device cpu");
  const nlohmann::json& found = halves.json["comparison"];
  EXPECT_EQ(found["collectives"], 4);
  EXPECT_EQ(found["equal"] == 4, !found.contains("first_difference"));
}

TEST(Live, RefusesWhatALiveRunCannotDo) {
  EXPECT_EQ(live("-n 2 --fault bit_flip:rank=0,step=1,bit=3").exit_code, 2);
  EXPECT_EQ(live("-n 2 --fault crash:rank=7,step=1").exit_code, 2);
  EXPECT_EQ(live("-n 2 --fault 'crash:rank=\"1\"'").exit_code, 2);
  EXPECT_EQ(live("-n 1000 --device gpu").exit_code, 1) << "more ranks than any host has GPUs";
}

}  // namespace
}  // namespace ringside
