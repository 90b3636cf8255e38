#include "app/session/files.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "backend/files.hpp"

namespace ringside::app {
namespace fs = std::filesystem;
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

fs::path executable_folder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : self.parent_path();
}

}  // namespace

sim::Result<std::string> read_file(const std::string& path, std::size_t most) {
  return backend::read_file(path, static_cast<std::int64_t>(most));
}

sim::Status write_file(const std::string& path, std::string_view text) {
  std::error_code error;  // if it cannot be made, writing says why
  fs::create_directories(fs::path(path).parent_path(), error);
  return backend::write_file(path, text);
}

sim::FileLoader folder_loader(const std::string& scenario_path) {
  return [load = backend::scenario_loader(scenario_path, false)](std::string_view name) {
    auto bytes = load(name);
    if (bytes) return bytes;
    sim::Error error = bytes.error();
    error.hint.clear();  // it names an option of the command line
    return sim::Result<std::string>(std::move(error));
  };
}

std::string file_stem(std::string_view path) {
  return fs::path(std::string(path)).stem().string();
}

std::string_view line_of(std::string_view text, int number) {
  std::size_t begin = 0;
  for (int line = 1; line < number; ++line) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) return {};
    begin = end + 1;
  }
  if (number < 1) return {};
  std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

std::vector<std::string> asset_folders(const std::string& given) {
  std::vector<std::string> out;
  if (!given.empty()) out.push_back(given);
  const std::string data = environment("XDG_DATA_HOME"), home = environment("HOME");
  if (!data.empty()) {
    out.push_back(data + "/ringside");
  } else if (!home.empty()) {
    out.push_back(home + "/.local/share/ringside");
  }
#ifdef RINGSIDE_INSTALL_DATADIR
  out.push_back(RINGSIDE_INSTALL_DATADIR);
#endif
  const fs::path beside = executable_folder();
  if (!beside.empty()) {
    out.push_back((beside / "assets").string());
    out.push_back((beside / ".." / "share" / "ringside").lexically_normal().string());
  }
  return out;
}

std::string find_assets(const std::string& given) {
  for (const std::string& folder : asset_folders(given)) {
    std::error_code error;
    if (fs::is_regular_file(folder + "/lang/en/window.toml", error))
      return fs::canonical(folder, error).string();
    if (!given.empty()) return "";  // an explicit folder is not silently replaced
  }
  return "";
}

std::string config_folder() {
  const std::string config = environment("XDG_CONFIG_HOME"), home = environment("HOME");
  if (!config.empty()) return config + "/ringside";
  return home.empty() ? "" : home + "/.config/ringside";
}

namespace {

bool writable_folder(const std::string& path) {
  std::error_code error;
  return !path.empty() && fs::is_directory(path, error) && access(path.c_str(), W_OK) == 0;
}

/// XDG_DOCUMENTS_DIR, from the environment or from user-dirs.dirs ("$HOME/Documents").
std::string xdg_documents() {
  if (std::string given = environment("XDG_DOCUMENTS_DIR"); !given.empty()) return given;
  const std::string home = environment("HOME"), config = environment("XDG_CONFIG_HOME");
  const auto text = read_file((config.empty() ? home + "/.config" : config) + "/user-dirs.dirs", 1 << 16);
  if (!text) return {};
  constexpr std::string_view kKey = "XDG_DOCUMENTS_DIR=\"";
  const std::size_t at = text->find(kKey);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + kKey.size();
  std::string value = text->substr(begin, std::min(text->find('"', begin), text->size()) - begin);
  if (value.starts_with("$HOME")) value = home + value.substr(5);
  return value;
}

}  // namespace

std::string documents_folder(const std::string& opened_path) {
  std::error_code error;
  if (!opened_path.empty()) {
    const fs::path folder = fs::weakly_canonical(fs::path(opened_path), error).parent_path();
    const bool own = fs::is_regular_file(folder / ".." / "lang" / "en" / "window.toml", error) ||
                     fs::is_regular_file(folder / ".." / ".." / "lang" / "en" / "window.toml", error);
    if (!own && writable_folder(folder.string())) return folder.string();
  }
  const std::string home = environment("HOME");
  for (const std::string& folder : {xdg_documents(), home + "/Documents", home})
    if (writable_folder(folder)) return folder;
  return fs::current_path(error).string();
}

std::string safe_file_stem(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7F || c == '/' || c == '\\' || c == ':' ? '-' : c;
    if (out.size() >= 120) break;
  }
  while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xC0) == 0x80 && out.size() >= 118)
    out.pop_back();
  const std::size_t first = out.find_first_not_of(". -");
  out = first == std::string::npos ? "" : out.substr(first);
  return out.empty() ? "scenario" : out;
}

}  // namespace ringside::app
