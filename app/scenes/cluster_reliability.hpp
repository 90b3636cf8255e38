// Why big clusters stop so often: mean time to failure against size, useful time against the checkpoint
// interval. Closed form, Monte Carlo and published numbers side by side, also where they disagree.
#pragma once

#include <array>
#include <vector>

#include "app/scenes/scene.hpp"
#include "sim/model/reliability.hpp"

namespace ringside::app {

class ReliabilityPanel {
 public:
  /// Takes size and checkpointing of what is open, once for each trace.
  void prepare(const SceneContext& ctx);
  /// True when the person wants to go back to the cluster.
  bool draw(View& view, Rect box);
  void inspector(View& view);

  const sim::ReliabilitySpec& spec() const { return spec_; }

 private:
  struct CurvePoint {
    double minutes = 0, linear = 0, exact = 0;
  };
  struct DicePoint {
    double minutes = 0;
    sim::MonteCarlo dice;
    bool known = false;
  };
  void compute(const SceneContext& ctx);
  void numbers(View& view, Rect box);
  void size_plot(View& view, Rect box);
  void checkpoint_plot(View& view, Rect box);
  void controls(View& view, Rect box);

  std::uint64_t generation_ = ~std::uint64_t{0};
  sim::ReliabilitySpec spec_;
  bool dirty_ = true;
  sim::Reliability now_;
  std::vector<CurvePoint> curve_;
  std::array<DicePoint, 7> dice_{};
};

}  // namespace ringside::app
