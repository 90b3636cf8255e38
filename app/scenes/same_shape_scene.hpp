// The same-shape scene: what can be added and what cannot; who says so and who is silent; the lesson, the
// real stack, and a way to try it. And the same story with sheets of paper.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/scenes/same_shape_model.hpp"
#include "app/scenes/scene.hpp"

namespace ringside::app {

class SameShapeScene final : public Scene {
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
  /// "part:1" … "part:6", a row ("other_count", "tail" …), a column ("nccl", "detail", "gloo", "mpi"), a
  /// paper ("all", "half", "absent"); joined with "+".
  std::string place() const override;
  bool go_to(std::string_view place) override;
  std::map<std::string, sim::FactValue> lesson_facts(const SceneContext& ctx) const override;
  std::vector<Rect> places(std::string_view name) const override;

  Mismatch row() const { return row_; }
  Stack stack() const { return stack_; }
  const Shapes& shapes() const { return table_.shapes(); }
  const Verdict& verdict(Mismatch m, Stack s) { return table_.at(m, s); }
  /// Share of the paper story that has been told.
  double paper_share() const { return paper_share_; }

 private:
  static constexpr int kParts = 6, kPaperPart = 5;
  static int part_of(Mismatch m);
  void go_to_part(int part);
  void choose(Mismatch row);
  void set_shapes(Shapes shapes);

  void draw_parts(View& view, Rect box);
  void draw_equal_card(View& view, Rect box);
  void draw_odd_card(View& view, Rect box);
  void draw_overlay(View& view, Rect box, const sim::Shape& all, const sim::Shape& odd);
  void draw_tail(Canvas& c, Rect box) const;
  void draw_values(Canvas& c, Rect box);
  void draw_calls(Canvas& c, Rect box);
  void draw_table(View& view, Rect box);
  void draw_verdict(Canvas& c, Vec2 at, float width, Mismatch m, Stack s, float size, bool lit);
  std::string verdict_text(Mismatch m, const Verdict& v, Stack s) const;
  void draw_paper(View& view, Rect box);
  float try_it(View& view, Rect box);
  void run(View& view);

  VerdictTable table_;
  int part_ = 1;
  Mismatch row_ = Mismatch::OtherCount;
  Stack stack_ = Stack::Nccl;
  bool overlaid_ = false;
  double overlaid_since_ = -1e9;
  Paper paper_ = Paper::Half;
  double paper_since_ = 0, paper_share_ = 1;
  bool playing_ = false;
  double part_since_ = 0, now_ = 0;
  bool still_ = true;
  std::map<std::string, Rect, std::less<>> places_;
};

}  // namespace ringside::app
