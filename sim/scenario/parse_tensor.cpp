// [tensor]: the shape, and where the numbers come from.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "sim/base/nearest.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/text.hpp"
#include "sim/scenario/parse_sections.hpp"
#include "sim/scenario/words.hpp"
#include "sim/tensor/npy.hpp"

namespace ringside::sim {
namespace {

constexpr std::string_view kValuesLegal =
    "\"index\", \"ones\", \"none\", one list a rank such as [[2], [4]], { file = \"rank{rank}.npy\" } or { "
    "random = "
    "\"normal\" }";

std::string number_text(std::int64_t value) {
  std::string out;
  append_int(out, value);
  return out;
}

/// Why so many numbers cannot be held, or nothing.
std::optional<Error> too_many_numbers(const Scenario& scenario) {
  const std::int64_t world = scenario.world_size();
  Error error;
  if (world > kMaxRanksWithNumbers) {
    error.what = number_text(world) + " ranks are too many for real numbers";
    error.legal = "up to 1024 ranks with numbers, up to 1048576 with values = \"none\"";
    return error;
  }
  const std::int64_t rank_bytes = scenario.tensor.shape.count() * size_of(scenario.tensor.dtype);
  if (rank_bytes <= kMaxNumberBytes / world) return std::nullopt;
  error.what =
      "the numbers of " + number_text(world) + " ranks × " + format_bytes(rank_bytes) + " do not fit";
  error.legal = "up to 4 GiB for all ranks together; any size with values = \"none\"";
  return error;
}

/// Reads the numbers of one rank from nested lists.
class ListReader {
 public:
  ListReader(ReadContext& context, const Scenario& scenario, std::int64_t rank)
      : context_(context), spec_(scenario.tensor), rank_(rank) {}

  std::shared_ptr<const Tensor> read(const toml::node& node) {
    const toml::array* list = node.as_array();
    if (list == nullptr) {
      fail(node, "must be a list of numbers, not " + std::string(type_name(node)),
           "one list a rank, such as [[2], [4]]");
      return nullptr;
    }
    // A shape may be huge and its list short: memory only for numbers that are there. The walk then finds
    // where they are missing.
    storing_ = count_numbers(*list) >= spec_.shape.count();
    if (storing_) tensor_ = Tensor(spec_.dtype, spec_.shape);
    const bool flat = list->empty() || !list->front().is_array();
    if (flat) {
      read_numbers(*list, spec_.shape.count(), "the shape " + spec_.shape.text() + " has");
    } else {
      read_nested(*list, 0);
    }
    return context_.error ? nullptr : std::make_shared<const Tensor>(std::move(tensor_));
  }

 private:
  static std::int64_t count_numbers(const toml::array& list) {
    std::int64_t count = 0;
    for (const toml::node& element : list) {
      const toml::array* inner = element.as_array();
      count += inner == nullptr ? 1 : count_numbers(*inner);
    }
    return count;
  }

  void fail(const toml::node& node, std::string what, std::string legal = {}) {
    Error error;
    error.what = "values of rank " + number_text(rank_) + ": " + std::move(what);
    error.text = context_.quote(node.source());
    error.legal = std::move(legal);
    context_.fail(std::move(error), node.source());
  }

  void wrong_length(const toml::array& list, std::int64_t wanted, std::string_view who) {
    fail(list, number_text(static_cast<std::int64_t>(list.size())) +
                   (list.size() == 1 ? " value" : " values") + ", but " + std::string(who) + " " +
                   number_text(wanted));
  }

  void read_nested(const toml::array& list, std::size_t depth) {
    const auto& extents = spec_.shape.extents;
    if (context_.error) return;
    if (depth >= extents.size())
      return fail(list, "the lists are nested deeper than the shape " + spec_.shape.text());
    const std::int64_t wanted = extents[depth];
    const std::string who = "place " + number_text(static_cast<std::int64_t>(depth)) + " of the shape " +
                            spec_.shape.text() + " has";
    if (depth + 1 == extents.size()) return read_numbers(list, wanted, who);
    if (static_cast<std::int64_t>(list.size()) != wanted) return wrong_length(list, wanted, who);
    for (const toml::node& element : list) {
      if (const toml::array* inner = element.as_array()) {
        read_nested(*inner, depth + 1);
      } else {
        fail(element, "the lists are ragged: a list is needed here, not " + std::string(type_name(element)));
      }
    }
  }

