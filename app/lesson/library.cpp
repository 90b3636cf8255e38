#include "app/lesson/library.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <tuple>

#include "app/session/files.hpp"

namespace ringside::app {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMaxLessonBytes = std::size_t{1} << 20;

/// Every .toml of the folder, by name.
std::vector<fs::path> toml_files(const std::string& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(folder, error))
    if (file.path().extension() == ".toml" && file.is_regular_file(error)) out.push_back(file.path());
  std::sort(out.begin(), out.end());
  return out;
}

std::string stamp(const std::vector<fs::path>& files) {
  std::string out;
  for (const fs::path& file : files) {
    std::error_code error;
    out += file.string() + "\n" + std::to_string(fs::file_size(file, error)) + " " +
           std::to_string(fs::last_write_time(file, error).time_since_epoch().count()) + "\n";
  }
  return out;
}

/// The second of two lessons with one id could not be told from the first, nor could its progress.
void refuse_doubles(std::vector<LessonFile>& files) {
  for (std::size_t i = 0; i < files.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      if (files[i].error || files[j].error || files[i].lesson.id != files[j].lesson.id) continue;
      files[i].error = sim::Error{.what = "the id \"" + files[i].lesson.id + "\" is taken",
                                  .file = files[i].path,
                                  .hint = "by " + files[j].path};
    }
}

}  // namespace

LessonFile read_lesson(const std::string& path) {
  LessonFile out{.path = path, .lesson = {}, .error = {}, .line_text = {}};
  const auto text = read_file(path, kMaxLessonBytes);
  if (!text) {
    out.error = text.error();
    return out;
  }
  auto lesson = sim::parse_lesson(*text, path);
  if (lesson) {
    out.lesson = std::move(*lesson);
  } else {
    out.error = lesson.error();
    out.line_text = std::string(line_of(*text, out.error->line));
  }
  return out;
}

const LessonFile& LessonLibrary::add(const std::string& path, const std::string& folder) {
  std::error_code error;
  fs::path whole = fs::weakly_canonical(path, error);
  if (error) whole = path;
  const std::vector<fs::path> own = toml_files(folder);
  const bool known = std::find(own.begin(), own.end(), whole) != own.end() ||
                     std::find(added_.begin(), added_.end(), whole.string()) != added_.end();
  if (!known) added_.push_back(whole.string());
  refresh(folder);
  const auto found =
      std::find_if(files_.begin(), files_.end(), [&](const LessonFile& f) { return f.path == whole; });
  RINGSIDE_CHECK(found != files_.end());
  return *found;
}

bool LessonLibrary::refresh(const std::string& folder) {
  std::vector<fs::path> files = toml_files(folder);
  files.insert(files.end(), added_.begin(), added_.end());
  std::string now = stamp(files);
  if (now == seen_) return false;
  seen_ = std::move(now);
  files_.clear();
  for (const fs::path& file : files) files_.push_back(read_lesson(file.string()));
  refuse_doubles(files_);
  std::stable_sort(files_.begin(), files_.end(), [](const LessonFile& a, const LessonFile& b) {
    return std::tuple(a.error.has_value(), a.lesson.order) < std::tuple(b.error.has_value(), b.lesson.order);
  });
  return true;
}

const LessonFile* LessonLibrary::find(std::string_view id) const {
  for (const LessonFile& file : files_)
    if (!file.error && file.lesson.id == id) return &file;
  return nullptr;
}

const LessonFile* LessonLibrary::after(std::string_view id) const {
  for (std::size_t i = 0; i + 1 < files_.size(); ++i)
    if (!files_[i].error && files_[i].lesson.id == id) return files_[i + 1].error ? nullptr : &files_[i + 1];
  return nullptr;
}

int LessonLibrary::number_of(std::string_view id) const {
  for (std::size_t i = 0; i < files_.size(); ++i)
    if (!files_[i].error && files_[i].lesson.id == id) return static_cast<int>(i) + 1;
  return 0;
}

int questions_of(const sim::Lesson& lesson) {
  return static_cast<int>(
      std::count_if(lesson.steps.begin(), lesson.steps.end(),
                    [](const sim::LessonStep& step) { return step.question.has_value(); }));
}

int minutes_of(const sim::Lesson& lesson) {
  // English text of 1,000 characters takes about a minute to read with understanding.
  std::size_t characters = 0;
  double acts = 0;
  for (const sim::LessonStep& step : lesson.steps) {
    characters += step.text.en.size() + step.task.en.size();
    if (step.question) characters += step.question->text.en.size() + step.question->why.en.size();
    if (step.card)
      characters += step.card->lesson.en.size() + step.card->real.en.size() + step.card->attempt.en.size();
    acts += (step.question ? .5 : 0) + (step.until.empty() ? 0 : .5);
  }
  return std::max(1, static_cast<int>(std::lround(static_cast<double>(characters) / 1000 + acts)));
}

}  // namespace ringside::app
