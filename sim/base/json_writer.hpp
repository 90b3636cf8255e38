// A small append-only JSON writer: keys in the order of the calls, no spaces, numbers by std::to_chars. The
// trace, the wire and `--json` are made with it, so that the same values give the same bytes everywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ringside::sim {

class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);
  JsonWriter& string(std::string_view text);
  JsonWriter& integer(std::int64_t value);
  JsonWriter& unsigned_integer(std::uint64_t value);
  JsonWriter& number(double value);  // NaN and infinities as strings
  JsonWriter& number(float value);
  JsonWriter& boolean(bool value);
  JsonWriter& null();
  JsonWriter& hex64(std::uint64_t value);
  JsonWriter& raw(std::string_view json);  // already valid JSON

  // key and value in one call
  JsonWriter& field(std::string_view name, std::string_view text) { return key(name).string(text); }
  JsonWriter& field(std::string_view name, const char* text) { return key(name).string(text); }
  JsonWriter& field(std::string_view name, std::int64_t value) { return key(name).integer(value); }
  JsonWriter& field(std::string_view name, std::int32_t value) { return key(name).integer(value); }
  JsonWriter& field(std::string_view name, std::uint32_t value) { return key(name).unsigned_integer(value); }
  JsonWriter& field(std::string_view name, std::uint64_t value) { return key(name).unsigned_integer(value); }
  JsonWriter& field(std::string_view name, double value) { return key(name).number(value); }
  JsonWriter& field(std::string_view name, bool value) { return key(name).boolean(value); }

 private:
  void separate();  // writes the comma that the next value needs
  std::string& out_;
  bool need_comma_ = false;
};

}  // namespace ringside::sim
