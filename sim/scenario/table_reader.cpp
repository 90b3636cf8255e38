#include "sim/scenario/table_reader.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/nearest.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/text.hpp"
#include "sim/scenario/scenario.hpp"

namespace ringside::sim {
namespace {

std::string range_text(std::int64_t low, std::int64_t high) {
  std::string out;
  append_int(out, low);
  out += " … ";
  append_int(out, high);
  return out;
}

/// The legal keys of a table, with the tables below it that TOML names as keys of it.
std::vector<std::string_view> legal_keys(std::string_view table) {
  std::vector<std::string_view> keys;
  const auto add = [&](std::string_view key) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  };
  for (const KeyInfo& info : scenario_keys()) {
    if (info.table == table) {
      add(info.key);
    } else if (table.empty()) {
      add(info.table.substr(0, info.table.find('.')));
    } else if (info.table.size() > table.size() && info.table.substr(0, table.size()) == table &&
               info.table[table.size()] == '.') {
      add(info.table.substr(table.size() + 1));
    }
  }
  return keys;
}

/// Byte offset of the start of a line (from 1).
std::size_t line_start(std::string_view text, std::uint32_t line) {
  std::size_t at = 0;
  for (std::uint32_t i = 1; i < line; ++i) {
    const std::size_t next = text.find('\n', at);
    if (next == std::string_view::npos) return text.size();
    at = next + 1;
  }
  return at;
}

/// Byte offset of a position: toml++ counts columns in code points, from 1.
std::size_t offset_of(std::string_view text, const toml::source_position& position) {
  std::size_t at = line_start(text, position.line);
  for (std::uint32_t column = 1; column < position.column && at < text.size(); ++column) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
  }
  return at;
}

std::string where_table(std::string_view name) {
  if (name.empty()) return "at the top of the file";
  const bool listed = name == "fault" || name == "link";
  return (listed ? "in [[" : "in [") + std::string(name) + (listed ? "]]" : "]");
}

}  // namespace

void ReadContext::fail(Error problem, const toml::source_region& where) {
  if (error) return;
  problem.file = std::string(file);
  const bool known = where.begin.line != 0;  // a table that is not there has no place
  problem.line = known ? static_cast<int>(where.begin.line) : 1;
  problem.column = known ? static_cast<int>(where.begin.column) : 1;
  error = std::move(problem);
}

std::string ReadContext::quote(const toml::source_region& where) const {
  constexpr std::size_t kLongest = 60;
  if (where.begin.line == 0) return {};
  const std::size_t begin = offset_of(text, where.begin);
  std::size_t end = where.end.line == 0 ? text.size() : offset_of(text, where.end);
  end = std::min({end, text.size(), text.find('\n', begin)});
  if (end <= begin) return {};
  std::string_view part = text.substr(begin, end - begin);
  while (!part.empty() && (part.back() == ' ' || part.back() == '\r' || part.back() == '\t'))
    part.remove_suffix(1);
  if (part.size() <= kLongest) return escape_for_display(part);
  std::size_t cut = kLongest;
  while (cut > 0 && (static_cast<unsigned char>(part[cut]) & 0xC0) == 0x80) --cut;
  return escape_for_display(part.substr(0, cut)) + "…";
}

std::string_view type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a decimal number";
    case toml::node_type::boolean:
      return "true or false";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::table:
      return "a table";
    default:
      return "a date or time";
  }
}

TableReader::TableReader(ReadContext& context, const toml::table* table, std::string_view name)
    : context_(context), table_(table), name_(name) {
  if (table_ == nullptr) return;
  const auto legal = legal_keys(name_);
  for (auto&& [key, value] : *table_) {
    if (std::find(legal.begin(), legal.end(), key.str()) != legal.end()) continue;
    Error error;
    error.text = escape_for_display(key.str().substr(0, 64));
    error.what = "unknown key \"" + error.text + "\" " + where_table(name_);
    error.legal = join_words(legal);
    error.hint = key.str() == "group" && name_.empty() ? "[[group]] is reserved for a later version"
                                                       : did_you_mean(key.str(), legal);
    // A key that opens a table ([colective]) has the table's place, which is its header.
    context_.fail(std::move(error), key.source().begin.line != 0 ? key.source() : value.source());
  }
}

const toml::node* TableReader::node(std::string_view key) const {
  return table_ == nullptr ? nullptr : table_->get(key);
}

toml::source_region TableReader::where(std::string_view key) const {
  if (const toml::node* found = node(key)) return found->source();
  return table_ != nullptr ? table_->source() : toml::source_region{};
}

void TableReader::fail(std::string_view key, std::string what, std::string legal, std::string hint) {
  Error error;
  error.what = std::move(what);
  if (const toml::node* found = node(key)) error.text = context_.quote(found->source());
  error.legal = std::move(legal);
  error.hint = std::move(hint);
  context_.fail(std::move(error), where(key));
}

