// A document of plain data (dict, list, text, numbers), whichever format it came in: pickle or JSON. Made for
// hostile input: every node is counted against a budget, shared parts are stored once, and nothing recurses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/result.hpp"

namespace ringside::backend {

struct PlainLimits {
  std::size_t max_nodes = 4'000'000;      // values, each counted once however often it is referred to
  std::size_t max_children = 16'000'000;  // places in lists and dicts, and on the reader's stack
  int max_depth = 200;                    // JSON: nesting; a pickle has none while it is read
};

class PlainData {
 public:
  enum class Kind : std::uint8_t { Null, True, False, Int, Real, Text, List, Dict, Other };
  using Id = std::uint32_t;

  /// One value, by reference. A missing value behaves as an empty null, so that chains need no checks.
  class Ref {
   public:
    Ref() = default;
    explicit operator bool() const { return data_ != nullptr; }
    bool is_null() const { return data_ == nullptr || kind() == Kind::Null; }
    bool is_list() const { return data_ != nullptr && kind() == Kind::List; }
    bool is_dict() const { return data_ != nullptr && kind() == Kind::Dict; }
    bool is_text() const { return data_ != nullptr && kind() == Kind::Text; }
    /// Items of a list (a tuple and a set are lists), or pairs of a dict; 0 for everything else.
    std::size_t size() const;
    Ref at(std::size_t i) const;      // item of a list, value of a dict's pair
    Ref key_at(std::size_t i) const;  // key of a dict's pair
    /// Value of a text key, the last one if it stands there twice; missing if it is not there.
    Ref find(std::string_view key) const;
    std::optional<std::int64_t> integer() const;  // Int, or a Text of digits only, or a whole Real
    std::int64_t integer_or(std::int64_t otherwise) const { return integer().value_or(otherwise); }
    std::optional<double> real() const;  // Int or Real
    std::optional<bool> boolean() const;
    std::string_view text() const;  // empty when it is not text
    /// The same for every reference to one shared value, so that work on it can be done once.
    Id id() const { return id_; }

   private:
    friend class PlainData;
    Ref(const PlainData* data, Id id) : data_(data), id_(id) {}
    Kind kind() const;
    const PlainData* data_ = nullptr;
    Id id_ = 0;
  };

  Ref root() const { return nodes_.empty() ? Ref() : Ref(this, root_); }
  std::size_t nodes() const { return nodes_.size(); }

  // For readers. Every add gives the id of a new node, or kFull when the budget is spent.
  static constexpr Id kFull = 0xFFFFFFFFu;
  explicit PlainData(PlainLimits limits = {});
  Id null_id() const { return 0; }
  Id bool_id(bool value) const { return value ? 1 : 2; }
  Id add_int(std::int64_t value);
  Id add_real(double value);
  Id add_text(std::string_view text);
  Id add_other();
  Id add_list();
  Id add_dict();
  /// Appends to a list, or a key or value to a dict (in turn). False: budget spent, or not a list or dict.
  bool append(Id container, Id child);
  Kind kind(Id id) const { return nodes_[id].kind; }
  bool spend(std::size_t children);  // counts places on the reader's stack
  void set_root(Id id) { root_ = id; }

 private:
  struct Node {
    Kind kind;
    std::uint32_t size;  // text: bytes
    std::uint64_t bits;  // Int, Real: value; Text: offset; List, Dict: index of children or kNone
  };
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  Id add(Kind kind, std::uint32_t size, std::uint64_t bits);
  const std::vector<Id>* children(Id id) const;

  PlainLimits limits_;
  std::vector<Node> nodes_;
  std::vector<std::vector<Id>> children_;
  std::string text_;
  std::size_t spent_ = 0;
  Id root_ = 0;
};

/// JSON text (one value). Error: where it is not JSON, too deep or too large. `name` is for the message.
sim::Result<PlainData> parse_json(std::string_view text, std::string_view name,
                                  const PlainLimits& limits = {});

}  // namespace ringside::backend
