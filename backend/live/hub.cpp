#include "backend/live/hub.hpp"

#include <atomic>
#include <utility>

#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <chrono>
#include <mutex>

#include "backend/live/hub_state.hpp"
#include "backend/live/protocol.hpp"

namespace ringside::backend {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using asio::awaitable;
using asio::redirect_error;
using asio::use_awaitable;
using tcp = asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

namespace {

constexpr auto kTick = 100ms;           // viewers get at most 10 batches a second
constexpr auto kHandshakeTimeout = 5s;  // a client that says nothing is disconnected
constexpr int kMalformedLinesAllowed = 8;

std::int64_t unix_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

bool is_loopback(const std::string& address) {
  if (address == "localhost") return true;
  boost::system::error_code error;
  const auto parsed = asio::ip::make_address(address, error);
  return !error && parsed.is_loopback();
}

struct Hub::State {
  HubOptions options;
  asio::io_context io{1};
  asio::ssl::context tls{asio::ssl::context::tls_server};
  bool use_tls = false;
  tcp::acceptor acceptor{io};
  Backlog backlog;
  RecordingWriter recording;
  std::string header_json;
  std::string name;  // of this process: events are counted anew by another
  sim::Trace own;    // pools of the hub's own events
  std::string fingerprint;
  std::map<int, std::function<void(std::string)>> ranks;  // rank -> how to send it a command
  std::size_t connections = 0;
  mutable std::mutex counters_mutex;
  HubCounters counters;

  explicit State(HubOptions o) : options(std::move(o)), backlog(options.backlog_bytes) {}

