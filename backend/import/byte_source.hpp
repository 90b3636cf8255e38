// Bytes of one file, plain or packed (gzip, zstd), read in pieces with bounded memory. Depends on nothing but
// the file: every failure is a value, and what was read before it stays valid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/result.hpp"

namespace ringside::backend {

/// What a reader may use for one file. A file beyond a limit is read up to it, and says so.
struct InputLimits {
  std::size_t max_line = std::size_t{64} << 10;        // a longer line is cut there
  std::int64_t max_unpacked = std::int64_t{64} << 30;  // bytes that one packed file may become
  std::size_t max_document = std::size_t{128} << 20;   // a dump, which is read as a whole
  int max_window_log = 27;                             // zstd: 128 MiB
  int max_files = 100'000;
  int max_depth = 32;  // folders in folders
};

/// Bytes in order. `read` gives 0 at the end and after a failure; then `problem` says why.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::size_t read(char* into, std::size_t size) = 0;
  const std::optional<sim::Error>& problem() const { return problem_; }

 protected:
  void fail(std::string name, std::string what, std::string hint = {});
  std::optional<sim::Error> problem_;
};

enum class Packing : std::uint8_t { None, Gzip, Zstd };
/// By the first four bytes.
Packing packing_of(std::string_view head);

/// A regular file, unpacked when its first bytes say gzip or zstd. `on_read` is called with each number of
/// bytes taken from the disk (packed ones) and ends the reading when it returns false. Errors: cannot be
/// opened, not a regular file.
sim::Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path, std::string name,
                                                    const InputLimits& limits,
                                                    std::function<bool(std::int64_t)> on_read = {});

/// The same over bytes in memory, which must outlive the source.
std::unique_ptr<ByteSource> bytes_from_memory(std::string name, std::string_view bytes,
                                              const InputLimits& limits);

}  // namespace ringside::backend
