// What many viewers cost the ranks: `ringside-cli live` with 16 ranks, in turn with nobody watching and with 200
// viewers of which 20 never read. Prints the ratio of the ranks' median step times with its interval, the most
// memory the hub took, and whether the recording lacks an event of any rank.
//   live_load_bench [pairs = 7] [ranks = 16] [viewers = 200] [of which never read = 20] [steps = 40]
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include "backend/live/hub_connection.hpp"
#include "backend/live/process.hpp"
#include "backend/live/protocol.hpp"
#include "backend/live/recording.hpp"
#include "tests/bench/paired.hpp"

namespace {

using namespace ringside;

struct Plan {
  int pairs = 7, ranks = 16, viewers = 200, deaf = 20, steps = 40;
};

/// Many viewers in one thread, so that they take as little of this machine as they can: what comes is thrown
/// away. The deaf ones say hello and never read.
class Crowd {
 public:
  Crowd(const backend::HubAddress& hub, int viewers, int deaf) {
    for (int i = 0; i < viewers; ++i)
      if (const int fd = enter(hub); fd >= 0) (i < deaf ? deaf_ : reading_).push_back({fd, POLLIN, 0});
    thread_ = std::thread([this] { read(); });
  }
  ~Crowd() {
    over_ = true;
    thread_.join();
    for (const auto* group : {&deaf_, &reading_})
      for (const pollfd& one : *group) ::close(one.fd);
  }
  std::size_t size() const { return deaf_.size() + reading_.size(); }
  std::int64_t bytes() const { return bytes_; }

