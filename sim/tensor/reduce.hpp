// The arithmetic of a reduction, with rounding in the dtype at every hop, as NCCL does it.
//
// NCCL 2.30.7 (src/enqueue.cc, src/device/reduce_kernel.h): float16 and bfloat16 are added pairwise in their
// own precision; `avg` multiplies every floating input by 1/n (rounded to the dtype) before the sum and
// divides integers after it, toward zero; `min` and `max` prefer the number over NaN, so a NaN hides there
// and poisons sum, avg and prod.
#pragma once

#include <cstddef>
#include <span>

#include "sim/tensor/dtype.hpp"

namespace ringside::sim {

/// own[i] = arrived[i] ∘ own[i], element by element; both spans hold the same number of bytes and do not
/// overlap. Integers wrap. Results that are NaN are canonical. -0 < +0 for min and max. Every op commutes,
/// bit for bit.
void reduce_into(DType dtype, ReduceOp op, std::span<const std::byte> arrived, std::span<std::byte> own);
/// out[i] = arrived[i] ∘ own[i]; the three spans are equally long and do not overlap.
void reduce_to(DType dtype, ReduceOp op, std::span<const std::byte> arrived, std::span<const std::byte> own,
               std::span<std::byte> out);
Scalar reduce(ReduceOp op, Scalar arrived, Scalar own);

/// What a rank does to its input before it takes part: avg of a floating type multiplies by 1/n; everything
/// else nothing.
bool has_prepare(DType dtype, ReduceOp op);
void prepare(DType dtype, ReduceOp op, int world_size, std::span<std::byte> data);
Scalar prepare(ReduceOp op, int world_size, Scalar value);

/// What a rank does to the finished sum: sum_then_divide divides by n (so does avg of integers: toward zero).
bool has_finish(DType dtype, ReduceOp op);
void finish(DType dtype, ReduceOp op, int world_size, std::span<std::byte> data);
Scalar finish(ReduceOp op, int world_size, Scalar value);

}  // namespace ringside::sim
