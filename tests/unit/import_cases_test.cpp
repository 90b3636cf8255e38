// Every labelled case of tests/data/logs and tests/data/log_forms against its truth, and the table of all of
// them, which scripts/incidents prints.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "import_cases.hpp"

namespace ringside::backend::test {
namespace {

std::string forms_folder() {
  return std::string(RINGSIDE_SOURCE_DIR) + "/tests/data/log_forms";
}

sim::Diagnosis diagnosis_of(const Truth& truth, const std::string& folder = logs_folder()) {
  const auto files = case_files(truth.name, folder);
  std::vector<NamedText> texts;
  for (const auto& [name, text] : files) texts.push_back({name, text});
  return diagnose_texts(texts).diagnosis;
}

class LabelledCase : public testing::TestWithParam<Truth> {};

TEST_P(LabelledCase, IsJudgedRight) {
  const Truth& truth = GetParam();
  const sim::Diagnosis d = diagnosis_of(truth);
  const Verdict verdict = judge(truth, d);
  EXPECT_TRUE(verdict.kind) << "kind " << sim::to_word(d.kind) << ", truth " << truth.kind;
  EXPECT_TRUE(verdict.culprits) << "culprits " << list_of(d.culprits) << ", truth " << list_of(truth.culprits)
                                << ": " << d.first_cause.what;
  EXPECT_TRUE(verdict.fair);
  EXPECT_TRUE(verdict.nodes) << (d.culprit_nodes.empty() ? "no node" : d.culprit_nodes.front());
  if (!truth.can_tell) {
    EXPECT_NE(d.confidence, sim::Confidence::Certain);
  }
  EXPECT_FALSE(d.next_steps.empty() && d.kind != sim::DiagnosisKind::None);
  EXPECT_FALSE(d.evidence.empty());
}

INSTANTIATE_TEST_SUITE_P(Logs, LabelledCase, testing::ValuesIn(all_truths()), [](const auto& parameter) {
  std::string name = parameter.param.name;
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
});

TEST(MessageForms, EveryFormIsReadRight) {
  const std::vector<Truth> truths = all_truths(forms_folder());
  ASSERT_GE(truths.size(), 200U);
  for (const Truth& truth : truths) {
    const sim::Diagnosis d = diagnosis_of(truth, forms_folder());
    const Verdict verdict = judge(truth, d);
    EXPECT_TRUE(verdict.right() && verdict.nodes) << truth.name << ": " << sim::to_word(d.kind) << " "
                                                  << list_of(d.culprits) << " " << sim::to_word(d.confidence);
  }
}

/// The table of one set of cases, counted.
class Table {
 public:
  explicit Table(const char* title) {
    std::printf("\n%s\n%-42s %-22s %-14s %-18s %-9s %s\n", title, "case", "kind", "culprits", "nodes", "says",
                "right");
  }
  void add(const Truth& truth, const sim::Diagnosis& d) {
    const Verdict verdict = judge(truth, d);
    std::string hosts;
    for (const std::string& host : d.culprit_nodes) hosts += (hosts.empty() ? "" : ",") + host;
    std::printf("%-42s %-22s %-14s %-18s %-9s %s%s%s%s\n", truth.name.c_str(),
                std::string(sim::to_word(d.kind)).c_str(), list_of(d.culprits).c_str(),
                hosts.empty() ? "-" : hosts.c_str(), std::string(sim::to_word(d.confidence)).c_str(),
                verdict.right() ? "right" : "WRONG", verdict.kind ? "" : (" kind: " + truth.kind).c_str(),
                verdict.culprits ? "" : (" culprits: " + list_of(truth.culprits)).c_str(),
                verdict.nodes ? "" : " nodes");
    ++cases_;
    right_ += verdict.right() ? 1 : 0;
    kinds_ += verdict.kind ? 1 : 0;
    culprits_ += verdict.culprits ? 1 : 0;
    nodes_ += verdict.nodes ? 1 : 0;
    unfair_ += verdict.fair ? 0 : 1;
    told_ += truth.can_tell ? 1 : 0;
  }
  /// The sum; gives the innocents accused with certainty.
  int close() const {
    std::printf(
        "%d cases, of which %d can be told: right %d, kind %d, culprits %d, nodes %d, innocents accused with "
        "certainty %d\n",
        cases_, told_, right_, kinds_, culprits_, nodes_, unfair_);
    return unfair_;
  }

 private:
  int cases_ = 0, told_ = 0, right_ = 0, kinds_ = 0, culprits_ = 0, nodes_ = 0, unfair_ = 0;
};

TEST(LabelledCases, Table) {
  const auto texts_table = [](const char* title, const std::string& folder) {
    Table table(title);
    for (const Truth& truth : all_truths(folder)) table.add(truth, diagnosis_of(truth, folder));
    EXPECT_EQ(table.close(), 0);
  };
  texts_table("Incidents, whole logs (tests/data/logs)", logs_folder());
  texts_table("Message forms, a few lines each (tests/data/log_forms)", forms_folder());
  const char* dumps = std::getenv("RINGSIDE_FR_DUMPS");
  if (dumps == nullptr) {
    std::printf("\nFlight Recorder dumps of real jobs: RINGSIDE_FR_DUMPS is not set, none judged\n");
    return;
  }
  Table table("Flight Recorder dumps of real jobs (RINGSIDE_FR_DUMPS)");
  for (const Truth& truth : all_truths(dumps)) {
    DiagnoseInput input;
    for (const auto& entry : std::filesystem::directory_iterator(std::string(dumps) + "/" + truth.name))
      if (entry.path().filename() != "truth.toml") input.paths.push_back(entry.path().string());
    const auto incident = diagnose_paths(input);
    ASSERT_TRUE(incident) << truth.name;
    table.add(truth, incident->diagnosis);
    EXPECT_EQ(incident->diagnosis.culprits, truth.culprits) << truth.name;
  }
  EXPECT_EQ(table.close(), 0);
}

}  // namespace
}  // namespace ringside::backend::test