  void read_numbers(const toml::array& list, std::int64_t wanted, std::string_view who) {
    if (static_cast<std::int64_t>(list.size()) != wanted) return wrong_length(list, wanted, who);
    for (const toml::node& element : list) {
      if (context_.error) return;
      read_number(element);
    }
  }

  void read_number(const toml::node& node) {
    if (const auto* integer = node.as_integer()) return read_integer(node, integer->get());
    if (const auto* floating = node.as_floating_point()) return read_floating(node, floating->get());
    fail(node, "a number is needed, not " + std::string(type_name(node)),
         is_floating(spec_.dtype) ? "2, 0.5, -1e30, inf, -inf, nan" : "whole numbers");
  }

  void read_integer(const toml::node& node, std::int64_t value) {
    if (is_floating(spec_.dtype)) return read_floating(node, static_cast<double>(value));
    const bool narrow = spec_.dtype == DType::Int32;
    if (narrow && (value < std::numeric_limits<std::int32_t>::min() ||
                   value > std::numeric_limits<std::int32_t>::max()))
      return fail(node, "the number does not fit int32", "-2147483648 … 2147483647");
    const std::uint64_t mask = narrow ? 0xFFFFFFFFULL : ~0ULL;
    store(Scalar{spec_.dtype, static_cast<std::uint64_t>(value) & mask});
  }

  void read_floating(const toml::node& node, double value) {
    if (!is_floating(spec_.dtype))
      return fail(node, std::string(to_word(spec_.dtype)) + " takes whole numbers only", "whole numbers");
    const Scalar scalar = make_scalar(spec_.dtype, value);
    if (is_inf(scalar) && std::isfinite(value))
      return fail(node, "the number does not fit " + std::string(to_word(spec_.dtype)),
                  "write inf or -inf for infinity");
    store(scalar);
  }

  void store(Scalar scalar) {
    if (storing_) tensor_.set(next_++, scalar);
  }

  ReadContext& context_;
  const TensorSpec& spec_;
  std::int64_t rank_;
  Tensor tensor_;
  std::int64_t next_ = 0;
  bool storing_ = false;
};

void read_lists(TableReader& table, const toml::array& ranks, Scenario& scenario) {
  const auto world = static_cast<std::size_t>(scenario.world_size());
  scenario.tensor.values = ValueSource::List;
  if (ranks.size() != world)
    return table.fail("values",
                      "values has " + std::to_string(ranks.size()) +
                          (ranks.size() == 1 ? " list" : " lists") + " for " + std::to_string(world) +
                          (world == 1 ? " rank" : " ranks"),
                      "one list a rank");
  std::int64_t rank = 0;
  for (const toml::node& node : ranks) {
    auto tensor = ListReader(table.context(), scenario, rank++).read(node);
    if (!tensor) return;
    scenario.tensor.list.push_back(std::move(tensor));
  }
}

/// "grads/rank{rank}.npy" → "grads/rank3.npy".
std::string path_of_rank(std::string_view pattern, std::int64_t rank) {
  constexpr std::string_view kPlace = "{rank}";
  std::string out;
  for (std::size_t at = 0; at < pattern.size();) {
    if (pattern.substr(at, kPlace.size()) == kPlace) {
      append_int(out, rank);
      at += kPlace.size();
    } else {
      out += pattern[at++];
    }
  }
  return out;
}

/// Reads the files of all ranks; the first decides shape and dtype unless the scenario does.
class FileReader {
 public:
  FileReader(TableReader& tensor_table, TableReader& values, const FileLoader& load, Scenario& scenario)
      : values_(values), load_(load), scenario_(scenario), spec_(scenario.tensor) {
    shape_given_ = tensor_table.has("shape");
    dtype_given_ = tensor_table.has("dtype");
  }

