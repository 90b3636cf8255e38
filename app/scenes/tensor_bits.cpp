#include "app/scenes/tensor_bits.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "sim/base/check.hpp"

namespace ringside::app {

FloatLayout float_layout(sim::DType dtype) {
  switch (dtype) {
    case sim::DType::Float64:
      return {1, 11, 52};
    case sim::DType::Float32:
      return {1, 8, 23};
    case sim::DType::Float16:
      return {1, 5, 10};
    case sim::DType::BFloat16:
      return {1, 8, 7};
    case sim::DType::Int32:
    case sim::DType::Int64:
      break;
  }
  RINGSIDE_CHECK(sim::is_floating(dtype));
  return {};
}

FloatBits float_bits(sim::DType dtype, double given) {
  FloatBits out;
  out.layout = float_layout(dtype);
  const sim::Scalar scalar = sim::make_scalar(dtype, given);
  const int bits = out.layout.bits(), m = out.layout.mantissa, e = out.layout.exponent;
  for (int i = bits - 1; i >= 0; --i) out.bits.push_back(((scalar.bits >> i) & 1u) != 0);
  const std::uint64_t mantissa = scalar.bits & ((std::uint64_t{1} << m) - 1);
  const auto field = static_cast<int>((scalar.bits >> m) & ((std::uint64_t{1} << e) - 1));
  out.negative = out.bits.front();
  const int top = (1 << e) - 1;
  out.kind = field == top    ? (mantissa != 0 ? FloatClass::Nan : FloatClass::Infinity)
             : field != 0    ? FloatClass::Normal
             : mantissa != 0 ? FloatClass::Subnormal
                             : FloatClass::Zero;
  out.exponent = (field == 0 ? 1 : field) - out.layout.bias();
  out.fraction = (field == 0 ? 0.0 : 1.0) + std::ldexp(static_cast<double>(mantissa), -m);
  out.value = sim::to_double(scalar);
  out.overflow = out.kind == FloatClass::Infinity && std::isfinite(given);
  out.to_zero = out.kind == FloatClass::Zero && given != 0;
  if (std::isfinite(out.value) && std::isfinite(given)) out.lost = out.value - given;
  return out;
}

std::string short_number(double value, int digits) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  std::array<char, 64> buffer{};
  const auto write = [&](auto... how) {
    return std::string(buffer.data(),
                       std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, how...).ptr);
  };
  std::string shortest = write();
  const double size = std::abs(value);
  if (shortest.find('e') != std::string::npos && size >= 1e-4 && size < 1e15)
    shortest = write(std::chars_format::fixed);
  std::size_t figures = 0;
  for (const char c : shortest.substr(0, shortest.find('e'))) figures += c >= '0' && c <= '9' ? 1u : 0u;
  if (figures <= static_cast<std::size_t>(digits) + 1) return shortest;
  return write(std::chars_format::general, digits);
}

}  // namespace ringside::app
