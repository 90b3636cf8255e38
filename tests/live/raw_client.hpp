// A client that keeps to no rule: bytes over a socket, as an attacker or a broken program sends them.
#pragma once

#include <string>
#include <string_view>

namespace ringside::backend {

class RawClient {
 public:
  /// Connects to 127.0.0.1.
  explicit RawClient(int port);
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  ~RawClient();

  /// False once the other side does not take it.
  bool send(std::string_view bytes);
  /// All that comes until the other side closes, or nothing more comes for `timeout_ms`.
  std::string read_all(int timeout_ms = 10'000);
  /// True when the last read_all ended because the other side closed.
  bool closed() const { return closed_; }

  /// A WebSocket handshake with this path and further header lines ("Origin: …\r\n"); its answer.
  std::string upgrade(std::string_view more_headers = {}, std::string_view path = "/ws");
  /// One masked frame, opcode 1 (text) or 0 (goes on), with `announced` bytes, of which `payload` really follows.
  bool send_frame(std::string_view payload, unsigned long long announced, bool final = true, int opcode = 1);
  bool send_text(std::string_view payload) { return send_frame(payload, payload.size()); }
  bool send_close() { return send(std::string_view("\x88\x80\0\0\0\0", 6)); }
  /// What comes until and with `end`.
  std::string read_until(std::string_view end, int timeout_ms = 20'000);

 private:
  int fd_ = -1;
  bool closed_ = false;
};

}  // namespace ringside::backend
