#include "backend/live/recording.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "backend/files.hpp"
#include "backend/trace_reader.hpp"
#include "backend/zstd_frames.hpp"

namespace ringside::backend {
namespace {

sim::Error system_error(std::string what, const std::string& path) {
  return {.what = std::move(what) + ": " + std::strerror(errno), .file = path};
}

/// The size of what one frame of ours holds; nothing when it is no such frame or holds more than `max`.
std::optional<std::size_t> size_in(std::string_view frame, unsigned long long max) {
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size > max) return std::nullopt;  // also when it is unknown or an error
  return static_cast<std::size_t>(size);
}

constexpr std::size_t kMaxFrame = std::size_t{1} << 30;

}  // namespace

std::string pack_frame(std::string_view lines) {
  constexpr int kLevel = 3;
  std::string packed(ZSTD_compressBound(lines.size()), '\0');
  const std::size_t size = ZSTD_compress(packed.data(), packed.size(), lines.data(), lines.size(), kLevel);
  RINGSIDE_CHECK_EQ(ZSTD_isError(size), 0u);
  packed.resize(size);
  packed.shrink_to_fit();  // the bound is as large as the lines
  return packed;
}

bool unpack_frames(std::string_view frames, std::size_t max_bytes, std::string& lines) {
  while (!frames.empty()) {
    if (is_legacy_zstd(frames.front())) return false;
    const std::size_t packed = ZSTD_findFrameCompressedSize(frames.data(), frames.size());
    if (ZSTD_isError(packed)) return false;
    const std::size_t before = lines.size();
    const auto size = size_in(frames, max_bytes > before ? max_bytes - before : 0);
    if (!size) return false;
    lines.resize(before + *size);
    if (ZSTD_decompress(lines.data() + before, *size, frames.data(), packed) != *size) {
      lines.resize(before);
      return false;
    }
    frames.remove_prefix(packed);
  }
  return true;
}

RecordingWriter::~RecordingWriter() {
  if (fd_ >= 0) ::close(fd_);
}

sim::Status RecordingWriter::open(const std::string& path, std::string_view header_line) {
  fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd_ < 0) {
    sim::Error error = system_error("cannot create the recording", path);
    if (errno == EEXIST) error.hint = "Choose another name: recordings are never overwritten.";
    return error;
  }
  path_ = path;
  return write(pack_frame(std::string(header_line) + '\n'));
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
    text.clear();
    if (ZSTD_isError(packed) || !unpack_frames(rest.substr(0, packed), kMaxFrame, text)) break;
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

sim::Status RecordingWriter::write(std::string_view frame) {
  if (fd_ < 0 || failed_) return sim::ok();
  for (std::size_t done = 0; done < frame.size();) {
    const ssize_t wrote = ::write(fd_, frame.data() + done, frame.size() - done);
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
  bool inside = false;  // a frame
  while (in.pos < in.size) {
    ZSTD_outBuffer out{piece.data(), piece.size(), 0};
    const std::size_t before = in.pos;
    if (!inside && is_legacy_zstd((*bytes)[in.pos])) break;
    const std::size_t code = ZSTD_decompressStream(stream.get(), &out, &in);
    if (ZSTD_isError(code)) break;  // cut off or damaged: what was whole stays
    inside = code != 0;
    if (!reader.feed({piece.data(), out.pos})) break;
    if (in.pos == before && out.pos == 0) break;
  }
  if (!reader.has_header())
    return reader.problem() ? *reader.problem()
                            : sim::Error{.what = "not a recording of Ringside", .file = path};
  return std::move(reader.trace());
}

}  // namespace ringside::backend
