// Who comes in: TLS or not, HTTP, Origin, the WebSocket, the hello. Everybody else is refused with a reason that
// a person can read (in HTTP before the WebSocket stands, as a Reject after), which is logged.
#include <algorithm>
#include <utility>

#include "backend/live/hub_server.hpp"

namespace ringside::backend {
namespace http = beast::http;
namespace websocket = beast::websocket;
using asio::redirect_error;
using asio::use_awaitable;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kMaxSentAway = 64;    // connections beyond the limit that are told so; more are closed
constexpr auto kSendAwayTimeout = 1s;       // to read the answer, before the socket closes under it
constexpr std::size_t kMaxHttpBytes = 8 * 1024;

std::string name_of_peer(const tcp::socket& socket) {
  boost::system::error_code error;
  const auto peer = socket.remote_endpoint(error);
  return error ? "somebody who is gone" : peer.address().to_string() + ":" + std::to_string(peer.port());
}

http::response<http::string_body> response_of(http::status status, std::string body) {
  http::response<http::string_body> response{status, 11};
  response.set(http::field::content_type, "text/plain; charset=utf-8");
  response.body() = std::move(body);
  response.keep_alive(false);
  response.prepare_payload();
  return response;
}

http::response<http::string_body> response_of(http::status status, RejectReason reason) {
  return response_of(status, std::string(text_of(reason)) + "\n");
}

/// What is wrong with bytes that are no HTTP request.
RejectReason reason_of_http_error(const boost::system::error_code& error) {
  if (error == http::error::header_limit || error == http::error::body_limit ||
      error == http::error::buffer_overflow)
    return RejectReason::TooBig;
  return RejectReason::NotHttp;
}

http::status status_of(RejectReason reason) {
  if (reason == RejectReason::Silent) return http::status::request_timeout;
  if (reason == RejectReason::TooBig) return http::status::payload_too_large;
  return http::status::bad_request;
}

/// Sends the answer, says that nothing follows, and reads what still comes for a moment: a socket that closes
/// with bytes unread resets the connection, and the answer would be lost.
template <class Stream>
awaitable<void> answer_and_close(Stream& stream, http::response<http::string_body> response) {
  boost::system::error_code error;
  auto& lowest = beast::get_lowest_layer(stream);
  lowest.expires_after(kSendAwayTimeout);
  co_await http::async_write(stream, response, redirect_error(use_awaitable, error));
  if (error) co_return;
  lowest.socket().shutdown(tcp::socket::shutdown_send, error);
  std::array<char, 4096> unread;
  for (int i = 0; i < 64 && !error; ++i)
    co_await lowest.async_read_some(asio::buffer(unread), redirect_error(use_awaitable, error));
}

}  // namespace

void Hub::State::refuse(RejectReason reason, const std::string& peer) {
  count([](HubCounters& c) { ++c.refused; });
  const auto unsaid = refusals.allow(std::chrono::steady_clock::now());
  if (!unsaid) return;
  std::string text = "refused " + peer + ": " + std::string(text_of(reason));
  if (*unsaid > 0) text += " (" + std::to_string(*unsaid) + " more before it are not listed)";
  say(sim::EventType::LogLine, text, /*sticky=*/false);
}

/// Who may come in, and as what. A controller's token may also view.
std::optional<RejectReason> Hub::State::judge(const ClientHello& hello) const {
  if (hello.protocol != kProtocolVersion) return RejectReason::Version;
  const HubTokens& tokens = options.tokens;
  const bool is_controller = equal_in_constant_time(hello.token, tokens.controller);
  const bool is_rank = equal_in_constant_time(hello.token, tokens.rank);
  const bool is_viewer = equal_in_constant_time(hello.token, tokens.viewer);
  if (!is_controller && !is_rank && !is_viewer) return RejectReason::Token;
  switch (hello.role) {
    case ClientRole::Controller:
      return is_controller ? std::optional<RejectReason>{} : RejectReason::Role;
    case ClientRole::Viewer:
      return is_viewer || is_controller ? std::optional<RejectReason>{} : RejectReason::Role;
    case ClientRole::Rank:
      break;
  }
  if (!is_rank) return RejectReason::Role;
  if (hello.world_size != options.header.world_size) return RejectReason::WorldSize;
  if (hello.rank < 0 || hello.rank >= hello.world_size) return RejectReason::RankRange;
  return ranks.contains(hello.rank) ? std::optional(RejectReason::RankTaken) : std::nullopt;
}

