#include "backend/live/recording.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "backend/files.hpp"
#include "backend/trace_reader.hpp"

namespace ringside::backend {
namespace {

sim::Error system_error(std::string what, const std::string& path) {
  return {.what = std::move(what) + ": " + std::strerror(errno), .file = path};
}

/// One frame of ours. Each holds its size: flush() compresses in one go.
bool unpack(std::string_view frame, std::string& text) {
  constexpr unsigned long long kMaxFrame = 1ull << 30;
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size > kMaxFrame) return false;  // also when it is unknown or an error
  text.resize(size);
  return ZSTD_decompress(text.data(), text.size(), frame.data(), frame.size()) == size;
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

sim::Status RecordingWriter::go_on(const std::string& path, std::string_view header_line,
                                   const std::function<void(std::string_view)>& lines) {
  if (::access(path.c_str(), F_OK) != 0) return open(path, header_line);
  constexpr std::int64_t kMaxBytes = std::int64_t{8} << 30;
  const auto bytes = read_file(path, kMaxBytes);
  if (!bytes) return bytes.error();
  std::size_t whole = 0;
  std::string text;
  while (whole < bytes->size()) {
    const std::string_view rest = std::string_view(*bytes).substr(whole);
    const std::size_t packed = ZSTD_findFrameCompressedSize(rest.data(), rest.size());
    if (ZSTD_isError(packed) || !unpack(rest.substr(0, packed), text)) break;
    std::string_view found = text;
    if (whole == 0) {
      if (!found.starts_with(header_line) || found.size() <= header_line.size())
        return sim::Error{.what = "the recording is that of another run", .file = path};
      found.remove_prefix(header_line.size() + 1);
    }
    lines(found);
    whole += packed;
  }
  if (whole == 0) return sim::Error{.what = "not a recording of Ringside", .file = path};
  fd_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd_ < 0 || ::ftruncate(fd_, static_cast<off_t>(whole)) != 0)
    return system_error("cannot go on with the recording", path);
  path_ = path;
  return sim::ok();
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

sim::Result<sim::Trace> read_recording(const std::string& path) {
  constexpr std::int64_t kMaxBytes = std::int64_t{8} << 30;
  const auto bytes = read_file(path, kMaxBytes);
  if (!bytes) return bytes.error();
  TraceReader reader(path);
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  const std::unique_ptr<ZSTD_DStream, Free> stream(ZSTD_createDStream());
  ZSTD_DCtx_setParameter(stream.get(), ZSTD_d_windowLogMax, 27);  // 128 MiB
  std::vector<char> piece(ZSTD_DStreamOutSize());
  ZSTD_inBuffer in{bytes->data(), bytes->size(), 0};
  while (in.pos < in.size) {
    ZSTD_outBuffer out{piece.data(), piece.size(), 0};
    const std::size_t before = in.pos;
    if (ZSTD_isError(ZSTD_decompressStream(stream.get(), &out, &in)))
      break;  // cut off or damaged: what was whole stays
    if (!reader.feed({piece.data(), out.pos})) break;
    if (in.pos == before && out.pos == 0) break;
  }
  if (!reader.has_header())
    return reader.problem() ? *reader.problem()
                            : sim::Error{.what = "not a recording of Ringside", .file = path};
  return std::move(reader.trace());
}

}  // namespace ringside::backend
