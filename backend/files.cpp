#include "backend/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "sim/base/text.hpp"

namespace ringside::backend {
namespace {

namespace fs = std::filesystem;

sim::Error file_error(const std::string& path, std::string what, std::string legal = {}) {
  sim::Error error;
  error.file = sim::escape_for_display(path);
  error.what = std::move(what);
  error.legal = std::move(legal);
  return error;
}

std::string reason(int code) {
  return std::generic_category().message(code);
}

/// Closes a descriptor on every way out.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }

 private:
  int value_;
};

/// Reads up to `limit` bytes and one more, to see whether there are more.
sim::Result<std::string> read_all(int descriptor, const std::string& path, std::int64_t expected,
                                  std::int64_t limit) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(expected));
  while (true) {
    const std::size_t before = bytes.size();
    bytes.resize(before + kPiece);
    const ssize_t got = ::read(descriptor, bytes.data() + before, kPiece);
    bytes.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error(path, "cannot be read: " + reason(errno));
    if (got == 0) return bytes;
    if (static_cast<std::int64_t>(bytes.size()) > limit)
      return file_error(path, "the file is too big", "up to " + sim::format_bytes(limit));
  }
}

sim::Result<std::string> read_with_flags(const std::string& path, std::int64_t max_bytes, int flags) {
  if (path.find('\0') != std::string::npos) return file_error(path, "the path holds a NUL character");
  // O_NONBLOCK: opening a pipe must not wait for its writer.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags));
  if (file.get() < 0) return file_error(path, "cannot be opened: " + reason(errno));
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return file_error(path, "cannot be read: " + reason(errno));
  if (S_ISDIR(info.st_mode)) return file_error(path, "is a folder", "a regular file");
  if (!S_ISREG(info.st_mode)) return file_error(path, "is not a regular file", "a regular file");
  if (info.st_size > max_bytes)
    return file_error(path, "the file is too big: " + sim::format_bytes(info.st_size),
                      "up to " + sim::format_bytes(max_bytes));
  return read_all(file.get(), path, info.st_size, max_bytes);
}

/// True if `inner` is `folder` or lies below it; both absolute and without links.
bool is_below(const fs::path& inner, const fs::path& folder) {
  const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), inner.begin(), inner.end());
  return end == folder.end();
}

}  // namespace

sim::Result<std::string> read_file(const std::string& path, std::int64_t max_bytes) {
  return read_with_flags(path, max_bytes, 0);
}

sim::FileLoader scenario_loader(const std::string& scenario_path, bool allow_outside) {
  // Headers are small beside the numbers; every file may have one.
  constexpr std::int64_t kHeaderRoom = 65'536;
  const auto left = std::make_shared<std::int64_t>(sim::kMaxNumberBytes);
  return [scenario_path, allow_outside, left](std::string_view name) -> sim::Result<std::string> {
    std::error_code failed;
    const fs::path folder = fs::canonical(fs::absolute(scenario_path).parent_path(), failed);
    if (failed) return file_error(scenario_path, "its folder cannot be found: " + failed.message());
    const std::string shown(name);
    const fs::path real = fs::canonical(folder / fs::path(shown), failed);
    if (failed) return file_error(shown, "cannot be opened: " + failed.message());
    if (!allow_outside && !is_below(real, folder)) {
      auto error = file_error(shown, "lies outside the scenario's folder", "files below " + folder.string());
      error.hint = "--allow-outside permits it";
      return error;
    }
    auto bytes = read_with_flags(real.string(), *left + kHeaderRoom, O_NOFOLLOW);
    if (!bytes) {
      sim::Error error = bytes.error();
      error.file = sim::escape_for_display(shown);
      return error;
    }
    *left -= std::min<std::int64_t>(*left, static_cast<std::int64_t>(bytes->size()));
    return bytes;
  };
}

sim::Result<sim::Scenario> load_scenario(const std::string& path, bool allow_outside) {
  const auto text = read_file(path, kMaxScenarioBytes);
  if (!text) return text.error();
  return sim::parse_scenario(*text, sim::escape_for_display(path), scenario_loader(path, allow_outside));
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::move(other.temporary_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  if (this != &other) {
    discard();
    path_ = std::move(other.path_);
    target_ = std::move(other.target_);
    temporary_ = std::move(other.temporary_);
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

AtomicFile::~AtomicFile() {
  discard();
}

void AtomicFile::discard() {
  if (descriptor_ < 0) return;
  ::close(std::exchange(descriptor_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

sim::Error AtomicFile::problem(const char* what) const {
  return file_error(path_, std::string(what) + ": " + reason(errno));
}

sim::Result<AtomicFile> AtomicFile::create(const std::string& path, bool only_owner) {
  AtomicFile file;
  file.path_ = path;
  struct stat info {};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return file_error(path, "is a folder", "a file to write");
  if (exists && !S_ISREG(info.st_mode)) {  // replacing a device by a file would be a disaster
    file.descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file.descriptor_ < 0) return file.problem("cannot be opened for writing");
    return file;
  }
  std::error_code failed;
  const fs::path real = exists ? fs::canonical(path, failed) : fs::path(path);
  file.target_ = failed ? path : real.string();
  const mode_t mode = only_owner ? 0600 : exists ? (info.st_mode & 0777) : 0666;
  for (int attempt = 0; attempt < 100; ++attempt) {
    file.temporary_ = file.target_ + ".part" + std::to_string(::getpid()) + "-" + std::to_string(attempt);
    file.descriptor_ = ::open(file.temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file.descriptor_ >= 0) return file;
    if (errno != EEXIST) break;
  }
  return file.problem("cannot be written");
}

sim::Status AtomicFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor_, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return problem("cannot be written");
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return sim::ok();
}

sim::Status AtomicFile::commit() {
  const bool closed = ::close(std::exchange(descriptor_, -1)) == 0;
  if (temporary_.empty()) return closed ? sim::ok() : sim::Status(problem("cannot be written"));
  if (!closed || ::rename(temporary_.c_str(), target_.c_str()) != 0) {
    const sim::Error error = problem("cannot be written");
    ::unlink(temporary_.c_str());
    return error;
  }
  return sim::ok();
}

sim::Status write_file(const std::string& path, std::string_view bytes, bool only_owner) {
  auto file = AtomicFile::create(path, only_owner);
  if (!file) return file.error();
  if (auto written = file->write(bytes); !written) return written;
  return file->commit();
}

}  // namespace ringside::backend
