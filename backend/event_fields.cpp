#include "backend/event_fields.hpp"

#include <charconv>

#include "sim/base/text.hpp"

namespace ringside::backend {
namespace {

template <class T>
bool from_text(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// What a sample's pool entry takes beside its numbers.
constexpr std::size_t kSampleBytes = sizeof(sim::Sample) + 32;
/// More shapes than any job has; finding one is a walk over all.
constexpr std::size_t kMostShapes = 4'096;

}  // namespace

void EventFields::bad(std::string_view key, std::string_view what) {
  const JsonValue* value = find(key);
  std::string text = value == nullptr ? std::string() : sim::escape_for_display(value->raw.substr(0, 40));
  reader_.fail("\"" + std::string(key) + "\" " + std::string(what), std::move(text));
}

const JsonValue* EventFields::find(std::string_view key) const {
  for (const JsonField& field : inner_ ? reader_.inner_fields_ : reader_.fields_) {
    if (field.key == key) return &field.value;
  }
  return nullptr;
}

const JsonValue* EventFields::need(std::string_view key, JsonValue::Kind kind, std::string_view what) {
  const JsonValue* value = find(key);
  if (value == nullptr) {
    bad(key, "is missing");
    return nullptr;
  }
  if (value->kind == kind) return value;
  bad(key, "must be " + std::string(what));
  return nullptr;
}

std::int64_t EventFields::integer(std::string_view key, std::int64_t low, std::int64_t high) {
  const JsonValue* value = need(key, JsonValue::Kind::Number, "an integer");
  if (value == nullptr) return low;
  std::int64_t number = 0;
  if (!from_text(value->raw, number)) {
    bad(key, "must be an integer of 64 bits");
    return low;
  }
  if (number < low || number > high) {
    bad(key, "is out of range");
    return low;
  }
  return number;
}

std::uint64_t EventFields::unsigned_integer(std::string_view key) {
  const JsonValue* value = need(key, JsonValue::Kind::Number, "an integer");
  std::uint64_t number = 0;
  if (value != nullptr && !from_text(value->raw, number)) bad(key, "must be an integer from 0 to 2^64 - 1");
  return number;
}

double EventFields::number(std::string_view key) {
  const JsonValue* value = find(key);
  if (value == nullptr) {
    bad(key, "is missing");
    return 0;
  }
  const auto number = scalar(sim::DType::Float64, *value);
  if (!number) bad(key, "must be a number");
  return number ? sim::to_double(*number) : 0;
}

bool EventFields::boolean(std::string_view key) {
  const JsonValue* value = need(key, JsonValue::Kind::Boolean, "true or false");
  return value != nullptr && value->raw == "true";
}

std::string EventFields::string(std::string_view key) {
  const JsonValue* value = need(key, JsonValue::Kind::String, "a string");
  if (value == nullptr) return {};
  auto text = decode_json_string(*value);
  if (!text) bad(key, "holds a bad escape");
  return text ? std::move(*text) : std::string();
}

std::uint64_t EventFields::hex64(std::string_view key) {
  const JsonValue* value = need(key, JsonValue::Kind::String, "16 hex digits");
  if (value == nullptr) return 0;
  std::uint64_t number = 0;
  const char* end = value->raw.data() + value->raw.size();
  const auto parsed = std::from_chars(value->raw.data(), end, number, 16);
  if (value->raw.size() != 16 || parsed.ec != std::errc() || parsed.ptr != end)
    bad(key, "must be 16 hex digits");
  return number;
}

std::uint32_t EventFields::text(std::string_view key) {
  if (!has(key)) return sim::kNone;
  const std::string text = string(key);
  if (!good() || reader_.too_much(text.size() / 2)) return sim::kNone;
  return trace().intern(text);
}

std::uint32_t EventFields::list(std::string_view key) {
  if (!has(key)) return sim::kNone;
  const JsonValue* value = need(key, JsonValue::Kind::Array, "a list of ranks");
  if (value == nullptr || parse_json_array(value->raw, reader_.elements_)) return sim::kNone;
  std::vector<std::int32_t> members;
  for (const JsonValue& element : reader_.elements_) {
    std::int32_t member = 0;
    if (!from_text(element.raw, member) || member < 0) {
      bad(key, "must be a list of ranks");
      return sim::kNone;
    }
    members.push_back(member);
  }
  if (reader_.too_much(members.size() * sizeof(std::int32_t))) return sim::kNone;
  return trace().add_list(std::move(members));
}

std::uint32_t EventFields::shape(std::string_view key) {
  if (!has(key)) return sim::kNone;
  const JsonValue* value = need(key, JsonValue::Kind::Array, "a shape");
  if (value == nullptr || parse_json_array(value->raw, reader_.elements_)) return sim::kNone;
  std::vector<std::int64_t> extents;
  for (const JsonValue& element : reader_.elements_) {
    std::int64_t extent = 0;
    if (!from_text(element.raw, extent) || extents.size() >= 16) extent = -1;
    extents.push_back(extent);
    if (extent < 0) break;
  }
  auto shape = sim::checked_shape(std::move(extents));
  if (!shape) {
    bad(key, "is no shape");
    return sim::kNone;
  }
  if (trace().shape_count() >= kMostShapes) {
    bad(key, "is one shape too many for a trace");
    return sim::kNone;
  }
  return trace().add_shape(*shape);
}

std::optional<sim::Scalar> EventFields::scalar(sim::DType dtype, const JsonValue& value) {
  const auto floating = [&](double number) { return sim::make_scalar(dtype, number); };
  if (value.kind == JsonValue::Kind::String && sim::is_floating(dtype)) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (value.raw == "NaN") return floating(std::numeric_limits<double>::quiet_NaN());
    if (value.raw == "Infinity") return floating(kInfinity);
    if (value.raw == "-Infinity") return floating(-kInfinity);
    return std::nullopt;
  }
  if (value.kind != JsonValue::Kind::Number) return std::nullopt;
  if (dtype == sim::DType::Float64) {
    double number = 0;
    return from_text(value.raw, number) ? std::optional(floating(number)) : std::nullopt;
  }
  if (sim::is_floating(dtype)) {  // the writer's shortest text is that of a float for the 16-bit types too
    float number = 0;
    return from_text(value.raw, number) ? std::optional(floating(static_cast<double>(number))) : std::nullopt;
  }
  if (dtype == sim::DType::Int32) {
    std::int32_t number = 0;
    if (!from_text(value.raw, number)) return std::nullopt;
    return sim::Scalar{dtype, static_cast<std::uint32_t>(number)};
  }
  std::int64_t number = 0;
  if (!from_text(value.raw, number)) return std::nullopt;
  return sim::Scalar{dtype, static_cast<std::uint64_t>(number)};
}

bool EventFields::scalars(std::string_view key, sim::Sample& sample) {
  const JsonValue* value = need(key, JsonValue::Kind::Array, "a list of numbers");
  if (value == nullptr || parse_json_array(value->raw, reader_.elements_)) return false;
  for (const JsonValue& element : reader_.elements_) {
    const auto number = scalar(sample.dtype, element);
    if (!number) {
      bad(key, "must hold numbers of type " + std::string(sim::to_word(sample.dtype)));
      return false;
    }
    sample.values.push_back(*number);
  }
  return true;
}

namespace {

/// min and max of a sample that holds all its numbers; the writer leaves them out there.
void find_extremes(sim::Sample& sample) {
  std::vector<std::byte> bytes;
  const auto width = static_cast<std::size_t>(sim::size_of(sample.dtype));
  for (const sim::Scalar& value : sample.values) {
    for (std::size_t i = 0; i < width; ++i) bytes.push_back(static_cast<std::byte>(value.bits >> (8 * i)));
  }
  const sim::Sample whole = sim::sample_of(sample.dtype, bytes);
  sample.min = whole.min;
  sample.max = whole.max;
}

}  // namespace

std::uint32_t EventFields::sample() {
  if (!has("values")) return sim::kNone;
  const JsonValue* value = need("values", JsonValue::Kind::Object, "an object");
  if (value == nullptr || parse_json_object(value->raw, reader_.inner_fields_)) return sim::kNone;
  inner_ = true;
  sim::Sample sample;
  sample.dtype = word<sim::DType>("dtype", sim::dtype_from);
  sample.count = integer<std::int64_t>("count");
  sample.nan_count = optional_integer<std::int64_t>("nan", 0);
  sample.inf_count = optional_integer<std::int64_t>("inf", 0);
  sample.digest = hex64("digest");
  const bool all = has("all");
  if (good() && all) scalars("all", sample);
  if (good() && !all && scalars("first", sample)) scalars("last", sample);
  const std::int64_t wanted = all ? sample.count : 8;
  if (good() &&
      (static_cast<std::int64_t>(sample.values.size()) != wanted || (all && wanted > sim::Sample::kAllUpTo)))
    bad(all ? "all" : "first", "does not hold as many numbers as it should");
  if (good() && all) find_extremes(sample);
  if (good() && !all) {
    const JsonValue *low = find("min"), *high = find("max");
    const auto min = low == nullptr ? std::nullopt : scalar(sample.dtype, *low);
    const auto max = high == nullptr ? std::nullopt : scalar(sample.dtype, *high);
    if (!min || !max) bad(min ? "max" : "min", "must be a number");
    if (min && max) {
      sample.min = *min;
      sample.max = *max;
    }
  }
  inner_ = false;
  if (!good() || reader_.too_much(kSampleBytes + sample.values.size() * sizeof(sim::Scalar)))
    return sim::kNone;
  return trace().add_sample(std::move(sample));
}

std::uint32_t EventFields::collective(std::int64_t step) {
  sim::CollectiveInfo info;
  info.comm = text("comm");
  info.seq = integer<std::int64_t>("seq");
  info.step = step;
  if (info.comm == sim::kNone && good()) bad("comm", "is missing");
  if (!good() || reader_.too_much(sizeof(info) / 16)) return 0;
  const std::uint32_t known = trace().find_collective(info.comm, info.seq);
  if (known != sim::kNone) return known;
  if (reader_.too_much(2 * sizeof(info))) return 0;
  reader_.collective_known_.push_back(false);
  return trace().add_collective(std::move(info));
}

bool EventFields::first_sight(std::uint32_t collective) {
  if (reader_.collective_known_[collective]) return false;
  reader_.collective_known_[collective] = true;
  return true;
}

}  // namespace ringside::backend
