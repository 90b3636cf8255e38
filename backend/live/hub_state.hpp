// What the hub knows: the backlog that viewers read, the recording, the connected ranks. No network code in
// here.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/live/hub.hpp"
#include "backend/live/recording.hpp"

namespace ringside::backend {

/// Lines that arrived within one tick; immutable once it is in the backlog, so that writes to many viewers
/// share it.
struct Block {
  std::int64_t first_event = 0;
  std::int64_t events = 0;
  std::shared_ptr<const std::string> frame;  // its lines, as pack_frame() makes it
};

class Backlog {
 public:
  explicit Backlog(std::size_t max_bytes) : max_bytes_(max_bytes) {}
  /// One line without its line feed. Lines that tell who is there and how it ended are kept for good (up to a
  /// bound).
  void add(std::string_view line, bool sticky);
  /// Closes the block that is being filled. Returns it as a zstd frame, for the recording; empty if it was empty.
  std::string_view seal();
  /// The first sealed block that holds an event >= `event`, or null.
  const Block* next(std::int64_t event) const;
  /// Sticky lines from event `from` on that are no longer in the backlog: what a late joiner, or one that was
  /// away for long, must get first.
  std::string forgotten_sticky(std::int64_t from) const;
  std::int64_t events() const { return events_; }
  std::size_t bytes() const { return bytes_; }
  std::size_t open_bytes() const { return open_.size(); }

 private:
  struct Sticky {
    std::int64_t event;
    std::string line;
  };
  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::int64_t events_ = 0;
  std::int64_t open_first_ = 0;
  std::string open_;
  std::deque<Block> blocks_;
  std::deque<Sticky> sticky_;
};

/// Bounds how often something is said that others can provoke: a few at once, then two a second.
class SayLimit {
 public:
  /// How many were left unsaid before this one, if it may be said; else nothing.
  std::optional<std::int64_t> allow(std::chrono::steady_clock::time_point now);

 private:
  static constexpr double kAtOnce = 20, kPerSecond = 2;
  double left_ = kAtOnce;
  std::int64_t unsaid_ = 0;
  std::chrono::steady_clock::time_point last_{};
};

enum class LineCheck : std::uint8_t { Good, Sticky, Malformed };
/// Checks one line of a rank: the documented key order {"t":…,"src":"r<rank>","n":…,"type":"<known word>"…},
/// and that it is valid JSON.
LineCheck check_rank_line(std::string_view line, int rank);

/// A line that a hub wrote down before: whether it is kept for good, and its `n` if the hub itself said it.
struct OwnLine {
  bool sticky = false;
  std::optional<std::uint32_t> hub_n;
};
OwnLine look_at_recorded_line(std::string_view line);

}  // namespace ringside::backend
