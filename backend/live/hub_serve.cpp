// Those who came in: ranks write lines and get commands, viewers read, a controller commands.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "backend/live/hub_server.hpp"

namespace ringside::backend {
namespace websocket = beast::websocket;
using asio::redirect_error;
using asio::use_awaitable;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

namespace {

constexpr int kMalformedLinesAllowed = 8;
constexpr int kBadMessagesAllowed = 8;  // of a viewer
constexpr std::size_t kMaxBlock = std::size_t{8} << 20;

/// Why a connection that was in use ended, for the log.
std::string end_of(const boost::system::error_code& error, const HubOptions& options, std::size_t max_bytes) {
  if (error == beast::error::timeout)
    return "said nothing for " + std::to_string(options.idle_timeout_ms / 1000) + " s; disconnected";
  if (error == websocket::error::message_too_big || error == websocket::error::buffer_overflow)
    return "sent a message of more than " + std::to_string(max_bytes) + " bytes; disconnected";
  return "closed its connection";
}

}  // namespace

/// Hosts and collectives, for the clocks. Within one host there is nothing to compare, and nothing is parsed.
void Hub::State::look_at_clocks(std::string_view line, int rank) {
  const auto is = [line](std::string_view type) { return line.find(type) != std::string_view::npos; };
  const bool hello = is("\"type\":\"hello\"");
  const bool started = !hello && clocks.several_hosts() && is("\"type\":\"collective_started\"");
  const bool finished = !hello && !started && clocks.several_hosts() && is("\"type\":\"collective_finished\"");
  if (!hello && !started && !finished) return;
  const auto json = nlohmann::json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return;
  const auto text = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const auto number = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_number_integer() ? found->get<std::int64_t>() : std::int64_t{-1};
  };
  if (hello) return clocks.lives_on(rank, text("host"));
  if (number("seq") < 0) return;
  const int world = options.header.world_size;
  if (started)
    clocks.started(rank, text("comm"), number("seq"), world, number("t"));
  else
    clocks.finished(rank, text("comm"), number("seq"), world, number("t"));
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
      if (backlog.open_bytes() > kMaxBlock) write_out();
      look_at_clocks(line, rank);
    }
  }
  if (malformed > 0) count([malformed](HubCounters& c) { c.malformed += malformed; });
  return malformed;
}

template <class Stream>
awaitable<void> Hub::State::serve_rank(WebSocketPtr<Stream> ws, ClientHello hello) {
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
  const bool too_many = malformed > kMalformedLinesAllowed;
  say(sim::EventType::LogLine,
      "rank " + std::to_string(hello.rank) + " " +
          (too_many ? "sent lines that are no events; disconnected"
                    : end_of(error, options, options.max_message_bytes)));
  if (!error) co_await ws->async_close(websocket::close_code::policy_error, redirect_error(use_awaitable, error));
}

namespace {

/// For a viewer that does not unpack by itself.
std::shared_ptr<const std::string> lines_of(const Block& block) {
  auto lines = std::make_shared<std::string>();
  RINGSIDE_CHECK(unpack_frames(*block.frame, std::string::npos, *lines));
  return lines;
}

}  // namespace

/// How long a viewer waits for the next batch: longer when there are many, whose share of the machine would
/// otherwise be that of the ranks.
std::chrono::milliseconds Hub::State::pause_of_viewers() const {
  constexpr std::size_t kFew = 50, kLongest = 4;
  return kHubTick * std::clamp<std::size_t>(watching / kFew, 1, kLongest);
}

