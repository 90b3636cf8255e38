#include "app/session/settings.hpp"

#include <algorithm>
#include <sstream>

#include "app/lesson/progress.hpp"
#include "app/session/files.hpp"
#include "sim/base/toml.hpp"

namespace ringside::app {

namespace {

/// The list of recent files stands in the state folder; settings of older versions hold it too.
void read_recent(const toml::table& table, Settings& out) {
  const toml::array* recent = table["recent"].as_array();
  if (recent == nullptr) return;
  out.recent.clear();
  for (const toml::node& node : *recent)
    if (const auto path = node.value<std::string>(); path && out.recent.size() < kMaxRecent)
      out.recent.push_back(*path);
}

std::string recent_file() {
  const std::string folder = state_folder();
  return folder.empty() ? "" : folder + "/recent.toml";
}

}  // namespace

Settings parse_settings(std::string_view text) {
  Settings out;
  out.lang = language_of_environment();
  // A broken settings file is disposable: it is written anew when something changes.
  const auto parsed = sim::parse_toml(text, "settings.toml");
  if (!parsed) return out;
  const toml::table& table = *parsed;
  if (const auto lang = table["lang"].value<std::string>()) {
    if (*lang == "en") out.lang = Lang::En;
    if (*lang == "ko") out.lang = Lang::Ko;
  }
  if (const auto theme = table["theme"].value<std::string>())
    out.theme = *theme == "light" ? ThemeChoice::Light : ThemeChoice::Dark;
  if (const auto scale = table["scale"].value<double>())
    out.user_scale = std::clamp(static_cast<float>(*scale), kLeastUserScale, kMostUserScale);
  out.reduced_motion = table["reduced_motion"].value_or(false);
  out.inspector_folded = table["inspector_folded"].value_or(false);
  out.window_width = std::clamp(table["window_width"].value_or(out.window_width), 640, 16'000);
  out.window_height = std::clamp(table["window_height"].value_or(out.window_height), 360, 16'000);
  read_recent(table, out);
  return out;
}

std::string to_toml(const Settings& settings) {
  const toml::table table{{"lang", std::string(to_word(settings.lang))},
                          {"theme", settings.theme == ThemeChoice::Light ? "light" : "dark"},
                          {"scale", static_cast<double>(settings.user_scale)},
                          {"reduced_motion", settings.reduced_motion},
                          {"inspector_folded", settings.inspector_folded},
                          {"window_width", settings.window_width},
                          {"window_height", settings.window_height}};
  std::ostringstream out;
  out << table << "\n";
  return out.str();
}

void parse_recent(std::string_view text, Settings& settings) {
  // A broken list is disposable too.
  if (const auto parsed = sim::parse_toml(text, "recent.toml")) read_recent(*parsed, settings);
}

std::string recent_toml(const Settings& settings) {
  toml::array recent;
  for (const std::string& path : settings.recent) recent.push_back(path);
  std::ostringstream out;
  out << toml::table{{"recent", recent}} << "\n";
  return out.str();
}

Settings load_settings() {
  const std::string folder = config_folder();
  const auto text =
      folder.empty() ? sim::Result<std::string>(std::string()) : read_file(folder + "/settings.toml");
  Settings out = parse_settings(text ? *text : std::string());
  if (const auto recent = read_file(recent_file(), 1 << 20)) parse_recent(*recent, out);
  return out;
}

void save_settings(const Settings& settings) {
  const std::string folder = config_folder();
  // Not being able to remember is no reason to disturb: the next run starts with the defaults.
  if (!folder.empty()) static_cast<void>(write_file(folder + "/settings.toml", to_toml(settings)));
  if (const std::string file = recent_file(); !file.empty())
    static_cast<void>(write_file(file, recent_toml(settings)));
}

void add_recent(Settings& settings, const std::string& path) {
  std::erase(settings.recent, path);
  settings.recent.insert(settings.recent.begin(), path);
  if (settings.recent.size() > kMaxRecent) settings.recent.resize(kMaxRecent);
}

}  // namespace ringside::app
