// The kernels by name. `launch` puts them on a CUDA stream (launch.cu, only in a build with CUDA); `host`
// runs the same bodies on the CPU (host.cpp, in every build: tests and the test double of the GPU plane).
#pragma once

#include <cstdint>

#include "kernels/bodies.hpp"

namespace ringside::kernels {

/// Device pointers and a cudaStream_t; returns a cudaError_t (0 = launched). Nothing waits.
namespace launch {
/// out[i] = the low bytes of `bits`.
int fill(DType dtype, void* out, std::int64_t count, std::uint64_t bits, void* stream);
/// own[i] = arrived[i] ∘ own[i]
int reduce(DType dtype, Op op, const void* arrived, void* own, std::int64_t count, void* stream);
/// data[i] *= 1/n (floating types)
int scale(DType dtype, void* data, std::int64_t count, int world_size, void* stream);
/// data[i] /= n
int divide(DType dtype, void* data, std::int64_t count, int world_size, void* stream);
/// *out = digest, NaN and Inf count, extremes. `out` is a Summary in device memory.
int summary(DType dtype, const void* data, std::int64_t count, std::uint64_t first, void* out, void* stream);
/// cudaGetErrorString.
const char* error_text(int error);
}  // namespace launch

/// The same on the CPU, in place of a device.
namespace host {
void fill(DType dtype, void* out, std::int64_t count, std::uint64_t bits);
void reduce(DType dtype, Op op, const void* arrived, void* own, std::int64_t count);
void scale(DType dtype, void* data, std::int64_t count, int world_size);
void divide(DType dtype, void* data, std::int64_t count, int world_size);
/// `threads`: how many shares the elements are dealt to, as a grid does it. The result does not depend on it.
Summary summary(DType dtype, const void* data, std::int64_t count, std::uint64_t first, int threads = 1);
}  // namespace host

}  // namespace ringside::kernels
