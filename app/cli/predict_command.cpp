// `ringside-cli predict` and `compare`: the options of the time model (predict.hpp runs it).
#include <memory>

#include "app/cli/assets.hpp"
#include "app/cli/command.hpp"
#include "app/cli/predict.hpp"
#include "backend/files.hpp"
#include "sim/base/nearest.hpp"
#include "sim/model/preset.hpp"

namespace ringside::app {
namespace {

constexpr std::int64_t kMaxTableBytes = std::int64_t{16} << 20;

template <class Options>
struct ModelOptions {
  Options options;
  std::string assets, size, table, collective = "all_reduce";
};

sim::Result<sim::TimeModel> load_model(const std::string& assets) {
  const auto text = read_asset(assets, "presets.toml");
  if (!text) return text.error();
  return sim::parse_time_model(*text, "presets.toml");
}

/// A preset's name has neither: it is a file that `measure` wrote.
bool is_file(const std::string& preset) {
  return preset.find('/') != std::string::npos || preset.ends_with(".toml");
}

int predict(ModelOptions<PredictOptions>& given) {
  const bool json = given.options.json;
  const auto sizes = parse_size_range(given.size);
  if (!sizes) return report(sizes.error(), json, kBadInput);
  given.options.sizes = *sizes;
  const auto collective = sim::collective_from(given.collective);
  if (!collective) {
    const std::vector<std::string_view> words{"all_reduce", "reduce_scatter", "all_gather",
                                              "broadcast",  "reduce",         "all_to_all"};
    sim::Error error;
    error.what = "unknown collective \"" + given.collective + "\"";
    error.legal = sim::join_words(words);
    error.hint = sim::did_you_mean(given.collective, words);
    return report(error, json, kBadInput);
  }
  given.options.collective = *collective;
  if (is_file(given.options.preset)) {
    const auto machine = load_machine(given.options.preset);
    if (!machine) return report(machine.error(), json, kBadInput);
    const auto text = run_predict_measured(given.options, *machine);
    if (!text) return report(text.error(), json, kBadInput);
    return print(*text) ? kDone : kCouldNot;
  }
  const auto model = load_model(given.assets);
  if (!model) return report(model.error(), json, kCouldNot);
  const auto text = run_predict(given.options, *model);
  if (!text) return report(text.error(), json, kBadInput);
  return print(*text) ? kDone : kCouldNot;
}

int compare(ModelOptions<CompareOptions>& given) {
  const bool json = given.options.json;
  const auto table = backend::read_file(given.table, kMaxTableBytes);
  if (!table) return report(table.error(), json, kBadInput);
  given.options.table_name = given.table;
  const auto model = load_model(given.assets);
  if (!model) return report(model.error(), json, kCouldNot);
  const auto text = run_compare(given.options, *table, *model);
  if (!text) return report(text.error(), json, kBadInput);
  return print(*text) ? kDone : kCouldNot;
}

template <class Options>
void common_options(CLI::App* command, ModelOptions<Options>& given, const std::string& more = {}) {
  command->add_option("--preset", given.options.preset, "Kind of node: " + sim::preset_names() + more)
      ->required();
  command->add_option("--nodes", given.options.nodes, "Number of nodes");
  command->add_option("--gpus-per-node", given.options.gpus_per_node, "GPUs of a node, if not the preset's");
  command->add_option("--assets", given.assets, "Folder that holds presets.toml");
  command->add_flag("--json", given.options.json, "Print one JSON object on stdout and nothing else");
}

}  // namespace

void add_predict(CLI::App& program, ExitCode& exit) {
  auto* command = program.add_subcommand("predict", "How long a collective takes on a kind of cluster");
  const auto given = std::make_shared<ModelOptions<PredictOptions>>();
  common_options(command, *given,
                 "; or a file that measure wrote (then --gpus-per-node is the number of ranks)");
  command->add_option("--size", given->size, "Bytes, such as 64M or 8M..8G (K, M, G are 2^10, 2^20, 2^30)")
      ->required();
  command->add_option("--collective", given->collective, "all_reduce, reduce_scatter, all_gather …")
      ->capture_default_str();
  command->footer("Example:\n  ringside-cli predict --preset dgx-h100 --nodes 4 --size 8M..8G");
  command->callback([given, &exit] { exit.value = predict(*given); });
}

void add_compare(CLI::App& program, ExitCode& exit) {
  auto* command =
      program.add_subcommand("compare", "Compare an nccl-tests table with what the cluster should do");
  const auto given = std::make_shared<ModelOptions<CompareOptions>>();
  common_options(command, *given);
  command->add_option("TABLE", given->table, "What all_reduce_perf printed")->required();
  command->footer("Example:\n  ringside-cli compare --preset dgx-h100 --nodes 2 all_reduce_perf.txt");
  command->callback([given, &exit] { exit.value = compare(*given); });
}

}  // namespace ringside::app
