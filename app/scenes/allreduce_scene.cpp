// The AllReduce scene: a ring of GPUs with their numbers, what flies between them, and each addition where it
// happens.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <tuple>

#include "app/draw/parts.hpp"
#include "app/i18n/i18n.hpp"
#include "app/scenes/allreduce_edit.hpp"
#include "app/scenes/allreduce_inspector.hpp"
#include "app/scenes/collective_inputs.hpp"
#include "sim/collective/executor.hpp"

namespace ringside::app {
namespace {

constexpr std::int64_t kReadableNumbers = std::int64_t{1}
                                          << 22;  // of all ranks, made again to read single elements
constexpr std::size_t kRemembered = 200'000;
constexpr double kTooFast = 4;  // ring steps a second from which on sums are not shown
constexpr const char* kEditPopup = "allreduce.cell";

/// Reads single elements of big tensors: from the inputs along the schedule.
class Elements {
 public:
  void open(const SceneContext& ctx, const TransferTable& table, std::uint32_t coll) {
    table_ = &table;
    if (generation_ == ctx.generation && coll_ == coll) return;
    generation_ = ctx.generation;
    coll_ = coll;
    known_.clear();
    inputs_.open(ctx, coll);
    op_ = ctx.trace.collective(coll).op;
  }
  /// Remembered: a frame asks for the same elements again and again.
  std::optional<sim::Scalar> read(int rank, std::int64_t element, int after_transfer) {
    if (!inputs_.known() || static_cast<std::size_t>(rank) >= inputs_.tensors().size()) return std::nullopt;
    const std::tuple key{rank, element, after_transfer};
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    if (known_.size() > kRemembered) known_.clear();
    const std::size_t done =
        after_transfer < 0 ? 0 : place_of(table_->all()[static_cast<std::size_t>(after_transfer)]) + 1;
    return known_
        .emplace(key, sim::element_after(inputs_.schedule(), op_, inputs_.tensors(), rank, element, done))
        .first->second;
  }

 private:
  /// Where a recorded transfer stands in the schedule.
  std::size_t place_of(const TransferRecord& r) const {
    const auto& all = inputs_.schedule().transfers;
    const auto first =
        std::lower_bound(all.begin(), all.end(), r.step,
                         [](const sim::Transfer& t, std::uint32_t step) { return t.step < step; });
    for (auto at = first; at != all.end() && at->step == r.step; ++at)
      if (at->chunk == r.chunk && at->src == r.src && at->dst == r.dst)
        return static_cast<std::size_t>(at - all.begin());
    return 0;
  }

  std::uint64_t generation_ = ~std::uint64_t{0};
  std::uint32_t coll_ = sim::kNone;
  const TransferTable* table_ = nullptr;
  CollectiveInputs inputs_;
  sim::ReduceOp op_ = sim::ReduceOp::Sum;
  std::map<std::tuple<int, std::int64_t, int>, sim::Scalar> known_;
};

class AllReduceScene : public Scene {
 public:
  void prepare(const SceneContext& ctx) override {
    const sim::Frame& frame = frame_to_show(ctx);
    const std::uint32_t coll = frame.collective.coll;
    table_.update(ctx.trace, coll, ctx.generation);
    const bool big = coll != sim::kNone && ctx.trace.collective(coll).count > sim::Sample::kAllUpTo;
    reader_ = nullptr;
    if (big) {
      elements_.open(ctx, table_, coll);
      reader_ = [this](int rank, std::int64_t element, int after) {
        return elements_.read(rank, element, after);
      };
    }
    ring_ = make_view(ctx.trace, frame, table_,
                      {.tensor = figure_.tensor, .element = reader_, .followed = followed(ctx, coll)});
    const int close_up = ctx.selection.rank >= 0 ? ctx.selection.rank : 0;
    layout_ = make_layout(
        ring_, {0, 0, ctx.stage.x, ctx.stage.y}, ctx.measure,
        {.row = figure_.row, .presenter = ctx.presenter, .close_up = close_up, .show_sums = !too_fast(ctx)});
  }