  template <class F>
  void count(F&& change) {
    const std::lock_guard lock(counters_mutex);
    change(counters);
  }
  void say(sim::EventType type, const std::string& text);
  void record_command(const sim::Fault& fault);
  void tick();
  awaitable<void> tick_loop();
  awaitable<void> accept_loop();
  template <class Stream>
  awaitable<void> serve(std::shared_ptr<websocket::stream<Stream>> ws);
  template <class Stream>
  awaitable<void> serve_rank(std::shared_ptr<websocket::stream<Stream>> ws, ClientHello hello);
  template <class Stream>
  awaitable<void> send_blocks(std::shared_ptr<websocket::stream<Stream>> ws, std::int64_t from);
  template <class Stream>
  awaitable<void> serve_viewer(std::shared_ptr<websocket::stream<Stream>> ws, ClientHello hello);
  std::optional<RejectReason> judge(const ClientHello& hello) const;
  int take_lines(std::string_view message, int rank);
};

void Hub::State::say(sim::EventType type, const std::string& text) {
  sim::Event e;
  e.t = unix_ns() - options.header.origin_unix_ns;
  e.set_source({sim::Source::Kind::Hub, 0});
  e.type = type;
  e.text = sim::TextPayload{own.intern(text), own.intern("hub"), 0, 0};
  own.emit(e);
  std::string line;
  sim::append_event_json(line, own, own.events().back());
  backlog.add(line, true);
}

void Hub::State::record_command(const sim::Fault& fault) {
  sim::Event e;
  e.t = unix_ns() - options.header.origin_unix_ns;
  e.set_source({sim::Source::Kind::Hub, 0});
  e.type = sim::EventType::Command;
  e.command = sim::CommandPayload{own.add_command(fault)};
  own.emit(e);
  std::string line;
  sim::append_event_json(line, own, own.events().back());
  backlog.add(line, true);
}

void Hub::State::tick() {
  recording.append(backlog.seal());
  if (const auto status = recording.flush(); !status) say(sim::EventType::Error, status.error().message());
  count([this](HubCounters& c) {
    c.events = backlog.events();
    c.backlog_bytes = backlog.bytes();
    c.ranks = ranks.size();
  });
}

awaitable<void> Hub::State::tick_loop() {
  asio::steady_timer timer(io);
  boost::system::error_code error;
  while (!error) {
    timer.expires_after(kTick);
    co_await timer.async_wait(redirect_error(use_awaitable, error));
    tick();
  }
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

/// Appends the good lines of a message; returns how many were malformed.
int Hub::State::take_lines(std::string_view message, int rank) {
  int malformed = 0;
  while (!message.empty()) {
    const std::size_t end = std::min(message.find('\n'), message.size());
    const std::string_view line = message.substr(0, end);
    message.remove_prefix(std::min(end + 1, message.size()));
    if (line.empty()) continue;
    const LineCheck check = check_rank_line(line, rank);
    if (check == LineCheck::Malformed) {
      ++malformed;
    } else {
      backlog.add(line, check == LineCheck::Sticky);
    }
  }
  if (malformed > 0) count([malformed](HubCounters& c) { c.malformed += malformed; });
  return malformed;
}

template <class Stream>
awaitable<void> Hub::State::serve_rank(std::shared_ptr<websocket::stream<Stream>> ws, ClientHello hello) {
  boost::system::error_code error;
  // Commands go out one after another; the coroutine that reads never writes.
  auto outbox = std::make_shared<std::vector<std::string>>();
  auto wake = std::make_shared<asio::steady_timer>(io);
  wake->expires_at(asio::steady_timer::time_point::max());
  auto open = std::make_shared<bool>(true);
  ranks[hello.rank] = [outbox, wake](std::string text) {
    outbox->push_back(std::move(text));
    wake->cancel();
  };
  asio::co_spawn(
      io,
      [ws, outbox, wake, open]() -> awaitable<void> {
        boost::system::error_code failed;
        while (*open && !failed) {
          if (outbox->empty()) {
            boost::system::error_code woken;
            co_await wake->async_wait(redirect_error(use_awaitable, woken));
            continue;
          }
          const std::string text = std::move(outbox->front());
          outbox->erase(outbox->begin());
          co_await ws->async_write(asio::buffer(text), redirect_error(use_awaitable, failed));
        }
      },
      asio::detached);

  beast::flat_buffer buffer;
  int malformed = 0;
  std::int64_t window_bytes = 0;
  auto window = Clock::now();
  while (true) {
    const std::size_t size = co_await ws->async_read(buffer, redirect_error(use_awaitable, error));
    if (error) break;
    malformed += take_lines({static_cast<const char*>(buffer.data().data()), size}, hello.rank);
    buffer.consume(buffer.size());
    if (malformed > kMalformedLinesAllowed) break;
    window_bytes += static_cast<std::int64_t>(size);
    if (Clock::now() - window > 1s) {
      window = Clock::now();
      window_bytes = 0;
    } else if (window_bytes >
               options
                   .max_bytes_per_second) {  // reads stop for the rest of the second; the rank's queue drops
      asio::steady_timer pause(io, window + 1s);
      co_await pause.async_wait(redirect_error(use_awaitable, error));
    }
  }
  *open = false;
  wake->cancel();
  ranks.erase(hello.rank);
  say(sim::EventType::LogLine,
      malformed > kMalformedLinesAllowed
          ? "rank " + std::to_string(hello.rank) + " sent lines that are no events; disconnected"
          : "connection of rank " + std::to_string(hello.rank) + " closed");
  co_await ws->async_close(websocket::close_code::normal, redirect_error(use_awaitable, error));
}

template <class Stream>
awaitable<void> Hub::State::send_blocks(std::shared_ptr<websocket::stream<Stream>> ws, std::int64_t from) {
  boost::system::error_code error;
  asio::steady_timer timer(io);
  asio::steady_timer deadline(io);
  const auto guarded_write = [&](const std::string& text) -> awaitable<void> {
    auto done = std::make_shared<bool>(false);  // the handler may run after this frame is gone
    deadline.expires_after(std::chrono::seconds(options.write_timeout_s));
    deadline.async_wait([this, ws, done](boost::system::error_code cancelled) {
      if (cancelled || *done) return;
      count([](HubCounters& c) { ++c.slow_disconnected; });
      beast::get_lowest_layer(*ws).close();
    });
    co_await ws->async_write(asio::buffer(text), redirect_error(use_awaitable, error));
    *done = true;
    deadline.cancel();
  };
  const std::string sticky = backlog.forgotten_sticky(from);
  if (!sticky.empty()) co_await guarded_write(sticky);
  while (!error && ws->is_open()) {
    while (const Block* block = backlog.next(from)) {
      const auto lines = block->lines;
      from = block->first_event + block->events;
      co_await guarded_write(*lines);
      if (error) co_return;
    }
    timer.expires_after(kTick);
    co_await timer.async_wait(redirect_error(use_awaitable, error));
  }
}

template <class Stream>
awaitable<void> Hub::State::serve_viewer(std::shared_ptr<websocket::stream<Stream>> ws, ClientHello hello) {
  count([](HubCounters& c) { ++c.viewers; });
  const bool same_count = hello.hub.empty() || hello.hub == name;
  asio::co_spawn(io, send_blocks(ws, same_count ? std::max<std::int64_t>(0, hello.have_events) : 0),
                 asio::detached);
  beast::flat_buffer buffer;
  boost::system::error_code error;
  while (true) {
    const std::size_t size = co_await ws->async_read(buffer, redirect_error(use_awaitable, error));
    if (error) break;
    const std::string_view message(static_cast<const char*>(buffer.data().data()), size);
    const auto fault = parse_command(message);
    const bool allowed = hello.role == ClientRole::Controller && fault;
    const auto rank = allowed ? ranks.find(fault->rank) : ranks.end();
    buffer.consume(buffer.size());
    if (rank == ranks.end()) {
      count([](HubCounters& c) { ++c.refused; });
      say(sim::EventType::LogLine, hello.role != ClientRole::Controller
                                       ? "a viewer sent a message; only a controller may"
                                   : !fault ? "command refused: " + fault.error().message()
                                            : "command refused: no such rank is connected");
      continue;
    }
    record_command(*fault);
    count([](HubCounters& c) { ++c.commands; });
    rank->second(command_json(*fault));
  }
  count([](HubCounters& c) { --c.viewers; });
  beast::get_lowest_layer(*ws).close();
}

template <class Stream>
awaitable<void> Hub::State::serve(std::shared_ptr<websocket::stream<Stream>> ws) {
  boost::system::error_code error;
  beast::flat_buffer buffer;
  beast::get_lowest_layer(*ws).expires_after(kHandshakeTimeout);
  http::request<http::string_body> request;
  http::request_parser<http::string_body> parser;
  parser.body_limit(8 * 1024);
  parser.header_limit(8 * 1024);
  co_await http::async_read(ws->next_layer(), buffer, parser, redirect_error(use_awaitable, error));
  if (error) co_return;
  request = parser.release();
  const auto respond = [&](http::status status, std::string body) -> awaitable<void> {
    http::response<http::string_body> response{status, request.version()};
    response.set(http::field::content_type, "text/plain; charset=utf-8");
    response.body() = std::move(body);
    response.keep_alive(false);
    response.prepare_payload();
    boost::system::error_code ignored;
    co_await http::async_write(ws->next_layer(), response, redirect_error(use_awaitable, ignored));
  };
  if (!websocket::is_upgrade(request)) {
    const bool health = request.method() == http::verb::get && request.target() == "/healthz";
    co_await respond(health ? http::status::ok : http::status::not_found,
                     health ? "ok\n" : "This is a Ringside hub. Open it with: ringside --watch URL\n");
    co_return;
  }
  const auto origin = request.find(http::field::origin);
  const bool foreign =
      origin != request.end() && std::find(options.origins.begin(), options.origins.end(),
                                           std::string(origin->value())) == options.origins.end();
  if (foreign || request.target() != "/ws") {
    count([](HubCounters& c) { ++c.refused; });
    co_await respond(foreign ? http::status::forbidden : http::status::not_found,
                     foreign ? std::string(text_of(RejectReason::Origin)) + "\n" : "WebSocket is at /ws\n");
    co_return;
  }
  beast::get_lowest_layer(*ws).expires_never();
  websocket::stream_base::timeout timeouts{};
  timeouts.handshake_timeout = kHandshakeTimeout;
  timeouts.idle_timeout = 30s;
  timeouts.keep_alive_pings = true;
  ws->set_option(timeouts);
  websocket::permessage_deflate no_compression;
  no_compression.server_enable = false;
  ws->set_option(no_compression);
  ws->read_message_max(options.max_message_bytes);
  ws->text(true);
  co_await ws->async_accept(request, redirect_error(use_awaitable, error));
  if (error) co_return;

  auto silent = std::make_shared<asio::steady_timer>(io, kHandshakeTimeout);
  silent->async_wait([ws](boost::system::error_code cancelled) {
    if (!cancelled) beast::get_lowest_layer(*ws).close();
  });
  beast::flat_buffer first;
  const std::size_t size = co_await ws->async_read(first, redirect_error(use_awaitable, error));
  silent->cancel();
  if (error) co_return;
  auto hello = parse_hello({static_cast<const char*>(first.data().data()), size});
  const auto refusal = hello ? judge(*hello) : std::optional(RejectReason::Malformed);
  if (refusal) {
    count([](HubCounters& c) { ++c.refused; });
    say(sim::EventType::LogLine, "refused a connection: " + std::string(text_of(*refusal)));
    const std::string answer = reject_json(*refusal);
    co_await ws->async_write(asio::buffer(answer), redirect_error(use_awaitable, error));
    co_await ws->async_close(websocket::close_code::policy_error, redirect_error(use_awaitable, error));
    co_return;
  }
  if (hello->role == ClientRole::Rank) ranks[hello->rank] = [](std::string) {};  // taken from here on
  // A window does not know what its token may do: the welcome tells it.
  if (hello->role == ClientRole::Viewer && equal_in_constant_time(hello->token, options.tokens.controller))
    hello->role = ClientRole::Controller;
  const std::string answer = welcome_json(header_json, name, hello->role);
  co_await ws->async_write(asio::buffer(answer), redirect_error(use_awaitable, error));
  if (error) {
    if (hello->role == ClientRole::Rank) ranks.erase(hello->rank);
    co_return;
  }
  if (hello->role == ClientRole::Rank) {
    co_await serve_rank(ws, *hello);
  } else {
    co_await serve_viewer(ws, *hello);
  }
}

awaitable<void> Hub::State::accept_loop() {
  boost::system::error_code error;
  while (true) {
    tcp::socket socket = co_await acceptor.async_accept(redirect_error(use_awaitable, error));
    if (error == asio::error::operation_aborted) co_return;
    if (error) {  // out of descriptors: wait for some to close
      asio::steady_timer pause(io, kTick);
      co_await pause.async_wait(redirect_error(use_awaitable, error));
      continue;
    }
    if (connections >= options.max_connections) {
      count([](HubCounters& c) { ++c.refused; });
      continue;  // the socket closes: no work is done for it
    }
    ++connections;
    boost::system::error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    const auto done = [this](std::exception_ptr) { --connections; };
    if (use_tls) {
      using Stream = beast::ssl_stream<beast::tcp_stream>;
      auto ws = std::make_shared<websocket::stream<Stream>>(beast::tcp_stream(std::move(socket)), tls);
      asio::co_spawn(
          io,
          [this, ws]() -> awaitable<void> {
            boost::system::error_code failed;
            beast::get_lowest_layer(*ws).expires_after(kHandshakeTimeout);
            co_await ws->next_layer().async_handshake(asio::ssl::stream_base::server,
                                                      redirect_error(use_awaitable, failed));
            if (!failed) co_await serve(ws);
          },
          done);
    } else {
      auto ws = std::make_shared<websocket::stream<beast::tcp_stream>>(std::move(socket));
      asio::co_spawn(io, serve(ws), done);
    }
  }
}

sim::Result<std::unique_ptr<Hub>> Hub::create(HubOptions options) {
  auto state = std::make_unique<State>(std::move(options));
  const HubOptions& o = state->options;
  boost::system::error_code error;
  const auto address = asio::ip::make_address(o.address == "localhost" ? "127.0.0.1" : o.address, error);
  if (error)
    return sim::Error{
        .what = "not an address", .text = o.address, .legal = "an IPv4 or IPv6 address, or localhost"};
  state->use_tls = !o.tls_certificate.empty();
  if (!state->use_tls && !o.insecure && !is_loopback(o.address))
    return sim::Error{.what = "an address that other machines reach needs TLS",
                      .text = o.address,
                      .hint =
                          "Give --tls-cert and --tls-key (ringside-cli hub --self-signed makes them), or "
                          "force it with --insecure."};
  if (state->use_tls) {
    const auto fingerprint = certificate_fingerprint(o.tls_certificate);
    if (!fingerprint) return fingerprint.error();
    state->fingerprint = *fingerprint;
    state->tls.use_certificate_chain_file(o.tls_certificate, error);
    if (!error) state->tls.use_private_key_file(o.tls_key, asio::ssl::context::pem, error);
    if (error)
      return sim::Error{.what = "certificate or key cannot be used: " + error.message(), .file = o.tls_key};
  }
  for (int i = 0; i < std::max(1, o.port_tries); ++i) {
    const auto port = static_cast<std::uint16_t>(o.port == 0 ? 0 : o.port + i);
    const tcp::endpoint endpoint(address, port);
    state->acceptor.open(endpoint.protocol(), error);
    if (!error) state->acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) state->acceptor.bind(endpoint, error);
    if (!error) state->acceptor.listen(1024, error);
    if (!error) break;
    state->acceptor.close();
  }
  if (!state->acceptor.is_open())
    return sim::Error{
        .what = "cannot listen on " + o.address + " port " + std::to_string(o.port) + ": " + error.message(),
        .hint = "Choose another --port."};
  sim::append_header_json(state->header_json, o.header);
  auto name = make_token();
  if (!name) return name.error();
  state->name = std::move(*name);
  if (!o.recording.empty())
    if (const auto opened = state->recording.open(o.recording, state->header_json); !opened)
      return opened.error();
  return std::unique_ptr<Hub>(new Hub(std::move(state)));
}

Hub::Hub(std::unique_ptr<State> state) : state_(std::move(state)) {}
Hub::~Hub() = default;

void Hub::run() {
  asio::co_spawn(state_->io, state_->accept_loop(), asio::detached);
  asio::co_spawn(state_->io, state_->tick_loop(), asio::detached);
  state_->io.run();
  state_->tick();
}

void Hub::stop() {
  state_->io.stop();
}
std::uint16_t Hub::port() const {
  return state_->acceptor.local_endpoint().port();
}

std::string Hub::url() const {
  const bool v6 = state_->options.address.find(':') != std::string::npos;
  const std::string host = v6 ? "[" + state_->options.address + "]" : state_->options.address;
  return (state_->use_tls ? "https://" : "http://") + host + ":" + std::to_string(port());
}

std::string Hub::fingerprint() const {
  return state_->fingerprint;
}

HubCounters Hub::counters() const {
  const std::lock_guard lock(state_->counters_mutex);
  return state_->counters;
}

}  // namespace ringside::backend
