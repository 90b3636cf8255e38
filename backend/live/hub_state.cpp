#include "backend/live/hub_state.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "backend/live/recording.hpp"
#include "sim/trace/event.hpp"

namespace ringside::backend {
namespace {

constexpr std::size_t kMaxSticky = 200'000;

bool eat(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool eat_digits(std::string_view& text, bool sign) {
  if (sign && !text.empty() && text.front() == '-') text.remove_prefix(1);
  std::size_t n = 0;
  while (n < text.size() && text[n] >= '0' && text[n] <= '9') ++n;
  if (n == 0 || n > 19) return false;
  text.remove_prefix(n);
  return true;
}

bool tells_who_is_there(sim::EventType type) {
  using T = sim::EventType;
  return type == T::Hello || type == T::Left || type == T::CommInit || type == T::CommAbort ||
         type == T::Exit || type == T::Error || type == T::WatchdogExpired || type == T::NanFound ||
         type == T::Command;
}

}  // namespace

void Backlog::add(std::string_view line, bool sticky) {
  if (open_.empty()) open_first_ = events_;
  open_ += line;
  open_ += '\n';
  if (sticky && sticky_.size() < kMaxSticky) sticky_.push_back({events_, std::string(line)});
  ++events_;
}

std::string_view Backlog::seal() {
  if (open_.empty()) return {};
  auto frame = std::make_shared<const std::string>(pack_frame(open_));
  open_.clear();
  bytes_ += frame->size();
  blocks_.push_back({open_first_, events_ - open_first_, frame});
  while (blocks_.size() > 1 && bytes_ > max_bytes_) {
    bytes_ -= blocks_.front().frame->size();
    blocks_.pop_front();
  }
  return *blocks_.back().frame;
}

const Block* Backlog::next(std::int64_t event) const {
  const auto found = std::partition_point(blocks_.begin(), blocks_.end(), [event](const Block& block) {
    return block.first_event + block.events <= event;
  });
  return found == blocks_.end() ? nullptr : &*found;
}

std::string Backlog::forgotten_sticky(std::int64_t from) const {
  const std::int64_t oldest = blocks_.empty() ? events_ : blocks_.front().first_event;
  std::string out;
  for (const Sticky& sticky : sticky_) {
    if (sticky.event >= oldest) break;
    if (sticky.event < from) continue;
    out += sticky.line;
    out += '\n';
  }
  return out;
}

std::optional<std::int64_t> SayLimit::allow(std::chrono::steady_clock::time_point now) {
  if (last_ != std::chrono::steady_clock::time_point{})
    left_ = std::min(kAtOnce, left_ + kPerSecond * std::chrono::duration<double>(now - last_).count());
  last_ = now;
  if (left_ < 1) {
    ++unsaid_;
    return std::nullopt;
  }
  left_ -= 1;
  return std::exchange(unsaid_, 0);
}

LineCheck check_rank_line(std::string_view line, int rank) {
  std::string_view rest = line;
  const std::string source = "\"r" + std::to_string(rank) + "\"";
  if (!eat(rest, "{\"t\":") || !eat_digits(rest, true) || !eat(rest, ",\"src\":") || !eat(rest, source) ||
      !eat(rest, ",\"n\":") || !eat_digits(rest, false) || !eat(rest, ",\"type\":\""))
    return LineCheck::Malformed;
  const std::size_t quote = rest.find('"');
  if (quote == std::string_view::npos) return LineCheck::Malformed;
  const auto type = sim::event_type_from(rest.substr(0, quote));
  if (!type || !nlohmann::json::accept(line.begin(), line.end())) return LineCheck::Malformed;
  return tells_who_is_there(*type) ? LineCheck::Sticky : LineCheck::Good;
}

OwnLine look_at_recorded_line(std::string_view line) {
  OwnLine out;
  std::string_view rest = line;
  if (!eat(rest, "{\"t\":") || !eat_digits(rest, true) || !eat(rest, ",\"src\":\"")) return out;
  const bool hub = eat(rest, "hub\",\"n\":");
  if (hub) {
    std::uint32_t n = 0;
    if (std::from_chars(rest.data(), rest.data() + rest.size(), n).ec == std::errc()) out.hub_n = n;
  }
  constexpr std::string_view kType = ",\"type\":\"";
  const std::size_t at = rest.find(kType);
  if (at == std::string_view::npos) return out;
  rest.remove_prefix(at + kType.size());
  const auto type = sim::event_type_from(rest.substr(0, rest.find('"')));
  out.sticky = type && tells_who_is_there(*type);
  return out;
}

}  // namespace ringside::backend
