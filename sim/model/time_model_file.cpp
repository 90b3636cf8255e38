// assets/presets.toml: the fitted constants and their measured errors, as text both ways.
#include <cstddef>
#include <string>

#include "sim/base/text.hpp"
#include "sim/base/toml.hpp"
#include "sim/model/time_model.hpp"

namespace ringside::sim {
namespace {

constexpr std::array<std::string_view, kSizeBands> kBandKeys = {"below_64KiB", "below_16MiB", "below_1GiB",
                                                                "from_1GiB"};

class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}

  void fail(std::string what, const toml::node* at, std::string legal = {}) {
    if (failed_) return;
    failed_ = true;
    error_.what = std::move(what);
    error_.file = file_;
    error_.legal = std::move(legal);
    error_.hint = "write the file anew with ringside-fit";
    if (at == nullptr) return;
    error_.line = static_cast<int>(at->source().begin.line);
    error_.column = static_cast<int>(at->source().begin.column);
  }

  const toml::table* table(const toml::table* parent, std::string_view key) {
    const toml::node* node = parent == nullptr ? nullptr : parent->get(key);
    const toml::table* found = node == nullptr ? nullptr : node->as_table();
    if (found == nullptr) fail("no table \"" + std::string(key) + "\"", node != nullptr ? node : parent);
    return found;
  }

  /// A number within [low, high]; the value stays as it was after an error.
  void number(const toml::table* parent, std::string_view key, double low, double high, double& value) {
    const toml::node* node = parent == nullptr ? nullptr : parent->get(key);
    const auto read = node == nullptr ? std::optional<double>{} : node->value<double>();
    if (!read || !(*read >= low && *read <= high)) {
      std::string legal = "a number from ";
      append_double(legal, low);
      append_double(legal += " to ", high);
      fail("\"" + std::string(key) + "\" is missing or out of range", node != nullptr ? node : parent, legal);
      return;
    }
    value = *read;
  }

  BandErrors bands(const toml::table* parent, std::string_view key) {
    BandErrors errors;
    const toml::table* found = table(parent, key);
    for (std::size_t band = 0; found != nullptr && band < kSizeBands; ++band) {
      if (!found->contains(kBandKeys[band])) continue;
      double value = 0;
      number(found, kBandKeys[band], 0, 1000, value);
      errors[band] = value;
    }
    return errors;
  }

  FittedPreset preset(std::string_view name, const toml::node& node) {
    FittedPreset fitted;
    fitted.name = name;
    const toml::table* parent = node.as_table();
    if (parent == nullptr) fail("a preset must be a table", &node);
    if (parent == nullptr) return fitted;
    if (!find_preset(name))
      fail("unknown preset \"" + escape_for_display(name) + "\"", &node, preset_names());
    const toml::node* list = parent->get("tables");
    const toml::array* tables = list == nullptr ? nullptr : list->as_array();
    if (tables == nullptr) fail("a preset needs its list of tables", &node);
    for (std::size_t i = 0; tables != nullptr && i < tables->size(); ++i) {
      const auto table_name = tables->get(i)->value<std::string>();
      if (table_name) fitted.tables.push_back(*table_name);
      if (!table_name) fail("a table's name must be a string", tables->get(i));
    }
    fitted.error = bands(parent, "error");
    return fitted;
  }

  bool failed() const { return failed_; }
  const Error& error() const { return error_; }

 private:
  std::string file_;
  bool failed_ = false;
  Error error_;
};

void append_field(std::string& out, std::string_view key, double value) {
  append_double(out.append(key).append(" = "), value);
  out += '\n';
}

void append_bands(std::string& out, std::string_view key, const BandErrors& errors) {
  out.append(key).append(" = {");
  bool first = true;
  for (std::size_t band = 0; band < kSizeBands; ++band) {
    if (!errors[band]) continue;
    out.append(first ? " " : ", ").append(kBandKeys[band]).append(" = ");
    append_double(out, *errors[band]);
    first = false;
  }
  out += first ? "}\n" : " }\n";
}

