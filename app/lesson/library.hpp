// The lessons of a folder: read at run time and looked at again when a file changes, so that a teacher who
// writes one sees it without a rebuild or a restart. A file with a mistake stays in the list, with the
// mistake.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/lesson/lesson.hpp"

namespace ringside::app {

struct LessonFile {
  std::string path;
  sim::Lesson lesson;               // meaningful without an error only
  std::optional<sim::Error> error;  // file, line, column, what is legal
  std::string line_text;            // the line of the error
};

/// Minutes that a lesson takes, roughly: its words at a reader's pace, and half a minute for every question
/// and task. At least 1.
int minutes_of(const sim::Lesson& lesson);
/// How many questions it asks.
int questions_of(const sim::Lesson& lesson);

class LessonLibrary {
 public:
  /// Reads `folder` if any of its .toml files has come, gone or changed since the last call. True if so.
  bool refresh(const std::string& folder);
  /// A file from elsewhere: read, and kept in the path from now on.
  const LessonFile& add(const std::string& path, const std::string& folder);
  /// Those without a mistake, by order and id, then the others by name.
  const std::vector<LessonFile>& files() const { return files_; }
  /// The lesson with this id; null if there is none, or if it has a mistake.
  const LessonFile* find(std::string_view id) const;
  /// The lesson after this one in the path; null at the end.
  const LessonFile* after(std::string_view id) const;
  /// Its place in the path, from 1; 0 if it is not there.
  int number_of(std::string_view id) const;

 private:
  std::vector<LessonFile> files_;
  std::vector<std::string> added_;  // files from elsewhere
  std::string seen_;                // names, sizes and times of the files that were read
};

/// Reads one lesson file. A file that cannot be read, or is not a lesson, has its error.
LessonFile read_lesson(const std::string& path);

}  // namespace ringside::app