/// The first message, or nothing after the client was refused.
template <class Stream>
awaitable<std::optional<ClientHello>> Hub::State::read_hello(WebSocketPtr<Stream> ws,
                                                             const std::string& peer) {
  boost::system::error_code error;
  ws->read_message_max(options.max_hello_bytes);
  // A timer of our own: the stream's timeouts count every byte as life, and half a message is none.
  auto silent = std::make_shared<asio::steady_timer>(io, handshake_timeout());
  auto timed_out = std::make_shared<bool>(false);
  silent->async_wait([ws, timed_out, this](boost::system::error_code cancelled) {
    if (cancelled) return;
    *timed_out = true;
    asio::co_spawn(
        io,
        [ws]() -> awaitable<void> {
          boost::system::error_code ignored;
          const std::string answer = reject_json(RejectReason::Silent);
          co_await ws->async_write(asio::buffer(answer), redirect_error(use_awaitable, ignored));
          beast::get_lowest_layer(*ws).close();
        },
        asio::detached);
  });
  beast::flat_buffer first;
  const std::size_t size = co_await ws->async_read(first, redirect_error(use_awaitable, error));
  silent->cancel();
  if (error || *timed_out) {  // timed out: the Reject is on its way, whatever came at the last moment
    if (*timed_out)
      refuse(RejectReason::Silent, peer);
    else if (error == websocket::error::message_too_big || error == websocket::error::buffer_overflow)
      refuse(RejectReason::TooBig, peer);
    else if (error != websocket::error::closed && error != asio::error::eof)
      refuse(RejectReason::Malformed, peer);
    co_return std::nullopt;
  }
  const auto hello = parse_hello({static_cast<const char*>(first.data().data()), size});
  const auto refusal = hello ? judge(*hello) : std::optional(RejectReason::Malformed);
  if (!refusal) co_return *hello;
  refuse(*refusal, peer);
  beast::get_lowest_layer(*ws).expires_after(handshake_timeout());
  const std::string answer = reject_json(*refusal);
  co_await ws->async_write(asio::buffer(answer), redirect_error(use_awaitable, error));
  if (!error)
    co_await ws->async_close(websocket::close_code::policy_error, redirect_error(use_awaitable, error));
  co_return std::nullopt;
}

template <class Stream>
awaitable<void> Hub::State::greet(WebSocketPtr<Stream> ws, std::string peer) {
  boost::system::error_code error;
  beast::flat_buffer buffer;
  beast::get_lowest_layer(*ws).expires_never();
  http::request_parser<http::string_body> parser;
  parser.body_limit(kMaxHttpBytes);
  parser.header_limit(kMaxHttpBytes);
  // The stream's own timeout would close the socket, and nobody would be told why.
  auto silent = std::make_shared<asio::steady_timer>(io, handshake_timeout());
  auto timed_out = std::make_shared<bool>(false);
  silent->async_wait([ws, timed_out](boost::system::error_code cancelled) {
    if (cancelled) return;
    *timed_out = true;
    beast::get_lowest_layer(*ws).cancel();
  });
  co_await http::async_read(ws->next_layer(), buffer, parser, redirect_error(use_awaitable, error));
  silent->cancel();
  if (error) {
    if (error == http::error::end_of_stream) co_return;  // connected and left: no request, no refusal
    const RejectReason reason = *timed_out ? RejectReason::Silent : reason_of_http_error(error);
    refuse(reason, peer);
    co_await answer_and_close(ws->next_layer(), response_of(status_of(reason), reason));
    co_return;
  }
  const auto request = parser.release();
  if (!websocket::is_upgrade(request)) {
    const bool health = request.method() == http::verb::get && request.target() == "/healthz";
    co_await answer_and_close(
        ws->next_layer(),
        health ? response_of(http::status::ok, "ok\n")
               : response_of(http::status::not_found,
                             "This is a Ringside hub. Open it with: ringside --watch URL\n"));
    co_return;
  }
  const auto origin = request.find(http::field::origin);
  const bool foreign =
      origin != request.end() && std::find(options.origins.begin(), options.origins.end(),
                                           std::string(origin->value())) == options.origins.end();
  if (foreign) {
    refuse(RejectReason::Origin, peer);
    co_await answer_and_close(ws->next_layer(), response_of(http::status::forbidden, RejectReason::Origin));
    co_return;
  }
  if (request.target() != "/ws") {
    refuse(RejectReason::NotHttp, peer);
    co_await answer_and_close(ws->next_layer(),
                              response_of(http::status::not_found, "WebSocket is at /ws\n"));
    co_return;
  }
  beast::get_lowest_layer(*ws).expires_never();
  websocket::stream_base::timeout timeouts{};
  timeouts.handshake_timeout = handshake_timeout();
  timeouts.idle_timeout = std::chrono::milliseconds(options.idle_timeout_ms);
  timeouts.keep_alive_pings = true;
  ws->set_option(timeouts);
  websocket::permessage_deflate no_compression;
  no_compression.server_enable = false;
  ws->set_option(no_compression);
  ws->text(true);
  ws->auto_fragment(false);  // else a large message goes out in pieces of 4 KiB, a system call each
  co_await ws->async_accept(request, redirect_error(use_awaitable, error));
  if (error) {  // Beast has answered with what is wrong
    refuse(RejectReason::NotHttp, peer);
    co_return;
  }
  auto hello = co_await read_hello<Stream>(ws, peer);
  if (!hello) co_return;
  // A window does not know what its token may do: the welcome tells it.
  if (hello->role == ClientRole::Viewer && equal_in_constant_time(hello->token, options.tokens.controller))
    hello->role = ClientRole::Controller;
  const bool is_rank = hello->role == ClientRole::Rank;
  ws->read_message_max(is_rank ? options.max_message_bytes : options.max_hello_bytes);
  if (is_rank) ranks[hello->rank] = [](std::string) {};  // taken from here on
  const std::string answer = welcome_json(header_json, name, hello->role);
  co_await ws->async_write(asio::buffer(answer), redirect_error(use_awaitable, error));
  if (error) {
    if (is_rank) ranks.erase(hello->rank);
  } else if (is_rank) {
    co_await serve_rank<Stream>(ws, *hello);
  } else {
    co_await serve_viewer<Stream>(ws, *hello, std::move(peer));
  }
}

