#include "backend/live/compare.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "sim/base/check.hpp"
#include "sim/base/json_writer.hpp"

namespace ringside::backend {
namespace {

constexpr std::string_view kAgree = ": stepped and fused agree bit for bit in ";

sim::Scalar element_at(sim::DType dtype, std::span<const std::byte> data, std::size_t i) {
  const auto size = static_cast<std::size_t>(sim::size_of(dtype));
  sim::Scalar value{dtype, 0};
  std::memcpy(&value.bits, data.data() + i * size, size);
  return sim::canonical(value);
}

}  // namespace

Comparison compare_results(sim::DType dtype, std::span<const std::byte> stepped,
                           std::span<const std::byte> fused) {
  RINGSIDE_CHECK_EQ(stepped.size(), fused.size());
  Comparison out;
  out.count = static_cast<std::int64_t>(stepped.size()) / sim::size_of(dtype);
  if (stepped.empty() || std::memcmp(stepped.data(), fused.data(), stepped.size()) == 0) return out;
  for (std::int64_t i = 0; i < out.count; ++i) {
    const sim::Scalar a = element_at(dtype, stepped, static_cast<std::size_t>(i));
    const sim::Scalar b = element_at(dtype, fused, static_cast<std::size_t>(i));
    if (a == b) continue;
    if (out.differing++ == 0) {
      out.first = i;
      out.stepped = a;
      out.fused = b;
    }
    const double apart = std::fabs(sim::to_double(a) - sim::to_double(b));
    out.largest = std::isnan(apart) ? std::numeric_limits<double>::infinity() : std::max(out.largest, apart);
  }
  return out;
}

std::string comparison_text(const Comparison& c, int bucket) {
  std::string out = "bucket " + std::to_string(bucket);
  if (c.differing == 0) return out + std::string(kAgree) + std::to_string(c.count) + " elements";
  out += ": stepped and fused differ in " + std::to_string(c.differing) + " of " + std::to_string(c.count) +
         " elements, first in element " + std::to_string(c.first) + ": ";
  sim::append_scalar(out, c.stepped);
  out += " and ";
  sim::append_scalar(out, c.fused);
  out += ", at most ";
  sim::append_scalar(out, sim::make_scalar(sim::DType::Float32, c.largest));
  return out + " apart";
}

bool says_equal(std::string_view text) {
  return text.find(kAgree) != std::string_view::npos;
}

}  // namespace ringside::backend
