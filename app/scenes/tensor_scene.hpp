// The tensor scene: one box of numbers that grows a direction at a time. What is drawn where: header, figure,
// shape, PyTorch, ladder of rungs; the inspector has the shape to edit, the chosen number, its place in
// memory and its bits.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/scenes/scene.hpp"
#include "app/scenes/tensor_layout.hpp"
#include "app/scenes/tensor_model.hpp"

namespace ringside::app {

class TensorScene final : public Scene {
 public:
  void prepare(const SceneContext& ctx) override;
  void draw(View& view) override;
  void inspector(View& view) override;
  bool key(Key key, View& view) override;
  bool owns_arrows() const override { return true; }
  std::string caption(const SceneContext& ctx) const override;
  std::string caption_detail(const SceneContext& ctx) const override;
  std::string title(const SceneContext& ctx) const override;
  std::string facts(const SceneContext& ctx) const override;
  std::optional<float> progress() const override;
  /// "rung:1" (scalar) … "rung:6", "shape:3x4", "flat", "pictures", "model" and "linear"; joined with "+"
  /// they hold together.
  std::string place() const override;
  bool go_to(std::string_view place) override;
  bool undo_own(bool redo) override { return redo ? model_.redo() : model_.undo(); }
  std::map<std::string, sim::FactValue> lesson_facts(const SceneContext& ctx) const override;
  std::vector<Rect> places(std::string_view name) const override;

  const TensorModel& model() const { return model_; }
  /// Cells in motion are drawn between two layouts; 1 = all have arrived.
  float motion() const { return motion_; }

 private:
  enum class Page : std::uint8_t { Box, Flat, Model };
  struct Boxes {
    Rect header, figure, shape, code, ladder;
  };
  struct Moving {
    Rect from, to;
    float alpha_from = 1, alpha_to = 1;
    std::int64_t order = 0;  // in memory: who moves first when it is laid out flat
  };

  Boxes boxes_for(Rect stage, bool presenter) const;
  TensorView view() const {
    return page_ == Page::Flat ? TensorView::Flat : pictures_ ? TensorView::Pictures : TensorView::Box;
  }
  bool shows_pictures() const { return pictures_ && page_ == Page::Box && model_.dims() >= 2; }
  int here() const;  // the rung of the ladder that has this many directions
  void go_to_rung(int rung);
  void take_new_layout(const SceneContext& ctx);
  Rect rect_of(const TensorCell& cell) const;
  float alpha_of(const TensorCell& cell) const;

  void draw_header(View& view, Rect box);
  void draw_figure(View& view);
  void draw_sheets(View& view);
  void draw_leaving(Canvas& c) const;
  void draw_cell(View& view, const TensorCell& cell, Rect box, float alpha, bool covered);
  void draw_picture(Canvas& c, const TensorSheet& sheet, std::size_t id) const;
  void draw_lines(View& view);
  void draw_offsets(Canvas& c) const;
  void draw_groups(Canvas& c) const;
  void draw_strides(Canvas& c) const;
  void draw_shape(Canvas& c, Rect box) const;
  void draw_code(View& view, Rect box);
  void draw_ladder(View& view, Rect box);
  void draw_model(View& view, Rect box);
  float shape_card(View& view, Rect box);
  float number_card(View& view, Rect box);
  float bits_card(View& view, Rect box);
  float source_card(View& view, Rect box);
  void tensor_table(View& view, Rect box) const;
  void refuse(View& view, const sim::Status& status) const;

  TensorModel model_;
  Page page_ = Page::Box;
  bool pictures_ = false;
  int linear_ = 0;  // page Model: 0 = the small network, 1 = the linear layer
  bool playing_ = false;
  double beat_since_ = 0, now_ = 0;
  std::uint64_t seen_array_ = 0;

  TensorLayout layout_;
  Boxes boxes_;
  Vec2 laid_out_for_{};
  std::uint64_t laid_out_version_ = 0;
  std::optional<TensorView> laid_out_view_;
  Index laid_out_selected_;
  sim::Shape laid_out_shape_;
  std::map<Index, Moving> moving_;  // by index, innermost first
  double moved_at_ = -1e9;
  float motion_ = 1;
  float scale_ = 1;            // of the whole stage: a projector wants it large
  bool still_ = true;          // nothing is animated: --render, reduced motion
  double low_ = 0, high_ = 1;  // of the shown numbers, for pictures

  struct Drag {
    int axis = -1;
    std::int64_t extent = 0;
    Vec2 from{}, along{};
    float pitch = 1;
    TensorLayout held;
  };
  std::optional<Drag> drag_;
  std::map<std::string, Rect, std::less<>> places_;  // what lessons point at, in the window
};

/// What a pixel of a small picture shows: three sheets of 8 × 8, 0 … 9.
std::shared_ptr<const sim::Tensor> small_pictures();

}  // namespace ringside::app
