// The hub: ranks write events to it, viewers read them, a controller may inject faults. A process of its own,
// because a rank can die and the hub must not; it never signals anybody and never waits for anybody.
//
// One thread, one io_context. Lines of ranks are checked (form, size, that a rank speaks for itself),
// appended to a bounded backlog and to the recording. Viewers have only a cursor into the backlog, so a slow
// one costs no memory: when the backlog has moved on without it, it sees the gap in `n`; when a write does
// not end in time, it is disconnected.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/result.hpp"
#include "sim/trace/trace.hpp"

namespace ringside::backend {

struct HubTokens {
  std::string rank, viewer, controller;
};

struct HubOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0 = any free one
  int port_tries = 16;     // when the port is in use: the next ones
  HubTokens tokens;
  sim::TraceHeader header;               // what viewers and the recording begin with
  std::string recording;                 // path; empty = none
  std::string name;                      // whose count of events this is; empty = a new one
  bool resume = false;                   // go on with the recording, as the hub that was there before
  std::string tls_certificate, tls_key;  // PEM files; needed for an address that is not loopback
  bool insecure = false;                 // forced: no TLS although the address is not loopback
  std::vector<std::string> origins;      // values of Origin that browsers may send; others are refused
  std::size_t max_message_bytes = 1 << 20;
  std::size_t max_connections = 1024;
  std::size_t backlog_bytes = std::size_t{48} << 20;  // of zstd frames: several times as much in lines
  std::int64_t max_bytes_per_second = std::int64_t{64} << 20;  // of one rank; above it is read more slowly
  int write_timeout_s = 10;
  std::size_t max_hello_bytes = 64 * 1024;  // the first message, and whatever a viewer sends
  int handshake_timeout_ms = 5000;          // to say who one is
  int idle_timeout_ms = 30'000;             // of a connection that answers no ping either
};

struct HubCounters {
  std::int64_t events = 0, malformed = 0, refused = 0, slow_disconnected = 0, commands = 0;
  std::size_t ranks = 0, viewers = 0, backlog_bytes = 0;
};

class Hub {
 public:
  /// Binds and listens; errors: no TLS for a foreign address, port in use, recording exists, certificate
  /// unreadable.
  static sim::Result<std::unique_ptr<Hub>> create(HubOptions options);
  ~Hub();
  /// Serves until stop(). Call from one thread.
  void run();
  /// From any thread or a signal handler's thread.
  void stop();
  std::uint16_t port() const;
  /// "http://127.0.0.1:4710" or https.
  std::string url() const;
  /// SHA-256 of the certificate in hex, to be pinned; empty without TLS.
  std::string fingerprint() const;
  HubCounters counters() const;  // from any thread

  struct State;

 private:
  explicit Hub(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// True for 127.0.0.0/8, ::1 and "localhost".
bool is_loopback(const std::string& address);

/// Writes a self-signed certificate and its key (PEM, mode 0600) for the host name, valid for a year.
sim::Status write_self_signed(const std::string& certificate_path, const std::string& key_path,
                              const std::string& host);

/// SHA-256 of a PEM certificate (DER form), in hex.
sim::Result<std::string> certificate_fingerprint(const std::string& certificate_path);

}  // namespace ringside::backend
