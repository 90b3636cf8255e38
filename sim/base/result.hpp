// The world's fault as a value: what went wrong, where, what is legal, what to do. Our own bugs are checks
// (check.hpp).
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "sim/base/check.hpp"

namespace ringside::sim {

/// One problem in the user's input. Line and column count from 1; 0 means "not known".
/// The members have initialisers so that GCC accepts designated ones without naming all: Error{.what = "…",
/// .hint = "…"}.
struct Error {
  std::string what{};  // "unknown key \"algoritm\""
  std::string file{};  // as the user named it; empty when the text came from memory
  int line = 0;
  int column = 0;
  std::string text{};   // the offending text, if short
  std::string legal{};  // the legal values or range: "ring, naive"
  std::string hint{};   // what to do: "did you mean algorithm?"

  /// `file:line:column: what (legal: …). hint`: one line, ready to print.
  std::string message() const;
};

/// A T or an Error. Use: `auto r = f(); if (!r) return r.error(); use(*r);`
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit on purpose

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& value() {
    RINGSIDE_CHECK(state_.index() == 0);
    return std::get<0>(state_);
  }
  const T& value() const {
    RINGSIDE_CHECK(state_.index() == 0);
    return std::get<0>(state_);
  }
  const Error& error() const {
    RINGSIDE_CHECK(state_.index() == 1);
    return std::get<1>(state_);
  }

 private:
  std::variant<T, Error> state_;
};

/// For functions that give nothing but may fail.
using Status = Result<std::monostate>;
inline Status ok() {
  return Status(std::monostate{});
}

}  // namespace ringside::sim
