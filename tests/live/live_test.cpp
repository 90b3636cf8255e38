// `ringside-cli live` as its users start it: it completes, its numbers are the simulator's, and each fault
// gets its verdict.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <thread>
#include <tuple>

#include "backend/live/host_clocks.hpp"
#include "backend/live/recording.hpp"
#include "sim/job/simulate.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/diagnosis/from_trace.hpp"
#include "sim/trace/frame.hpp"

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

/// What `ringside-cli live` is asked for, and how many collectives a step that makes.
struct Job {
  const char* name;
  int ranks;
  std::string arguments;
  std::string scenario;  // instead of the command line's
  int calls = 1;
};
void PrintTo(const Job& job, std::ostream* out) {
  *out << job.name;
}

class SameNumbers : public testing::TestWithParam<Job> {};

/// Ring step by ring step, the real ranks hold the bits that the simulator computes. 105 parameters divide by
/// none of the world sizes but 3, and no bucket of them divides by 4 or 8.
TEST_P(SameNumbers, AsTheSimulator) {
  const Job& job = GetParam();
  const Folder folder;
  const std::string recording = folder.path + "/run.rsr";
  std::string what = "-n " + std::to_string(job.ranks) + " --steps 3";
  if (!job.scenario.empty()) {
    std::ofstream(folder.path + "/job.toml") << job.scenario;
    what = "--scenario " + folder.path + "/job.toml";
  }
  const LiveRun run = live(what + " " + job.arguments + " --record " + recording);
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
  EXPECT_EQ(real.size(), static_cast<std::size_t>(3 * job.calls * 2 * (job.ranks - 1) * job.ranks));
  EXPECT_TRUE(real == expected);
}

std::string job_toml(int ranks, const std::string& tensor, const std::string& training) {
  return "[cluster]\nnodes = 1\ngpus_per_node = " + std::to_string(ranks) + "\n[tensor]\n" + tensor +
         "\n[training]\nsteps = 3\n" + training +
         "\n[collective]\nop = \"avg\"\n[stack]\nlibrary = \"mpi\"\nwatchdog = \"30s\"\n";
}
const std::string kNetwork = "[training.network]\nenabled = true\nlayers = [2, 8, 8, 1]";

INSTANTIATE_TEST_SUITE_P(
    Worlds, SameNumbers,
    testing::Values(Job{"2_ranks_float32", 2, "--dtype float32", ""},
                    Job{"2_ranks_float16", 2, "--dtype float16", ""},
                    Job{"3_ranks_float32", 3, "--dtype float32", ""},
                    Job{"3_ranks_float16", 3, "--dtype float16", ""},
                    Job{"4_ranks_float32", 4, "--dtype float32", ""},
                    Job{"4_ranks_float16", 4, "--dtype float16", ""},
                    Job{"8_ranks_float32", 8, "--dtype float32", ""},
                    Job{"8_ranks_float16", 8, "--dtype float16", ""},
                    // Fewer elements than ranks: some chunks are empty. And a count that no world size divides.
                    Job{"8_ranks_5_elements", 8, "--elements 5 --dtype float32", ""},
                    Job{"4_ranks_1013_elements", 4, "--elements 1013 --dtype float16", ""},
                    // The last layer first, as DistributedDataParallel cuts it and the simulator does.
                    Job{"4_ranks_3_buckets", 4, "", job_toml(4, "dtype = \"float32\"", "buckets = 3\n" + kNetwork), 3},
                    Job{"3_ranks_5_buckets", 3, "", job_toml(3, "dtype = \"float16\"", "buckets = 5\n" + kNetwork), 5},
                    Job{"2_ranks_random_in_2_buckets", 2, "",
                        job_toml(2, "dtype = \"float32\"\nshape = [101]\nvalues = { random = \"normal\" }", "buckets = 2"), 2}),
    [](const auto& test) { return std::string(test.param.name); });

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

