// The NaN scene: one number that is not a number, and where it goes. Sum, avg and prod carry it to every rank
// (NaN + anything = NaN); min and max drop it, which hides it.
#include <memory>

#include "app/i18n/i18n.hpp"
#include "app/scenes/nan_figure.hpp"

namespace ringside::app {
namespace {

class NanScene final : public Scene {
 public:
  void prepare(const SceneContext& ctx) override {
    table_.update(ctx.trace, ctx.frame.collective.coll, ctx.generation);
    history_.update(ctx.trace, ctx.generation);
    ring_ = make_view(ctx.trace, ctx.frame, table_, {});
    poison_ = make_poison_view(ctx.trace, ctx.frame, ring_, table_, history_, ctx.selection.chunk);
    layout_ = make_layout(ring_, {0, 0, ctx.stage.x, ctx.stage.y}, ctx.measure,
                          {.presenter = ctx.presenter, .close_up = -1, .show_sums = false});
  }

  void draw(View& view) override {
    RingLayout placed = layout_;
    placed.origin = placed.origin + Vec2{view.box.x, view.box.y};
    const PoisonAnswer answer = draw_poison_figure(view, poison_, ring_, placed);
    if (answer.clicked_rank < 0) return;
    Selection selection = view.ctx.selection;
    selection.link_from = selection.link_to = -1;
    selection.rank = answer.clicked_rank;
    if (answer.clicked_chunk >= 0) selection.chunk = answer.clicked_chunk;
    view.emit(action::Select{selection});
  }

  void inspector(View& view) override { draw_poison_inspector(view, poison_, ring_); }

  bool key(Key key, View& view) override {
    if (key != Key::Escape || view.ctx.selection == Selection{}) return false;
    view.emit(action::Select{});
    return true;
  }

  std::string caption(const SceneContext&) const override {
    const auto sentences = poison_sentences(poison_, ring_);
    return sentences.empty() ? std::string() : sentence_text(sentences[0]);
  }
  std::string caption_detail(const SceneContext&) const override {
    if (ring_.kind != ViewKind::Chunks) return {};
    return std::to_string(poison_.ranks_poisoned) + " / " + std::to_string(ring_.world);
  }

 private:
  TransferTable table_;
  PoisonHistory history_;
  RingView ring_;
  PoisonView poison_;
  RingLayout layout_;
};

}  // namespace

std::unique_ptr<Scene> make_nan_scene() {
  return std::make_unique<NanScene>();
}

}  // namespace ringside::app
