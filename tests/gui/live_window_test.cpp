// The window on real ranks: mpirun, four processes, real faults. Pictures through EGL; RINGSIDE_PICTURES=FOLDER
// keeps them.
#include "tests/gui/harness.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>

#include "app/session/live_desk.hpp"

namespace ringside::app::test {
namespace {

using namespace std::chrono_literals;

bool until(Harness& h, const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + 120s;
  while (std::chrono::steady_clock::now() < end) {
    h.session().update(16'666'667);
    if (condition()) return true;
    std::this_thread::sleep_for(20ms);
  }
  return false;
}

bool shows_part(const Harness& h, std::string_view part) {
  return std::any_of(h.record().texts.begin(), h.record().texts.end(),
                     [&](const DrawnText& t) { return t.text.find(part) != std::string::npos; });
}

/// All that the last frame says, for a failure.
std::string words(const Harness& h) {
  std::string out;
  for (const DrawnText& text : h.record().texts) out += text.text + " | ";
  return out;
}

/// Something is drawn: many pixels differ from the first one.
void expect_a_picture(const Harness& h, const std::string& name) {
  const Image& image = h.image();
  ASSERT_EQ(image.rgba.size(), static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height) * 4);
  std::size_t other = 0;
  for (std::size_t i = 4; i < image.rgba.size(); i += 4)
    other += std::equal(&image.rgba[i], &image.rgba[i] + 4, &image.rgba[0]) ? 0 : 1;
  EXPECT_GT(other, image.rgba.size() / 4 / 20) << name;
  if (const char* folder = std::getenv("RINGSIDE_PICTURES")) {
    EXPECT_TRUE(write_png(std::string(folder) + "/" + name + ".png", image));
  }
}

std::vector<pid_t> pids_of(const sim::Trace& trace) {
  std::vector<pid_t> out;
  for (const sim::Event& e : trace.events())
    if (e.type == sim::EventType::Hello) out.push_back(static_cast<pid_t>(trace.hello(e.hello.hello).pid));
  return out;
}

HarnessOptions offscreen() {
  HarnessOptions options;
  options.offscreen = true;
  return options;
}

/// Four ranks over MPI, started from the window, after a few training steps.
struct RealJob {
  Harness h;
  explicit RealJob(const HarnessOptions& options = offscreen()) : h(options) {
    h.session().live().program_folder = RINGSIDE_BIN_DIR;
    HereOptions wanted;
    wanted.device = "cpu";
    wanted.pace = "150ms";
    const sim::Status started = h.session().live().start_here(wanted);
    EXPECT_TRUE(started) << started.error().message();
    EXPECT_TRUE(until(h, [&] { return h.session().grows() && steps() >= 4; })) << said();
  }
  std::int32_t steps() { return h.session().frame().step; }
  std::string said() {
    std::string out;
    for (const std::string& line : h.session().live().here_said()) out += line + "\n";
    return out;
  }
  void order(sim::FaultKind kind, int rank) {
    ASSERT_TRUE(until(h, [&] { return h.session().live().status().may_command; }));
    sim::Fault fault;
    fault.kind = kind;
    fault.rank = rank;
    fault.step = 0;  // now
    const sim::Status done = h.session().live().order(fault);
    EXPECT_TRUE(done) << done.error().message();
  }
};

TEST(LiveWindow, TrainingRingAndHangComeOutAsPictures) {
  RealJob job;
  Harness& h = job.h;
  h.frames(3);
  EXPECT_TRUE(shows_part(h, "4 ranks train"));
  EXPECT_EQ(h.problems(), "");
  expect_a_picture(h, "live-training");

  h.session().scene_id = "allreduce";
  ASSERT_TRUE(until(h, [&] { return h.session().frame().collective.transfers_done > 0; }));
  h.session().apply(action::Pause{});
  h.frames(3);
  EXPECT_GT(h.session().frame().collective.cells_per_rank, 0u) << "a stepped run shows its chunks";
  EXPECT_EQ(h.problems(), "");
  expect_a_picture(h, "live-ring");
  h.session().scene_id = "step";
  h.frames(3);
  EXPECT_EQ(h.problems(), "");
  expect_a_picture(h, "live-step");

  h.session().scene_id = "live";
  h.session().apply(action::Follow{});
  job.order(sim::FaultKind::Hang, 1);
  ASSERT_TRUE(until(h, [&] {
    h.frames(1);
    return shows_part(h, "R1 has been silent") && shows_part(h, "3 ranks wait");
  })) << words(h);
  EXPECT_TRUE(shows_part(h, "all wait for R1"));
  EXPECT_EQ(h.problems(), "");
  expect_a_picture(h, "live-hang");
  h.session().scene_id = "cluster";
  h.frames(3);
  EXPECT_EQ(h.problems(), "");
  expect_a_picture(h, "live-hang-cluster");
}

TEST(LiveWindow, ClosingTheWindowIsQuickAndEndsEveryProcess) {
  std::vector<pid_t> pids;
  std::chrono::steady_clock::time_point closed;
  {
    RealJob job(HarnessOptions{});
    ASSERT_TRUE(until(job.h, [&] { return pids_of(job.h.session().trace()).size() == 4; }));
    pids = pids_of(job.h.session().trace());
    closed = std::chrono::steady_clock::now();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - closed, 1s) << "a closed window is gone at once";
  // ringside-cli live, which the window started, ends by itself and in order: with its own status, not by a signal.
  int status = -1;
  for (int i = 0; i < 1500 && ::waitpid(-1, &status, WNOHANG) <= 0; ++i) std::this_thread::sleep_for(20ms);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  const auto all_gone = [&] {
    return std::none_of(pids.begin(), pids.end(), [](pid_t pid) { return ::kill(pid, 0) == 0; });
  };
  for (int i = 0; i < 1000 && !all_gone(); ++i) std::this_thread::sleep_for(20ms);
  EXPECT_TRUE(all_gone());
}

TEST(LiveWindow, StoppingTheRanksLeavesARecordingOnScreen) {
  RealJob job(HarnessOptions{});
  job.h.session().live().stop_here();
  ASSERT_TRUE(until(job.h, [&] { return !job.h.session().live().here() && !job.h.session().live().watching(); }));
  EXPECT_FALSE(job.h.session().grows());
  EXPECT_GT(job.h.session().trace().size(), 100u);
  job.h.frames(3);
  EXPECT_EQ(job.h.problems(), "");
}

TEST(LiveWindow, SaysWhatToInstallWithoutMpirun) {
  Harness h;
  h.session().live().program_folder = RINGSIDE_BIN_DIR;
  h.session().scene_id = "live";
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", "/nowhere", 1);
  HereOptions wanted;
  wanted.device = "cpu";
  EXPECT_TRUE(h.session().live().start_here(wanted));
  ::setenv("PATH", path.c_str(), 1);
  ASSERT_TRUE(until(h, [&] { return h.session().live().here_failed(); }));
  h.frames(3);
  EXPECT_TRUE(shows_part(h, "openmpi-bin"));
  EXPECT_EQ(h.problems(), "");
}

}  // namespace
}  // namespace ringside::app::test
