#include "backend/import/byte_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "backend/zstd_frames.hpp"

namespace ringside::backend {
namespace {

constexpr std::size_t kPackedBuffer = std::size_t{128} << 10;

sim::Error io_error(const std::string& name, std::string what, int code) {
  sim::Error error{.what = std::move(what) + ": " + std::strerror(code), .file = name};
  if (code == EACCES || code == EPERM) error.hint = "Read it as a user who has the right to, or copy it";
  return error;
}

class FileSource final : public ByteSource {
 public:
  FileSource(int fd, std::string name, std::function<bool(std::int64_t)> on_read)
      : fd_(fd), name_(std::move(name)), on_read_(std::move(on_read)) {}
  ~FileSource() override { ::close(fd_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  std::size_t read(char* into, std::size_t size) override {
    if (problem_) return 0;
    ssize_t got = 0;
    do {
      got = ::read(fd_, into, size);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
      problem_ = io_error(name_, "cannot be read further", errno);
      return 0;
    }
    if (got > 0 && on_read_ && !on_read_(got)) {
      fail(name_, "reading was cancelled");
      return 0;
    }
    return static_cast<std::size_t>(got);
  }

 private:
  int fd_;
  std::string name_;
  std::function<bool(std::int64_t)> on_read_;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string_view bytes) : bytes_(bytes) {}
  std::size_t read(char* into, std::size_t size) override {
    const std::size_t n = std::min(size, bytes_.size() - at_);
    if (n > 0) std::memcpy(into, bytes_.data() + at_, n);
    at_ += n;
    return n;
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

/// Gives back bytes that were read to look at them, then the rest.
class Prepended final : public ByteSource {
 public:
  Prepended(std::string head, std::unique_ptr<ByteSource> rest)
      : head_(std::move(head)), rest_(std::move(rest)) {}
  std::size_t read(char* into, std::size_t size) override {
    if (at_ < head_.size()) {
      const std::size_t n = std::min(size, head_.size() - at_);
      std::memcpy(into, head_.data() + at_, n);
      at_ += n;
      return n;
    }
    const std::size_t n = rest_->read(into, size);
    if (n == 0) problem_ = rest_->problem();
    return n;
  }

 private:
  std::string head_;
  std::unique_ptr<ByteSource> rest_;
  std::size_t at_ = 0;
};

/// What both decompressors share: a buffer of packed bytes and the limit on what comes out.
class Unpacker : public ByteSource {
 public:
  Unpacker(std::unique_ptr<ByteSource> packed, std::string name, std::int64_t max_unpacked)
      : packed_(std::move(packed)), name_(std::move(name)), left_(max_unpacked), buffer_(kPackedBuffer) {}

  std::size_t read(char* into, std::size_t size) override {
    if (problem_ || ended_) return 0;
    if (left_ <= 0) {
      fail(name_, "unpacks to more than the limit; the rest was not read");
      return 0;
    }
    size = static_cast<std::size_t>(std::min<std::int64_t>(static_cast<std::int64_t>(size), left_));
    const std::size_t got = unpack(into, size);
    left_ -= static_cast<std::int64_t>(got);
    return got;
  }

 protected:
  virtual std::size_t unpack(char* into, std::size_t size) = 0;

  /// False when there are no packed bytes left.
  bool refill() {
    if (begin_ < end_) return true;
    begin_ = 0;
    end_ = packed_->read(buffer_.data(), buffer_.size());
    if (end_ == 0) problem_ = packed_->problem();
    return end_ > 0;
  }

  std::unique_ptr<ByteSource> packed_;
  std::string name_;
  std::int64_t left_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool ended_ = false;
};

class GzipSource final : public Unpacker {
 public:
  GzipSource(std::unique_ptr<ByteSource> packed, std::string name, std::int64_t max_unpacked)
      : Unpacker(std::move(packed), std::move(name), max_unpacked) {
    RINGSIDE_CHECK_EQ(inflateInit2(&stream_, 15 + 16), Z_OK);  // 16: expect a gzip header
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

 protected:
  std::size_t unpack(char* into, std::size_t size) override {
    stream_.next_out = reinterpret_cast<Bytef*>(into);
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(size, 1u << 30));
    const uInt room = stream_.avail_out;
    while (stream_.avail_out == room) {
      if (!refill()) {
        if (!problem_ && inside_)
          fail(name_, "ends in the middle of its gzip data; what came before was read");
        ended_ = true;
        break;
      }
      // Concatenated members are legal (log rotation makes them); anything else after the end is padding.
      if (!inside_ && members_ > 0 && static_cast<unsigned char>(buffer_[begin_]) != 0x1F) {
        ended_ = true;
        break;
      }
      inside_ = true;
      if (!step()) break;
    }
    return room - stream_.avail_out;
  }

 private:
  bool step() {
    stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data() + begin_);
    stream_.avail_in = static_cast<uInt>(end_ - begin_);
    const int code = inflate(&stream_, Z_NO_FLUSH);
    begin_ = end_ - stream_.avail_in;
    if (code == Z_STREAM_END) {
      ++members_;
      inside_ = false;
      inflateReset2(&stream_, 15 + 16);
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      fail(name_, std::string("its gzip data is broken (") + (stream_.msg ? stream_.msg : "bad data") +
                      "); what came before was read");
      return false;
    }
    return true;
  }

  z_stream stream_{};
  int members_ = 0;
  bool inside_ = false;
};

class ZstdSource final : public Unpacker {
 public:
  ZstdSource(std::unique_ptr<ByteSource> packed, std::string name, const InputLimits& limits)
      : Unpacker(std::move(packed), std::move(name), limits.max_unpacked), context_(ZSTD_createDCtx()) {
    RINGSIDE_CHECK(context_ != nullptr);
    ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, limits.max_window_log);
  }
  ~ZstdSource() override { ZSTD_freeDCtx(context_); }
  ZstdSource(const ZstdSource&) = delete;
  ZstdSource& operator=(const ZstdSource&) = delete;

 protected:
  std::size_t unpack(char* into, std::size_t size) override {
    ZSTD_outBuffer out{into, size, 0};
    while (out.pos == 0) {
      const bool more = refill();
      if (!more && (problem_ || !inside_)) {
        ended_ = true;
        break;
      }
      if (more && !inside_ && is_legacy_zstd(buffer_[begin_])) {
        fail(name_, "its zstd data is of a format from before zstd 0.8; what came before was read",
             "Unpack it with the zstd that made it");
        break;
      }
      ZSTD_inBuffer in{buffer_.data() + begin_, end_ - begin_, 0};
      const std::size_t code = ZSTD_decompressStream(context_, &out, &in);
      begin_ += in.pos;
      if (ZSTD_isError(code)) {
        fail(name_,
             std::string("its zstd data is broken (") + ZSTD_getErrorName(code) +
                 "); what came before was read",
             "A frame with a window above 128 MiB is refused");
        break;
      }
      inside_ = code != 0;
      if (!more && out.pos == 0) {
        fail(name_, "ends in the middle of its zstd data; what came before was read");
        break;
      }
    }
    return out.pos;
  }

 private:
  ZSTD_DCtx* context_;
  bool inside_ = false;
};

std::unique_ptr<ByteSource> unpacked(std::unique_ptr<ByteSource> raw, std::string name,
                                     const InputLimits& limits) {
  std::string head(4, '\0');
  std::size_t got = 0;
  while (got < head.size()) {
    const std::size_t n = raw->read(head.data() + got, head.size() - got);
    if (n == 0) break;
    got += n;
  }
  head.resize(got);
  const Packing packing = packing_of(head);
  auto whole = std::make_unique<Prepended>(std::move(head), std::move(raw));
  if (packing == Packing::Gzip)
    return std::make_unique<GzipSource>(std::move(whole), std::move(name), limits.max_unpacked);
  if (packing == Packing::Zstd)
    return std::make_unique<ZstdSource>(std::move(whole), std::move(name), limits);
  return whole;
}

}  // namespace

void ByteSource::fail(std::string name, std::string what, std::string hint) {
  problem_ = sim::Error{.what = std::move(what), .file = std::move(name), .hint = std::move(hint)};
}

Packing packing_of(std::string_view head) {
  if (head.substr(0, 3) == std::string_view("\x1F\x8B\x08", 3)) return Packing::Gzip;
  if (head.substr(0, 4) == std::string_view("\x28\xB5\x2F\xFD", 4)) return Packing::Zstd;
  return Packing::None;
}

sim::Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path, std::string name,
                                                    const InputLimits& limits,
                                                    std::function<bool(std::int64_t)> on_read) {
  // O_NONBLOCK: a FIFO that somebody put in the place of a log must not stop us in open().
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return io_error(name, "cannot be opened", errno);
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(fd);
    return sim::Error{
        .what = "is not a regular file", .file = name, .hint = "Devices, pipes and sockets are not read"};
  }
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  auto raw = std::make_unique<FileSource>(fd, name, std::move(on_read));
  return unpacked(std::move(raw), std::move(name), limits);
}

std::unique_ptr<ByteSource> bytes_from_memory(std::string name, std::string_view bytes,
                                              const InputLimits& limits) {
  return unpacked(std::make_unique<MemorySource>(bytes), std::move(name), limits);
}

}  // namespace ringside::backend
