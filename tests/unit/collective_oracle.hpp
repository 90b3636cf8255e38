// Slow and plain references for the tests of collectives: one Scalar at a time, written from the definitions.
#pragma once

#include <memory>
#include <ostream>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/collective/executor.hpp"
#include "sim/tensor/reduce.hpp"

namespace ringside::sim {

inline void PrintTo(const Scalar& value, std::ostream* out) {
  std::string text;
  append_scalar(text, value);
  *out << text;
}

namespace oracle {

using Inputs = std::vector<std::shared_ptr<const Tensor>>;
using Values = std::vector<std::vector<Scalar>>;  // per rank, per element

/// Numbers with different exponents, so that the order of additions shows in the last bits; a NaN, infinities
/// and zeros of both signs now and then.
inline Inputs random_inputs(DType dtype, int world_size, std::int64_t count, std::uint64_t seed) {
  Inputs out;
  for (int r = 0; r < world_size; ++r) {
    auto tensor = std::make_shared<Tensor>(dtype, Shape{{count}});
    for (std::int64_t i = 0; i < count; ++i) {
      const DrawKey key{.seed = seed, .rank = static_cast<std::uint64_t>(r), .step = 0};
      const std::uint64_t word = draw_u64(key, static_cast<std::uint64_t>(i));
      double value = static_cast<double>(static_cast<std::int64_t>(word >> 40) - (1 << 23)) /
                     static_cast<double>(std::uint64_t{1} << (word % 20));
      if (word % 97 == 0) value = 0.0 * (word & 128 ? -1 : 1);
      if (word % 211 == 0) value = static_cast<double>(INFINITY) * (word & 128 ? -1 : 1);
      if (word % 307 == 0) value = static_cast<double>(NAN);
      tensor->set(i, make_scalar(dtype, value));
    }
    out.push_back(std::move(tensor));
  }
  return out;
}

/// Runs the transfers of a schedule as its header defines them, step by step, with a copy of everything per
/// step. `seen(transfer, values before the step, values after it)` if given.
template <class Seen>
Values interpret(const Schedule& schedule, ReduceOp op, const Inputs& inputs, Seen seen) {
  Values held;
  for (const auto& input : inputs) {
    held.emplace_back();
    for (std::int64_t i = 0; i < input->count(); ++i)
      held.back().push_back(prepare(op, schedule.world_size, input->at(i)));
  }
  for (std::uint32_t step = 1; step <= schedule.steps; ++step) {
    const Values before = held;
    for (std::size_t t = 0; t < schedule.transfers.size(); ++t) {
      const Transfer& transfer = schedule.transfers[t];
      if (transfer.step != step) continue;
      const Chunk& from = schedule.chunks.chunks[transfer.chunk];
      const Chunk& to = schedule.chunks.chunks[transfer.to_chunk];
      for (std::int64_t i = 0; i < from.count; ++i) {
        const Scalar arrived =
            before[static_cast<std::size_t>(transfer.src)][static_cast<std::size_t>(from.offset + i)];
        Scalar& own = held[static_cast<std::size_t>(transfer.dst)][static_cast<std::size_t>(to.offset + i)];
        own = transfer.action == Action::Reduce ? reduce(op, arrived, own) : arrived;
      }
      seen(t, before, held);
    }
  }
  return held;
}
inline Values interpret(const Schedule& schedule, ReduceOp op, const Inputs& inputs) {
  return interpret(schedule, op, inputs, [](std::size_t, const Values&, const Values&) {});
}

/// The finished numbers of `interpret`.
inline Values finished(const Schedule& schedule, ReduceOp op, const Inputs& inputs) {
  Values out = interpret(schedule, op, inputs);
  for (auto& rank : out) {
    for (Scalar& value : rank) value = finish(op, schedule.world_size, value);
  }
  return out;
}

}  // namespace oracle
}  // namespace ringside::sim
