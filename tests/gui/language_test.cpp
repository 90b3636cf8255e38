// The lint of texts: keys that are missing, unused or take other arguments in the other language; characters
// that the fonts lack.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "app/i18n/i18n.hpp"
#include "app/i18n/on_cpu.hpp"
#include "app/text/fonts.hpp"
#include "app/text/utf8.hpp"
#include "sim/collective/schedule.hpp"
#include "sim/tensor/dtype.hpp"

namespace ringside::app {
namespace {
namespace fs = std::filesystem;

std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

struct Used {
  std::set<std::string> keys;    // every string literal of the sources that looks like a key
  std::set<std::string> asked;   // those inside tr(…)
  std::set<std::string> tables;  // tr_word("table", …), translated("table", …)
};

Used used_in_sources() {
  Used used;
  const std::regex literal("\"([a-z0-9_]+(?:\\.[a-z0-9_]+)+)\""), asked("\\btr\\(\"([^\"]+)\""),
      table("(?:tr_word|translated)\\(\"([^\"]+)\"");
  for (const auto& file : fs::recursive_directory_iterator(std::string(RINGSIDE_SOURCE_DIR) + "/app")) {
    if (file.path().extension() != ".cpp" && file.path().extension() != ".hpp") continue;
    const std::string text = slurp(file.path());
    const auto collect = [&](const std::regex& pattern, std::set<std::string>& out) {
      for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it)
        out.insert((*it)[1]);
    };
    collect(literal, used.keys);
    collect(asked, used.asked);
    collect(table, used.tables);
  }
  return used;
}

std::set<std::string> slots_of(const std::string& text) {
  std::set<std::string> slots;
  const std::regex slot("\\{([0-9])[^}]*\\}");
  for (std::sregex_iterator it(text.begin(), text.end(), slot), end; it != end; ++it) slots.insert((*it)[1]);
  return slots;
}

class Languages : public testing::Test {
 protected:
  void SetUp() override {
    const sim::Status status = load_languages(std::string(RINGSIDE_SOURCE_DIR) + "/assets/lang");
    ASSERT_TRUE(status) << status.error().message();
  }
};

TEST_F(Languages, HaveTheSameKeysAndArguments) {
  for (const auto& [key, text] : text_table(Lang::En)) {
    const auto other = text_table(Lang::Ko).find(key);
    ASSERT_NE(other, text_table(Lang::Ko).end()) << key << " is missing in ko/";
    EXPECT_EQ(slots_of(text), slots_of(other->second)) << key;
    EXPECT_FALSE(text.empty() || other->second.empty()) << key;
  }
  for (const auto& [key, text] : text_table(Lang::Ko))
    EXPECT_TRUE(text_table(Lang::En).contains(key)) << key << " is missing in en/";
}

TEST_F(Languages, EveryKeyOfTheSourcesExists) {
  for (const std::string& key : used_in_sources().asked)
    EXPECT_TRUE(text_table(Lang::En).contains(key)) << "tr(\"" << key << "\")";
}

// A word of the model becomes a key: a renamed word must not show its key on screen.
TEST_F(Languages, EveryWordOfACollectiveHasAText) {
  for (int i = 0; i < sim::kAlgorithmCount; ++i) {
    const std::string word(sim::to_word(static_cast<sim::Algorithm>(i)));
    EXPECT_TRUE(text_table(Lang::En).contains("algorithm." + word)) << word;
  }
  for (const sim::ReduceOp op : sim::kAllOps) {
    const std::string word(sim::to_word(op));
    EXPECT_TRUE(text_table(Lang::En).contains("op." + word)) << word;
  }
}

TEST_F(Languages, EveryKeyIsUsed) {
  const Used used = used_in_sources();
  for (const auto& [key, text] : text_table(Lang::En)) {
    constexpr std::string_view kOnCpu = "on_cpu.";
    if (key.starts_with(kOnCpu)) {  // tr() finds it for its other form
      EXPECT_TRUE(has_text(key.substr(kOnCpu.size()))) << key << " is no other text's form";
      continue;
    }
    const bool by_table = used.tables.contains(key.substr(0, key.rfind('.')));
    EXPECT_TRUE(by_table || used.keys.contains(key)) << key << " is in en/, but nothing shows it";
  }
}

TEST_F(Languages, SpeakOfRanksWhereTheyAreProcesses) {
  for (const Lang lang : {Lang::En, Lang::Ko}) {
    set_language(lang);
    set_ranks_on_cpu(true);
    const std::string waits = tr("allreduce.now.many_wait", {"3", "R1", "7"}), other = tr("live.not_connected");
    const std::string place = tr("rank.long_name", {"2"});
    set_ranks_on_cpu(false);
    EXPECT_EQ(waits.find("GPU"), std::string::npos) << waits;
    EXPECT_NE(tr("allreduce.now.many_wait", {"3", "R1", "7"}).find("GPU"), std::string::npos);
    EXPECT_EQ(other, tr("live.not_connected")) << "a text without another form stays";
    EXPECT_EQ(place, lang == Lang::Ko ? "랭크 2" : "rank 2");
  }
  for (const Lang lang : {Lang::En, Lang::Ko})
    for (const auto& [key, text] : text_table(lang))
      EXPECT_TRUE(!key.starts_with("on_cpu.") || text.find("GPU") == std::string::npos) << key;
  set_language(Lang::En);
}

TEST_F(Languages, TheFontsHaveEveryCharacter) {
  const auto fonts = Fonts::open();
  ASSERT_TRUE(fonts);
  if (!(*fonts)->has_korean()) GTEST_SKIP() << "no Korean font on this machine";
  for (const Lang lang : {Lang::En, Lang::Ko})
    for (const auto& [key, text] : text_table(lang))
      for (std::size_t at = 0; at < text.size();) {
        const char32_t c = next_code_point(text, at);
        if (c == '\n') continue;
        EXPECT_TRUE((*fonts)->has_glyph(Face::Regular, c) && (*fonts)->has_glyph(Face::Bold, c))
            << key << " has U+" << std::hex << static_cast<unsigned>(c) << ", which the fonts lack";
      }
}

TEST_F(Languages, TheKoreanOnesSpeakPolitely) {
  // VISUAL §7: no blame, no "please", no exclamation mark.
  for (const Lang lang : {Lang::En, Lang::Ko})
    for (const auto& [key, text] : text_table(lang)) {
      EXPECT_EQ(text.find('!'), std::string::npos) << key;
      EXPECT_EQ(text.find("lease "), std::string::npos) << key;
      EXPECT_EQ(text.find("Oops"), std::string::npos) << key;
    }
}

}  // namespace
}  // namespace ringside::app
