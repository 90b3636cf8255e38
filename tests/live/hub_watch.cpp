// Watches a hub from anywhere and prints what it sees, one line each: "connected", "host NAME" for each new host
// that ranks live on, "rank N" for each rank that says hello, "step N" as training goes on, "port NAME down". Ends
// with 0 when the hub is gone after it was seen, with 1 when it was not seen in time.
//   hub_watch URL [seconds = 60]
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>

#include "backend/live/hub_connection.hpp"

namespace {

using namespace ringside;

class Watcher {
 public:
  void received(std::string_view lines) {
    while (!lines.empty()) {
      const std::size_t end = std::min(lines.find('\n'), lines.size());
      look_at(lines.substr(0, end));
      lines.remove_prefix(std::min(end + 1, lines.size()));
    }
  }

 private:
  void look_at(std::string_view line) {
    const auto json = nlohmann::json::parse(line.begin(), line.end(), nullptr, false);
    if (json.is_discarded()) return;
    const std::string type = json.value("type", "");
    if (type == "hello") {
      if (const std::string host = json.value("host", ""); hosts_.insert(host).second) say("host " + host);
      say("rank " + json.value("src", "?").substr(1));
    } else if (type == "phase_begin" && json.value("step", 0) > step_) {
      step_ = json.value("step", 0);
      say("step " + std::to_string(step_));
    } else if (type == "nic_state") {
      say("port " + json.value("text", "?") + (json.value("up", false) ? " up" : " down"));
    } else if (type == "log" && json.value("stream", "") == "clock") {
      say(json.value("text", ""));
    }
  }
  static void say(const std::string& text) {
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
  }
  std::set<std::string> hosts_;
  int step_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const auto address = argc > 1 ? backend::parse_hub_url(argv[1]) : sim::Result<backend::HubAddress>(sim::Error{.what = "no URL"});
  if (!address) {
    std::fprintf(stderr, "hub_watch: %s\n", address.error().message().c_str());
    return 2;
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(argc > 2 ? std::atoi(argv[2]) : 60);
  Watcher watcher;
  std::atomic<bool> seen{false}, gone{false};
  backend::HubConnection::Callbacks callbacks;
  callbacks.hello = [] { return backend::ClientHello{}; };
  callbacks.received = [&](std::string_view lines) { watcher.received(lines); };
  callbacks.state_changed = [&](backend::LinkState state, const std::string& text) {
    if (state == backend::LinkState::Connected) {
      seen = true;
      std::printf("connected\n");
      std::fflush(stdout);
    }
    if (state == backend::LinkState::Refused) std::fprintf(stderr, "refused: %s\n", text.c_str());
    if (state == backend::LinkState::Refused || (state == backend::LinkState::Lost && seen)) gone = true;
  };
  backend::HubConnection connection(*address, std::move(callbacks));
  while (!gone && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return seen ? 0 : 1;
}