  void draw(View& view) override {
    emit_pending(view);
    if (step_.moving) view.ui.keep_moving();
    RingLayout placed = layout_;
    placed.origin = placed.origin + Vec2{view.box.x, view.box.y};
    drawn_at_ = placed.origin;
    panel_.places.clear();  // the inspector fills it again if it is shown
    const FigureAnswer answer = draw_figure(view, ring_, placed, figure_);
    if (answer.tensor) figure_.tensor = *answer.tensor;
    if (answer.row) figure_.row = *answer.row;
    if (answer.tensor || answer.row) view.ui.keep_moving();
    if (answer.menu) {
      view.emit(action::OpenBreakMenu{*answer.menu, view.ui.mouse()});
    } else if (answer.clicked_rank >= 0) {
      on_click(view, answer);
    } else if (answer.link_from >= 0) {
      const Selection& old = view.ctx.selection;
      const bool again = old.link_from == answer.link_from && old.link_to == answer.link_to;
      Selection chosen;
      if (!again) {
        chosen.link_from = answer.link_from;
        chosen.link_to = answer.link_to;
      }
      view.emit(action::Select{chosen});
    }
    cell_popup(view);
  }

  void inspector(View& view) override {
    panel_.tensor = figure_.tensor;
    draw_inspector(view, ring_, table_, reader_, panel_);
  }

  /// As the shared one, with the words of what runs here.
  Timeline timeline(const SceneContext& ctx) const override {
    Timeline out = default_timeline(ctx);
    if (ctx.trace.collective_count() != 1 || out.bands.size() < 2 || out.labels.empty()) return out;
    const sim::CollectiveInfo& info = ctx.trace.collective(0);
    if (info.algorithm == sim::Algorithm::Naive) {
      out.bands[0].label = tr("allreduce.phase.reduce");
      out.bands[1].label = tr("allreduce.phase.broadcast");
    }
    if (info.op == sim::ReduceOp::SumThenDivide && out.bands.back().label.empty())
      out.bands.back().label = "÷ " + std::to_string(info.world_size);
    return out;
  }

  bool key(Key key, View& view) override {
    if (key != Key::Escape) return false;
    if (view.ctx.selection == Selection{}) return false;
    view.emit(action::Select{});
    return true;
  }

  std::vector<Rect> places(std::string_view what) const override {
    if (const auto found = panel_.places.find(what); found != panel_.places.end()) return {found->second};
    std::vector<Rect> out = places_in_figure(layout_, ring_, what);
    for (Rect& box : out)
      box = {drawn_at_.x + box.x * layout_.k, drawn_at_.y + box.y * layout_.k, box.w * layout_.k, box.h * layout_.k};
    return out;
  }

  std::string view_state() const override {
    return std::string(figure_.tensor ? "tensor" : "transit") + (figure_.row ? " row" : " ring");
  }
  void set_view_state(std::string_view state) override {
    figure_.tensor = state.starts_with("tensor");
    figure_.row = state.ends_with(" row");
  }

  std::string caption(const SceneContext&) const override {
    std::string out;
    for (const Sentence& s : ring_.now) {
      const std::string text = sentence_text(s);
      if (out.empty()) out = text;
    }
    return out;
  }

  std::string caption_detail(const SceneContext&) const override {
    if (ring_.kind != ViewKind::Chunks) return {};
    return tr("allreduce.log.done",
              {std::to_string(ring_.transfers_done), std::to_string(ring_.transfers_total)});
  }

 private:
  /// The numbers of one cell that can be typed over: the rank's own ones.
  struct CellEdit {
    int rank = -1;
    std::int64_t offset = 0, count = 0;
    std::vector<std::string> texts;
    Rect anchor;
    std::uint32_t chunk = 0;
    bool bad = false;
  };

  /// A step forward is shown as the way there: what happened between the two times, slowed down to be seen.
  struct StepMotion {
    bool moving = false;
    std::int64_t from = 0, to = 0;
    double since = 0;
  };

