#include "backend/live/hub.hpp"

#include <algorithm>
#include <utility>

#include "backend/live/clock.hpp"
#include "backend/live/hub_server.hpp"

namespace ringside::backend {
using asio::redirect_error;
using asio::use_awaitable;

bool is_loopback(const std::string& address) {
  if (address == "localhost") return true;
  boost::system::error_code error;
  const auto parsed = asio::ip::make_address(address, error);
  return !error && parsed.is_loopback();
}

void Hub::State::say(sim::EventType type, const std::string& text, bool sticky, std::string_view stream) {
  sim::Trace pools;
  sim::Event e;
  e.type = type;
  e.text = sim::TextPayload{pools.intern(text), pools.intern(stream), 0, 0};
  add_own(pools, e, sticky);
}

void Hub::State::record_command(const sim::Fault& fault) {
  sim::Trace pools;
  sim::Event e;
  e.type = sim::EventType::Command;
  e.command = sim::CommandPayload{pools.add_command(fault)};
  add_own(pools, e, true);
}

void Hub::State::add_own(const sim::Trace& pools, sim::Event e, bool sticky) {
  e.t = unix_ns() - options.header.origin_unix_ns;
  e.set_source({sim::Source::Kind::Hub, 0});
  e.n = next_n++;
  std::string line;
  sim::append_event_json(line, pools, e);
  backlog.add(line, sticky);
}

/// What the hub before this one wrote down is this one's past: late joiners and viewers that come back get it,
/// and events keep their numbers.
sim::Status Hub::State::go_on() {
  const auto status = recording.go_on(options.recording, header_json, [this](std::string_view lines) {
    while (!lines.empty()) {
      const std::size_t end = std::min(lines.find('\n'), lines.size());
      const OwnLine line = look_at_recorded_line(lines.substr(0, end));
      backlog.add(lines.substr(0, end), line.sticky);
      if (line.hub_n) next_n = *line.hub_n + 1;
      lines.remove_prefix(std::min(end + 1, lines.size()));
    }
    backlog.seal();
  });
  if (status)
    say(sim::EventType::LogLine,
        "the hub was started anew and goes on with its recording; what it had not written down is missing");
  return status;
}

/// When more is known than what was said last: the offset lies elsewhere, or its error is half of what it was.
void Hub::State::say_clocks() {
  if (!clocks.several_hosts() || std::chrono::steady_clock::now() < next_clocks) return;
  next_clocks = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  for (const HostOffset& now : clocks.offsets()) {
    const auto before = clocks_said.find(now.host);
    if (before != clocks_said.end() && now.error_ns * 2 > before->second.error_ns &&
        std::abs(now.offset_ns - before->second.offset_ns) <= before->second.error_ns)
      continue;
    clocks_said[now.host] = now;
    say(sim::EventType::LogLine, offset_text(now), /*sticky=*/true, kClockStream);
  }
}

/// What came since the last time becomes a block: for the recording and for viewers.
void Hub::State::write_out() {
  const std::string_view frame = backlog.seal();
  if (frame.empty()) return;
  if (const auto status = recording.write(frame); !status) say(sim::EventType::Error, status.error().message());
}

void Hub::State::tick() {
  say_clocks();
  write_out();
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
    timer.expires_after(kHubTick);
    co_await timer.async_wait(redirect_error(use_awaitable, error));
    tick();
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
                          "Give --self-signed, or --tls-cert and --tls-key, or force it with --insecure."};
  if (state->use_tls) {
    const auto fingerprint = certificate_fingerprint(o.tls_certificate);
    if (!fingerprint) return fingerprint.error();
    state->fingerprint = *fingerprint;
    state->tls.use_certificate_chain_file(o.tls_certificate, error);
    if (!error) state->tls.use_private_key_file(o.tls_key, asio::ssl::context::pem, error);
    if (error)
      return sim::Error{.what = "certificate or key cannot be used: " + error.message(), .file = o.tls_key};
  }
  const int tries = o.resume ? 1 : std::max(1, o.port_tries);  // ranks and viewers know the port
  for (int i = 0; i < tries; ++i) {
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
  state->name = o.name;
  if (o.name.empty()) {
    auto name = make_token();
    if (!name) return name.error();
    state->name = std::move(*name);
  }
  if (!o.recording.empty())
    if (const auto opened = o.resume ? state->go_on() : state->recording.open(o.recording, state->header_json);
        !opened)
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
