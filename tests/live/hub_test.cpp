// The hub: who may come in, what is refused and why, late joiners, garbage, and recordings that end anywhere.
#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "backend/live/hub.hpp"
#include "backend/live/hub_connection.hpp"
#include "backend/live/hub_state.hpp"
#include "backend/live/recording.hpp"
#include "tests/live/running_hub.hpp"

namespace ringside::backend {
namespace {

using namespace std::chrono_literals;

TEST(Hub, RefusesWithAReason) {
  RunningHub hub;
  Client wrong(hub, ClientRole::Viewer, "nonsense");
  EXPECT_TRUE(wrong.reaches(LinkState::Refused));
  EXPECT_EQ(wrong.text, text_of(RejectReason::Token));
  Client version(hub, ClientRole::Viewer, "viewer-token", -1, 4, 99);
  EXPECT_TRUE(version.reaches(LinkState::Refused));
  EXPECT_EQ(version.text, text_of(RejectReason::Version));
  Client as_rank(hub, ClientRole::Rank, "viewer-token", 0);
  EXPECT_TRUE(as_rank.reaches(LinkState::Refused));
  EXPECT_EQ(as_rank.text, text_of(RejectReason::Role));
  Client as_controller(hub, ClientRole::Controller, "viewer-token");
  EXPECT_TRUE(as_controller.reaches(LinkState::Refused));
  EXPECT_EQ(as_controller.text, text_of(RejectReason::Role));
  Client far(hub, ClientRole::Rank, "rank-token", 4);
  EXPECT_TRUE(far.reaches(LinkState::Refused));
  EXPECT_EQ(far.text, text_of(RejectReason::RankRange));
  Client world(hub, ClientRole::Rank, "rank-token", 0, 8);
  EXPECT_TRUE(world.reaches(LinkState::Refused));
  EXPECT_EQ(world.text, text_of(RejectReason::WorldSize));
}

TEST(Hub, ARankSpeaksForItselfOnly) {
  RunningHub hub;
  Client rank(hub, ClientRole::Rank, "rank-token", 1);
  ASSERT_TRUE(rank.reaches(LinkState::Connected));
  Client viewer(hub, ClientRole::Viewer, "viewer-token");
  ASSERT_TRUE(viewer.reaches(LinkState::Connected));
  rank.connection->send(heartbeat(2, 0) + heartbeat(1, 7) + "garbage\n");
  EXPECT_TRUE(viewer.sees("\"src\":\"r1\",\"n\":7"));
  EXPECT_EQ(viewer.received.find("\"src\":\"r2\""), std::string::npos);
  EXPECT_TRUE(wait_for([&] { return hub.hub->counters().malformed == 2; }));
}

TEST(Hub, LateJoinersGetWhatWas) {
  RunningHub hub;
  Client rank(hub, ClientRole::Rank, "rank-token", 0);
  ASSERT_TRUE(rank.reaches(LinkState::Connected));
  for (int n = 0; n < 50; ++n) rank.connection->send(heartbeat(0, n));
  ASSERT_TRUE(wait_for([&] { return hub.hub->counters().events >= 50; }));
  Client late(hub, ClientRole::Viewer, "viewer-token");
  EXPECT_TRUE(late.sees("\"src\":\"r0\",\"n\":0,"));
  EXPECT_TRUE(late.sees("\"src\":\"r0\",\"n\":49,"));
}

TEST(Hub, OnlyAControllerCommands) {
  RunningHub hub;
  Client rank(hub, ClientRole::Rank, "rank-token", 3);
  Client viewer(hub, ClientRole::Viewer, "viewer-token");
  Client controller(hub, ClientRole::Controller, "controller-token");
  ASSERT_TRUE(rank.reaches(LinkState::Connected));
  ASSERT_TRUE(viewer.reaches(LinkState::Connected));
  ASSERT_TRUE(controller.reaches(LinkState::Connected));
  sim::Fault fault;
  fault.kind = sim::FaultKind::Nan;
  fault.rank = 3;
  fault.step = 9;
  viewer.connection->send(command_json(fault));
  EXPECT_TRUE(wait_for([&] { return hub.hub->counters().refused == 1; }));
  controller.connection->send(command_json(fault));
  EXPECT_TRUE(rank.sees("\"kind\":\"nan\""));
  EXPECT_TRUE(viewer.sees("\"type\":\"command\""));
}

TEST(Hub, NoForeignAddressWithoutTls) {
  HubOptions options;
  options.address = "0.0.0.0";
  options.tokens = {"a", "b", "c"};
  const auto hub = Hub::create(std::move(options));
  ASSERT_FALSE(hub);
  EXPECT_NE(hub.error().message().find("TLS"), std::string::npos);
}

TEST(Hub, SelfSignedCertificateIsPinned) {
  std::string folder = (std::filesystem::temp_directory_path() / "ringside-tls-XXXXXX").string();
  folder = ::mkdtemp(folder.data());
  ASSERT_TRUE(write_self_signed(folder + "/cert.pem", folder + "/key.pem", "localhost"));
  HubOptions options;
  options.tokens = {"r", "v", "c"};
  options.tls_certificate = folder + "/cert.pem";
  options.tls_key = folder + "/key.pem";
  auto hub = Hub::create(std::move(options));
  ASSERT_TRUE(hub) << hub.error().message();
  std::thread serving([&] { (*hub)->run(); });
  const auto connects = [&](const std::string& fingerprint) {
    std::atomic<int> state{-1};
    HubAddress address = *parse_hub_url((*hub)->url());
    address.token = "v";
    address.fingerprint = fingerprint;
    HubConnection::Callbacks callbacks;
    callbacks.hello = [] { return ClientHello{}; };
    callbacks.state_changed = [&](LinkState now, const std::string&) { state = static_cast<int>(now); };
    HubConnection connection(address, std::move(callbacks));
    wait_for([&] {
      return state == static_cast<int>(LinkState::Connected) || state == static_cast<int>(LinkState::Refused);
    });
    return state == static_cast<int>(LinkState::Connected);
  };
  EXPECT_TRUE(connects((*hub)->fingerprint()));
  EXPECT_FALSE(connects(std::string(64, '0')));
  (*hub)->stop();
  serving.join();
  std::filesystem::remove_all(folder);
}

TEST(Recording, OpensWhereverItWasCut) {
  std::string whole;
  {
    RunningHub hub(true);
    Client rank(hub, ClientRole::Rank, "rank-token", 0);
    ASSERT_TRUE(rank.reaches(LinkState::Connected));
    for (int n = 0; n < 400; ++n) {
      rank.connection->send(heartbeat(0, n));
      if (n % 100 == 99) std::this_thread::sleep_for(150ms);
    }
    ASSERT_TRUE(wait_for([&] { return hub.hub->counters().events >= 400; }));
    rank.connection.reset();
    hub.stop();
    whole = hub.recording;
  }
  const auto complete = read_recording(whole);
  ASSERT_TRUE(complete) << complete.error().message();
  EXPECT_GE(complete->size(), 400u);
  std::ifstream in(whole, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  std::size_t events_before = 0;
  for (std::size_t cut = bytes.size() / 4; cut <= bytes.size(); cut += bytes.size() / 17) {
    const std::string path = whole + ".cut";
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes.substr(0, cut);
    const auto part = read_recording(path);
    ASSERT_TRUE(part) << "cut at " << cut << ": " << part.error().message();
    EXPECT_GE(part->size(), events_before);
    events_before = part->size();
  }
  std::filesystem::remove_all(std::filesystem::path(whole).parent_path());
}

TEST(HubLines, OnlyTheDocumentedForm) {
  EXPECT_EQ(check_rank_line(R"({"t":5,"src":"r3","n":0,"type":"exit","code":0})", 3), LineCheck::Sticky);
  EXPECT_EQ(check_rank_line(R"({"t":5,"src":"r3","n":0,"type":"phase_begin","phase":"forward","step":1})", 3),
            LineCheck::Good);
  EXPECT_EQ(check_rank_line(R"({"t":5,"src":"r4","n":0,"type":"exit","code":0})", 3), LineCheck::Malformed);
  EXPECT_EQ(check_rank_line(R"({"t":5,"src":"r3","n":0,"type":"exit","code":0)", 3), LineCheck::Malformed);
  EXPECT_EQ(check_rank_line(R"({"t":5,"src":"r3","n":0,"type":"no such type"})", 3), LineCheck::Malformed);
  EXPECT_EQ(check_rank_line("", 3), LineCheck::Malformed);
}

}  // namespace
}  // namespace ringside::backend
