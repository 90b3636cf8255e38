#include "app/i18n/i18n.hpp"
#include "app/i18n/on_cpu.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "app/text/utf8.hpp"
#include "sim/base/toml.hpp"

namespace ringside::app {
namespace {

// The current language table: the one piece of global state of the window besides ImGui's context.
std::array<TextTable, 2> g_tables;
Lang g_language = Lang::En;
bool g_on_cpu = false;
constexpr std::string_view kOnCpu = "on_cpu.";

void flatten(const toml::table& table, const std::string& prefix, TextTable& out) {
  for (const auto& [key, node] : table) {
    const std::string name = prefix.empty() ? std::string(key.str()) : prefix + "." + std::string(key.str());
    if (const toml::table* inner = node.as_table()) {
      flatten(*inner, name, out);
    } else if (const auto text = node.value<std::string>()) {
      out[name] = *text;
    }
  }
}

enum class LastSound : std::uint8_t { Vowel, Consonant, Rieul };

LastSound last_sound_of(char32_t c) {
  if (c >= 0xAC00 && c <= 0xD7A3) {
    const char32_t tail = (c - 0xAC00) % 28;
    return tail == 0 ? LastSound::Vowel : tail == 8 ? LastSound::Rieul : LastSound::Consonant;
  }
  switch (c) {  // read aloud: 영 일 이 삼 사 오 육 칠 팔 구
    case '0':
    case '3':
    case '6':
      return LastSound::Consonant;
    case '1':
    case '7':
    case '8':
      return LastSound::Rieul;
    case 'l':
    case 'L':
    case 'r':
    case 'R':
      return LastSound::Rieul;  // 엘, 알
    case 'm':
    case 'M':
    case 'n':
    case 'N':
      return LastSound::Consonant;  // 엠, 엔
    default:
      return LastSound::Vowel;
  }
}

LastSound last_sound(std::string_view word) {
  LastSound sound = LastSound::Vowel;
  for (std::size_t at = 0; at < word.size();) {
    const char32_t c = next_code_point(word, at);
    if (c == ')' || c == ']' || c == '"' || c == ' ') continue;  // not spoken
    sound = last_sound_of(c);
  }
  return sound;
}

}  // namespace

std::string_view to_word(Lang lang) {
  return lang == Lang::En ? "en" : "ko";
}

sim::Result<TextTable> parse_language(std::string_view toml_text, std::string_view file) {
  const auto parsed = sim::parse_toml(toml_text, file);
  if (!parsed) return parsed.error();
  TextTable out;
  flatten(*parsed, "", out);
  return out;
}

namespace {

/// The files of one language in the order of their names; a key that two of them give is an error.
sim::Result<TextTable> load_language(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::string> paths;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".toml") paths.push_back(it->path().string());
  if (error) return sim::Error{.what = "the folder of texts cannot be read: " + error.message(), .file = folder};
  if (paths.empty()) return sim::Error{.what = "the folder has no texts (*.toml)", .file = folder};
  std::sort(paths.begin(), paths.end());
  TextTable all;
  for (const std::string& path : paths) {
    std::ifstream in(path, std::ios::binary);
    if (!in) return sim::Error{.what = "the file of texts cannot be read", .file = path};
    std::ostringstream text;
    text << in.rdbuf();
    auto table = parse_language(text.str(), path);
    if (!table) return table.error();
    for (auto& [key, value] : *table)
      if (!all.emplace(key, std::move(value)).second)
        return sim::Error{.what = "the text " + key + " is given a second time", .file = path};
  }
  return all;
}

}  // namespace

sim::Status load_languages(const std::string& folder) {
  for (const Lang lang : {Lang::En, Lang::Ko}) {
    auto table = load_language(folder + "/" + std::string(to_word(lang)));
    if (!table) return table.error();
    set_text_table(lang, std::move(*table));
  }
  return sim::ok();
}

void set_text_table(Lang lang, TextTable table) {
  g_tables[static_cast<std::size_t>(lang)] = std::move(table);
}

const TextTable& text_table(Lang lang) {
  return g_tables[static_cast<std::size_t>(lang)];
}

void set_language(Lang lang) {
  g_language = lang;
}

Lang language() {
  return g_language;
}

void set_ranks_on_cpu(bool on_cpu) {
  g_on_cpu = on_cpu;
}

bool ranks_on_cpu() {
  return g_on_cpu;
}

Lang language_of_environment() {
  for (const char* name : {"LC_ALL", "LC_MESSAGES", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view text(value);
    if (text == "C" || text == "POSIX" || text.starts_with("C.")) continue;
    return text.starts_with("ko") ? Lang::Ko : Lang::En;
  }
  return Lang::Ko;
}

const std::string& tr(std::string_view key) {
  if (g_on_cpu && !key.starts_with(kOnCpu))
    if (const auto found = text_table(g_language).find(std::string(kOnCpu) + std::string(key));
        found != text_table(g_language).end())
      return found->second;
  for (const Lang lang : {g_language, Lang::En}) {
    const TextTable& table = text_table(lang);
    if (const auto found = table.find(key); found != table.end()) return found->second;
  }
  // Shown as it is, and remembered so that the reference stays valid.
  static TextTable missing;
  return missing.try_emplace(std::string(key), key).first->second;
}

std::string tr(std::string_view key, std::initializer_list<std::string_view> arguments) {
  return fill_pattern(tr(key), arguments);
}

const std::string& tr_word(std::string_view table, std::string_view word) {
  return tr(std::string(table) + "." + std::string(word));
}

bool has_text(std::string_view key) {
  return text_table(Lang::En).contains(key);
}

std::string_view josa(std::string_view forms, std::string_view word) {
  const std::size_t slash = forms.find('/');
  if (slash == std::string_view::npos) return forms;
  const std::string_view after_consonant = forms.substr(0, slash), after_vowel = forms.substr(slash + 1);
  const LastSound sound = last_sound(word);
  if (sound == LastSound::Vowel) return after_vowel;
  if (sound == LastSound::Rieul && after_consonant == "으로") return after_vowel;  // 서울로, 8로
  return after_consonant;
}

std::string fill_pattern(std::string_view pattern, std::initializer_list<std::string_view> arguments) {
  std::string out;
  for (std::size_t at = 0; at < pattern.size();) {
    const bool slot =
        pattern[at] == '{' && at + 2 < pattern.size() && pattern[at + 1] >= '0' && pattern[at + 1] <= '9';
    const std::size_t close = slot ? pattern.find('}', at) : std::string_view::npos;
    if (close == std::string_view::npos) {
      out += pattern[at++];
      continue;
    }
    const auto index = static_cast<std::size_t>(pattern[at + 1] - '0');
    if (index < arguments.size()) {
      const std::string_view word = arguments.begin()[index];
      out += word;
      if (pattern[at + 2] == ':') out += josa(pattern.substr(at + 3, close - at - 3), word);
    } else {
      out += pattern.substr(at, close - at + 1);
    }
    at = close + 1;
  }
  return out;
}

}  // namespace ringside::app
