#include "tests/live/raw_client.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ringside::backend {

RawClient::RawClient(int port) {
  fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(fd_);
    fd_ = -1;
  }
}

RawClient::~RawClient() {
  if (fd_ >= 0) ::close(fd_);
}

bool RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    pollfd ready{fd_, POLLOUT, 0};
    if (::poll(&ready, 1, 10'000) <= 0) return false;
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::string RawClient::read_all(int timeout_ms) {
  std::string out;
  char buffer[4096];
  closed_ = false;
  while (true) {
    pollfd ready{fd_, POLLIN, 0};
    if (::poll(&ready, 1, timeout_ms) <= 0) return out;
    const ssize_t got = ::recv(fd_, buffer, sizeof buffer, 0);
    if (got <= 0) {  // closes too, as whoever is told so does: the other side waits for it
      closed_ = true;
      ::close(fd_);
      fd_ = -1;
      return out;
    }
    out.append(buffer, static_cast<std::size_t>(got));
  }
}

std::string RawClient::read_until(std::string_view end, int timeout_ms) {
  std::string out;
  char c = 0;
  while (out.find(end) == std::string::npos) {
    pollfd ready{fd_, POLLIN, 0};
    if (::poll(&ready, 1, timeout_ms) <= 0 || ::recv(fd_, &c, 1, 0) != 1) break;
    out += c;
  }
  return out;
}

std::string RawClient::upgrade(std::string_view more_headers, std::string_view path) {
  send("GET " + std::string(path) +
       " HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
       "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n" +
       std::string(more_headers) + "\r\n");
  std::string answer = read_until("\r\n\r\n", 10'000);
  if (answer.find(" 101 ") == std::string::npos) answer += read_all();
  return answer;
}

bool RawClient::send_frame(std::string_view payload, unsigned long long announced, bool final, int opcode) {
  std::string frame;
  frame += static_cast<char>((final ? 0x80 : 0) | opcode);
  const int bytes = announced < 126 ? 0 : announced < 65'536 ? 2 : 8;  // the shortest form is the only legal one
  frame += static_cast<char>(0x80 | (bytes == 0 ? static_cast<int>(announced) : bytes == 2 ? 126 : 127));
  for (int i = bytes - 1; i >= 0; --i) frame += static_cast<char>(announced >> (8 * i) & 0xFF);
  frame.append(4, '\0');  // a mask of zeros leaves the payload as it is
  frame += payload;
  return send(frame);
}

}  // namespace ringside::backend
