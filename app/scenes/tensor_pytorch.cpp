// The tensor of the scene as lines of Python that make the same tensor.
//
// Shortest first: a literal list where it is short, arange where the numbers only count, the file where they
// come from one. What was typed over it follows as assignments; a shape that no longer is the base's starts
// from zeros.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "app/scenes/tensor_model.hpp"

namespace ringside::app {
namespace {

constexpr std::int64_t kLiteralUpTo = 24;   // numbers that are written out
constexpr std::int64_t kArrayUpTo = 1'024;  // of an array that has no file
constexpr std::int64_t kCountsUpTo = 6;     // of a tensor that only counts: beyond, arange says it better

/// repr(float): shortest digits; an exponent below 1e-4 and from 1e16.
std::string python_float(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 512> buffer{};
  const double size = std::abs(value);
  const bool scientific = value != 0 && (size < 1e-4 || size >= 1e16);
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 scientific ? std::chars_format::scientific : std::chars_format::fixed)
                       .ptr;
  std::string text(buffer.data(), end);
  if (!scientific && text.find('.') == std::string::npos) text += ".0";
  return text;
}

bool is_integer(sim::DType dtype) {
  return !sim::is_floating(dtype);
}

/// A number inside Python source.
std::string literal(const TensorModel& model, const Index& index) {
  if (is_integer(model.state().dtype)) return std::to_string(sim::to_int64(model.stored(index)));
  const std::string text = python_float(model.given(index));
  return std::isfinite(model.given(index)) ? text : "float(\"" + text + "\")";
}

std::string nested_list(const TensorModel& model, Index& index) {
  const std::size_t axis = index.size();
  const auto& extents = model.shape().extents;
  if (axis == extents.size()) return literal(model, index);
  std::string out = "[";
  for (std::int64_t i = 0; i < extents[axis]; ++i) {
    index.push_back(i);
    out += (i > 0 ? ", " : "") + nested_list(model, index);
    index.pop_back();
  }
  return out + "]";
}

/// ", dtype=torch.float16" where Python would take another by itself.
std::string dtype_argument(sim::DType dtype, sim::DType by_itself) {
  return dtype == by_itself ? "" : ", dtype=torch." + std::string(sim::to_word(dtype));
}

std::string list_of(const std::vector<std::int64_t>& extents) {
  std::string out;
  for (const std::int64_t extent : extents) out += (out.empty() ? "" : ", ") + std::to_string(extent);
  return out;
}

/// "1, 2, :3" …: the part of `shape` that both have, seen from a shape of its own length.
std::string common_part(const sim::Shape& shape, const sim::Shape& other) {
  std::string out;
  const std::size_t own = shape.extents.size(), his = other.extents.size();
  for (std::size_t d = 0; d < own; ++d) {
    const std::size_t from_end = own - d;
    out += d > 0 ? ", " : "";
    if (from_end > his) {
      out += "0";
    } else {
      out += ":" + std::to_string(std::min(shape.extents[d], other.extents[his - from_end]));
    }
  }
  return own == 0 ? "..." : out;
}

std::string base_expression(const TensorState& state, const sim::Shape& base) {
  if (state.base == BaseKind::Array) {
    std::string out = "torch.from_numpy(numpy.load(\"" + state.array_name + "\"))";
    if (state.array->dtype != state.dtype) out += ".to(torch." + std::string(sim::to_word(state.dtype)) + ")";
    return out;
  }
  std::string out = "torch.arange(1, " + std::to_string(base.count() + 1) +
                    dtype_argument(state.dtype, sim::DType::Int64) + ")";
  if (base.extents.size() != 1)
    out += base.extents.empty() ? ".reshape(())" : ".reshape(" + list_of(base.extents) + ")";
  return out;
}

std::string make_text(const TensorModel& model) {
  const TensorState& s = model.state();
  const bool plain = s.base == BaseKind::Counting && !s.frozen;
  const bool named = s.base == BaseKind::Array && !s.array_name.empty();
  const bool unnamed = s.base == BaseKind::Array && s.array_name.empty();
  if (unnamed && model.count() > kArrayUpTo)
    return "x = torch.empty(" + list_of(s.shape.extents) + dtype_argument(s.dtype, sim::DType::Float32) +
           ")  # too many numbers to write out";
  if (unnamed || (!named && model.count() <= (plain ? kCountsUpTo : kLiteralUpTo))) {
    Index index;
    const sim::DType by_itself = is_integer(s.dtype) ? sim::DType::Int64 : sim::DType::Float32;
    return "x = torch.tensor(" + nested_list(model, index) + dtype_argument(s.dtype, by_itself) + ")";
  }
  const sim::Shape base = s.base == BaseKind::Array ? s.array->shape : s.frozen.value_or(s.shape);
  std::string out;
  if (base == s.shape) {
    out = "x = " + base_expression(s, base);
  } else {
    out = "x = torch.zeros(" + (s.shape.extents.empty() ? std::string("()") : list_of(s.shape.extents)) +
          dtype_argument(s.dtype, sim::DType::Float32) + ")\n";
    out += "x[" + common_part(s.shape, base) + "] = (" + base_expression(s, base) + ")[" +
           common_part(base, s.shape) + "]";
  }
  for (const auto& [key, value] : s.typed) {
    Index index(std::max(s.shape.extents.size(), key.size()), 0);
    for (std::size_t i = 0; i < key.size(); ++i) index[index.size() - 1 - i] = key[i];
    bool inside = index.size() == s.shape.extents.size();
    for (std::size_t d = 0; inside && d < index.size(); ++d) inside = index[d] < s.shape.extents[d];
    if (inside)
      out +=
          "\n" + (index.empty() ? std::string("x[...]") : index_text(index)) + " = " + literal(model, index);
  }
  return out;
}

}  // namespace

std::string python_number(sim::Scalar value) {
  return sim::is_floating(value.dtype) ? python_float(sim::to_double(value))
                                       : std::to_string(sim::to_int64(value));
}

PyTorchText pytorch_text(const TensorModel& model) {
  PyTorchText out;
  out.make = make_text(model);
  const auto& extents = model.shape().extents;
  out.size = "torch.Size([" + list_of(extents) + "])";
  sim::Shape strides{model.shape().strides()};
  out.stride = strides.text();
  out.ask = index_text(model.selected()) + ".item()";
  out.answer = python_number(model.stored(model.selected()));
  return out;
}

std::string PyTorchText::all() const {
  const bool numpy = make.find("numpy.load") != std::string::npos;
  return std::string(numpy ? "import numpy\n" : "") + "import torch\n" + make + "\nprint(x.shape)     # " +
         size + "\nprint(x.stride())  # " + stride + "\nprint(" + ask + ")  # " + answer + "\n";
}

}  // namespace ringside::app
