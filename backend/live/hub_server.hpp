// The hub's inside: one thread, one io_context, and what every connection of it shares. hub.cpp makes and runs
// it, hub_accept.cpp decides who comes in, hub_serve.cpp serves those who did.
#pragma once

#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "backend/live/host_clocks.hpp"
#include "backend/live/hub.hpp"
#include "backend/live/hub_state.hpp"
#include "backend/live/protocol.hpp"
#include "backend/live/recording.hpp"

namespace ringside::backend {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::awaitable;
using tcp = asio::ip::tcp;
using PlainStream = beast::tcp_stream;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;
template <class Stream>
using WebSocketPtr = std::shared_ptr<beast::websocket::stream<Stream>>;

inline constexpr auto kHubTick = std::chrono::milliseconds(100);  // viewers get at most 10 batches a second

struct Hub::State {
  HubOptions options;
  asio::io_context io{1};
  asio::ssl::context tls{asio::ssl::context::tls_server};
  bool use_tls = false;
  tcp::acceptor acceptor{io};
  Backlog backlog;
  RecordingWriter recording;
  std::string header_json;
  std::string name;          // of this count of events: another hub begins another, unless it goes on with this one
  std::uint32_t next_n = 0;  // of the hub's own events
  std::string fingerprint;
  std::map<int, std::function<void(std::string)>> ranks;  // rank -> how to send it a command
  std::size_t connections = 0, sent_away = 0;             // sent_away: of those that get only a "full"
  std::size_t watching = 0;  // viewers and controllers
  SayLimit refusals;
  HostClocks clocks;
  std::map<std::string, HostOffset> clocks_said;  // what the log says of each host
  std::chrono::steady_clock::time_point next_clocks{};
  mutable std::mutex counters_mutex;
  HubCounters counters;

  explicit State(HubOptions o) : options(std::move(o)), backlog(options.backlog_bytes) {}

  template <class F>
  void count(F&& change) {
    const std::lock_guard lock(counters_mutex);
    change(counters);
  }
  std::chrono::milliseconds handshake_timeout() const {
    return std::chrono::milliseconds(options.handshake_timeout_ms);
  }

  // hub.cpp
  void say(sim::EventType type, const std::string& text, bool sticky = true, std::string_view stream = "hub");
  void look_at_clocks(std::string_view line, int rank);
  void say_clocks();
  void record_command(const sim::Fault& fault);
  void add_own(const sim::Trace& pools, sim::Event e, bool sticky);
  sim::Status go_on();
  void write_out();
  void tick();
  awaitable<void> tick_loop();

  // hub_accept.cpp
  awaitable<void> accept_loop();
  void admit(tcp::socket socket);
  awaitable<void> send_away(tcp::socket socket);
  awaitable<void> greet_tls(tcp::socket socket, std::string peer);
  template <class Stream>
  awaitable<void> greet(WebSocketPtr<Stream> ws, std::string peer);
  template <class Stream>
  awaitable<std::optional<ClientHello>> read_hello(WebSocketPtr<Stream> ws, const std::string& peer);
  std::optional<RejectReason> judge(const ClientHello& hello) const;
  /// Counts a refusal and logs it, at a bounded rate: who is refused must not fill the recording.
  void refuse(RejectReason reason, const std::string& peer);

  // hub_serve.cpp
  template <class Stream>
  awaitable<void> serve_rank(WebSocketPtr<Stream> ws, ClientHello hello);
  template <class Stream>
  awaitable<void> send_blocks(WebSocketPtr<Stream> ws, std::int64_t from, bool zstd);
  std::chrono::milliseconds pause_of_viewers() const;
  template <class Stream>
  awaitable<void> serve_viewer(WebSocketPtr<Stream> ws, ClientHello hello, std::string peer);
  int take_lines(std::string_view message, int rank);
};

}  // namespace ringside::backend
