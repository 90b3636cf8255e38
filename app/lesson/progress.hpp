// How far the reader has come: kept between runs as a small TOML file in the XDG state folder.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "sim/base/result.hpp"
#include "sim/lesson/lesson.hpp"

namespace ringside::app {

/// One lesson. Steps count from 1 in the file, from 0 here.
struct LessonProgress {
  int step = 0;                // where the reader stands
  bool done = false;           // has been read to its end once
  std::map<int, int> answers;  // step → the first choice (from 0)
  bool operator==(const LessonProgress&) const = default;
};

struct Progress {
  std::string last;  // id of the lesson that was open last
  std::map<std::string, LessonProgress, std::less<>> lessons;
  bool operator==(const Progress&) const = default;

  const LessonProgress* of(std::string_view id) const;
};

/// Right answers so far. Answers to steps that have no such question (the file was changed) do not count.
int score_of(const sim::Lesson& lesson, const LessonProgress& progress);

/// Reads the file; what it cannot understand is an error with line and column.
sim::Result<Progress> parse_progress(std::string_view toml, std::string_view file);
std::string to_toml(const Progress& progress);

/// $XDG_STATE_HOME/ringside or ~/.local/state/ringside; "" if neither is set.
std::string state_folder();

}  // namespace ringside::app
