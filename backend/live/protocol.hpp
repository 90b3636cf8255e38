// What goes over the wire between ranks, hub and viewers: a versioned hello, a welcome or a refusal with its
// reason, then lines of events.
//
// Transport: WebSocket at /ws. The first message of a client is one Hello as JSON; the hub answers with a
// Welcome (whose `header` is the trace header, docs/trace-format.md) or a Reject and closes. After that a
// rank sends lines of events (one JSON object a line, several lines a message), a viewer receives them, a
// controller may send commands. A viewer whose hello says "accept":"zstd" receives them in binary messages
// instead: one or several zstd frames (RFC 8878), each with its size, one after another. Fields may be added
// within a version, never changed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/base/result.hpp"
#include "sim/scenario/fault.hpp"

namespace ringside::backend {

inline constexpr int kProtocolVersion = 1;

enum class ClientRole : std::uint8_t { Rank, Viewer, Controller };
std::string_view to_word(ClientRole role);

struct ClientHello {
  int protocol = kProtocolVersion;
  ClientRole role = ClientRole::Viewer;
  std::string token;
  std::string agent;   // program and version, for the hub's log
  int rank = -1;       // ranks only
  int world_size = 0;  // ranks only
  std::int64_t have_events =
      0;  // viewers that reconnect: events they have seen; ranks that reconnect: their next n
  std::string hub;  // viewers that reconnect: the hub that counted have_events; another one starts over
  bool accept_zstd = false;  // viewers: lines may come in zstd frames
};

/// Why a client was refused. The word goes over the wire, the text is shown to a person.
enum class RejectReason : std::uint8_t {
  Token,
  Version,
  Malformed,
  RankRange,
  RankTaken,
  WorldSize,
  Role,
  Full,
  Origin,
  NotHttp,
  Silent,
  TooBig,
  NeedsTls,
  TlsFailed
};
std::string_view to_word(RejectReason reason);
std::string_view text_of(RejectReason reason);

std::string hello_json(const ClientHello& hello);
sim::Result<ClientHello> parse_hello(std::string_view json);
/// `hub` names this hub's process (its counting of events is its own); `role` is what the client may do here:
/// a viewer that came with the controller's token may command.
std::string welcome_json(std::string_view header_json, std::string_view hub, ClientRole role);
std::string reject_json(RejectReason reason);

struct ServerAnswer {
  bool welcome = false;
  std::string header_json;   // welcome
  std::string hub;           // welcome: names the hub's process; empty from an older one
  bool may_command = false;  // welcome: this connection may order faults
  std::string reason, text;  // reject
};
sim::Result<ServerAnswer> parse_answer(std::string_view json);

/// {"command":"fault", …}: as a controller sends it and as the hub passes it on to the rank.
std::string command_json(const sim::Fault& fault);
sim::Result<sim::Fault> parse_command(std::string_view json);

/// Compares without telling by its time how much was right.
bool equal_in_constant_time(std::string_view a, std::string_view b);

/// 32 hex digits from the system's random source.
sim::Result<std::string> make_token();

}  // namespace ringside::backend