 private:
  static int enter(const backend::HubAddress& hub) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(hub.port.c_str())));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return -1;
    const std::string request =
        "GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    backend::ClientHello hello;
    hello.token = hub.token;
    hello.role = backend::ClientRole::Controller;
    hello.accept_zstd = true;  // as the window does
    const std::string text = backend::hello_json(hello);
    std::string frame = "\x81";
    frame += static_cast<char>(0x80 | 126);
    frame += static_cast<char>(text.size() >> 8);
    frame += static_cast<char>(text.size() & 0xFF);
    frame.append(4, '\0');  // a mask of zeros
    frame += text;
    if (::send(fd, request.data(), request.size(), MSG_NOSIGNAL) < 0) return -1;
    std::string answer;
    for (char c = 0; answer.find("\r\n\r\n") == std::string::npos;) {
      if (::recv(fd, &c, 1, 0) != 1) return -1;
      answer += c;
    }
    return ::send(fd, frame.data(), frame.size(), MSG_NOSIGNAL) < 0 ? -1 : fd;
  }
  void read() {
    std::vector<char> buffer(1 << 16);
    while (!over_) {
      ::poll(reading_.data(), reading_.size(), 50);
      for (pollfd& one : reading_) {
        if (one.revents == 0) continue;
        const ssize_t got = ::recv(one.fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (got == 0) one.events = 0;
        if (got > 0) bytes_ += got;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the hub sends ten times a second
    }
  }
  std::vector<pollfd> deaf_, reading_;
  std::atomic<bool> over_{false};
  std::atomic<std::int64_t> bytes_{0};
  std::thread thread_;
};

/// The child of `pid` that runs `ringside-cli hub`.
int hub_of(int pid) {
  std::ifstream children("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children");
  for (int child = 0; children >> child;) {
    std::ifstream line("/proc/" + std::to_string(child) + "/cmdline");
    std::string text((std::istreambuf_iterator<char>(line)), {});
    if (text.find(std::string("\0hub\0", 5)) != std::string::npos) return child;
  }
  return -1;
}

std::int64_t peak_kib(int pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::atoll(line.c_str() + 6);
  return 0;
}

struct Outcome {
  double step_ms = 0;
  std::int64_t hub_kib = 0, events = 0, lost = 0, crowd_bytes = 0;
  std::size_t crowd = 0;
};

/// From a rank's first phase to its last in one step; the first two steps warm up.
void look_at(const std::string& recording, int ranks, Outcome& out) {
  const auto trace = backend::read_recording(recording);
  if (!trace) {
    std::fprintf(stderr, "no recording: %s\n", trace.error().message().c_str());
    std::exit(1);
  }
  std::map<std::pair<int, int>, std::pair<std::int64_t, std::int64_t>> spans;
  std::map<int, std::uint32_t> next;
  int ended = 0;  // a rank's exit is the last that it says: without it an unknown number is missing
  for (const sim::Event& e : trace->events()) {
    if (e.rank() < 0) continue;
    ++out.events;
    if (e.type == sim::EventType::EventsDropped) out.lost += 1;
    if (e.type == sim::EventType::Exit) ++ended;
    if (e.n != next[e.rank()]) out.lost += std::max<std::int64_t>(1, std::int64_t{e.n} - next[e.rank()]);
    next[e.rank()] = e.n + 1;
    if ((e.type != sim::EventType::PhaseBegin && e.type != sim::EventType::PhaseEnd) || e.phase.step < 3) continue;
    auto& span = spans.try_emplace({e.rank(), e.phase.step}, e.t, e.t).first->second;
    span = {std::min(span.first, e.t), std::max(span.second, e.t)};
  }
  out.lost += ranks - ended;
  std::vector<double> steps;
  for (const auto& [key, span] : spans) steps.push_back(static_cast<double>(span.second - span.first) / 1e6);
  out.step_ms = bench::median_interval(std::move(steps)).median;
}

Outcome run(const std::string& bin, const Plan& plan, bool watched) {
  std::string folder = (std::filesystem::temp_directory_path() / "ringside-load-XXXXXX").string();
  folder = ::mkdtemp(folder.data());
  const std::string recording = folder + "/run.rsr";
  auto live = backend::Child::start({"/bin/sh", "-c", "exec \"$0\" \"$@\" 2>&1 >/dev/null", bin + "/ringside-cli", "live",
                                     "-n", std::to_string(plan.ranks), "--device", "cpu", "--steps",
                                     std::to_string(plan.steps), "--watchdog", "120s", "--record", recording},
                                    {}, true);
  if (!live) std::exit(1);
  std::string url;
  while (url.empty()) {
    const auto line = live->read_line(60'000);
    if (!line) std::exit(1);
    const std::size_t begin = line->find('\''), end = line->rfind('\'');
    if (line->starts_with("Watch it") && end > begin) url = line->substr(begin + 1, end - begin - 1);
  }
  Outcome out;
  {
    std::unique_ptr<Crowd> crowd;
    if (watched) crowd = std::make_unique<Crowd>(*backend::parse_hub_url(url), plan.viewers, plan.deaf);
    const int hub = hub_of(live->pid());
    while (live->running()) {
      if (hub > 0) out.hub_kib = std::max(out.hub_kib, peak_kib(hub));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    if (crowd) {
      out.crowd = crowd->size();
      out.crowd_bytes = crowd->bytes();
    }
  }
  look_at(recording, plan.ranks, out);
  std::filesystem::remove_all(folder);
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  int* const numbers[] = {&plan.pairs, &plan.ranks, &plan.viewers, &plan.deaf, &plan.steps};
  for (int i = 1; i < argc && i <= 5; ++i) *numbers[i - 1] = std::atoi(argv[i]);
  const std::string bin = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  std::vector<double> alone, watched;
  std::int64_t lost = 0;
  for (int pair = 0; pair < plan.pairs; ++pair) {
    for (int turn = 0; turn < 2; ++turn) {
      const bool with = (turn == 1) == (pair % 2 == 0);
      const Outcome out = run(bin, plan, with);
      (with ? watched : alone).push_back(out.step_ms);
      lost += out.lost;
      std::printf("%-8s median step %8.3f ms, %lld events, %lld lost, hub at most %.1f MiB", with ? "watched" : "alone",
                  out.step_ms, static_cast<long long>(out.events), static_cast<long long>(out.lost),
                  static_cast<double>(out.hub_kib) / 1024);
      if (with)
        std::printf(", %zu viewers read %.1f MB", out.crowd, static_cast<double>(out.crowd_bytes) / 1e6);
      std::printf("\n");
      std::fflush(stdout);
    }
  }
  const bench::Interval ratio = bench::ratio_interval(watched, alone);
  std::printf("%d ranks, %d viewers of which %d never read: step time watched / alone = %.3f, 95 %% interval %.3f to %.3f "
              "(aim: at most 1.05); %lld events lost\n",
              plan.ranks, plan.viewers, plan.deaf, ratio.median, ratio.low, ratio.high, static_cast<long long>(lost));
  return lost == 0 ? 0 : 1;
}