/// A client that does not speak TLS is told so in plain HTTP instead of by an alert that it cannot read.
awaitable<void> Hub::State::greet_tls(tcp::socket socket, std::string peer) {
  boost::system::error_code error;
  beast::tcp_stream stream(std::move(socket));
  stream.expires_after(handshake_timeout());
  beast::flat_buffer buffer;
  const bool speaks_tls = co_await beast::async_detect_ssl(stream, buffer, redirect_error(use_awaitable, error));
  if (error == asio::error::eof || error == asio::error::connection_reset) co_return;
  if (error || !speaks_tls) {
    const RejectReason reason = error ? RejectReason::Silent : RejectReason::NeedsTls;
    refuse(reason, peer);
    co_await answer_and_close(stream, response_of(status_of(reason), reason));
    co_return;
  }
  auto ws = std::make_shared<websocket::stream<TlsStream>>(std::move(stream), tls);
  beast::get_lowest_layer(*ws).expires_after(handshake_timeout());
  const std::size_t used = co_await ws->next_layer().async_handshake(
      asio::ssl::stream_base::server, buffer.data(), redirect_error(use_awaitable, error));
  buffer.consume(used);
  if (error) {
    refuse(error == beast::error::timeout ? RejectReason::Silent : RejectReason::TlsFailed, peer);
    co_return;
  }
  co_await greet<TlsStream>(ws, std::move(peer));
}

awaitable<void> Hub::State::send_away(tcp::socket socket) {
  beast::tcp_stream stream(std::move(socket));
  co_await answer_and_close(stream, response_of(http::status::service_unavailable, RejectReason::Full));
}

void Hub::State::admit(tcp::socket socket) {
  boost::system::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  std::string peer = name_of_peer(socket);
  if (connections >= options.max_connections) {
    refuse(RejectReason::Full, peer);
    if (use_tls || sent_away >= kMaxSentAway) return;  // the socket closes: no work is done for it
    ++sent_away;
    asio::co_spawn(io, send_away(std::move(socket)), [this](std::exception_ptr) { --sent_away; });
    return;
  }
  ++connections;
  const auto done = [this](std::exception_ptr) { --connections; };
  if (use_tls) {
    asio::co_spawn(io, greet_tls(std::move(socket), std::move(peer)), done);
  } else {
    auto ws = std::make_shared<websocket::stream<PlainStream>>(std::move(socket));
    asio::co_spawn(io, greet<PlainStream>(ws, std::move(peer)), done);
  }
}

awaitable<void> Hub::State::accept_loop() {
  boost::system::error_code error;
  while (true) {
    tcp::socket socket = co_await acceptor.async_accept(redirect_error(use_awaitable, error));
    if (error == asio::error::operation_aborted) co_return;
    if (error) {  // out of descriptors: wait for some to close
      asio::steady_timer pause(io, kHubTick);
      co_await pause.async_wait(redirect_error(use_awaitable, error));
      continue;
    }
    admit(std::move(socket));
  }
}

}  // namespace ringside::backend
