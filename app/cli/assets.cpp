#include "app/cli/assets.hpp"

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "backend/files.hpp"
#include "sim/base/text.hpp"

namespace ringside::app {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t kMaxAssetBytes = std::int64_t{64} << 20;

std::vector<fs::path> asset_folders(const std::string& given) {
  if (!given.empty()) return {given};
  std::vector<fs::path> folders;
  const char *data = std::getenv("XDG_DATA_HOME"), *home = std::getenv("HOME");
  if (data != nullptr && *data != '\0') {
    folders.push_back(fs::path(data) / "ringside");
  } else if (home != nullptr && *home != '\0') {
    folders.push_back(fs::path(home) / ".local/share/ringside");
  }
  folders.push_back(RINGSIDE_INSTALL_DATADIR);
  std::error_code failed;
  const fs::path beside = fs::read_symlink("/proc/self/exe", failed).parent_path();
  if (!failed) {
    folders.push_back(beside / "assets");
    folders.push_back(beside / ".." / "share" / "ringside");
  }
  return folders;
}

}  // namespace

sim::Result<std::string> read_asset(const std::string& given, const std::string& name) {
  std::string places;
  for (const fs::path& folder : asset_folders(given)) {
    const fs::path file = folder / name;
    std::error_code failed;
    if (fs::exists(file, failed)) return backend::read_file(file.string(), kMaxAssetBytes);
    places += (places.empty() ? "" : ", ") + sim::escape_for_display(folder.lexically_normal().string());
  }
  sim::Error error;
  error.what = name + " was not found";
  error.legal = places;
  error.hint = "--assets names the folder that holds it";
  return error;
}

}  // namespace ringside::app
