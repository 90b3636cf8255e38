// Opens what the user gave: files, folders, packed files. Finds out what each file is, and gives text files
// as lines and dumps as one document, with bounded memory, progress and a way to cancel. Files that cannot be
// read are named in `problems`; the others are read all the same.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/import/byte_source.hpp"
#include "backend/import/evidence.hpp"

namespace ringside::backend {

/// What a file holds, by its first 64 KiB.
enum class InputKind : std::uint8_t {
  Empty,
  TextLog,               // lines of text; also what nothing else claims
  FlightRecorderPickle,  // a pickle of plain data
  FlightRecorderJson,
  RasText,         // NCCL RAS: STATUS as text
  RasJson,         // NCCL RAS: STATUS as JSON
  RasEvents,       // NCCL RAS: MONITOR, text or JSON lines
  InspectorJsonl,  // NCCL Inspector: one JSON object a line
  RingsideTrace,   // Ringside's own trace or recording
  Binary,          // not text: skipped
};
std::string_view to_word(InputKind kind);
/// `head`: the first bytes, unpacked. `whole`: there is nothing after them.
InputKind classify(std::string_view head, bool whole);

struct InputFile {
  std::string path;       // to open it
  std::string name;       // to show it: as given; inside a folder, relative to that folder
  std::int64_t size = 0;  // bytes on disk
  InputKind kind = InputKind::Empty;
};

struct InputSet {
  std::vector<InputFile> files;  // in natural order of names within each folder; no file (inode) twice
  std::vector<sim::Error> problems;
  std::int64_t bytes = 0;  // on disk, of `files`
};

struct InputProgress {
  std::int64_t bytes_done = 0;  // on disk
  std::int64_t bytes_total = 0;
  int files_done = 0;
  int files_total = 0;
};

/// What the caller wants to know and may stop. The callback runs on the reading thread, at most once a MiB
/// and once a file.
struct InputControl {
  InputLimits limits;
  std::function<void(const InputProgress&)> progress;
  const std::atomic<bool>* cancel = nullptr;  // reading ends soon after it becomes true
};

/// Finds and classifies all files under `paths`. Folders are walked in depth; in them, links to files are
/// followed and links to folders are not; names that start with a dot are left out. Problems: missing, no
/// rights, not regular, empty folder, binary, too many.
InputSet find_inputs(std::span<const std::string> paths, const InputControl& control = {});

/// The one trace or recording that the paths lead to, if to nothing else.
std::optional<std::string> only_a_trace(std::span<const std::string> paths);

/// Counts progress over the files of one set; one for each run of readers.
class InputMeter {
 public:
  InputMeter(const InputSet& set, const InputControl& control);
  bool add(std::int64_t bytes);  // false: cancelled
  void file_done();
  bool cancelled() const {
    return control_.cancel != nullptr && control_.cancel->load(std::memory_order_relaxed);
  }
  const InputLimits& limits() const { return control_.limits; }

 private:
  void report();
  InputControl control_;
  InputProgress progress_;
  std::int64_t reported_ = 0;
};

/// A text file as lines, or as blocks of whole lines (faster for a scanner that looks for few things). Use
/// one of both.
class TextFile final : public LineSource {
 public:
  /// `whole`: number of bytes when all are in memory already, so that no more is reserved; 0 unknown.
  TextFile(std::unique_ptr<ByteSource> bytes, std::string name, std::size_t max_line, std::size_t whole = 0);

  std::string_view name() const override { return name_; }
  bool next(Line& line) override;
  std::optional<sim::Error> problem() const override { return bytes_->problem(); }

  struct Block {
    std::string_view text;        // whole lines with their ends; the last line of the file may lack its end
    std::int64_t first_line = 1;  // number of the first one
    bool cut = false;             // one line, cut at the limit; its end was dropped
  };
  /// Valid until the next call. False at the end.
  bool next_block(Block& block);

  std::int64_t lines() const { return line_; }           // so far
  std::int64_t cut_lines() const { return cut_lines_; }  // longer than the limit
  std::int64_t bytes() const { return bytes_read_; }     // unpacked, so far

 private:
  bool fill();
  bool skip_rest_of_line();

  std::unique_ptr<ByteSource> bytes_;
  std::string name_;
  std::size_t max_line_;
  std::size_t capacity_;
  std::unique_ptr<char[]> buffer_;
  std::size_t begin_ = 0;  // bytes not given yet: [begin_, end_)
  std::size_t end_ = 0;
  bool ended_ = false;
  bool skipping_ = false;
  std::int64_t bytes_read_ = 0;
  std::int64_t line_ = 0;  // lines given so far
  std::int64_t cut_lines_ = 0;
  Block block_;
  std::size_t at_ = 0;       // in block_.text, for next()
  std::int64_t number_ = 0;  // of the line that next() gave last
};

/// Opens a text file for reading lines. `meter` may be null.
sim::Result<std::unique_ptr<TextFile>> open_text(const InputFile& file, InputMeter* meter = nullptr);
/// Text in memory, which must outlive it: pasted lines, tests, fuzzing.
std::unique_ptr<TextFile> text_from_memory(std::string name, std::string_view bytes,
                                           const InputLimits& limits = {});

/// A whole document (dump, JSON), unpacked. Error above limits.max_document. `meter` may be null.
sim::Result<std::string> read_document(const InputFile& file, InputMeter* meter = nullptr);

}  // namespace ringside::backend