void TableReader::fail_error(std::string_view key, const Error& error) {
  Error placed = error;
  placed.what = std::string(key) + ": " + placed.what;
  context_.fail(std::move(placed), where(key));
}

void TableReader::wrong_type(std::string_view key, std::string_view wanted, std::string legal) {
  fail(key,
       std::string(key) + " must be " + std::string(wanted) + ", not " + std::string(type_name(*node(key))),
       std::move(legal));
}

std::optional<std::int64_t> TableReader::integer(std::string_view key, std::int64_t low, std::int64_t high) {
  const toml::node* found = node(key);
  if (found == nullptr) return std::nullopt;
  const auto* value = found->as_integer();
  if (value == nullptr) {
    wrong_type(key, "an integer", range_text(low, high));
    return std::nullopt;
  }
  if (value->get() < low || value->get() > high) {
    fail(key, std::string(key) + " is out of range", range_text(low, high));
    return std::nullopt;
  }
  return value->get();
}

std::optional<double> TableReader::number(std::string_view key, double low, double high) {
  const toml::node* found = node(key);
  if (found == nullptr) return std::nullopt;
  std::string legal;
  append_double(legal, low);
  legal += " … ";
  append_double(legal, high);
  const auto value = found->is_number() ? found->value<double>() : std::nullopt;
  if (!value) {
    wrong_type(key, "a number", legal);
    return std::nullopt;
  }
  if (!(*value >= low && *value <= high)) {
    fail(key, std::string(key) + " is out of range", legal);
    return std::nullopt;
  }
  return *value;
}

std::optional<bool> TableReader::boolean(std::string_view key) {
  const toml::node* found = node(key);
  if (found == nullptr) return std::nullopt;
  if (const auto* value = found->as_boolean()) return value->get();
  wrong_type(key, "true or false");
  return std::nullopt;
}

std::optional<std::string> TableReader::string(std::string_view key) {
  const toml::node* found = node(key);
  if (found == nullptr) return std::nullopt;
  if (const auto* value = found->as_string()) return value->get();
  wrong_type(key, "a string");
  return std::nullopt;
}

std::optional<std::int64_t> TableReader::duration(std::string_view key) {
  const toml::node* found = node(key);
  if (found == nullptr) return std::nullopt;
  const auto* text = found->as_string();
  if (text == nullptr) {
    wrong_type(key, "a duration in quotes", "a whole number with ns, us, ms, s, min or h, such as \"30ms\"");
    return std::nullopt;
  }
  const auto value = parse_duration(text->get());
  if (value) return *value;
  fail_error(key, value.error());
  return std::nullopt;
}

std::optional<std::int64_t> TableReader::rate(std::string_view key) {
  const toml::node* found = node(key);
  if (found == nullptr) return std::nullopt;
  const auto* text = found->as_string();
  if (text == nullptr) {
    wrong_type(key, "a rate in quotes", "a number with a unit, such as \"240GB/s\"");
    return std::nullopt;
  }
  const auto value = parse_rate(text->get());
  if (value) return *value;
  fail_error(key, value.error());
  return std::nullopt;
}

std::optional<std::size_t> TableReader::word_index(std::string_view key,
                                                   const std::vector<std::string_view>& words) {
  const toml::node* found = node(key);
  if (found == nullptr) return std::nullopt;
  const auto* text = found->as_string();
  if (text == nullptr) {
    wrong_type(key, "a word in quotes", join_words(words));
    return std::nullopt;
  }
  const auto at = std::find(words.begin(), words.end(), std::string_view(text->get()));
  if (at != words.end()) return static_cast<std::size_t>(at - words.begin());
  const std::string typed = escape_for_display(std::string_view(text->get()).substr(0, 64));
  fail(key, "unknown " + std::string(key) + " \"" + typed + "\"", join_words(words),
       did_you_mean(text->get(), words));
  return std::nullopt;
}

const toml::table* TableReader::table(std::string_view key) {
  const toml::node* found = node(key);
  if (found == nullptr) return nullptr;
  if (const auto* value = found->as_table()) return value;
  wrong_type(key, "a table", "[" + std::string(key) + "]");
  return nullptr;
}

std::vector<const toml::table*> TableReader::tables(std::string_view key) {
  std::vector<const toml::table*> list;
  const toml::node* found = node(key);
  if (found == nullptr) return list;
  const auto* array = found->as_array();
  if (array == nullptr) {
    wrong_type(key, "a list of tables", "[[" + std::string(key) + "]]");
    return list;
  }
  for (const toml::node& element : *array) {
    if (const auto* value = element.as_table()) {
      list.push_back(value);
      continue;
    }
    Error error;
    error.what = std::string(key) + " must be a list of tables, not of " + std::string(type_name(element));
    error.text = context_.quote(element.source());
    error.legal = "[[" + std::string(key) + "]]";
    context_.fail(std::move(error), element.source());
  }
  return list;
}

}  // namespace ringside::sim
