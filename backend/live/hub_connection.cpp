#include "backend/live/hub_connection.hpp"

#include <openssl/x509.h>

#include <utility>

#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <variant>

#include "backend/live/recording.hpp"

namespace ringside::backend {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;
using asio::awaitable;
using asio::redirect_error;
using asio::use_awaitable;
using tcp = asio::ip::tcp;
using namespace std::chrono_literals;

sim::Result<HubAddress> parse_hub_url(std::string_view url) {
  HubAddress address;
  const auto wrong = [&] {
    return sim::Error{.what = "not the address of a hub",
                      .text = std::string(url),
                      .legal = "http://HOST:PORT or https://HOST:PORT, as the run printed it"};
  };
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return wrong();
  const std::string_view name = url.substr(0, scheme);
  if (name != "http" && name != "https") return wrong();
  address.tls = name == "https";
  std::string_view rest = url.substr(scheme + 3);
  const std::size_t hash = rest.find('#');
  std::string_view fragment = hash == std::string_view::npos ? std::string_view() : rest.substr(hash + 1);
  rest = rest.substr(0, hash);
  while (!rest.empty() && rest.back() == '/') rest.remove_suffix(1);
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return wrong();
  address.host = rest.substr(0, colon);
  if (address.host.front() == '[' && address.host.back() == ']')
    address.host = address.host.substr(1, address.host.size() - 2);
  address.port = rest.substr(colon + 1);
  if (address.port.empty() || address.port.find_first_not_of("0123456789") != std::string::npos)
    return wrong();
  while (!fragment.empty()) {
    const std::size_t end = std::min(fragment.find('&'), fragment.size());
    const std::string_view pair = fragment.substr(0, end);
    fragment.remove_prefix(std::min(end + 1, fragment.size()));
    if (pair.starts_with("token=")) address.token = pair.substr(6);
    if (pair.starts_with("cert=")) address.fingerprint = pair.substr(5);
  }
  return address;
}

constexpr std::size_t kMaxUnpacked = std::size_t{512} << 20;

struct HubConnection::Impl {
  HubAddress address;
  Callbacks callbacks;
  std::atomic<bool>& connected;
  asio::io_context io{1};
  asio::ssl::context tls{asio::ssl::context::tls_client};
  asio::steady_timer wake{io};
  std::mutex mutex;
  std::condition_variable written;
  std::deque<std::string> outbox;
  std::size_t queued_bytes = 0;
  std::function<void()> close_now;
  bool welcomed = false;  // by the latest attempt
  bool stopping = false;
  std::thread thread;

  Impl(HubAddress a, Callbacks c, std::atomic<bool>& flag)
      : address(std::move(a)), callbacks(std::move(c)), connected(flag) {
    // The certificate is pinned by its fingerprint, which is stronger than a name signed by somebody.
    tls.set_verify_mode(asio::ssl::verify_peer);
    tls.set_verify_callback([this](bool, asio::ssl::verify_context& context) {
      if (X509_STORE_CTX_get_error_depth(context.native_handle()) > 0) return true;
      X509* certificate = X509_STORE_CTX_get_current_cert(context.native_handle());
      unsigned char digest[EVP_MAX_MD_SIZE];
      unsigned size = 0;
      if (certificate == nullptr || X509_digest(certificate, EVP_sha256(), digest, &size) == 0) return false;
      constexpr char kHex[] = "0123456789abcdef";
      std::string hex;
      for (unsigned i = 0; i < size; ++i) {
        hex += kHex[digest[i] >> 4];
        hex += kHex[digest[i] & 0xF];
      }
      return equal_in_constant_time(hex, address.fingerprint);
    });
  }

  void say(LinkState state, const std::string& text) {
    connected.store(state == LinkState::Connected, std::memory_order_release);
    if (callbacks.state_changed) callbacks.state_changed(state, text);
  }

  bool take(std::string& text) {
    const std::lock_guard lock(mutex);
    if (outbox.empty()) return false;
    text = std::move(outbox.front());
    outbox.pop_front();
    return true;
  }
  void sent(std::size_t bytes) {
    const std::lock_guard lock(mutex);
    queued_bytes -= bytes;
    if (queued_bytes == 0) written.notify_all();
  }

  template <class Ws>
  awaitable<void> write_loop(std::shared_ptr<Ws> ws) {
    boost::system::error_code error;
    std::string text;
    while (!error && ws->is_open()) {
      if (!take(text)) {
        boost::system::error_code woken;
        wake.expires_after(20ms);
        co_await wake.async_wait(redirect_error(use_awaitable, woken));
        continue;
      }
      co_await ws->async_write(asio::buffer(text), redirect_error(use_awaitable, error));
      sent(text.size());
    }
  }

  /// Refused over HTTP, before there was a WebSocket. True when trying again would not help.
  bool not_let_in(const boost::system::error_code& error, const websocket::response_type& response) {
    if (error != websocket::error::upgrade_declined) {
      say(LinkState::Lost, "the hub did not answer: " + error.message());
      return false;
    }
    const bool full = response.result() == beast::http::status::service_unavailable;
    std::string text = response.body().substr(0, response.body().find('\n'));
    if (text.empty()) text = "the hub answered HTTP " + std::to_string(response.result_int());
    say(full ? LinkState::Lost : LinkState::Refused, text);
    return !full;
  }

