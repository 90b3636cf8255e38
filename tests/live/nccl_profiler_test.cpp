// The NCCL profiler plugin, loaded and called as NCCL does it (nccl_profiler_driver), against a real hub:
// what it says is in the recording; without a hub, with a flood, with wrong handles the job goes on.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "backend/live/hub.hpp"
#include "backend/live/recording.hpp"

namespace ringside {
namespace {

using sim::EventType;

struct Served {
  std::string folder, recording, url;
  std::unique_ptr<backend::Hub> hub;
  std::thread thread;
  int world;
  explicit Served(int ranks) : world(ranks) {
    std::string pattern = (std::filesystem::temp_directory_path() / "ringside-prof-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
    recording = folder + "/job.rsr";
    backend::HubOptions options;
    options.tokens = {"rank-token", "viewer-token", "controller-token"};
    options.recording = recording;
    options.header.source = "live";
    options.header.world_size = world;
    options.header.gpus_per_node = 1;
    options.header.origin_unix_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count();
    auto made = backend::Hub::create(std::move(options));
    if (!made) {
      ADD_FAILURE() << made.error().message();
      return;
    }
    hub = std::move(*made);
    url = hub->url() + "/#token=rank-token";
    thread = std::thread([this] { hub->run(); });
  }
  /// Waits until every rank has said this so many times, as far as it is recorded; half a minute at most.
  void wait_for(EventType type, int times) const {
    for (int i = 0; i < 300; ++i) {
      std::map<int, int> said;
      if (const auto trace = backend::read_recording(recording))
        for (const sim::Event& e : trace->events())
          if (e.type == type) ++said[e.rank()];
      if (std::count_if(said.begin(), said.end(), [&](const auto& rank) { return rank.second >= times; }) == world) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
  sim::Trace stop() {
    wait_for(EventType::Left, 1);
    hub->stop();
    thread.join();
    auto trace = backend::read_recording(recording);
    EXPECT_TRUE(trace) << trace.error().message();
    return trace ? std::move(*trace) : sim::Trace{};
  }
  ~Served() { std::filesystem::remove_all(folder); }
};

struct Driven {
  int exit_code = -1;
  std::string said;
};
Driven drive(const std::string& environment, int version, int rank, int world, int comms, int flood) {
  const std::string bin = RINGSIDE_BIN_DIR;
  const std::string command = "unset WORLD_SIZE RANK OMPI_COMM_WORLD_RANK SLURM_PROCID; " + environment +
                              " " + bin + "/nccl_profiler_driver " + bin + "/libnccl-profiler-ringside.so " +
                              std::to_string(version) + " " + std::to_string(rank) + " " +
                              std::to_string(world) + " " + std::to_string(comms) + " " +
                              std::to_string(flood) + " 2>&1";
  Driven out;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  char buffer[4096];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe)) out.said.append(buffer, got);
  out.exit_code = WEXITSTATUS(::pclose(pipe));
  return out;
}

class Versions : public testing::TestWithParam<int> {};

TEST_P(Versions, TwoProcessesWithTwoCommunicatorsAreInTheRecording) {
  Served served(2);
  const std::string enough = served.folder + "/enough";
  std::vector<std::thread> ranks;
  for (int r = 0; r < 2; ++r)
    ranks.emplace_back([&, r] {
      const Driven run =
          drive("RINGSIDE_HUB='" + served.url + "' STAY_UNTIL=" + enough + " RANK=" + std::to_string(r) + " WORLD_SIZE=2",
                GetParam(), r, 2, 2, 0);
      EXPECT_EQ(run.exit_code, 0) << run.said;
    });
  served.wait_for(EventType::Heartbeat, 2);
  std::ofstream(enough) << "enough\n";
  for (std::thread& rank : ranks) rank.join();
  const sim::Trace trace = served.stop();

  std::map<std::tuple<int, std::string, std::int64_t>, std::vector<EventType>> calls;
  std::map<int, std::map<EventType, int>> count;
  std::map<int, std::uint32_t> next_n;
  std::set<std::tuple<int, int, std::uint32_t>> waited;  // rank, peer, what for
  for (const sim::Event& e : trace.events()) {
    EXPECT_EQ(e.n, next_n[e.rank()]++) << "gapless";
    ++count[e.rank()][e.type];
    switch (e.type) {
      case EventType::CollectiveEnqueued:
      case EventType::CollectiveStarted:
      case EventType::CollectiveFinished: {
        const sim::CollectiveInfo& info = trace.collective(e.collective.coll);
        calls[{e.rank(), trace.string(info.comm), info.seq}].push_back(e.type);
        if (e.type != EventType::CollectiveEnqueued) break;
        EXPECT_EQ(e.collective.channels, 2);
        if (info.seq == 1) {
          EXPECT_EQ(e.collective.collective, sim::Collective::AllReduce);
          EXPECT_EQ(e.collective.dtype, sim::DType::Float32);
          EXPECT_EQ(e.collective.count, 1000);
        } else if (info.seq == 2) {  // 9 bytes in the int32 that a trace has
          EXPECT_EQ(e.collective.collective, sim::Collective::AllGather);
          EXPECT_EQ(e.collective.count, 3);
        } else {
          EXPECT_EQ(e.collective.collective, sim::Collective::Broadcast);
          EXPECT_EQ(e.collective.dtype, sim::DType::BFloat16);
        }
        break;
      }
      case EventType::RingStepWait:
        waited.insert({e.rank(), e.ring.peer, e.flags});
        EXPECT_GE(e.aux32, 1000u);
        break;
      case EventType::RingStepBegin:
        EXPECT_EQ(e.ring.peer, 1 - e.rank());
        EXPECT_TRUE(e.ring.step == 1 || e.ring.step == 2);
        EXPECT_EQ(e.aux32, 1000 + e.ring.step - 1);
        break;
      default:
        break;
    }
  }
  const std::vector<EventType> whole{EventType::CollectiveEnqueued, EventType::CollectiveStarted,
                                     EventType::CollectiveFinished};
  EXPECT_EQ(calls.size(), 2u * 2u * 3u);
  for (const auto& [key, events] : calls) EXPECT_EQ(events, whole) << std::get<1>(key);
  for (int r = 0; r < 2; ++r) {
    EXPECT_TRUE((calls.contains({r, "world", 3}))) << "named by the user";
    EXPECT_TRUE((calls.contains({r, "000000000000abc1", 3}))) << "named by its id";
    auto& own = count[r];
    EXPECT_EQ(own[EventType::Hello], 1);
    EXPECT_EQ(own[EventType::CommInit], 2);
    EXPECT_EQ(own[EventType::CommFinalize], 2);
    EXPECT_EQ(own[EventType::Left], 1);
    EXPECT_GT(own[EventType::Heartbeat], 1);
    // Only of the communicator that spans the job: 3 collectives × 2 channels × 2 steps.
    EXPECT_EQ(own[EventType::RingStepBegin], 12);
    EXPECT_EQ(own[EventType::RingStepArrive], 12);
    EXPECT_EQ(own[EventType::RingStepEnd], 12);
    EXPECT_EQ(own[EventType::RingStepWait], 12 * 2 + 12 * 2);
    EXPECT_EQ(own[EventType::EventsDropped], 0);
    for (const auto waits : {sim::WaitsFor::Gpu, sim::WaitsFor::Peer, sim::WaitsFor::Network})
      EXPECT_TRUE((waited.contains({r, 1 - r, static_cast<std::uint32_t>(waits)})));
  }
}
INSTANTIATE_TEST_SUITE_P(Api, Versions, testing::Values(4, 5, 6),
                         [](const auto& test) { return "v" + std::to_string(test.param); });

TEST(Profiler, WithoutAHubNothingIsAskedForAndTheReasonIsLogged) {
  const Driven run = drive("env -u RINGSIDE_HUB", 5, 0, 1, 1, 0);
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_NE(run.said.find("mask 0"), std::string::npos) << run.said;
  EXPECT_NE(run.said.find("RINGSIDE_HUB is not set"), std::string::npos) << run.said;
}

TEST(Profiler, AFeederThatIsNotThereOrAHubThatIsAwayStopsNothing) {
  const Driven missing = drive("RINGSIDE_HUB=http://127.0.0.1:9 RINGSIDE_FEED=/nowhere/feed", 5, 0, 1, 1, 0);
  EXPECT_EQ(missing.exit_code, 0) << missing.said;
  EXPECT_NE(missing.said.find("/nowhere/feed did not start"), std::string::npos) << missing.said;
  const Driven away = drive("RINGSIDE_HUB=http://127.0.0.1:9", 5, 0, 1, 1, 0);
  EXPECT_EQ(away.exit_code, 0) << away.said;
}

/// Far more steps than the queue holds, while the hub is away and then with it: calls stay quick, collectives
/// come through, drops are counted.
TEST(Profiler, AFloodIsDroppedAndCountedAndNeverWaits) {
  Served served(1);
  const Driven run = drive("RINGSIDE_HUB='" + served.url + "'", 5, 0, 1, 1, 4'000);
  EXPECT_EQ(run.exit_code, 0) << run.said;
  long long ns = 0;
  ASSERT_EQ(std::sscanf(run.said.substr(run.said.find("ns_per_event")).c_str(), "ns_per_event %lld", &ns), 1)
      << run.said;
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(ns, 200'000) << "on a busy machine; about one microsecond an event else, with its calls";
#endif
  const sim::Trace trace = served.stop();
  std::map<EventType, std::int64_t> count;
  std::int64_t dropped = 0;
  for (const sim::Event& e : trace.events()) {
    ++count[e.type];
    if (e.type == EventType::EventsDropped) dropped += static_cast<std::int64_t>(e.dropped.count);
  }
  EXPECT_EQ(count[EventType::CollectiveEnqueued], 3);
  EXPECT_EQ(count[EventType::CollectiveFinished], 3);
  EXPECT_GT(dropped, 0);
}

}  // namespace
}  // namespace ringside