/// Where ring steps come faster than they may be told they are told of some training steps only, each whole,
/// nothing counts as lost, and the call that the job hangs in is there in full.
TEST(Live, AFastJobIsSampledAndItsHangIsNot) {
  const Folder folder;
  const std::string recording = folder.path + "/run.rsr";
  std::ofstream(folder.path + "/job.toml")
      << "[cluster]\nnodes = 1\ngpus_per_node = 4\n[tensor]\nshape = [64]\nvalues = { random = \"normal\" }\n"
         "[training]\nsteps = 400\n[collective]\nop = \"sum\"\n"
         "[stack]\nlibrary = \"mpi\"\nwatchdog = \"4s\"\n"
         "[[fault]]\nkind = \"hang\"\nrank = 3\nstep = 333\n";
  const LiveRun run = live("--scenario " + folder.path + "/job.toml --ring-steps-per-second 200 --record " + recording +
                           " --dump-dir " + folder.path);
  ASSERT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.json["diagnosis"]["kind"], "hang_rank_missing") << run.json["diagnosis"]["first_cause"]["what"];
  EXPECT_EQ(run.json["diagnosis"]["culprits"], nlohmann::json::array({3}));
  const auto trace = backend::read_recording(recording);
  ASSERT_TRUE(trace) << trace.error().message();
  std::map<std::int64_t, std::set<std::tuple<int, std::int64_t, std::uint32_t>>> begun;  // by training step
  std::set<std::int64_t> finished;
  std::map<int, std::uint32_t> next;
  bool said = false;
  for (const sim::Event& e : trace->events()) {
    if (e.rank() >= 0) {
      EXPECT_EQ(e.n, next[e.rank()]++) << "a gap would mean that something was lost";
    }
    if (e.type == sim::EventType::CollectiveFinished) finished.insert(trace->collective(e.collective.coll).step);
    said = said || (e.type == sim::EventType::LogLine && e.text.channel != sim::kNone &&
                    trace->string(e.text.channel) == "telemetry");
    if (e.type != sim::EventType::RingStepBegin) continue;
    const sim::CollectiveInfo& call = trace->collective(e.ring.coll);
    begun[call.step].insert({e.rank(), call.seq, e.ring.step});
  }
  EXPECT_TRUE(said);
  EXPECT_LT(begun.size(), finished.size() - 20) << "of the " << finished.size() << " steps that went through";
  constexpr std::size_t kWhole = 4 * 6;
  std::size_t whole = 0;
  for (const auto& [step, ring_steps] : begun) whole += ring_steps.size() == kWhole ? 1 : 0;
  EXPECT_GT(whole, 8u);
  std::set<int> who;
  for (const auto& [rank, seq, step] : begun[333]) who.insert(rank);
  EXPECT_GE(who.size(), 3u) << "everybody but the one that was stopped waits inside a call that is told";
}

/// Ctrl-C in the middle of a healthy run: somebody is inside a call as always, and nobody is accused, neither by
/// `live` nor by whoever opens the recording.
TEST(Live, StoppingAHealthyRunIsNoFailure) {
  const Folder folder;
  const std::string recording = folder.path + "/run.rsr";
  const std::string command = "ASAN_OPTIONS=detect_leaks=0 timeout -k 30 -s INT 8 " + std::string(RINGSIDE_BIN_DIR) +
                              "/ringside-cli live --json --device cpu -n 3 --steps 1000000 --pace 5ms --record " + recording +
                              " 2>/dev/null";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  std::string text;
  char buffer[4096];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, got);
  ::pclose(pipe);
  const auto json = nlohmann::json::parse(text, nullptr, false);
  ASSERT_TRUE(json.is_object()) << text;
  EXPECT_EQ(json["stopped"], true);
  EXPECT_EQ(json["outcome"], "completed");
  EXPECT_EQ(json["diagnosis"]["kind"], "none") << json["diagnosis"]["first_cause"]["what"];
  EXPECT_EQ(processes_left(recording), 0);
  const auto trace = backend::read_recording(recording);
  ASSERT_TRUE(trace) << trace.error().message();
  EXPECT_GT(trace->collective_count(), 10u);
  EXPECT_EQ(sim::diagnose(*trace).kind, sim::DiagnosisKind::None);
}

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

/// Two ranks say that they live on another host, whose clock is wrong by a quarter of a second. That is found,
/// with an error that holds, and nobody is blamed for it.
TEST(Live, ClocksOfHostsAreCompared) {
  const Folder folder;
  const std::string recording = folder.path + "/run.rsr";
  ::setenv("RINGSIDE_TEST_HOSTS", "alpha:0:0,beta:2:250000000", 1);
  const LiveRun run = live("-n 4 --steps 12 --pace 250ms --record " + recording);
  ::unsetenv("RINGSIDE_TEST_HOSTS");
  ASSERT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.json["outcome"], "completed");
  EXPECT_EQ(run.json["diagnosis"]["kind"], "none") << run.json["diagnosis"]["first_cause"]["what"];
  ASSERT_EQ(run.json["clocks"].size(), 1u);
  const auto& clock = run.json["clocks"][0];
  EXPECT_EQ(clock["host"], "beta");
  EXPECT_EQ(clock["reference"], "alpha");
  const auto offset = clock["offset_ns"].get<std::int64_t>(), error = clock["error_ns"].get<std::int64_t>();
  EXPECT_LE(std::abs(offset - 250'000'000), error);
  EXPECT_LT(error, 200'000'000) << "else it would say nothing";
  const auto trace = backend::read_recording(recording);
  ASSERT_TRUE(trace);
  bool said = false;
  for (const sim::Event& e : trace->events())
    said = said || (e.type == sim::EventType::LogLine && e.src_kind == sim::Source::Kind::Hub &&
                    trace->string(e.text.channel) == backend::kClockStream &&
                    trace->string(e.text.text).find("clock of beta") != std::string::npos);
  EXPECT_TRUE(said) << "viewers and the recording are told too";
}

