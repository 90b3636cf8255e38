// The command line of `ringside`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/i18n/i18n.hpp"
#include "app/session/actions.hpp"
#include "sim/base/result.hpp"
#include "sim/trace/trace.hpp"

namespace ringside::app {

struct Options {
  std::vector<std::string> files;
  std::string moment;    // a text, or "-" for standard input
  std::string from, to;  // of a video
  int fps = 30;
  std::optional<double> seconds;  // length of the video
  bool progress = false;          // "frame 12 300" on standard output
  std::string assets, scene, at, render, screenshot;
  std::string lesson;  // ID, or ID:STEP with the step from 1
  std::string watch;   // the URL of a hub, or "-" for standard input
  double watch_for = 3;  // with --render: seconds
  int width = 1280, height = 720;
  bool size_given = false;
  std::optional<Lang> lang;
  std::optional<ThemeChoice> theme;
  std::optional<float> scale;
  int smoke = 0;  // frames to run, then leave
  bool presenter = false, timing = false;
};

struct ParsedOptions {
  Options options;
  std::optional<int> exit_code;  // set: print `text` and leave with it
  std::string text;
};
ParsedOptions parse_options(int argc, const char* const* argv);

/// "1.5ms", "step:3" (begin of training step 3), "ring:2" (end of ring step 2), "event:40" (the 40th event in
/// time order) → ns.
sim::Result<std::int64_t> parse_at(std::string_view text, const sim::Trace& trace);

}  // namespace ringside::app
