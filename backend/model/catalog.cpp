// index.toml of a folder of tables: which preset and machine each belongs to.
#include <fstream>
#include <iterator>

#include "backend/model/fit.hpp"
#include "sim/base/toml.hpp"

namespace ringside::backend {
namespace {

sim::Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    sim::Error error;
    error.what = "cannot open the file";
    error.file = path;
    return error;
  }
  return std::string(std::istreambuf_iterator<char>(file), {});
}

sim::Error bad_entry(const std::string& path, const toml::node& node, std::string what) {
  sim::Error error;
  error.what = std::move(what);
  error.file = path;
  error.line = static_cast<int>(node.source().begin.line);
  error.column = static_cast<int>(node.source().begin.column);
  return error;
}

sim::Result<CatalogTable> read_entry(const std::string& folder, const std::string& path,
                                     const toml::node& node) {
  const toml::table* entry = node.as_table();
  if (entry == nullptr) return bad_entry(path, node, "[[table]] expected");
  CatalogTable table;
  const auto text = [&](std::string_view key) { return (*entry)[key].value_or(std::string{}); };
  table.file = text("file");
  table.machine = text("machine");
  const auto preset = sim::find_preset(text("preset"));
  if (!preset) return bad_entry(path, node, preset.error().message());
  table.preset = *preset;
  const std::string use = text("use");
  if (use != "fit" && use != "sick" && use != "none")
    return bad_entry(path, node, "use must be fit, sick or none");
  table.use = use == "fit" ? TableUse::Fit : use == "sick" ? TableUse::Sick : TableUse::None;
  if (table.file.empty() || table.machine.empty())
    return bad_entry(path, node, "file and machine are needed");
  if (const toml::array* causes = (*entry)["causes"].as_array())
    for (const toml::node& cause : *causes) table.causes.push_back(cause.value_or(std::string{}));
  const auto content = read_file(folder + "/" + table.file);
  if (!content) return content.error();
  const auto measured = read_nccl_tests(*content, table.file);
  if (!measured) return measured.error();
  table.table = *measured;
  if (table.table.nodes == 0 || table.table.gpus_per_node == 0)
    return bad_entry(path, node, table.file + " does not say nodes= and gpus_per_node=");
  return table;
}

}  // namespace

sim::Result<std::vector<CatalogTable>> read_catalog(const std::string& folder) {
  const std::string path = folder + "/index.toml";
  const auto text = read_file(path);
  if (!text) return text.error();
  const auto root = sim::parse_toml(*text, path);
  if (!root) return root.error();
  std::vector<CatalogTable> catalog;
  const toml::array* tables = root->get_as<toml::array>("table");
  for (std::size_t i = 0; tables != nullptr && i < tables->size(); ++i) {
    auto entry = read_entry(folder, path, *tables->get(i));
    if (!entry) return entry.error();
    catalog.push_back(std::move(*entry));
  }
  return catalog;
}

}  // namespace ringside::backend
