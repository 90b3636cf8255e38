// Video through ffmpeg: frames go raw through a pipe, ffmpeg is started by argument vector, never through a
// shell.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "app/platform/platform.hpp"

namespace ringside::app {

/// The program's path as PATH finds it; "" if it is not installed.
std::string find_program(std::string_view name);

class VideoWriter {
 public:
  /// Starts ffmpeg. The file appears under its name only by finish(); width and height must be even
  /// (yuv420p).
  static sim::Result<std::unique_ptr<VideoWriter>> open(const std::string& path, int width, int height,
                                                        int fps);
  virtual ~VideoWriter() = default;  // not finished: ffmpeg ends and nothing is left behind
  virtual sim::Status add(const Image& image) = 0;
  virtual sim::Status finish() = 0;
};

}  // namespace ringside::app
