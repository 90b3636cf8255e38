// A job that runs (or its recording): every rank in the last seconds, how we know what we say, the same job
// simulated beside it, and real faults.
#include "app/scenes/live_scene.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "app/i18n/i18n.hpp"
#include "app/scenes/live_judge.hpp"
#include "app/session/live_desk.hpp"
#include "app/session/session.hpp"
#include "sim/base/text.hpp"
#include "sim/job/simulate.hpp"

namespace ringside::app {
namespace live {

std::string time_text(std::int64_t ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  if (ns >= 100 * kSecond) return sim::format_duration(ns / kSecond * kSecond);
  if (ns >= kSecond) return tr("live.seconds", {fmt::format("{:.2f}", static_cast<double>(ns) / 1e9)});
  if (ns >= 1'000'000) return sim::format_duration(ns / 100'000 * 100'000);
  return sim::format_duration(ns / 100 * 100);
}

bool Prediction::update(const SceneContext& ctx) {
  if (generation_ != ctx.generation) {
    generation_ = ctx.generation;
    times_.reset();
    too_large_ = false;
    scenario_.reset();
    if (!ctx.trace.header.scenario_toml.empty())
      if (auto parsed = sim::parse_scenario(ctx.trace.header.scenario_toml, "live")) scenario_ = std::move(*parsed);
  }
  if (!job_.valid()) return false;
  if (job_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return true;
  times_ = job_.get();
  return false;
}

void Prediction::start() {
  constexpr std::int64_t kSteps = 12;  // medians of a healthy job do not need more
  constexpr double kMostCost = 60e6;
  if (!scenario_ || running()) return;
  sim::Scenario healthy = *scenario_;
  healthy.faults.clear();
  healthy.training.steps = std::min(healthy.training.steps, kSteps);
  too_large_ = simulation_cost(healthy) > kMostCost;
  if (too_large_) return;
  job_ = std::async(std::launch::async,
                    [scenario = std::move(healthy)] { return job_times(sim::simulate(scenario).trace); });
}

}  // namespace live

namespace {

class LiveScene final : public Scene {
 public:
  void prepare(const SceneContext& ctx) override {
    shown_ = ctx.trace.header.source == "live";
    predicting_ = prediction_.update(ctx);
    if (!shown_) return;
    judge_.at(ctx);
  }

  void draw(View& view) override {
    if (predicting_ || judge_.pending()) view.ui.wake_in(0.1);
    if (!shown_) return live::draw_connect(view, url_);
    if (view.ctx.presenter) return draw_enlarged(view);
    live::Paint p = paint(view);
    const Rect s = view.box;
    const bool small = s.h < 500;
    const float pad = small ? 10.0f : 12.0f, cards = small ? 150.0f : std::min(202.0f, s.h * .36f);
    const Rect lower{s.x + pad, s.bottom() - pad - cards, s.w - 2 * pad, cards};
    live::draw_lanes(p, {s.x + pad, s.y + pad - 4, s.w - 2 * pad, lower.y - s.y - 2 * pad + 6});
    const float left = std::floor((lower.w - 14) * .53f);
    live::draw_calls(p, {lower.x, lower.y, left, lower.h});
    live::draw_compare(p, {lower.x + left + 14, lower.y, lower.w - left - 14, lower.h}, prediction_);
  }

  void inspector(View& view) override {
    if (!shown_) return live::draw_terminal(view);
    live::Paint p = paint(view);
    live::draw_panel(p, view.box, fault_, prediction_.scenario());
  }

  bool wants_transport(const SceneContext& ctx) const override { return ctx.trace.header.source == "live"; }

  Timeline timeline(const SceneContext& ctx) const override {
    Timeline line = default_timeline(ctx);
    line.bands = {{line.from, line.to, judge_.running() ? tr("live.now.drag") : std::string()}};
    line.ticks.clear();
    line.labels.clear();
    return line;
  }

  std::string title(const SceneContext& ctx) const override {
    return ctx.trace.header.source == "live" ? std::string() : tr("live.title");
  }

  std::string facts(const SceneContext& ctx) const override {
    if (!shown_) return {};
    std::string out = tr("live.fact.ranks", {std::to_string(ctx.trace.header.world_size)});
    int hosts = 0;
    std::string device, last;
    for (const LiveLane& lane : judge_.view().lanes) {
      if (device.empty()) device = lane.device;
      if (lane.host.empty() || lane.host == last) continue;
      last = lane.host;
      ++hosts;
    }
    if (hosts > 1) out += " · " + tr("live.fact.hosts", {std::to_string(hosts)});
    if (!device.empty()) out += " · " + sim::escape_for_display(device);
    if (judge_.view().called) out += " · " + tr(judge_.view().ring_steps ? "live.fact.stepped" : "live.fact.fused");
    return out;
  }

  std::string caption(const SceneContext& ctx) const override {
    return shown_ ? live::sentences(judge_.view(), ctx.live, judge_.running()).first : std::string();
  }

 private:
  /// The lanes alone, as on a screen of less than half the size: read from the last row.
  void draw_enlarged(View& view) {
    constexpr float kLarger = 2.2f, kMargin = 8;
    View inner{view.canvas, view.ui, view.actions, view.ctx, {0, 0, view.box.w / kLarger, view.box.h / kLarger}};
    view.canvas.push_figure({view.box.x, view.box.y}, kLarger);
    live::Paint p = paint(inner);
    live::draw_lanes(p, inner.box.inset(kMargin));
    view.canvas.pop_figure();
  }

  live::Paint paint(View& view) const {
    return {view, view.canvas, view.canvas.theme(), judge_.view(), view.ctx.live, shown_ && judge_.running()};
  }

  bool shown_ = false, predicting_ = false;
  LiveJudge judge_;
  live::Prediction prediction_;
  live::FaultChoice fault_;
  std::string url_;
};

}  // namespace

std::unique_ptr<Scene> make_live_scene() {
  return std::make_unique<LiveScene>();
}

}  // namespace ringside::app
