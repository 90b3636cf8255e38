// Files of the outside world: bounded reading of regular files, the files that a scenario may name, and
// output that appears whole or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/base/result.hpp"
#include "sim/scenario/scenario.hpp"

namespace ringside::backend {

inline constexpr std::int64_t kMaxScenarioBytes = std::int64_t{64} << 20;

/// The whole of a regular file of at most `max_bytes`. Errors: cannot be opened, not a regular file, too big,
/// shrinks or grows beyond the limit while it is read.
sim::Result<std::string> read_file(const std::string& path, std::int64_t max_bytes);

/// Loads what a scenario names, relative to the scenario's folder. A path that leads out of that folder (by
/// "..", an absolute path or a symbolic link) is refused unless `allow_outside`. All files of one loader
/// together hold at most 4 GiB of numbers.
sim::FileLoader scenario_loader(const std::string& scenario_path, bool allow_outside);

/// Reads and parses a scenario file with the files that it names.
sim::Result<sim::Scenario> load_scenario(const std::string& path, bool allow_outside = false);

/// A file that is written under a temporary name and appears under its own only by commit(): a reader never
/// sees half of it, and an error leaves what was there before. A pipe or device is written directly.
class AtomicFile {
 public:
  /// `only_owner`: mode 0600 (recordings). Else 0666 without the umask's bits.
  static sim::Result<AtomicFile> create(const std::string& path, bool only_owner = false);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  sim::Status write(std::string_view bytes);
  sim::Status commit();

 private:
  AtomicFile() = default;
  void discard();
  sim::Error problem(const char* what) const;
  std::string path_;       // as given, for messages
  std::string target_;     // where links lead
  std::string temporary_;  // empty: written directly
  int descriptor_ = -1;
};

/// One call for small outputs.
sim::Status write_file(const std::string& path, std::string_view bytes, bool only_owner = false);

}  // namespace ringside::backend