  /// The frame of the playhead, or, just after a step, of a moment on the way to it. Scrubbing and playing
  /// are shown as they are.
  const sim::Frame& frame_to_show(const SceneContext& ctx) {
    constexpr double kSeconds = .9;
    const bool other = ctx.generation != seen_generation_;
    const std::int64_t before = seen_t_, now = ctx.playhead.t;
    seen_t_ = now;
    if (other) {
      seen_generation_ = ctx.generation;
      frames_.reset();
      step_ = {};
      return ctx.frame;
    }
    if (now != before) {
      const bool stepped = ctx.playhead.mode == sim::PlayMode::Paused && now > before &&
                           sim::next_time(ctx.trace, ctx.playhead.unit, before) == now;
      step_ = {.moving = stepped && ctx.now > 0,
               .from = step_.moving && stepped ? shown_t_ : before,
               .to = now,
               .since = ctx.now};
    }
    if (step_.moving && ctx.playhead.mode != sim::PlayMode::Paused) step_ = {};
    double x = step_.moving ? (ctx.now - step_.since) / kSeconds : 1;
    if (x >= 1) step_.moving = false;
    if (!step_.moving) return ctx.frame;
    if (ctx.reduced_motion) x = x < .5 ? 0 : .5;  // stills: source, link, then the target
    const double eased = ctx.reduced_motion ? x : x < .5 ? 4 * x * x * x : 1 - std::pow(-2 * x + 2, 3) / 2;
    shown_t_ = step_.from + static_cast<std::int64_t>(eased * static_cast<double>(step_.to - step_.from));
    if (!frames_) frames_ = std::make_unique<sim::FrameSource>(ctx.trace);
    frames_->trace_grew();
    return frames_->frame_at(shown_t_);
  }

  /// The element of the collective on stage that the person follows; -1 = none.
  static std::int64_t followed(const SceneContext& ctx, std::uint32_t coll) {
    const std::int64_t element = ctx.selection.element;
    return coll != sim::kNone && element < ctx.trace.collective(coll).count ? element : -1;
  }

  bool too_fast(const SceneContext& ctx) const {
    if (ctx.playhead.mode != sim::PlayMode::Playing || ring_.steps == 0 || ring_.ended <= ring_.started)
      return false;
    const double per_step = static_cast<double>(ring_.ended - ring_.started) / ring_.steps;
    return ctx.playhead.speed * 1e9 / per_step > kTooFast;
  }

  void on_click(View& view, const FigureAnswer& answer) {
    Selection selection = view.ctx.selection;
    selection.link_from = selection.link_to = -1;
    selection.element = -1;
    selection.rank = answer.clicked_rank;
    selection.chunk = answer.clicked_chunk;
    view.emit(action::Select{selection});
    const bool editable = view.ctx.can.can_edit() && view.ctx.scenario != nullptr && !view.ctx.presenter;
    if (answer.clicked_chunk < 0 || !answer.clicked_box || !editable) return;
    open_cell(view, answer);
  }

  void open_cell(View& view, const FigureAnswer& answer) {
    constexpr std::int64_t kMost = 8;
    const auto chunk = static_cast<std::uint32_t>(answer.clicked_chunk);
    const sim::Chunk& part = ring_.info.chunks.chunks[chunk];
    if (part.count == 0 || part.count > kMost || view.ctx.scenario->tensor.values == sim::ValueSource::None)
      return;
    if (view.ctx.scenario->training.network.enabled) return;  // a gradient is computed, not typed
    const auto inputs = input_texts(*view.ctx.scenario, answer.clicked_rank, part);
    if (inputs.empty()) return;
    cell_ = {.rank = answer.clicked_rank,
             .offset = part.offset,
             .count = part.count,
             .texts = inputs,
             .anchor = *answer.clicked_box,
             .chunk = chunk};
    view.ui.open_popup(kEditPopup);
    view.ui.keep_moving();
  }