  void read() {
    spec_.values = ValueSource::File;
    if (!load_) return values_.fail("file", "files cannot be opened here", "a scenario without files");
    for (std::int64_t rank = 0; rank < scenario_.world_size(); ++rank) {
      auto tensor = read_rank(rank);
      if (!tensor) return;
      spec_.list.push_back(std::move(tensor));
    }
  }

 private:
  /// An error of a file, with the scenario's place as a hint.
  std::shared_ptr<const Tensor> fail(Error error) {
    const auto where = values_.where("file");
    const std::string place = "It is named in " + std::string(values_.context().file) + " line " +
                              std::to_string(where.begin.line) + ", column " +
                              std::to_string(where.begin.column);
    error.hint = error.hint.empty() ? place : error.hint + ". " + place;
    values_.context().error = std::move(error);
    return nullptr;
  }

  std::shared_ptr<const Tensor> read_rank(std::int64_t rank) {
    const std::string path = path_of_rank(spec_.file_pattern, rank);
    const auto bytes = load_(path);
    if (!bytes) return fail(bytes.error());
    const auto span = std::as_bytes(std::span(bytes->data(), bytes->size()));
    auto tensor = read_npy(span, path, dtype_given_ && spec_.dtype == DType::BFloat16);
    if (!tensor) return fail(tensor.error());
    if (auto problem = compare(*tensor, path, rank)) return fail(std::move(*problem));
    return std::make_shared<const Tensor>(std::move(*tensor));
  }

  std::optional<Error> compare(const Tensor& tensor, const std::string& path, std::int64_t rank) {
    Error error;
    error.file = path;
    const std::string who = rank > 0 && !shape_given_ ? "rank 0's file" : "the scenario";
    if ((rank > 0 || shape_given_) && tensor.shape != spec_.shape) {
      error.what = "the shape is " + tensor.shape.text() + ", but " + who + " has " + spec_.shape.text();
      error.legal = "the same shape on every rank";
      return error;
    }
    if ((rank > 0 || dtype_given_) && tensor.dtype != spec_.dtype) {
      error.what = "the dtype is " + std::string(to_word(tensor.dtype)) + ", but " +
                   (dtype_given_ ? "the scenario" : "rank 0's file") + " has " +
                   std::string(to_word(spec_.dtype));
      error.legal = "the same dtype on every rank; nothing is converted silently";
      return error;
    }
    spec_.shape = tensor.shape;
    spec_.dtype = tensor.dtype;
    auto problem = too_many_numbers(scenario_);
    if (problem) problem->file = path;
    return problem;
  }

