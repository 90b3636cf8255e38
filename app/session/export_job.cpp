#include "app/session/export_job.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "app/platform/video.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

/// "frame 12 300" of the child.
bool read_progress(const std::string& line, int& frame, int& frames) {
  if (!line.starts_with("frame ")) return false;
  const char* end = line.data() + line.size();
  const auto first = std::from_chars(line.data() + 6, end, frame);
  if (first.ec != std::errc{} || first.ptr == end) return false;
  return std::from_chars(first.ptr + 1, end, frames).ec == std::errc{};
}

}  // namespace

std::string own_program() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

std::vector<std::string> ExportJob::command_line(const action::Export& wanted, const ExportLook& look,
                                                 const std::string& program) {
  std::vector<std::string> argv = {program,     "--render",
                                   wanted.path, "--moment",
                                   "-",         "--progress",
                                   "--assets",  look.assets,
                                   "--size",    fmt::format("{}x{}", wanted.width, wanted.height),
                                   "--lang",    std::string(to_word(look.lang)),
                                   "--theme",   look.theme == ThemeChoice::Light ? "light" : "dark",
                                   "--scale",   fmt::format("{:.2f}", look.scale)};
  if (wanted.presenter) argv.emplace_back("--presenter");
  if (wanted.video)
    argv.insert(argv.end(),
                {"--from", fmt::format("{}ns", wanted.from), "--to", fmt::format("{}ns", wanted.to), "--fps",
                 std::to_string(wanted.fps), "--seconds", fmt::format("{:g}", wanted.seconds)});
  return argv;
}

sim::Status ExportJob::start(const action::Export& wanted, const ExportLook& look, const std::string& source,
                             const std::string& program) {
  if (program.empty()) return sim::Error{.what = "there is no program to export with"};
  if (running()) return sim::Error{.what = "one export is still running"};
  if (wanted.video && find_program("ffmpeg").empty()) return sim::Error{.what = tr("share.no_ffmpeg")};
  auto child =
      ChildProcess::start(command_line(wanted, look, program), {.input = source, .read_output = true});
  if (!child) return child.error();
  child_ = std::move(*child);
  path_ = wanted.path;
  frame_ = frames_ = 0;
  cancelled_ = false;
  return sim::ok();
}

std::optional<Notice> ExportJob::poll() {
  if (!running()) return std::nullopt;
  const bool over = !child_.running();  // asked first: what it said last is read below
  for (const std::string& line : child_.lines()) read_progress(line, frame_, frames_);
  if (!over) return std::nullopt;
  if (cancelled_) return Notice{NoticeKind::Info, tr("share.cancelled")};
  if (child_.exit_code() == 0)
    return Notice{NoticeKind::Info, tr("share.written", {sim::escape_for_display(path_)})};
  return Notice{NoticeKind::Error, tr("share.failed", {sim::escape_for_display(child_.errors())})};
}

void ExportJob::cancel() {
  cancelled_ = true;
  child_.kill();
}

}  // namespace ringside::app
