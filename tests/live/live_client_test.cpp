// The window's client against a real hub: what it may do, what it gets, and what it says after it was away.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

#include "backend/live/hub.hpp"
#include "backend/live/live_client.hpp"
#include "backend/trace_reader.hpp"

namespace ringside::backend {
namespace {

using namespace std::chrono_literals;

/// Long enough for a loaded machine: no test here measures time.
bool wait_for(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (std::chrono::steady_clock::now() < end) {
    if (condition()) return true;
    std::this_thread::sleep_for(5ms);
  }
  return condition();
}

struct RunningHub {
  std::unique_ptr<Hub> hub;
  std::thread thread;
  explicit RunningHub(std::uint16_t port = 0, const std::string& title = "job") {
    HubOptions options;
    options.tokens = {"rank-token", "viewer-token", "controller-token"};
    options.header.world_size = 4;
    options.header.gpus_per_node = 4;
    options.header.source = "live";
    options.header.title = title;
    options.port = port;
    options.port_tries = 1;
    auto created = Hub::create(std::move(options));
    EXPECT_TRUE(created) << created.error().message();
    hub = std::move(*created);
    thread = std::thread([this] { hub->run(); });
  }
  ~RunningHub() {
    hub->stop();
    thread.join();
  }
};

HubAddress address_of(const RunningHub& hub, const std::string& token) {
  HubAddress address = *parse_hub_url(hub.hub->url());
  address.token = token;
  return address;
}

std::unique_ptr<HubConnection> connect_rank(const HubAddress& to, int rank) {
  HubConnection::Callbacks callbacks;
  callbacks.hello = [rank] {
    ClientHello hello;
    hello.role = ClientRole::Rank;
    hello.rank = rank;
    hello.world_size = 4;
    return hello;
  };
  auto connection = std::make_unique<HubConnection>(to, std::move(callbacks));
  EXPECT_TRUE(wait_for([&] { return connection->connected(); }));
  return connection;
}

std::string heartbeat(int rank, int n) {
  return "{\"t\":" + std::to_string(n) + ",\"src\":\"r" + std::to_string(rank) + "\",\"n\":" + std::to_string(n) +
         ",\"type\":\"heartbeat\",\"comm\":\"default_pg\",\"step\":1,\"phase\":\"forward\",\"enqueued\":0,"
         "\"started\":0,\"completed\":0}\n";
}

/// Reads all that waits into a trace.
void read_into(TraceReader& reader, LiveClient& client) {
  for (std::string lines = client.take(1 << 20); !lines.empty(); lines = client.take(1 << 20))
    EXPECT_TRUE(reader.feed(lines)) << reader.problem()->message();
}

std::vector<std::uint32_t> numbers_of(const sim::Trace& trace, int rank) {
  std::vector<std::uint32_t> out;
  for (const sim::Event& e : trace.events())
    if (e.rank() == rank) out.push_back(e.n);
  return out;
}

TEST(LiveClient, SaysWhyItWasRefused) {
  RunningHub hub;
  LiveClient client(address_of(hub, "nonsense"));
  EXPECT_TRUE(wait_for([&] { return client.status().link == LinkState::Refused; }));
  EXPECT_EQ(client.status().text, text_of(RejectReason::Token));
  EXPECT_EQ(client.take(1 << 20), "");
}

TEST(LiveClient, HeaderSnapshotThenStream) {
  RunningHub hub;
  const auto rank = connect_rank(address_of(hub, "rank-token"), 0);
  for (int n = 0; n < 20; ++n) rank->send(heartbeat(0, n));
  ASSERT_TRUE(wait_for([&] { return hub.hub->counters().events >= 20; }));
  LiveClient client(address_of(hub, "viewer-token"));
  TraceReader reader("live");
  ASSERT_TRUE(wait_for([&] { return client.status().events >= 20; }));
  read_into(reader, client);
  EXPECT_EQ(reader.trace().header.world_size, 4);
  EXPECT_EQ(reader.trace().header.source, "live");
  rank->send(heartbeat(0, 20));
  ASSERT_TRUE(wait_for([&] {
    read_into(reader, client);
    return numbers_of(reader.trace(), 0).size() == 21;
  }));
  EXPECT_EQ(client.status().missed, 0);
  EXPECT_FALSE(client.status().may_command);
  EXPECT_FALSE(client.order(sim::Fault{}));
}

TEST(LiveClient, TheControllersTokenMayOrderFaults) {
  RunningHub hub;
  std::mutex mutex;
  std::string got;
  HubConnection::Callbacks callbacks;
  callbacks.hello = [] {
    ClientHello hello;
    hello.role = ClientRole::Rank;
    hello.rank = 2;
    hello.world_size = 4;
    return hello;
  };
  callbacks.received = [&](std::string_view text) {
    const std::lock_guard lock(mutex);
    got += text;
  };
  HubConnection rank(address_of(hub, "rank-token"), std::move(callbacks));
  ASSERT_TRUE(wait_for([&] { return rank.connected(); }));
  LiveClient client(address_of(hub, "controller-token"));
  ASSERT_TRUE(wait_for([&] { return client.status().may_command; }));
  ASSERT_TRUE(wait_for([&] { return client.status().link == LinkState::Connected; }));
  sim::Fault fault;
  fault.kind = sim::FaultKind::Hang;
  fault.rank = 2;
  ASSERT_TRUE(client.order(fault));
  EXPECT_TRUE(wait_for([&] {
    const std::lock_guard lock(mutex);
    return got.find("\"kind\":\"hang\"") != std::string::npos;
  }));
  fault.kind = sim::FaultKind::LinkDown;
  EXPECT_FALSE(client.order(fault));
}

TEST(LiveClient, ComesBackAndSaysWhatWasMissed) {
  auto hub = std::make_unique<RunningHub>();
  const std::uint16_t port = hub->hub->port();
  const HubAddress as_rank = address_of(*hub, "rank-token");
  LiveClient client(address_of(*hub, "viewer-token"));
  TraceReader reader("live");
  {
    const auto rank = connect_rank(as_rank, 1);
    for (int n = 0; n < 5; ++n) rank->send(heartbeat(1, n));
    ASSERT_TRUE(wait_for([&] {
      read_into(reader, client);
      return numbers_of(reader.trace(), 1).size() == 5;
    }));
  }
  hub.reset();
  ASSERT_TRUE(wait_for([&] { return client.status().link == LinkState::Lost; }));
  EXPECT_FALSE(client.status().text.empty());
  hub = std::make_unique<RunningHub>(port);
  {
    const auto rank = connect_rank(as_rank, 1);  // its lines 5 … 7 went nowhere
    rank->send(heartbeat(1, 8) + heartbeat(1, 9));
    ASSERT_TRUE(wait_for([&] {
      read_into(reader, client);
      return numbers_of(reader.trace(), 1).size() == 7;
    }));
  }
  const LiveStatus status = client.status();
  EXPECT_EQ(status.connections, 2);
  EXPECT_EQ(status.missed, 3);
  EXPECT_EQ(status.missed_since_connected, 3);
  EXPECT_EQ(numbers_of(reader.trace(), 1), (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 8, 9}));
}

TEST(LiveClient, AnotherJobAtTheSameAddressIsNotMixedIn) {
  auto hub = std::make_unique<RunningHub>();
  const std::uint16_t port = hub->hub->port();
  LiveClient client(address_of(*hub, "viewer-token"));
  ASSERT_TRUE(wait_for([&] { return client.status().link == LinkState::Connected; }));
  hub = nullptr;
  hub = std::make_unique<RunningHub>(port, "another job");
  ASSERT_TRUE(wait_for([&] { return client.status().other_job; }));
  EXPECT_EQ(client.status().link, LinkState::Refused);
}

TEST(LiveClient, AFullQueueStopsReadingAndLosesNothing) {
  RunningHub hub;
  const auto rank = connect_rank(address_of(hub, "rank-token"), 3);
  LiveClient client(address_of(hub, "viewer-token"), {.queue_bytes = 2000});
  ASSERT_TRUE(wait_for([&] { return client.status().link == LinkState::Connected; }));
  constexpr int kMany = 400;
  int sent = 0;
  while (sent < kMany) {  // several batches, more than the queue holds
    for (int i = 0; i < 40; ++i) rank->send(heartbeat(3, sent++));
    const int until = sent;
    ASSERT_TRUE(wait_for([&] { return hub.hub->counters().events >= until; }));
  }
  TraceReader reader("live");
  ASSERT_TRUE(wait_for([&] {
    reader.feed(client.take(700));
    return numbers_of(reader.trace(), 3).size() == kMany;
  }));
  EXPECT_FALSE(reader.problem());
  EXPECT_EQ(client.status().missed, 0);
}

TEST(LiveClient, EndsWhileItsQueueIsFull) {
  RunningHub hub;
  const auto rank = connect_rank(address_of(hub, "rank-token"), 0);
  LiveClient client(address_of(hub, "viewer-token"), {.queue_bytes = 1});
  for (int n = 0; n < 50; ++n) rank->send(heartbeat(0, n));
  EXPECT_TRUE(wait_for([&] { return client.waiting() > 0; }));
}

}  // namespace
}  // namespace ringside::backend
