// The labelled cases of tests/data/logs: reading a truth, judging a Diagnosis against it. Shared by the table
// test and the tests of changed copies.
#pragma once

#include <string>
#include <vector>

#include "backend/import/diagnose.hpp"

namespace ringside::backend::test {

struct Truth {
  std::string name;
  std::string kind;
  std::vector<std::string> also_ok;
  std::vector<int> culprits;
  std::vector<std::string> culprit_nodes;
  std::vector<int> victims;
  std::int64_t world_size = 0;
  bool can_tell = false;
  bool judge_nodes = true;  // false: the truth says nothing about nodes
  bool judge_culprits = true;
};

struct Verdict {
  bool kind = false;      // kind or one of also_ok
  bool culprits = false;  // exactly the guilty ranks; when the log cannot tell: nobody as certain
  bool nodes = false;
  bool fair = false;  // no innocent is called guilty with "certain"
  bool right() const { return kind && culprits && fair; }
};

std::string logs_folder();
/// The cases of tests/data/logs, or of another folder of the same layout.
std::vector<Truth> all_truths(const std::string& folder = logs_folder());
Truth read_truth(const std::string& folder);
Verdict judge(const Truth& truth, const sim::Diagnosis& diagnosis);
/// All files of a case, unpacked, in natural order, without truth.toml.
std::vector<std::pair<std::string, std::string>> case_files(const std::string& name,
                                                            const std::string& folder = logs_folder());
std::string list_of(const std::vector<int>& ranks);

}  // namespace ringside::backend::test
