// A hub that is killed with SIGKILL, over and over: the recording opens each time, holds what any viewer had
// seen, and goes on when the hub is started anew; ranks and viewers find it again by themselves.
// RINGSIDE_HUB_KILLS=20 sets how often (fewer by default: each takes about a second).
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <map>
#include <random>

#include "backend/live/clock.hpp"
#include "backend/live/launcher.hpp"
#include "backend/live/process.hpp"
#include "backend/live/recording.hpp"
#include "tests/live/running_hub.hpp"

namespace ringside::backend {
namespace {

using namespace std::chrono_literals;

/// `ringside-cli hub --run FILE`, as `live` starts it.
struct HubProgram {
  std::string folder;
  HubRunFile run;
  Child child;
  int starts = 0;

  HubProgram() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ringside-kill-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
    EXPECT_TRUE(make_tokens(run));
    run.address = "127.0.0.1";
    run.recording = folder + "/run.rsr";
    run.world_size = 2;
    run.gpus_per_node = 2;
    run.origin_unix_ns = unix_ns();
  }
  ~HubProgram() { std::filesystem::remove_all(folder); }
  void start() {
    const std::string path = folder + "/run-" + std::to_string(starts++) + ".json";
    ASSERT_TRUE(write_run_file(path, run));
    auto started = Child::start({std::string(RINGSIDE_BIN_DIR) + "/ringside-cli", "hub", "--run", path}, {}, true);
    ASSERT_TRUE(started);
    child = std::move(*started);
    const auto said = child.read_line(30'000);
    ASSERT_TRUE(said && said->starts_with("port ")) << (said ? *said : said.error().message());
    run.port = std::atoi(said->c_str() + 5);
    run.resume = true;
  }
  void kill() {
    ::kill(child.pid(), SIGKILL);
    while (child.running()) std::this_thread::sleep_for(1ms);
  }
  HubAddress address(const std::string& token) const {
    HubAddress out;
    out.host = run.address;
    out.port = std::to_string(run.port);
    out.token = token;
    return out;
  }
};

/// A client that says how often it was connected and lost.
struct Counted {
  std::atomic<int> connected{0}, lost{0};
  std::mutex mutex;
  std::string received, why;
  std::unique_ptr<HubConnection> connection;

  Counted(const HubAddress& address, const ClientHello& hello) {
    HubConnection::Callbacks callbacks;
    callbacks.hello = [this, hello] {
      ClientHello now = hello;
      const std::lock_guard lock(mutex);
      if (now.role == ClientRole::Viewer) now.have_events = std::count(received.begin(), received.end(), '\n');
      return now;
    };
    callbacks.received = [this](std::string_view lines) {
      const std::lock_guard lock(mutex);
      received += lines;
    };
    callbacks.state_changed = [this](LinkState state, const std::string& text) {
      if (state == LinkState::Connected) ++connected;
      if (state != LinkState::Lost) return;
      ++lost;
      const std::lock_guard lock(mutex);
      why = text;
    };
    connection = std::make_unique<HubConnection>(address, std::move(callbacks));
  }
};

ClientHello rank_hello(int rank) {
  ClientHello hello;
  hello.role = ClientRole::Rank;
  hello.rank = rank;
  hello.world_size = 2;
  return hello;
}

/// Two ranks that say something every two milliseconds, whatever happens to the hub.
class Training {
 public:
  explicit Training(const HubProgram& hub)
      : ranks_{std::make_unique<Counted>(hub.address(hub.run.rank_token), rank_hello(0)),
               std::make_unique<Counted>(hub.address(hub.run.rank_token), rank_hello(1))},
        origin_(hub.run.origin_unix_ns),
        thread_([this] { train(); }) {}
  ~Training() {
    over_ = true;
    thread_.join();
  }
  bool all_connected(int times) const {
    return ranks_[0]->connected >= times && ranks_[1]->connected >= times;
  }
  int steps() const { return steps_; }

