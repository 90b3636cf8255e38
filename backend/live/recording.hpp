// Writing of recordings (.rsr): the trace's lines in zstd frames, each whole within itself, so that a kill at
// any moment costs only what was not yet flushed: at most a quarter of a second.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "sim/base/result.hpp"
#include "sim/trace/trace.hpp"

namespace ringside::backend {

/// Whole lines as one zstd frame that holds its size: what a recording is made of, and what viewers get.
std::string pack_frame(std::string_view lines);
/// The lines of frames that stand one after another, appended to `lines`. False when `frames` is not that, or
/// would be more than `max_bytes`; then what was whole before is there.
bool unpack_frames(std::string_view frames, std::size_t max_bytes, std::string& lines);

class RecordingWriter {
 public:
  RecordingWriter() = default;
  RecordingWriter(const RecordingWriter&) = delete;
  RecordingWriter& operator=(const RecordingWriter&) = delete;
  ~RecordingWriter();

  /// Creates the file (mode 0600). An existing one is an error: a recording is never overwritten.
  sim::Status open(const std::string& path, std::string_view header_line);
  /// Goes on with a recording that was cut off: what is not whole at its end is removed, and what was whole is
  /// told to `lines`, some whole lines at a time, without the header. An error when it begins with another
  /// header: it is another run's. What is not there is created.
  sim::Status go_on(const std::string& path, std::string_view header_line,
                    const std::function<void(std::string_view)>& lines);
  /// Writes one frame of pack_frame(). Gives an error once (disk full …), then drops.
  sim::Status write(std::string_view frame);
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
  bool failed_ = false;
  std::string path_;
};

/// Reads a recording, also one that was cut off at any byte: what was whole is there. Errors: unreadable, not
/// a recording, no header.
sim::Result<sim::Trace> read_recording(const std::string& path);

}  // namespace ringside::backend