template <class Stream>
awaitable<void> Hub::State::send_blocks(WebSocketPtr<Stream> ws, std::int64_t from, bool zstd) {
  constexpr std::size_t kMaxBatch = std::size_t{8} << 20;
  boost::system::error_code error;
  asio::steady_timer timer(io);
  asio::steady_timer deadline(io);
  ws->binary(zstd);
  const auto guarded_write = [&](const std::vector<asio::const_buffer>& buffers) -> awaitable<void> {
    auto done = std::make_shared<bool>(false);  // the handler may run after this frame is gone
    deadline.expires_after(std::chrono::seconds(options.write_timeout_s));
    deadline.async_wait([this, ws, done](boost::system::error_code cancelled) {
      if (cancelled || *done) return;
      count([](HubCounters& c) { ++c.slow_disconnected; });
      beast::get_lowest_layer(*ws).close();
    });
    co_await ws->async_write(buffers, redirect_error(use_awaitable, error));
    *done = true;
    deadline.cancel();
  };
  std::string sticky = backlog.forgotten_sticky(from);
  if (zstd && !sticky.empty()) sticky = pack_frame(sticky);
  std::vector<std::shared_ptr<const std::string>> batch;  // shared with all other viewers
  std::vector<asio::const_buffer> buffers;
  if (!sticky.empty()) {
    buffers.push_back(asio::buffer(sticky));
    co_await guarded_write(buffers);
  }
  while (!error && ws->is_open()) {
    batch.clear();
    buffers.clear();
    std::size_t bytes = 0;
    for (const Block* block = backlog.next(from); block != nullptr; block = backlog.next(from)) {
      batch.push_back(zstd ? block->frame : lines_of(*block));
      bytes += batch.back()->size();
      buffers.push_back(asio::buffer(*batch.back()));
      from = block->first_event + block->events;
      if (bytes > kMaxBatch) break;
    }
    if (!batch.empty()) co_await guarded_write(buffers);
    if (error || bytes > kMaxBatch) continue;
    timer.expires_after(pause_of_viewers());
    co_await timer.async_wait(redirect_error(use_awaitable, error));
  }
}

template <class Stream>
awaitable<void> Hub::State::serve_viewer(WebSocketPtr<Stream> ws, ClientHello hello, std::string peer) {
  count([](HubCounters& c) { ++c.viewers; });
  ++watching;
  // Counted by another hub, or more than this one has: the viewer gets everything.
  const bool other_hub = (!hello.hub.empty() && hello.hub != name) || hello.have_events > backlog.events();
  const std::int64_t from = other_hub ? 0 : std::max<std::int64_t>(0, hello.have_events);
  asio::co_spawn(io, send_blocks<Stream>(ws, from, hello.accept_zstd), asio::detached);
  beast::flat_buffer buffer;
  boost::system::error_code error;
  int bad_messages = 0;
  while (bad_messages <= kBadMessagesAllowed) {
    const std::size_t size = co_await ws->async_read(buffer, redirect_error(use_awaitable, error));
    if (error) break;
    const std::string_view message(static_cast<const char*>(buffer.data().data()), size);
    const auto fault = parse_command(message);
    const bool allowed = hello.role == ClientRole::Controller && fault;
    const auto rank = allowed ? ranks.find(fault->rank) : ranks.end();
    buffer.consume(buffer.size());
    if (rank == ranks.end()) {
      if (!allowed) ++bad_messages;
      count([](HubCounters& c) { ++c.refused; });
      if (refusals.allow(Clock::now()))
        say(sim::EventType::LogLine,
            hello.role != ClientRole::Controller ? "a viewer sent a message; only a controller may"
            : !fault                             ? "command refused: " + fault.error().message()
                                                 : "command refused: no such rank is connected",
            /*sticky=*/false);
      continue;
    }
    record_command(*fault);
    count([](HubCounters& c) { ++c.commands; });
    rank->second(command_json(*fault));
  }
  count([](HubCounters& c) { --c.viewers; });
  --watching;
  if (error == beast::error::timeout || error == websocket::error::message_too_big ||
      error == websocket::error::buffer_overflow)
    say(sim::EventType::LogLine, "viewer " + peer + " " + end_of(error, options, options.max_hello_bytes),
        /*sticky=*/false);
  beast::get_lowest_layer(*ws).close();
}

template awaitable<void> Hub::State::serve_rank<PlainStream>(WebSocketPtr<PlainStream>, ClientHello);
template awaitable<void> Hub::State::serve_rank<TlsStream>(WebSocketPtr<TlsStream>, ClientHello);
template awaitable<void> Hub::State::serve_viewer<PlainStream>(WebSocketPtr<PlainStream>, ClientHello,
                                                               std::string);
template awaitable<void> Hub::State::serve_viewer<TlsStream>(WebSocketPtr<TlsStream>, ClientHello, std::string);

}  // namespace ringside::backend
