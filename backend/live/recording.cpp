#include "backend/live/recording.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace ringside::backend {
namespace {

sim::Error system_error(std::string what, const std::string& path) {
  return {.what = std::move(what) + ": " + std::strerror(errno), .file = path};
}

}  // namespace

RecordingWriter::~RecordingWriter() {
  if (fd_ < 0) return;
  (void)flush();
  ::close(fd_);
}

sim::Status RecordingWriter::open(const std::string& path, std::string_view header_line) {
  fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd_ < 0) {
    sim::Error error = system_error("cannot create the recording", path);
    if (errno == EEXIST) error.hint = "Choose another name: recordings are never overwritten.";
    return error;
  }
  path_ = path;
  buffer_ = header_line;
  buffer_ += '\n';
  return flush();
}

void RecordingWriter::append(std::string_view lines) {
  if (fd_ >= 0 && !failed_) buffer_ += lines;
}

sim::Status RecordingWriter::flush() {
  if (buffer_.empty() || fd_ < 0 || failed_) return sim::ok();
  std::vector<char> packed(ZSTD_compressBound(buffer_.size()));
  const std::size_t size = ZSTD_compress(packed.data(), packed.size(), buffer_.data(), buffer_.size(), 3);
  RINGSIDE_CHECK_EQ(ZSTD_isError(size), 0u);
  buffer_.clear();
  for (std::size_t done = 0; done < size;) {
    const ssize_t wrote = ::write(fd_, packed.data() + done, size - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      failed_ = true;
      return system_error("the recording stopped here", path_);
    }
    done += static_cast<std::size_t>(wrote);
  }
  return sim::ok();
}

}  // namespace ringside::backend
