// A hub in this process and clients of it, for tests.
#pragma once

#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "backend/live/hub.hpp"
#include "backend/live/hub_connection.hpp"

namespace ringside::backend {

/// The limit is for a machine under load; what is true at once returns at once.
template <class Condition>
bool wait_for(Condition condition, std::chrono::milliseconds limit = std::chrono::seconds(20)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < end) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return condition();
}

struct RunningHub {
  std::string recording;
  std::unique_ptr<Hub> hub;
  std::thread thread;

  explicit RunningHub(bool record = false, const std::function<void(HubOptions&)>& change = {}) {
    HubOptions options;
    options.tokens = {"rank-token", "viewer-token", "controller-token"};
    options.header.world_size = 4;
    options.header.gpus_per_node = 4;
    options.header.source = "live";
    if (record) {
      std::string folder = (std::filesystem::temp_directory_path() / "ringside-hub-XXXXXX").string();
      recording = std::string(::mkdtemp(folder.data())) + "/run.rsr";
      options.recording = recording;
    }
    if (change) change(options);
    auto created = Hub::create(std::move(options));
    EXPECT_TRUE(created) << created.error().message();
    hub = std::move(*created);
    thread = std::thread([this] { hub->run(); });
  }
  ~RunningHub() { stop(); }
  void stop() {
    if (!thread.joinable()) return;
    hub->stop();
    thread.join();
  }
};

/// One connection with what came of it.
struct Client {
  std::mutex mutex;
  LinkState state = LinkState::Connecting;
  std::string text, received;
  std::unique_ptr<HubConnection> connection;

  Client(const RunningHub& hub, ClientRole role, const std::string& token, int rank = -1, int world_size = 4,
         int protocol = kProtocolVersion) {
    HubAddress address = *parse_hub_url(hub.hub->url());
    address.token = token;
    address.fingerprint = hub.hub->fingerprint();
    HubConnection::Callbacks callbacks;
    callbacks.hello = [=] {
      ClientHello hello;
      hello.protocol = protocol;
      hello.role = role;
      hello.rank = rank;
      hello.world_size = world_size;
      return hello;
    };
    callbacks.received = [this](std::string_view lines) {
      const std::lock_guard lock(mutex);
      received += lines;
    };
    callbacks.state_changed = [this](LinkState now, const std::string& why) {
      const std::lock_guard lock(mutex);
      state = now;
      if (!why.empty()) text = why;
    };
    connection = std::make_unique<HubConnection>(address, std::move(callbacks));
  }
  bool reaches(LinkState wanted) {
    return wait_for([&] {
      const std::lock_guard lock(mutex);
      return state == wanted;
    });
  }
  bool sees(std::string_view part) {
    return wait_for([&] {
      const std::lock_guard lock(mutex);
      return received.find(part) != std::string::npos;
    });
  }
};

inline std::string heartbeat(int rank, int n) {
  return "{\"t\":" + std::to_string(n) + ",\"src\":\"r" + std::to_string(rank) +
         "\",\"n\":" + std::to_string(n) +
         ",\"type\":\"heartbeat\",\"comm\":\"default_pg\",\"step\":1,\"phase\":\"forward\",\"enqueued\":0,"
         "\"started\":0,\"completed\":0}\n";
}

}  // namespace ringside::backend
