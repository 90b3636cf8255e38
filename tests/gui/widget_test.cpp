// The widgets alone: what they return for what the mouse and the keyboard do.
#include <gtest/gtest.h>

#include <cmath>

#include "app/i18n/i18n.hpp"
#include "app/imgui_compat.hpp"
#include "app/ui/ui.hpp"

namespace ringside::app {
namespace {

class Widgets : public testing::Test {
 protected:
  Widgets() {
    ImGui::CreateContext();
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.DeltaTime = 1.0f / 60.0f;
    io.DisplaySize = ImVec2(800, 600);
    compat::pretend_renderer();
    compat::use_test_key_codes();
    fonts_ = std::move(*Fonts::open());
    compat::build_fonts(*fonts_, 1);
    compat::inject_mouse_position({-1, -1});
  }
  ~Widgets() override { ImGui::DestroyContext(); }

  /// Draws `content` for some frames.
  template <class F>
  void frames(int count, F content) {
    for (int i = 0; i < count; ++i) {
      ImGui::NewFrame();
      Canvas canvas(ImGui::GetBackgroundDrawList(), *fonts_, dark_theme(), {800, 600}, 1, nullptr);
      ui_.begin(canvas, now_ += 1.0 / 60);
      content();
      ui_.end();
      ImGui::Render();
      compat::acknowledge_textures();
    }
  }
  template <class F>
  void click_at(Vec2 p, F content) {
    compat::inject_mouse_position(p);
    frames(2, content);
    compat::inject_mouse_button(0, true);
    frames(1, content);
    compat::inject_mouse_button(0, false);
    frames(1, content);
  }
  template <class F>
  void press(Key key, F content) {
    compat::inject_key(key, true);
    frames(1, content);
    compat::inject_key(key, false);
    frames(1, content);
  }

