// What the window remembers between runs, in the XDG config folder as a small TOML file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/i18n/i18n.hpp"
#include "app/session/actions.hpp"

namespace ringside::app {

struct Settings {
  Lang lang = Lang::Ko;
  ThemeChoice theme = ThemeChoice::Dark;
  float user_scale = 1;  // 0.8 … 2.5
  bool reduced_motion = false;
  bool inspector_folded = false;
  int window_width = 1280, window_height = 720;
  std::vector<std::string> recent;  // newest first
  bool operator==(const Settings&) const = default;
};
inline constexpr float kLeastUserScale = 0.8f, kMostUserScale = 2.5f;
inline constexpr std::size_t kMaxRecent = 10;

/// Reads settings; what is missing or wrong keeps its default. `lang` starts as the environment's.
Settings parse_settings(std::string_view toml);
std::string to_toml(const Settings& settings);
/// The list of recent files, which stands in the XDG state folder (recent.toml) and not with the settings.
void parse_recent(std::string_view toml, Settings& settings);
std::string recent_toml(const Settings& settings);
Settings load_settings();
void save_settings(const Settings& settings);
void add_recent(Settings& settings, const std::string& path);

}  // namespace ringside::app