  /// True when the hub refused: trying again would not help.
  template <class Ws>
  awaitable<bool> talk(std::shared_ptr<Ws> ws) {
    boost::system::error_code error;
    beast::get_lowest_layer(*ws).expires_never();
    auto timeouts = websocket::stream_base::timeout::suggested(beast::role_type::client);
    timeouts.idle_timeout = 60s;  // a hub whose machine is gone closes nothing: its silence is the sign
    timeouts.keep_alive_pings = true;
    ws->set_option(timeouts);
    ws->read_message_max(std::size_t{64} << 20);
    ws->text(true);
    ws->auto_fragment(false);
    ws->write_buffer_bytes(std::size_t{64} << 10);  // a client masks what it sends, in pieces of so much
    websocket::response_type response;
    co_await ws->async_handshake(response, address.host + ":" + address.port, "/ws",
                                 redirect_error(use_awaitable, error));
    if (error) co_return not_let_in(error, response);
    ClientHello hello = callbacks.hello();
    hello.token = address.token;
    const std::string greeting = hello_json(hello);
    co_await ws->async_write(asio::buffer(greeting), redirect_error(use_awaitable, error));
    beast::flat_buffer buffer;
    if (!error) co_await ws->async_read(buffer, redirect_error(use_awaitable, error));
    if (error) {
      say(LinkState::Lost, error.message());
      co_return false;
    }
    const auto answer = parse_answer({static_cast<const char*>(buffer.data().data()), buffer.size()});
    buffer.consume(buffer.size());
    if (!answer || !answer->welcome) {
      const bool try_again =
          answer && answer->reason == to_word(RejectReason::RankTaken);  // the old connection dies soon
      say(try_again ? LinkState::Lost : LinkState::Refused, answer ? answer->text : answer.error().message());
      co_return !try_again;
    }
    close_now = [ws] { beast::get_lowest_layer(*ws).close(); };
    welcomed = true;
    if (callbacks.welcomed) callbacks.welcomed(*answer);
    say(LinkState::Connected, {});
    asio::co_spawn(io, write_loop(ws), asio::detached);
    std::string unpacked;
    while (true) {
      const std::size_t size = co_await ws->async_read(buffer, redirect_error(use_awaitable, error));
      if (error) break;
      const std::string_view message(static_cast<const char*>(buffer.data().data()), size);
      const bool understood = !ws->got_binary() || unpack_frames(message, kMaxUnpacked, unpacked);
      if (callbacks.received) callbacks.received(ws->got_binary() ? unpacked : message);
      buffer.consume(buffer.size());
      unpacked.clear();
      if (!understood) {
        beast::get_lowest_layer(*ws).close();
        error = beast::websocket::error::bad_data_frame;
        break;
      }
    }
    close_now = {};
    say(LinkState::Lost, error.message());
    co_return false;
  }

  awaitable<bool> attempt() {
    boost::system::error_code error;
    tcp::resolver resolver(io);
    const auto found =
        co_await resolver.async_resolve(address.host, address.port, redirect_error(use_awaitable, error));
    if (error) {
      say(LinkState::Lost, "no such host: " + error.message());
      co_return false;
    }
    beast::tcp_stream socket(io);
    socket.expires_after(5s);
    co_await socket.async_connect(found, redirect_error(use_awaitable, error));
    if (error) {
      say(LinkState::Lost, "cannot reach the hub: " + error.message());
      co_return false;
    }
    boost::system::error_code ignored;
    socket.socket().set_option(tcp::no_delay(true), ignored);
    if (!address.tls)
      co_return co_await talk(std::make_shared<websocket::stream<beast::tcp_stream>>(std::move(socket)));
    auto ws =
        std::make_shared<websocket::stream<beast::ssl_stream<beast::tcp_stream>>>(std::move(socket), tls);
    co_await ws->next_layer().async_handshake(asio::ssl::stream_base::client,
                                              redirect_error(use_awaitable, error));
    if (error) {
      say(LinkState::Refused, "the hub's certificate is not the pinned one: " + error.message());
      co_return true;
    }
    co_return co_await talk(ws);
  }

  awaitable<void> run() {
    constexpr auto kFirstPause = 100ms;
    auto pause = kFirstPause;
    asio::steady_timer timer(io);
    while (true) {
      {
        const std::lock_guard lock(mutex);
        if (stopping) co_return;
      }
      say(LinkState::Connecting, {});
      welcomed = false;
      const bool refused = co_await attempt();
      if (refused) co_return;
      if (welcomed) pause = kFirstPause;
      timer.expires_after(pause);
      boost::system::error_code error;
      co_await timer.async_wait(redirect_error(use_awaitable, error));
      pause = std::min<std::chrono::milliseconds>(pause * 2, 2000ms);
    }
  }
};

HubConnection::HubConnection(HubAddress address, Callbacks callbacks)
    : impl_(std::make_unique<Impl>(std::move(address), std::move(callbacks), connected_)) {
  asio::co_spawn(impl_->io, impl_->run(), asio::detached);
  impl_->thread = std::thread([impl = impl_.get()] { impl->io.run(); });
}

HubConnection::~HubConnection() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
  }
  asio::post(impl_->io, [impl = impl_.get()] {
    if (impl->close_now) impl->close_now();
    impl->io.stop();
  });
  impl_->thread.join();
}

bool HubConnection::send(std::string text, std::size_t max_queued) {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->queued_bytes + text.size() > max_queued) return false;
  impl_->queued_bytes += text.size();
  impl_->outbox.push_back(std::move(text));
  return true;
}

bool HubConnection::drain(int timeout_ms) {
  std::unique_lock lock(impl_->mutex);
  return impl_->written.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                                 [this] { return impl_->queued_bytes == 0; });
}

}  // namespace ringside::backend