  std::unique_ptr<Fonts> fonts_;
  Ui ui_;
  double now_ = 0;
};

TEST_F(Widgets, AButtonClicksOnReleaseInsideOnly) {
  int clicks = 0;
  const auto content = [&] { clicks += ui_.button("b", {100, 100, 120, 40}, "Go"); };
  click_at({150, 120}, content);
  EXPECT_EQ(clicks, 1);
  compat::inject_mouse_button(0, true);
  frames(1, content);
  compat::inject_mouse_position({400, 400});
  frames(2, content);
  compat::inject_mouse_button(0, false);
  frames(2, content);
  EXPECT_EQ(clicks, 1) << "let go outside";
}

TEST_F(Widgets, ADisabledButtonDoesNothing) {
  int clicks = 0;
  click_at({150, 120}, [&] {
    clicks += ui_.button("b", {100, 100, 120, 40}, "Fork",
                         {.enabled = false, .explain = "A real run cannot be forked."});
  });
  EXPECT_EQ(clicks, 0);
}

TEST_F(Widgets, WhatIsDrawnLaterLiesOnTop) {
  int below = 0, above = 0;
  click_at({150, 120}, [&] {
    below += ui_.hit("below", {100, 100, 200, 100}).clicked;
    above += ui_.hit("above", {140, 110, 30, 30}).clicked;
  });
  EXPECT_EQ(below, 0);
  EXPECT_EQ(above, 1);
}

TEST_F(Widgets, AFigureScalesItsHitAreas) {
  Hit last;
  const auto content = [&] {
    ui_.canvas().push_figure({100, 50}, 2);
    const Hit h = ui_.hit("cell", {10, 10, 20, 20});
    if (h.hovered) last = h;
    ui_.canvas().pop_figure();
  };
  compat::inject_mouse_position({140, 90});  // (20, 20) of the figure
  frames(3, content);
  EXPECT_TRUE(last.hovered);
  EXPECT_FLOAT_EQ(last.mouse.x, 20);
  EXPECT_FLOAT_EQ(last.mouse.y, 20);
}

TEST_F(Widgets, ASliderDragsAndTakesArrows) {
  double value = 10;
  int changes = 0;
  const auto content = [&] {
    changes += ui_.slider("s", {100, 100, 216, 30}, value, 1, 100, {.logarithmic = true});
  };
  click_at({108 + 200, 115}, content);
  EXPECT_NEAR(value, 100, 1e-9);
  EXPECT_GT(changes, 0);
  EXPECT_TRUE(ui_.focused_takes_arrows());
  press(Key::Left, content);
  EXPECT_NEAR(value, 100 * std::pow(0.01, 0.05), 1e-9);
}

TEST_F(Widgets, ANumberIsTypedSteppedAndClamped) {
  double value = 4;
  int commits = 0;
  const auto content = [&] { commits += ui_.number_field("n", {100, 100, 200, 36}, value, 0, 50); };
  click_at({130, 118}, content);
  EXPECT_TRUE(ui_.typing());
  frames(4, content);
  compat::inject_text("37.5");
  frames(2, content);
  press(Key::Enter, content);
  frames(2, content);
  EXPECT_DOUBLE_EQ(value, 37.5);
  EXPECT_EQ(commits, 1);
  EXPECT_FALSE(ui_.typing());
  press(Key::Up, content);
  EXPECT_DOUBLE_EQ(value, 38.5);
  click_at({240 + 46, 118}, content);  // the plus
  EXPECT_DOUBLE_EQ(value, 39.5);
  click_at({130, 118}, content);
  frames(4, content);
  compat::inject_text("999");
  frames(2, content);
  press(Key::Enter, content);
  frames(2, content);
  EXPECT_DOUBLE_EQ(value, 50) << "clamped";
}

TEST_F(Widgets, EscapeLeavesTheNumberAlone) {
  double value = 4;
  const auto content = [&] { ui_.number_field("n", {100, 100, 200, 36}, value, 0, 50); };
  click_at({130, 118}, content);
  frames(4, content);
  compat::inject_text("7");
  frames(2, content);
  press(Key::Escape, content);
  frames(2, content);
  EXPECT_DOUBLE_EQ(value, 4);
  EXPECT_FALSE(ui_.typing());
}

TEST_F(Widgets, AMenuChoosesByMouseAndByKeys) {
  const std::vector<MenuItem> items = {
      {.label = "sum"}, {.label = "max"}, {.label = "nvls", .enabled = false}};
  std::optional<int> chosen;
  int current = 0;
  const auto content = [&] {
    if (const auto c = ui_.select("op", {100, 100, 160, 36}, items, current)) chosen = current = *c;
  };
  click_at({150, 118}, content);
  ASSERT_TRUE(ui_.any_popup_open());
  frames(2, content);
  const auto row = ui_.probe("op.menu.1");
  ASSERT_TRUE(row);
  click_at(row->center(), content);
  frames(2, content);
  EXPECT_EQ(chosen, 1);
  EXPECT_FALSE(ui_.any_popup_open());
  chosen.reset();
  click_at({150, 118}, content);
  frames(2, content);
  press(Key::Down, content);
  press(Key::Enter, content);
  frames(2, content);
  EXPECT_EQ(chosen, 0);
  click_at({150, 118}, content);
  frames(2, content);
  click_at({600, 500}, content);
  EXPECT_FALSE(ui_.any_popup_open()) << "a click outside closes";
}

TEST_F(Widgets, TogglesAndCheckboxes) {
  const std::string labels[] = {"tensor", "in transit"};
  int current = 0;
  bool on = false;
  const auto content = [&] {
    if (const auto c = ui_.toggle("t", {100, 100}, labels, current)) current = *c;
    ui_.checkbox("c", {100, 200}, "loop", on);
  };
  frames(1, content);
  click_at(ui_.probe("t.1")->center(), content);
  EXPECT_EQ(current, 1);
  click_at({108, 200}, content);
  EXPECT_TRUE(on);
}

TEST_F(Widgets, FocusWalksInTheOrderOfDrawing) {
  const auto content = [&] {
    ui_.button("one", {100, 100, 100, 36}, "1");
    ui_.button("off", {100, 150, 100, 36}, "-", {.enabled = false});
    ui_.button("two", {100, 200, 100, 36}, "2");
  };
  frames(2, content);
  press(Key::Tab, content);
  EXPECT_EQ(ui_.focused(), "one");
  press(Key::Tab, content);
  EXPECT_EQ(ui_.focused(), "two") << "what cannot be used is passed over";
  compat::inject_shift(true);
  press(Key::Tab, content);
  compat::inject_shift(false);
  EXPECT_EQ(ui_.focused(), "one");
}

}  // namespace
}  // namespace ringside::app
