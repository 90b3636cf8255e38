// A client's connection to a hub: WebSocket, plain or TLS with a pinned certificate, hello, then lines both
// ways. Reconnects by itself.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "backend/live/protocol.hpp"

namespace ringside::backend {

struct HubAddress {
  std::string host;
  std::string port;
  bool tls = false;
  std::string fingerprint;  // SHA-256 of the certificate, hex; needed with TLS
  std::string token;        // from the #fragment of a URL, if any
};

/// "http://host:port", "https://host:port", optionally "/#token=…&cert=…". Errors say what is legal.
sim::Result<HubAddress> parse_hub_url(std::string_view url);

enum class LinkState : std::uint8_t { Connecting, Connected, Refused, Lost };

/// Runs on one thread of its own. Callbacks are called on that thread.
class HubConnection {
 public:
  struct Callbacks {
    std::function<void(const ServerAnswer& welcome)> welcomed;
    std::function<void(std::string_view lines)> received;
    std::function<void(LinkState state, const std::string& text)> state_changed;
    std::function<ClientHello()> hello;  // asked before each attempt: reconnects say what they have
  };
  HubConnection(HubAddress address, Callbacks callbacks);
  ~HubConnection();  // closes and joins
  /// Queues text to send. False when more than `max_queued` bytes wait (then the caller drops and counts).
  bool send(std::string text, std::size_t max_queued = std::size_t{4} << 20);
  bool connected() const { return connected_.load(std::memory_order_acquire); }
  /// Waits until everything queued is written, or the time is over.
  bool drain(int timeout_ms);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::atomic<bool> connected_{false};
};

}  // namespace ringside::backend
