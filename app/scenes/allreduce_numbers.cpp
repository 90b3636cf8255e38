#include "app/scenes/allreduce_numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ringside::app {
namespace {

constexpr std::size_t kCommaFromDigits = 5;

/// Where the digits before the point begin and end.
void add_commas(std::string& text) {
  const std::size_t first = !text.empty() && text[0] == '-' ? 1 : 0;
  std::size_t last = first;
  while (last < text.size() && text[last] >= '0' && text[last] <= '9') ++last;
  if (last - first < kCommaFromDigits || text.find('e') != std::string::npos) return;
  for (std::size_t at = last; at > first + 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
}

}  // namespace

Numbers numbers_of(const sim::Sample& sample) {
  Numbers out;
  out.count = sample.count;
  if (sample.complete()) out.values = sample.values;
  out.ranged = sample.count > sample.nan_count;
  out.min = sample.min;
  out.max = sample.max;
  out.nan_count = sample.nan_count;
  out.inf_count = sample.inf_count;
  return out;
}

Numbers numbers_of(std::vector<sim::Scalar> values) {
  Numbers out;
  out.count = static_cast<std::int64_t>(values.size());
  for (const sim::Scalar& v : values) {
    if (sim::is_nan(v)) {
      ++out.nan_count;
      continue;
    }
    if (sim::is_inf(v)) ++out.inf_count;
    if (!out.ranged || sim::to_double(v) < sim::to_double(out.min)) out.min = v;
    if (!out.ranged || sim::to_double(v) > sim::to_double(out.max)) out.max = v;
    out.ranged = true;
  }
  out.values = std::move(values);
  return out;
}

Numbers slice_of(const sim::Sample& sample, std::int64_t offset, std::int64_t count) {
  constexpr std::int64_t kEnd = 4;  // an incomplete sample holds the first four and the last four
  std::vector<sim::Scalar> values;
  for (std::int64_t i = offset; i < offset + count; ++i) {
    std::int64_t at = i;
    if (!sample.complete()) {
      if (i >= kEnd && i < sample.count - kEnd) break;
      if (i >= kEnd) at = 2 * kEnd - (sample.count - i);
    }
    if (at < 0 || at >= static_cast<std::int64_t>(sample.values.size())) break;
    values.push_back(sample.values[static_cast<std::size_t>(at)]);
  }
  if (static_cast<std::int64_t>(values.size()) == count) return numbers_of(std::move(values));
  Numbers out;
  out.count = count;
  return out;
}

std::string number_text(sim::Scalar value) {
  if (sim::is_inf(value)) return sim::to_double(value) < 0 ? "-∞" : "∞";
  std::string text;
  const bool half = value.dtype == sim::DType::Float16 || value.dtype == sim::DType::BFloat16;
  const double size = half ? std::fabs(sim::to_double(value)) : 0;
  if (size >= 1e-4 && size < 1e5)
    text = fmt::format("{:.5g}", sim::to_double(value));
  else
    sim::append_scalar(text, value);
  if (!sim::is_nan(value)) add_commas(text);
  return text;
}

std::string operand_text(sim::Scalar value) {
  std::string text = number_text(value);
  return text.starts_with('-') ? "(" + text + ")" : text;
}

std::string op_sign(sim::ReduceOp op) {
  switch (op) {
    case sim::ReduceOp::Prod:
      return "×";
    case sim::ReduceOp::Min:
      return "min";
    case sim::ReduceOp::Max:
      return "max";
    default:
      return "+";
  }
}

}  // namespace ringside::app
