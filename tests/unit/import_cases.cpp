#include "import_cases.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "backend/import/input.hpp"

namespace ringside::backend::test {

std::string logs_folder() {
  return std::string(RINGSIDE_SOURCE_DIR) + "/tests/data/logs";
}

Truth read_truth(const std::string& folder) {
  const toml::table table = toml::parse_file(folder + "/truth.toml");
  Truth truth;
  truth.name = std::filesystem::path(folder).filename().string();
  truth.kind = table["kind"].value_or(std::string());
  truth.can_tell = table["can_tell"].value_or(false);
  truth.world_size = table["world_size"].value_or(std::int64_t{0});
  const auto strings = [&table](const char* key, std::vector<std::string>& out) {
    if (const toml::array* array = table[key].as_array())
      for (const auto& item : *array) out.push_back(item.value_or(std::string()));
  };
  const auto numbers = [&table](const char* key, std::vector<int>& out) {
    if (const toml::array* array = table[key].as_array())
      for (const auto& item : *array) out.push_back(static_cast<int>(item.value_or(std::int64_t{-1})));
  };
  strings("also_ok", truth.also_ok);
  strings("culprit_nodes", truth.culprit_nodes);
  numbers("culprits", truth.culprits);
  numbers("victims", truth.victims);
  truth.judge_nodes = table.contains("culprit_nodes");
  truth.judge_culprits = !table["any_culprits"].value_or(false);
  return truth;
}

std::vector<Truth> all_truths(const std::string& folder) {
  std::vector<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_directory() && std::filesystem::exists(entry.path() / "truth.toml"))
      folders.push_back(entry.path().string());
  std::sort(folders.begin(), folders.end());
  std::vector<Truth> truths;
  for (const std::string& one : folders) truths.push_back(read_truth(one));
  return truths;
}

Verdict judge(const Truth& truth, const sim::Diagnosis& d) {
  Verdict verdict;
  const std::string kind(sim::to_word(d.kind));
  verdict.kind = kind == truth.kind ||
                 std::find(truth.also_ok.begin(), truth.also_ok.end(), kind) != truth.also_ok.end();
  const bool certain = d.confidence == sim::Confidence::Certain;
  if (truth.can_tell) {
    verdict.culprits = d.culprits == truth.culprits;
    verdict.nodes = std::set<std::string>(d.culprit_nodes.begin(), d.culprit_nodes.end()) ==
                    std::set<std::string>(truth.culprit_nodes.begin(), truth.culprit_nodes.end());
  } else {
    verdict.culprits = !certain || (d.culprits.empty() && d.culprit_nodes.empty());
    verdict.nodes = d.culprit_nodes.empty() || !certain;
  }
  if (!truth.judge_nodes) verdict.nodes = true;
  if (!truth.judge_culprits) verdict.culprits = true;
  verdict.fair = true;
  if (!truth.judge_culprits) return verdict;
  if (certain)
    for (const int rank : d.culprits)
      if (std::find(truth.culprits.begin(), truth.culprits.end(), rank) == truth.culprits.end())
        verdict.fair = false;
  if (certain && !truth.culprit_nodes.empty())
    for (const std::string& node : d.culprit_nodes)
      if (std::find(truth.culprit_nodes.begin(), truth.culprit_nodes.end(), node) ==
          truth.culprit_nodes.end())
        verdict.fair = false;
  return verdict;
}

std::vector<std::pair<std::string, std::string>> case_files(const std::string& name,
                                                            const std::string& folder) {
  const std::vector<std::string> paths = {folder + "/" + name};
  const InputSet set = find_inputs(paths);
  std::vector<std::pair<std::string, std::string>> files;
  for (const InputFile& file : set.files) {
    if (file.name.find("truth.toml") != std::string::npos) continue;
    auto text = read_document(file);
    if (!text) continue;
    std::string plain = file.name;
    if (plain.size() > 3 && plain.substr(plain.size() - 3) == ".gz") plain.resize(plain.size() - 3);
    files.emplace_back(plain, std::move(*text));
  }
  return files;
}

std::string list_of(const std::vector<int>& ranks) {
  std::string text;
  for (const int rank : ranks) text += (text.empty() ? "" : ",") + std::to_string(rank);
  return text.empty() ? "-" : text;
}

}  // namespace ringside::backend::test
