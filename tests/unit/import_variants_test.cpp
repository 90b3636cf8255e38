// The labelled cases again, changed in ways that change nothing of their meaning: line ends, colours,
// collectors' prefixes, other host names, other file order, text around them. The verdict must stay; above
// all nobody innocent may be accused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>

#include "import_cases.hpp"

namespace ringside::backend::test {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

std::string each_line(const std::string& text,
                      const std::function<std::string(const std::string&, std::size_t)>& change) {
  std::string out;
  std::size_t at = 0;
  std::size_t number = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += change(text.substr(at, end - at), number++);
    if (end < text.size()) out += '\n';
    at = end + 1;
  }
  return out;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

struct Change {
  const char* name;
  std::function<void(Files&, Truth&)> apply;
};

std::vector<Change> changes() {
  std::vector<Change> list;
  list.push_back({"crlf", [](Files& files, Truth&) {
                    for (auto& [name, text] : files)
                      text = replaced(replaced(text, "\r\n", "\n"), "\n", "\r\n");
                  }});
  list.push_back({"colours", [](Files& files, Truth&) {
                    for (auto& [name, text] : files)
                      text = each_line(text, [](const std::string& line, std::size_t i) {
                        return i % 3 == 0 ? "\x1b[36m" + line + "\x1b[0m" : line;
                      });
                  }});
  list.push_back({"reversed_files", [](Files& files, Truth&) { std::reverse(files.begin(), files.end()); }});
  list.push_back({"chatter", [](Files& files, Truth&) {
                    for (auto& [name, text] : files)
                      text = each_line(text, [](const std::string& line, std::size_t i) {
                        return i % 7 == 3 && !line.empty() && line[0] != ' ' && line[0] != '=' &&
                                       line[0] != '-'
                                   ? "data loader: prefetched shard, queue ok\n" + line
                                   : line;
                      });
                  }});
  list.push_back({"no_last_newline", [](Files& files, Truth&) {
                    for (auto& [name, text] : files)
                      while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
                  }});
  list.push_back({"hosts_renamed", [](Files& files, Truth& truth) {
                    for (std::string& node : truth.culprit_nodes) {
                      if (node == "localhost") continue;
                      const std::string other = "rack7-" + node + "x";
                      for (auto& [name, text] : files) {
                        text = replaced(text, node, "\x01");
                        text = replaced(text, "\x01", other);
                        name = replaced(replaced(name, node, "\x01"), "\x01", other);
                      }
                      node = other;
                    }
                  }});
  list.push_back({"iso_time_prefix", [](Files& files, Truth&) {
                    for (auto& [name, text] : files)
                      text = each_line(text, [](const std::string& line, std::size_t i) {
                        char stamp[40];
                        std::snprintf(stamp, sizeof stamp, "2026-03-01T10:%02zu:%02zu.%03zu | ",
                                      i / 6000 % 60, i / 100 % 60, i % 100);
                        return stamp + line;
                      });
                  }});
  return list;
}

TEST(Variants, NobodyInnocentIsAccusedAndVerdictsStay) {
  const std::vector<Truth> truths = all_truths();
  for (const Change& change : changes()) {
    int right = 0;
    std::string wrong;
    for (const Truth& original : truths) {
      Truth truth = original;
      Files files = case_files(truth.name);
      change.apply(files, truth);
      std::vector<NamedText> texts;
      for (const auto& [name, text] : files) texts.push_back({name, text});
      const Incident incident = diagnose_texts(texts);
      const Verdict verdict = judge(truth, incident.diagnosis);
      EXPECT_TRUE(verdict.fair) << change.name << " " << truth.name;
      if (verdict.right() && verdict.nodes)
        ++right;
      else
        wrong += "\n    " + truth.name + ": " + std::string(sim::to_word(incident.diagnosis.kind)) + " " +
                 list_of(incident.diagnosis.culprits) + (verdict.nodes ? "" : " (nodes)") + " rule " +
                 incident.rule;
    }
    std::printf("%-18s %d of %zu%s\n", change.name, right, truths.size(), wrong.c_str());
    EXPECT_GE(right, static_cast<int>(truths.size()) - 2) << change.name << wrong;
  }
}

/// Each case cut off after a part of every file: less is known, but nobody innocent may be accused with
/// certainty.
TEST(Variants, CutOffLogsAccuseNobodyWrongly) {
  for (const Truth& truth : all_truths())
    for (const std::size_t tenths : {3, 6, 8, 9}) {
      const Files whole = case_files(truth.name);
      std::vector<NamedText> texts;
      for (const auto& [name, text] : whole)
        texts.push_back({name, std::string_view(text).substr(0, text.size() * tenths / 10)});
      const sim::Diagnosis d = diagnose_texts(texts).diagnosis;
      if (d.confidence != sim::Confidence::Certain) continue;
      for (const int rank : d.culprits)
        EXPECT_NE(std::find(truth.culprits.begin(), truth.culprits.end(), rank), truth.culprits.end())
            << truth.name << " cut at " << tenths << "/10: " << d.first_cause.what;
    }
}

}  // namespace
}  // namespace ringside::backend::test
