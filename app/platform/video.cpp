#include "app/platform/video.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "app/platform/child.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

class FfmpegWriter final : public VideoWriter {
 public:
  FfmpegWriter(ChildProcess child, std::string path, std::string temporary, int width, int height)
      : child_(std::move(child)),
        path_(std::move(path)),
        temporary_(std::move(temporary)),
        width_(width),
        height_(height) {}

  ~FfmpegWriter() override {
    if (finished_) return;
    child_.kill();
    child_.close_input();
    child_.wait();
    std::error_code gone;
    std::filesystem::remove(temporary_, gone);
  }

  sim::Status add(const Image& image) override {
    RINGSIDE_CHECK_EQ(image.width, width_);
    RINGSIDE_CHECK_EQ(image.height, height_);
    if (child_.write(image.rgba.data(), image.rgba.size())) return sim::ok();
    child_.wait();
    return problem();
  }

  sim::Status finish() override {
    child_.close_input();
    child_.wait();
    if (child_.exit_code() != 0) return problem();
    std::error_code failed;
    std::filesystem::rename(temporary_, path_, failed);
    if (failed) return sim::Error{.what = "the file cannot be written", .file = path_};
    finished_ = true;
    return sim::ok();
  }

 private:
  sim::Error problem() const {
    return {.what = "ffmpeg ended with code " + std::to_string(child_.exit_code()) + ": " +
                    sim::escape_for_display(child_.errors()),
            .file = path_};
  }
  ChildProcess child_;
  std::string path_, temporary_;
  int width_, height_;
  bool finished_ = false;
};

}  // namespace

std::string find_program(std::string_view name) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string candidate = std::string(rest.substr(0, end)) + "/" + std::string(name);
    std::error_code error;
    if (end > 0 && std::filesystem::is_regular_file(candidate, error) && access(candidate.c_str(), X_OK) == 0)
      return candidate;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

sim::Result<std::unique_ptr<VideoWriter>> VideoWriter::open(const std::string& path, int width, int height,
                                                            int fps) {
  if (width % 2 != 0 || height % 2 != 0)
    return sim::Error{
        .what = "a video of " + std::to_string(width) + "x" + std::to_string(height) + " cannot be made",
        .legal = "an even width and an even height"};
  const std::string ffmpeg = find_program("ffmpeg");
  if (ffmpeg.empty())
    return sim::Error{.what = "a video needs ffmpeg, which is not installed",
                      .hint = "install ffmpeg (apt install ffmpeg), or write PNG files"};
  // ffmpeg knows the format by the name, so the temporary ends as the file does. A path may look like a
  // protocol
  // ("a:b.mp4") or an option: "file:" in front makes it a file.
  const std::string temporary = path + ".part" + std::filesystem::path(path).extension().string();
  const std::vector<std::string> argv = {ffmpeg,
                                         "-nostdin",
                                         "-loglevel",
                                         "error",
                                         "-y",
                                         "-f",
                                         "rawvideo",
                                         "-pix_fmt",
                                         "rgba",
                                         "-s:v",
                                         std::to_string(width) + "x" + std::to_string(height),
                                         "-framerate",
                                         std::to_string(fps),
                                         "-i",
                                         "pipe:0",
                                         "-an",
                                         "-pix_fmt",
                                         "yuv420p",
                                         "-movflags",
                                         "+faststart",
                                         "file:" + temporary};
  auto child = ChildProcess::start(argv, {.stream_input = true});
  if (!child) return child.error();
  return std::unique_ptr<VideoWriter>(
      std::make_unique<FfmpegWriter>(std::move(*child), path, temporary, width, height));
}

}  // namespace ringside::app
