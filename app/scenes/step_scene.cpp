// The training-step scene: what N GPUs do in one step of training, with the real numbers of a small network.
#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <memory>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/step_draw.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

constexpr int kMostLanes = 64;

class StepScene final : public Scene {
 public:
  void prepare(const SceneContext& ctx) override {
    computing_ = numbers_.update(ctx);
    index_.update(ctx.trace, ctx.generation);
    view_ =
        make_step_view(index_, ctx.trace, ctx.frame, numbers_.scenario(), ctx.presenter ? 12 : kMostLanes);
    if (ctx.generation == generation_) return;
    generation_ = ctx.generation;
    if (!numbers_.has_network()) state_.mode = step::Mode::Time;
  }

  void draw(View& view) override {
    if (computing_) view.ui.keep_moving();
    step::Paint p(view, view_, numbers_, state_);
    const Rect stage{view.box.x + 22, view.box.y + 8, view.box.w - 44, view.box.h - 20};
    if (view_.empty) return draw_empty(p, stage);
    if (view.ctx.presenter) return step::draw_lanes(p, stage);
    places_.clear();
    const step::Mode before = state_.mode;
    const std::int64_t element = state_.element;
    const float top = step::draw_controls(p, stage);
    const Rect body{stage.x, stage.y + top, stage.w, stage.h - top};
    switch (state_.mode) {
      case step::Mode::Time:
        draw_time(p, body);
        break;
      case step::Mode::Number:
        step::draw_number(p, {body.x, body.y + 10, body.w, body.h - 10});
        break;
      case step::Mode::Proof:
        step::draw_proof(p, {body.x, body.y + 10, body.w, body.h - 10});
        break;
    }
    if (before != state_.mode || element != state_.element) view.ui.keep_moving();
  }

  void inspector(View& view) override {
    step::Paint p(view, view_, numbers_, state_);
    const std::int64_t element = state_.element;
    step::draw_inspector(p);
    if (element != state_.element) view.ui.keep_moving();
  }

  /// Bands of several training steps, with the number of their first, and a tick a step where they can be
  /// told apart.
  Timeline timeline(const SceneContext& ctx) const override {
    Timeline out = default_timeline(ctx);
    const auto& steps = index_.steps();
    if (steps.size() < 2) return out;
    constexpr std::size_t kMostBands = 10, kMostTicks = 100;
    out.bands.clear();
    out.ticks.clear();
    out.labels.clear();
    std::size_t each = 1;
    for (std::size_t power = 1; steps.size() > each * kMostBands; power *= 10)
      for (const std::size_t k : {1, 2, 5, 10})
        if (steps.size() > each * kMostBands) each = k * power;
    for (std::size_t i = 0; i < steps.size(); i += each) {
      const std::int64_t to = i + each < steps.size() ? steps[i + each].from : out.to;
      const std::string number = std::to_string(steps[i].step);
      out.bands.push_back({steps[i].from, to, i == 0 ? tr("step.timeline", {number}) : number});
    }
    if (steps.size() <= kMostTicks)
      for (std::size_t i = 0; i < steps.size(); ++i)
        if (i % each != 0) out.ticks.push_back(steps[i].from);
    return out;
  }

  std::string facts(const SceneContext& ctx) const override {
    if (view_.empty) return {};
    std::string out = tr("step.facts", {std::to_string(view_.step), std::to_string(view_.last_step),
                                        sim::with_commas(ctx.trace.header.world_size)});
    if (view_.buckets.size() > 1)
      out += " · " + tr("step.facts_buckets", {std::to_string(view_.buckets.size())});
    return out;
  }

  std::vector<Rect> places(std::string_view what) const override {
    const auto found = places_.find(what);
    return found != places_.end() ? std::vector<Rect>{found->second} : std::vector<Rect>{};
  }

  /// "number 1534": the panel on view and the chosen number, -1 if none was.
  std::string view_state() const override {
    constexpr std::array kModes{"time", "number", "proof"};
    return kModes[static_cast<std::size_t>(state_.mode)] + (" " + std::to_string(state_.element));
  }
  void set_view_state(std::string_view state) override {
    const std::size_t space = std::min(state.find(' '), state.size());
    const std::string_view mode = state.substr(0, space), number = state.substr(std::min(space + 1, state.size()));
    if (mode == "time") state_.mode = step::Mode::Time;
    if (mode == "number") state_.mode = step::Mode::Number;
    if (mode == "proof") state_.mode = step::Mode::Proof;
    std::int64_t element = -1;
    const auto read = std::from_chars(number.data(), number.data() + number.size(), element);
    if (read.ec == std::errc{} && element >= -1) state_.element = element;
  }

  std::string caption(const SceneContext& ctx) const override {
    return step::now_text(view_, ctx.trace, true);
  }
  std::string caption_detail(const SceneContext&) const override {
    return view_.empty ? std::string()
                       : tr("step.of", {std::to_string(view_.step), std::to_string(view_.last_step)});
  }

  bool key(Key key, View& view) override {
    if (key != Key::Escape) return false;
    if (state_.mode != step::Mode::Time) {
      state_.mode = step::Mode::Time;
      view.ui.keep_moving();
      return true;
    }
    if (view.ctx.selection == Selection{}) return false;
    view.emit(action::Select{});
    return true;
  }

 private:
  static void draw_empty(step::Paint& p, Rect box) {
    parts::paragraph(p.c, {box.x + 8, box.y + 60}, std::min(620.0f, box.w - 16), tr("step.empty"),
                     {.size = 18, .line_height = 1.5f, .color = p.t.t2});
  }

  /// Lanes above, cards below.
  void draw_time(step::Paint& p, Rect body) {
    const float lanes =
        std::min(step::lanes_height(p), body.h - std::clamp(body.h * .37f, 188.0f, 300.0f) - 12);
    const float cards = std::min(body.h - lanes - 12, 380.0f), gap = 16;
    step::draw_lanes(p, {body.x, body.y, body.w, lanes});
    const float y = body.bottom() - cards, left = (body.w - gap) * .52f;
    step::draw_buckets(p, {body.x, y, left, cards});
    const Rect loss{body.x + left + gap, y, body.w - left - gap, cards};
    step::draw_loss(p, loss);
    places_["log"] = {body.x, body.y + 34, body.w, lanes - 34};  // the lanes, without their axis
    places_["weights"] = {body.x, y, left, cards};               // buckets, or the models that drift apart
    places_["loss"] = loss;
  }

  StepNumbers numbers_;
  StepIndex index_;
  StepView view_;
  step::State state_;
  std::uint64_t generation_ = ~std::uint64_t{0};
  bool computing_ = false;
  std::map<std::string, Rect, std::less<>> places_;  // what a lesson may point at or cover, as drawn last
};

}  // namespace

std::unique_ptr<Scene> make_step_scene() {
  return std::make_unique<StepScene>();
}

}  // namespace ringside::app
