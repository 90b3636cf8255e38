// The live scene's pieces: lanes, cards, the panel at the right, faults, the page without a job.
#pragma once

#include <future>
#include <optional>
#include <string>

#include "app/scenes/live_view.hpp"
#include "app/scenes/scene.hpp"
#include "sim/scenario/scenario.hpp"

namespace ringside::app {

class LiveDesk;

namespace live {

/// What one frame of the scene is drawn from.
struct Paint {
  View& view;
  Canvas& c;
  const Theme& t;
  const LiveView& live;
  const LiveDesk* desk;
  bool running;  // this trace is the one that grows
};

/// "1.32 s", "420 ms", "36 μs".
std::string time_text(std::int64_t ns);

/// The same job simulated, for its times. The scenario comes from the trace's header.
class Prediction {
 public:
  /// Looks at the header of another trace; takes up a finished simulation. True while one runs.
  bool update(const SceneContext& ctx);
  void start();
  const std::optional<sim::Scenario>& scenario() const { return scenario_; }
  const std::optional<JobTimes>& times() const { return times_; }
  bool running() const { return job_.valid(); }
  bool too_large() const { return too_large_; }

 private:
  std::uint64_t generation_ = ~std::uint64_t{0};
  std::optional<sim::Scenario> scenario_;
  std::optional<JobTimes> times_;
  bool too_large_ = false;
  std::future<JobTimes> job_;
};

/// What a person is about to order.
struct FaultChoice {
  int rank = 0;
  bool sure = false;  // "kill" was chosen, and has to be confirmed
};

void draw_lanes(Paint& p, Rect box);
void draw_calls(Paint& p, Rect box);
void draw_compare(Paint& p, Rect box, Prediction& prediction);
void draw_panel(Paint& p, Rect box, FaultChoice& fault, const std::optional<sim::Scenario>& scenario);
/// The button that opens the list of faults.
void draw_faults(Paint& p, Rect button, FaultChoice& fault, const std::optional<sim::Scenario>& scenario);
/// Nothing is watched: an address to type, ranks to start.
void draw_connect(View& view, std::string& url);
/// The same from a terminal, for the panel at the right.
void draw_terminal(View& view);
/// The sentence for now, and a second one or "".
std::pair<std::string, std::string> sentences(const LiveView& live, const LiveDesk* desk, bool running);

}  // namespace live
}  // namespace ringside::app