void read_constants(Reader& reader, const toml::table& root, ModelConstants& constants) {
  const toml::table* ramp = reader.table(&root, "ramp");
  reader.number(ramp, "link_us", 0, 1000, constants.link_ramp_us);
  const toml::table* links = reader.table(&root, "link");
  for (std::size_t i = 0; i < kLinkClasses; ++i) {
    const toml::table* link = reader.table(links, to_word(static_cast<LinkClass>(i)));
    reader.number(link, "hop_us", 0, 1000, constants.links[i].hop_us);
    reader.number(link, "efficiency", 0.1, 10, constants.links[i].efficiency);
    reader.number(link, "switch_efficiency", 0.1, 10, constants.links[i].switch_efficiency);
  }
  const toml::table* nics = reader.table(&root, "nic");
  for (std::size_t i = 0; i < kNicClasses; ++i) {
    const toml::table* nic = reader.table(nics, to_word(static_cast<NicClass>(i)));
    reader.number(nic, "hop_us", 0, 1000, constants.nics[i].hop_us);
    reader.number(nic, "ramp_us", 0, 1000, constants.nics[i].ramp_us);
    reader.number(nic, "efficiency", 0.1, 10, constants.nics[i].efficiency);
  }
}

}  // namespace

Result<TimeModel> parse_time_model(std::string_view text, std::string_view file_name) {
  const auto root = parse_toml(text, file_name);
  if (!root) return root.error();
  Reader reader(file_name);
  double format = 0;
  reader.number(&*root, "format", 1, 1, format);
  TimeModel model;
  read_constants(reader, *root, model.constants);
  const toml::table* error = reader.table(&*root, "error");
  model.error = reader.bands(error, "model");
  model.tuner_error = reader.bands(error, "nccl_formula");
  if (const toml::table* presets = reader.table(&*root, "preset")) {
    for (const Preset& known : builtin_presets()) {  // in the project's order, whatever the file's
      if (const toml::node* node = presets->get(known.name))
        model.presets.push_back(reader.preset(known.name, *node));
    }
    for (const auto& [key, node] : *presets)
      if (!find_preset(key.str())) reader.preset(key.str(), node);
  }
  if (reader.failed()) return reader.error();
  return model;
}

std::string time_model_toml(const TimeModel& model) {
  std::string out =
      "# The time model's constants (docs/time-model.md). Written by ringside-fit from "
      "tests/data/nccl-tests.\n"
      "# Errors: median absolute error in percent on machines that the constants were not fitted to.\nformat "
      "= 1\n\n"
      "[ramp]\n";
  append_field(out, "link_us", model.constants.link_ramp_us);
  for (std::size_t i = 0; i < kLinkClasses; ++i) {
    out.append("\n[link.").append(to_word(static_cast<LinkClass>(i))).append("]\n");
    append_field(out, "hop_us", model.constants.links[i].hop_us);
    append_field(out, "efficiency", model.constants.links[i].efficiency);
    append_field(out, "switch_efficiency", model.constants.links[i].switch_efficiency);
  }
  for (std::size_t i = 0; i < kNicClasses; ++i) {
    out.append("\n[nic.").append(to_word(static_cast<NicClass>(i))).append("]\n");
    append_field(out, "hop_us", model.constants.nics[i].hop_us);
    append_field(out, "ramp_us", model.constants.nics[i].ramp_us);
    append_field(out, "efficiency", model.constants.nics[i].efficiency);
  }
  out += "\n[error]\n";
  append_bands(out, "model", model.error);
  append_bands(out, "nccl_formula", model.tuner_error);
  if (model.presets.empty()) out += "\n[preset]\n";
  for (const FittedPreset& preset : model.presets) {
    out.append("\n[preset.").append(preset.name).append("]\ntables = [");
    for (std::size_t i = 0; i < preset.tables.size(); ++i) {
      if (i > 0) out += ", ";
      append_json_string(out, preset.tables[i]);
    }
    out += "]\n";
    append_bands(out, "error", preset.error);
  }
  return out;
}

}  // namespace ringside::sim
