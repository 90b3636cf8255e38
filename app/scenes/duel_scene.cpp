// The duel scene: the same message on the same machine, two to four algorithms.
#include <algorithm>
#include <cmath>
#include <memory>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/duel_figure.hpp"
#include "app/session/files.hpp"
#include "app/session/session.hpp"
#include "backend/model/nccl_tests_table.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

constexpr const char* kTablePopup = "duel.table_popup";
constexpr double kRaceSeconds = 4;  // the slowest side's time, in wall seconds
constexpr std::size_t kMostTableBytes = std::size_t{64} << 20;

class DuelScene final : public Scene {
 public:
  void prepare(const SceneContext& ctx) override {
    static const sim::TimeModel kNone;
    const sim::TimeModel& model = ctx.time_model != nullptr ? *ctx.time_model : kNone;
    const std::uint64_t about = setup_.source == DuelSource::Scenario ? ctx.generation : 0;
    if (setup_.source == DuelSource::Scenario && ctx.scenario == nullptr) setup_ = {};
    if (!made_ || made_->setup != setup_ || about != made_about_) {
      made_ = make_duel(setup_, model, ctx.scenario);
      made_about_ = about;
      compare(model);
    }
    run_race(ctx);
  }

  void draw(View& view) override {
    if (racing_) view.ui.keep_moving();
    const Rect stage = view.box;
    const float margin = 24;
    DuelAnswer answer;
    const float cards = view.ctx.presenter ? 180.0f : std::clamp(stage.h * .4f, 226.0f, 260.0f);
    const Rect top{stage.x + margin, stage.y + 16, stage.w - 2 * margin, cards};
    if (made_->problem) {
      parts_problem(view);
    } else {
      draw_duel_cards(view, *made_, state_, top, answer);
      draw_duel_plot(view, *made_, state_,
                     {top.x, top.bottom() + 14, top.w, stage.bottom() - top.bottom() - 28}, answer);
    }
    take(answer);
  }

  void inspector(View& view) override {
    DuelAnswer answer;
    draw_duel_inspector(view, *made_, state_, answer);
    take(answer);
    table_popup(view);
  }

  std::string title(const SceneContext&) const override { return tr("duel.title"); }
  std::string facts(const SceneContext& ctx) const override {
    if (!made_ || made_->problem) return {};
    const bool model = setup_.source == DuelSource::Model;
    return tr("duel.facts", {sim::format_bytes(setup_.bytes), std::to_string(made_->ranks),
                             model                     ? setup_.preset
                             : ctx.scenario != nullptr ? ctx.scenario->title
                                                       : std::string()});
  }
  std::string caption(const SceneContext&) const override {
    if (!made_ || made_->fastest < 0) return {};
    return tr("duel.caption",
              {sim::format_bytes(setup_.bytes), side_name(*made_, static_cast<std::size_t>(made_->fastest))});
  }
  std::optional<float> progress() const override {
    const double slowest = slowest_us();
    return slowest > 0
               ? std::optional(static_cast<float>(std::min(1.0, duel_clock(*made_, state_) / slowest)))
               : std::nullopt;
  }

  /// "bytes:8388608,nodes:8,preset:dgx-h100,sides:Ring+Tree,x:nodes,y:busbw,clock:120"
  std::string place() const override {
    std::string sides;
    for (const std::string& side : setup_.sides) sides += (sides.empty() ? "" : "+") + side;
    std::string out = "source:" + std::string(setup_.source == DuelSource::Model ? "model" : "scenario") +
                      ",bytes:" + std::to_string(setup_.bytes) + ",nodes:" + std::to_string(setup_.nodes) +
                      ",preset:" + setup_.preset + ",sides:" + sides;
    if (setup_.over_nodes) out += ",x:nodes";
    if (setup_.busbw) out += ",y:busbw";
    return out;
  }
  bool go_to(std::string_view place) override;

 private:
  void take(const DuelAnswer& answer) {
    if (answer.setup) {
      setup_ = *answer.setup;
      state_.clock_us = -1;
      racing_ = false;
    }
    if (answer.race) {
      racing_ = state_.clock_us < 0;
      racing_since_ = -1;
      state_.clock_us = racing_ ? 0 : -1;
    }
  }

  double slowest_us() const {
    double slowest = 0;
    if (made_)
      for (const DuelSide& side : made_->sides) slowest = std::max(slowest, side.time_us);
    return slowest;
  }

  void run_race(const SceneContext& ctx) {
    if (!racing_) return;
    if (racing_since_ < 0) racing_since_ = ctx.now;
    const double share = ctx.reduced_motion ? 1 : (ctx.now - racing_since_) / kRaceSeconds;
    state_.clock_us = slowest_us() * std::min(1.0, share);
    if (share < 1.25) return;  // stands at the end for a moment
    state_.clock_us = -1;
    racing_ = false;
  }

  static void parts_problem(View& view) {
    view.canvas.text(view.box.center(), tr("duel.now.problem"),
                     {.size = 18, .color = view.canvas.theme().t2, .align = Align::Center});
  }

