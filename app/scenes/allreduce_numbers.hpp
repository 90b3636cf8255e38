// Numbers as the AllReduce scene shows them: slices of samples, and their text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/trace/trace.hpp"

namespace ringside::app {

/// The numbers of one place (a chunk on a rank, what travels, a result). Either all of them, or only how many
/// there are and what is known of them.
struct Numbers {
  std::vector<sim::Scalar> values;   // all `count`, or empty
  std::vector<sim::Scalar> sampled;  // of too many: some at equal distances from the first on, or empty
  std::int64_t count = 0;
  bool ranged = false;  // min and max are known
  sim::Scalar min{}, max{};
  std::int64_t nan_count = 0, inf_count = 0;  // of those known

  bool complete() const { return count > 0 && static_cast<std::int64_t>(values.size()) == count; }
  std::optional<sim::Scalar> first() const {
    if (!values.empty()) return values[0];
    return sampled.empty() ? std::nullopt : std::optional(sampled[0]);
  }
  bool operator==(const Numbers&) const = default;
};

Numbers numbers_of(const sim::Sample& sample);
/// Elements [offset, offset + count) of a sample that covers a whole tensor; without values where the sample
/// does not hold them.
Numbers slice_of(const sim::Sample& sample, std::int64_t offset, std::int64_t count);
Numbers numbers_of(std::vector<sim::Scalar> values);

/// "1,234.5", "-3", "NaN", "∞": shortest text that reads back to the same number of its type, with thousands
/// commas from 10,000 on. Of 16-bit types five digits, which read back too but do not hide what was rounded
/// away: a float16 shows 0.099976 where 0.1 was typed.
std::string number_text(sim::Scalar value);
/// As number_text, with brackets around a negative number: the right side of an operator.
std::string operand_text(sim::Scalar value);
/// Between two numbers: "+" (also of an average), "×", "min", "max".
std::string op_sign(sim::ReduceOp op);

}  // namespace ringside::app
