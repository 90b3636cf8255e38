// A running job in the window: the connection to its hub, its trace as it grows, and the job that this window
// has started itself. The network has a thread of its own; everything here runs between frames and takes a
// bounded share of them. No ImGui; used from the main thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/live/live_client.hpp"
#include "backend/live/process.hpp"
#include "sim/base/result.hpp"
#include "sim/trace/trace.hpp"

namespace ringside::backend {
class TraceReader;
}

namespace ringside::app {

class Session;

/// What "Start four ranks here" starts.
struct HereOptions {
  int ranks = 4;
  std::int64_t steps = 2000;
  std::string pace = "400ms", watchdog = "30s", device = "auto";
};

class LiveDesk {
 public:
  LiveDesk();
  ~LiveDesk();  // tells what was started here to end, and does not wait for it
  LiveDesk(const LiveDesk&) = delete;
  LiveDesk& operator=(const LiveDesk&) = delete;

  // --- watching
  /// Connects to a hub, instead of the one before; the trace opens when the hub has said what it is. An Error
  /// only if the URL is none.
  sim::Status watch(std::string_view url);
  /// Closes the connection. What came stays open, as a recording.
  void leave(Session& session);
  bool watching() const { return client_ != nullptr; }
  /// Of the connection, or of the last one.
  const backend::LiveStatus& status() const { return status_; }
  /// "127.0.0.1:4710"; empty before the first.
  const std::string& host() const { return host_; }
  /// The growing trace, once its header is there; null while nothing is watched.
  const sim::Trace* trace() const;
  /// The job is over: every rank has ended, and the hub with them.
  bool over() const { return over_; }
  /// Events a second, over the last two.
  double rate() const { return rate_; }
  /// Orders a fault of a running rank: in its training step `step`, or in its next one (0).
  sim::Status order(const sim::Fault& fault);

  // --- a job of our own
  /// Starts `ringside-cli live` and watches it as soon as it says where. An Error if there is no such program.
  sim::Status start_here(const HereOptions& options);
  /// Asks it to end; update() sees it go.
  void stop_here();
  bool here() const { return here_running_; }
  /// What it has said, the last lines first to go; the URL is left out: it holds the token.
  const std::vector<std::string>& here_said() const { return here_said_; }
  /// It ended before it had anything to watch: here_said() says why.
  bool here_failed() const { return here_failed_; }
  std::string program_folder;  // where ringside-cli is; "" = nothing can be started

  // --- the frame
  /// Takes up what came. True if something changed.
  bool update(Session& session);
  /// How long the frame took that showed the last growth: growing more often than that allows would eat it.
  void note_frame(std::int64_t ns);
  /// Nothing that came waits to be taken up.
  bool caught_up() const;
  /// Seconds until update() should be called again; large = no need.
  double wake_in() const;

 private:
  using Clock = std::chrono::steady_clock;
  bool update_here(Session& session);
  bool update_link(Session& session);
  bool grow(Session& session);
  void open_document(Session& session);
  void count_ends();
  void measure_rate();

  std::unique_ptr<backend::LiveClient> client_;
  std::shared_ptr<backend::TraceReader> reader_;
  bool opened_ = false, over_ = false, grew_ = false;
  backend::LiveStatus status_;
  std::string host_;
  std::int64_t cost_ns_ = 0;
  Clock::time_point next_growth_{}, lost_at_{}, back_at_{};
  int connections_seen_ = 0;
  bool say_what_was_missed_ = false;
  std::size_t counted_ = 0;       // events of the trace that count_ends() has seen
  std::vector<bool> rank_ended_;  // by rank
  std::deque<std::pair<Clock::time_point, std::int64_t>> samples_;  // events so far
  double rate_ = 0;

  backend::Child here_;
  bool here_running_ = false, here_failed_ = false, here_watched_ = false;
  std::vector<std::string> here_said_;
};

}  // namespace ringside::app
