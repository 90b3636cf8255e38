// A picture or a video of what is open, made by a second Ringside without a window: it gets the moment as a
// text, so the file is what --render gives, and this window goes on. Progress and an end before the end
// included.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/i18n/i18n.hpp"
#include "app/platform/child.hpp"
#include "app/session/actions.hpp"

namespace ringside::app {

/// How it shall look: as the window does.
struct ExportLook {
  Lang lang = Lang::En;
  ThemeChoice theme = ThemeChoice::Dark;
  float scale = 1;
  std::string assets;
};

class ExportJob {
 public:
  /// `source`: a moment as text. `program`: the ringside to run.
  sim::Status start(const action::Export& wanted, const ExportLook& look, const std::string& source,
                    const std::string& program);
  bool running() const { return child_.started(); }
  /// How many of how many frames; 0 of 0 before the first.
  int frame() const { return frame_; }
  int frames() const { return frames_; }
  const std::string& path() const { return path_; }
  /// Reads progress. Something once it has ended: what to tell the person.
  std::optional<Notice> poll();
  void cancel();

  /// The command line that start() runs; for tests.
  static std::vector<std::string> command_line(const action::Export& wanted, const ExportLook& look,
                                               const std::string& program);

 private:
  ChildProcess child_;
  std::string path_;
  int frame_ = 0, frames_ = 0;
  bool cancelled_ = false;
};

/// The path of this program.
std::string own_program();

}  // namespace ringside::app
