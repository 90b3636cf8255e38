#include "sim/collective/executor_values.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>
#include <utility>

#include "sim/collective/value_program.hpp"
#include "sim/tensor/reduce.hpp"

namespace ringside::sim {
namespace {

using Inputs = std::span<const std::shared_ptr<const Tensor>>;
using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

/// Values live in a few slots of block size, reused as values die; an input that needs no change is read
/// where it is.
constexpr std::uint32_t kNoSlot = 0xFFFFFFFFu;

/// One thing to do for a block: take up an input (arrived == own == value), or reduce two values.
struct Instruction {
  enum class Kind : std::uint8_t { Input, Reduce, ReduceIntoArrived, ReduceIntoOwn };
  Kind kind = Kind::Input;
  std::uint32_t value = 0, arrived = 0, own = 0;
};

struct Compiled {
  std::vector<Instruction> code;
  std::vector<std::uint32_t> slot;  // per value
  std::uint32_t slots = 0;
};

/// Inputs just before they are needed, so that few are alive at a time; those that only travel or stay last.
std::vector<Instruction> instructions(const ValueProgram& program, std::uint32_t world) {
  using Kind = Instruction::Kind;
  std::vector<Instruction> code;
  std::vector<bool> taken(world, false);
  const auto take = [&](std::uint32_t value) {
    if (value >= world || taken[value]) return;
    taken[value] = true;
    code.push_back({Kind::Input, value, value, value});
  };
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const auto [arrived, own] = program.ops[i];
    take(arrived);
    take(own);
    code.push_back({Kind::Reduce, static_cast<std::uint32_t>(world + i), arrived, own});
  }
  for (const std::uint32_t value : program.travels) take(value);
  for (const std::uint32_t value : program.result) take(value);
  return code;
}

Compiled compile(const ValueProgram& program, std::uint32_t world, bool inputs_change) {
  using Kind = Instruction::Kind;
  constexpr std::size_t kForever = ~std::size_t{0};
  Compiled out;
  out.code = instructions(program, world);
  out.slot.assign(world + program.ops.size(), kNoSlot);
  std::vector<std::size_t> last_use(out.slot.size(), 0);
  for (std::size_t i = 0; i < out.code.size(); ++i)
    last_use[out.code[i].arrived] = last_use[out.code[i].own] = i;
  for (const std::uint32_t value : program.result) last_use[value] = kForever;

  std::vector<std::uint32_t> unused;
  const auto dies = [&](std::uint32_t value, std::size_t at) {
    return out.slot[value] != kNoSlot && last_use[value] == at;
  };
  const auto take = [&](std::uint32_t value) {
    if (unused.empty()) unused.push_back(out.slots++);
    out.slot[value] = unused.back();
    unused.pop_back();
  };
  for (std::size_t i = 0; i < out.code.size(); ++i) {
    Instruction& step = out.code[i];
    if (step.kind == Kind::Input) {
      if (inputs_change) take(step.value);
      continue;
    }
    const bool arrived_dies = dies(step.arrived, i), own_dies = dies(step.own, i) && step.own != step.arrived;
    if (arrived_dies && step.own != step.arrived) {
      step.kind = Kind::ReduceIntoArrived;
      out.slot[step.value] = out.slot[step.arrived];
      if (own_dies) unused.push_back(out.slot[step.own]);
    } else if (own_dies) {
      step.kind = Kind::ReduceIntoOwn;
      out.slot[step.value] = out.slot[step.own];
    } else {
      take(step.value);
    }
  }
  return out;
}

/// Ranks that end with the same value in every chunk share one tensor.
class Sharing {
 public:
  explicit Sharing(std::size_t world) : tensor_of_rank(world, 0) {}
  std::vector<std::uint32_t> tensor_of_rank;  // numbered in the order of their first rank

  /// Splits the groups by the values of one more chunk, and by whether they are finished there.
  template <class Finished>
  void refine(const std::vector<std::uint32_t>& result, const Finished& finished) {
    std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, std::uint32_t> ids;
    for (std::size_t r = 0; r < tensor_of_rank.size(); ++r) {
      const auto next = static_cast<std::uint32_t>(ids.size());
      tensor_of_rank[r] =
          ids.try_emplace({tensor_of_rank[r], result[r], finished(static_cast<int>(r))}, next).first->second;
    }
  }
  std::vector<std::uint32_t> first_ranks() const {
    std::vector<std::uint32_t> out;
    for (std::uint32_t r = 0; r < tensor_of_rank.size(); ++r) {
      if (tensor_of_rank[r] == out.size()) out.push_back(r);
    }
    return out;
  }
};

class ByValues {
 public:
  ByValues(const Schedule& schedule, ReduceOp op, Inputs inputs, bool want_digests)
      : schedule_(schedule),
        op_(op),
        inputs_(inputs),
        dtype_(inputs[0]->dtype),
        element_(size_of(dtype_)),
        prepares_(reduces(schedule.collective) && has_prepare(dtype_, op)),
        want_digests_(want_digests) {}

