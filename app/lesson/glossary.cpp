#include "app/lesson/glossary.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "sim/base/nearest.hpp"
#include "sim/base/toml.hpp"

namespace ringside::app {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

bool is_letter(char c) {
  const auto u = static_cast<unsigned char>(c);
  return (u >= 'a' && u <= 'z') || (u >= '0' && u <= '9');
}

/// Where `name` occurs in `text` as a word: Latin letters do not touch it, except a plural s. Hangul may
/// follow at once, since particles do.
std::size_t find_word(const std::string& text, const std::string& name) {
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    std::size_t end = at + name.size();
    if (end < text.size() && text[end] == 's') ++end;
    const bool starts = at == 0 || !is_letter(name.front()) || !is_letter(text[at - 1]);
    const bool ends = end >= text.size() || !is_letter(name.back()) || !is_letter(text[end]);
    if (starts && ends && !name.empty()) return at;
  }
  return std::string::npos;
}

std::vector<std::string> names_of(const GlossaryWord& word) {
  std::vector<std::string> out{lower(word.word.en), lower(word.word.ko)};
  // "청크(chunk)" is written without its English too.
  if (const std::size_t bracket = out[1].find('('); bracket != std::string::npos)
    out.push_back(out[1].substr(0, bracket));
  for (const std::string& other : word.also) out.push_back(lower(other));
  std::erase(out, "");
  return out;
}

class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}
  const std::optional<sim::Error>& error() const { return error_; }

  void fail(const toml::source_position& at, std::string what, std::string text = {}, std::string legal = {},
            std::string hint = {}) {
    if (error_) return;
    error_ = sim::Error{std::move(what),
                        std::string(file_),
                        static_cast<int>(at.line),
                        static_cast<int>(at.column),
                        std::move(text),
                        std::move(legal),
                        std::move(hint)};
  }

  void only(const toml::table& table, const std::vector<std::string_view>& keys) {
    for (const auto& [key, node] : table)
      if (std::find(keys.begin(), keys.end(), key.str()) == keys.end())
        fail(key.source().begin, "unknown key", std::string(key.str()), sim::join_words(keys),
             sim::did_you_mean(key.str(), keys));
  }

  std::string string(const toml::table& table, std::string_view key) {
    const toml::node* node = table.get(key);
    if (node == nullptr) return {};
    const auto value = node->value_exact<std::string>();
    if (!value) fail(node->source().begin, "must be a string", std::string(key));
    return value.value_or("");
  }

  sim::LocalText both(const toml::table& table, std::string_view key) {
    const toml::node* node = table.get(key);
    const toml::table* texts = node != nullptr ? node->as_table() : nullptr;
    if (texts == nullptr) {
      fail((node != nullptr ? *node : table).source().begin,
           "needs " + std::string(key) + " in both languages", std::string(key),
           "{ en = \"…\", ko = \"…\" }");
      return {};
    }
    only(*texts, {"en", "ko"});
    sim::LocalText out{string(*texts, "en"), string(*texts, "ko")};
    if (out.en.empty() || out.ko.empty()) fail(node->source().begin, "needs en and ko", std::string(key));
    return out;
  }

 private:
  std::string_view file_;
  std::optional<sim::Error> error_;
};

void read_also(Reader& reader, const toml::table& table, GlossaryWord& word) {
  const toml::node* node = table.get("also");
  if (node == nullptr) return;
  const toml::array* list = node->as_array();
  if (list == nullptr) return reader.fail(node->source().begin, "must be a list of strings", "also");
  for (const toml::node& item : *list) {
    const auto other = item.value_exact<std::string>();
    if (!other) return reader.fail(item.source().begin, "must be a string", "also");
    word.also.push_back(*other);
  }
}

GlossaryWord read_word(Reader& reader, const toml::table& table) {
  reader.only(table, {"word", "also", "text", "scene", "scenario", "at", "lesson", "step"});
  GlossaryWord word;
  word.line = static_cast<int>(table.source().begin.line);
  word.word = reader.both(table, "word");
  word.text = reader.both(table, "text");
  read_also(reader, table, word);
  const auto& scenes = sim::lesson_scenes();
  word.place = {reader.string(table, "scene"), reader.string(table, "scenario"), reader.string(table, "at")};
  if (!word.place.scene.empty() && std::find(scenes.begin(), scenes.end(), word.place.scene) == scenes.end())
    reader.fail(table.get("scene")->source().begin, "unknown value", word.place.scene,
                sim::join_words(scenes), sim::did_you_mean(word.place.scene, scenes));
  word.lesson = reader.string(table, "lesson");
  const std::int64_t step = table["step"].value_or(std::int64_t{1});
  if (step < 1 || step > 10'000)
    reader.fail(table.get("step")->source().begin, "must be a step, from 1", "step");
  word.step = static_cast<int>(step - 1);
  if (word.place.scene.empty() == word.lesson.empty())
    reader.fail(table.source().begin, "a word leads to one place", {},
                "scene (with scenario and at), or lesson (with step)");
  return word;
}

}  // namespace

sim::Result<Glossary> parse_glossary(std::string_view text, std::string_view file) {
  const auto parsed = sim::parse_toml(text, file);
  if (!parsed) return parsed.error();
  Reader reader(file);
  reader.only(*parsed, {"word"});
  Glossary out;
  const toml::node* words = parsed->get("word");
  if (words != nullptr && words->is_array())
    for (const toml::node& item : *words->as_array()) {
      if (const toml::table* entry = item.as_table())
        out.words.push_back(read_word(reader, *entry));
      else
        reader.fail(item.source().begin, "must be a table", "word");
    }
  if (reader.error()) return *reader.error();
  return out;
}

std::vector<const GlossaryWord*> Glossary::in_text(std::string_view text, std::size_t most) const {
  const std::string where = lower(text);
  std::vector<std::pair<std::size_t, const GlossaryWord*>> found;
  for (const GlossaryWord& word : words) {
    std::size_t first = std::string::npos;
    for (const std::string& name : names_of(word)) first = std::min(first, find_word(where, name));
    if (first != std::string::npos) found.emplace_back(first, &word);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<const GlossaryWord*> out;
  for (const auto& [at, word] : found)
    if (out.size() < most) out.push_back(word);
  return out;
}

std::vector<const GlossaryWord*> Glossary::search(std::string_view query) const {
  std::string wanted = lower(query);
  while (!wanted.empty() && wanted.back() == ' ') wanted.pop_back();
  std::vector<const GlossaryWord*> by_name, by_text;
  for (const GlossaryWord& word : words) {
    const std::vector<std::string> names = names_of(word);
    const bool named = std::any_of(names.begin(), names.end(),
                                   [&](const auto& n) { return n.find(wanted) != std::string::npos; });
    if (named) {
      by_name.push_back(&word);
    } else if (lower(word.text.en).find(wanted) != std::string::npos ||
               lower(word.text.ko).find(wanted) != std::string::npos) {
      by_text.push_back(&word);
    }
  }
  by_name.insert(by_name.end(), by_text.begin(), by_text.end());
  return by_name;
}

}  // namespace ringside::app
