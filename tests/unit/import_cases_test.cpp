// Every labelled case of tests/data/logs against its truth, and the table of all of them:
//   build/dev/bin/import_cases_test --gtest_filter='*Table*'
#include <gtest/gtest.h>

#include <cstdio>

#include "import_cases.hpp"

namespace ringside::backend::test {
namespace {

sim::Diagnosis diagnosis_of(const Truth& truth) {
  const auto files = case_files(truth.name);
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
  const std::string folder = std::string(RINGSIDE_SOURCE_DIR) + "/tests/data/log_forms";
  const std::vector<Truth> truths = all_truths(folder);
  ASSERT_GE(truths.size(), 100U);
  for (const Truth& truth : truths) {
    const auto files = case_files(truth.name, folder);
    std::vector<NamedText> texts;
    for (const auto& [name, text] : files) texts.push_back({name, text});
    const sim::Diagnosis d = diagnose_texts(texts).diagnosis;
    const Verdict verdict = judge(truth, d);
    EXPECT_TRUE(verdict.right() && verdict.nodes) << truth.name << ": " << sim::to_word(d.kind) << " "
                                                  << list_of(d.culprits) << " " << sim::to_word(d.confidence);
  }
}

TEST(LabelledCases, Table) {
  int right = 0;
  int kinds = 0;
  int culprits = 0;
  int nodes = 0;
  int unfair = 0;
  const std::vector<Truth> truths = all_truths();
  ASSERT_GE(truths.size(), 80U);
  std::printf("%-42s %-22s %-14s %-18s %-9s %s\n", "case", "kind", "culprits", "nodes", "says", "right");
  for (const Truth& truth : truths) {
    const sim::Diagnosis d = diagnosis_of(truth);
    const Verdict verdict = judge(truth, d);
    std::string hosts;
    for (const std::string& host : d.culprit_nodes) hosts += (hosts.empty() ? "" : ",") + host;
    std::printf("%-42s %-22s %-14s %-18s %-9s %s%s%s%s\n", truth.name.c_str(),
                std::string(sim::to_word(d.kind)).c_str(), list_of(d.culprits).c_str(),
                hosts.empty() ? "-" : hosts.c_str(), std::string(sim::to_word(d.confidence)).c_str(),
                verdict.right() ? "right" : "WRONG", verdict.kind ? "" : (" kind: " + truth.kind).c_str(),
                verdict.culprits ? "" : (" culprits: " + list_of(truth.culprits)).c_str(),
                verdict.nodes ? "" : " nodes");
    right += verdict.right() ? 1 : 0;
    kinds += verdict.kind ? 1 : 0;
    culprits += verdict.culprits ? 1 : 0;
    nodes += verdict.nodes ? 1 : 0;
    unfair += verdict.fair ? 0 : 1;
  }
  std::printf("%zu cases: right %d, kind %d, culprits %d, nodes %d, innocents accused with certainty %d\n",
              truths.size(), right, kinds, culprits, nodes, unfair);
  EXPECT_EQ(unfair, 0);
}

}  // namespace
}  // namespace ringside::backend::test
