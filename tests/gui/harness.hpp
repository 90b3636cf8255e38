// A Ringside without a screen: real ImGui, real fonts, real session; no renderer. Finds widgets by their ids,
// moves, waits a frame, presses, waits, releases.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/app.hpp"
#include "app/imgui_compat.hpp"
#include "app/platform/platform.hpp"

namespace ringside::app::test {

struct HarnessOptions {
  int width = 1280, height = 720;
  Lang lang = Lang::En;
  ThemeChoice theme = ThemeChoice::Dark;
  float user_scale = 1;
  bool offscreen = false;  // with real pixels, through EGL
};

class Harness {
 public:
  explicit Harness(const HarnessOptions& options = {});
  ~Harness();

  void resize(int width, int height);
  /// Draws frames of 1/60 s. The record of the last one stays readable.
  void frames(int count = 1);
  const DrawRecord& record() const { return record_; }
  /// Problems of the last frame, one a line; empty if it is fine.
  std::string problems() const;
  /// True if the last frame drew this text (in one piece).
  bool shows(std::string_view text) const;

  void move_to(std::string_view id);
  void click(std::string_view id);
  void drag(std::string_view id, float from_share, float to_share);
  void press(Key key);
  void press_with_ctrl(Key key);
  void type(std::string_view text);
  bool has(std::string_view id) { return app->ui().probe(id).has_value(); }
  /// Every Action emitted since the last call.
  Actions take_actions() { return std::exchange(log_, {}); }
  template <class A>
  bool emitted() const {
    return std::any_of(log_.begin(), log_.end(),
                       [](const Action& a) { return std::holds_alternative<A>(a); });
  }
  /// Opens a scenario of assets/scenarios (or text, through a scenario parser).
  void open(std::string_view file);
  Session& session() { return app->session(); }
  /// The pixels of the last frame (offscreen only).
  const Image& image() const { return image_; }

  std::unique_ptr<App> app;

 private:
  float scale() const;
  HarnessOptions options_;
  std::unique_ptr<Platform> platform_;
  Image image_;
  DrawRecord record_;
  Actions log_;
  double now_ = 1;
};

std::string source_path(std::string_view relative);

}  // namespace ringside::app::test