  Numbers run() {
    const std::size_t chunks = schedule_.chunks.chunks.size();
    std::vector<ValueProgram> programs;
    programs.reserve(chunks);
    Sharing sharing(inputs_.size());
    for (std::uint32_t c = 0; c < chunks; ++c) {
      programs.push_back(value_program(schedule_, c));
      sharing.refine(programs.back().result, [&](int rank) { return schedule_.holds_result(rank, c); });
    }
    first_ranks_ = sharing.first_ranks();
    for (const std::uint32_t rank : first_ranks_)
      out_.push_back(std::make_shared<Tensor>(dtype_, inputs_[rank]->shape));
    if (want_digests_) numbers_.digests.assign(schedule_.transfers.size(), 0);
    for (std::uint32_t c = 0; c < chunks; ++c) run_chunk(programs[c], c);
    for (const std::uint32_t tensor : sharing.tensor_of_rank) numbers_.result.push_back(out_[tensor]);
    return std::move(numbers_);
  }

 private:
  static constexpr std::size_t kBlockBytes = 8192;  // the few slots of a ring stay in the first-level cache

  void run_chunk(const ValueProgram& program, std::uint32_t index) {
    const Chunk& chunk = schedule_.chunks.chunks[index];
    const Compiled compiled = compile(program, static_cast<std::uint32_t>(inputs_.size()), prepares_);
    // In bytes, unsigned: a block never ends in the middle of an element.
    const auto begin = static_cast<std::size_t>(chunk.offset * element_);
    const auto end = begin + static_cast<std::size_t>(chunk.count * element_);
    block_bytes_ = std::min(kBlockBytes, end - begin);
    slots_.resize(compiled.slots * block_bytes_);
    if (want_digests_) {
      value_digest_.assign(compiled.slot.size(), 0);
      travels_.assign(compiled.slot.size(), false);
      for (const std::uint32_t value : program.travels) travels_[value] = true;
    }
    for (std::size_t at = begin; at < end; at += block_bytes_) {
      const auto first_element = static_cast<std::int64_t>(at - begin) / element_;
      run_block(program, compiled, index, at, std::min(block_bytes_, end - at), first_element);
    }
    if (!want_digests_) return;
    const auto transfers = schedule_.transfers_into(index);
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      numbers_.digests[transfers[i]] = value_digest_[program.travels[i]];
    }
  }

  void run_block(const ValueProgram& program, const Compiled& compiled, std::uint32_t index, std::size_t at,
                 std::size_t bytes, std::int64_t first_element) {
    const auto slot = [&](std::uint32_t value) {
      return Bytes(slots_).subspan(compiled.slot[value] * block_bytes_, bytes);
    };
    const auto read = [&](std::uint32_t value) -> ConstBytes {
      if (compiled.slot[value] == kNoSlot) return ConstBytes(inputs_[value]->data).subspan(at, bytes);
      return slot(value);
    };
    for (const Instruction& step : compiled.code) {
      switch (step.kind) {
        case Instruction::Kind::Input:
          if (!prepares_) break;
          std::memcpy(slot(step.value).data(), inputs_[step.value]->data.data() + at, bytes);
          prepare(dtype_, op_, schedule_.world_size, slot(step.value));
          break;
        case Instruction::Kind::Reduce:
          reduce_to(dtype_, op_, read(step.arrived), read(step.own), slot(step.value));
          break;
        case Instruction::Kind::ReduceIntoArrived:  // every op commutes
          reduce_into(dtype_, op_, read(step.own), slot(step.value));
          break;
        case Instruction::Kind::ReduceIntoOwn:
          reduce_into(dtype_, op_, read(step.arrived), slot(step.value));
          break;
      }
      if (want_digests_ && travels_[step.value])
        value_digest_[step.value] += digest_of(dtype_, read(step.value), first_element);
    }
    for (std::size_t tensor = 0; tensor < out_.size(); ++tensor) {
      const Bytes to = Bytes(out_[tensor]->data).subspan(at, bytes);
      std::memcpy(to.data(), read(program.result[first_ranks_[tensor]]).data(), bytes);
      const bool is_result = schedule_.holds_result(static_cast<int>(first_ranks_[tensor]), index);
      if (is_result && reduces(schedule_.collective)) finish(dtype_, op_, schedule_.world_size, to);
    }
  }

  const Schedule& schedule_;
  ReduceOp op_;
  Inputs inputs_;
  DType dtype_;
  std::int64_t element_;
  bool prepares_, want_digests_;
  std::size_t block_bytes_ = 0;
  std::vector<std::uint32_t> first_ranks_;  // per result tensor: a rank that holds it
  Numbers numbers_;
  std::vector<std::shared_ptr<Tensor>> out_;
  std::vector<std::byte> slots_;
  std::vector<bool> travels_;
  std::vector<std::uint64_t> value_digest_;
};

}  // namespace

Numbers numbers_by_values(const Schedule& schedule, ReduceOp op, Inputs inputs, bool want_digests) {
  return ByValues(schedule, op, inputs, want_digests).run();
}

}  // namespace ringside::sim
