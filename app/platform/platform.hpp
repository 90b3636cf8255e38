// The seam to the world of windows: a handful of functions, two implementations (a GLFW window, an EGL
// off-screen buffer). The null one lives in the tests.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/imgui_compat.hpp"
#include "sim/base/result.hpp"

namespace ringside::app {

struct Image {
  int width = 0, height = 0;
  std::vector<std::uint8_t> rgba;  // rows from the top
};

struct PlatformOptions {
  std::string title = "Ringside";
  int width = 1280, height = 720;  // device pixels
  bool visible = true;
};

class Platform {
 public:
  virtual ~Platform() = default;
  /// False when the person closes the window.
  virtual bool open() const = 0;
  /// Handles pending events; waits for one for up to `seconds` (0 = not at all; infinite waits are large
  /// numbers).
  virtual void poll(double seconds) = 0;
  /// Wakes a poll from another thread.
  virtual void wake() = 0;
  /// Starts ImGui's frame; true if input came since the last one.
  virtual bool begin_frame() = 0;
  /// Renders ImGui's draw data and shows it; also copies the picture if `capture` is given.
  virtual void end_frame(Color background, Image* capture = nullptr) = 0;
  virtual void set_title(const std::string& title) = 0;
  virtual void toggle_full_screen() = 0;
  virtual compat::TextureUpload texture_upload() const = 0;
  /// Wall seconds since the platform was opened.
  virtual double now() const = 0;
  /// Files dropped on the window since the last call.
  std::vector<std::string> take_dropped_files() { return std::exchange(dropped_, {}); }

 protected:
  std::vector<std::string> dropped_;
};

/// A window. Needs a display; the error says so.
sim::Result<std::unique_ptr<Platform>> open_window(const PlatformOptions& options);
/// A buffer without a display, through EGL. Deterministic for a given size.
sim::Result<std::unique_ptr<Platform>> open_offscreen(const PlatformOptions& options);

/// Writes a PNG.
sim::Status write_png(const std::string& path, const Image& image);

}  // namespace ringside::app