  void compare(const sim::TimeModel& model) {
    state_.comparison.reset();
    if (!state_.measured || setup_.source != DuelSource::Model) return;
    const auto preset = sim::find_preset(setup_.preset);
    if (!preset) return;
    std::vector<sim::MeasuredPoint> points;
    for (const auto& [bytes, us] : state_.measured->rows) points.push_back({bytes, us});
    auto comparison = sim::compare_with_model(model, *preset, setup_.nodes, preset->links.gpus_per_node,
                                              sim::Collective::AllReduce, points);
    if (comparison) state_.comparison = std::move(*comparison);
  }

  void take_table(const std::string& text, const std::string& name) {
    const auto table = backend::read_nccl_tests(text, name);
    if (!table) {
      state_.table_problem = table.error().message();
      return;
    }
    state_.table_problem.clear();
    state_.measured = DuelMeasured{.name = name};
    for (const backend::MeasuredRow& row : table->rows)
      state_.measured->rows.emplace_back(row.bytes, row.time_us);
    if (table->nodes > 0) setup_.nodes = table->nodes;
    setup_.over_nodes = false;
    made_.reset();
  }

  /// A path or the clipboard: nccl-tests' plain output, its JSON, or the CSV of `compare`.
  void table_popup(View& view) {
    if (!view.ui.popup_open(kTablePopup)) return;
    Ui* ui = &view.ui;
    const Rect anchor{view.box.x + 16, view.box.bottom() - 120, view.box.w - 32, 40};
    view.ui.popup(kTablePopup, anchor, {360, 250}, [this, ui](Rect box) {
      Canvas& c = ui->canvas();
      const Theme& t = c.theme();
      const float x = box.x + 16, w = box.w - 32;
      c.text({x, box.y + 24}, tr("duel.table.title"), {.size = 15, .face = Face::Bold, .max_width = w});
      float y =
          parts::paragraph(c, {x, box.y + 50}, w, tr("duel.table.formats"), {.size = 14, .color = t.t2});
      if (ui->text_field("duel.table.path", {x, y, w, 36}, state_.path, 15, tr("duel.table.path")))
        open_path();
      y += 46;
      if (ui->button("duel.table.paste", {x, y, (w - 10) / 2, 36}, tr("duel.table.paste"), {.size = 14}))
        take_table(ui->clipboard(), tr("duel.table.clipboard"));
      if (ui->button("duel.table.remove", {x + (w + 10) / 2, y, (w - 10) / 2, 36}, tr("duel.table.remove"),
                     {.size = 14, .enabled = state_.measured.has_value()})) {
        state_.measured.reset();
        state_.comparison.reset();
      }
      y += 54;
      if (!state_.table_problem.empty())
        parts::paragraph(c, {x, y}, w, state_.table_problem,
                         {.size = 13, .color = t.stall_text, .max_lines = 3});
    });
  }

  void open_path() {
    const auto text = read_file(state_.path, kMostTableBytes);
    if (text)
      take_table(*text, file_stem(state_.path));
    else
      state_.table_problem = text.error().message();
  }

  DuelSetup setup_;
  DuelState state_;
  std::optional<DuelView> made_;
  std::uint64_t made_about_ = 0;
  bool racing_ = false;
  double racing_since_ = -1;
};

bool DuelScene::go_to(std::string_view place) {
  DuelSetup setup = setup_;
  double clock = -1;
  while (!place.empty()) {
    const std::size_t end = std::min(place.find(','), place.size());
    const std::string_view part = place.substr(0, end);
    place.remove_prefix(std::min(end + 1, place.size()));
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos) return false;
    const std::string_view key = part.substr(0, colon);
    const std::string value(part.substr(colon + 1));
    const bool digits =
        !value.empty() && value.size() < 15 && value.find_first_not_of("0123456789") == std::string::npos;
    if (key == "source" && (value == "model" || value == "scenario")) {
      setup.source = value == "model" ? DuelSource::Model : DuelSource::Scenario;
    } else if (key == "bytes" && digits) {
      setup.bytes = std::clamp<std::int64_t>(std::stoll(value), 1024, std::int64_t{8} << 30);
    } else if (key == "nodes" && digits) {
      setup.nodes = static_cast<int>(std::clamp<std::int64_t>(std::stoll(value), 1, 4096));
    } else if (key == "preset" && sim::find_preset(value)) {
      setup.preset = value;
    } else if (key == "clock" && digits) {
      clock = static_cast<double>(std::stoll(value));
    } else if (key == "x" && value == "nodes") {
      setup.over_nodes = true;
    } else if (key == "y" && value == "busbw") {
      setup.busbw = true;
    } else if (key == "sides") {
      setup.sides.clear();
      for (std::size_t at = 0; at <= value.size();) {
        const std::size_t plus = std::min(value.find('+', at), value.size());
        setup.sides.push_back(value.substr(at, plus - at));
        at = plus + 1;
      }
      const auto choices = duel_choices(setup.source);
      for (const std::string& side : setup.sides)
        if (std::find(choices.begin(), choices.end(), side) == choices.end()) return false;
      if (setup.sides.size() < 2 || setup.sides.size() > kMostSides) return false;
    } else {
      return false;
    }
  }
  setup_ = setup;
  state_.clock_us = clock;
  racing_ = false;
  return true;
}

}  // namespace

std::unique_ptr<Scene> make_duel_scene() {
  return std::make_unique<DuelScene>();
}

}  // namespace ringside::app