 private:
  void train() {
    for (; !over_; ++steps_) {
      for (int r = 0; r < 2; ++r) {
        const std::string n = std::to_string(steps_.load());
        ranks_[r]->connection->send("{\"t\":" + std::to_string(unix_ns() - origin_) + ",\"src\":\"r" +
                                    std::to_string(r) + "\",\"n\":" + n +
                                    ",\"type\":\"heartbeat\",\"comm\":\"default_pg\",\"step\":" + n +
                                    ",\"phase\":\"forward\",\"enqueued\":0,\"started\":0,\"completed\":0}\n");
      }
      std::this_thread::sleep_for(2ms);
    }
  }
  std::unique_ptr<Counted> ranks_[2];
  std::int64_t origin_;
  std::atomic<bool> over_{false};
  std::atomic<int> steps_{0};
  std::thread thread_;
};

/// The largest `t` in lines of events.
std::int64_t newest_in(const std::string& lines) {
  std::int64_t newest = 0;
  for (std::size_t at = 0; (at = lines.find("{\"t\":", at)) != std::string::npos; ++at)
    newest = std::max<std::int64_t>(newest, std::strtoll(lines.c_str() + at + 5, nullptr, 10));
  return newest;
}

TEST(HubKilled, RecordingsHoldAndEverybodyComesBack) {
  const char* asked = std::getenv("RINGSIDE_HUB_KILLS");
  const int kills = asked != nullptr ? std::atoi(asked) : 4;
  HubProgram hub;
  hub.start();
  if (HasFatalFailure()) return;
  Training training(hub);
  ClientHello viewer_hello;
  Counted viewer(hub.address(hub.run.viewer_token), viewer_hello);
  std::mt19937 random(7);
  std::size_t events_before = 0;
  std::int64_t worst_ns = 0;
  for (int kill = 1; kill <= kills; ++kill) {
    SCOPED_TRACE("kill " + std::to_string(kill));
    ASSERT_TRUE(wait_for([&] { return training.all_connected(kill) && viewer.connected >= kill; }, 60s));
    std::this_thread::sleep_for(std::chrono::milliseconds(100 + random() % 900));
    const std::int64_t killed_at = unix_ns() - hub.run.origin_unix_ns;
    const int steps = training.steps();
    hub.kill();
    const auto trace = read_recording(hub.run.recording);
    ASSERT_TRUE(trace) << trace.error().message();
    EXPECT_GT(trace->size(), events_before);
    events_before = trace->size();
    ASSERT_TRUE(wait_for([&] { return viewer.lost >= kill; }));
    std::int64_t seen = 0;
    {
      const std::lock_guard lock(viewer.mutex);
      seen = newest_in(viewer.received);
      EXPECT_FALSE(viewer.why.empty()) << "a viewer says why";
    }
    EXPECT_GE(trace->end_time(), seen) << "written before anybody sees it";
    // A second is ten ticks of the hub; a machine that did not let it run for so long is no fault of its own.
    const std::int64_t behind = killed_at - trace->end_time();
    worst_ns = std::max(worst_ns, behind);
    if (killed_at - seen < 1'000'000'000) {
      EXPECT_LT(behind, 1'000'000'000);
    }
    EXPECT_TRUE(wait_for([&] { return training.steps() > steps; })) << "ranks go on without a hub";
    hub.start();
    if (HasFatalFailure()) return;
  }
  ASSERT_TRUE(wait_for([&] { return training.all_connected(kills + 1) && viewer.connected >= kills + 1; }, 60s));
  ASSERT_TRUE(wait_for([&] {
    const std::lock_guard lock(viewer.mutex);
    std::size_t anew = 0;
    for (std::size_t at = 0; (at = viewer.received.find("the hub was started anew", at)) != std::string::npos; ++at)
      ++anew;
    return anew == static_cast<std::size_t>(kills);
  }));
  std::printf("%d kills, recordings ended at most %.3f s before the kill\n", kills,
              static_cast<double>(worst_ns) / 1e9);
  hub.kill();

  // One recording of it all; what the hub itself said is numbered without a gap across its lives.
  const auto trace = read_recording(hub.run.recording);
  ASSERT_TRUE(trace) << trace.error().message();
  std::uint32_t next = 0;
  std::map<int, std::uint32_t> last;
  for (const sim::Event& e : trace->events()) {
    if (e.src_kind == sim::Source::Kind::Hub) {
      EXPECT_EQ(e.n, next++);
    }
    if (e.rank() < 0) continue;
    if (last.contains(e.rank())) {
      EXPECT_GT(e.n, last[e.rank()]) << "in order, and none twice";
    }
    last[e.rank()] = e.n;
  }
}

TEST(HubKilled, AnotherRunsRecordingIsNotGoneOnWith) {
  HubProgram first, second;
  first.start();
  first.kill();
  HubOptions options;
  options.tokens = {"a", "b", "c"};
  options.header.world_size = 3;
  options.recording = first.run.recording;
  options.resume = true;
  const auto hub = Hub::create(std::move(options));
  ASSERT_FALSE(hub);
  EXPECT_NE(hub.error().message().find("another run"), std::string::npos);
}

}  // namespace
}  // namespace ringside::backend
