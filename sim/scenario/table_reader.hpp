// Reads one TOML table key by key. Every problem becomes one Error with its place in the file; the first is
// kept and reading goes on with defaults, so that callers read straight down and ask once at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/result.hpp"
#include "sim/base/toml.hpp"

namespace ringside::sim {

/// The text being read and the first problem found in it.
struct ReadContext {
  std::string_view text;
  std::string_view file;
  std::optional<Error> error;

  /// Keeps the error if it is the first; fills in file, line and column from `where`.
  void fail(Error problem, const toml::source_region& where);
  /// The text of a region, one line and short, made harmless for printing.
  std::string quote(const toml::source_region& where) const;
};

/// A word of a file and the value it stands for.
template <class T>
struct Word {
  std::string_view word;
  T value;
};

class TableReader {
 public:
  /// `name` is the table's name in scenario_keys(); a null table reads as empty. Refuses keys that the table
  /// does not have.
  TableReader(ReadContext& context, const toml::table* table, std::string_view name);

  bool has(std::string_view key) const { return node(key) != nullptr; }
  const toml::node* node(std::string_view key) const;
  /// Where a problem with a key is shown: its value, or the table when the key is absent.
  toml::source_region where(std::string_view key) const;
  void fail(std::string_view key, std::string what, std::string legal = {}, std::string hint = {});
  void fail_error(std::string_view key, const Error& error);

  std::optional<std::int64_t> integer(std::string_view key, std::int64_t low, std::int64_t high);
  std::optional<double> number(std::string_view key, double low, double high);
  std::optional<bool> boolean(std::string_view key);
  std::optional<std::string> string(std::string_view key);
  std::optional<std::int64_t> duration(std::string_view key);
  std::optional<std::int64_t> rate(std::string_view key);
  template <class T, std::size_t N>
  std::optional<T> word(std::string_view key, const Word<T> (&words)[N]) {
    std::vector<std::string_view> names;
    for (const auto& entry : words) names.push_back(entry.word);
    const auto found = word_index(key, names);
    return found ? std::optional<T>(words[*found].value) : std::nullopt;
  }
  std::optional<std::size_t> word_index(std::string_view key, const std::vector<std::string_view>& words);
  /// The table under a key, or null.
  const toml::table* table(std::string_view key);
  /// The tables of [[key]], in file order.
  std::vector<const toml::table*> tables(std::string_view key);

  ReadContext& context() { return context_; }

 private:
  void wrong_type(std::string_view key, std::string_view wanted, std::string legal = {});
  ReadContext& context_;
  const toml::table* table_;
  std::string_view name_;
};

/// "an integer", "a string" …: the type of a value, for messages.
std::string_view type_name(const toml::node& node);

}  // namespace ringside::sim