  TableReader& values_;
  const FileLoader& load_;
  Scenario& scenario_;
  TensorSpec& spec_;
  bool shape_given_ = false, dtype_given_ = false;
};

void read_files(TableReader& table, TableReader& values, const FileLoader& load, Scenario& scenario) {
  const auto pattern = values.string("file");
  if (!pattern) return;
  if (pattern->find("{rank}") == std::string::npos && scenario.world_size() > 1)
    return values.fail("file", "the path names one file for all ranks", "a path with {rank} in it",
                       "a rank's own number takes the place of {rank}");
  if (pattern->find('\0') != std::string::npos) return values.fail("file", "the path holds a NUL character");
  scenario.tensor.file_pattern = *pattern;
  FileReader(table, values, load, scenario).read();
}

void read_values_table(TableReader& table, const toml::table& node, const FileLoader& load,
                       Scenario& scenario) {
  TableReader values(table.context(), &node, "tensor.values");
  if (table.context().error) return;
  if (values.has("file") == values.has("random"))
    return table.fail("values", "values takes either file or random", std::string(kValuesLegal));
  if (values.has("file")) return read_files(table, values, load, scenario);
  if (values.word_index("random", {"normal"})) scenario.tensor.values = ValueSource::RandomNormal;
}

void read_values(TableReader& table, const FileLoader& load, Scenario& scenario) {
  const toml::node* node = table.node("values");
  if (node == nullptr) return;
  if (const auto* word = node->as_string()) {
    if (word->get() == "index") return;
    if (word->get() == "none" || word->get() == "ones") {
      scenario.tensor.values = word->get() == "none" ? ValueSource::None : ValueSource::Ones;
      return;
    }
    return table.fail("values", "unknown values \"" + escape_for_display(word->get().substr(0, 64)) + "\"",
                      std::string(kValuesLegal), did_you_mean(word->get(), {"index", "ones", "none"}));
  }
  if (const auto* list = node->as_array()) return read_lists(table, *list, scenario);
  if (const auto* inner = node->as_table()) return read_values_table(table, *inner, load, scenario);
  table.fail("values", "values must not be " + std::string(type_name(*node)), std::string(kValuesLegal));
}

bool has_files(const TableReader& table) {
  const toml::node* node = table.node("values");
  const auto* inner = node == nullptr ? nullptr : node->as_table();
  return inner != nullptr && inner->contains("file");
}

}  // namespace

std::optional<Shape> read_shape(TableReader& table, std::string_view key) {
  constexpr std::string_view kLegal = "up to 16 extents from 1, such as [4] or [4096, 4096] or [\"25M\"]";
  const toml::node* node = table.node(key);
  if (node == nullptr) return std::nullopt;
  const auto refuse = [&](std::string what) {
    table.fail(key, std::string(key) + what, std::string(kLegal));
    return std::nullopt;
  };
  const toml::array* list = node->as_array();
  if (list == nullptr) return refuse(" must be a list of extents, not " + std::string(type_name(*node)));
  std::vector<std::int64_t> extents;
  for (const toml::node& element : *list) {
    if (const auto* integer = element.as_integer()) {
      extents.push_back(integer->get());
    } else if (const auto* text = element.as_string()) {
      const auto size = parse_size(text->get());
      if (!size) return refuse(": " + size.error().what);
      extents.push_back(*size);
    } else {
      return refuse(": an extent must be an integer, not " + std::string(type_name(element)));
    }
  }
  auto shape = checked_shape(std::move(extents));
  if (shape) return std::move(*shape);
  table.fail(key, std::string(key) + ": " + shape.error().what,
             shape.error().legal.empty() ? std::string(kLegal) : shape.error().legal);
  return std::nullopt;
}

void read_tensor(ReadContext& context, const toml::table* node, const FileLoader& load, Scenario& scenario) {
  TableReader table(context, node, "tensor");
  if (context.error) return;
  const bool network = scenario.training.network.enabled;
  if (network && (table.has("shape") || table.has("values")))
    return table.fail(table.has("shape") ? "shape" : "values",
                      "the tensor is the network's gradient: it has its own shape and numbers",
                      "[tensor] dtype only, or no [training.network]");
  if (const auto dtype = table.word("dtype", kDTypeWords)) scenario.tensor.dtype = *dtype;
  if (network && !is_floating(scenario.tensor.dtype))
    return table.fail("dtype", "a network trains on a floating dtype", "float64, float32, float16, bfloat16");
  if (auto shape = read_shape(table, "shape")) scenario.tensor.shape = std::move(*shape);
  if (context.error) return;
  if (!table.has("shape") && !has_files(table) && !network)
    return table.fail("shape", "[tensor] needs a shape", "a list of extents, such as [4] or [4096, 4096]");
  const bool none = table.node("values") != nullptr && table.node("values")->is_string() &&
                    table.node("values")->as_string()->get() == "none";
  if (!none && !has_files(table)) {
    if (auto problem = too_many_numbers(scenario)) {
      const bool ranks = scenario.world_size() > kMaxRanksWithNumbers;
      problem->text = context.quote(table.where(ranks ? "values" : "shape"));
      return context.fail(std::move(*problem), table.where(ranks ? "values" : "shape"));
    }
  }
  read_values(table, load, scenario);
}

}  // namespace ringside::sim
