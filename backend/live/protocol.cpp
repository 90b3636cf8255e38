#include "backend/live/protocol.hpp"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <array>
#include <nlohmann/json.hpp>

#include "sim/base/json_writer.hpp"

namespace ringside::backend {
namespace {

using Json = nlohmann::json;

struct ReasonRow {
  std::string_view word, text;
};
constexpr std::array<ReasonRow, 14> kReasons{{
    {"token", "The token is wrong. Use the one that the run printed for this role."},
    {"version", "Hub and client speak different versions of the protocol. Update the older one."},
    {"malformed", "The first message must be a hello: one JSON object."},
    {"rank_range", "The rank is not below the world size."},
    {"rank_taken", "A rank with this number is already connected."},
    {"world_size", "The world size differs from that of the run."},
    {"role", "This token may not do that."},
    {"full", "The hub has as many connections as it takes. Try again later."},
    {"origin", "A page of another origin may not connect."},
    {"not_http", "This is no WebSocket request. A hub speaks HTTP and WebSocket, at /ws."},
    {"silent", "Nothing complete was said in time."},
    {"too_big", "The message is larger than a hello or a request may be."},
    {"needs_tls", "This hub speaks TLS only: use its https:// address."},
    {"tls_failed", "TLS was not agreed on: another certificate is pinned, or the client is too old."},
}};

constexpr std::size_t kSmallBytes = std::size_t{64} << 10;
constexpr std::size_t kWelcomeBytes = std::size_t{48} << 20;  // it holds the scenario

/// Small, shallow objects only: a hello or a command has no reason to be deep.
sim::Result<Json> parse_small(std::string_view text, std::size_t max_bytes = kSmallBytes) {
  constexpr int kMaxDepth = 8;
  if (text.size() > max_bytes)
    return sim::Error{.what = "message of more than " + std::to_string(max_bytes / 1024) + " KiB"};
  bool too_deep = false;
  const Json::parser_callback_t depth = [&](int level, Json::parse_event_t, Json&) {
    too_deep = too_deep || level > kMaxDepth;
    return !too_deep;
  };
  Json json = Json::parse(text.begin(), text.end(), depth, /*allow_exceptions=*/false);
  if (too_deep || json.is_discarded() || !json.is_object())
    return sim::Error{.what = "not one small JSON object"};
  return json;
}

template <class T>
bool read(const Json& json, const char* key, T& out) {
  const auto found = json.find(key);
  if (found == json.end()) return false;
  if constexpr (std::is_same_v<T, std::string>) {
    if (!found->is_string()) return false;
  } else {
    if (!found->is_number_integer()) return false;
  }
  out = found->template get<T>();
  return true;
}

}  // namespace

std::string_view to_word(ClientRole role) {
  constexpr std::array<std::string_view, 3> kWords{"rank", "viewer", "controller"};
  return kWords[static_cast<std::size_t>(role)];
}
std::string_view to_word(RejectReason reason) {
  return kReasons[static_cast<std::size_t>(reason)].word;
}
std::string_view text_of(RejectReason reason) {
  return kReasons[static_cast<std::size_t>(reason)].text;
}

std::string hello_json(const ClientHello& hello) {
  std::string out;
  sim::JsonWriter json(out);
  json.begin_object().field("magic", "ringside-hello").field("protocol", hello.protocol);
  json.field("role", to_word(hello.role)).field("token", hello.token).field("agent", hello.agent);
  if (hello.role == ClientRole::Rank) json.field("rank", hello.rank).field("world_size", hello.world_size);
  json.field("have_events", hello.have_events);
  if (!hello.hub.empty()) json.field("hub", hello.hub);
  if (hello.accept_zstd) json.field("accept", "zstd");
  json.end_object();
  return out;
}

sim::Result<ClientHello> parse_hello(std::string_view text) {
  const auto json = parse_small(text);
  if (!json) return json.error();
  std::string magic, role;
  ClientHello hello;
  if (!read(*json, "magic", magic) || magic != "ringside-hello")
    return sim::Error{.what = "not a ringside hello"};
  if (!read(*json, "protocol", hello.protocol)) return sim::Error{.what = "hello without protocol"};
  if (!read(*json, "role", role) || !read(*json, "token", hello.token))
    return sim::Error{.what = "hello without role or token"};
  if (role == "rank") {
    hello.role = ClientRole::Rank;
    if (!read(*json, "rank", hello.rank) || !read(*json, "world_size", hello.world_size))
      return sim::Error{.what = "a rank's hello names its rank and world_size"};
  } else if (role == "controller") {
    hello.role = ClientRole::Controller;
  } else if (role != "viewer") {
    return sim::Error{.what = "unknown role", .legal = "rank, viewer, controller"};
  }
  read(*json, "agent", hello.agent);
  read(*json, "have_events", hello.have_events);
  read(*json, "hub", hello.hub);
  std::string accept;
  hello.accept_zstd = read(*json, "accept", accept) && accept == "zstd";
  return hello;
}

std::string welcome_json(std::string_view header_json, std::string_view hub, ClientRole role) {
  std::string out;
  sim::JsonWriter json(out);
  json.begin_object().field("magic", "ringside-welcome").field("protocol", kProtocolVersion);
  json.field("hub", hub).field("role", to_word(role));
  json.key("header").raw(header_json).end_object();
  return out;
}

std::string reject_json(RejectReason reason) {
  std::string out;
  sim::JsonWriter json(out);
  json.begin_object().field("magic", "ringside-reject").field("protocol", kProtocolVersion);
  json.field("reason", to_word(reason)).field("text", text_of(reason)).end_object();
  return out;
}

sim::Result<ServerAnswer> parse_answer(std::string_view text) {
  const auto json = parse_small(text, kWelcomeBytes);
  if (!json) return json.error();
  std::string magic, role;
  read(*json, "magic", magic);
  ServerAnswer answer;
  if (magic == "ringside-welcome" && json->contains("header")) {
    answer.welcome = true;
    read(*json, "hub", answer.hub);
    answer.may_command = read(*json, "role", role) && role == to_word(ClientRole::Controller);
    answer.header_json = (*json)["header"].dump();
    return answer;
  }
  if (magic != "ringside-reject") return sim::Error{.what = "the other side is not a Ringside hub"};
  read(*json, "reason", answer.reason);
  read(*json, "text", answer.text);
  return answer;
}

std::string command_json(const sim::Fault& fault) {
  std::string out;
  sim::JsonWriter json(out);
  json.begin_object()
      .field("command", "fault")
      .field("kind", sim::to_word(fault.kind))
      .field("rank", fault.rank);
  json.field("step", fault.step);
  if (fault.duration_ns > 0) json.field("duration_ns", fault.duration_ns);
  if (fault.element > 0) json.field("element", fault.element);
  json.end_object();
  return out;
}

sim::Result<sim::Fault> parse_command(std::string_view text) {
  const auto json = parse_small(text);
  if (!json) return json.error();
  std::string command, kind;
  sim::Fault fault;
  if (!read(*json, "command", command) || command != "fault")
    return sim::Error{.what = "unknown command", .legal = "fault"};
  read(*json, "kind", kind);
  const auto known = sim::fault_kind_from(kind);
  if (!known || !sim::supported_live(*known))
    return sim::Error{.what = "a live run cannot do \"" + kind + "\" to itself",
                      .legal = "nan, crash, hang, slow, shape, skip_step, early_exit, wrong_order"};
  fault.kind = *known;
  if (!read(*json, "rank", fault.rank) || fault.rank < 0)
    return sim::Error{.what = "a command names its rank"};
  read(*json, "step", fault.step);
  read(*json, "duration_ns", fault.duration_ns);
  read(*json, "element", fault.element);
  if (fault.step < 0 || fault.duration_ns < 0 || fault.element < 0)
    return sim::Error{.what = "negative number in a command"};
  return fault;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

sim::Result<std::string> make_token() {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
    return sim::Error{.what = "no random numbers from the system"};
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : bytes) {
    out += kHex[byte >> 4];
    out += kHex[byte & 0xF];
  }
  return out;
}

}  // namespace ringside::backend
