#include "sim/base/json_writer.hpp"

#include <cmath>

#include "sim/base/text.hpp"

namespace ringside::sim {

void JsonWriter::separate() {
  if (need_comma_) out_ += ',';
  need_comma_ = false;
}

JsonWriter& JsonWriter::begin_object() {
  separate();
  out_ += '{';
  return *this;
}
JsonWriter& JsonWriter::end_object() {
  out_ += '}';
  need_comma_ = true;
  return *this;
}
JsonWriter& JsonWriter::begin_array() {
  separate();
  out_ += '[';
  return *this;
}
JsonWriter& JsonWriter::end_array() {
  out_ += ']';
  need_comma_ = true;
  return *this;
}
JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_json_string(out_, name);
  out_ += ':';
  return *this;
}
JsonWriter& JsonWriter::string(std::string_view text) {
  separate();
  append_json_string(out_, text);
  need_comma_ = true;
  return *this;
}
JsonWriter& JsonWriter::integer(std::int64_t value) {
  separate();
  append_int(out_, value);
  need_comma_ = true;
  return *this;
}
JsonWriter& JsonWriter::unsigned_integer(std::uint64_t value) {
  separate();
  append_uint(out_, value);
  need_comma_ = true;
  return *this;
}
JsonWriter& JsonWriter::number(double value) {
  separate();
  const bool quoted = !std::isfinite(value);
  if (quoted) out_ += '"';
  append_double(out_, value);
  if (quoted) out_ += '"';
  need_comma_ = true;
  return *this;
}
JsonWriter& JsonWriter::number(float value) {
  separate();
  const bool quoted = !std::isfinite(value);
  if (quoted) out_ += '"';
  append_float(out_, value);
  if (quoted) out_ += '"';
  need_comma_ = true;
  return *this;
}
JsonWriter& JsonWriter::boolean(bool value) {
  separate();
  out_ += value ? "true" : "false";
  need_comma_ = true;
  return *this;
}
JsonWriter& JsonWriter::null() {
  separate();
  out_ += "null";
  need_comma_ = true;
  return *this;
}
JsonWriter& JsonWriter::hex64(std::uint64_t value) {
  separate();
  out_ += '"';
  append_hex64(out_, value);
  out_ += '"';
  need_comma_ = true;
  return *this;
}
JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  out_ += json;
  need_comma_ = true;
  return *this;
}

}  // namespace ringside::sim
