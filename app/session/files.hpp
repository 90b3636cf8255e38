// Files of the window: scenarios and arrays to open, assets, settings. Regular files only, bounded in size.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/result.hpp"
#include "sim/scenario/scenario.hpp"

namespace ringside::app {

inline constexpr std::size_t kMaxFileBytes = std::size_t{4} << 30;

/// The bytes of a regular file.
sim::Result<std::string> read_file(const std::string& path, std::size_t most = kMaxFileBytes);
/// Writes a file whole: a temporary beside it, then a rename.
sim::Status write_file(const std::string& path, std::string_view text);
/// Opens what a scenario names: only below the scenario's own folder.
sim::FileLoader folder_loader(const std::string& scenario_path);
/// "four-gpus" of "a/four-gpus.toml".
std::string file_stem(std::string_view path);
/// Line `number` (from 1) of a text, without its end; "" if there is none.
std::string_view line_of(std::string_view text, int number);

/// Where assets may be, best first: `given` (--assets), $XDG_DATA_HOME/ringside, the installed
/// share/ringside, beside the executable.
std::vector<std::string> asset_folders(const std::string& given);
/// The first of the folders that holds `lang/en/window.toml`; "" if none does.
std::string find_assets(const std::string& given);
/// $XDG_CONFIG_HOME/ringside or ~/.config/ringside; "" if neither is set.
std::string config_folder();
/// Where a file is saved that belongs to the open one: its folder, if a person may write there and it is not
/// one of Ringside's own; else the XDG documents folder, ~/Documents, the home folder, the current folder.
std::string documents_folder(const std::string& opened_path);
/// A file name without an ending, from any text: no separators, controls or leading dots; never empty.
std::string safe_file_stem(std::string_view text);

}  // namespace ringside::app
