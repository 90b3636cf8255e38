// The fields of one trace line, taken by name and type. The first problem ends the line.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "backend/trace_reader.hpp"

namespace ringside::backend {

class EventFields {
 public:
  explicit EventFields(TraceReader& reader) : reader_(reader) {}

  sim::Trace& trace() { return reader_.trace_; }
  bool good() const { return !reader_.problem_; }
  bool has(std::string_view key) const { return find(key) != nullptr; }

  std::int64_t integer(std::string_view key, std::int64_t low, std::int64_t high);
  template <class T>
  T integer(std::string_view key, T low = 0) {
    return static_cast<T>(integer(key, static_cast<std::int64_t>(low), highest<T>()));
  }
  template <class T>
  T optional_integer(std::string_view key, T fallback, T low = 0) {
    return has(key) ? integer<T>(key, low) : fallback;
  }
  std::uint64_t unsigned_integer(std::string_view key);
  double number(std::string_view key);
  bool boolean(std::string_view key);
  std::string string(std::string_view key);
  std::string optional_string(std::string_view key) { return has(key) ? string(key) : std::string(); }
  std::uint64_t hex64(std::string_view key);
  /// A text in the trace's pool; kNone if absent.
  std::uint32_t text(std::string_view key);
  /// An enum by its word; `from` gives nothing for an unknown one.
  template <class E, class From>
  E word(std::string_view key, From from) {
    const std::string typed = string(key);
    if (!good()) return E{};
    const std::optional<E> found = from(typed);
    if (!found) bad(key, "is an unknown word");
    return found.value_or(E{});
  }
  std::uint32_t shape(std::string_view key);
  std::uint32_t list(std::string_view key);
  /// The sample under "values"; kNone if absent.
  std::uint32_t sample();
  /// The collective of "comm" and "seq", made known to the trace if new.
  std::uint32_t collective(std::int64_t step);
  bool first_sight(std::uint32_t collective);

  void bad(std::string_view key, std::string_view what);

 private:
  template <class T>
  static constexpr std::int64_t highest() {
    if (std::is_same_v<T, std::uint32_t>)
      return std::int64_t{sim::kNone} - 1;  // kNone is "no index" in every pool
    return static_cast<std::int64_t>(std::numeric_limits<T>::max());
  }
  const JsonValue* find(std::string_view key) const;
  const JsonValue* need(std::string_view key, JsonValue::Kind kind, std::string_view what);
  std::optional<sim::Scalar> scalar(sim::DType dtype, const JsonValue& value);
  bool scalars(std::string_view key, sim::Sample& sample);

  TraceReader& reader_;
  bool inner_ = false;  // inside "values"
};

/// Fills an event's payload from the fields of its line (trace_events.cpp).
void read_payload(EventFields& fields, sim::Event& event);

}  // namespace ringside::backend
