// The pages on formats name everything that the code knows.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "sim/scenario/fault_rules.hpp"
#include "sim/trace/event.hpp"

namespace ringside::sim {
namespace {

std::string page(const char* name) {
  std::ifstream in(std::string(RINGSIDE_SOURCE_DIR) + "/docs/" + name, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Docs, TraceFormatNamesEveryEventType) {
  const std::string text = page("trace-format.md");
  for (int i = 0; i < kEventTypeCount; ++i) {
    const std::string word = '`' + std::string(to_word(static_cast<EventType>(i))) + '`';
    EXPECT_NE(text.find(word), std::string::npos) << word;
  }
}

TEST(Docs, ScenarioFormatNamesEveryFaultAndItsKeys) {
  const std::string text = page("scenario-format.md");
  std::istringstream lines(text.substr(text.find("## Faults")));
  for (const FaultRule& rule : fault_rules()) {
    bool found = false;
    lines.clear();
    lines.seekg(0);
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("| ", 0) != 0) continue;
      const std::string kinds = ' ' + line.substr(2, line.find(" |", 2) - 2) + ',';
      if (kinds.find(' ' + std::string(rule.word) + ',') == std::string::npos) continue;
      found = true;
      const std::string keys = line.substr(line.find(" |", 2));
      for (const std::string_view key : legal_fields(rule)) {
        const bool own = key == rule.word;  // "the key of the same name"
        if (key == "kind" || key == "step" || key == "time" || own) continue;
        EXPECT_NE(keys.find(key), std::string::npos) << rule.word << ": " << key;
      }
    }
    EXPECT_TRUE(found) << rule.word;
  }
}

}  // namespace
}  // namespace ringside::sim
