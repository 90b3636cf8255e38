// The tensor scene in the window: rungs, edits, files, what lessons may ask, and that every state fits.
#include <fstream>

#include "app/platform/platform.hpp"
#include "app/scenes/tensor_scene.hpp"
#include "sim/tensor/npy.hpp"
#include "tests/gui/harness.hpp"

namespace ringside::app::test {
namespace {

class Tensor_ : public testing::Test {
 protected:
  Tensor_() { show(); }
  void show() {
    h.session().scene_id = "tensor";
    h.frames(2);
  }
  TensorScene& scene() { return dynamic_cast<TensorScene&>(h.app->shell().scene("tensor")); }
  /// Until everything has arrived.
  void settle() { h.frames(120); }
  Harness h;
};

TEST_F(Tensor_, GrowsRungByRungInMotion) {
  EXPECT_TRUE(h.shows("x = torch.tensor(5)"));
  h.click("tensor.rung.3");
  EXPECT_EQ(scene().model().shape().text(), "(2, 2, 3)");
  h.frames(10);
  EXPECT_GT(scene().motion(), 0);
  EXPECT_LT(scene().motion(), 1);
  settle();
  EXPECT_EQ(scene().motion(), 1);
  EXPECT_TRUE(h.shows("x = torch.arange(1, 13).reshape(2, 2, 3)"));
  EXPECT_EQ(h.problems(), "");
}

TEST_F(Tensor_, PlaysByItselfToTheEnd) {
  h.press(Key::Space);
  h.frames(60 * 17);
  EXPECT_EQ(scene().model().rung(), 5);
}

TEST_F(Tensor_, ClickingANumberSelectsIt) {
  h.click("tensor.rung.3");
  settle();
  h.click("tensor.cell.8");
  EXPECT_EQ(scene().model().selected(), (Index{1, 0, 2}));
  EXPECT_TRUE(h.shows("x[1, 0, 2]"));
  EXPECT_TRUE(h.shows("1×6 + 0×3 + 2×1 = 8"));
  h.press(Key::Right);
  EXPECT_EQ(scene().model().offset(scene().model().selected()), 9);
  h.press(Key::Up);
  EXPECT_EQ(scene().model().offset(scene().model().selected()), 6);
}

TEST_F(Tensor_, ShapesAreTypedDraggedAndUndone) {
  h.click("tensor.rung.2");
  settle();
  h.click("tensor.shape");
  h.frames(4);
  h.type("3x4");
  h.press(Key::Enter);
  EXPECT_EQ(scene().model().shape().text(), "(3, 4)");
  settle();
  h.click("tensor.axis.1.more");
  EXPECT_EQ(scene().model().shape().text(), "(3, 5)");
  settle();
  const auto edge = h.app->ui().probe("tensor.edge.1");
  ASSERT_TRUE(edge);
  compat::inject_mouse_position(edge->center());
  h.frames(2);
  compat::inject_mouse_button(0, true);
  h.frames(2);
  compat::inject_mouse_position(edge->center() - Vec2{140, 0});
  h.frames(3);
  EXPECT_LT(scene().model().shape().extents[1], 5);
  compat::inject_mouse_button(0, false);
  h.frames(3);
  h.press_with_ctrl(Key::Z);
  EXPECT_EQ(scene().model().shape().text(), "(3, 5)");
}

TEST_F(Tensor_, TypedNumbersShowWhatADtypeLoses) {
  h.click("tensor.value");
  h.frames(4);
  h.type("70000");
  h.press(Key::Enter);
  EXPECT_EQ(scene().model().given({}), 70000);
  settle();
  EXPECT_TRUE(h.shows("too large: it became infinite"));
  EXPECT_TRUE(h.shows("rounded, off by 144"));
}

TEST_F(Tensor_, AFileOpensAsTheBox) {
  sim::Tensor tensor(sim::DType::Float32, sim::Shape{{2, 5}});
  for (std::int64_t i = 0; i < 10; ++i)
    tensor.set(i, sim::make_scalar(sim::DType::Float32, 0.25 * static_cast<double>(i)));
  const std::string path = testing::TempDir() + "ringside_tensor.npy";
  std::ofstream(path, std::ios::binary) << sim::write_npy(tensor);
  h.app->drop_files({path});
  h.session().finish_simulation();
  settle();
  EXPECT_EQ(h.session().scene_id, "tensor");
  EXPECT_EQ(scene().model().shape().text(), "(2, 5)");
  EXPECT_TRUE(h.shows("x = torch.from_numpy(numpy.load(\"ringside_tensor.npy\"))"));
  EXPECT_TRUE(h.shows("2.25"));
  EXPECT_EQ(h.problems(), "");
}

TEST_F(Tensor_, CopiesWhatPythonNeeds) {
  h.take_actions();
  h.click("tensor.copy");
  std::string copied;
  for (const Action& action : h.take_actions())
    if (const auto* copy = std::get_if<action::CopyText>(&action)) copied = copy->text;
  EXPECT_EQ(
      copied,
      "import torch\nx = torch.tensor(5)\nprint(x.shape)     # torch.Size([])\nprint(x.stride())  # ()\n"
      "print(x.item())  # 5\n");
}

TEST_F(Tensor_, ATensorOfTheModelOpensAsTheBox) {
  ASSERT_TRUE(scene().go_to("model"));
  h.frames(3);
  h.click("tensor.place.weight.2");
  settle();
  EXPECT_EQ(scene().model().shape().text(), "(8, 8)");
  EXPECT_EQ(h.problems(), "");
}

TEST_F(Tensor_, LessonsCanAskAndPlacesCanBeGoneTo) {
  ASSERT_TRUE(scene().go_to("rung:3+flat"));
  h.frames(2);
  EXPECT_EQ(scene().place(), "rung:3+flat");
  EXPECT_FALSE(scene().go_to("rung:9"));
  EXPECT_FALSE(scene().go_to("1.5ms"));
  EXPECT_EQ(scene().place(), "rung:3+flat");
  const sim::Trace trace;
  const sim::Frame frame;
  const sim::Playhead playhead;
  const Selection selection;
  const OpenedArray array;
  const SceneContext ctx{.trace = trace,
                         .frame = frame,
                         .playhead = playhead,
                         .can = {},
                         .selection = selection,
                         .measure = h.app->fonts(),
                         .theme = dark_theme(),
                         .library = {},
                         .array = array};
  const auto facts = scene().lesson_facts(ctx);
  EXPECT_EQ(facts.at("tensor_shape"), sim::FactValue(std::string("(2, 2)")));
  EXPECT_EQ(facts.at("tensor_dims"), sim::FactValue(2.0));
  EXPECT_EQ(facts.at("tensor_flat"), sim::FactValue(1.0));
  for (const sim::FactInfo& info : sim::lesson_facts())
    if (const auto found = facts.find(std::string(info.name)); found != facts.end()) {
      EXPECT_EQ(info.is_word, std::holds_alternative<std::string>(found->second)) << info.name;
    }
}

TEST(TensorStates, FitInBothLanguagesAndAllSizes) {
  struct State {
    const char* place;
    std::vector<std::int64_t> shape;
    double value;
  };
  const State states[] = {{"rung:1", {}, 5},
                          {"rung:2", {}, 1},
                          {"rung:3", {}, 1},
                          {"rung:4", {}, 1},
                          {"rung:5", {}, 1},
                          {"rung:6", {}, 1},
                          {"rung:4+flat", {}, 1},
                          {"rung:6+flat", {}, 1},
                          {"rung:4+pictures", {}, 1},
                          {"rung:1+pictures", {}, 1},
                          {"rung:1+model", {}, 1},
                          {"linear", {}, 1},
                          {"rung:3", {4096, 4096}, 1},
                          {"rung:3", {3, 4}, -0.1},
                          {"rung:3", {64, 3, 224, 224}, 1e30},
                          {"rung:3", {2, 2, 2, 2, 2, 2, 2, 2}, 1},
                          {"rung:2+flat", {1000}, 1}};
  for (const Lang lang : {Lang::En, Lang::Ko})
    for (const auto& [width, height] : {std::pair{1280, 720}, std::pair{2560, 1440}}) {
      Harness h({.width = width,
                 .height = height,
                 .lang = lang,
                 .theme = lang == Lang::En ? ThemeChoice::Dark : ThemeChoice::Light});
      h.app->settings().reduced_motion = true;
      h.session().scene_id = "tensor";
      h.frames(2);
      auto& scene = dynamic_cast<TensorScene&>(h.app->shell().scene("tensor"));
      for (const State& state : states) {
        ASSERT_TRUE(scene.go_to(state.place));
        h.frames(2);
        if (!state.shape.empty()) {
          h.click("tensor.shape");
          h.frames(4);
          std::string text;
          for (const std::int64_t extent : state.shape) text += std::to_string(extent) + ",";
          h.type(text);
          h.press(Key::Enter);
          h.frames(2);
          if (state.value != 1) {
            h.click("tensor.value");
            h.frames(4);
            h.type(std::to_string(state.value));
            h.press(Key::Enter);
          }
        }
        h.frames(2);
        EXPECT_EQ(h.problems(), "") << to_word(lang) << " " << width << " " << state.place << " "
                                    << scene.model().shape().text();
      }
    }
}

TEST(TensorStates, FitForAPresenter) {
  for (const Lang lang : {Lang::En, Lang::Ko}) {
    Harness h({.lang = lang, .theme = ThemeChoice::Light});
    h.app->settings().reduced_motion = true;
    h.app->shell().presenter = true;
    h.session().scene_id = "tensor";
    auto& scene = dynamic_cast<TensorScene&>(h.app->shell().scene("tensor"));
    for (const char* place : {"rung:1", "rung:2", "rung:3", "rung:4", "rung:5", "rung:6", "rung:4+flat",
                              "rung:4+pictures", "rung:1+model"}) {
      ASSERT_TRUE(scene.go_to(place));
      h.frames(3);
      EXPECT_EQ(h.problems(), "") << to_word(lang) << " " << place;
    }
    ASSERT_TRUE(scene.go_to("rung:3"));
    h.frames(2);
    h.press(Key::PageDown);  // what a remote sends
    EXPECT_EQ(scene.model().dims(), 3);
  }
}

}  // namespace
}  // namespace ringside::app::test