/// A rank that hung or died shows as that two seconds later, and the others as waiting: in what the hub recorded,
/// which is what a window is sent.
TEST(Live, AHungOrDeadRankIsToldWithinTwoSeconds) {
  for (const auto& [fault, rank] : {std::pair("crash:rank=2,step=5", 2), std::pair("hang:rank=1,step=5", 1)}) {
    SCOPED_TRACE(fault);
    const Folder folder;
    const std::string recording = folder.path + "/run.rsr";
    const LiveRun run = live("-n 4 --steps 8 --watchdog 6s --dump-dir " + folder.path + " --fault " + fault +
                             " --record " + recording);
    ASSERT_EQ(run.exit_code, 0);
    const auto trace = backend::read_recording(recording);
    ASSERT_TRUE(trace) << trace.error().message();
    std::int64_t struck = 0;  // the last thing that the rank did itself
    for (const sim::Event& e : trace->events())
      if (e.rank() == rank && e.type != sim::EventType::Heartbeat && e.type != sim::EventType::Exit &&
          e.type != sim::EventType::WatchdogExpired)
        struck = std::max(struck, e.t);
    sim::FrameSource frames(*trace);
    const sim::Frame& frame = frames.frame_at(struck + 2'000'000'000);
    for (int r = 0; r < 4; ++r) {
      const sim::RankFrame& shown = frame.ranks.at(static_cast<std::size_t>(r));
      if (r == rank) {
        EXPECT_TRUE(shown.status == sim::RankStatus::Silent || shown.status == sim::RankStatus::Dead ||
                    shown.status == sim::RankStatus::Terminated)
            << to_word(shown.status);
      } else {
        EXPECT_NE(shown.in_collective, sim::kNone) << "R" << r << " waits in a collective";
      }
    }
  }
}

/// The process whose command line holds both texts; 0 if there is none.
int process_with(const std::string& first, const std::string& second) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    const std::string line((std::istreambuf_iterator<char>(file)), {});
    const int pid = std::atoi(entry.path().filename().c_str());
    if (pid > 0 && line.find(first) != std::string::npos && line.find(second) != std::string::npos) return pid;
  }
  return 0;
}

/// The hub dies in the middle: training goes on, another hub takes its place, and one recording holds the
/// beginning and the end.
TEST(Live, SurvivesTheDeathOfItsHub) {
  const Folder folder;
  const std::string recording = folder.path + "/run.rsr";
  ::setenv("TMPDIR", folder.path.c_str(), 1);  // the run's own folder, by which its hub is found
  LiveRun run;
  std::thread running([&] { run = live("-n 2 --steps 40 --pace 100ms --record " + recording); });
  int hub = 0;
  for (int i = 0; i < 3000 && hub == 0; ++i) {  // once training is recorded
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const auto trace = std::filesystem::exists(recording) ? backend::read_recording(recording)
                                                          : sim::Result<sim::Trace>(sim::Error{});
    if (trace && trace->size() > 100) hub = process_with(std::string("hub\0--run", 9), folder.path);
  }
  if (hub > 0) ::kill(hub, SIGKILL);
  running.join();
  ::unsetenv("TMPDIR");
  ASSERT_GT(hub, 0) << "no hub was found";
  ASSERT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.json["outcome"], "completed");
  EXPECT_EQ(run.json["hub_restarts"], 1);
  const auto trace = backend::read_recording(recording);
  ASSERT_TRUE(trace) << trace.error().message();
  std::int32_t first = 1000, last = 0;
  for (const sim::Event& e : trace->events())
    if (e.type == sim::EventType::PhaseBegin) {
      first = std::min(first, e.phase.step);
      last = std::max(last, e.phase.step);
    }
  EXPECT_EQ(first, 1);
  EXPECT_EQ(last, 40);
}

TEST(Live, RefusesWhatALiveRunCannotDo) {
  EXPECT_EQ(live("-n 2 --fault bit_flip:rank=0,step=1,bit=3").exit_code, 2);
  EXPECT_EQ(live("-n 2 --fault crash:rank=7,step=1").exit_code, 2);
  EXPECT_EQ(live("-n 2 --fault 'crash:rank=\"1\"'").exit_code, 2);
  EXPECT_EQ(live("-n 1000 --device gpu").exit_code, 1) << "more ranks than any host has GPUs";
}

/// As in a build without MPI: the program for ranks is not beside this one.
TEST(Live, SaysThatABuildHasNoRanks) {
  const Folder folder;
  std::filesystem::copy(std::string(RINGSIDE_BIN_DIR) + "/ringside-cli", folder.path);
  const std::string command = "timeout -k 5 20 " + folder.path + "/ringside-cli live -n 2 --device cpu 2>&1 >/dev/null";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  std::string text;
  char buffer[4096];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, got);
  EXPECT_EQ(WEXITSTATUS(::pclose(pipe)), 1) << text;
  EXPECT_NE(text.find("no live ranks"), std::string::npos) << text;
}

}  // namespace
}  // namespace ringside
