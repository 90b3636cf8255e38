// A viewer of a running job: keeps the connection to its hub on a thread of its own, comes back by itself,
// and hands the lines of the trace over to whoever draws it. Nothing here waits for the network.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "backend/live/hub_connection.hpp"
#include "sim/base/result.hpp"

namespace ringside::backend {

/// How the connection stands, for the screen.
struct LiveStatus {
  LinkState link = LinkState::Connecting;
  std::string text;          // why it was refused, or is lost; as the hub or the system said it
  bool may_command = false;  // the token is the controller's
  bool other_job = false;    // another job runs at this address now: the link is refused
  int connections = 0;       // how often the hub has welcomed us
  std::int64_t events = 0;   // new ones, handed over or waiting to be
  /// Gaps in the numbering of their sources. `dropped`: the rank itself counted them (its queue was full).
  std::int64_t missed = 0, dropped = 0;
  std::int64_t missed_since_connected = 0;  // of `missed`, those found since the last welcome
  std::chrono::steady_clock::time_point since{};  // when `link` became what it is
};

struct LiveClientOptions {
  /// Lines that wait to be taken. When it is full the client stops reading: the hub keeps what comes.
  std::size_t queue_bytes = std::size_t{32} << 20;
};

class LiveClient {
 public:
  explicit LiveClient(HubAddress address, LiveClientOptions options = {});
  ~LiveClient();  // closes and joins
  LiveClient(const LiveClient&) = delete;
  LiveClient& operator=(const LiveClient&) = delete;

  /// Whole lines, each with its line feed, the header's first; at most about so many bytes, at least one line
  /// if any waits. An event that came twice (after a reconnect) is in it once.
  std::string take(std::size_t most_bytes);
  /// Bytes that wait to be taken.
  std::size_t waiting() const;
  LiveStatus status() const;
  /// Orders a fault of a rank. An Error if this connection may not, or is away.
  sim::Status order(const sim::Fault& fault);
  const HubAddress& address() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ringside::backend