  static std::vector<std::string> input_texts(const sim::Scenario& s, int rank, const sim::Chunk& part) {
    std::vector<std::string> out;
    const bool listed = !s.tensor.list.empty();
    if (!listed && s.tensor.shape.count() * s.world_size() > kReadableNumbers) return out;
    const auto inputs = listed ? s.tensor.list : sim::make_inputs(s);
    if (static_cast<std::size_t>(rank) >= inputs.size()) return out;
    for (std::int64_t i = 0; i < part.count; ++i) {
      std::string text;
      sim::append_scalar(text, inputs[static_cast<std::size_t>(rank)]->at(part.offset + i));
      out.push_back(std::move(text));
    }
    return out;
  }

  /// Drawn at the end of the frame, on top: what it decides is emitted in the next one.
  void cell_popup(View& view) {
    if (cell_.rank < 0 || !view.ui.popup_open(kEditPopup)) return;
    const float row = 36;
    const float h = 48 + row * static_cast<float>(cell_.count) + (cell_.bad ? 26.0f : 6.0f);
    Ui* ui = &view.ui;
    const sim::DType dtype = view.ctx.scenario->tensor.dtype;
    view.ui.popup(kEditPopup, cell_.anchor, {236, h}, [this, ui, dtype, row](Rect box) {
      Canvas& c = ui->canvas();
      c.text({box.x + 14, box.y + 22},
             tr("allreduce.edit.own_title", {parts::rank_name(cell_.rank), chunk_name(cell_.chunk)}),
             {.size = 14, .color = c.theme().t2, .face = Face::Bold, .max_width = box.w - 20});
      float y = box.y + 40;
      for (std::size_t i = 0; i < cell_.texts.size(); ++i) {
        c.text({box.x + 14, y + row / 2 - 2},
               "[" + std::to_string(cell_.offset + static_cast<std::int64_t>(i)) + "]",
               {.size = 14, .color = c.theme().t3});
        const std::string id = "allreduce.cell.value" + std::to_string(i);
        if (ui->text_field(id, {box.x + 76, y, box.w - 90, row - 5}, cell_.texts[i], 16,
                           tr("allreduce.edit.value_explain")))
          commit(i, dtype);
        y += row;
      }
      if (cell_.bad)
        c.text({box.x + 14, y + 8}, tr("allreduce.edit.not_a_number"),
               {.size = 14, .color = c.theme().stall_text});
    });
  }

  void commit(std::size_t i, sim::DType dtype) {
    const auto value = edit::read_number(cell_.texts[i], dtype);
    cell_.bad = !value;
    if (!value) return;
    const int rank = cell_.rank;
    const std::int64_t element = cell_.offset + static_cast<std::int64_t>(i);
    std::string text;
    sim::append_scalar(text, *value);
    cell_.texts[i] = text;
    const sim::Scalar number = *value;
    pending_.push_back(edit::action_for(
        "R" + std::to_string(rank) + "[" + std::to_string(element) + "]=" + text,
        [rank, element, number](sim::Scenario& s) { edit::set_value(s, rank, element, number); }));
  }

  void emit_pending(View& view) {
    for (action::EditScenario& e : pending_) view.emit(std::move(e));
    pending_.clear();
  }

  std::unique_ptr<sim::FrameSource> frames_;  // made at the first step
  std::uint64_t seen_generation_ = ~std::uint64_t{0};
  std::int64_t seen_t_ = 0, shown_t_ = 0;
  StepMotion step_;
  TransferTable table_;
  Elements elements_;
  ElementReader reader_;
  RingView ring_;
  RingLayout layout_;
  Vec2 drawn_at_;  // the figure's origin in the window
  FigureState figure_;
  InspectorState panel_;
  CellEdit cell_;
  std::vector<action::EditScenario> pending_;
};

}  // namespace

std::unique_ptr<Scene> make_allreduce_scene() {
  return std::make_unique<AllReduceScene>();
}

}  // namespace ringside::app
