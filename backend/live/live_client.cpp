#include "backend/live/live_client.hpp"

#include <charconv>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>

namespace ringside::backend {
namespace {

/// What stands at the beginning of every line: {"t":…,"src":"…","n":…,"type":"…"…
struct LineHead {
  std::string_view source;
  std::int64_t n = 0;
  std::string_view type;
};

std::optional<LineHead> head_of(std::string_view line) {
  const auto after = [&line](std::string_view key) {
    const std::size_t at = line.find(key);
    if (at == std::string_view::npos) return false;
    line.remove_prefix(at + key.size());
    return true;
  };
  const auto until_quote = [&line] { return line.substr(0, line.find('"')); };
  LineHead head;
  if (!line.starts_with("{\"t\":") || !after(",\"src\":\"")) return std::nullopt;
  head.source = until_quote();
  if (!after("\",\"n\":")) return std::nullopt;
  const auto number = std::from_chars(line.data(), line.data() + line.size(), head.n);
  if (number.ec != std::errc() || !after(",\"type\":\"")) return std::nullopt;
  head.type = until_quote();
  return head;
}

}  // namespace

struct LiveClient::Impl {
  HubAddress address;
  LiveClientOptions options;
  mutable std::mutex mutex;
  std::condition_variable room;
  LiveStatus status;
  std::string queue;
  std::size_t taken = 0;  // of `queue`, from its begin
  bool stopping = false;
  // Of the hub's events, counted as it counts them.
  std::int64_t seen = 0;
  std::string hub, header;
  std::map<std::string, std::int64_t, std::less<>> next_n;
  std::unique_ptr<HubConnection> connection;  // last: its thread uses all of the above

  std::size_t waiting() const { return queue.size() - taken; }

  void welcomed(const ServerAnswer& welcome) {
    const std::lock_guard lock(mutex);
    if (header.empty()) {
      header = welcome.header_json;
      queue += header + "\n";
    } else if (header != welcome.header_json) {
      status.other_job = true;  // another job listens there: its events do not belong to this trace
    }
    if (hub != welcome.hub) {
      seen = 0;
      next_n.erase("hub");  // a new hub counts its own events from 0
    }
    hub = welcome.hub;
    ++status.connections;
    status.missed_since_connected = 0;
    status.may_command = welcome.may_command;
  }

  /// One line of the hub; false if it was here before.
  bool is_new(std::string_view line) {
    ++seen;
    const auto head = head_of(line);
    if (!head) return true;  // the reader says what is wrong with it
    auto next = next_n.find(head->source);
    if (next == next_n.end()) next = next_n.emplace(std::string(head->source), 0).first;
    if (head->n < next->second) return false;
    const std::int64_t gap = head->n - next->second;
    next->second = head->n + 1;
    if (head->type == "events_dropped") {
      status.dropped += gap;
    } else {
      status.missed += gap;
      status.missed_since_connected += gap;
    }
    ++status.events;
    return true;
  }

  void received(std::string_view lines) {
    std::unique_lock lock(mutex);
    // While nobody takes anything the socket is not read either; the hub then goes on without us, and a
    // reconnect brings what it still has.
    room.wait(lock, [&] { return stopping || waiting() < options.queue_bytes; });
    if (stopping || status.other_job) return;
    if (taken > 0) {
      queue.erase(0, taken);
      taken = 0;
    }
    while (!lines.empty()) {
      const std::size_t end = std::min(lines.find('\n'), lines.size());
      const std::string_view line = lines.substr(0, end);
      lines.remove_prefix(std::min(end + 1, lines.size()));
      if (line.empty() || !is_new(line)) continue;
      queue += line;
      queue += '\n';
    }
  }

  void changed(LinkState link, const std::string& text) {
    const std::lock_guard lock(mutex);
    // Between two attempts it stays lost, with its reason, until one succeeds.
    const bool still_away = link == LinkState::Connecting && status.link == LinkState::Lost;
    if (still_away || (status.link == LinkState::Lost && link == LinkState::Lost)) {
      if (!text.empty()) status.text = text;
      return;
    }
    status.link = link;
    status.text = text;
    status.since = std::chrono::steady_clock::now();
  }

  ClientHello hello() const {
    const std::lock_guard lock(mutex);
    ClientHello hello;
    hello.role = ClientRole::Viewer;
    hello.agent = "ringside";
    hello.have_events = seen;
    hello.hub = hub;
    hello.accept_zstd = true;
    return hello;
  }
};

LiveClient::LiveClient(HubAddress address, LiveClientOptions options) : impl_(std::make_unique<Impl>()) {
  impl_->address = address;
  impl_->options = options;
  impl_->status.since = std::chrono::steady_clock::now();
  HubConnection::Callbacks callbacks;
  callbacks.hello = [impl = impl_.get()] { return impl->hello(); };
  callbacks.welcomed = [impl = impl_.get()](const ServerAnswer& welcome) { impl->welcomed(welcome); };
  callbacks.received = [impl = impl_.get()](std::string_view lines) { impl->received(lines); };
  callbacks.state_changed = [impl = impl_.get()](LinkState link, const std::string& text) {
    impl->changed(link, text);
  };
  impl_->connection = std::make_unique<HubConnection>(std::move(address), std::move(callbacks));
}

LiveClient::~LiveClient() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
  }
  impl_->room.notify_all();
  impl_->connection.reset();
}

std::string LiveClient::take(std::size_t most_bytes) {
  std::string out;
  {
    const std::lock_guard lock(impl_->mutex);
    const std::string_view rest = std::string_view(impl_->queue).substr(impl_->taken);
    if (rest.empty()) return out;
    std::size_t end = rest.size();
    if (rest.size() > most_bytes) {
      end = rest.rfind('\n', most_bytes);
      if (end == std::string_view::npos) end = rest.find('\n');  // one line that is longer
      end = end == std::string_view::npos ? rest.size() : end + 1;
    }
    out = rest.substr(0, end);
    impl_->taken += end;
    if (impl_->taken == impl_->queue.size()) {
      impl_->queue.clear();
      impl_->taken = 0;
    }
  }
  impl_->room.notify_all();
  return out;
}

std::size_t LiveClient::waiting() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->waiting();
}

LiveStatus LiveClient::status() const {
  const std::lock_guard lock(impl_->mutex);
  LiveStatus out = impl_->status;
  if (out.other_job) out.link = LinkState::Refused;
  return out;
}

sim::Status LiveClient::order(const sim::Fault& fault) {
  const LiveStatus now = status();
  if (now.link != LinkState::Connected) return sim::Error{.what = "the hub is not connected"};
  if (!now.may_command)
    return sim::Error{.what = "this token may only watch",
                      .hint = "Use the URL with the controller's token, as ringside-cli live prints it."};
  if (!sim::supported_live(fault.kind))
    return sim::Error{.what = "a live run cannot do this to itself", .text = std::string(to_word(fault.kind))};
  if (!impl_->connection->send(command_json(fault))) return sim::Error{.what = "the hub takes no more orders"};
  return sim::ok();
}

const HubAddress& LiveClient::address() const {
  return impl_->address;
}

}  // namespace ringside::backend
