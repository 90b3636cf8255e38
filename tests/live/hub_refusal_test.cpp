// Every kind of connection that a hub refuses: with a reason, logged, and nobody else notices.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "backend/live/hub.hpp"
#include "backend/live/hub_connection.hpp"
#include "tests/live/raw_client.hpp"
#include "tests/live/running_hub.hpp"

namespace ringside::backend {
namespace {

using namespace std::chrono_literals;

/// A hub in use: a rank writes, a viewer reads, before and after whatever somebody else tries.
class Refusal : public testing::Test {
 protected:
  RunningHub hub{false, [](HubOptions& options) {
                   options.handshake_timeout_ms = 1500;
                   options.max_connections = 8;
                 }};
  Client rank{hub, ClientRole::Rank, "rank-token", 0};
  Client viewer{hub, ClientRole::Viewer, "viewer-token"};
  int next_n = 0;

  void SetUp() override {
    ASSERT_TRUE(rank.reaches(LinkState::Connected));
    ASSERT_TRUE(viewer.reaches(LinkState::Connected));
    goes_on();
  }
  void goes_on() {
    const int n = next_n++;
    rank.connection->send(heartbeat(0, n));
    EXPECT_TRUE(viewer.sees("\"src\":\"r0\",\"n\":" + std::to_string(n) + ",")) << "others must not notice";
  }
  void is_logged(std::string_view text) {
    EXPECT_TRUE(viewer.sees(text)) << "not in the log: " << text;
    goes_on();
  }
  void is_logged(RejectReason reason) { is_logged(text_of(reason)); }
  int port() const { return hub.hub->port(); }
};

std::string hello_of(int protocol, std::string_view role, std::string_view token, int rank = 0,
                     int world_size = 4) {
  return "{\"magic\":\"ringside-hello\",\"protocol\":" + std::to_string(protocol) + ",\"role\":\"" +
         std::string(role) + "\",\"token\":\"" + std::string(token) +
         "\",\"rank\":" + std::to_string(rank) + ",\"world_size\":" + std::to_string(world_size) + "}";
}

TEST_F(Refusal, HelloThatDoesNotFit) {
  const std::pair<std::string, RejectReason> kHellos[] = {
      {hello_of(1, "viewer", "no such token"), RejectReason::Token},
      {hello_of(1, "viewer", ""), RejectReason::Token},
      {hello_of(2, "viewer", "viewer-token"), RejectReason::Version},
      {hello_of(1, "rank", "viewer-token", 1), RejectReason::Role},
      {hello_of(1, "controller", "viewer-token"), RejectReason::Role},
      {hello_of(1, "viewer", "rank-token"), RejectReason::Role},
      {hello_of(1, "rank", "rank-token", 0), RejectReason::RankTaken},  // a replayed id
      {hello_of(1, "rank", "rank-token", 4), RejectReason::RankRange},
      {hello_of(1, "rank", "rank-token", -1), RejectReason::RankRange},
      {hello_of(1, "rank", "rank-token", 1, 1'000'000), RejectReason::WorldSize},  // a lie
      {"GET / HTTP/1.1", RejectReason::Malformed},
      {"[]", RejectReason::Malformed},
      {std::string(1000, '[') + std::string(1000, ']'), RejectReason::Malformed},
      {"{\"magic\":\"something else\"}", RejectReason::Malformed},
      {std::string("\0\xFF\x80", 3), RejectReason::Malformed},
  };
  for (const auto& [hello, reason] : kHellos) {
    SCOPED_TRACE(hello.substr(0, 120));
    RawClient client(port());
    ASSERT_NE(client.upgrade().find(" 101 "), std::string::npos);
    ASSERT_TRUE(client.send_text(hello));
    // Text that is no UTF-8 ends the WebSocket by its own rules; everything else gets a Reject.
    const std::string answer = hello.find('\xFF') == std::string::npos ? client.read_until("}") : "";
    client.send_close();
    client.read_all(20'000);
    if (hello.find('\xFF') == std::string::npos) {
      EXPECT_NE(answer.find("\"reason\":\"" + std::string(to_word(reason)) + "\""), std::string::npos)
          << answer;
    }
    EXPECT_TRUE(client.closed());
    is_logged(reason);
  }
}

TEST_F(Refusal, WrongOrigin) {
  RawClient client(port());
  const std::string answer = client.upgrade("Origin: https://elsewhere.example\r\n");
  EXPECT_NE(answer.find(" 403 "), std::string::npos) << answer;
  EXPECT_NE(answer.find(text_of(RejectReason::Origin)), std::string::npos);
  is_logged(RejectReason::Origin);
}

TEST_F(Refusal, GarbageInsteadOfHttp) {
  RawClient client(port());
  ASSERT_TRUE(client.send(std::string("\x16\x03\x01\x02\x00\xFF\xFF\r\n\r\n", 11)));
  EXPECT_NE(client.read_all().find(text_of(RejectReason::NotHttp)), std::string::npos);
  EXPECT_TRUE(client.closed());
  is_logged(RejectReason::NotHttp);
}

TEST_F(Refusal, HttpThatIsTooBig) {
  RawClient header(port());
  header.send("GET /ws HTTP/1.1\r\nX: " + std::string(20'000, 'x'));
  EXPECT_NE(header.read_all().find(" 413 "), std::string::npos);
  RawClient body(port());
  body.send("POST /ws HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1073741824\r\n\r\nx");
  EXPECT_NE(body.read_all().find(" 413 "), std::string::npos);
  is_logged(RejectReason::TooBig);
}

TEST_F(Refusal, GarbageInsteadOfFrames) {
  RawClient client(port());
  ASSERT_NE(client.upgrade().find(" 101 "), std::string::npos);
  client.send(std::string(64, '\x7F'));  // reserved bits, an opcode that does not exist
  client.read_all();
  EXPECT_TRUE(client.closed());
  is_logged(RejectReason::Malformed);
}

constexpr unsigned long long kGigabyte = 1ull << 30;

TEST_F(Refusal, GigabyteAnnounced) {
  RawClient stranger(port());
  ASSERT_NE(stranger.upgrade().find(" 101 "), std::string::npos);
  stranger.send_frame("{", kGigabyte);
  stranger.read_all();
  EXPECT_TRUE(stranger.closed());
  is_logged(RejectReason::TooBig);

  RawClient known(port());  // with a token, but no more room than a message may take
  ASSERT_NE(known.upgrade().find(" 101 "), std::string::npos);
  known.send_text(hello_of(1, "rank", "rank-token", 1));
  known.send_frame("{", kGigabyte);
  EXPECT_NE(known.read_all().find("ringside-welcome"), std::string::npos);
  EXPECT_TRUE(known.closed());
  is_logged("rank 1 sent a message of more than");
}

std::int64_t peak_memory_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6));
  return 0;
}

/// The gigabyte is really sent, in pieces of one message, for as long as the hub takes them.
TEST_F(Refusal, GigabyteStreamed) {
  const std::int64_t before = peak_memory_kib();
  RawClient client(port());
  ASSERT_NE(client.upgrade().find(" 101 "), std::string::npos);
  client.send_text(hello_of(1, "rank", "rank-token", 1));
  const std::string piece(1 << 16, ' ');
  unsigned long long sent = 0;
  while (sent < kGigabyte && client.send_frame(piece, piece.size(), false, sent == 0 ? 1 : 0))
    sent += piece.size();
  EXPECT_LT(sent, kGigabyte / 16) << "the hub went on reading";
  EXPECT_LT(peak_memory_kib() - before, 64 * 1024);
  is_logged("rank 1 sent a message of more than");
}

TEST_F(Refusal, HalfAMessageAndSilence) {
  RawClient http(port()), nothing(port()), frame(port());
  http.send("GET /ws HTTP/1.1\r\nHost: loc");
  ASSERT_NE(frame.upgrade().find(" 101 "), std::string::npos);
  const std::string hello = hello_of(1, "viewer", "viewer-token");
  frame.send_frame(hello.substr(0, 20), hello.size());
  EXPECT_NE(http.read_all(20'000).find(" 408 "), std::string::npos);
  EXPECT_TRUE(http.closed());
  EXPECT_NE(frame.read_all(20'000).find("\"reason\":\"silent\""), std::string::npos);
  EXPECT_TRUE(frame.closed());
  nothing.read_all(20'000);
  EXPECT_TRUE(nothing.closed());
  is_logged(RejectReason::Silent);
}

/// Let in, then half a message: its place is free again after the idle limit.
TEST(Refusals, HalfAMessageOfARank) {
  RunningHub hub(false, [](HubOptions& options) { options.idle_timeout_ms = 3000; });
  Client viewer(hub, ClientRole::Viewer, "viewer-token");
  ASSERT_TRUE(viewer.reaches(LinkState::Connected));
  RawClient rank(hub.hub->port());
  ASSERT_NE(rank.upgrade().find(" 101 "), std::string::npos);
  rank.send_text(hello_of(1, "rank", "rank-token", 2));
  rank.send_frame("{\"t\":1,\"src\":\"r2\"", 100);
  rank.read_all(30'000);
  EXPECT_TRUE(rank.closed());
  EXPECT_TRUE(viewer.sees("rank 2 said nothing for 3 s; disconnected"));
  Client again(hub, ClientRole::Rank, "rank-token", 2);
  EXPECT_TRUE(again.reaches(LinkState::Connected));
  again.connection->send(heartbeat(2, 0));
  EXPECT_TRUE(viewer.sees("\"src\":\"r2\",\"n\":0,"));
}

TEST_F(Refusal, TooManyConnections) {
  std::vector<std::unique_ptr<RawClient>> others;  // with the rank and the viewer as many as the hub takes
  std::vector<std::unique_ptr<Client>> viewers;
  for (int i = 0; i < 6; ++i) {
    viewers.push_back(std::make_unique<Client>(hub, ClientRole::Viewer, "viewer-token"));
    ASSERT_TRUE(viewers.back()->reaches(LinkState::Connected));
  }
  RawClient late(port());
  const std::string answer = late.upgrade();
  EXPECT_NE(answer.find(" 503 "), std::string::npos) << answer;
  EXPECT_NE(answer.find(text_of(RejectReason::Full)), std::string::npos);
  is_logged(RejectReason::Full);
  Client later(hub, ClientRole::Viewer, "viewer-token");
  EXPECT_TRUE(wait_for([&] {
    const std::lock_guard lock(later.mutex);
    return later.text == text_of(RejectReason::Full);
  })) << "the client says why, and tries again";
  viewers.pop_back();
  EXPECT_TRUE(later.reaches(LinkState::Connected));
  goes_on();
}

/// Who is refused over and over must not fill the recording.
TEST_F(Refusal, ManyAreCountedAndSomeAreListed) {
  for (int i = 0; i < 150; ++i) {
    RawClient client(port());
    client.upgrade("Origin: https://elsewhere.example\r\n");
  }
  EXPECT_TRUE(wait_for([&] { return hub.hub->counters().refused >= 150; }));
  goes_on();
  const std::lock_guard lock(viewer.mutex);
  std::size_t listed = 0;
  for (std::size_t at = 0; (at = viewer.received.find("refused 127.0.0.1", at)) != std::string::npos; ++at)
    ++listed;
  EXPECT_GE(listed, 20u);
  EXPECT_LT(listed, 120u);
}

struct TlsFolder {
  std::string path;
  TlsFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ringside-tls-XXXXXX").string();
    path = ::mkdtemp(pattern.data());
    EXPECT_TRUE(write_self_signed(path + "/cert.pem", path + "/key.pem", "localhost"));
  }
  ~TlsFolder() { std::filesystem::remove_all(path); }
};

TEST(Refusals, PlainConnectionToATlsHub) {
  const TlsFolder folder;
  RunningHub hub(false, [&](HubOptions& options) {
    options.tls_certificate = folder.path + "/cert.pem";
    options.tls_key = folder.path + "/key.pem";
    options.handshake_timeout_ms = 1500;
  });
  Client rank(hub, ClientRole::Rank, "rank-token", 0);
  Client viewer(hub, ClientRole::Viewer, "viewer-token");
  ASSERT_TRUE(rank.reaches(LinkState::Connected));
  ASSERT_TRUE(viewer.reaches(LinkState::Connected));

  RawClient plain(hub.hub->port());
  EXPECT_NE(plain.upgrade().find(text_of(RejectReason::NeedsTls)), std::string::npos);
  EXPECT_TRUE(viewer.sees(text_of(RejectReason::NeedsTls)));
  RawClient broken(hub.hub->port());  // begins like a ClientHello
  broken.send(std::string("\x16\x03\x01\x00\xC8\x01\x00\x00\xC4", 9) + std::string(300, '\xEE'));
  broken.read_all();
  EXPECT_TRUE(broken.closed());
  EXPECT_TRUE(viewer.sees(text_of(RejectReason::TlsFailed)));
  RawClient silent(hub.hub->port());
  silent.send(std::string("\x16\x03\x01\x00\xC8", 5));
  silent.read_all(20'000);
  EXPECT_TRUE(silent.closed());
  EXPECT_TRUE(viewer.sees(text_of(RejectReason::Silent)));

  rank.connection->send(heartbeat(0, 0));
  EXPECT_TRUE(viewer.sees("\"src\":\"r0\",\"n\":0,"));
}

}  // namespace
}  // namespace ringside::backend
